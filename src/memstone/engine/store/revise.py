"""``update`` and ``delete``: end a version, or write the next one under the same id.

The new text is embedded before the transaction. If somebody else has changed the memory meanwhile, this change is
applied to the result, so that both are in the history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from memstone.core.checks.arguments import checked_key, checked_kind, checked_metadata, checked_text
from memstone.core.checks.filters import Filters, split_scope, where_current, where_in_scope
from memstone.engine import results
from memstone.engine.batch import Batch, carried_out, request_of
from memstone.engine.request_scope import admit_filters, merged_scope, no_scope, rename_filter_users
from memstone.engine.runtime import Runtime
from memstone.engine.store.deleted_spans import evidence_of, name_again
from memstone.engine.store.draft import dedupe_value, event_of, text_hash
from memstone.engine.store.holders import (
    Replacement,
    as_direct_links,
    partition_links,
    replace_for,
    unlink_holders,
)
from memstone.engine.store.turns import masked_metadata, masked_text, redaction_of
from memstone.engine.store.versions import (
    Vectors,
    as_text,
    checked_id,
    end_version,
    ensure_space,
    supersede_version,
    suppress_memory,
    under_id,
    vectors_of,
)
from memstone.engine.store.write import current_space
from memstone.errors import Conflict, InvalidInput, MemstoneError, NotFoundError
from memstone.language.language import Language
from memstone.language.text.normal import estimate_tokens
from memstone.model.access import Bounds
from memstone.model.event import EventType
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import MIRROR, OPEN, FoundMemory, Link, Record, Status
from memstone.model.query import And, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import (
        BatchError,
        DeleteAllResult,
        DeleteBatchResult,
        DeleteItem,
        DeleteResult,
        ErasureMark,
        UpdateBatchResult,
        UpdateResult,
    )

# --- ``update`` -------------------------------------------------------------------------------------------------------


class _Unset:
    """Marks an argument that was not passed, if ``None`` has a meaning."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Any] = _Unset()


@dataclass(slots=True)
class UpdateRequest:
    """The arguments of ``update``; what is not passed stays as it is."""

    memory_id: str
    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    kind: str | None = None
    key: str | _Unset | None = UNSET
    expires_at: When | _Unset | None = UNSET
    occurred_at: When | None = None


@dataclass(slots=True)
class Revision:
    """A checked update with the vector of its text."""

    memory_id: str
    changes: dict[str, Any]
    warnings: list[str]
    vectors: Vectors = ()
    scope: Scope | None = None
    """For whom it is changed; None: for everybody who holds it, within the bounds of the caller."""

    reason: str | None = None


async def update_memory(runtime: Runtime, request: UpdateRequest) -> UpdateResult:
    """Change a memory and return it."""
    return await apply_revision(runtime, await runtime.io.compute(partial(check_update, runtime, request)))


async def apply_revision(runtime: Runtime, checked: Revision) -> UpdateResult:
    """Embed and apply one revision; return the memory."""
    (revision,) = await _prepare_revisions(runtime, [checked])
    if isinstance(revision, MemstoneError):
        raise revision  # an update is all or nothing: the caller still has the text
    now = runtime.now()
    found = await runtime.ledger.write(lambda tx: revise_memory(runtime, tx, revision, now))
    return _format_revision_result(found, revision)


async def update_many(
    runtime: Runtime, items: Sequence[Mapping[str, Any]], idempotency_key: str | None
) -> UpdateBatchResult:
    """Change many memories in one transaction; each has its own result."""
    batch = Batch.of(runtime, "update", items, idempotency_key)
    revisions = await _prepare_revisions(
        runtime, [await runtime.io.compute(partial(_checked_or_error, runtime, one)) for one in items]
    )
    now = runtime.now()

    async def work(tx: Tx) -> list[UpdateResult | BatchError | ErasureMark]:
        return [
            _error_result(one) if isinstance(one, MemstoneError) else await _revise_or_error(runtime, tx, one, now)
            for one in revisions
        ]

    return await carried_out(runtime, batch, work, now)


def check_update(runtime: Runtime, request: UpdateRequest) -> Revision:
    """Check an update before anything is embedded or written."""
    limits, redaction = runtime.policy.limits, redaction_of(runtime.policy)
    changes: dict[str, Any] = {}
    warnings: list[str] = []
    if request.text is not None:
        text = checked_text(request.text, "text", limits.text_chars, "limits.text_chars")
        changes["text"], warnings = masked_text(text, "text", redaction)
    if request.metadata is not None:
        metadata, ignored = checked_metadata(request.metadata, limits)
        changes["metadata"], found = masked_metadata(metadata, redaction)
        warnings = [*warnings, *ignored, *found]
    if request.kind is not None:
        changes["kind"] = checked_kind(request.kind)
    if not isinstance(request.key, _Unset):
        changes["key"] = checked_key(request.key, limits)
    if not isinstance(request.expires_at, _Unset):
        changes["expires_at"] = None if request.expires_at is None else parse_when(request.expires_at, "expires_at")
    if request.occurred_at is not None:
        changes["occurred_at"] = parse_when(request.occurred_at, "occurred_at")
    if not changes:
        raise InvalidInput("nothing to update", hint="give text, metadata, kind, key, occurred_at or expires_at")
    return Revision(checked_id(request.memory_id), changes, warnings)


async def _prepare_revisions(
    runtime: Runtime, checked: Sequence[Revision | MemstoneError]
) -> list[Revision | MemstoneError]:
    """Embed the texts of revisions; an error replaces one that cannot be embedded."""
    await runtime.ledger.ensure_room()
    at = [place for place, one in enumerate(checked) if isinstance(one, Revision) and "text" in one.changes]
    prepared = list(checked)
    if not runtime.embedding.on or not at:
        return prepared
    for place, embedded in zip(at, await _embed_revisions(runtime, [checked[place] for place in at]), strict=True):
        prepared[place] = embedded
    return prepared


async def _embed_revisions(runtime: Runtime, revisions: Sequence[Any]) -> Sequence[Revision | MemstoneError]:
    try:
        space = await current_space(runtime)
        vectors = await runtime.embedding.many([revision.changes["text"] for revision in revisions])
    except MemstoneError as error:  # the model cannot even be asked
        return [error] * len(revisions)
    return [
        vector if isinstance(vector, MemstoneError) else replace(revision, vectors=[(space, vector)])
        for revision, vector in zip(revisions, vectors, strict=True)
    ]


async def revise_memory(runtime: Runtime, tx: Tx, revision: Revision, now: Instant) -> FoundMemory:
    """Apply a revision to the current version inside this transaction."""
    old = await under_id(tx.memories.current, runtime.tenant_id, revision.memory_id)
    if old is None:
        raise NotFoundError(f"no memory {revision.memory_id}")
    revision.memory_id = old.id  # as it is spelled
    links = await tx.links.of(old.tenant_id, old.seq)
    owner_scope = revision.scope or runtime.bounds  # a key that is bound changes its own part of what several hold
    own, others = (links, []) if owner_scope is None else partition_links(links, [owner_scope], runtime.bounds)
    if not own:
        raise NotFoundError(f"no memory {revision.memory_id} in this scope")
    new = next_version(old, revision.changes, now)
    is_said = owner_scope is not None and "text" in revision.changes  # what they put in its place is their own
    relinked = [
        replace(link, dedupe=dedupe_of(runtime, link, new)) for link in (as_direct_links(own) if is_said else own)
    ]
    await refuse_twins(tx, new, relinked, old.seq)
    # The vectors of an unchanged text move along, so that changing metadata costs no embedding.
    vectors = revision.vectors if "text" in revision.changes else await vectors_of(tx, old)
    for space, _ in vectors:
        await ensure_space(tx, old.tenant_id, space)
    if others:  # they keep what they have
        await replace_for(tx, runtime.language, Replacement(old, new, own, relinked, vectors, revision.reason), now)
        return FoundMemory(new, relinked[0])
    await supersede_version(tx, runtime.language, old, new, relinked, vectors)
    scope = relinked[0].scope
    event = event_of(EventType.UPDATE, new, scope, now, before=old, links=relinked, links_before=links)
    event.reason = revision.reason
    await tx.events.append([event])
    return FoundMemory(new, relinked[0])


def next_version(old: Record, changes: Mapping[str, Any], now: Instant) -> Record:
    """Return the next version; everything that is not named stays."""
    began = max(old.valid_from, str(changes.get("occurred_at") or now))
    new = replace(old, seq=0, version=old.version + 1, valid_from=began, valid_to=None, updated_at=now)
    for name, value in changes.items():
        setattr(new, name, value)
    new.hash, new.tokens = text_hash(new.text), estimate_tokens(new.text)
    if "key" in changes:
        new.data = {**new.data, "named": True}
    if new.text != old.text:  # the words it was learned from do not say this
        new.data = {name: value for name, value in new.data.items() if name != "evidence"}
        new.key = new.key if _is_named(new) else None
    return new


def _is_named(record: Record) -> bool:
    """Return whether a caller chose the key of a memory."""
    return bool(record.data.get("verbatim") or record.data.get("named"))


def dedupe_of(runtime: Runtime, link: Link, record: Record) -> str | None:
    """Return the dedupe value of a memory for a link; None if duplicates are allowed."""
    if link.origin == MIRROR:
        return None
    speaker = str(record.data.get("speaker", "")) if record.data.get("verbatim") else ""
    key = record.key if _is_named(record) else None
    fields = runtime.policy.dedupe_scope if record.source == "manual" else runtime.policy.known_scope
    return dedupe_value(link.scope, fields, speaker=speaker, key=key, text=record.text)


async def refuse_twins(tx: Tx, new: Record, links: Sequence[Link], own: int) -> None:
    """Raise ``Conflict`` if another memory in the same scope says the same."""
    for link in links:
        holder = await tx.links.holder(new.tenant_id, link.dedupe or "")
        if holder is not None and holder != own:
            twin = await tx.memories.at(holder)
            other = twin.id if twin else "another memory"
            raise Conflict(f"{other} already says this in the same scope", hint="delete one of the two")


async def _revise_or_error(runtime: Runtime, tx: Tx, revision: Revision, now: Instant) -> UpdateResult | BatchError:
    try:
        return with_event(_format_revision_result(await revise_memory(runtime, tx, revision, now), revision))
    except (NotFoundError, Conflict) as error:  # both are raised before the first write of the item
        return _error_result(error)


def _checked_or_error(runtime: Runtime, item: Mapping[str, Any]) -> Revision | MemstoneError:
    try:
        return check_update(runtime, request_of(UpdateRequest, item, "memory_id", {"id": "memory_id"}))
    except MemstoneError as error:
        return error


def _format_revision_result(found: FoundMemory, revision: Revision) -> UpdateResult:
    answer: UpdateResult = {**results.format_memory(found)}
    if found.record.id != revision.memory_id:  # others hold what it was: this one is the caller's from now on
        answer["event"], answer["old_id"] = "REPLACE", revision.memory_id
    if revision.warnings:
        answer["warnings"] = revision.warnings
    return answer


def with_event(answer: UpdateResult) -> UpdateResult:
    """Return an answer that also says which event it was."""
    return {**answer, "event": answer.get("event", "UPDATE")}


def _error_result(error: MemstoneError) -> BatchError:
    return {"event": "ERROR", "error": error.as_dict()}


# --- ``delete``, ``delete_all``, ``reset`` ----------------------------------------------------------------------------


_PAGE: Final = 500


async def delete_memory(runtime: Runtime, memory_id: str) -> DeleteResult:
    """Delete one memory for everybody within the caller's bounds."""
    wanted, now = checked_id(memory_id), runtime.now()
    await runtime.ledger.write(lambda tx: _delete_one(runtime, tx, wanted, now))
    return {"id": wanted, "event": "DELETE"}


async def delete_many(runtime: Runtime, ids: Sequence[str], idempotency_key: str | None) -> DeleteBatchResult:
    """Delete many memories in one transaction; each has its own result."""
    batch = Batch.of(runtime, "delete", ids, idempotency_key)
    now = runtime.now()

    async def work(tx: Tx) -> list[DeleteItem]:
        return [await _delete_or_error(runtime, tx, _id_in(one), now) for one in ids]

    return {**await carried_out(runtime, batch, work, now)}


async def delete_all(runtime: Runtime, values: Mapping[str, Any], filters: Filters | None) -> DeleteAllResult:
    """Delete everything in a scope, in every layer, with one query."""
    inside, extra = split_scope(await admit_filters(runtime, filters))
    is_open = not inside and all(value is None for value in values.values())
    if is_open and (runtime.bounds is None or runtime.bounds.is_everyone):
        raise no_scope(extra)  # who may name everybody deletes nobody's by leaving a name out
    scope = merged_scope(runtime, values, inside, extra, reading=True)
    extra = rename_filter_users(runtime, extra)
    everything = [where_in_scope(scope), where_current(OPEN)] + ([extra] if extra is not None else [])
    now = runtime.now()

    async def work(tx: Tx) -> int:
        if extra is None:  # what still waits to be stored has no fields that a filter could choose by
            await tx.signals.forget(scope)
        return await _delete_where(tx, runtime.language, And(tuple(everything)), scope, now)

    return {"deleted": await runtime.ledger.write(work)}


async def reset_tenant(runtime: Runtime) -> None:
    """Remove everything of this tenant: memories, history, signals, indexes."""
    await runtime.ledger.write(lambda tx: tx.admin.reset(runtime.tenant_id))
    await runtime.index.forget(runtime.tenant_id)
    if runtime.graph is not None:
        await runtime.graph.forget(runtime.tenant_id)
    await runtime.texts.forget(runtime.tenant_id)
    runtime.embedding.forget(runtime.tenant_id)


async def _delete_one(runtime: Runtime, tx: Tx, memory_id: str, now: Instant) -> None:
    record = await under_id(tx.memories.current, runtime.tenant_id, memory_id)
    if record is None:
        raise NotFoundError(f"no memory {memory_id}")
    await take_from(tx, runtime.language, record, runtime.bounds or Scope(runtime.tenant_id), now)
    await name_again(tx, runtime.language, runtime.tenant_id, await evidence_of(tx, record), now)


async def _delete_where(tx: Tx, language: Language, where: Where, scope: Scope, now: Instant) -> int:
    deleted = 0
    turns: set[str] = set()
    while page := await tx.memories.find(where, limit=_PAGE):
        for found in page:
            await take_from(tx, language, found.record, scope, now)
            turns |= {found.record.origin_id} if found.record.origin_id else set()
        deleted += len(page)
    texts = sorted(turns)
    for start in range(0, len(texts), _PAGE):
        await name_again(tx, language, scope.tenant_id, texts[start : start + _PAGE], now)
    return deleted


async def take_from(
    tx: Tx, language: Language, record: Record, scope: Scope | Bounds, now: Instant, reason: str | None = None
) -> Literal["DELETE", "UNLINK"]:
    """Delete a memory for a scope; with its last link, the memory itself; return the event."""
    links = await tx.links.of(record.tenant_id, record.seq)
    own = [link for link in links if scope.holds(link.scope)]
    if len(own) == len(links):
        await delete_for_everybody(tx, record, links, now, reason)
        return "DELETE"
    await suppress_memory(tx, record, own, now)
    await unlink_holders(tx, language, record, own, now, reason)
    return "UNLINK"


async def delete_for_everybody(
    tx: Tx, record: Record, links: Sequence[Link], now: Instant, reason: str | None = None
) -> None:
    """Delete a memory for everybody, so that it is not learned again."""
    await suppress_memory(tx, record, links, now)
    await end_version(tx, record, Status.DELETED, now)
    await tx.memories.bury(record.tenant_id, record.id)
    answer: dict[str, Any] = {"before": record, "links_before": links, "reason": reason, "ended": True}
    await tx.events.append([event_of(EventType.DELETE, record, links[0].scope, now, **answer)])


def _id_in(item: object) -> object:
    """Return the id in an item of a batch."""
    if isinstance(item, Mapping) and len(item) == 1:
        return as_text(item.get("memory_id", item.get("id")))
    return as_text(item)


async def _delete_or_error(runtime: Runtime, tx: Tx, memory_id: object, now: Instant) -> DeleteItem:
    try:
        await _delete_one(runtime, tx, checked_id(memory_id), now)
    except (InvalidInput, NotFoundError) as error:  # both are raised before the first write of the item
        return {"id": cast("str", memory_id), "event": "ERROR", "error": error.as_dict()}
    return {"id": cast("str", memory_id), "event": "DELETE"}
