"""``context``: decide whether memory helps, find what does, fit it into a budget, and keep the account."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from memstone.core.checks.arguments import checked_text
from memstone.core.gate import checked_mode
from memstone.core.gate.rules import asks_what_is_up
from memstone.core.showing.fence import Fence
from memstone.core.showing.planner import Plan, plan, profile_tokens
from memstone.core.text.analyze import query_terms
from memstone.engine.access.pause import not_shown
from memstone.engine.asking import checked_breadth, scope_of_breadth
from memstone.engine.parts import Parts
from memstone.engine.recall.account import Account, accounted, packed
from memstone.engine.recall.context_hits import find
from memstone.engine.recall.fencing import fence_of
from memstone.engine.recall.gating import gate
from memstone.engine.recall.profile import IDENTITY_TOKENS
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.surface import Material, Surfacing, day_of, material
from memstone.engine.requests import ContextRequest
from memstone.engine.scoping import scope_in
from memstone.errors import InvalidInput
from memstone.model.context import NO_GATE, ContextPack
from memstone.model.context_gate import GateDecision, GateMode, Route
from memstone.model.instant import Instant, instant, moment, parse_when
from memstone.model.memory import USER
from memstone.model.scope import EVERYBODY, Scope
from memstone.ports.read_cache import seen
from memstone.trace import log_event

MOST_TOKENS: Final = 16_000
_NAMES: Final = 200
_GATED: Final = frozenset({GateMode.HEURISTIC, GateMode.LLM})


@dataclass(slots=True)
class Asked:
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
    gate: GateDecision = NO_GATE
    stamps: tuple[int, ...] = ()
    """The state of the store as the user sees it, where that was looked up."""

    hits: list[Hit] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)
    """By number: what was found and has nothing to do with the question, and why that is thought."""

    farther: set[int] = field(default_factory=set)
    """The numbers of hits that are shown only to somebody of whom the profile holds little of what is known."""

    degraded: list[dict[str, object]] = field(default_factory=list)
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

    def lap(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.ms[step], self.clock = round((now - self.clock) * 1000, 3), now


async def context(parts: Parts, request: ContextRequest) -> ContextPack:
    """What to put into a prompt for a query, within a budget; nothing when there is nothing to say."""
    pack, account = await answered(parts, request)
    return pack if account is None else held(account, await accounted(account))


async def answered(parts: Parts, request: ContextRequest) -> tuple[ContextPack, Account | None]:
    """The same, and what is still to be kept of it, unless nothing is or the block was given before."""
    asked = check(parts, request)
    if reason := not_shown(parts):
        return ContextPack(budget=asked.budget, gate=GateDecision(Route.NONE, reason)), None
    if asked.mode is GateMode.NEVER:
        return ContextPack(budget=asked.budget, gate=GateDecision(Route.NONE, "memory is never shown")), None
    if asked.budget == 0:
        return ContextPack(gate=GateDecision(Route.NONE, "the budget is 0")), None
    look = partial(_looked, parts, asked)
    key, known = await (look() if asked.mode is GateMode.LLM else parts.together(look))
    if isinstance(known, ContextPack):
        return known, None
    found, planned = known
    pack = packed(asked, planned)
    return pack, Account(parts, asked, pack, found, planned, key)


def held(account: Account, told: ContextPack) -> ContextPack:
    """A block as it is told, held for whoever asks the same again, unless something was amiss."""
    parts, asked = account.parts, account.asked
    if account.key is not None and not told.degraded:  # what is mended should show at once
        parts.blocks.put(account.key, told, asked.now, _until(parts, asked, account.found, account.planned))
    return told


async def _looked(parts: Parts, asked: Asked) -> tuple[tuple[object, ...] | None, ContextPack | tuple[Material, Plan]]:
    """What a block is held under, and the block itself or what it would be made of."""
    key = await _key(parts, asked)
    held = parts.blocks.get(key, asked.now) if key is not None else None
    if held is not None:
        return key, held
    asked.lap("cache")
    log_event("memory.retrieval.start", owner=asked.owner, strategy=_strategy(parts))
    return key, await made(parts, asked)


async def made(parts: Parts, asked: Asked) -> tuple[Material, Plan]:
    """The block for a checked request, and what it was chosen from; nothing is written."""
    asked.gate = await _gated(parts, asked)
    asked.lap("gate")
    await find(parts, asked)
    asked.lap("relevance")
    known = parts.blocks.known("identity", (asked.scope, parts.bounds), asked.stamps[0]) if asked.stamps else None
    wanted = Surfacing(
        asked.scope,
        asked.hits,
        query_terms(asked.query),
        asked.now,
        parts.zone,
        asked.as_of,
        identity=asked.gate.route is Route.IDENTITY,
        nobody=known is not None,
        checked=parts.alone,
        profile_tokens=_profile_tokens(parts, asked),
        in_session=asked.breadth == "session",
        state=(parts.bounds, asked.stamps[0]) if asked.stamps else None,
        identity_tokens=IDENTITY_TOKENS if asked.mode in _GATED else 0,
        bounds=parts.bounds,
        recall=asked.gate.route is Route.RECALL,
        farther=asked.farther,
        due=asks_what_is_up(asked.query),
    )
    found = await parts.ledger.read(partial(material, wanted=wanted, cache=parts.blocks))
    if asked.stamps and found.nobody:
        parts.blocks.learn("identity", (asked.scope, parts.bounds), asked.stamps[0], frozenset())
    if found.due and asked.gate.route is Route.NONE:
        asked.gate = GateDecision(Route.EPISODE, "something is due")
    asked.lap("read")
    planned = _planned(parts, asked, found, await fence_of(parts))
    asked.lap("plan")
    return found, planned


def _profile_tokens(parts: Parts, asked: Asked) -> int:
    """Return how large the profile may be; what an agent knows of everybody is nobody's profile."""
    if asked.mode is not GateMode.PROFILE or not asked.scope.user_id:
        return 0
    return profile_tokens(asked.budget, parts.policy.retrieval)


def check(parts: Parts, request: ContextRequest) -> Asked:
    """Check a request before anything is asked."""
    policy = parts.policy.retrieval
    given = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    own, project = scope_in(parts, given, {}, request.project_id)
    breadth = checked_breadth(request.scope)
    return Asked(
        query=checked_text(request.query, "query", parts.policy.limits.text_chars),
        scope=scope_of_breadth(own, breadth),
        budget=_budget(policy.token_budget if request.budget is None else request.budget),
        mode=_mode(policy.gate if request.gate is None else request.gate),
        route=None if request.route is None else _route(request.route),
        now=parts.now(),
        project=project,
        as_of=None if request.as_of is None else parse_when(request.as_of, "as_of"),
        breadth=breadth,
    )


def _budget(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise InvalidInput(f"budget must be a whole number of tokens from 0 to {MOST_TOKENS:,}, not {value!r}")
    return value


def _mode(value: str) -> GateMode:
    mode = checked_mode(value)
    return GateMode.ALWAYS if mode is GateMode.OFF else mode


def _route(value: str) -> Route:
    try:
        return Route(value)
    except ValueError as error:
        raise InvalidInput(f"unknown route {value!r}", hint="one of " + ", ".join(Route)) from error


async def _key(parts: Parts, asked: Asked) -> tuple[object, ...] | None:
    """What a block depends on; None without a user, because changes are counted by user."""
    who = asked.scope
    if not who.user_id or asked.as_of is not None or parts.policy.retrieval.cache_seconds <= 0:
        return None
    question = hashlib.sha256(asked.query.encode()).digest()
    policy = (parts.policy.retrieval, parts.policy.recall, parts.policy.strategy, parts.policy.min_score, parts.zone)
    asked.stamps = await _stamps(parts, who.tenant_id, _owners(asked))
    today = day_of(asked.now, parts.zone)
    return (
        who,
        parts.bounds,
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


def _owners(asked: Asked) -> tuple[str, ...]:
    """Whose memories a block may show."""
    project = (asked.project.user_id,) if asked.project is not None else ()
    return (asked.scope.user_id, EVERYBODY, *project)


async def _stamps(parts: Parts, tenant_id: str, users: Sequence[str]) -> tuple[int, ...]:
    """The state of the store, as far as these users see it; what is looked at next goes by the same."""
    found = await parts.ledger.peek(lambda tx: tx.vectors.stamps(tenant_id, users))
    seen().update(((tenant_id, user), stamp) for user, stamp in zip(users, found, strict=True))
    return found


async def _gated(parts: Parts, asked: Asked) -> GateDecision:
    """Which part of the memory the query asks for. Whoever does not gate gets facts and episodes."""
    if asked.route is not None:
        return GateDecision(asked.route, "chosen by the caller")
    if asked.mode is GateMode.PROFILE:
        literal = await _literal(parts, asked)
        return literal or GateDecision(Route.RECALL, "the profile, and what is near to the message")
    names = frozenset[str]() if asked.mode is GateMode.ALWAYS else await _known_names(parts, asked)
    return await gate(parts, asked.query, asked.mode, names)


async def _literal(parts: Parts, asked: Asked) -> GateDecision | None:
    from memstone.core.gate.rules import asks_for_words, may_ask_for_words

    if not may_ask_for_words(asked.query):
        return None
    return asks_for_words(asked.query, await _known_names(parts, asked))


async def _known_names(parts: Parts, asked: Asked) -> frozenset[str]:
    """Whom a message may speak of: who spoke, and whom and what memories name most."""
    scope = asked.scope
    known = parts.blocks.known("names", (scope, parts.bounds), asked.stamps[0]) if asked.stamps else None
    if known is None:
        rows = await parts.ledger.peek(lambda tx: tx.entities.listed(scope, _NAMES, 0))
        known = frozenset(row.name for row in rows if row.norm != USER)
        if asked.stamps:
            parts.blocks.learn("names", (scope, parts.bounds), asked.stamps[0], known)
    return known | await parts.texts.speakers(scope)


def _strategy(parts: Parts) -> str:
    return parts.policy.retrieval.strategy or parts.policy.strategy


def _planned(parts: Parts, asked: Asked, found: Material, fence: Fence) -> Plan:
    return plan(
        found.items,
        budget=asked.budget,
        today=day_of(asked.at, parts.zone),
        fence=fence,
        route=asked.gate.route,
        overrides=found.overrides,
        narrative=found.narrative,
        profile=found.profile,
        policy=parts.policy.retrieval,
    )


def _until(parts: Parts, asked: Asked, found: Material, planned: Plan) -> Instant:
    """How long a block may be shown again: a few seconds, and never longer than the first thing in it lives."""
    soon = instant(moment(asked.now) + timedelta(seconds=parts.policy.retrieval.cache_seconds))
    ends = [found.rows[one.id].record.expires_at for one in planned.chosen if one.counts]
    return min([soon, *(end for end in (*ends, found.profile.expires_at) if end is not None)])
