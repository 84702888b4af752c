"""Read from the ledger what may be shown to a model now, and what is always shown.

One snapshot is used for everything: whether a hit may still be seen, the user's standing instructions, and which turns
state something that was deleted or has changed since.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from memstone.core.checks.filters import (
    valid_at,
    where_current,
    where_in_scope,
    where_link_direct,
    where_unexpired,
    where_visible,
)
from memstone.core.prompt.inject import cut_excerpt, place_of
from memstone.core.prompt.planner import BlockItem
from memstone.core.prompt.profile import NOBODY, PRIVATE, Profile, Visibility, has_fact_words, visibility_of
from memstone.engine.block_cache import BlockCache
from memstone.engine.layers.portrait import Portrait, read_portrait
from memstone.engine.recall.profile import (
    ProfileRequest,
    read_ended_facts,
    read_identity,
    read_profile,
    read_repeated_facts,
)
from memstone.engine.recall.ranking import Hit
from memstone.engine.store.deleted_spans import hide_deleted_in_episodes
from memstone.engine.store.holders import read_owners
from memstone.language.language import Language, TextGuard
from memstone.language.text.normal import ESTIMATE, TokenCounter
from memstone.language.text.questions import only_asks
from memstone.model.access import Bounds
from memstone.model.context import Due, OmittedMemory
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import ONCE_ACTIVE, OPEN, FoundMemory, Layer, Origin, Record, Status
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.tables import TurnFact

# --- what is due, read from the ledger --------------------------------------------------------------------------------


_DAYS: Final = 90
_MOST: Final = 300
_MAX_LINES: Final = 8
_PLANS: Final = frozenset({"plan", "date", "goal", "instruction"})


async def read_due(tx: Tx, wanted: ProfileRequest) -> list[tuple[FoundMemory, Due]]:
    """Read what is due and not done, most urgent first."""
    rows = {one.record.id: one for one in await _read_recent_rows(tx, wanted, (Layer.EPISODE, Layer.FACT))}
    answer = await hide_deleted_in_episodes(
        tx, [one.record for one in rows.values() if one.record.layer == Layer.EPISODE]
    )
    visible = [answer.get(one, row.record) for one, row in rows.items()]
    found = [due for record in visible if record is not None for due in _due_in(record, wanted)]
    if not found:
        return []
    turns = [one.record for one in await _read_recent_rows(tx, wanted, (Layer.TURN,))]
    records = [one for one in turns if one.source_role == Origin.USER]
    dates = wanted.language.dates
    left = [due for due in found if not dates.is_done(due.text, _list_later_texts(rows[due.id].record, records))]
    return [(rows[due.id], due) for due in dates.sort_due(left)[:_MAX_LINES]]


def _due_in(record: Record, wanted: ProfileRequest) -> list[Due]:
    """Return what is due according to a memory."""
    if visibility_of(record.data) == Visibility.PRIVATE:
        return []
    said_at, today = (
        datetime_from_instant(record.occurred_at),
        datetime_from_instant(wanted.today).astimezone(wanted.zone).date(),
    )
    dates = wanted.language.dates
    days = ((text, dates.find_due_day(text, said_at, wanted.zone, today)) for text in list_plans(record))
    return [Due(record.id, dates.trim_due(text), day) for text, day in days if day is not None]


def list_plans(record: Record) -> list[str]:
    """Return the plans and dated events in a memory."""
    if record.layer == Layer.EPISODE:
        items = record.data.get("action_items")
        return [str(one) for one in items] if isinstance(items, list) else []
    return [record.text] if record.data.get("category") in _PLANS else []


def _list_later_texts(record: Record, turns: list[Record]) -> list[str]:
    """Return what the user said after the session of a memory."""
    since = max(record.occurred_at, record.updated_at)
    return [turn.text for turn in turns if turn.occurred_at > since]


async def _read_recent_rows(tx: Tx, wanted: ProfileRequest, layers: tuple[Layer, ...]) -> list[FoundMemory]:
    since = to_instant(datetime_from_instant(wanted.as_of or wanted.now) - timedelta(days=_DAYS))
    where = where_visible(wanted.owner, wanted.now, layers=layers, as_of=wanted.as_of, extra=where_link_direct())
    newer = And((where, Condition("occurred_at", Op.GTE, since)))
    return await tx.memories.find(newer, limit=_MOST)


# --- what might be shown to a model -----------------------------------------------------------------------------------


GONE: Final = "no longer visible"
SUPPRESSED: Final = "evidence of what was deleted"
CHANGED: Final = "this has changed since"
IMPORTED: Final = "imported"
ASKS: Final = "only asks"
QUOTED: Final = "what others say"
FAR: Final = "not close enough"
DUE: Final = "due"
OWN_HAND: Final = "user"
"""The model of a narrative that a person wrote."""

_SURFACE_MOST: Final = 1_000
_BETWEEN: Final = 8
"""So much at most was stored between what was said and the answer to it: the facts that were learned."""

_CHANGES: Final = 4
"""How many changes are told of what one turn states."""


@dataclass(frozen=True, slots=True)
class MaterialRequest:
    """What material is read for: hits of a query, best first, and its words."""

    scope: Scope
    hits: Sequence[Hit]
    words: Sequence[str]
    now: Instant
    zone: tzinfo
    as_of: Instant | None = None
    """The moment that is asked about, when it is not now."""

    identity: bool = False
    """Whether it is asked who the user is."""

    identity_is_empty: bool = False
    """Whether it is known already that there is nothing to say about who the user is."""

    hits_are_fresh: bool = False
    """Whether the hits were looked up just now, and nothing was waited for since."""

    profile_tokens: int = 0
    """How large the profile may be; 0 shows none."""

    store_state: Hashable = None
    """The state of the user's memories, as far as the caller sees them, where it was looked up."""

    due: bool = False
    """Whether it is told what is due these days."""

    in_session: bool = False
    """Whether only what belongs to the conversation may be shown."""

    identity_tokens: int = 0
    """How much of who the user is may be shown where there is no profile."""

    bounds: Bounds | None = None
    """Beyond these nobody is named."""

    shown_unasked: bool = False
    """Whether turns are shown because they are near, and not because somebody asked for the very words."""

    farther: Container[int] = ()
    """The numbers of hits that are only shown where the profile holds little of what is known."""

    language: Language = field(kw_only=True)
    counter: TokenCounter = ESTIMATE


@dataclass(slots=True)
class Material:
    """What the planner chooses from; ``rows`` has all of it by id."""

    items: list[BlockItem]
    overrides: list[BlockItem]
    narrative: BlockItem | None
    rows: dict[str, FoundMemory]
    dropped: list[OmittedMemory] = field(default_factory=list)
    identity_is_empty: bool = False
    """Whether nothing says who the user is."""

    due: bool = False
    """Whether something is due these days."""

    profile: Profile = NOBODY


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the ledger says about the hits of a request, as of now."""

    valid: Container[int]
    """The numbers of hits that still hold."""

    suppressed: Container[str]
    """Turns that state something deleted."""

    private: Container[str]
    """Turns of which a private fact was learned."""

    learned: Container[str]
    """Turns of which a fact was learned."""

    changed: Mapping[str, str]
    """Turns of which something no longer holds, each with a note."""

    former_identity: Container[str]
    """Hits that were part of the identity, and are not any more."""

    episodes: Mapping[str, Record | None]
    """Episodes without what was deleted of them; None where nothing is left."""

    owners: Mapping[str, str]
    """Who shares a hit with the caller."""


async def read_material(tx: Tx, wanted: MaterialRequest, cache: BlockCache) -> Material:
    """Read everything that may be shown, in one transaction."""
    nothing = Portrait([], [])
    who = (
        nothing
        if wanted.identity_is_empty
        else await read_portrait(tx, wanted.language, _identity_owner(wanted.scope), wanted.now, wanted.as_of)
    )
    evidence = await _read_evidence(tx, wanted, who, cache)
    made = Material(
        items=[],
        overrides=[_build_item(one.record, wanted) for one in who.overrides],
        narrative=replace(_build_item(who.row.record, wanted), text=who.narrative)
        if who.row and who.narrative
        else None,
        rows={one.record.id: one for one in (*who.overrides, *((who.row,) if who.row else ()))},
        identity_is_empty=who == nothing,
    )
    await _add_profile(tx, made, wanted, who, cache)
    due = await _add_due(tx, made, wanted) if wanted.due else frozenset[str]()
    _add_hits(made, wanted, evidence, due)
    if wanted.identity and made.narrative is None:
        _add_derived_identity(made, wanted, who)
    return made


async def _read_evidence(tx: Tx, wanted: MaterialRequest, who: Portrait, cache: BlockCache) -> _Evidence:
    """Read what decides whether hits are shown."""
    found = [found for found, _ in wanted.hits]
    turns = [one.record.id for one in found if one.record.layer == Layer.TURN]
    facts = await read_turn_facts(tx, wanted.scope, found, wanted.now, wanted.as_of)
    changed: Mapping[str, str] = {}
    if turns and wanted.shown_unasked:
        changed = await _read_ended_turns(tx, wanted, facts, cache)
    elif turns:
        changed = await _read_changed_turns(tx, wanted, turns)
    current = (*who.overrides, *who.derived, *((who.row,) if who.row else ()))
    return _Evidence(
        valid=await _still_there(tx, wanted),
        suppressed=await tx.suppressions.turns(wanted.scope.tenant_id, turns) if turns else frozenset(),
        private={fact.turn_id for fact in facts if fact.is_private},
        learned={fact.turn_id for fact in facts},
        changed=changed,
        former_identity=_of_identity(wanted) - {one.record.id for one in current},
        episodes=await hide_deleted_in_episodes(tx, [one.record for one in found]),
        owners=await read_owners(tx, found, wanted.bounds, wanted.scope.user_id),
    )


def _add_hits(made: Material, wanted: MaterialRequest, evidence: _Evidence, due: Container[str]) -> None:
    """Add the hits, or the reason why one is left out; what is due was added already."""
    replies = pair_answers(wanted.hits)
    for found, scored in wanted.hits:
        memory_id = found.record.id
        if memory_id in due:
            continue
        record = evidence.episodes.get(memory_id, found.record)
        reason = _reason_against(record, wanted, evidence, made.profile)
        if record is None or reason:
            made.dropped.append(OmittedMemory(memory_id, reason))
            continue
        made.rows[memory_id] = found
        item = _build_item(record, wanted, score=scored.score, note=evidence.changed.get(memory_id, ""))
        item.reply_to = replies.get(memory_id, "")
        made.items.append(_of_owner(item, evidence.owners.get(memory_id, "")))


def _add_derived_identity(made: Material, wanted: MaterialRequest, who: Portrait) -> None:
    """Add the identity lines, if no narrative says the same."""
    for one in who.derived:
        if one.record.id not in made.rows:
            made.rows[one.record.id] = one
            made.items.append(_build_item(one.record, wanted))


def pair_answers(hits: Sequence[Hit]) -> dict[str, str]:
    """Return for turns of the assistant the user's turn that each answers, if both were found."""
    turns = sorted(
        (found for found, _ in hits if found.record.layer == Layer.TURN),
        key=lambda found: found.record.seq,
    )
    texts, replies = dict[Scope, Record](), dict[str, str]()
    for found in turns:
        if found.record.source_role != Origin.ASSISTANT:
            texts[found.link.scope] = found.record
            continue
        before = texts.get(found.link.scope)
        if before is not None and found.record.seq - before.seq <= _BETWEEN:
            replies[found.record.id] = before.id
    return replies


def _of_owner(item: BlockItem, owner: str) -> BlockItem:
    """Return an item with its owner, if that is not the caller."""
    if not owner:
        return item
    if item.layer == Layer.TURN and item.speaker == Origin.USER:
        return replace(item, speaker=f"{owner} said")
    return replace(item, speaker=f"{item.speaker}, shared by {owner}" if item.speaker else f"shared by {owner}")


async def _add_profile(tx: Tx, made: Material, wanted: MaterialRequest, who: Portrait, cache: BlockCache) -> None:
    """Add the profile or, with a gate, who the user is."""
    asked = ProfileRequest(
        wanted.scope,
        wanted.now,
        wanted.profile_tokens,
        wanted.as_of,
        wanted.zone,
        wanted.store_state,
        in_session=wanted.in_session,
        language=wanted.language,
        counter=wanted.counter,
    )
    if wanted.profile_tokens > 0:
        made.profile = await read_profile(tx, cache, asked)
        if who.row is not None and who.row.record.model != OWN_HAND:  # what it was made of is in the profile
            made.narrative = None
    elif wanted.identity_tokens > 0:
        made.profile = await read_identity(tx, cache, replace(asked, tokens=wanted.identity_tokens), who.derived)
        if made.narrative is not None:
            lines = [one.id for one in made.profile.facts if has_fact_words(made.narrative.text, one.text)]
            made.narrative = replace(made.narrative, holds=tuple(lines))


async def _add_due(tx: Tx, made: Material, wanted: MaterialRequest) -> frozenset[str]:
    """Add what is due before all hits; return its memories."""
    asked = ProfileRequest(
        wanted.scope, wanted.now, 0, wanted.as_of, wanted.zone, in_session=wanted.in_session, language=wanted.language
    )
    for row, one in await read_due(tx, asked):
        made.rows[one.id], made.due = row, True
        made.items.append(BlockItem(one.id, one.text, row.record.layer, one.day.isoformat(), note=DUE))
    return frozenset(item.id for item in made.items)


async def _still_there(tx: Tx, wanted: MaterialRequest) -> set[int]:
    """Return the hits that still hold."""
    found = [found.record.seq for found, _ in wanted.hits]
    if not found or wanted.hits_are_fresh:
        return set(found)
    seqs = Condition("seq", Op.IN, tuple(found))
    tenant = Condition("tenant_id", Op.EQ, wanted.scope.tenant_id)
    current = where_current() if wanted.as_of is None else valid_at(wanted.as_of)
    return set(await tx.memories.seqs(And((tenant, seqs, current, where_unexpired(wanted.as_of or wanted.now)))))


def _identity_owner(who: Scope) -> Scope:
    """Return the owner of the identity: the person, for every agent and conversation."""
    return Scope(who.tenant_id, who.user_id) if who.user_id else who


def _of_identity(wanted: MaterialRequest) -> set[str]:
    """Return the hits that are part of the identity, which is shown as it is now."""
    return {found.record.id for found, _ in wanted.hits if found.record.layer == Layer.IDENTITY}


async def _read_matches(tx: Tx, where: Where) -> list[FoundMemory]:
    """Return the matching ones of many rows, reading no others."""
    seqs = await tx.memories.seqs(where)
    return await tx.memories.among(seqs[:_SURFACE_MOST], where) if seqs else []


def _reason_against(record: Record | None, wanted: MaterialRequest, evidence: _Evidence, profile: Profile) -> str:
    """Return why a hit is left out; '' if it is shown. The first reason counts, and is in the receipt."""
    if record is None or record.id in evidence.suppressed:
        return SUPPRESSED
    if record.id in evidence.private or visibility_of(record.data) == Visibility.PRIVATE:
        return PRIVATE
    if wanted.shown_unasked and record.layer == Layer.TURN and (reason := _reason_unasked(record, wanted, evidence)):
        return reason
    if record.seq in wanted.farther and profile.holds_most:
        return FAR
    return "" if record.seq in evidence.valid and record.id not in evidence.former_identity else GONE


def _reason_unasked(record: Record, wanted: MaterialRequest, evidence: _Evidence) -> str:
    """Return why a turn is not shown to somebody who did not ask for the very words."""
    if record.id in evidence.changed:
        return CHANGED
    if record.id not in evidence.learned and only_asks(record.text):
        return ASKS
    return "" if shown_text(record, wanted.language.guard) else QUOTED


def shown_text(record: Record, guard: TextGuard) -> str:
    """Return the part of a turn that is shown if exact words are not asked for."""
    own = record.source_role == Origin.USER and record.origin != Origin.IMPORT
    return guard.words_to_show(record.text, own=own)


async def read_turn_facts(
    tx: Tx, scope: Scope, found: Sequence[FoundMemory], now: Instant, as_of: Instant | None = None
) -> list[TurnFact]:
    """Read the facts learned from the turns among the hits, as their holders see them.

    Of a look at the past it does not matter what has changed since.
    """
    turns: dict[Scope, list[str]] = {}
    for one in found:
        if one.record.layer == Layer.TURN:
            turns.setdefault(_viewer_scope(scope, one.link.scope), []).append(one.record.id)
    facts = [fact for holder, ids in turns.items() for fact in await tx.provenance.facts_of(holder, ids, now)]
    facts += await read_repeated_facts(tx, [one.record for one in found if one.record.layer == Layer.TURN], now)
    return facts if as_of is None else [replace(fact, holds=not fact.is_private) for fact in facts]


def _viewer_scope(asks: Scope, holds: Scope) -> Scope:
    """Return the scope through which a turn is seen, if it is not the caller's own."""
    return asks if not asks.user_id or holds.user_id == asks.user_id else Scope(holds.tenant_id, holds.user_id)


async def _read_ended_turns(
    tx: Tx, wanted: MaterialRequest, facts: Sequence[TurnFact], cache: BlockCache
) -> dict[str, str]:
    """Return the turns of which a fact was superseded, deleted, disabled or has expired."""
    changed = {fact.turn_id: CHANGED for fact in facts if not fact.holds}
    found = [found for found, _ in wanted.hits]
    if wanted.as_of is None:
        stale = await stale_turns(
            tx, cache, wanted.language, wanted.scope, found, facts, wanted.now, wanted.store_state
        )
        changed |= dict.fromkeys(stale, CHANGED)
    return changed


async def stale_turns(
    tx: Tx,
    cache: BlockCache,
    language: Language,
    scope: Scope,
    found: Sequence[FoundMemory],
    facts: Sequence[TurnFact],
    now: Instant,
    store_state: Hashable = None,
) -> set[str]:
    """Return turns without facts that repeat something that has ended."""
    learned = {fact.turn_id for fact in facts}
    turns = [one for one in found if one.record.layer == Layer.TURN and one.record.id not in learned]
    stale = set[str]()
    for holder in {_viewer_scope(scope, one.link.scope) for one in turns}:
        asked = ProfileRequest(holder, now, 0, store_state=store_state if holder == scope else None, language=language)
        ended = await read_ended_facts(tx, cache, asked)
        stale |= {
            one.record.id
            for one in turns
            if _viewer_scope(scope, one.link.scope) == holder and ended.tells(one.record.text, one.record.occurred_at)
        }
    return stale


async def _read_changed_turns(tx: Tx, wanted: MaterialRequest, turns: Sequence[str]) -> dict[str, str]:
    """Return the turns that are out of date, each with a note."""
    scope, then = wanted.scope, wanted.as_of
    message = And(
        (
            where_in_scope(scope),
            Condition("layer", Op.EQ, str(Layer.FACT)),
            Condition("origin_id", Op.IN, tuple(turns)),
            Condition("status", Op.EQ, str(Status.SUPERSEDED)),
        )
    )
    found = [one.record for one in await _read_matches(tx, message)]
    ended = [record for record in found if then is None or (record.valid_to or then) <= then]
    if not ended:
        return {}
    # What was put aside still says what it said: nothing has changed.
    holds = where_current(OPEN) if then is None else valid_at(then)
    live = And((where_in_scope(scope), holds, Condition("id", Op.IN, tuple({record.id for record in ended}))))
    now = {one.record.id: one.record for one in await _read_matches(tx, live)}
    later: dict[str, dict[str, None]] = {}
    for record in ended:
        one = now.get(record.id)
        if record.origin_id and (one is None or one.hash != record.hash):
            later.setdefault(record.origin_id, {}).update(_current_excerpt(one))
    return {turn: _change_note(list(answer)) for turn, answer in later.items()}


def _current_excerpt(holds: Record | None) -> dict[str, None]:
    """Return what holds now, if it may be shown."""
    if holds is None or holds.status not in ONCE_ACTIVE or holds.expires_at is not None:
        return {}
    return {cut_excerpt(holds.text): None}


def _change_note(lines: Sequence[str]) -> str:
    """Return a note that something has changed, with everything that holds now."""
    more = " \u2026" if len(lines) > _CHANGES else ""
    return f"{CHANGED}: {' '.join(lines[:_CHANGES])}{more}" if lines else CHANGED


def _build_item(record: Record, wanted: MaterialRequest, *, score: float | None = None, note: str = "") -> BlockItem:
    decisions, evidence = record.data.get("decisions"), record.data.get("evidence")
    return BlockItem(
        id=record.id,
        text=shown_text(record, wanted.language.guard)
        if wanted.shown_unasked and record.layer == Layer.TURN
        else record.text,
        layer=record.layer,
        date=_day_text(record.occurred_at, wanted.zone),
        speaker=_speaker_label(record),
        sources=(record.origin_id,) if record.origin_id else (),
        decision=str(decisions[0]) if isinstance(decisions, list) and decisions else "",
        note=note or (IMPORTED if record.origin == Origin.IMPORT else ""),
        match=place_of(record.text, wanted.words) if record.layer == Layer.TURN else 0,
        score=score,
        holds=_facts_of(record),
        quote=str(evidence.get("quote") or "") if isinstance(evidence, dict) else "",
    )


def _facts_of(record: Record) -> tuple[str, ...]:
    """Return the facts of an episode, which are shown instead of it or the other way round."""
    facts = record.data.get("facts") if record.layer == Layer.EPISODE else None
    return tuple(map(str, facts)) if isinstance(facts, list) else ()


def _speaker_label(record: Record) -> str:
    """Return the speaker of an item that is in somebody's words."""
    who = str(record.data.get("speaker", record.source_role) or "")
    if record.layer == Layer.TURN:
        return who
    return who if record.data.get("verbatim") and who != Origin.USER else ""


@lru_cache(maxsize=4096)  # the same memories are shown again and again
def _day_text(when: Instant, zone: tzinfo) -> str:
    return day_of(when, zone).isoformat()


def day_of(when: Instant, zone: tzinfo) -> date:
    """Return the day of a moment in the user's time zone."""
    return datetime_from_instant(when).astimezone(zone).date()
