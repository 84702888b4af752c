"""Decide whose memory a chat uses. It never falls back from a person to the key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memstone.errors import Forbidden, ScopeError
from memstone.model.access import Users
from memstone.model.ids import clean_id
from memstone.model.policy import Identity
from memstone.server.access import Caller, text_of, user_in_chat, user_in_headers
from memstone.server.gateway.counts import Skip

SESSION_HEADERS: Final = (
    "x-memstone-session",
    "x-retain-session",
    "x-session-id",
    "x-openwebui-chat-id",
    "x-claude-code-session-id",
)
AGENT_HEADERS: Final = ("x-agent-id", "x-memstone-agent", "x-retain-agent")


@dataclass(frozen=True, slots=True)
class Who:
    """Whom a chat is about; ``user_id`` is None when nobody may be remembered, and ``why`` says why not."""

    user_id: str | None
    agent_id: str | None = None
    run_id: str | None = None
    why: Skip | None = None

    @property
    def is_known(self) -> bool:
        """Whether there is somebody to remember."""
        return self.user_id is not None

    def scope(self) -> dict[str, Any]:
        """Return where what is said now belongs."""
        return {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}

    def reach(self, by_agent: bool) -> dict[str, Any]:  # noqa: FBT001 - the one thing it is asked
        """Return where to look: everything of the user, whichever session it was said in.

        An agent sees only its own.
        """
        return {"user_id": self.user_id, "agent_id": self.agent_id if by_agent else None}


def resolve_chat_identity(
    caller: Caller, headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity, request_id: str
) -> Who:
    """Resolve the user, the agent and the session of a chat."""
    user, why = _resolve_user(caller, headers, body, policy)
    agent = caller.subjects.agent_id or _storable_id(_first_header(headers, AGENT_HEADERS))
    run = _storable_id(_first_header(headers, SESSION_HEADERS) or text_of(body.get("session_id"))) or request_id
    return Who(user, agent or None, run, why)


def _resolve_user(
    caller: Caller, headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity
) -> tuple[str | None, Skip | None]:
    bounds = caller.bounds
    if bounds.user_id:
        named = user_in_headers(headers, policy)
        if named and named != bounds.user_id:
            raise Forbidden("this key belongs to another user", hint="leave out the header")
        return bounds.user_id, None
    named = user_in_chat(headers, body, policy, trusted=bounds.users is not Users.POOLS)
    if not named:
        why = Skip.USER_IN_BODY if text_of(body.get("user")) else Skip.NO_USER
        return (bounds.unnamed, None) if bounds.unnamed else (None, why)
    try:
        return bounds.for_user(named).user_id, None
    except (Forbidden, ScopeError):  # a chat goes on without memory
        return None, Skip.INVALID_ID


def _first_header(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := headers.get(name, "").strip())), "")


def _storable_id(text: str) -> str:
    """Return the id of a session or an agent in a form that can be stored.

    One that is too long, or not a single word, is replaced by its hash.

    Clients make such ids of whatever they have. The same one is the same session each time, and nobody loses their
    memory over its form.
    """
    try:
        return clean_id(text or None, "id")
    except ScopeError:
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
