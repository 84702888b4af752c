"""Store messages as they are: check, embed, commit.

Nothing is written before everything was checked, and no transaction is open while a model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft, event_of, new_record, text_hash
from memstone.engine.store.embedding_context import said_before
from memstone.engine.store.holders import (
    Replacement,
    claim_shared_memory,
    feed_outcomes,
    partition_links,
    replace_for,
)
from memstone.engine.store.mention import name_drafts
from memstone.engine.store.repeat_counter import REDUNDANT, is_idle
from memstone.engine.store.versions import NewVersion, Space, Vectors, ensure_space, enter_all, supersede_version
from memstone.errors import MemstoneError
from memstone.language.language import Language
from memstone.language.text.normal import estimate_tokens
from memstone.model.access import Bounds
from memstone.model.event import Event, EventType, Signal
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import Link, Record
from memstone.ports.ledger import Tx


@dataclass(slots=True)
class Outcome:
    """What happened to one draft."""

    event: str
    record: Record | None
    draft: Draft
    old_text: str | None = None
    reason: str | None = None
    error: MemstoneError | None = None
    old_id: str | None = None
    """The memory that others still hold, where this one took its place."""

    new_id: str | None = None
    """The memory that took the place of this one, where it ended."""


REPEATS: Final = "repeats"
"""Where the data of a turn name the memories that it says again, each with the hash of what that said then."""

ACTIONS: Final = {
    EventType.ADD: "add",
    EventType.UPDATE: "replace",
    EventType.REPLACE: "replace",
    EventType.DELETE: "retract",
}
"""What became of a fact, in the words of the log."""


_CLAIMED: Final = frozenset({"NONE", EventType.UPDATE, EventType.REPLACE})


def action_of(outcome: Outcome) -> str:
    """Return a decision about a fact as the log names it: ``add``, ``replace``, ``retract`` or ``ignore``."""
    return next((word for event, word in ACTIONS.items() if event == outcome.event), "ignore")


@dataclass(slots=True)
class PreparedDrafts:
    """Drafts with their vectors, and those that could not be embedded."""

    drafts: list[Draft]
    failed: list[Outcome] = field(default_factory=list)
    space: Space | None = None


async def embed_drafts(runtime: Runtime, drafts: Sequence[Draft]) -> PreparedDrafts:
    """Embed all drafts and find their entities; a failing one does not affect the others."""
    await name_drafts(runtime.io, drafts, runtime.language.names)
    if not runtime.embedding.on:
        return PreparedDrafts(list(drafts))
    try:
        space = await current_space(runtime)
        vectors = await runtime.embedding.many([draft.text for draft in drafts], await said_before(runtime, drafts))
    except MemstoneError as error:  # the model cannot even be asked
        return PreparedDrafts([], [Outcome("DEFERRED", None, draft, error=error) for draft in drafts])
    ready = PreparedDrafts([], space=space)
    for draft, vector in zip(drafts, vectors, strict=True):
        if isinstance(vector, MemstoneError):
            ready.failed.append(Outcome("DEFERRED", None, draft, error=vector))
        else:
            draft.vector = vector
            ready.drafts.append(draft)
    return ready


async def current_space(runtime: Runtime) -> Space:
    """Return the vector space of the configured embedder."""
    return Space(await runtime.embedding.signature(), await runtime.embedding.dim())


@dataclass(slots=True)
class _Commit:
    """A commit in progress, which collects what is new and stores it at the end."""

    tx: Tx
    language: Language
    tenant_id: str
    space: Space | None
    now: Instant
    lifts: bool
    known: set[str]
    """What may be held by somebody: everything else is new without another look."""

    new: dict[str, tuple[NewVersion, Event]] = field(default_factory=dict)
    bounds: Bounds | None = None
    """What the caller reaches at most."""

    async def flush(self) -> None:
        """Store what was collected."""
        new = list(self.new.values())
        self.known.update(self.new)
        self.new = {}
        await enter_all(self.tx, self.language, [entry for entry, _ in new])
        await self.tx.events.append(event for _, event in new)


async def commit_drafts(
    runtime: Runtime, tx: Tx, prepared: PreparedDrafts, now: Instant, *, lazy: bool = False
) -> list[Outcome]:
    """Store drafts in an open transaction; known ones are reported and not stored again.

    With ``lazy`` the caller counts what is known when there is nothing else: see ``repeat_counter``.
    """
    if prepared.space is not None and prepared.drafts:
        await ensure_space(tx, runtime.tenant_id, prepared.space)
    lifts = await tx.suppressions.any(runtime.tenant_id)
    known = await tx.links.find_existing_dedupes(runtime.tenant_id, [draft.dedupe for draft in prepared.drafts])
    under_way = _Commit(
        tx, runtime.language, runtime.tenant_id, prepared.space, now, lifts, known, bounds=runtime.bounds
    )
    outcomes = [await _commit_one(under_way, draft) for draft in prepared.drafts]
    await under_way.flush()
    await feed_outcomes(tx, runtime.language, outcomes, now)
    fades = runtime.policy.recall.visible_days is not None
    if not lazy or fades or prepared.failed or not is_idle(outcomes):
        await count_known_outcomes(tx, runtime.language, outcomes, now, fades=fades)
    else:
        await _claim_shared_memories(tx, runtime.language, outcomes, now)
    if prepared.failed:
        await tx.signals.put(_build_retry_signal(outcome, now) for outcome in prepared.failed)
    return sorted([*outcomes, *prepared.failed], key=lambda outcome: outcome.draft.item)


async def _commit_one(commit: _Commit, draft: Draft) -> Outcome:
    tx, tenant, now = commit.tx, commit.tenant_id, commit.now
    if commit.lifts:
        await tx.suppressions.lift(tenant, draft.dedupe)
    if draft.dedupe in commit.new:  # said twice in one batch: the second time it is looked at like any other
        await commit.flush()
    holder = await tx.links.holder(tenant, draft.dedupe) if draft.dedupe in commit.known else None
    known = await tx.memories.at(holder) if holder is not None else None
    if known is None:
        return _add_draft(commit, draft)
    expired = known.expires_at is not None and known.expires_at <= now
    if not expired and draft.key and draft.dated and draft.occurred_at < known.valid_from:
        return Outcome("NONE", known, draft, known.text, "something said later is stored under this key")
    if expired or (draft.key and _has_new_content(known, draft)):
        reason = "it had expired" if expired else "same key, new content"
        return await _update_known_memory(commit, known, draft, reason)
    return Outcome("NONE", known, draft, known.text, "already known")


def _add_draft(commit: _Commit, draft: Draft) -> Outcome:
    record = new_record(draft, commit.tenant_id, commit.now)
    links, vectors = [Link(draft.scope, commit.now, draft.dedupe)], draft_vectors(draft, commit.space)
    entry = NewVersion(record, links, vectors, draft.named)
    commit.new[draft.dedupe] = entry, event_of(EventType.ADD, record, draft.scope, commit.now)
    return Outcome(EventType.ADD, record, draft)


def draft_vectors(draft: Draft, space: Space | None) -> Vectors:
    """Return the vector of a draft with its space, if it has one."""
    return [] if draft.vector is None or space is None else [(space, draft.vector)]


def _has_new_content(known: Record, draft: Draft) -> bool:
    same_text = known.text == draft.text and known.kind == draft.kind and known.expires_at == draft.expires_at
    return not same_text or {**known.metadata, **(draft.metadata or {})} != known.metadata


async def _update_known_memory(commit: _Commit, known: Record, draft: Draft, reason: str) -> Outcome:
    """Give a memory with the same key the new content; it keeps its id, and metadata are merged."""
    tx, space, now = commit.tx, commit.space, commit.now
    new = replace(
        known,
        seq=0,
        version=known.version + 1,
        text=draft.text,
        hash=text_hash(draft.text),
        kind=draft.kind,
        origin=draft.origin,
        trust=draft.trust,
        source_role=draft.role,
        tokens=estimate_tokens(draft.text),
        metadata={**known.metadata, **(draft.metadata or {})},
        data={**known.data, **(draft.data or {})},
        occurred_at=draft.occurred_at,
        valid_from=max(draft.occurred_at, known.valid_from),
        expires_at=draft.expires_at,
        updated_at=now,
    )
    links, others = partition_links(await tx.links.of(known.tenant_id, known.seq), draft.scopes, commit.bounds)
    moved = [replace(link, scope=draft.scope) if link.dedupe == draft.dedupe else link for link in links]
    if others:  # they keep what they have
        await replace_for(
            tx, commit.language, Replacement(known, new, links, moved, draft_vectors(draft, space), reason), now
        )
        return Outcome(EventType.REPLACE, new, draft, known.text, reason, old_id=known.id)
    await supersede_version(tx, commit.language, known, new, moved, draft_vectors(draft, space))
    await tx.events.append([event_of(EventType.UPDATE, new, draft.scope, now, before=known, reason=reason)])
    return Outcome(EventType.UPDATE, new, draft, known.text, reason)


async def count_known_outcomes(
    tx: Tx, language: Language, outcomes: Sequence[Outcome], now: Instant, *, fades: bool
) -> None:
    """Count repetitions of known memories, and make shared ones the speaker's own.

    Where memories are visible for a while only, saying one again makes it visible again.
    """
    await _claim_shared_memories(tx, language, outcomes, now)
    known = [outcome for outcome in outcomes if outcome.event == "NONE"]
    if fades:
        again = {(one.record.seq, one.draft.scope) for one in known if one.record is not None}
        await tx.links.record_uses(again, now)
    await _note_repeats(tx, known)
    for user in {outcome.draft.scope.user_id for outcome in known}:
        of_user = sum(outcome.draft.scope.user_id == user for outcome in known)
        await tx.metrics.count(known[0].draft.scope.tenant_id, user, now, {REDUNDANT: of_user})


async def _claim_shared_memories(tx: Tx, language: Language, outcomes: Sequence[Outcome], now: Instant) -> None:
    """Make shared memories the user's own if the user says the same or replaces them."""
    for one in outcomes:
        if one.record is not None and one.record.valid_to is None and one.event in _CLAIMED:
            await claim_shared_memory(tx, language, one.record, one.draft.scope.user_id, now)


async def _note_repeats(tx: Tx, known: Sequence[Outcome]) -> None:
    """Note on turns which memories they repeat, because changes to those affect the turn."""
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for one in known:
        turn, record = one.draft.origin_id, one.record
        if turn and record is not None and record.origin_id != turn:
            texts.setdefault((record.tenant_id, turn), {})[record.id] = record.hash
    for (tenant, turn), repeated in texts.items():
        row = await tx.memories.current(tenant, turn)
        noted = {} if row is None else row.data.get(REPEATS) or {}
        if row is not None and not noted.keys() >= repeated.keys():
            await tx.upkeep.restate(replace(row, data={**row.data, REPEATS: {**repeated, **noted}}))


def _build_retry_signal(outcome: Outcome, now: Instant) -> Signal:
    """Build the signal for a draft that could not be embedded."""
    draft = outcome.draft
    again = {
        "verbatim": True,
        "role": draft.role,
        "name": draft.speaker,
        "kind": draft.kind,
        "key": draft.key,
        "metadata": draft.metadata or {},
        "expires_at": draft.expires_at,
        "project": draft.also.user_id if draft.also else "",
    }
    error = str(outcome.error) if outcome.error else None
    return Signal(new_id(), draft.scope, draft.text, draft.occurred_at, now, data=again, last_error=error)
