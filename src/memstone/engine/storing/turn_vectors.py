"""Vectors of turns that were kept without one, because nobody who speaks waits for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from memstone.engine.parts import Parts
from memstone.engine.storing.hearing import stored_before
from memstone.engine.storing.store import Space, add_vectors
from memstone.engine.storing.turns import Turn
from memstone.engine.storing.write import current_space
from memstone.errors import MemstoneError
from memstone.model.memory import Record
from memstone.ports.ledger import Tx


@dataclass(slots=True)
class TurnVectors:
    """Vectors by the number of the version they belong to."""

    space: Space | None = None
    found: list[tuple[int, bytes]] = field(default_factory=list)

    async def store(self, tx: Tx, tenant_id: str) -> None:
        """Put them beside their versions."""
        if self.space is not None and self.found:
            await add_vectors(tx, tenant_id, self.space, self.found)


async def turn_vectors(parts: Parts, turns: Sequence[Turn]) -> TurnVectors:
    """The vectors that stored turns lack, as far as there are any: without one a turn is found by its words."""
    places = [turn.place for turn in turns if turn.place]
    if not parts.embedding.on or not places:
        return TurnVectors()
    try:
        space = await current_space(parts)
        rows = await parts.ledger.read(partial(_lacking, parts=parts, space=space, places=places))
        before = [said for _, said in rows] if parts.embedding.tells_words else None
        vectors = await parts.embedding.many([row.text for row, _ in rows], before)
    except MemstoneError:
        return TurnVectors()
    pairs = zip((row.seq for row, _ in rows), vectors, strict=True)
    return TurnVectors(space, [(seq, one) for seq, one in pairs if not isinstance(one, MemstoneError)])


async def _lacking(tx: Tx, *, parts: Parts, space: Space, places: Sequence[int]) -> list[tuple[Record, str]]:
    """The turns without a vector, each with what was said right before it."""
    have = {seq for seq, _ in await tx.vectors.many(parts.tenant_id, space.signature, places)}
    rows = [await tx.memories.at(place) for place in dict.fromkeys(places) if place not in have]
    hears = parts.embedding.tells_words
    return [(row, await stored_before(tx, row) if hears else "") for row in rows if row is not None]
