"""The forms of logging in and of accounts."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field, SecretStr

from memstone.literals import RoleName
from memstone.server.schemas.base import Answer, Given, Id

_ID: Final = "0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11"
_LOGIN: Final = "ada@example.org"
_SENTENCE: Final = "a long sentence of mine"
_SAMPLE: Final = "rr_ZGVmYXVsdA.0198c2d4.family.own"
_ACCOUNT: Final[dict[str, Any]] = {
    "id": _ID,
    "login": _LOGIN,
    "name": "Ada",
    "role": "editor",
    "verbs": ["read", "write"],
    "tenant_id": "default",
    "user_id": None,
    "agent_id": None,
    "disabled": False,
    "created_at": "2026-05-07T09:30:00.000000Z",
    "updated_at": "2026-05-07T09:30:00.000000Z",
    "last_login_at": None,
}

Login: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]
Password: TypeAlias = Annotated[SecretStr, Field(min_length=1, max_length=1_024)]


def _example_config(value: dict[str, Any], extra: Literal["allow", "forbid"]) -> ConfigDict:
    return ConfigDict(extra=extra, json_schema_extra={"examples": [value]})


class LoginGiven(Given):
    """Who logs in, and to which tenant: the one that runs the service, if none is named."""

    model_config = _example_config({"login": _LOGIN, "password": _SENTENCE}, "forbid")

    login: Login
    password: Password
    tenant_id: Id | None = None


class RefreshGiven(Given):
    """The refresh token; it is used up by that."""

    model_config = _example_config({"refresh_token": _SAMPLE}, "forbid")

    refresh_token: Annotated[SecretStr, Field(min_length=1, max_length=1_200)]


class LogoutGiven(Given):
    """Only here, or everywhere."""

    model_config = _example_config({"everywhere": False}, "forbid")

    everywhere: bool = False


class PasswordGiven(Given):
    """One's own password, and the one that shall be it."""

    model_config = _example_config({"current": _SENTENCE, "new": "another sentence of mine"}, "forbid")

    current: Password
    new: Password


class NewAccount(Given):
    """Somebody who may log in."""

    model_config = _example_config({"login": _LOGIN, "password": _SENTENCE, "name": "Ada", "role": "editor"}, "forbid")

    login: Login
    password: Password
    name: str = Field(default="", max_length=200)
    role: RoleName = "viewer"
    user_id: Id | None = None
    agent_id: Id | None = None


class AccountChanges(Given):
    """What shall be different; '' takes a name or a bound away, and what is not named stays."""

    model_config = _example_config({"role": "admin", "disabled": False}, "forbid")

    login: Login | None = None
    name: str | None = Field(default=None, max_length=200)
    role: RoleName | None = None
    password: Password | None = None
    user_id: Id | None = None
    agent_id: Id | None = None
    disabled: bool | None = None


class AccountShown(Answer):
    """An account; never what recognises its password."""

    model_config = _example_config(_ACCOUNT, "allow")

    id: str
    login: str
    name: str
    role: RoleName
    verbs: list[str]
    tenant_id: str
    user_id: str | None = None
    agent_id: str | None = None
    disabled: bool
    created_at: str
    updated_at: str
    last_login_at: str | None = None


class AccountList(Answer):
    """The accounts of a tenant, oldest first."""

    results: list[AccountShown]


class Tokens(Answer):
    """What to ask with, and what to get the next one with."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    refresh_expires_at: str
    account: AccountShown


class LoggedOut(Answer):
    """How many sessions were ended."""

    sessions_ended: int


class PasswordChanged(Answer):
    """How many other sessions were ended."""

    changed: bool
    sessions_ended: int


class Whoami(Answer):
    """Who the service takes the caller for; ``account`` is there for people, not for keys."""

    kind: Literal["account", "key"]
    tenant_id: str
    user_id: str | None = None
    agent_id: str | None = None
    verbs: list[str]
    session_id: str | None = None
    expires_at: str | None = None
    account: AccountShown | None = None


class UseCase(Given):
    """What the memory is for, in plain words."""

    model_config = _example_config({"use_case": "a cooking coach for families"}, "forbid")

    use_case: Annotated[str, Field(min_length=1, max_length=2_000)]


class Suggestion(Answer):
    """Instructions and settings for a use case; nothing was changed."""

    besides = "answers.console.SuggestionBesides"

    use_case: str
    source: Literal["llm", "rules"]
    domains: list[str]
    instructions: str
    include: list[str]
    exclude: list[str]
    categories: dict[str, str]
    example_settings: dict[str, Any]
