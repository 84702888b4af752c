"""Compare the graph with the ledger, and repair it.

The tables of the ledger are made from the memories: those stored as they are were not read for names by earlier
versions of Memstone. A graph database is made from the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.filters import where_current
from memstone.engine.runtime import Runtime
from memstone.engine.store.mention import Note, note_of, write_mentions
from memstone.errors import Forbidden
from memstone.model.memory import Layer, Record
from memstone.model.query import And, Condition, Op
from memstone.ports.graph import GraphAgreement, GraphCounts
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import GraphReport, GraphSize

_AT_ONCE: Final = 100


async def check_graph(runtime: Runtime, *, repair: bool) -> GraphReport:
    """Compare the graph database with the ledger.

    ``repair`` fills in what is missing, or builds all of it again.
    """
    if runtime.bounds is not None:
        raise Forbidden("this key cannot check the graph", hint="use a key for the whole tenant")
    named = await _name_unread_memories(runtime) if repair else 0
    graph, tenant = runtime.graph, runtime.tenant_id
    if graph is None:
        counts = await runtime.ledger.read(lambda tx: tx.entities.counts(tenant))
        return _format_agreement(GraphAgreement(counts, counts, 0), "local", None, named)
    found, repaired = await graph.compare(tenant), None
    if repair and not found.is_equal:
        await graph.catch_up(tenant)
        found, repaired = await graph.compare(tenant), "filled"
    if repair and not found.is_equal:
        await graph.rebuild(tenant)
        found, repaired = await graph.compare(tenant), "rebuilt"
    return _format_agreement(found, "external", repaired, named)


def _format_agreement(found: GraphAgreement, backend: Any, repaired: Any, named: int) -> GraphReport:
    return {
        "backend": backend,
        "agrees": found.is_equal,
        "pending": found.pending,
        "ledger": _format_counts(found.ledger),
        "mirror": _format_counts(found.mirror) if backend == "external" else None,
        "repaired": repaired,
        "named": named,
    }


def _format_counts(counts: GraphCounts) -> GraphSize:
    return {"entities": counts.entities, "mentions": counts.mentions, "relations": counts.relations}


async def _name_unread_memories(runtime: Runtime) -> int:
    """Read names in memories that were stored as they are and mention nobody; return how many do."""
    stored = (
        Condition("layer", Op.EQ, str(Layer.FACT)),
        Condition("source", Op.EQ, "manual"),
        Condition("tenant_id", Op.EQ, runtime.tenant_id),
    )
    where = And((where_current(), *stored))
    seqs = await runtime.ledger.read(lambda tx: tx.memories.seqs(where))
    named = 0
    for start in range(0, len(seqs), _AT_ONCE):
        page = seqs[start : start + _AT_ONCE]
        records = await runtime.ledger.read(lambda tx, page=page: _read_unnamed(tx, runtime.tenant_id, page))  # type: ignore[misc]
        named += await runtime.ledger.write(lambda tx, found=records: _write_names(tx, runtime, found))  # type: ignore[misc]
    return named


async def _read_unnamed(tx: Tx, tenant_id: str, seqs: Sequence[int]) -> list[Record]:
    rows = await tx.entities.rows_of(tenant_id, seqs)
    known = {one.seq for one in rows.memories}
    found = [await tx.memories.at(seq) for seq in seqs if seq not in known]
    return [one for one in found if one is not None]


async def _write_names(tx: Tx, runtime: Runtime, records: Sequence[Record]) -> int:
    notes: list[Note] = []
    for record in records:
        note = note_of(record, await tx.links.of(record.tenant_id, record.seq), runtime.language.names)
        notes += [note] if note is not None and note.found.entities else []
    await write_mentions(tx, notes, runtime.now())
    await tx.vectors.touch(runtime.tenant_id, [note.record.seq for note in notes])
    return len(notes)
