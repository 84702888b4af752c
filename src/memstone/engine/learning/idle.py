"""Turns that tell nothing to remember: small talk, moods, questions and tasks. A profile leaves them out.

Whoever reads a conversation has judged that on the way: the language model by doing nothing with a turn, the curator
word by word. What nobody could judge, such as another language without a model, is not called idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from memstone.core.digest.portrait import is_idle
from memstone.engine.learning.relate import Fact
from memstone.engine.parts import Parts
from memstone.engine.storing.turns import IDLE, Turn
from memstone.ports.ledger import Tx


async def idle_turns(parts: Parts, turns: Sequence[Turn], facts: Iterable[Fact], *, by_model: bool) -> list[Turn]:
    """Return the user's turns that nothing was learned from, where a model or the curator finds nothing in them."""
    told = {id(turn) for fact in facts if fact.adds or fact.judged for turn in (fact.turn, *fact.also)}
    left = [(at, one) for at, one in enumerate(turns) if one.message.role == "user" and id(one) not in told]
    if by_model:
        return [turn for _, turn in left]
    found = []
    for at, turn in left:
        before = turns[at - 1].text if at else ""
        if parts.curator is not None and await parts.io.compute(partial(is_idle, turn.message, before, parts.curator)):
            found.append(turn)
    return found


async def note_idle(tx: Tx, turns: Iterable[Turn]) -> None:
    """Note with the rows of turns that they are idle."""
    for turn in turns:
        row = await tx.memories.current(turn.draft.scope.tenant_id, turn.id) if turn.id else None
        if row is not None and not row.data.get(IDLE):
            await tx.upkeep.restate(replace(row, data={**row.data, IDLE: True}))
