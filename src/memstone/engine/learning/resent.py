"""Words that come a second time: what became of them then stands, whatever has become of it since."""

from __future__ import annotations

from typing import Any, Final

from memstone.core.changes.decide import Action, New, decide
from memstone.core.checks.filters import within
from memstone.core.rules.sentence import as_user
from memstone.engine.learning.relate import Fact, known_as
from memstone.engine.storing.draft import text_hash
from memstone.model.memory import Layer, Record, Status
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

REASON: Final = "it was said before, and has been settled since"
_MOST: Final = 100


async def is_settled(tx: Tx, fact: Fact, scope: Scope, cursor: int) -> bool:
    """Whether a turn that was stored before says what was known then and is not known any more, or not in its words.

    Whoever ended or changed that knew these words: it is not for their repetition to bring them back. ``cursor`` is
    where the ledger was before this call, which may itself change its mind.
    """
    if not fact.turn.said_before:
        return False
    if await _were_held(tx, fact, scope, cursor) or await _came_of_it(tx, fact, cursor):
        return True
    return bool(fact.turn.id) and not fact.judged and not fact.turn.retold and await _was_known(tx, fact, scope, cursor)


async def _were_held(tx: Tx, fact: Fact, scope: Scope, cursor: int) -> bool:
    """Whether a version that has ended said the same, and still held when the turn was said."""
    turn = fact.turn
    ended: Where = Condition("valid_to", Op.EXISTS, value=True)
    if turn.id:  # what was stored waits to be learned now and then: only what ended later knew of it
        ended = Condition("valid_to", Op.GT if turn.retold else Op.GTE, turn.occurred_at)
    same = Condition("hash", Op.EQ, text_hash(fact.draft.text))
    where = And((within(scope), _FACTS, same, ended, Condition("seq", Op.LTE, cursor)))
    return bool(await tx.memories.find(where, limit=1))


async def _came_of_it(tx: Tx, fact: Fact, cursor: int) -> bool:
    """Whether a version was learned from these very words of the turn, however it put them."""
    turn = fact.turn
    if not turn.id:
        return False
    tenant = Condition("tenant_id", Op.EQ, turn.draft.scope.tenant_id)
    learned = And((tenant, _FACTS, Condition("origin_id", Op.EQ, turn.id), Condition("seq", Op.LTE, cursor)))
    return any(_is_of(one.record, fact) for one in await tx.memories.find(learned, limit=_MOST))


def _is_of(record: Record, fact: Fact) -> bool:
    told: Any = record.data.get("evidence")
    if not isinstance(told, dict) or told.get("turn") != fact.turn.id:
        return False
    start, end = int(told.get("start", 0)), int(told.get("end", 0))
    if record.status == Status.DELETED:
        return fact.candidate.start < end and start < fact.candidate.end
    return not fact.turn.retold and (start, end) == (fact.candidate.start, fact.candidate.end)


async def _was_known(tx: Tx, fact: Fact, scope: Scope, cursor: int) -> bool:
    """Whether it told nobody anything, or was overtaken, when it was said: by a version that has ended since."""
    ended = Condition("valid_to", Op.GTE, fact.turn.occurred_at)
    where = And((within(scope), _FACTS, ended, Condition("seq", Op.LTE, cursor)))
    held = [known_as(one.record, fact) for one in await tx.memories.find(where, limit=_MOST)]
    new = New(as_user(fact.draft.text, fact.who), own=fact.own)
    return bool(held) and decide(new, held).action is not Action.ADD


_FACTS: Final = Condition("layer", Op.EQ, str(Layer.FACT))
