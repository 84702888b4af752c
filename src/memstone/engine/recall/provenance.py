"""Show a fact and its turn once, and say what replaced an outdated turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from memstone.core.checks.filters import where_current
from memstone.core.prompt.profile import says_more
from memstone.engine.recall.profile import read_repeated_facts
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.surface import read_turn_facts, shown_text, stale_turns
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import Search
from memstone.language.language import TextGuard
from memstone.language.text.normal import normal_text
from memstone.model.memory import Layer, Record
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.tables import TurnFact

if TYPE_CHECKING:
    from memstone.results import CurrentFact, HitSource

_Traced: TypeAlias = "tuple[Hit, HitSource]"
"""A hit, and what is added about where it comes from."""

_TURNS_TO_FOLD: Final = 20
"""So many more are looked for, at most as many as are wanted, because turns are folded into their facts."""


def widen_for_turns(wanted: Search) -> Search:
    """Return the same search with a larger limit, if both facts and turns are searched."""
    return replace(wanted, limit=wanted.limit + min(wanted.limit, _TURNS_TO_FOLD)) if _is_mixed(wanted) else wanted


def _is_mixed(wanted: Search) -> bool:
    return Layer.TURN in wanted.layers and len(wanted.layers) > 1


async def trace_sources(runtime: Runtime, wanted: Search, hits: Sequence[Hit]) -> list[_Traced]:
    """Return the hits to show, each with its source."""
    turns = [found.record.id for found, _ in hits if found.record.layer == Layer.TURN]
    if not turns:
        return [(hit, {}) for hit in hits[: wanted.limit]]
    if not _is_mixed(wanted):
        overtaken = await _read_replacements(runtime, wanted, turns)
        return [(hit, _describe_replacements(hit[0].record, overtaken)) for hit in hits[: wanted.limit]]
    facts, hidden = await runtime.ledger.read(partial(_read_turn_sources, runtime, wanted, hits, turns))
    return fold_sources(
        [hit for hit in hits if hit[0].record.id not in hidden], facts, wanted.limit, runtime.language.guard
    )


async def _read_turn_sources(
    runtime: Runtime, wanted: Search, hits: Sequence[Hit], turns: Sequence[str], tx: Tx
) -> tuple[list[TurnFact], set[str]]:
    """Return the facts learned from turns, and the turns of which something no longer holds."""
    found, now = [found for found, _ in hits], runtime.now()
    facts = await read_turn_facts(tx, wanted.scope, found, now, wanted.as_of)
    hidden = await tx.suppressions.turns(runtime.tenant_id, turns)
    if wanted.as_of is None:
        hidden |= await stale_turns(tx, runtime.blocks, runtime.language, wanted.scope, found, facts, now)
    return facts, hidden


async def private_turns(runtime: Runtime, turn_ids: Sequence[str]) -> set[str]:
    """Return the turns that state something private."""
    if not turn_ids:
        return set()

    async def work(tx: Tx) -> set[str]:
        every, now = Scope(runtime.tenant_id), runtime.now()
        tenant = Condition("tenant_id", Op.EQ, runtime.tenant_id)
        turns = And((tenant, Condition("id", Op.IN, tuple(turn_ids)), where_current()))
        rows = [one.record for one in await tx.memories.find(turns, limit=len(turn_ids))]
        facts = [*await tx.provenance.facts_of(every, turn_ids, now), *await read_repeated_facts(tx, rows, now)]
        return {fact.turn_id for fact in facts if fact.is_private}

    return await runtime.ledger.read(work)


def fold_sources(hits: Sequence[Hit], facts: Sequence[TurnFact], limit: int, guard: TextGuard) -> list[_Traced]:
    """Show a turn and its facts as one result, in the place of the better one.

    A turn that comes after one of its facts stands behind it, as its ``source``. One that comes first, and says more
    than its facts, is shown itself and names them; one that says no more leaves its place to the first of them. A turn
    of which something no longer holds is not shown at all, and neither is what others say in one: a model may read what
    a search finds.
    """
    learned, found = dict[str, list[TurnFact]](), dict[str, list[Hit]]()
    for fact in facts:
        learned.setdefault(fact.turn_id, []).append(fact)
    turns = {one.record.id: normal_text(one.record.text) for one, _ in hits if one.record.layer == Layer.TURN}
    messages = {text: turn for turn, text in reversed(turns.items())}
    for hit in hits:
        if (turn := _turn_of(hit[0].record, messages)) in turns:
            found.setdefault(turn, []).append(hit)
    visible, done, texts = list[_Traced](), set[str](), set[str]()
    for hit in hits:
        record = hit[0].record
        if record.id in done or turns.get(record.id) in texts:
            continue
        if record.layer == Layer.TURN:
            new = _of_turn(hit, found.get(record.id, []), learned.get(record.id, []), done, guard)
        else:
            turn = _turn_of(record, messages)
            new = [(hit, {"source": turn} if turn in turns else {})]
            done |= {turn} if turn else set()
        visible += new
        texts |= {normal_text(one.record.text) for (one, _), _ in new if one.record.layer == Layer.FACT}
    return visible[:limit]


def _of_turn(
    hit: Hit, found: Sequence[Hit], learned: Sequence[TurnFact], done: set[str], guard: TextGuard
) -> list[_Traced]:
    """Return what to show for a turn: itself, its first fact, or nothing."""
    record, text = hit[0].record, shown_text(hit[0].record, guard)
    if not text or any(not fact.holds for fact in learned):
        return []
    same = any(normal_text(fact.record.text) == normal_text(text) for fact, _ in found)
    if found and (same or not says_more(text, [fact.quote for fact in learned])):
        first = found[0][0]
        done.add(first.record.id)
        return [((first, hit[1]), {"source": record.id})]
    done.update(fact.record.id for fact, _ in found)
    if text != record.text:
        hit = replace(hit[0], record=replace(record, text=text)), hit[1]
    if not found:
        return [(hit, {})]
    return [(hit, {"facts": [{"id": fact.record.id, "memory": fact.record.text} for fact, _ in found]})]


def _turn_of(record: Record, texts: Mapping[str, str]) -> str | None:
    """Return the turn of a fact, by its evidence or by equal words.

    An edited fact is its own source.
    """
    evidence = record.data.get("evidence")
    if isinstance(evidence, dict):
        return evidence.get("turn")
    return texts.get(normal_text(record.text)) if record.layer == Layer.FACT else None


async def _read_replacements(runtime: Runtime, wanted: Search, turns: Sequence[str]) -> dict[str, list[CurrentFact]]:
    """Return for each turn the memories that replaced its statements, oldest change first."""
    found = await runtime.ledger.read(lambda tx: tx.provenance.list_superseded(wanted.scope, turns, runtime.now()))
    changes: dict[str, dict[str, CurrentFact]] = {}
    for one in found:
        changes.setdefault(one.turn_id, {})[one.fact_id] = {"id": one.fact_id, "memory": one.text}
    return {turn: list(by_id.values()) for turn, by_id in changes.items()}


def _describe_replacements(record: Record, overtaken: dict[str, list[CurrentFact]]) -> HitSource:
    return {"superseded_by": overtaken[record.id]} if record.id in overtaken else {}
