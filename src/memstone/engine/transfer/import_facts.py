"""Clean and store imported facts: no secrets, no blocks of Memstone, nothing too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from memstone.core.checks.arguments import checked_metadata
from memstone.core.importers.items import Sort, SourceItem
from memstone.core.redact import RedactPolicy, redact_text
from memstone.engine.learn.ingest import IngestRun
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import (
    TRUST,
    Draft,
    dedupe_value,
    event_of,
    new_record,
    owner_alone,
    text_hash,
    waiting_dedupe,
)
from memstone.engine.store.status import set_status
from memstone.engine.store.turns import masked_metadata, redaction_of, without_injected
from memstone.engine.store.versions import NewVersion, Vectors, ensure_space, enter_all
from memstone.engine.store.write import current_space
from memstone.errors import MemstoneError
from memstone.language.text.normal import normal_text
from memstone.model.event import Event, EventType
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Layer, Link, Origin, Status
from memstone.model.message import Message
from memstone.model.policy import Limits, Policy
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

# --- what of an imported thing may be kept ----------------------------------------------------------------------------


TRUSTED: Final = 0.8
"""How far a fact carries that somebody imports who may speak for the user: it was written down by another system."""


@dataclass(frozen=True, slots=True)
class ImportItem:
    """A thing that is imported, whose it will be, and what the caller should know about it."""

    item: SourceItem
    scope: Scope = field(default_factory=Scope)
    warnings: tuple[str, ...] = ()


class CleaningRules:
    """How things are cleaned: by the limits and the redaction of a policy, at one moment."""

    def __init__(self, policy: Policy, now: Instant) -> None:
        self.limits: Limits = policy.limits
        self.now: Instant = now
        self.redaction: RedactPolicy = redaction_of(policy)


def clean_item(item: SourceItem, by: CleaningRules) -> ImportItem | str:
    """Return the thing as it may be kept, or why it is not."""
    if item.expires_at is not None and item.expires_at <= by.now:
        return "expired"
    text = without_injected(Message("user", item.text)).text.strip()
    if not text:
        return "shown by Memstone"
    if len(text) > by.limits.text_chars:
        return "too long"
    found = redact_text(text, by.redaction)
    if found.dropped:
        return "secret"
    metadata, warnings = _clean_metadata(item, by)
    if found.found:
        warnings = (*warnings, f"something was masked before it was stored: {', '.join(found.found)}")
    said_at = min(item.occurred_at, by.now) if item.occurred_at is not None else None
    source_item = replace(item, text=found.text, metadata=metadata, occurred_at=said_at, key=_storable_key(item, by))
    return ImportItem(source_item, warnings=warnings)


def _clean_metadata(item: SourceItem, by: CleaningRules) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return metadata without secrets; what cannot be stored is left out, and that is said."""
    try:
        checked, _ = checked_metadata(item.metadata, by.limits)
    except MemstoneError as error:
        return {}, (f"metadata was left out: {error.message}",)
    clean, warnings = masked_metadata(checked, by.redaction)
    return clean, tuple(warnings)


def _storable_key(item: SourceItem, by: CleaningRules) -> str | None:
    fits = item.key is not None and len(item.key) <= by.limits.key_chars and "\0" not in item.key
    return item.key if fits else None


# --- facts and episodes of an import on their way into the ledger -----------------------------------------------------


EPISODE_SALIENCE: Final = 0.5
_REASON: Final = "imported"
_APPROVED: Final = "its owner imported it again as their own"
_LAYERS: Final = {Layer.FACT: "facts", Layer.EPISODE: "episodes"}


@dataclass(slots=True)
class FactsInto:
    """Where facts go, and what became of their vectors."""

    runtime: Runtime
    transcript: IngestRun


@dataclass(slots=True)
class FactToImport:
    """A fact to store, the names under which it may be known or deleted here, and the id it had elsewhere."""

    draft: Draft
    names: tuple[str, ...]
    id: str = ""
    by_key: str | None = None
    """The name of what stands under its key here, which is the same thing only if it says the same."""


def drafts_of(runtime: Runtime, taken: Sequence[ImportItem], trust: float | None) -> list[FactToImport]:
    """Return facts as they would be stored.

    With a ``trust`` somebody speaks for the user, and theirs need no approval.
    """
    now = runtime.now()
    return [_build_draft(runtime, one, _resolve_trust(one, trust), now) for one in taken]


def _resolve_trust(one: ImportItem, trust: float | None) -> float | None:
    """Return how far it is trusted.

    Only what the user is said to have said is theirs; what a talk was about is as true as an assistant's word.
    """
    if trust is None or one.item.role == "user":
        return trust
    return TRUST[Origin.ASSISTANT] if one.item.sort is Sort.EPISODE else None


def _build_draft(runtime: Runtime, one: ImportItem, trust: float | None, now: Instant) -> FactToImport:
    item, fields = one.item, runtime.policy.dedupe_scope
    is_episode = item.sort is Sort.EPISODE
    scope = one.scope
    names = _dedupe_names(scope, fields, item.name, item.text)
    key = item.key if trust is not None and not is_episode else None
    by_key = dedupe_value(scope, fields, speaker="", key=item.key, text="") if item.key else None
    own = by_key if by_key and key else names[0]
    draft = Draft(
        scope=scope,
        text=item.text,
        dedupe=_episode_name(scope, item.text) if is_episode else own if trust is not None else names[1],
        kind=Kind.EPISODIC if is_episode else item.kind or Kind.FACTUAL,
        origin=Origin.IMPORT,
        trust=TRUST[Origin.IMPORT] if trust is None else trust,
        occurred_at=item.occurred_at or now,
        role=item.role,
        speaker=item.name,
        key=key,
        expires_at=item.expires_at,
        metadata={**item.metadata, **({"key": item.key} if item.key and not key else {})},
        data=_build_data(one),
        layer=Layer.EPISODE if is_episode else Layer.FACT,
        source="import",
        salience=EPISODE_SALIENCE,
        status=Status.QUARANTINED if trust is None else Status.ACTIVE,
    )
    known_as = tuple(dict.fromkeys([draft.dedupe, *(() if is_episode else names)]))
    return FactToImport(draft, known_as, item.id, by_key)


def _build_data(one: ImportItem) -> dict[str, object]:
    item = one.item
    speaker = {"speaker": item.name} if item.name else {}
    title = {"title": item.title} if item.title else {}
    lists = ("topics", "entities", "decisions", "action_items", "facts", "turns")
    return {**speaker, **title, **({name: [] for name in lists} if item.sort is Sort.EPISODE else {})}


def _episode_name(scope: Scope, text: str) -> str:
    return dedupe_value(scope, ("user_id", "agent_id", "run_id"), speaker="import:episode", key=None, text=text)


def _dedupe_names(scope: Scope, fields: Sequence[str], speaker: str, text: str) -> list[str]:
    """Return the names it has if it was learned, if it waited, and if it was stored word for word.

    For the user alone.
    """
    found = [dedupe_value(scope, fields, speaker="", key=None, text=text), waiting_dedupe(scope, fields, text)]
    for where in (scope, owner_alone(scope)):
        found += [
            dedupe_value(where, fields, speaker=who, key=None, text=text) for who in ("", "user", "import", speaker)
        ]
    return found


async def store_facts(into: FactsInto, facts: Sequence[FactToImport]) -> dict[str, Counter[str]]:
    """Store those that are new and that nobody has deleted here; return what became of them by layer."""
    vectors = await _embed_facts(into, facts)
    return await into.runtime.ledger.write(
        partial(_store_new_facts, runtime=into.runtime, facts=facts, vectors=vectors)
    )


async def _embed_facts(into: FactsInto, facts: Sequence[FactToImport]) -> list[Vectors]:
    """Return vectors, as far as there are any: a fact without one is found by its words, and a reindex gives it one."""
    runtime, ingest_run, nothing = into.runtime, into.transcript, [()] * len(facts)
    if not runtime.embedding.on or ingest_run.gave_up:
        return list(nothing)
    try:
        space = await current_space(runtime)
        found = await runtime.embedding.many([one.draft.text for one in facts])
    except MemstoneError as error:  # the model cannot even be asked
        ingest_run.error, ingest_run.gave_up = error, True
        return list(nothing)
    ingest_run.error = next((one for one in found if isinstance(one, MemstoneError)), ingest_run.error)
    return [() if isinstance(one, MemstoneError) else [(space, one)] for one in found]


async def _store_new_facts(
    tx: Tx, *, runtime: Runtime, facts: Sequence[FactToImport], vectors: Sequence[Vectors]
) -> dict[str, Counter[str]]:
    answer = {name: Counter[str]() for name in _LAYERS.values()}
    now, suppresses = runtime.now(), await tx.suppressions.any(runtime.tenant_id)
    entries: list[NewVersion] = []
    seen, taken = set[str](), set[str]()
    for one, own in zip(facts, vectors, strict=True):
        counts = answer[_LAYERS[Layer(one.draft.layer)]]
        if suppresses and await _is_deleted(tx, runtime, one):
            counts["deleted"] += 1
        elif one.draft.dedupe in seen:
            counts["known"] += 1
        elif await _approve_waiting(tx, runtime, one, now):
            seen.add(one.draft.dedupe)
            counts["approved"] += 1
        elif await _is_known(tx, runtime, one):
            counts["known"] += 1
        else:
            seen.add(one.draft.dedupe)
            record = new_record(one.draft, runtime.tenant_id, now)
            record = replace(record, id=await _own_id(tx, runtime, one, taken) or record.id)
            taken.add(record.id)
            entries.append(NewVersion(record, [Link(one.draft.scope, now, one.draft.dedupe)], own))
            counts["stored"] += 1
            counts["quarantined"] += one.draft.status == Status.QUARANTINED
    for space in {space for entry in entries for space, _ in entry.vectors}:
        await ensure_space(tx, runtime.tenant_id, space)
    await enter_all(tx, runtime.language, entries)
    await tx.events.append(_build_add_event(entry, now) for entry in entries)
    return answer


def _build_add_event(entry: NewVersion, now: Instant) -> Event:
    scope = entry.links[0].scope
    return event_of(EventType.ADD, entry.record, scope, now, reason=_REASON, actor="import")


async def _own_id(tx: Tx, runtime: Runtime, one: FactToImport, taken: set[str]) -> str:
    """Return the id a fact had elsewhere; '' if it waits for approval, or somebody has that id here."""
    if not one.id or one.draft.status == Status.QUARANTINED or one.id in taken:
        return ""
    return "" if await tx.memories.last(runtime.tenant_id, one.id) is not None else one.id


async def _is_deleted(tx: Tx, runtime: Runtime, one: FactToImport) -> bool:
    return any([await tx.suppressions.has(runtime.tenant_id, name) for name in one.names])


async def _approve_waiting(tx: Tx, runtime: Runtime, one: FactToImport, now: Instant) -> bool:
    """Release what an earlier import put into quarantine, when somebody now speaks for the user; whether it did."""
    if one.draft.status == Status.QUARANTINED:
        return False
    if one.by_key and await tx.links.holder(runtime.tenant_id, one.by_key) is not None:
        return False  # something else stands under its key here
    for name in one.names:
        seq = await tx.links.holder(runtime.tenant_id, name)
        record = await tx.memories.at(seq) if seq is not None else None
        if record is not None and record.status == Status.QUARANTINED and record.origin == Origin.IMPORT:
            links = await tx.links.of(record.tenant_id, record.seq)
            await set_status(
                tx,
                runtime.language,
                record,
                links,
                Status.ACTIVE,
                now,
                event=EventType.ENABLE,
                reason=_APPROVED,
                actor="import",
            )
            return True
    return False


async def _is_known(tx: Tx, runtime: Runtime, one: FactToImport) -> bool:
    if any([await tx.links.holder(runtime.tenant_id, name) is not None for name in one.names]):
        return True
    return await _is_same(tx, runtime, one) or await _is_under_key(tx, runtime, one)


async def _is_same(tx: Tx, runtime: Runtime, one: FactToImport) -> bool:
    """Return whether the memory of that id is the user's and says the same."""
    same = await tx.memories.last(runtime.tenant_id, one.id) if one.id else None
    if same is None or same.valid_to is not None or same.hash != text_hash(one.draft.text):
        return False
    links = await tx.links.of(runtime.tenant_id, same.seq)
    return any(link.scope.user_id == one.draft.scope.user_id for link in links)


async def _is_under_key(tx: Tx, runtime: Runtime, one: FactToImport) -> bool:
    """Return whether what stands under its key says the same."""
    seq = await tx.links.holder(runtime.tenant_id, one.by_key) if one.by_key else None
    record = await tx.memories.at(seq) if seq is not None else None
    return record is not None and normal_text(record.text) == normal_text(one.draft.text)
