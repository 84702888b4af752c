"""What is due, read from the ledger: action items of episodes, and facts that are plans, of these days."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from memstone.core.checks.filters import own, visible
from memstone.core.showing.profile import Visibility, visibility_of
from memstone.core.temporal.due import Due, by_day, due_day, is_done, line_of_due
from memstone.engine.recall.profile import ProfileRequest
from memstone.engine.storing.retelling import retold
from memstone.model.instant import instant, moment
from memstone.model.memory import Found, Layer, Origin, Record
from memstone.model.query import And, Condition, Op
from memstone.ports.ledger import Tx

_DAYS: Final = 90
_MOST: Final = 300
_SHOWN: Final = 8
_PLANS: Final = frozenset({"plan", "date", "goal", "instruction"})


async def read_due(tx: Tx, wanted: ProfileRequest) -> list[tuple[Found, Due]]:
    """Read what is to be done these days, and is not done yet; the most urgent first, each with its memory."""
    rows = {one.record.id: one for one in await _recent(tx, wanted, (Layer.EPISODE, Layer.FACT))}
    told = await retold(tx, [one.record for one in rows.values() if one.record.layer == Layer.EPISODE])
    shown = [told.get(one, row.record) for one, row in rows.items()]
    found = [due for record in shown if record is not None for due in _due_in(record, wanted)]
    if not found:
        return []
    turns = [one.record for one in await _recent(tx, wanted, (Layer.TURN,))]
    said = [one for one in turns if one.source_role == Origin.USER]
    left = [due for due in found if not is_done(due.text, _after(rows[due.id].record, said))]
    return [(rows[due.id], due) for due in by_day(left)[:_SHOWN]]


def _due_in(record: Record, wanted: ProfileRequest) -> list[Due]:
    """What a memory says is due these days."""
    if visibility_of(record.data) == Visibility.PRIVATE:
        return []
    said_at, today = moment(record.occurred_at), moment(wanted.today).astimezone(wanted.zone).date()
    days = ((text, due_day(text, said_at, wanted.zone, today)) for text in _things(record))
    return [Due(record.id, line_of_due(text), day) for text, day in days if day is not None]


def _things(record: Record) -> list[str]:
    """What a memory says is to be done, or takes place on a day."""
    if record.layer == Layer.EPISODE:
        items = record.data.get("action_items")
        return [str(one) for one in items] if isinstance(items, list) else []
    return [record.text] if record.data.get("category") in _PLANS else []


def _after(record: Record, turns: list[Record]) -> list[str]:
    """What the user said after the session that a memory comes from."""
    since = max(record.occurred_at, record.updated_at)
    return [turn.text for turn in turns if turn.occurred_at > since]


async def _recent(tx: Tx, wanted: ProfileRequest, layers: tuple[Layer, ...]) -> list[Found]:
    since = instant(moment(wanted.as_of or wanted.now) - timedelta(days=_DAYS))
    where = visible(wanted.owner, wanted.now, layers=layers, as_of=wanted.as_of, extra=own())
    newer = And((where, Condition("occurred_at", Op.GTE, since)))
    return await tx.memories.find(newer, limit=_MOST)
