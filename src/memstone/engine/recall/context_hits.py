"""What is looked for, for a block: where the gate has sent the question, and without what does not belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from memstone.core.gate import ASKS_HOW_IT_WENT, DEPENDS_ON_WHO_ASKS
from memstone.core.showing.planner import sizes
from memstone.engine.parts import Parts
from memstone.engine.recall.judge import LOOKED_AT
from memstone.engine.recall.period import ANOTHER_TIME, Period, asked_period, within_period
from memstone.engine.recall.read import SearchRequest, hits_of, read_up
from memstone.engine.recall.read import check as checked_search
from memstone.engine.recall.recalled import find_recalled
from memstone.engine.recall.relevance import relevance
from memstone.engine.storing.projects import PREFIX
from memstone.model.context_gate import GateMode, Route
from memstone.model.instant import instant, moment
from memstone.model.memory import Layer
from memstone.model.query import And, Condition, Op, Where
from memstone.ports.io import hurried

if TYPE_CHECKING:
    from memstone.engine.recall.context import Asked

_LITTLE: Final = 20
_LATEST: Final = 3
"""So much of what was spoken of last answers a question that names nothing."""

READ: Final = LOOKED_AT + 4
"""So many are read at once: those that are judged, and about as many as a block holds."""

_WHOLE: Final = frozenset({DEPENDS_ON_WHO_ASKS, ASKS_HOW_IT_WENT})
LAYERS: Final[dict[Route, tuple[str, ...]]] = {
    Route.NONE: (),
    Route.IDENTITY: (Layer.IDENTITY, Layer.FACT),
    Route.PINNED: (Layer.FACT,),
    Route.EPISODE: (Layer.FACT, Layer.EPISODE),
    Route.TRANSCRIPT: (Layer.TURN,),
    Route.RECALL: (Layer.FACT, Layer.EPISODE, Layer.TURN),
}


async def find(parts: Parts, asked: Asked) -> None:
    """Look for what the route wants."""
    layers = LAYERS[asked.gate.route]
    if not layers:
        return
    if asked.gate.route is Route.RECALL:
        await find_recalled(parts, asked, layers)
        return
    request = _request(parts, asked, layers)
    period = asked_period(parts, asked.query, asked.at) if asked.gate.route is not Route.IDENTITY else None
    with hurried(parts.policy.retrieval.embed_seconds):
        if period is not None:
            await _find_in(parts, asked, request, period)
            return
        judged, wanted = _is_judged(parts, asked), checked_search(parts, request)
        hits = await hits_of(parts, wanted, READ if judged else None)
    asked.hits, asked.degraded = hits.found, hits.degraded
    asked.lap("search")
    if judged and (asked.mode is GateMode.ALWAYS or len(asked.hits) >= min(_LITTLE, wanted.limit)):
        await _abstain(parts, asked, hits.words)
    asked.hits = await read_up(parts, wanted, asked.hits)


def _request(parts: Parts, asked: Asked, layers: tuple[str, ...]) -> SearchRequest:
    policy, who = parts.policy.retrieval, asked.scope
    room, latest = sizes(asked.budget, policy), asked.gate.reason == ASKS_HOW_IT_WENT
    most = max(2 * sum(room[layer] for layer in layers), _LITTLE if _is_judged(parts, asked) else 0)
    return SearchRequest(
        query=asked.query,
        user_id=who.user_id or None,
        agent_id=who.agent_id or None,
        run_id=who.run_id or None,
        limit=_LATEST if latest else min(policy.candidates, most),
        filters=_younger(parts, asked),
        min_score=policy.minimum(parts.embedding.name, turns=asked.gate.route is Route.TRANSCRIPT),
        layers=layers,
        as_of=asked.as_of,
        strategy="recent" if latest else policy.strategy or None,
        scope=asked.breadth,
        project_id=asked.project.user_id.removeprefix(PREFIX) if asked.project else None,
    )


async def _find_in(parts: Parts, asked: Asked, request: SearchRequest, period: Period) -> None:
    """Look for what belongs to the time that a question names, however near it is; nothing else answers."""
    younger = request.filters
    filters = And((younger, period.said)) if isinstance(younger, Condition) else period.said
    said = await hits_of(parts, checked_search(parts, replace(request, filters=filters, min_score=0.0)))
    around = await hits_of(parts, checked_search(parts, request))
    asked.hits, asked.degraded = within_period(period, said.found, around.found), said.degraded
    kept = {scored.seq for _, scored in asked.hits}
    asked.left_out = {scored.seq: ANOTHER_TIME for _, scored in around.found if scored.seq not in kept}
    asked.lap("search")


def _is_judged(parts: Parts, asked: Asked) -> bool:
    """Whether it is asked what of the hits belongs to the question, where there are more than a few."""
    return bool(parts.policy.retrieval.false_injection) and asked.as_of is None and not _belongs_anyway(asked)


async def _abstain(parts: Parts, asked: Asked, words: Mapping[int, bytes]) -> None:
    """Leave out what an unrelated question would have found as well; what was found then is not known any more."""
    rate = parts.policy.retrieval.false_injection
    judged = await relevance(parts, asked.scope, asked.query, asked.hits, rate, words)
    kept = {scored.seq for _, scored in judged.kept}
    reason = judged.reason if judged.nothing else "an unrelated question comes as close"
    asked.left_out = {scored.seq: reason for _, scored in asked.hits if scored.seq not in kept}
    asked.hits = judged.kept
    if judged.note:
        asked.degraded.append(judged.note)


def _belongs_anyway(asked: Asked) -> bool:
    """Whether the gate's word is enough: who the user is matters as a whole, or the very words are asked for."""
    whole = asked.gate.route in {Route.IDENTITY, Route.TRANSCRIPT} or asked.gate.reason in _WHOLE
    return asked.mode is not GateMode.ALWAYS and (whole or asked.route is not None)


def _younger(parts: Parts, asked: Asked) -> Where | None:
    """How far back turns are looked for."""
    days = parts.policy.retrieval.transcript_days
    if asked.gate.route is not Route.TRANSCRIPT or not days:
        return None
    return Condition("occurred_at", Op.GTE, instant(moment(asked.at) - timedelta(days=days)))
