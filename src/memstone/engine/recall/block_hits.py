"""Find the memories a block may show, and drop those that are not relevant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from memstone.core.prompt.planner import limits_for_budget
from memstone.engine.recall.context_query import ContextQuery
from memstone.engine.recall.hits import find_hits, hydrate_hits
from memstone.engine.recall.judge import LOOKED_AT, judge_relevance
from memstone.engine.recall.message_recall import fill_recalled_hits
from memstone.engine.recall.outcome import find_outcome
from memstone.engine.recall.period import ANOTHER_TIME, Period, asked_period, within_period
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.surface import pair_answers
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest, build_search
from memstone.engine.store.holders import PREFIX
from memstone.language.text.questions import Person, person_of
from memstone.model.context_gate import ASKS_HOW_IT_WENT, DEPENDS_ON_WHO_ASKS, GateMode, Route
from memstone.model.instant import datetime_from_instant, to_instant
from memstone.model.memory import Layer, Origin, Record
from memstone.model.query import And, Condition, Op, Where

_LITTLE: Final = 20
_LATEST: Final = 3
"""So much of what was mentioned last answers a question that names nothing."""

READ: Final = LOOKED_AT + 4
"""So many are read at once: those that are judged, and about as many as a block holds."""

_FULL_CONTEXT_REASONS: Final = frozenset({DEPENDS_ON_WHO_ASKS, ASKS_HOW_IT_WENT})
LAYERS: Final[dict[Route, tuple[str, ...]]] = {
    Route.NONE: (),
    Route.IDENTITY: (Layer.IDENTITY, Layer.FACT),
    Route.PINNED: (Layer.FACT,),
    Route.EPISODE: (Layer.FACT, Layer.EPISODE),
    Route.TRANSCRIPT: (Layer.TURN,),
    Route.RECALL: (Layer.FACT, Layer.EPISODE, Layer.TURN),
}


async def fill_block_hits(runtime: Runtime, asked: ContextQuery) -> None:
    """Search the layers of a route; put what is found, left out and degraded into ``asked``."""
    layers = LAYERS[asked.gate.route]
    if not layers:
        return
    if asked.gate.route is Route.RECALL:
        await fill_recalled_hits(runtime, asked, layers)
        return
    if asked.gate.reason == ASKS_HOW_IT_WENT:
        asked.hits = await find_outcome(runtime, asked)
        if asked.hits:
            asked.lap("search")
            return
    request = _build_search_request(runtime, asked, layers)
    period = asked_period(runtime, asked.query, asked.at) if asked.gate.route is not Route.IDENTITY else None
    with asked.limit_embedding(runtime.policy.retrieval.embed_seconds):
        if period is not None:
            await _find_in(runtime, asked, request, period)
            return
        judged, wanted = _is_judged(runtime, asked), build_search(runtime, request)
        hits = await find_hits(runtime, wanted, READ if judged else None)
    asked.hits, asked.degraded = hits.found, hits.degraded
    asked.lap("search")
    if judged and (asked.mode is GateMode.ALWAYS or len(asked.hits) >= min(_LITTLE, wanted.limit)):
        await _drop_unrelated_hits(runtime, asked, hits.words)
    asked.hits = _own_words_first(runtime, asked, await hydrate_hits(runtime, wanted, asked.hits))


def _own_words_first(runtime: Runtime, asked: ContextQuery, hits: list[Hit]) -> list[Hit]:
    """Put the user's own words before answers to others, if exact words are asked for.

    Answers to something else stand last where the user asks for their own words.
    """
    if asked.gate.route is not Route.TRANSCRIPT:
        return hits
    replies, by_id = pair_answers(hits), {found.record.id: (found, scored) for found, scored in hits}
    ids = [one for found, _ in hits for one in (replies.get(found.record.id, ""), found.record.id) if one]
    ordered = [by_id[one] for one in dict.fromkeys(ids)]
    if person_of(asked.query) is Person.NOBODY or runtime.language.gate.speaks_to_assistant(asked.query):
        return ordered
    return sorted(ordered, key=lambda hit: _is_alone(hit[0].record, replies))


def _is_alone(record: Record, replies: Mapping[str, str]) -> bool:
    """Return whether the assistant said a hit and the message it answers was not found."""
    return record.source_role == Origin.ASSISTANT and record.id not in replies


def _build_search_request(runtime: Runtime, asked: ContextQuery, layers: tuple[str, ...]) -> SearchRequest:
    policy, who = runtime.policy.retrieval, asked.scope
    room, latest = limits_for_budget(asked.budget, policy), asked.gate.reason == ASKS_HOW_IT_WENT
    most = max(2 * sum(room[layer] for layer in layers), _LITTLE if _is_judged(runtime, asked) else 0)
    return SearchRequest(
        query=asked.query,
        user_id=who.user_id or None,
        agent_id=who.agent_id or None,
        run_id=who.run_id or None,
        limit=_LATEST if latest else min(policy.candidates, most),
        filters=_age_filter(runtime, asked),
        min_score=policy.minimum(runtime.embedding.name, turns=asked.gate.route is Route.TRANSCRIPT),
        layers=layers,
        as_of=asked.as_of,
        strategy="recent" if latest else policy.strategy or None,
        scope=asked.breadth,
        project_id=asked.project.user_id.removeprefix(PREFIX) if asked.project else None,
    )


async def _find_in(runtime: Runtime, asked: ContextQuery, request: SearchRequest, period: Period) -> None:
    """Search only the period that a question names."""
    younger = request.filters
    filters = And((younger, period.time_filter)) if isinstance(younger, Condition) else period.time_filter
    hits = await find_hits(runtime, build_search(runtime, replace(request, filters=filters, min_score=0.0)))
    around = await find_hits(runtime, build_search(runtime, request))
    asked.hits, asked.degraded = within_period(period, hits.found, around.found), hits.degraded
    asked.hits = _own_words_first(runtime, asked, asked.hits)
    remaining = {scored.seq for _, scored in asked.hits}
    asked.left_out = {scored.seq: ANOTHER_TIME for _, scored in around.found if scored.seq not in remaining}
    asked.lap("search")


def _is_judged(runtime: Runtime, asked: ContextQuery) -> bool:
    """Return whether to judge the relevance of hits, which needs more than a few."""
    return bool(runtime.policy.retrieval.false_injection) and asked.as_of is None and not _belongs_anyway(asked)


async def _drop_unrelated_hits(runtime: Runtime, asked: ContextQuery, words: Mapping[int, bytes]) -> None:
    """Drop hits that an unrelated question would have found as well."""
    rate = runtime.policy.retrieval.false_injection
    judged = await judge_relevance(runtime, asked.scope, asked.query, asked.hits, rate, words)
    remaining = {scored.seq for _, scored in judged.relevant}
    reason = judged.reason if judged.nothing else "an unrelated question comes as close"
    asked.left_out = {scored.seq: reason for _, scored in asked.hits if scored.seq not in remaining}
    asked.hits = judged.relevant
    if judged.note:
        asked.degraded.append(judged.note)


def _belongs_anyway(asked: ContextQuery) -> bool:
    """Return whether no further judgement is needed, because of the gate's decision."""
    is_complete = asked.gate.route in {Route.IDENTITY, Route.TRANSCRIPT} or asked.gate.reason in _FULL_CONTEXT_REASONS
    return asked.mode is not GateMode.ALWAYS and (is_complete or asked.route is not None)


def _age_filter(runtime: Runtime, asked: ContextQuery) -> Where | None:
    """Return the filter for the age of turns."""
    days = runtime.policy.retrieval.transcript_days
    if asked.gate.route is not Route.TRANSCRIPT or not days:
        return None
    return Condition("occurred_at", Op.GTE, to_instant(datetime_from_instant(asked.at) - timedelta(days=days)))
