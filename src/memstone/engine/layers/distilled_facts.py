"""The facts of a session on their way into the ledger: what is known of them already, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from memstone.core.checks.filters import own, visible
from memstone.core.digest.extractive import MIN_CHARS, says_the_same
from memstone.core.digest.portrait import IDENTITY_GRADE
from memstone.core.llm.digest import DigestFact
from memstone.core.llm.operations import KINDS
from memstone.engine.learning.by_model import Asked, fact_of
from memstone.engine.learning.reading import read_changes
from memstone.engine.learning.reconcile import decided
from memstone.engine.learning.relate import Fact, neighbours, relate
from memstone.engine.learning.settle import Plan
from memstone.engine.parts import Parts
from memstone.engine.storing.store import Space, Vectors
from memstone.engine.storing.turns import Turn
from memstone.engine.storing.write import current_space
from memstone.errors import MemstoneError
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Layer, Vector
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_NOTHING_LATER: Final = 2**62
IDENTITY_SALIENCE: Final = 0.9


def proposed(parts: Parts, asked: Asked, said: DigestFact, targets: Sequence[str]) -> Fact:
    """What a model would do, as a fact of the turn that shows it; its origin and trust are those of the turn."""
    one = said.operation
    if said.is_identity and one.category not in IDENTITY_GRADE:
        one = replace(one, category="identity")
    fact = fact_of(parts, asked, asked.turns, replace(one, kind=KINDS.get(one.category, Kind.FACTUAL.value)), targets)
    default = IDENTITY_SALIENCE if said.is_identity else parts.policy.formation.fact_salience
    fact.draft.salience = default if said.salience is None else said.salience
    fact.draft.source = "digest"
    if said.tags:
        fact.draft.metadata = {"tags": list(said.tags), **(fact.draft.metadata or {})}
    return fact


@dataclass(slots=True)
class Known:
    """Which facts only repeat what is known: by the fact, the id of the memory that says it."""

    repeated: dict[int, str] = field(default_factory=dict)


async def known_facts(parts: Parts, tx: Tx, scope: Scope, facts: Sequence[Fact], now: Instant) -> Known:
    """Hold facts that rules found against the most salient ones of their scope; what is too short is none."""
    policy = parts.policy.formation
    where = visible(scope, now, layers=(Layer.FACT,), extra=own())
    rows = await tx.memories.salient(where, limit=policy.overlap_among) if facts else []
    known = Known()
    for fact in facts:
        text = fact.draft.text
        if fact.judged or fact.candidate.forget or not fact.adds:
            continue
        if len(text) <= MIN_CHARS:
            known.repeated[id(fact)] = ""
            continue
        same = (one.record.id for one in rows if says_the_same(text, one.record.text, policy.overlap))
        twin = next(same, None)
        if twin is not None:
            known.repeated[id(fact)] = twin
    return known


async def prepared(
    parts: Parts, scope: Scope, turns: Sequence[Turn], facts: list[Fact], summary: str
) -> tuple[Plan, Vectors]:
    """All that a commit needs besides the ledger: vectors, neighbours, changes, and the vectors of what is revised.

    ``turns`` are those to store unless they are stored already.
    A text that cannot be embedded now is found by its words, and by its meaning after the next reindex.
    """
    space = await _space(parts)
    if space is None:
        return _plan(scope, turns, facts, await _related(parts, scope, facts, ""), None), ()
    new = [turn.draft for turn in turns if not turn.id and turn.draft.vector is None]
    drafts = [*new, *(fact.draft for fact in facts if fact.adds or not fact.judged)]
    *vectors, own = await _embedded(parts, [*(draft.text for draft in drafts), summary])
    for draft, vector in zip(drafts, vectors, strict=True):
        draft.vector = vector
    plan = _plan(scope, turns, facts, await _related(parts, scope, facts, space.signature), space)
    texts = await parts.ledger.read(partial(_revised, scope=scope, facts=facts, space=space, now=parts.now()))
    made = zip(texts, await _embedded(parts, texts), strict=True)
    plan.revised = {text: vector for text, vector in made if vector is not None}
    return plan, [(space, own)] if own is not None else ()


async def _related(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> int:
    """Find what is near the facts that no model judged, and what of it they change; gives the ledger's position."""
    ruled = [fact for fact in facts if not fact.judged]
    cursor = await relate(parts, scope, ruled, signature)
    await read_changes(parts, scope, ruled, signature)
    return cursor


def _plan(scope: Scope, turns: Sequence[Turn], facts: list[Fact], cursor: int, space: Space | None) -> Plan:
    return Plan(scope, list(turns), facts, cursor, space, lenient=True)


async def _space(parts: Parts) -> Space | None:
    try:
        return await current_space(parts) if parts.embedding.on else None
    except MemstoneError:  # the model cannot even be asked
        return None


async def _embedded(parts: Parts, texts: Sequence[str]) -> list[Vector | None]:
    found = await parts.embedding.many(texts) if texts else []
    return [None if isinstance(vector, MemstoneError) else vector for vector in found]


async def _revised(tx: Tx, *, scope: Scope, facts: Sequence[Fact], space: Space, now: Instant) -> list[str]:
    """The texts that these facts would make of what is known, as far as that can be told before."""
    texts: dict[str, None] = {}
    for fact in facts:
        if fact.judged:
            texts |= {one.text: None for one in fact.proposals if one.text}
            continue
        near = await neighbours(tx, scope, fact, _NOTHING_LATER, space.signature, now)
        texts |= {one.text: None for one in decided(fact, near) if one.text}
    return [text for text in texts if text not in {fact.draft.text for fact in facts}]
