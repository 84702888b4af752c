"""What is already known near a new fact: candidates for the reconciler, looked up before any transaction is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from retain.core.analyze import query_terms
from retain.core.curate import Candidate
from retain.core.reconcile import Known
from retain.core.statement import understand
from retain.core.visible import visible
from retain.engine.draft import Draft, scope_tokens
from retain.engine.parts import Parts
from retain.engine.turns import Turn
from retain.errors import BackendError
from retain.model.instant import Instant
from retain.model.memory import Found, Layer
from retain.model.query import And, Condition, Op, TextQuery, VectorQuery, Where
from retain.model.scope import Scope
from retain.ports.ledger import Tx

if TYPE_CHECKING:
    from retain.engine.propose import Proposal

_NEAREST: Final = 8
_NOTHING_LATER: Final = 2**62
_LAYERS: Final = (str(Layer.FACT),)


@dataclass(slots=True)
class Fact:
    """A candidate on its way into the ledger: where it was said, its draft, and which memories are near it."""

    candidate: Candidate
    turn: Turn
    draft: Draft
    near: list[int] = field(default_factory=list)
    adds: bool = True
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory near a fact, as it is inside the transaction."""

    found: Found
    known: Known


async def relate(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> int:
    """Note the neighbours of every fact; gives the ledger's position, so that what comes later is looked at too."""
    cursor = await parts.ledger.read(lambda tx: tx.admin.cursor())
    for fact in facts:
        fact.near = await _near(parts, scope, fact, signature)
    return cursor


async def _near(parts: Parts, scope: Scope, fact: Fact, signature: str) -> list[int]:
    words = TextQuery(query_terms(fact.draft.text), scope_tokens(scope))
    by_words = await parts.ledger.read(lambda tx: tx.text.match(words, _NEAREST))
    found = [seq for seq, _ in by_words]
    if fact.draft.vector is not None and signature:
        vector = np.frombuffer(fact.draft.vector, "<f4")
        try:
            hits = await parts.index.search(VectorQuery(signature, vector, _NEAREST, scope, _LAYERS))
        except BackendError:
            return found
        found = [hit.seq for hit in hits] + found
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Related:
    """A memory near a fact, before the transaction: enough to ask a model about it."""

    seq: int
    text: str
    cosine: float


async def related(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> list[list[Related]]:
    """The neighbours of every fact as they are now."""
    now = parts.now()

    async def work(tx: Tx) -> list[list[Related]]:
        found = [await neighbours(tx, scope, fact, _NOTHING_LATER, signature, now) for fact in facts]
        return [
            [Related(one.found.record.seq, one.found.record.text, one.known.cosine) for one in near] for near in found
        ]

    return await parts.ledger.read(work)


async def neighbours(tx: Tx, scope: Scope, fact: Fact, cursor: int, signature: str, now: Instant) -> list[Neighbour]:
    """The candidates of a fact as they are now, with everything that was stored since they were looked up."""
    where = visible(scope, now)
    found = await tx.memories.among(fact.near, where) if fact.near else []
    newer: Where = And((where, Condition("seq", Op.GT, cursor)))
    later = await tx.memories.find(newer, limit=200)
    return [await _neighbour(tx, one, fact, signature) for one in [*found, *later]]


async def _neighbour(tx: Tx, found: Found, fact: Fact, signature: str) -> Neighbour:
    record = found.record
    cosine = 0.0
    if fact.draft.vector is not None and signature:
        stored = await tx.vectors.get(record.tenant_id, record.seq, signature)
        if stored is not None:
            cosine = float(np.frombuffer(stored, "<f4") @ np.frombuffer(fact.draft.vector, "<f4"))
    return Neighbour(found, Known(understand(record.text), cosine))
