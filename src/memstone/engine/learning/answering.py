"""What was said right before a message: in the call itself, or in what is stored of the same talk.

A short message may be an answer, and then the store is asked, once, where the call begins with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from memstone.core.checks.filters import visible
from memstone.core.privacy.poison import disarmed
from memstone.core.reading.facts import SHORT
from memstone.engine.parts import Parts
from memstone.engine.storing.turns import Turn, as_heard
from memstone.model.instant import moment
from memstone.model.memory import Layer, Origin, Record
from memstone.model.message import Message
from memstone.model.query import Condition, Op

_SOON: Final = timedelta(hours=12)
"""What was asked longer ago is hardly what a word or two answer."""


async def said_before(parts: Parts, turns: Sequence[Turn], at: int) -> str:
    """The assistant's words before a turn; '' where somebody else spoke, or a longer message begins the call."""
    if at:
        said = await parts.io.compute(partial(as_heard, turns[at - 1]))
    elif len(turns[at].text.split()) <= SHORT and (record := await _stored(parts, turns[at])) is not None:
        said = await parts.io.compute(partial(_said, record))
    else:
        return ""
    return said.text if said.role == "assistant" else ""


async def _stored(parts: Parts, turn: Turn) -> Record | None:
    """The message before the first one of a call, of the same talk and not long ago; None where none is kept."""
    scope = turn.draft.scope
    earlier = Condition("seq", Op.LT, turn.place) if turn.place else None
    where = visible(scope, parts.now(), layers=(Layer.TURN,), extra=earlier)
    found = await parts.ledger.peek(lambda tx: tx.memories.find(where, limit=1))
    if not found or found[0].link.scope != scope or not _is_near(found[0].record, turn):
        return None
    return found[0].record


def _is_near(record: Record, turn: Turn) -> bool:
    return timedelta() <= moment(turn.occurred_at) - moment(record.occurred_at) <= _SOON


def _said(record: Record) -> Message:
    said = Message(str(record.data.get("role", "user")), record.text)
    return disarmed(said, own=record.origin == Origin.USER)
