"""Whose memory a chat is about. It never falls from a person to the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retain.errors import Forbidden, ScopeError
from retain.model.ids import clean_id
from retain.model.policy import Identity
from retain.server.access import Caller

USER_HEADERS: Final = ("x-retain-user", "x-openwebui-user-id")
SESSION_HEADERS: Final = ("x-retain-session", "x-session-id", "x-openwebui-chat-id")
AGENT_HEADERS: Final = ("x-agent-id", "x-retain-agent")


@dataclass(frozen=True, slots=True)
class Who:
    """Whom a chat is about; ``user_id`` is None when nobody may be remembered, and ``why`` says so."""

    user_id: str | None
    agent_id: str | None = None
    run_id: str | None = None
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether there is somebody to remember."""
        return self.user_id is not None

    def scope(self) -> dict[str, Any]:
        """Where what is said now belongs."""
        return {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}

    def reach(self, by_agent: bool) -> dict[str, Any]:  # noqa: FBT001 - the one thing it is asked
        """Where is looked: everything of the user, whichever session it was said in; an agent sees only its own."""
        return {"user_id": self.user_id, "agent_id": self.agent_id if by_agent else None}


def who(caller: Caller, headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity, request_id: str) -> Who:
    """Resolve the user, the agent and the session of a chat."""
    user, why = _user(caller, headers, body, policy)
    agent = caller.subjects.agent_id or _first(headers, AGENT_HEADERS) or None
    run = _first(headers, SESSION_HEADERS) or _text(body.get("session_id")) or request_id
    try:
        return Who(clean_id(user, "user_id") or None, clean_id(agent, "agent_id") or None, clean_id(run, "run_id"), why)
    except ScopeError as error:
        return Who(None, why=error.message)


def _user(
    caller: Caller, headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity
) -> tuple[str | None, str]:
    named = _first(headers, USER_HEADERS) or _configured(headers, policy)
    if caller.subjects.user_id:
        if named and named != caller.subjects.user_id:
            raise Forbidden("this key speaks for another user", hint="leave the header out")
        return caller.subjects.user_id, ""
    if caller.subjects.may_assert_user:
        person = named or _text(body.get("user"))
        return (person, "") if person else (None, "the request names no user")
    if "api_key" in policy.sources:  # a pool that belongs to the key, whoever is behind the request
        return f"key:{caller.key.id}", ""
    if policy.nobody == "owner":
        return policy.owner, ""
    return None, "this key may not say for whom it asks"


def _configured(headers: Mapping[str, str], policy: Identity) -> str:
    names = (source.partition(":")[2].lower() for source in policy.sources if source.startswith("header:"))
    return _first(headers, tuple(names))


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := headers.get(name, "").strip())), "")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
