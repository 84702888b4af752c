"""Whose memory a chat is about. It never falls from a person to the key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers

from memstone.engine.asking import EVERYBODY
from memstone.errors import Forbidden, ScopeError
from memstone.model.ids import clean_id
from memstone.model.policy import Identity
from memstone.server.access import Caller
from memstone.server.gateway.counts import Skip

OWN_HEADER: Final = "x-memstone-user"
FORMER_HEADER: Final = "x-retain-user"
USER_HEADERS: Final = (OWN_HEADER, FORMER_HEADER, "x-openwebui-user-id")
SESSION_HEADERS: Final = (
    "x-memstone-session",
    "x-retain-session",
    "x-session-id",
    "x-openwebui-chat-id",
    "x-claude-code-session-id",
)
AGENT_HEADERS: Final = ("x-agent-id", "x-memstone-agent", "x-retain-agent")
_KEY: Final = "api_key"


@dataclass(frozen=True, slots=True)
class Who:
    """Whom a chat is about; ``user_id`` is None when nobody may be remembered, and ``why`` says why not."""

    user_id: str | None
    agent_id: str | None = None
    run_id: str | None = None
    why: Skip | None = None

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


def said(headers: Headers) -> dict[str, str]:
    """Headers as they were meant: what was sent in UTF-8 comes in as if every byte were a character.

    One that stands there several times is a list. Two persons in one request are thereby nobody's name.
    """
    found = dict[str, str]()
    for name, value in headers.items():
        meant = value if value.isascii() else _meant(value)
        found[name] = f"{found[name]}, {meant}" if found.get(name, meant) != meant else meant
    return found


def _meant(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def who(caller: Caller, headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity, request_id: str) -> Who:
    """Resolve the user, the agent and the session of a chat."""
    user, why = _user(caller, headers, body, policy)
    if user == EVERYBODY:  # what is told to everybody is written by those who may, and not by who is so called
        user, why = None, Skip.INVALID_ID
    agent = caller.subjects.agent_id or _first(headers, AGENT_HEADERS) or None
    run = _first(headers, SESSION_HEADERS) or _text(body.get("session_id")) or request_id
    try:
        return Who(clean_id(user, "user_id") or None, clean_id(agent, "agent_id") or None, clean_id(run, "run_id"), why)
    except ScopeError:
        return Who(None, why=Skip.INVALID_ID)


def _user(
    caller: Caller, headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity
) -> tuple[str | None, Skip | None]:
    by_header = next(_named(headers, {}, policy), "")
    if caller.subjects.user_id:
        if by_header and by_header != caller.subjects.user_id:
            raise Forbidden("this key speaks for another user", hint="leave the header out")
        return caller.subjects.user_id, None
    if caller.subjects.may_assert_user:
        person = next(_named(headers, body, policy), "")
        return (person, None) if person else (None, Skip.NO_USER)
    if by_header:  # somebody is meant, and it is not the key: two people must not end up in one pool
        return None, Skip.NOT_ALLOWED
    if policy.sources == (_KEY,):
        return f"key:{caller.key.id}", None
    if policy.nobody == "owner":
        return policy.owner, None
    return None, Skip.NOT_ALLOWED


def _named(headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity) -> Iterator[str]:
    """Whom a request names: by our own header, by the configured sources in their order, by a header that is known.

    The body counts where it is a source, or where no other source of persons is configured: a header that is left out
    once must not let something else in its place.
    """
    persons = [source for source in policy.sources if source != _KEY] or ["body"]
    for source in (
        f"header:{OWN_HEADER}",
        f"header:{FORMER_HEADER}",
        *persons,
        *(f"header:{name}" for name in USER_HEADERS),
    ):
        kind, _, name = source.partition(":")
        found = _text(body.get("user")) if kind == "body" else headers.get(name.lower(), "").strip()
        if found:
            yield found


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := headers.get(name, "").strip())), "")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
