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
    """Login and password; ``tenant_id`` if it is not the tenant that runs the service."""

    model_config = example_config(login=_LOGIN, password=_SENTENCE)

    login: Login
    password: Password
    tenant_id: Id | None = None


class RefreshBody(RequestBody):
    """The refresh token, which can be used only once."""

    model_config = example_config(refresh_token=_SAMPLE)

    refresh_token: Annotated[SecretStr, Field(min_length=1, max_length=1_200)]


class LogoutBody(RequestBody):
    """Whether to end only this session or all sessions."""

    model_config = example_config(everywhere=False)

    everywhere: bool = False


class PasswordBody(RequestBody):
    """Your current password and the new one."""

    model_config = example_config(current=_SENTENCE, new="another sentence of mine")

    current: Password
    new: Password


class AccountBody(RequestBody):
    """A new account."""

    model_config = example_config(login=_LOGIN, password=_SENTENCE, name="Ada", role="editor")

    login: Login
    password: Password
    name: str = Field(default="", max_length=200)
    role: RoleName = "viewer"
    user_id: Id | None = None
    agent_id: Id | None = None


class AccountChangeBody(RequestBody):
    """Changes of an account; '' removes a name or a limit, and what is left out stays."""

    model_config = example_config(role="admin", disabled=False)

    login: Login | None = None
    name: str | None = Field(default=None, max_length=200)
    role: RoleName | None = None
    password: Password | None = None
    user_id: Id | None = None
    agent_id: Id | None = None
    disabled: bool | None = None


class UseCaseBody(RequestBody):
    """The purpose of the memory, in plain words."""

    model_config = example_config(use_case="a cooking coach for families")

    use_case: Annotated[str, Field(min_length=1, max_length=2_000)]
