"""What might be shown to a model: hits as they are in the ledger now, and what is always shown.

One snapshot answers everything: whether a hit may still be seen, what the user told us to keep in mind, which turns are
the evidence of something that was deleted, and which say what has changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo
from functools import lru_cache
from typing import Final

from memstone.core.checks.visible import current, unexpired, valid_at, within
from memstone.core.showing.excerpt import excerpt, place_of
from memstone.core.showing.planner import Item
from memstone.engine.layers.portrayed import Portrait, portrait
from memstone.engine.recall.ranking import Hit
from memstone.engine.storing.retelling import retold
from memstone.engine.storing.status import OPEN
from memstone.model.context import Dropped
from memstone.model.instant import Instant, moment
from memstone.model.memory import Found, Layer, Origin, Record, Status
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

GONE: Final = "no longer visible"
SUPPRESSED: Final = "evidence of what was deleted"
CHANGED: Final = "this has changed since"
IMPORTED: Final = "imported"
_MOST: Final = 1_000
_CHANGES: Final = 4
"""How many changes are told of what one turn states."""


@dataclass(frozen=True, slots=True)
class Surfacing:
    """What was found for a query, best first, and for whom; ``words`` are those of the query."""

    scope: Scope
    hits: Sequence[Hit]
    words: Sequence[str]
    now: Instant
    zone: tzinfo
    as_of: Instant | None = None
    """The moment that is asked about, when it is not now."""

    identity: bool = False
    """Whether it is asked who the user is."""

    nobody: bool = False
    """Whether it is known already that there is nothing to say about who the user is."""

    checked: bool = False
    """Whether the hits were looked up just now, and nothing was waited for since."""


@dataclass(slots=True)
class Material:
    """What the planner chooses from; ``rows`` are all of it by id, as the ledger has them."""

    items: list[Item]
    overrides: list[Item]
    narrative: Item | None
    rows: dict[str, Found]
    dropped: list[Dropped] = field(default_factory=list)
    nobody: bool = False
    """Whether nothing says who the user is."""


async def material(tx: Tx, wanted: Surfacing) -> Material:
    """Read it, within one transaction."""
    there = await _still_there(tx, wanted)
    turns = [found.record.id for found, _ in wanted.hits if found.record.layer == Layer.TURN]
    hidden = await tx.suppressed.turns(wanted.scope.tenant_id, turns) if turns else set()
    changed = await _changed(tx, wanted, turns) if turns else {}
    nothing = Portrait([], [])
    who = nothing if wanted.nobody else await portrait(tx, _owner(wanted.scope), wanted.now, wanted.as_of)
    shown = (*who.overrides, *who.derived, *((who.row,) if who.row else ()))
    stale = _of_identity(wanted) - {one.record.id for one in shown}
    told = await retold(tx, [found.record for found, _ in wanted.hits])
    made = Material(
        items=[],
        overrides=[_item(one.record, wanted) for one in who.overrides],
        narrative=replace(_item(who.row.record, wanted), text=who.narrative) if who.row and who.narrative else None,
        rows={one.record.id: one for one in (*who.overrides, *((who.row,) if who.row else ()))},
        nobody=who == nothing,
    )
    for found, scored in wanted.hits:
        record = told.get(found.record.id, found.record)
        if record is None or found.record.id in hidden:
            made.dropped.append(Dropped(found.record.id, SUPPRESSED))
            continue
        if record.seq not in there or record.id in stale:
            made.dropped.append(Dropped(record.id, GONE))
            continue
        made.rows[record.id] = found
        made.items.append(_item(record, wanted, score=scored.score, note=changed.get(record.id, "")))
    for one in who.derived if wanted.identity and made.narrative is None else ():
        if one.record.id not in made.rows:
            made.rows[one.record.id] = one
            made.items.append(_item(one.record, wanted))
    return made


async def _still_there(tx: Tx, wanted: Surfacing) -> set[int]:
    """Which hits still hold: models may have been asked since they were looked up."""
    found = [found.record.seq for found, _ in wanted.hits]
    if not found or wanted.checked:
        return set(found)
    seqs = Condition("seq", Op.IN, tuple(found))
    tenant = Condition("tenant_id", Op.EQ, wanted.scope.tenant_id)
    held = current() if wanted.as_of is None else valid_at(wanted.as_of)
    return set(await tx.memories.seqs(And((tenant, seqs, held, unexpired(wanted.as_of or wanted.now)))))


def _owner(who: Scope) -> Scope:
    """Whose identity is shown. It is about a person, whichever agent or conversation asks."""
    return Scope(who.tenant_id, who.user_id) if who.user_id else who


def _of_identity(wanted: Surfacing) -> set[str]:
    """The hits that are part of who somebody is: they are shown as they hold now, or not at all."""
    return {found.record.id for found, _ in wanted.hits if found.record.layer == Layer.IDENTITY}


async def _few(tx: Tx, where: Where) -> list[Found]:
    """The few of many that match: by their numbers first, which the indexes know, so that no other row is read."""
    seqs = await tx.memories.seqs(where)
    return await tx.memories.among(seqs[:_MOST], where) if seqs else []


async def _changed(tx: Tx, wanted: Surfacing, turns: Sequence[str]) -> dict[str, str]:
    """The turns that state something of which a later version says otherwise, or that was taken back, with a note."""
    scope, then = wanted.scope, wanted.as_of
    said = And(
        (
            within(scope),
            Condition("layer", Op.EQ, str(Layer.FACT)),
            Condition("origin_id", Op.IN, tuple(turns)),
            Condition("status", Op.EQ, str(Status.SUPERSEDED)),
        )
    )
    found = [one.record for one in await _few(tx, said)]
    ended = [record for record in found if then is None or (record.valid_to or then) <= then]
    if not ended:
        return {}
    # What was put aside still says what it said: nothing has changed.
    holds = current(OPEN) if then is None else valid_at(then)
    live = And((within(scope), holds, Condition("id", Op.IN, tuple({record.id for record in ended}))))
    now = {one.record.id: one.record for one in await _few(tx, live)}
    later: dict[str, dict[str, None]] = {}
    for record in ended:
        one = now.get(record.id)
        if record.origin_id and (one is None or one.hash != record.hash):
            later.setdefault(record.origin_id, {}).update(_told(one))
    return {turn: _note(list(told)) for turn, told in later.items()}


def _told(holds: Record | None) -> dict[str, None]:
    """What holds now, where that may be shown for as long as a block is."""
    if holds is None or holds.status not in (Status.ACTIVE, Status.SUPERSEDED) or holds.expires_at is not None:
        return {}
    return {excerpt(holds.text): None}


def _note(told: Sequence[str]) -> str:
    """That something has changed, and what holds now: of all that a turn states, or the rest would seem to hold."""
    more = " \u2026" if len(told) > _CHANGES else ""
    return f"{CHANGED}: {' '.join(told[:_CHANGES])}{more}" if told else CHANGED


def _item(record: Record, wanted: Surfacing, *, score: float | None = None, note: str = "") -> Item:
    decisions = record.data.get("decisions")
    return Item(
        id=record.id,
        text=record.text,
        layer=record.layer,
        date=_day_text(record.occurred_at, wanted.zone),
        speaker=_speaker(record),
        sources=(record.origin_id,) if record.origin_id else (),
        decision=str(decisions[0]) if isinstance(decisions, list) and decisions else "",
        note=note or (IMPORTED if record.origin == Origin.IMPORT else ""),
        match=place_of(record.text, wanted.words) if record.layer == Layer.TURN else 0,
        score=score,
    )


def _speaker(record: Record) -> str:
    """Who said it, where it is in somebody's words; of what the user is told to have said, "I" is the user."""
    who = str(record.data.get("speaker", record.source_role) or "")
    if record.layer == Layer.TURN:
        return who
    return who if record.data.get("verbatim") and who != Origin.USER else ""


@lru_cache(maxsize=4096)  # the same memories are shown again and again
def _day_text(when: Instant, zone: tzinfo) -> str:
    return day_of(when, zone).isoformat()


def day_of(when: Instant, zone: tzinfo) -> date:
    """The day of a moment, where "yesterday" is meant."""
    return moment(when).astimezone(zone).date()
