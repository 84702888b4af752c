"""Whether a model that is a function is still the one whose vectors are stored.

The name of a function says little: another model may be passed under it. So the function is shown a text that was
embedded under its name before, and tells by the vector whether it goes by that name or by another.
"""

from __future__ import annotations

from typing import Final

from memstone.core.checks.filters import current, within
from memstone.engine.parts import Parts
from memstone.model.query import And
from memstone.model.scope import Scope
from memstone.ports.ledger import IndexInfo, Tx
from memstone.ports.tables import NUMBER, Sample, Unnamed

_LOOKED_AT: Final = 20


async def introduce(parts: Parts) -> None:
    """Let an embedder without a name of its own see what is stored: when it is first asked, it settles its name."""
    embedder = parts.embedding.embedder
    if not isinstance(embedder, Unnamed):
        return
    begins = parts.embedding.name
    samples = await parts.ledger.read(lambda tx: _samples(tx, parts.tenant_id, begins))
    if samples:
        embedder.known_as(samples)


async def _samples(tx: Tx, tenant_id: str, begins: str) -> list[Sample]:
    known = [info for info in await tx.indexes.all(tenant_id) if _is_called(info, begins)]
    known.sort(key=lambda info: info.state != "active")
    return [await _sample(tx, tenant_id, info) for info in known]


def _is_called(info: IndexInfo, begins: str) -> bool:
    name = info.signature.rpartition(":")[0]
    return name == begins or name.startswith(begins + NUMBER)


async def _sample(tx: Tx, tenant_id: str, info: IndexInfo) -> Sample:
    """One of the newest or of the oldest memories: while an index is built, only some have a vector there."""
    model = info.signature.partition(":")[2].rpartition(":")[0]
    where = And((within(Scope(tenant_id)), current()))
    for oldest_first in (False, True):
        for found in await tx.memories.find(where, limit=_LOOKED_AT, oldest_first=oldest_first):
            vector = await tx.vectors.get(tenant_id, found.record.seq, info.signature)
            if vector is not None and any(vector):
                return Sample(model, info.dim, found.record.text, bytes(vector))
    return Sample(model, info.dim)
