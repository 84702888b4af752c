"""Find the hits of a checked search, best first.

A question is understood, asked of the channels, and what they find is ranked and read. It goes deeper until enough of
what may be seen is found, or nothing more is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from memstone.core.ranking.fusion import HALF, Ranking, by_ranks, calibrate_score, fuse_channels
from memstone.engine.recall.ranking import Hit, apply_decay, demote_doubtful, diversify_hits, rerank_hits
from memstone.engine.recall.retrieve import (
    Candidates,
    ParsedQuestion,
    SearchQuestion,
    build_question,
    compare_words,
    find_candidates,
    insert_connected,
    understand_query,
)
from memstone.engine.recall.scans import (
    find_by_labels,
    find_by_prefix,
    find_containing_text,
    find_literal_matches,
    find_newest_memories,
    find_past_hits,
)
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import Search, project_and_shared_searches
from memstone.model.memory import FoundMemory
from memstone.model.query import Where
from memstone.ports.ledger import Work

if TYPE_CHECKING:
    from memstone.results import Degradation


_LAG: Final = 8
"""So many more are looked up than are wanted, in case an index lags."""

_SPARE: Final = 20
"""Where a later step may still change the order, at least so many more than wanted are ranked."""


@dataclass(slots=True)
class Hits:
    """The result of a search, best first, with channels that failed and word vectors that were read."""

    found: list[Hit]
    degraded: list[Degradation]
    words: Mapping[int, bytes] = field(default_factory=dict)
    level: float = 0.0
    """How near everything is to the question on average, where that is known."""

    half_score_at: float = HALF
    """The score that is moved to one half."""


class UnhydratedHit(NamedTuple):
    """A hit of an index that was not read from the ledger yet.

    It is in place of ``FoundMemory``, and of its record.
    """

    seq: int

    @property
    def record(self) -> UnhydratedHit:
        """The record, if it was read."""
        return self

    @property
    def doubtful(self) -> bool:
        """Whether the fact is doubtful; unknown before it is read."""
        return False


async def find_hits(runtime: Runtime, wanted: Search, read: int | None = None) -> Hits:
    """Return the hits of a checked search, including those of its project and of everybody.

    With ``read`` only so many of the best need be read; of the others only ``seq`` may be known, until those that are
    worth it are ``hydrate_hits``.
    """
    others = await project_and_shared_searches(runtime, wanted)
    # None reads all hits: to merge them with those of others, or to rank them again, their records are needed.
    own = await _find_own_hits(runtime, wanted, None if others or _is_read_again(runtime) else read)
    half_score_at = own.half_score_at
    for further in others:
        own = _merge_hits(own, await _find_own_hits(runtime, further), wanted.limit)
    for _, scored in own.found:  # last, so that neither merging nor fading weighs them otherwise
        scored.score = calibrate_score(scored.score, half_score_at)
    return own


async def hydrate_hits(runtime: Runtime, wanted: Search, hits: list[Hit]) -> list[Hit]:
    """Read all hits from the ledger, and drop those that may no longer be seen."""
    seqs = [found.record.seq for found, _ in hits if isinstance(found, UnhydratedHit)]
    if not seqs:
        return hits
    rows = {found.record.seq: found for found in await runtime.ledger.peek(_build_row_query(seqs, wanted.where))}
    full = ((rows.get(scored.seq) if isinstance(found, UnhydratedHit) else found, scored) for found, scored in hits)
    return [(found, scored) for found, scored in full if found is not None]


def _is_read_again(runtime: Runtime) -> bool:
    """Return whether a later step reads every hit."""
    policy = runtime.policy.recall
    return runtime.reranker is not None or policy.mmr is not None or policy.decay_days is not None or policy.salience


def _merge_hits(own: Hits, hits: Hits, limit: int) -> Hits:
    """Merge two results; if both have a hit, the user's own link counts."""
    known = {found.record.seq for found, _ in own.found}
    both = [*own.found, *(hit for hit in hits.found if hit[0].record.seq not in known)]
    both.sort(key=lambda hit: (-hit[1].score, -hit[0].record.seq))
    degraded = [*own.degraded, *(one for one in hits.degraded if one not in own.degraded)]
    return Hits(both[:limit], degraded, {**own.words, **hits.words})


async def _find_own_hits(runtime: Runtime, wanted: Search, read: int | None = None) -> Hits:
    if wanted.strategy == "recent":
        return Hits(await find_newest_memories(runtime, wanted), [])
    if wanted.strategy == "exact":
        return Hits(await find_literal_matches(runtime, wanted), [])
    if wanted.as_of is not None:
        return Hits(*await find_past_hits(runtime, wanted))
    with runtime.watch.step("search.understand"):
        known = await understand_query(runtime, wanted)
    retrieve = partial(_retrieve_hits, runtime, wanted, known, read)
    question, found = await (runtime.io.together(retrieve) if runtime.at_hand else retrieve())
    with runtime.watch.step("search.rank"):
        found, note = await rerank_hits(runtime, wanted, found)
        hits = demote_doubtful(diversify_hits(runtime, apply_decay(runtime, found, runtime.now()), wanted.limit))
    half_score_at = _find_half_score(runtime, wanted, question)
    return Hits(
        hits, [*question.degraded, *([note] if note else [])], question.words_read, question.level, half_score_at
    )


def _find_half_score(runtime: Runtime, wanted: Search, question: SearchQuestion) -> float:
    """Return the share that becomes a score of one half, if it was measured for this model."""
    measured = wanted.strategy == "hybrid" and question.vectors and question.asked
    if not measured or runtime.reranker is not None or runtime.policy.recall.fusion == "rrf":
        return HALF
    return question.weights.half_score_at


async def _retrieve_hits(
    runtime: Runtime, wanted: Search, known: ParsedQuestion, read: int | None
) -> tuple[SearchQuestion, list[Hit]]:
    async with runtime.io.turn() if runtime.at_hand else nullcontext():
        with runtime.watch.step("search.retrieve"):
            question = await build_question(runtime, wanted, known)
            return question, await _search_channels(runtime, _widen_for_later_steps(runtime, wanted), question, read)


def _widen_for_later_steps(runtime: Runtime, wanted: Search) -> Search:
    more = max(wanted.limit, _SPARE) if _is_read_again(runtime) else 0
    return replace(wanted, limit=wanted.limit + more) if more else wanted


async def _search_channels(runtime: Runtime, wanted: Search, question: SearchQuestion, read: int | None) -> list[Hit]:
    """Ask the channels for more, until there are enough visible hits or no more."""
    among = await _read_filtered_seqs(runtime, wanted) if wanted.filtered else None
    depth, wordless = max(4 * wanted.limit, 60), not question.words
    while True:
        found = await find_candidates(runtime, question, depth, among)
        if not question.words and not question.vectors:  # nothing to ask by, or asking has just failed
            current = await find_containing_text(runtime, wanted) if wordless else []
            return current or ([] if wanted.min_score else await find_newest_memories(runtime, wanted))
        ranked = await compare_words(runtime, question, _rank_candidates(runtime, wanted, question, found), found)
        ranked = insert_connected(question, ranked)
        hits = await (
            _read_visible_hits(runtime, wanted, ranked)
            if read is None
            else _read_top_hits(runtime, wanted, ranked, read)
        )
        if len(hits) >= wanted.limit or found.exhausted:
            return hits or await _search_less_strictly(runtime, wanted, question)
        depth *= 4


async def _search_less_strictly(runtime: Runtime, wanted: Search, question: SearchQuestion) -> list[Hit]:
    """Without vectors, search for beginnings of words, then return the newest memories.

    First for beginnings of words, then for what keys and metadata hold.
    """
    by_words_alone = not (question.vectors or wanted.min_score)
    found = (await find_by_prefix(runtime, wanted) or await find_by_labels(runtime, wanted)) if by_words_alone else []
    return await find_newest_memories(runtime, wanted) if not found and wanted.strategy == "semantic" else found


async def _read_filtered_seqs(runtime: Runtime, wanted: Search) -> frozenset[int]:
    return frozenset(await runtime.ledger.read(lambda tx: tx.memories.seqs(wanted.where)))


def _rank_candidates(runtime: Runtime, wanted: Search, question: SearchQuestion, found: Candidates) -> Ranking:
    policy = runtime.policy.recall
    text_counts = wanted.strategy not in {"vector", "semantic"} or not len(found.cosines)
    ranked = fuse_channels(
        found.text,
        found.cosines,
        near=found.near,
        min_score=wanted.min_score,
        text_counts=text_counts,
        by_words=text_counts and bool(question.words),
        answer=found.text_signals,
        entities=found.entities,
        weights=question.weights,
    )
    return by_ranks(ranked, policy.rrf_k) if policy.fusion == "rrf" else ranked


async def _read_visible_hits(runtime: Runtime, wanted: Search, ranked: Ranking) -> list[Hit]:
    """Return the best hits that may be seen."""
    hits, _ = await _read_first_hits(runtime, wanted, ranked, wanted.limit, wanted.limit + _LAG)
    return hits[: wanted.limit]


async def _read_top_hits(runtime: Runtime, wanted: Search, ranked: Ranking, read: int) -> list[Hit]:
    """Return the best hits, of which only the first are read."""
    hits, end = await _read_first_hits(runtime, wanted, ranked, read, read)
    rest = ranked[end : end + max(0, wanted.limit - len(hits))]
    return [*hits[: wanted.limit], *((cast("FoundMemory", UnhydratedHit(scored.seq)), scored) for scored in rest)]


async def _read_first_hits(
    runtime: Runtime, wanted: Search, ranked: Ranking, count: int, step: int
) -> tuple[list[Hit], int]:
    """Read the best visible hits; return them, and how many candidates that took.

    Indexes may lag; the ledger has the last word.
    """
    hits, end = list[Hit](), 0
    while len(hits) < count and end < len(ranked):
        part = ranked[end : end + step]
        seen = await runtime.ledger.peek(_build_row_query([scored.seq for scored in part], wanted.where))
        by_seq = {found.record.seq: found for found in seen}
        hits += [(by_seq[scored.seq], scored) for scored in part if scored.seq in by_seq]
        end += len(part)
    return hits, end


def _build_row_query(seqs: Sequence[int], where: Where) -> Work[list[FoundMemory]]:
    return lambda tx: tx.memories.among(seqs, where)
