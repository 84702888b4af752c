"""``context``: one call from request to answer. Read this first to see what a model is shown.

The request is checked (``recall/context_query.py``). A block that was made for the same question a few seconds ago is
returned again, unless something was written (``recall/block_key.py``). Otherwise the gate decides which part of the
memory the message asks for (``recall/gate.py``). By default its mode is ``profile``: every block shows the profile, and
memories that are close enough to the message are added (``recall/message_recall.py``). In the other modes the part that
was decided on is searched (``recall/block_hits.py``). Then everything that may be shown is read in one transaction
(``recall/surface.py``), and lines are selected within the budget (``core/prompt/planner.py``). The receipt records what
was selected and why (``recall/receipts.py``).
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from memstone.core.prompt.fence import Fence
from memstone.core.prompt.inject import text_at
from memstone.core.prompt.planner import BlockPlan, plan_block, profile_tokens
from memstone.engine.access.admission import not_shown
from memstone.engine.recall.block_hits import fill_block_hits
from memstone.engine.recall.block_key import block_expiry, read_block_key
from memstone.engine.recall.context_query import ContextQuery, validate_context
from memstone.engine.recall.fence import fence_of
from memstone.engine.recall.gate import GATED, decide_gate
from memstone.engine.recall.profile import IDENTITY_TOKENS
from memstone.engine.recall.receipts import BlockRecord, build_pack, store_receipt
from memstone.engine.recall.retrieve import bind_query_vectors
from memstone.engine.recall.surface import Material, MaterialRequest, day_of, read_material
from memstone.engine.request_scope import ContextRequest
from memstone.engine.runtime import Runtime
from memstone.language.text.tokens import query_terms
from memstone.model.context import ContextPack
from memstone.model.context_gate import ASKS_HOW_IT_WENT, GateDecision, GateMode, Route
from memstone.trace import log_event


async def build_context(runtime: Runtime, request: ContextRequest) -> ContextPack:
    """Return what to put into a prompt for a query, within a budget; empty if memory does not help."""
    pack, record = await build_context_pack(runtime, request)
    return pack if record is None else cache_block(record, await store_receipt(record))


async def build_context_pack(runtime: Runtime, request: ContextRequest) -> tuple[ContextPack, BlockRecord | None]:
    """Return the pack, and the record for its receipt unless there is none to store."""
    asked = validate_context(runtime, request)
    if reason := _reason_for_nothing(runtime, asked):
        return ContextPack(budget=asked.budget, gate=GateDecision(Route.NONE, reason)), None
    ready = await _bind_vectors_if_remote(runtime, asked)
    look = partial(_look_up_block, ready, asked)
    # In the mode ``llm`` the gate may ask a model over the network, and a unit must need nothing outside this process.
    key, known = await (look() if asked.mode is GateMode.LLM else ready.together(look))
    if isinstance(known, ContextPack):
        return known, None
    found, planned = known
    pack = build_pack(asked, planned)
    return pack, BlockRecord(runtime, asked, pack, found, planned, key)


async def preview_block(runtime: Runtime, asked: ContextQuery) -> tuple[Material, BlockPlan, str]:
    """Return candidates, the block and how a model reads it, without writing anything."""
    if reason := _reason_for_nothing(runtime, asked):
        asked.gate = GateDecision(Route.NONE, reason)
        return Material([], [], None, {}), BlockPlan(), ""
    found, planned = await prepare_block(runtime, asked)
    return found, planned, text_at((planned.text, planned.stable, planned.volatile), runtime.policy.inject.position)


def chat_scope(runtime: Runtime, scope: str | None) -> str | None:
    """Return the search scope of a chat request."""
    return scope or ("global" if runtime.policy.retrieval.scope == "global" else None)


def _reason_for_nothing(runtime: Runtime, asked: ContextQuery) -> str:
    """Return why nothing may be shown, or '' if something may."""
    if asked.mode is GateMode.NEVER:
        return not_shown(runtime) or "memory is never shown"
    return not_shown(runtime) or ("" if asked.budget else "the budget is 0")


def cache_block(record: BlockRecord, context_pack: ContextPack) -> ContextPack:
    """Return the pack, and cache it for the same question unless it is degraded."""
    runtime, asked = record.runtime, record.asked
    if record.key is not None and not context_pack.degraded:  # what is mended should show at once
        runtime.blocks.put(
            record.key, context_pack, asked.now, block_expiry(runtime, asked, record.found, record.planned)
        )
    return context_pack


async def _bind_vectors_if_remote(runtime: Runtime, asked: ContextQuery) -> Runtime:
    """Return the runtime with the vector of the query, if a remote embedder is all they wait for.

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
        return await bind_query_vectors(runtime, asked.scope, asked.query)


async def _look_up_block(
    runtime: Runtime, asked: ContextQuery
) -> tuple[tuple[object, ...] | None, ContextPack | tuple[Material, BlockPlan]]:
    """Return the cache key of a block, and the cached block or the data to build it."""
    key = await read_block_key(runtime, asked)
    context_pack = runtime.blocks.get(key, asked.now) if key is not None else None
    if context_pack is not None:
        return key, context_pack
    asked.lap("cache")
    log_event("memory.retrieval.start", owner=asked.owner, strategy=_search_strategy(runtime))
    return key, await prepare_block(runtime, asked)


async def prepare_block(runtime: Runtime, asked: ContextQuery) -> tuple[Material, BlockPlan]:
    """Return the block for a checked request and its candidates, without writing anything."""
    asked.gate = await decide_gate(runtime, asked)
    asked.lap("gate")
    await fill_block_hits(runtime, asked)
    asked.lap("relevance")
    # Whoever has no identity, as of this state of the store, need not be looked up again.
    known = (
        runtime.blocks.find_in_scope("identity", (asked.scope, runtime.bounds), asked.stamps[0])
        if asked.stamps
        else None
    )
    wanted = MaterialRequest(
        asked.scope,
        asked.hits,
        query_terms(asked.query),
        asked.now,
        runtime.zone,
        asked.as_of,
        identity=asked.gate.route is Route.IDENTITY,
        identity_is_empty=known is not None,
        # Nothing was waited for since the search, so no hit can have ended meanwhile.
        hits_are_fresh=runtime.alone,
        profile_tokens=_profile_tokens(runtime, asked),
        in_session=asked.breadth == "session",
        store_state=(runtime.bounds, asked.stamps[0]) if asked.stamps else None,
        # Behind a gate there is no profile, but who the user is belongs to every block.
        identity_tokens=IDENTITY_TOKENS if asked.mode in GATED else 0,
        bounds=runtime.bounds,
        # Turns that nobody asked for are shown only if what they say still holds.
        shown_unasked=asked.gate.route is Route.RECALL or asked.gate.reason == ASKS_HOW_IT_WENT,
        farther=asked.farther,
        due=runtime.language.gate.asks_what_is_due(asked.query),
        language=runtime.language,
        counter=runtime.token_counter,
    )
    read = partial(_read_and_plan, runtime, asked, wanted, await fence_of(runtime))
    return await (runtime.io.together(read) if runtime.at_hand else read())


async def _read_and_plan(
    runtime: Runtime, asked: ContextQuery, wanted: MaterialRequest, fence: Fence
) -> tuple[Material, BlockPlan]:
    """Read the candidates and plan the block, one at a time in this process."""
    async with runtime.io.turn() if runtime.at_hand else nullcontext():
        found = await runtime.ledger.read(partial(read_material, wanted=wanted, cache=runtime.blocks))
        if asked.stamps and found.identity_is_empty:
            runtime.blocks.learn("identity", (asked.scope, runtime.bounds), asked.stamps[0], frozenset())
        if found.due and asked.gate.route is Route.NONE:
            asked.gate = GateDecision(Route.EPISODE, "something is due")
        asked.lap("read")
        planned = _build_plan(runtime, asked, found, fence)
        asked.lap("plan")
        return found, planned


def _profile_tokens(runtime: Runtime, asked: ContextQuery) -> int:
    """Return the size of the profile; an agent without a user has none."""
    if asked.mode is not GateMode.PROFILE or not asked.scope.user_id:
        return 0
    return profile_tokens(asked.budget, runtime.policy.retrieval, runtime.token_counter)


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
        counter=runtime.token_counter,
    )
