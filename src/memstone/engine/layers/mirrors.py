"""Mirrors: identity lines that follow the facts they were derived from.

A mirror says what its fact says. When the fact is revised the mirror follows, and it goes when the fact does, so that
nothing that was taken back is told as somebody's identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from memstone.core.checks.filters import where_link_direct, where_visible
from memstone.core.portrait import is_identity_grade
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import dedupe_value, event_of
from memstone.engine.store.status import set_status
from memstone.engine.store.versions import end_version, ensure_space, insert_version, supersede_version, vectors_of
from memstone.language.language import IdentityRules, Language
from memstone.language.text.normal import normal_text
from memstone.model.event import EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Kind, Layer, Link, Origin, Record, Status
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

ACTOR: Final = "digest"
MOST: Final = 1_000


def owner_of_identity(scope: Scope) -> Scope | None:
    """Return whose identity it is: the user's, whatever agent or run; else None."""
    return Scope(scope.tenant_id, scope.user_id) if scope.user_id else None


def identity_dedupe(owner: Scope, kind: str, text: str) -> str:
    """Return what makes two of a kind the same: the owner and the words, in whatever case."""
    return dedupe_value(owner, ("user_id",), speaker=f"identity:{kind}", key=None, text=text)


async def rows_of(tx: Tx, owner: Scope, now: Instant, *kinds: str, as_of: Instant | None = None) -> list[FoundMemory]:
    """Return the rows of an owner's identity of these kinds, in their order."""
    only = Condition("kind", Op.IN, tuple(map(str, kinds)))
    where = where_visible(owner, now, layers=(Layer.IDENTITY,), as_of=as_of, extra=only)
    seqs = await tx.memories.seqs(where)
    rows = await tx.memories.among(seqs[:MOST], where) if seqs else []
    return sorted(rows, key=lambda found: (place_of(found.record), found.record.seq))


def place_of(record: Record) -> int:
    """Return where an override is in its list."""
    place = record.data.get("place")
    return place if isinstance(place, int) else 0


def may_be_identity(fact: Record, rules: IdentityRules) -> bool:
    """Return whether a fact may say who the user is: told by the user, in full trust, and not about some thing.

    How the user wants to be served is told apart from that (``standing_instructions``).
    """
    is_known = fact.layer == Layer.FACT and fact.origin == Origin.USER and fact.trust >= 1.0
    return is_known and fact.kind != Kind.PROCEDURAL and not rules.is_of_thing(fact.text)


async def keep_derived(runtime: Runtime, tx: Tx, scope: Scope, facts: Sequence[Record], now: Instant) -> int:
    """Mirror facts of a session that say who the user is, update older mirrors, and return how many are new.

    Beyond the limit, the least salient mirrors are evicted, and of equals the oldest.
    """
    owner = owner_of_identity(scope)
    if owner is None:
        return 0
    memories = await refresh_mirrors(tx, runtime.language, owner, now)
    overrides = {normal_text(found.record.text) for found in await rows_of(tx, owner, now, Kind.OVERRIDE)}
    known = {normal_text(found.record.text) for found in memories} | overrides
    mirrored = {found.record.origin_id for found in memories}
    added = 0
    for fact in facts:
        text = normal_text(fact.text)
        if (
            fact.id in mirrored
            or text in known
            or fact.status != Status.ACTIVE
            or not may_be_identity(fact, runtime.language.identity)
        ):
            continue
        if await _add_mirror(tx, runtime.language, owner, fact, now):
            known.add(text)
            added += 1
    if added:
        await _evict_excess_mirrors(tx, runtime.language, owner, runtime.policy.formation.derived, now)
    return added


async def _add_mirror(tx: Tx, language: Language, owner: Scope, fact: Record, now: Instant) -> bool:
    dedupe = identity_dedupe(owner, Kind.DERIVED, fact.text)
    deleted = await tx.suppressions.since(owner.tenant_id, dedupe)
    if deleted is not None and fact.occurred_at <= deleted:
        return False
    if await tx.links.holder(owner.tenant_id, dedupe) is not None:
        return False
    await tx.suppressions.lift(owner.tenant_id, dedupe)
    record = mirror_of(fact, now)
    vectors = await vectors_of(tx, fact)
    for space, _ in vectors:
        await ensure_space(tx, owner.tenant_id, space)
    await insert_version(tx, language, record, [Link(owner, now, dedupe)], vectors)
    await tx.events.append([event_of(EventType.ADD, record, owner, now, actor=ACTOR)])
    return True


def mirror_of(fact: Record, now: Instant) -> Record:
    """Return what is kept of a fact as part of an identity."""
    return replace(
        fact,
        id=new_id(),
        seq=0,
        version=1,
        layer=Layer.IDENTITY,
        kind=Kind.DERIVED,
        origin=Origin.DERIVED,
        key=None,
        data={"category": fact.data.get("category", ""), "fact_hash": fact.hash},
        metadata={},
        source="digest",
        source_count=1,
        origin_id=fact.id,
        created_at=now,
        updated_at=now,
        valid_from=fact.occurred_at,
        valid_to=None,
    )


async def _evict_excess_mirrors(tx: Tx, language: Language, owner: Scope, most: int, now: Instant) -> None:
    rows = await rows_of(tx, owner, now, Kind.DERIVED)
    rows.sort(key=lambda found: (-found.record.salience, -found.record.seq))
    for found in rows[most:]:
        links = await tx.links.of(owner.tenant_id, found.record.seq)
        reason = f"only {most} are kept"
        await set_status(
            tx, language, found.record, links, Status.EVICTED, now, event=EventType.EVICT, reason=reason, actor=ACTOR
        )


async def sources_of(tx: Tx, owner: Scope, rows: Sequence[FoundMemory], now: Instant) -> dict[str, Record]:
    """Return the facts behind mirrors, as far as the owner still sees them."""
    return await read_visible_facts(tx, owner, [found.record.origin_id or "" for found in rows], now)


async def read_visible_facts(
    tx: Tx, owner: Scope, ids: Sequence[str], now: Instant, as_of: Instant | None = None
) -> dict[str, Record]:
    """Return which of these facts the owner sees, in the version that holds; in the order in which they were stored."""
    wanted = tuple({one for one in ids if one})
    if not wanted:
        return {}
    where = where_visible(owner, now, as_of=as_of, extra=And((where_link_direct(), Condition("id", Op.IN, wanted))))
    rows = await tx.memories.among(await tx.memories.seqs(where), where)
    return {found.record.id: found.record for found in sorted(rows, key=lambda found: found.record.seq)}


def is_true(mirror: Record, fact: Record | None) -> bool:
    """Return whether a mirror still says what its fact says."""
    return fact is not None and fact.hash == mirror.data.get("fact_hash")


async def true_derived(tx: Tx, owner: Scope, now: Instant) -> list[FoundMemory]:
    """Return the mirrors that still hold."""
    rows = await rows_of(tx, owner, now, Kind.DERIVED)
    facts = await sources_of(tx, owner, rows, now)
    return [found for found in rows if is_true(found.record, facts.get(found.record.origin_id or ""))]


async def refresh_mirrors(tx: Tx, language: Language, owner: Scope, now: Instant) -> list[FoundMemory]:
    """Bring the mirrors up to date with their facts; return those that hold."""
    rows = await rows_of(tx, owner, now, Kind.DERIVED)
    facts = await sources_of(tx, owner, rows, now)
    memories: list[FoundMemory] = []
    for found in rows:
        fact = facts.get(found.record.origin_id or "")
        if is_true(found.record, fact):
            memories.append(found)
        elif fact is not None and is_of_identity(fact, language.identity):
            memories.append(await _update_mirror(tx, language, owner, found, fact, now))
        else:
            await _end_mirror(tx, owner, found, now)
    return memories


def is_of_identity(fact: Record, rules: IdentityRules) -> bool:
    """Return whether a fact says who the user is: what they are called, their home, work, family or health."""
    data: dict[str, Any] = fact.data
    polarity = data.get("polarity", 1)
    category = rules.category_of(str(data.get("category", "")), fact.text)
    grade = is_identity_grade(category, 1.0, str(data.get("subject", "")), int(polarity))
    return may_be_identity(fact, rules) and grade


def never_fades(fact: Record, rules: IdentityRules) -> bool:
    """Return whether a fact never fades: who the user is, and how to serve them."""
    if fact.layer == Layer.FACT and fact.kind == Kind.PROCEDURAL:
        return fact.origin == Origin.USER
    return is_of_identity(fact, rules) and rules.is_lasting(fact.text)


async def _update_mirror(
    tx: Tx, language: Language, owner: Scope, found: FoundMemory, fact: Record, now: Instant
) -> FoundMemory:
    old = found.record
    links = await tx.links.of(owner.tenant_id, old.seq)
    new = replace(
        mirror_of(fact, now),
        id=old.id,
        version=old.version + 1,
        created_at=old.created_at,
        valid_from=max(old.valid_from, now),
    )
    moved = [replace(link, dedupe=identity_dedupe(owner, Kind.DERIVED, new.text)) for link in links]
    twin = await tx.links.holder(owner.tenant_id, moved[0].dedupe or "")
    if twin is not None and twin != old.seq:
        moved = [replace(link, dedupe=None) for link in moved]
    await supersede_version(tx, language, old, new, moved, await vectors_of(tx, fact))
    reason = "the fact it comes from has changed"
    event = event_of(EventType.UPDATE, new, owner, now, before=old, reason=reason, links_before=links, actor=ACTOR)
    await tx.events.append([event])
    return FoundMemory(new, moved[0])


async def _end_mirror(tx: Tx, owner: Scope, found: FoundMemory, now: Instant) -> None:
    links = await tx.links.of(owner.tenant_id, found.record.seq)
    await end_version(tx, found.record, Status.SUPERSEDED, now)
    reason = "the fact it comes from no longer holds"
    old = found.record
    event = event_of(
        EventType.DELETE, old, owner, now, before=old, reason=reason, ended=True, links_before=links, actor=ACTOR
    )
    await tx.events.append([event])
