"""The bodies of requests about logging in and accounts."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from pydantic import Field, SecretStr

from memstone.literals import RoleName
from memstone.server.schemas.base import Id, RequestBody, example_config

_LOGIN: Final = "ada@example.org"
_SENTENCE: Final = "a long sentence of mine"
_SAMPLE: Final = "rr_ZGVmYXVsdA.0198c2d4.family.own"

Login: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]
Password: TypeAlias = Annotated[SecretStr, Field(min_length=1, max_length=1_024)]


class LoginBody(RequestBody):
    """Who logs in, and to which tenant: the one that runs the service, if none is named."""

    model_config = example_config(login=_LOGIN, password=_SENTENCE)

    login: Login
    password: Password
    tenant_id: Id | None = None


class RefreshBody(RequestBody):
    """The refresh token; it is used up by that."""

    model_config = example_config(refresh_token=_SAMPLE)

    refresh_token: Annotated[SecretStr, Field(min_length=1, max_length=1_200)]


class LogoutBody(RequestBody):
    """Only here, or everywhere."""

    model_config = example_config(everywhere=False)

    everywhere: bool = False


class PasswordBody(RequestBody):
    """One's own password, and the one that shall be it."""

    model_config = example_config(current=_SENTENCE, new="another sentence of mine")

    current: Password
    new: Password


class AccountBody(RequestBody):
    """Somebody who may log in."""

    model_config = example_config(login=_LOGIN, password=_SENTENCE, name="Ada", role="editor")

    login: Login
    password: Password
    name: str = Field(default="", max_length=200)
    role: RoleName = "viewer"
    user_id: Id | None = None
    agent_id: Id | None = None


class AccountChangeBody(RequestBody):
    """What shall be different; '' takes a name or a bound away, and what is not named stays."""

    model_config = example_config(role="admin", disabled=False)

    login: Login | None = None
    name: str | None = Field(default=None, max_length=200)
    role: RoleName | None = None
    password: Password | None = None
    user_id: Id | None = None
    agent_id: Id | None = None
    disabled: bool | None = None


class UseCaseBody(RequestBody):
    """What the memory is for, in plain words."""

    model_config = example_config(use_case="a cooking coach for families")

    use_case: Annotated[str, Field(min_length=1, max_length=2_000)]
