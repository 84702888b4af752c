"""``context``: decide whether memory helps, find what does, fit it into a budget, and keep the account."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from memstone.core.checks.arguments import checked_text
from memstone.core.gate import TOO_SHORT, checked_mode, decide_route
from memstone.core.llm.questions import ANSWER_TOKENS, gate_question, parse_route, safe_messages
from memstone.core.prompt.fence import Fence
from memstone.core.prompt.inject import text_at
from memstone.core.prompt.planner import BlockPlan, limits_for_budget, plan_block, profile_tokens
from memstone.engine.access.admission import not_shown
from memstone.engine.recall.judge import LOOKED_AT, judge_relevance
from memstone.engine.recall.message_recall import find_recalled
from memstone.engine.recall.outcome import find_outcome
from memstone.engine.recall.period import ANOTHER_TIME, Period, asked_period, within_period
from memstone.engine.recall.profile import IDENTITY_TOKENS
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.receipts import BlockRecord, build_pack, record_account
from memstone.engine.recall.retrieve import fetch_vectors
from memstone.engine.recall.search import hits_of, read_up
from memstone.engine.recall.surface import Material, SurfacedMemories, day_of, pair_answers, read_material
from memstone.engine.request_scope import ContextRequest, scope_in
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest, checked_breadth, scope_of_breadth
from memstone.engine.search_request import validate_search as checked_search
from memstone.engine.store.holders import PREFIX
from memstone.errors import InvalidInput, StorageError
from memstone.language.text.questions import Person, person_of
from memstone.language.text.tokens import query_terms
from memstone.language.text.words import has_words
from memstone.model.context import NO_GATE, ContextPack
from memstone.model.context_gate import ASKS_HOW_IT_WENT, DEPENDS_ON_WHO_ASKS, GateDecision, GateMode, Route
from memstone.model.instant import Instant, datetime_from_instant, parse_when, to_instant
from memstone.model.memory import USER, Layer, Origin, Record
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import EVERYBODY, Scope
from memstone.ports.io import limit_model_calls
from memstone.ports.models import Llm, Prompt
from memstone.ports.read_cache import call_stamps
from memstone.trace import log_event

if TYPE_CHECKING:
    from memstone.results import Degradation

# --- what is looked for, for a block ----------------------------------------------------------------------------------


_LITTLE: Final = 20
_LATEST: Final = 3
"""So much of what was spoken of last answers a question that names nothing."""

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


async def find_hits(runtime: Runtime, asked: ContextQuery) -> None:
    """Look for what the route wants."""
    layers = LAYERS[asked.gate.route]
    if not layers:
        return
    if asked.gate.route is Route.RECALL:
        await find_recalled(runtime, asked, layers)
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
        judged, wanted = _is_judged(runtime, asked), checked_search(runtime, request)
        hits = await hits_of(runtime, wanted, READ if judged else None)
    asked.hits, asked.degraded = hits.found, hits.degraded
    asked.lap("search")
    if judged and (asked.mode is GateMode.ALWAYS or len(asked.hits) >= min(_LITTLE, wanted.limit)):
        await _drop_unrelated_hits(runtime, asked, hits.words)
    asked.hits = _own_words_first(runtime, asked, await read_up(runtime, wanted, asked.hits))


def _own_words_first(runtime: Runtime, asked: ContextQuery, hits: list[Hit]) -> list[Hit]:
    """Return the hits; where the user asks for the very words, what they said before the answer to it, however near.

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
    """Whether the assistant said something, and what it answers was not found."""
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
    """Look for what belongs to the time that a question names, however near it is; nothing else answers."""
    younger = request.filters
    filters = And((younger, period.time_filter)) if isinstance(younger, Condition) else period.time_filter
    hits = await hits_of(runtime, checked_search(runtime, replace(request, filters=filters, min_score=0.0)))
    around = await hits_of(runtime, checked_search(runtime, request))
    asked.hits, asked.degraded = within_period(period, hits.found, around.found), hits.degraded
    asked.hits = _own_words_first(runtime, asked, asked.hits)
    remaining = {scored.seq for _, scored in asked.hits}
    asked.left_out = {scored.seq: ANOTHER_TIME for _, scored in around.found if scored.seq not in remaining}
    asked.lap("search")


def _is_judged(runtime: Runtime, asked: ContextQuery) -> bool:
    """Whether it is asked what of the hits belongs to the question, where there are more than a few."""
    return bool(runtime.policy.retrieval.false_injection) and asked.as_of is None and not _belongs_anyway(asked)


async def _drop_unrelated_hits(runtime: Runtime, asked: ContextQuery, words: Mapping[int, bytes]) -> None:
    """Leave out what an unrelated question would have found as well; what was found then is not known any more."""
    rate = runtime.policy.retrieval.false_injection
    judged = await judge_relevance(runtime, asked.scope, asked.query, asked.hits, rate, words)
    remaining = {scored.seq for _, scored in judged.relevant}
    reason = judged.reason if judged.nothing else "an unrelated question comes as close"
    asked.left_out = {scored.seq: reason for _, scored in asked.hits if scored.seq not in remaining}
    asked.hits = judged.relevant
    if judged.note:
        asked.degraded.append(judged.note)


def _belongs_anyway(asked: ContextQuery) -> bool:
    """Whether the gate's word is enough: who the user is matters as a whole, or the very words are asked for."""
    is_complete = asked.gate.route in {Route.IDENTITY, Route.TRANSCRIPT} or asked.gate.reason in _FULL_CONTEXT_REASONS
    return asked.mode is not GateMode.ALWAYS and (is_complete or asked.route is not None)


def _age_filter(runtime: Runtime, asked: ContextQuery) -> Where | None:
    """How far back turns are looked for."""
    days = runtime.policy.retrieval.transcript_days
    if asked.gate.route is not Route.TRANSCRIPT or not days:
        return None
    return Condition("occurred_at", Op.GTE, to_instant(datetime_from_instant(asked.at) - timedelta(days=days)))


# --- the fence of a tenant --------------------------------------------------------------------------------------------


_SECRET_BYTES: Final = 32
_PROVISIONAL: Final = os.urandom(_SECRET_BYTES)
"""Stands in while a store has no secret and cannot be written: it lasts as long as the process, and nobody knows it."""


async def fence_of(runtime: Runtime) -> Fence:
    """Return the fence; while a store cannot be written, one of this process."""
    known = runtime.fences.get(runtime.tenant_id)
    if known is not None:
        return known
    try:
        made, lasts = Fence(await _read_secret(runtime)), True
    except StorageError as error:
        made, lasts = Fence(_provisional_secret(runtime.tenant_id)), not error.retryable
    if lasts:  # a store that is only busy has a secret the next time
        runtime.fences[runtime.tenant_id] = made
    return made


def _provisional_secret(tenant_id: str) -> bytes:
    return hmac.new(_PROVISIONAL, tenant_id.encode(), hashlib.sha256).digest()


async def _read_secret(runtime: Runtime) -> bytes:
    fresh, now = os.urandom(_SECRET_BYTES), runtime.now()
    known = await runtime.ledger.peek(lambda tx: tx.vault.known_key(runtime.tenant_id))
    if known is not None:  # whoever only asks waits for nobody who writes
        return known
    return await runtime.ledger.write(lambda tx: tx.vault.key(runtime.tenant_id, fresh, now))


# --- the gate before a read -------------------------------------------------------------------------------------------


async def run_gate(runtime: Runtime, message: str, mode: str, names: Collection[str] = ()) -> GateDecision:
    """Whether memory helps with a message and which layer; ``names`` are people and things already known.

    In mode ``llm`` one call is made when the rules find nothing; whatever goes wrong with it, what the rules said
    stands, and the reason tells.
    """
    decision = decide_route(message, runtime.language, mode=mode, names=names)
    if checked_mode(mode) is not GateMode.LLM or decision.helps or decision is TOO_SHORT:
        return decision
    if runtime.llm is None:
        return replace(decision, reason=f"{decision.reason}; there is no language model to ask")
    try:
        return await _ask_gate_model(runtime.llm, message)
    except Exception as error:  # noqa: BLE001 - whatever a model or its client does, the chat goes on
        return replace(decision, reason=f"{decision.reason}; the language model failed: {type(error).__name__}")


async def asks_about_user(runtime: Runtime, query: str) -> bool:
    """Tell whether a question asks who the user is."""
    return decide_route(query, runtime.language).route is Route.IDENTITY


async def _ask_gate_model(llm: Llm, message: str) -> GateDecision:
    question = gate_question(message)
    prompt = Prompt(safe_messages(question), max_tokens=ANSWER_TOKENS, response_format="json", schema=question.schema)
    route = parse_route((await llm.generate(prompt)).text)
    return GateDecision(route, f"the language model says so ({question.version})")


# --- ``context`` ------------------------------------------------------------------------------------------------------


MOST_TOKENS: Final = 16_000
_NAMES: Final = 200
_GATED: Final = frozenset({GateMode.HEURISTIC, GateMode.LLM})
_CERTAIN: Final = frozenset({Route.IDENTITY, Route.TRANSCRIPT})
"""What is asked for in words of several languages."""

OTHER_LANGUAGE: Final = GateDecision(Route.RECALL, "in another language: what is near to the message")
_LATE: Final = "the search was not done in time"
_NOT_IN_TIME: Final[Degradation] = {"step": "recall", "code": "deadline", "message": _LATE}


@dataclass(slots=True)
class ContextQuery:
    """A checked request, and what becomes known on the way."""

    query: str
    scope: Scope
    budget: int
    mode: GateMode
    route: Route | None
    now: Instant
    project: Scope | None = None
    as_of: Instant | None = None
    breadth: str | None = None
    until: float | None = None
    without_search: bool = False
    gate: GateDecision = NO_GATE
    stamps: tuple[int, ...] = ()
    """The state of the store as the user sees it, where that was looked up."""

    hits: list[Hit] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)
    """By number: what was found and has nothing to do with the question, and why that is thought."""

    farther: set[int] = field(default_factory=set)
    """The numbers of hits that are shown only to somebody of whom the profile holds little of what is known."""

    degraded: list[Degradation] = field(default_factory=list)
    ms: dict[str, float] = field(default_factory=dict)
    clock: float = field(default_factory=time.perf_counter)

    @property
    def owner(self) -> str:
        """Whose memory it is, as the log names them."""
        return self.scope.user_id or self.scope.agent_id or self.scope.run_id

    @property
    def at(self) -> Instant:
        """The moment that is asked about."""
        return self.as_of or self.now

    def limit_embedding(self, usual: float) -> AbstractContextManager[None]:
        """Give an embedder no more than half of the time that is left: words have to answer in the other half."""
        left = inf if self.until is None else self.until - time.monotonic()
        return limit_model_calls(max(0.0, min(usual, left / 2)))

    def lap(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.ms[step], self.clock = round((now - self.clock) * 1000, 3), now


async def build_context(runtime: Runtime, request: ContextRequest) -> ContextPack:
    """What to put into a prompt for a query, within a budget; nothing when there is nothing to say."""
    pack, account = await build_context_pack(runtime, request)
    return pack if account is None else cache_block(account, await record_account(account))


async def build_context_pack(runtime: Runtime, request: ContextRequest) -> tuple[ContextPack, BlockRecord | None]:
    """The same, and what is still to be kept of it, unless nothing is or the block was given before."""
    asked = validate_context(runtime, request)
    if reason := _reason_for_nothing(runtime, asked):
        return ContextPack(budget=asked.budget, gate=GateDecision(Route.NONE, reason)), None
    ready = await _embed_query(runtime, asked)
    look = partial(_look_up_block, ready, asked)
    key, known = await (look() if asked.mode is GateMode.LLM else ready.together(look))
    if isinstance(known, ContextPack):
        return known, None
    found, planned = known
    pack = build_pack(asked, planned)
    return pack, BlockRecord(runtime, asked, pack, found, planned, key)


async def preview_block(runtime: Runtime, asked: ContextQuery) -> tuple[Material, BlockPlan, str]:
    """Return what there is to choose from, what a chat would be given, and how its model reads it; write nothing."""
    if reason := _reason_for_nothing(runtime, asked):
        asked.gate = GateDecision(Route.NONE, reason)
        return Material([], [], None, {}), BlockPlan(), ""
    found, planned = await prepare_block(runtime, asked)
    return found, planned, text_at((planned.text, planned.stable, planned.volatile), runtime.policy.inject.position)


def chat_scope(runtime: Runtime, scope: str | None) -> str | None:
    """Return how far a chat looks whose request says this; what is one's own needs no word."""
    return scope or ("global" if runtime.policy.retrieval.scope == "global" else None)


def _reason_for_nothing(runtime: Runtime, asked: ContextQuery) -> str:
    """Return why nothing is shown, whatever is known; '' where something may be."""
    if asked.mode is GateMode.NEVER:
        return not_shown(runtime) or "memory is never shown"
    return not_shown(runtime) or ("" if asked.budget else "the budget is 0")


def cache_block(account: BlockRecord, context_pack: ContextPack) -> ContextPack:
    """A block as it is told, held for whoever asks the same again, unless something was amiss."""
    runtime, asked = account.runtime, account.asked
    if account.key is not None and not context_pack.degraded:  # what is mended should show at once
        runtime.blocks.put(
            account.key, context_pack, asked.now, _block_expiry(runtime, asked, account.found, account.planned)
        )
    return context_pack


async def _embed_query(runtime: Runtime, asked: ContextQuery) -> Runtime:
    """Return the parts with the vector of the query, where an embedder elsewhere is all that they wait for.

    The rest is then one unit in this process. Step by step, many chats at once would be served in turns, and all of
    them be late.
    """
    waits = runtime.at_hand and runtime.reranker is None and not runtime.embedding.in_process
    searches = asked.mode is GateMode.PROFILE and not asked.without_search
    if not (waits and searches) or asked.as_of is not None or asked.project is not None:
        return runtime
    if await runtime.io.compute(partial(runtime.language.facts.tells_nothing, asked.query)):
        return runtime
    with asked.limit_embedding(runtime.policy.retrieval.embed_seconds):
        return await fetch_vectors(runtime, asked.scope, asked.query)


async def _look_up_block(
    runtime: Runtime, asked: ContextQuery
) -> tuple[tuple[object, ...] | None, ContextPack | tuple[Material, BlockPlan]]:
    """What a block is held under, and the block itself or what it would be made of."""
    key = await _cache_key(runtime, asked)
    context_pack = runtime.blocks.get(key, asked.now) if key is not None else None
    if context_pack is not None:
        return key, context_pack
    asked.lap("cache")
    log_event("memory.retrieval.start", owner=asked.owner, strategy=_search_strategy(runtime))
    return key, await prepare_block(runtime, asked)


async def prepare_block(runtime: Runtime, asked: ContextQuery) -> tuple[Material, BlockPlan]:
    """The block for a checked request, and what it was chosen from; nothing is written."""
    asked.gate = await _decide_gate(runtime, asked)
    asked.lap("gate")
    await find_hits(runtime, asked)
    asked.lap("relevance")
    known = (
        runtime.blocks.find_in_scope("identity", (asked.scope, runtime.bounds), asked.stamps[0])
        if asked.stamps
        else None
    )
    wanted = SurfacedMemories(
        asked.scope,
        asked.hits,
        query_terms(asked.query),
        asked.now,
        runtime.zone,
        asked.as_of,
        identity=asked.gate.route is Route.IDENTITY,
        nobody=known is not None,
        checked=runtime.alone,
        profile_tokens=_profile_tokens(runtime, asked),
        in_session=asked.breadth == "session",
        state=(runtime.bounds, asked.stamps[0]) if asked.stamps else None,
        identity_tokens=IDENTITY_TOKENS if asked.mode in _GATED else 0,
        bounds=runtime.bounds,
        recall=asked.gate.route is Route.RECALL or asked.gate.reason == ASKS_HOW_IT_WENT,
        farther=asked.farther,
        due=runtime.language.gate.asks_what_is_due(asked.query),
        language=runtime.language,
    )
    read = partial(_read_and_plan, runtime, asked, wanted, await fence_of(runtime))
    return await (runtime.io.together(read) if runtime.at_hand else read())


async def _read_and_plan(
    runtime: Runtime, asked: ContextQuery, wanted: SurfacedMemories, fence: Fence
) -> tuple[Material, BlockPlan]:
    """Read what a block is made of, and make it; in this process one thread does so at a time."""
    async with runtime.io.turn() if runtime.at_hand else nullcontext():
        found = await runtime.ledger.read(partial(read_material, wanted=wanted, cache=runtime.blocks))
        if asked.stamps and found.nobody:
            runtime.blocks.learn("identity", (asked.scope, runtime.bounds), asked.stamps[0], frozenset())
        if found.due and asked.gate.route is Route.NONE:
            asked.gate = GateDecision(Route.EPISODE, "something is due")
        asked.lap("read")
        planned = _build_plan(runtime, asked, found, fence)
        asked.lap("plan")
        return found, planned


def _profile_tokens(runtime: Runtime, asked: ContextQuery) -> int:
    """Return how large the profile may be; what an agent knows of everybody is nobody's profile."""
    if asked.mode is not GateMode.PROFILE or not asked.scope.user_id:
        return 0
    return profile_tokens(asked.budget, runtime.policy.retrieval)


def validate_context(runtime: Runtime, request: ContextRequest) -> ContextQuery:
    """Check a request before anything is asked."""
    policy = runtime.policy.retrieval
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    own, project = scope_in(runtime, values, {}, request.project_id)
    breadth = checked_breadth(request.scope)
    return ContextQuery(
        query=checked_text(request.query, "query", runtime.policy.limits.text_chars),
        scope=scope_of_breadth(own, breadth),
        budget=_validate_budget(policy.token_budget if request.budget is None else request.budget),
        mode=_validate_mode(policy.gate if request.gate is None else request.gate),
        route=None if request.route is None else _validate_route(request.route),
        now=runtime.now(),
        project=project,
        as_of=None if request.as_of is None else parse_when(request.as_of, "as_of"),
        breadth=breadth,
        until=request.until,
        without_search=request.without_search,
        degraded=[_NOT_IN_TIME.copy()] if request.without_search else [],
    )


def _validate_budget(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise InvalidInput(f"budget must be a whole number of tokens from 0 to {MOST_TOKENS:,}, not {value!r}")
    return value


def _validate_mode(value: str) -> GateMode:
    mode = checked_mode(value)
    return GateMode.ALWAYS if mode is GateMode.OFF else mode


def _validate_route(value: str) -> Route:
    try:
        return Route(value)
    except ValueError as error:
        raise InvalidInput(f"unknown route {value!r}", hint="one of " + ", ".join(Route)) from error


async def _cache_key(runtime: Runtime, asked: ContextQuery) -> tuple[object, ...] | None:
    """What a block depends on; None without a user, because changes are counted by user."""
    who = asked.scope
    if not who.user_id or asked.as_of is not None or runtime.policy.retrieval.cache_seconds <= 0:
        return None
    question = hashlib.sha256(asked.query.encode()).digest()
    policy = (
        runtime.policy.retrieval,
        runtime.policy.recall,
        runtime.policy.strategy,
        runtime.policy.min_score,
        runtime.zone,
    )
    asked.stamps = await _read_stamps(runtime, who.tenant_id, _block_owners(asked))
    today = day_of(asked.now, runtime.zone)
    return (
        who,
        runtime.bounds,
        asked.project,
        asked.breadth,
        question,
        asked.budget,
        asked.mode,
        asked.route,
        policy,
        today,
        asked.stamps,
    )


def _block_owners(asked: ContextQuery) -> tuple[str, ...]:
    """Whose memories a block may show."""
    project = (asked.project.user_id,) if asked.project is not None else ()
    return (asked.scope.user_id, EVERYBODY, *project)


async def _read_stamps(runtime: Runtime, tenant_id: str, users: Sequence[str]) -> tuple[int, ...]:
    """The state of the store, as far as these users see it; what is looked at next goes by the same."""
    found = await runtime.ledger.peek(lambda tx: tx.vectors.stamps(tenant_id, users))
    call_stamps().update(((tenant_id, user), stamp) for user, stamp in zip(users, found, strict=True))
    return found


async def _decide_gate(runtime: Runtime, asked: ContextQuery) -> GateDecision:
    """Which part of the memory the query asks for. Whoever does not gate gets facts and episodes."""
    if asked.without_search:
        return GateDecision(Route.NONE, _LATE)
    if asked.route is not None:
        return GateDecision(asked.route, "chosen by the caller")
    if asked.mode is GateMode.PROFILE:
        literal = await _detect_literal_request(runtime, asked)
        return literal or GateDecision(Route.RECALL, "the profile, and what is close to the message")
    names = frozenset[str]() if asked.mode is GateMode.ALWAYS else await _known_names(runtime, asked)
    decision = await run_gate(runtime, asked.query, asked.mode, names)
    return OTHER_LANGUAGE if asked.mode in _GATED and _goes_by_nearness(runtime, asked, decision) else decision


def _goes_by_nearness(runtime: Runtime, asked: ContextQuery, decision: GateDecision) -> bool:
    """Whether the rules of the gate have nothing to go by: they read English, and no model was asked instead."""
    if decision is TOO_SHORT or decision.route in _CERTAIN or decision.reason == ASKS_HOW_IT_WENT:
        return False
    unread = asked.mode is GateMode.HEURISTIC or runtime.llm is None
    return unread and has_words(asked.query) and not runtime.language.reads_surely(asked.query)


async def _detect_literal_request(runtime: Runtime, asked: ContextQuery) -> GateDecision | None:

    if not runtime.language.gate.may_ask_for_words(asked.query):
        return None
    return runtime.language.gate.asks_for_words(asked.query, await _known_names(runtime, asked))


async def _known_names(runtime: Runtime, asked: ContextQuery) -> frozenset[str]:
    """Whom a message may speak of: who spoke, and whom and what memories name most."""
    scope = asked.scope
    known = runtime.blocks.find_in_scope("names", (scope, runtime.bounds), asked.stamps[0]) if asked.stamps else None
    if known is None:
        rows = await runtime.ledger.peek(lambda tx: tx.entities.list_entities(scope, _NAMES, 0))
        known = frozenset(row.name for row in rows if row.norm != USER)
        if asked.stamps:
            runtime.blocks.learn("names", (scope, runtime.bounds), asked.stamps[0], known)
    return known | await runtime.texts.speakers(scope)


def _search_strategy(runtime: Runtime) -> str:
    return runtime.policy.retrieval.strategy or runtime.policy.strategy


def _build_plan(runtime: Runtime, asked: ContextQuery, found: Material, fence: Fence) -> BlockPlan:
    return plan_block(
        found.items,
        budget=asked.budget,
        today=day_of(asked.at, runtime.zone),
        fence=fence,
        route=asked.gate.route,
        overrides=found.overrides,
        narrative=found.narrative,
        profile=found.profile,
        policy=runtime.policy.retrieval,
    )


def _block_expiry(runtime: Runtime, asked: ContextQuery, found: Material, planned: BlockPlan) -> Instant:
    """How long a block may be shown again: a few seconds, and never longer than the first thing in it lives."""
    soon = to_instant(datetime_from_instant(asked.now) + timedelta(seconds=runtime.policy.retrieval.cache_seconds))
    ends = [found.rows[one.id].record.expires_at for one in planned.chosen if one.counts]
    return min([soon, *(end for end in (*ends, found.profile.expires_at) if end is not None)])
