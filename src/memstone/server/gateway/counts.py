"""Metrics of the gateway."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from prometheus_client import Counter


class Skip(StrEnum):
    """Why a chat went on without memory; there are no other reasons, and none of them names anybody."""

    NO_MEMORIES = "no_memories"
    """Nothing that is known belongs to the message."""
    EMPTY_CONTEXT = "empty_context"
    """The gate sees no need for memory."""
    DISABLED = "disabled"
    """Memory is switched off by the settings, or its budget is 0."""
    OPTED_OUT = "opted_out"
    """The request does not want it (``X-Memory``)."""
    PAUSED = "paused"
    """The user, the agent or the session is paused."""
    NO_USER = "no_user"
    """The request names nobody."""
    USER_IN_BODY = "user_in_body"
    """Nobody is named but by ``user`` in the body, which ``identity.sources`` does not hold."""
    INVALID_ID = "invalid_id"
    """The name of a user that cannot be one."""
    NO_MESSAGES = "no_messages"
    """There is nothing to put memory into."""
    NO_QUESTION = "no_question"
    """The user says nothing in this request."""
    DEADLINE = "deadline"
    """Not even what needs no search was there after ``gateway.recall_ms`` and ``gateway.profile_ms``."""
    SETTINGS = "settings"
    """What the user wants of memory cannot be read now."""
    REFUSED = "refused"
    """The upstream does not take what memory adds."""
    UNREADABLE = "unreadable"
    """A request or an answer that memory cannot read."""
    ERROR = "error"
    """Recalling failed; ``code`` says how."""


SKIPPED: Final = Counter(
    "memstone_gateway_memory_skipped", "Chats that went on without memory, by reason.", labelnames=("reason",)
)
LATE: Final = Counter(
    "memstone_gateway_recall_late", "Chats that got only what needs no search, because the search was too slow."
)
ROUNDS: Final = Counter("memstone_gateway_tool_rounds", "Memory searches started by a model.")
UPSTREAM: Final = Counter(
    "memstone_gateway_upstream_failures", "Attempts that got no answer from an upstream.", labelnames=("upstream",)
)
CUT: Final = Counter("memstone_gateway_streams_cut", "Streams that ended early, by which side ended them.", ("by",))
