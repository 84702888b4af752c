"""What is said about where hits come from: a fact and its turn are shown once, and an overtaken turn says by what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from memstone.core.text.analyze import query_terms
from memstone.engine.asking import Search
from memstone.engine.parts import Parts
from memstone.engine.recall.ranking import Hit
from memstone.model.memory import Layer, Record

_SPARE: Final = 2
"""How many times the wanted number is looked up where turns may be left out."""

_MORE: Final = 3
"""So many words besides those of its facts make a turn worth showing for itself."""


def with_spare(wanted: Search) -> Search:
    """The same search, with some to spare when facts and the turns they come from are both looked for."""
    return replace(wanted, limit=_SPARE * wanted.limit) if _is_mixed(wanted) else wanted


def _is_mixed(wanted: Search) -> bool:
    return Layer.TURN in wanted.layers and len(wanted.layers) > 1


async def traced(parts: Parts, wanted: Search, hits: Sequence[Hit]) -> list[tuple[Hit, dict[str, Any]]]:
    """The hits to show, each with what is to be added about where it comes from."""
    shown, left_out = _once(hits, wanted.limit) if _is_mixed(wanted) else (list(hits), set[str]())
    turns = [found.record.id for found, _ in shown if found.record.layer == Layer.TURN]
    overtaken = await _overtaken(parts, wanted, turns) if turns else {}
    return [(hit, _about(hit[0].record, left_out, overtaken)) for hit in shown]


def _once(hits: Sequence[Hit], limit: int) -> tuple[list[Hit], set[str]]:
    """The best hits without the turns whose facts are among them; and those turns.

    Leaving turns out makes room for hits further down, whose turns may have to go as well; a fact that is in stays in.
    """
    left_out: set[str] = set()
    fuller = _fuller(hits)
    while True:
        shown = [hit for hit in hits if hit[0].record.id not in left_out][:limit]
        sources = {_turn_of(found.record) for found, _ in shown} - fuller
        again = {found.record.id for found, _ in hits if found.record.layer == Layer.TURN} & sources
        if again <= left_out:
            return shown, left_out
        left_out |= again


def _fuller(hits: Sequence[Hit]) -> set[str | None]:
    """The turns that answer better than the facts that come from them, and say something else as well."""
    before: dict[str, str] = {}
    told: dict[str, list[str]] = {}
    for found, _ in hits:
        record, turn = found.record, _turn_of(found.record)
        if record.layer == Layer.TURN and record.id not in told:
            before[record.id] = record.text
        elif turn is not None:
            told.setdefault(turn, []).append(str(record.data["evidence"].get("quote", "")))
    return {turn for turn, quotes in told.items() if turn in before and _says_more(before[turn], quotes)}


def _says_more(text: str, quotes: Sequence[str]) -> bool:
    for quote in quotes:
        text = text.replace(quote, " ") if quote else text
    return len(query_terms(text)) >= _MORE


def _turn_of(record: Record) -> str | None:
    """The turn that says what a fact says; an edited fact is its own source."""
    evidence = record.data.get("evidence")
    return evidence.get("turn") if isinstance(evidence, dict) else None


async def _overtaken(parts: Parts, wanted: Search, turns: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """For each turn all that holds in the place of what it says, oldest change first and each memory once."""
    found = await parts.ledger.read(lambda tx: tx.provenance.overtaken(wanted.scope, turns, parts.now()))
    changes: dict[str, dict[str, dict[str, Any]]] = {}
    for one in found:
        changes.setdefault(one.turn_id, {})[one.fact_id] = {"id": one.fact_id, "memory": one.text}
    return {turn: list(by_id.values()) for turn, by_id in changes.items()}


def _about(record: Record, left_out: set[str], overtaken: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    if record.id in overtaken:
        return {"superseded_by": overtaken[record.id]}
    source = _turn_of(record)
    return {"source": source} if source in left_out else {}
