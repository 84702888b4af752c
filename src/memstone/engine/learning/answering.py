"""What the assistant asked before a short answer: in the call itself, or in what is stored of the same talk.

Only a message of a few words in which no rule sees a fact is looked at. Where the call begins with it, the store is
asked, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from memstone.core.checks.visible import visible
from memstone.core.privacy.poison import disarmed
from memstone.core.rules.replies import may_answer
from memstone.engine.parts import Parts
from memstone.engine.storing.turns import Turn, as_heard
from memstone.model.instant import moment
from memstone.model.memory import Layer, Origin, Record
from memstone.model.message import Message
from memstone.model.query import Condition, Op

_BEFORE: Final = 6
"""So many messages back a game or a lesson is recognised as one."""

_SOON: Final = timedelta(hours=12)
"""What was asked longer ago is hardly what a word or two answer."""


async def asked_before(parts: Parts, turns: Sequence[Turn], at: int) -> str:
    """The words of the assistant that a turn may answer; '' where it is too long, or nobody asked in earnest."""
    if not await parts.io.compute(partial(may_answer, turns[at].text)):
        return ""
    if at:
        read = partial(map, as_heard, turns[max(0, at - _BEFORE) : at])
    else:
        read = partial(map, _said, await _stored(parts, turns[at]))
    return await parts.io.compute(lambda: _question(list(read())))


def _question(said: Sequence[Message]) -> str:
    """Return the last of some messages if an assistant said it, and not in a game."""
    if not said or said[-1].role != "assistant":
        return ""
    from memstone.core.rules.answers import is_played  # its patterns are only needed where something was asked

    return "" if is_played(one.text for one in said) else said[-1].text


async def _stored(parts: Parts, turn: Turn) -> list[Record]:
    """The messages before the first one of a call, of the same talk and not long ago; none where none are kept."""
    scope = turn.draft.scope
    earlier = Condition("seq", Op.LT, turn.place) if turn.place else None
    where = visible(scope, parts.now(), layers=(Layer.TURN,), extra=earlier)
    found = await parts.ledger.peek(lambda tx: tx.memories.find(where, limit=_BEFORE))
    if not found or found[0].link.scope != scope or not _is_near(found[0].record, turn):
        return []
    return [one.record for one in reversed(found) if one.link.scope == scope]


def _is_near(record: Record, turn: Turn) -> bool:
    return timedelta() <= moment(turn.occurred_at) - moment(record.occurred_at) <= _SOON


def _said(record: Record) -> Message:
    said = Message(str(record.data.get("role", "user")), record.text)
    return disarmed(said, own=record.origin == Origin.USER)
