"""Read the profile of a person from the ledger, without a search or an embedder."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.filters import where_in_scope, where_link_direct, where_visible
from memstone.core.prompt.inject import one_line
from memstone.core.prompt.profile import (
    NOTHING_ENDED,
    TELLS_NOTHING,
    VISIBILITY,
    EndedFacts,
    Profile,
    ProfileFact,
    ProfileTurn,
    Visibility,
    add_turns,
    build_profile,
    has_fact_words,
    importance_of,
    room_left,
    says_more,
    says_who,
    visibility_of,
)
from memstone.engine.block_cache import BlockCache
from memstone.engine.layers.portrait import Portrait, read_portrait
from memstone.engine.policy import apply_scope_policy
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import IDLE
from memstone.engine.store.write import REPEATS
from memstone.errors import InvalidInput, ScopeError
from memstone.language.language import IdentityRules, Language, TextGuard
from memstone.language.text.normal import ESTIMATE, TokenCounter
from memstone.model.context_gate import GateMode
from memstone.model.fact import CLASSES
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import FoundMemory, Layer, Origin, Record, Status
from memstone.model.policy import Policy
from memstone.model.query import And, Condition, Op, Or
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.tables import TurnFact

if TYPE_CHECKING:
    from memstone.results import ProfileFactItem, ProfileInstructionItem, ProfileResult, ProfileTurnItem

MOST_TOKENS: Final = 16_000
IDENTITY_TOKENS: Final = 200
"""So much says who the user is, where the rest stands behind a gate."""

MOST: Final = 2_000
"""So many of the newest facts are looked at; a person of whom more is known has long overflowed the profile."""

MOST_ENDED: Final = 500
"""So many of the newest versions that ended are looked at, to know them again in what was said."""

MOST_TURNS: Final = 300
"""So many of the newest turns are looked at, where the facts leave room."""

MOST_IDLE: Final = 100
"""So many of the newest turns that tell nothing to remember are named as left out."""

_LEAST_ROOM: Final = 20
"""With fewer tokens left than this, turns are not even read."""

_NOT_THE_USERS: Final = frozenset({Origin.ASSISTANT, Origin.TOOL})


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """The arguments of ``profile``: whose, when, and how large."""

    scope: Scope
    now: Instant
    tokens: int
    as_of: Instant | None = None
    zone: tzinfo = UTC
    store_state: Hashable = None
    """The state of the user's memories, as far as the caller sees them, where it was looked up."""

    in_session: bool = False
    """Whether only what belongs to the conversation is asked for."""

    names_all: bool = False
    """Whether what finds no room is named, too, where there is room for nothing more."""

    language: Language = field(kw_only=True)
    counter: TokenCounter = ESTIMATE

    @property
    def owner(self) -> Scope:
        """The owner of the profile."""
        return self.scope if self.in_session else owner_of(self.scope)

    @property
    def today(self) -> Instant:
        """The beginning of the day of the request."""
        day = datetime_from_instant(self.as_of or self.now).astimezone(self.zone)
        return to_instant(day.replace(hour=0, minute=0, second=0, microsecond=0))


async def read_profile(tx: Tx, cache: BlockCache, wanted: ProfileRequest) -> Profile:
    """Read the facts and turns, and choose the profile; cached by the state of the user's memories."""
    key = None
    if wanted.store_state is not None and wanted.as_of is None:
        key = (wanted.owner, wanted.tokens, wanted.today, wanted.store_state)
        if (profile := cache.profile(key, wanted.now)) is not None:
            return profile
    made = await _assemble_profile(tx, cache, wanted)
    if key is not None:
        cache.keep_profile(key, made)
    return made


async def _assemble_profile(tx: Tx, cache: BlockCache, wanted: ProfileRequest) -> Profile:
    made = _with_days(build_profile(await read_facts(tx, cache, wanted), wanted.tokens, wanted.counter), wanted.zone)
    room = room_left(made.facts, wanted.tokens, wanted.counter)
    if not wanted.names_all and room <= wanted.counter.units(_LEAST_ROOM):
        return made
    turns = await _read_turns(tx, wanted)
    idle = await _read_idle_turns(tx, wanted, min((turn.seq for turn in turns), default=0))
    made = replace(made, left_out=(*made.left_out, *((one, TELLS_NOTHING) for one in idle)))
    if not turns:
        return made
    ended = await read_ended_facts(tx, cache, wanted) if wanted.as_of is None else NOTHING_ENDED
    return add_turns(made, turns, room, ended, wanted.counter)


async def read_identity(tx: Tx, cache: BlockCache, wanted: ProfileRequest, mirrors: Sequence[FoundMemory]) -> Profile:
    """Read who the user is, which every gate shows: name, age, home, work, and pinned memories.

    ``mirrors`` are what other agents have learned of it.
    """
    rules = wanted.language.identity
    facts = [fact for fact in await read_facts(tx, cache, wanted) if says_who(fact, rules)]
    known = {fact.id for fact in facts}
    others = [profile_fact(one.record, rules) for one in mirrors if one.record.origin_id not in known]
    made = build_profile([*facts, *others], wanted.tokens, wanted.counter)
    return replace(_with_days(made, wanted.zone), beside_budget=True)


def _with_days(made: Profile, zone: tzinfo) -> Profile:
    """Return facts with their days in the user's time zone."""
    return replace(made, facts=tuple(replace(fact, date=_day_text(fact.said_at, zone)) for fact in made.facts))


def _day_text(when: Instant, zone: tzinfo) -> str:
    return datetime_from_instant(when).astimezone(zone).date().isoformat()


async def always_shown(
    tx: Tx, cache: BlockCache, language: Language, owner: Scope, now: Instant, policy: Policy, counter: TokenCounter
) -> frozenset[str]:
    """Return the ids of the facts that a model always sees about an owner."""
    wanted = ProfileRequest(owner, now, policy.retrieval.profile_tokens, language=language, counter=counter)
    facts = await read_facts(tx, cache, wanted)
    in_profile = build_profile(facts, wanted.tokens, counter).facts if policy.retrieval.gate == GateMode.PROFILE else ()
    who = Portrait([], [])
    if owner.user_id:
        who = await read_portrait(tx, language, Scope(owner.tenant_id, owner.user_id), now)
    return frozenset(
        {
            *(fact.id for fact in facts if says_who(fact, language.identity)),
            *(fact.id for fact in in_profile),
            *(one.record.origin_id or "" for one in who.derived),
            *(fact.id for fact in facts if who.narrative and has_fact_words(who.narrative, fact.text)),
        }
    )


async def read_facts(tx: Tx, cache: BlockCache, wanted: ProfileRequest) -> list[ProfileFact]:
    """Read the facts for a profile, oldest first.

    What was read before is not read again, unless secrets in it were masked since: then its hash is another.
    """
    where = where_visible(wanted.owner, wanted.now, layers=(Layer.FACT,), as_of=wanted.as_of, extra=where_link_direct())
    hashes = await tx.memories.hashes(where)
    seqs = sorted(hashes)[-MOST:]
    stored = cache.profile_facts(wanted.scope.tenant_id, seqs)
    known = {seq: fact for seq, fact in stored.items() if fact.hash == hashes[seq]}
    missing = [seq for seq in seqs if seq not in known]
    if missing:
        read = await _read_facts(tx, missing, where, wanted.language.identity)
        cache.keep_profile_facts(wanted.scope.tenant_id, read)
        known |= read
    return [known[seq] for seq in seqs if seq in known]


async def read_ended_facts(tx: Tx, cache: BlockCache, wanted: ProfileRequest) -> EndedFacts:
    """Read facts that must not be shown: changed, deleted, disabled or private ones."""
    key = (wanted.owner, wanted.today, wanted.store_state)
    if wanted.store_state is not None and (facts := cache.ended_facts(key)) is not None:
        return facts
    gone = (
        Condition("valid_to", Op.EXISTS, value=True),
        Condition("status", Op.NE, str(Status.ACTIVE)),
        Condition("expires_at", Op.LTE, wanted.now),
        Condition(f"data.{VISIBILITY}", Op.EQ, str(Visibility.PRIVATE)),
    )
    owner = wanted.owner
    where = And((where_in_scope(owner), Condition("layer", Op.EQ, str(Layer.FACT)), Or(gone)))
    ended = [one.record for one in await tx.memories.find(where, limit=MOST_ENDED)]
    known = await read_facts(tx, cache, wanted) if ended else []
    current = [fact.text for fact in known if fact.visibility != Visibility.PRIVATE]
    found = EndedFacts(((one.text, one.valid_to) for one in ended if "into" not in one.data), current)
    if wanted.store_state is not None:
        cache.keep_ended_facts(key, found)
    return found


async def _read_turns(tx: Tx, wanted: ProfileRequest) -> list[ProfileTurn]:
    """Read the user's turns from before today that no fact covers and that still hold.

    What was found to tell nothing to remember is not told, so that a day of it leaves the profile as it is.
    """
    owner, where = wanted.owner, _where_said(wanted, idle=False)
    seqs = sorted(await tx.memories.seqs(where))[-MOST_TURNS:]
    if not seqs:
        return []
    turns = [one.record for one in await tx.memories.among(seqs, where)]
    learned = await _read_turn_facts(tx, owner, wanted, turns)
    hidden = await tx.suppressions.turns(owner.tenant_id, [turn.id for turn in turns])
    found = list[ProfileTurn]()
    for record in turns:
        facts = learned.get(record.id, [])
        if record.id in hidden or not _may_tell(record, facts):
            continue
        if (turn := profile_turn(record, wanted.zone, wanted.language.guard)) is not None:
            ends = [end for end in (turn.expires_at, *(fact.expires_at for fact in facts)) if end is not None]
            found.append(replace(turn, expires_at=min(ends, default=None), learned=bool(facts)))
    return found


async def _read_idle_turns(tx: Tx, wanted: ProfileRequest, since: int) -> list[str]:
    """Read the ids of the user's newest idle turns, from a number on."""
    where = And((_where_said(wanted, idle=True), Condition("seq", Op.GTE, since)))
    seqs = sorted(await tx.memories.seqs(where))[-MOST_IDLE:]
    return list((await tx.memories.ids_among(seqs, where)).values()) if seqs else []


def _where_said(wanted: ProfileRequest, *, idle: bool) -> And:
    """Return the condition for the user's turns from before today: only idle ones, or the others."""
    seen = where_visible(wanted.owner, wanted.now, layers=(Layer.TURN,), as_of=wanted.as_of)
    texts = (
        Condition("source_role", Op.EQ, str(Origin.USER)),
        Condition("occurred_at", Op.LT, wanted.today),
        Condition(f"data.{IDLE}", Op.EXISTS, value=idle),
    )
    return And((seen, where_link_direct(), *texts))


async def _read_turn_facts(
    tx: Tx, owner: Scope, wanted: ProfileRequest, turns: Sequence[Record]
) -> dict[str, list[TurnFact]]:
    """Read the facts that were learned from turns."""
    facts: dict[str, list[TurnFact]] = {}
    found = await tx.provenance.facts_of(owner, [turn.id for turn in turns], wanted.now)
    for fact in (*found, *await read_repeated_facts(tx, turns, wanted.now)):
        turn_fact = fact if wanted.as_of is None else replace(fact, holds=not fact.is_private, expires_at=None)
        facts.setdefault(fact.turn_id, []).append(turn_fact)
    return facts


async def read_repeated_facts(tx: Tx, turns: Sequence[Record], now: Instant) -> list[TurnFact]:
    """Read the current facts that turns repeat but that were learned elsewhere."""
    records = [(turn, one, str(was)) for turn in turns for one, was in (turn.data.get(REPEATS) or {}).items()]
    rows = {one: await _read_holder(tx, turns[0].tenant_id, one) for one in dict.fromkeys(one for _, one, _ in records)}
    return [_repeated_fact(turn.id, one, was, row, now) for turn, one, was in records if (row := rows[one]) is not None]


async def _read_holder(tx: Tx, tenant_id: str, memory_id: str) -> Record | None:
    """Read the memory that contains a fact now, also if it was merged; None if there is none."""
    last = await tx.memories.last(tenant_id, memory_id)
    into = last.data.get("into") if last is not None and last.valid_to is not None else None
    return (await tx.memories.current(tenant_id, str(into)) if into else None) or last


def _repeated_fact(turn_id: str, fact_id: str, was: str, row: Record, now: Instant) -> TurnFact:
    """Return a repeated fact as one of its turn."""
    same = row.valid_to is None and (row.hash == was or row.id != fact_id)
    lives = row.status == Status.ACTIVE and (row.expires_at is None or row.expires_at > now)
    visibility = visibility_of(row.data)
    return TurnFact(
        turn_id,
        fact_id,
        "",
        holds=same and lives and visibility != Visibility.PRIVATE,
        in_profile=visibility != Visibility.HIDDEN,
        is_private=visibility == Visibility.PRIVATE,
        expires_at=row.expires_at,
    )


def _may_tell(turn: Record, facts: Sequence[TurnFact]) -> bool:
    """Return whether a turn says more than its facts, and all of these hold and are not hidden."""
    if not all(fact.holds and fact.in_profile for fact in facts):
        return False
    return not facts or says_more(turn.text, [fact.quote for fact in facts])


def profile_turn(record: Record, zone: tzinfo, guard: TextGuard) -> ProfileTurn | None:
    """Return a turn as an entry of the profile; None if it is not the user's own."""
    speaker = record.data.get("speaker", Origin.USER)
    foreign = speaker != Origin.USER or record.origin == Origin.IMPORT or record.trust < 1.0
    if foreign or visibility_of(record.data) != Visibility.DEFAULT:
        return None
    text = record.text
    # what somebody says beside what they pass is what to do with it
    if not text.strip() or guard.own_words(text) != text:
        return None
    day = _day_text(record.occurred_at, zone)
    return ProfileTurn(record.id, record.seq, one_line(text), day, record.expires_at, record.occurred_at)


def owner_of(scope: Scope) -> Scope:
    """Return the owner of the profile: the user, as far as the agent has access."""
    return Scope(scope.tenant_id, scope.user_id, scope.agent_id) if scope.user_id else scope


async def _read_facts(tx: Tx, seqs: Sequence[int], where: And, rules: IdentityRules) -> dict[int, ProfileFact]:
    return {one.record.seq: profile_fact(one.record, rules) for one in await tx.memories.among(seqs, where)}


def profile_fact(record: Record, rules: IdentityRules) -> ProfileFact:
    """Return a fact as an entry of the profile."""
    data: dict[str, Any] = record.data
    evidence = data.get("evidence")
    return ProfileFact(
        record.id,
        record.seq,
        record.text,
        rules.importance_rank(str(data.get("category") or ""), record.text),
        str(data.get("category") or ""),
        visibility_of(record.data),
        trusted=record.trust >= 1.0 and record.origin not in _NOT_THE_USERS,
        doubtful=record.doubtful,
        salience=record.salience,
        sources=(record.origin_id,) if record.origin_id else (),
        expires_at=record.expires_at,
        quote=str(evidence.get("quote") or "") if isinstance(evidence, dict) else "",
        hash=record.hash,
        said_at=record.occurred_at,
    )


async def get_profile(runtime: Runtime, values: dict[str, Any], tokens: int | None) -> ProfileResult:
    """Return what a model always sees about a person, and what is left out and why."""
    scope, now = runtime.scope(values), runtime.now()
    if not scope.user_id:
        raise ScopeError("a profile belongs to a user", hint="give user_id")
    policy = (await apply_scope_policy(runtime, scope)).policy.retrieval
    size = _validate_tokens(policy.profile_tokens if tokens is None else tokens)

    async def work(tx: Tx) -> tuple[Profile, Portrait]:
        wanted = ProfileRequest(
            scope,
            now,
            size,
            zone=runtime.zone,
            names_all=True,
            language=runtime.language,
            counter=runtime.token_counter,
        )
        who = await read_portrait(tx, runtime.language, Scope(scope.tenant_id, scope.user_id), now)
        return await read_profile(tx, runtime.blocks, wanted), who

    found, who = await runtime.ledger.read(work)
    overrides: list[ProfileInstructionItem] = [
        {"id": one.record.id, "memory": one.record.text} for one in who.overrides
    ]
    turns: list[ProfileTurnItem] = [{"id": one.id, "memory": one.text, "date": one.date} for one in found.turns]
    facts: list[ProfileFactItem] = [
        {"id": fact.id, "memory": fact.text, "about": CLASSES[importance_of(fact)]} for fact in found.facts
    ]
    lines = (f"- {text}\n" for text in (*(one["memory"] for one in overrides), *(one["memory"] for one in facts)))
    message = (f"- [{one['date']}] {one['memory']}\n" for one in turns)
    return {
        "instructions": overrides,
        "facts": facts,
        "turns": turns,
        "left_out": [{"id": one, "reason": reason} for one, reason in found.left_out],
        "tokens": runtime.token_counter.tokens("".join((*lines, *message))),
        "profile_tokens": size,
        "complete": found.is_complete,
    }


def _validate_tokens(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise InvalidInput(f"tokens must be a whole number from 0 to {MOST_TOKENS:,}, not {value!r}")
    return value
