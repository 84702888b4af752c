"""``search``: ask the channels, fuse what they say, check that it may be seen, answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from retain.core.check import checked_text
from retain.core.filters import Filters, split_scope
from retain.core.fusion import Scored, fuse
from retain.core.visible import DEFAULT_LAYERS, visible
from retain.engine import shape
from retain.engine.parts import Parts
from retain.engine.past import search_past
from retain.engine.remember import merged_scope
from retain.engine.retrieve import Candidates, Question, ask, candidates, embedded
from retain.errors import InvalidInput
from retain.model.instant import Instant, When, parse_when
from retain.model.memory import Found, Layer
from retain.model.query import And, ScoreParts, Where
from retain.model.scope import Scope
from retain.ports.ledger import Work

STRATEGIES: Final = ("hybrid", "vector", "text")


@dataclass(slots=True)
class SearchRequest:
    """One call of ``search``."""

    query: str
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    limit: int = 100
    filters: Filters | None = None
    min_score: float | None = None
    layers: Sequence[str] | None = None
    as_of: When | None = None
    strategy: str | None = None
    explain: bool = False
    show_expired: bool = False


@dataclass(slots=True)
class Search:
    """A checked search."""

    query: str
    scope: Scope
    where: And
    filtered: bool
    limit: int
    layers: tuple[str, ...]
    strategy: str
    min_score: float | None
    as_of: Instant | None
    explain: bool


async def search(parts: Parts, request: SearchRequest) -> dict[str, Any]:
    """The memories nearest to a query, best first."""
    wanted = check(parts, request)
    if wanted.as_of is not None:
        return await search_past(parts, wanted)
    vector = await embedded(parts, wanted.query, wanted.strategy)
    async with parts.io.turn() if parts.index.in_process else nullcontext():
        question = await ask(parts, wanted, vector)
        hits = await _hits(parts, wanted, question)
        found = [shape.hit(one, scored, explain=wanted.explain) for one, scored in hits]
    answer: dict[str, Any] = {"results": found}
    if question.degraded:
        answer["degraded"] = question.degraded
    return answer


async def _hits(parts: Parts, wanted: Search, question: Question) -> list[tuple[Found, Scored]]:
    """Deepen until enough visible hits are there or the channels have nothing more."""
    among = await _chosen(parts, wanted) if wanted.filtered else None
    depth = max(4 * wanted.limit, 60)
    while True:
        found = await candidates(parts, question, depth, among)
        if not question.words and question.vector is None:  # nothing to ask by, or asking has just failed
            return await _newest(parts, wanted)
        hits = await _checked(parts, wanted, _ranked(wanted, found))
        if len(hits) >= wanted.limit or found.exhausted:
            return hits
        depth *= 4


async def _newest(parts: Parts, wanted: Search) -> list[tuple[Found, Scored]]:
    """What there is, most recent first, when no channel can be asked; nothing of it reaches a minimum score."""
    if wanted.min_score:
        return []
    rows = await parts.ledger.read(lambda tx: tx.memories.find(wanted.where, limit=wanted.limit))
    return [(found, Scored(found.record.seq, 0.0, ScoreParts())) for found in rows]


async def _chosen(parts: Parts, wanted: Search) -> frozenset[int]:
    return frozenset(await parts.ledger.read(lambda tx: tx.memories.seqs(wanted.where)))


def _ranked(wanted: Search, found: Candidates) -> list[Scored]:
    return fuse(
        found.text,
        found.cosines,
        near=found.near,
        min_score=wanted.min_score,
        text_counts=wanted.strategy != "vector",
    )


async def _checked(parts: Parts, wanted: Search, ranked: list[Scored]) -> list[tuple[Found, Scored]]:
    """The best hits that may be seen. Indexes may lag; the ledger has the last word."""
    hits: list[tuple[Found, Scored]] = []
    for start in range(0, len(ranked), step := wanted.limit + 8):
        part = ranked[start : start + step]
        seen = await parts.ledger.peek(_among([scored.seq for scored in part], wanted.where))
        by_seq = {found.record.seq: found for found in seen}
        hits += [(by_seq[scored.seq], scored) for scored in part if scored.seq in by_seq]
        if len(hits) >= wanted.limit:
            break
    return hits[: wanted.limit]


def _among(seqs: list[int], where: Where) -> Work[list[Found]]:
    return lambda tx: tx.memories.among(seqs, where)


def check(parts: Parts, request: SearchRequest) -> Search:
    """Check a request before anything is asked."""
    inside, extra = split_scope(request.filters)
    given = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    scope = merged_scope(parts, given, inside)
    layers = checked_layers(request.layers)
    as_of = None if request.as_of is None else parse_when(request.as_of, "as_of")
    where = visible(scope, parts.now(), layers=layers, as_of=as_of, show_expired=request.show_expired, extra=extra)
    return Search(
        query=checked_text(request.query, "query", parts.policy.limits.text_chars),
        scope=scope,
        where=where,
        filtered=extra is not None,
        limit=checked_limit(request.limit, parts.policy.limits.page),
        layers=layers,
        strategy=_strategy(request.strategy or parts.policy.strategy),
        min_score=_min_score(request.min_score if request.min_score is not None else parts.policy.min_score),
        as_of=as_of,
        explain=request.explain,
    )


def checked_layers(layers: Sequence[str] | None) -> tuple[str, ...]:
    """The layers to look at; facts unless the caller says otherwise."""
    if layers is None:
        return tuple(str(layer) for layer in DEFAULT_LAYERS)
    known = {str(layer) for layer in Layer}
    given = (layers,) if isinstance(layers, str) else layers
    chosen = tuple(map(str, given)) if isinstance(given, (Sequence, set, frozenset)) else ()
    if not chosen or set(chosen) - known:
        raise InvalidInput(f"unknown layers: {layers!r}", hint="any of " + ", ".join(sorted(known)))
    return chosen


def checked_limit(limit: int, most: int) -> int:
    """A limit between 1 and the largest page."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidInput(f"limit must be a whole number from 1 to {most:,}, not {limit!r}")
    return limit


def _strategy(value: str) -> str:
    if value not in STRATEGIES:
        raise InvalidInput(f"unknown strategy {value!r}", hint="one of " + ", ".join(STRATEGIES))
    return value


def _min_score(value: float | None) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1):
        raise InvalidInput(f"min_score must be a number from 0 to 1, not {value!r}")
    return value
