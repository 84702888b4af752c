"""``add`` with learning: from messages to turns and facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retain.core.messages import read_messages, stored_messages
from retain.engine.converse import Conversation, Learned, converse
from retain.engine.parts import Parts
from retain.engine.pending import learn_waiting
from retain.engine.redaction import redaction_of
from retain.engine.remember import AddRequest, answer_of, request_metadata, request_scope
from retain.engine.turns import heard, turns_of
from retain.errors import InvalidInput
from retain.model.instant import parse_when


async def learn(parts: Parts, request: AddRequest) -> dict[str, Any]:
    """Learn from what one request says; what is said is kept either way."""
    for name, value in (("key", request.key), ("kind", request.kind)):
        if value is not None:
            raise InvalidInput(
                f"a {name} describes one memory, and what is learned may be several or none",
                hint="pass infer=False to store the text itself as one memory",
            )
    limits, redaction = parts.policy.limits, redaction_of(parts.policy)
    scope, now = request_scope(parts, request), parts.now()
    metadata, warnings = request_metadata(parts, request)
    dated = request.occurred_at is not None
    occurred_at = parse_when(request.occurred_at, "occurred_at") if request.occurred_at is not None else now
    expires_at = None if request.expires_at is None else parse_when(request.expires_at, "expires_at")
    kept = heard(stored_messages(read_messages(request.messages, limits)), redaction)
    turns = turns_of(scope, kept.messages, occurred_at, dated=dated, expires_at=expires_at, metadata=metadata)
    if parts.llm is not None:
        await learn_waiting(parts, scope)
    keep_turns = parts.policy.curation.keep_turns if request.keep_turns is None else request.keep_turns
    said = Conversation(scope, turns, metadata, request.prompt, dated, expires_at, keep_turns)
    learned = await converse(parts, said, keep=not request.strict)
    if learned.error is not None and request.strict:
        raise learned.error
    return _learned(learned, [*warnings, *kept.warnings])


def _learned(learned: Learned, warnings: Sequence[str]) -> dict[str, Any]:
    answer = answer_of(learned.outcomes, warnings)
    if learned.error is not None:
        answer |= {"status": "partial" if learned.partial else "deferred", "error": learned.error.as_dict()}
    if learned.degraded:
        answer["degraded"] = learned.degraded
    return answer
