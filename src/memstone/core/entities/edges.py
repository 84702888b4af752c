"""From when to when edges of the graph hold, worked out from all that memories state about them.

Nothing is stored when one statement ends another: what holds follows from the statements that are there, so that
taking one back brings back what it had ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memstone.core.entities.relations import ONE_VALUED
from memstone.model.entity import RelationRow
from memstone.model.instant import Instant


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two entities (by id) and the memories that state it; ``valid_to`` is None while it holds."""

    source: str
    type: str
    target: str
    valid_from: Instant
    valid_to: Instant | None
    stated_at: Instant
    confidence: float
    seqs: tuple[int, ...]


def edges(rows: Iterable[RelationRow]) -> list[Edge]:
    """Each edge once, what was stated last first."""
    stated: defaultdict[tuple[str, str, str], list[RelationRow]] = defaultdict(list)
    for row in rows:
        stated[row.source, row.type, row.target].append(row)
    joined = [_joined(sorted(same, key=lambda row: (row.valid_from, row.memory_seq))) for same in stated.values()]
    rivals: defaultdict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in joined:
        rivals[edge.source, edge.type].append(edge)
    settled = [_ended_by(edge, rivals[edge.source, edge.type]) for edge in joined]
    return sorted(settled, key=lambda edge: (edge.stated_at, edge.seqs), reverse=True)


def _joined(rows: Sequence[RelationRow]) -> Edge:
    first, last = rows[0], rows[-1]
    seqs = tuple(sorted({row.memory_seq for row in rows}))
    sure = max(row.confidence for row in rows)
    return Edge(last.source, last.type, last.target, first.valid_from, last.valid_to, last.valid_from, sure, seqs)


def _ended_by(edge: Edge, rivals: Iterable[Edge]) -> Edge:
    """Of a relation that somebody has with one thing at a time, what was said later ends what was said before."""
    if edge.type not in ONE_VALUED or edge.valid_to is not None:
        return edge
    later = [
        other.valid_from
        for other in rivals
        if other.target != edge.target and other.valid_to is None and other.valid_from > edge.stated_at
    ]
    return replace(edge, valid_to=min(later)) if later else edge
