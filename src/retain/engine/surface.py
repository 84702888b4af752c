"""What might be shown to a model: hits as they are in the ledger now, and what is always shown.

One snapshot answers everything: whether a hit may still be seen, what the user told us to keep in mind, which turns are
the evidence of something that was deleted, and which say what has changed since.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from typing import Final

from retain.core.planner import Item
from retain.core.visible import current, unexpired, visible, within
from retain.engine.ranking import Hit
from retain.model.context import Dropped
from retain.model.instant import Instant, moment
from retain.model.memory import Found, Kind, Layer, Record, Status
from retain.model.query import And, Condition, Op, Where
from retain.model.scope import Scope
from retain.ports.ledger import Tx

GONE: Final = "no longer visible"
SUPPRESSED: Final = "evidence of what was deleted"
CHANGED: Final = "this has changed since"
_MOST: Final = 1_000
_ALWAYS: Final = (str(Kind.OVERRIDE), str(Kind.NARRATIVE))


@dataclass(frozen=True, slots=True)
class Surfacing:
    """What was found for a query, best first, and for whom; ``words`` are those of the query."""

    scope: Scope
    hits: Sequence[Hit]
    words: Sequence[str]
    now: Instant
    zone: tzinfo


@dataclass(slots=True)
class Material:
    """What the planner chooses from; ``rows`` are all of it by id, as the ledger has them."""

    items: list[Item]
    overrides: list[Item]
    narrative: Item | None
    rows: dict[str, Found]
    dropped: list[Dropped] = field(default_factory=list)


async def material(tx: Tx, wanted: Surfacing) -> Material:
    """Read it, within one transaction."""
    there = await _still_there(tx, wanted)
    turns = [found.record.id for found, _ in wanted.hits if found.record.layer == Layer.TURN]
    hidden = await tx.suppressed.turns(wanted.scope.tenant_id, turns) if turns else set()
    changed = await _changed(tx, wanted.scope, turns) if turns else set()
    always = await _always(tx, wanted)
    made = Material(
        items=[],
        overrides=[_item(one.record, wanted) for one in always if one.record.kind == Kind.OVERRIDE],
        narrative=next((_item(one.record, wanted) for one in always[::-1] if one.record.kind == Kind.NARRATIVE), None),
        rows={one.record.id: one for one in always},
    )
    for found, scored in wanted.hits:
        record = found.record
        reason = GONE if record.seq not in there else SUPPRESSED if record.id in hidden else ""
        if reason:
            made.dropped.append(Dropped(record.id, reason))
            continue
        made.rows[record.id] = found
        made.items.append(_item(record, wanted, score=scored.score, note=CHANGED if record.id in changed else ""))
    return made


async def _still_there(tx: Tx, wanted: Surfacing) -> set[int]:
    """Which hits still hold: models may have been asked since they were looked up."""
    if not wanted.hits:
        return set()
    seqs = Condition("seq", Op.IN, tuple(found.record.seq for found, _ in wanted.hits))
    tenant = Condition("tenant_id", Op.EQ, wanted.scope.tenant_id)
    return set(await tx.memories.seqs(And((tenant, seqs, current(), unexpired(wanted.now)))))


async def _always(tx: Tx, wanted: Surfacing) -> list[Found]:
    """Overrides and narrative, oldest first. They are about a person, whichever agent or conversation asks."""
    who = wanted.scope
    owner = Scope(who.tenant_id, who.user_id) if who.user_id else who
    where = visible(owner, wanted.now, layers=(Layer.IDENTITY,), extra=Condition("kind", Op.IN, _ALWAYS))
    return sorted(await _few(tx, where), key=lambda found: found.record.seq)


async def _few(tx: Tx, where: Where) -> list[Found]:
    """The few of many that match: by their numbers first, which the indexes know, so that no other row is read."""
    seqs = await tx.memories.seqs(where)
    return await tx.memories.among(seqs[:_MOST], where) if seqs else []


async def _changed(tx: Tx, scope: Scope, turns: Sequence[str]) -> set[str]:
    """The turns that state something of which a later version says otherwise, or that was taken back."""
    said = And(
        (
            within(scope),
            Condition("layer", Op.EQ, str(Layer.FACT)),
            Condition("origin_id", Op.IN, tuple(turns)),
            Condition("status", Op.EQ, str(Status.SUPERSEDED)),
        )
    )
    ended = [found.record for found in await _few(tx, said)]
    if not ended:
        return set()
    live = And((within(scope), current(), Condition("id", Op.IN, tuple({record.id for record in ended}))))
    now = {found.record.id: found.record.hash for found in await _few(tx, live)}
    return {record.origin_id for record in ended if record.origin_id and now.get(record.id) != record.hash}


def _item(record: Record, wanted: Surfacing, *, score: float | None = None, note: str = "") -> Item:
    decisions = record.data.get("decisions")
    return Item(
        id=record.id,
        text=record.text,
        layer=record.layer,
        date=day_of(record.occurred_at, wanted.zone).isoformat(),
        role=record.source_role or "",
        sources=(record.origin_id,) if record.origin_id else (),
        decision=str(decisions[0]) if isinstance(decisions, list) and decisions else "",
        note=note,
        match=_match(record.text, wanted.words) if record.layer == Layer.TURN else 0,
        score=score,
    )


def _match(text: str, words: Sequence[str]) -> int:
    """Where the longest word of the query stands in a text; 0 when none does."""
    for word in sorted(words, key=len, reverse=True):
        found = re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE)
        if found:
            return found.start()
    return 0


def day_of(when: Instant, zone: tzinfo) -> date:
    """The day of a moment, where "yesterday" is meant."""
    return moment(when).astimezone(zone).date()
