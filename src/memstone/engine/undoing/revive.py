"""Vectors for what comes back: a version that left the indexes has none, and a model is never asked inside a unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memstone.engine.parts import Parts
from memstone.engine.storing.embedding import failure_of
from memstone.engine.storing.hearing import stored_before
from memstone.engine.storing.store import Space, Vectors, ensure_space
from memstone.engine.storing.write import current_space
from memstone.errors import MemstoneError
from memstone.model.memory import Record
from memstone.ports.ledger import Tx, Work


@dataclass(slots=True)
class Fresh:
    """Vectors that were made before a unit, by text; a text without one is found by its words until a reindex."""

    space: Space | None = None
    vectors: dict[str, bytes] = field(default_factory=dict)
    degraded: list[dict[str, object]] = field(default_factory=list)

    async def of(self, tx: Tx, record: Record) -> Vectors:
        """The vectors of a version, in a space that is registered."""
        vector = self.vectors.get(record.text)
        if self.space is None or vector is None:
            return ()
        await ensure_space(tx, record.tenant_id, self.space)
        return [(self.space, vector)]


async def fresh_vectors(parts: Parts, rows: Sequence[Record]) -> Fresh:
    """Embed the texts of versions that may come back; a model that is out of reach does not hold them up."""
    once = list({row.text: row for row in rows}.values())
    if not parts.embedding.on or not once:
        return Fresh()
    heard = [await parts.ledger.read(_heard(row)) for row in once] if parts.embedding.tells_words else None
    try:
        fresh = Fresh(await current_space(parts))
        found = await parts.embedding.many([row.text for row in once], heard)
    except MemstoneError as error:  # the model cannot even be asked
        return Fresh(degraded=[_note(error)])
    for row, vector in zip(once, found, strict=True):
        if isinstance(vector, MemstoneError):
            fresh.degraded = [_note(vector)]
        else:
            fresh.vectors[row.text] = vector
    return fresh


def _heard(row: Record) -> Work[str]:
    return lambda tx: stored_before(tx, row)


def _note(error: MemstoneError) -> dict[str, object]:
    return {"step": "embedding", **failure_of(error)}
