"""``erase``: everything of somebody goes, for good, from every table, index, cache, file and copy.

First the rows go, in one transaction. Then whatever follows the ledger is made to follow it, the file is written anew,
and the copies Memstone has made are rewritten. At last everything is looked at again. Each step may be done twice:
after a crash the same call finishes what was begun.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from memstone.core.access.store_key import BackupSigner
from memstone.engine.erasing.erase_rows import Removed, remove
from memstone.engine.erasing.erasure_report import FORMAT, VERSION, digest, named, sealed
from memstone.engine.erasing.traces import Pieces, pieces_of
from memstone.engine.parts import Parts
from memstone.engine.requests import Progress, report_progress
from memstone.engine.storing.named import checked_id, under_id
from memstone.errors import ConfigError, Corrupted, MemstoneError, ScopeError
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.scope import NO_SCOPE
from memstone.ports.backups import Copy, Copying, Look
from memstone.ports.erasure import WHOLE_STORE, Erased, Subject
from memstone.ports.ledger import Tx
from memstone.trace import log

_STEPS: Final = 6
KEY_BYTES: Final = 32


@dataclass(slots=True)
class _Erasure:
    """An erasure under way."""

    parts: Parts
    subject: Subject
    note: Erased
    key: bytes
    removed: Removed
    progress: Progress | None
    done: int = 0

    async def step(self) -> None:
        """Say that a step is done."""
        self.done += 1
        await report_progress(self.progress, self.done, _STEPS)


async def erase(
    parts: Parts, given: Mapping[str, Any], memory_id: str | None, progress: Progress | None
) -> dict[str, Any]:
    """Erase a scope, or one memory; gives the sealed report, or for a dry run what would go."""
    subject = await _as_stored(parts, _subject(parts, given, memory_id))
    now, number, fresh = parts.now(), new_id(), secrets.token_bytes(KEY_BYTES)

    async def rows(tx: Tx) -> tuple[bytes, Erased, Removed]:
        key = await tx.vault.key(parts.tenant_id, fresh, now)
        note = erased_note(subject, key, number, parts.now())  # what was asked while this waited for its turn is before
        await tx.vault.note_erasures([note])
        return key, note, await remove(tx, subject, now)

    ledger = parts.ledger
    key, note, removed = await (ledger.remove(rows) if isinstance(ledger, Copying) else ledger.write(rows))
    if parts.dry_run:
        return {"subject": named(subject), **_counts(removed)}
    under_way = _Erasure(parts, subject, note, key, removed, progress)
    await under_way.step()
    return await _finished(under_way)


def _subject(parts: Parts, given: Mapping[str, Any], memory_id: str | None) -> Subject:
    scope = parts.scope(given)
    if scope.is_open and memory_id is None:
        raise ScopeError(NO_SCOPE, hint="or name one memory by its id")
    return Subject(scope, "" if memory_id is None else checked_id(memory_id))


async def _as_stored(parts: Parts, subject: Subject) -> Subject:
    """With the id as the store writes it: one that is only spelled otherwise would be called gone, and be there."""
    if not subject.memory_id:
        return subject
    try:
        found = await parts.ledger.read(lambda tx: under_id(tx.memories.last, parts.tenant_id, subject.memory_id))
    except Corrupted:  # its text is damaged: then it is erased under the id that is given
        return subject
    return subject if found is None else replace(subject, memory_id=found.id)


def erased_note(subject: Subject, key: bytes, number: str, at: Instant) -> Erased:
    """What the store remembers of an erasure."""
    names = {name: digest(key, name, value) for name, value in named(subject).items()}
    return Erased(subject.tenant_id, number, at, **names)


async def _finished(erasure: _Erasure) -> dict[str, Any]:
    """What comes after the rows; where something fails it is told, because they are gone already."""
    checks = [await _indexes(erasure)]
    await erasure.step()
    _caches(erasure.parts)
    look = Pieces(pieces_of(erasure.removed.texts))
    checks.append(await _log(erasure))
    await erasure.step()
    checks.append(await _copies(erasure))
    await erasure.step()
    checks.append(await _rows(erasure))
    await erasure.step()
    checks.append(await _files(erasure, look))
    await erasure.step()
    return _report(erasure, checks)


def _counts(removed: Removed) -> dict[str, Any]:
    erased = {table: count for table, count in sorted(removed.counts.items()) if count}
    return {"erased": erased, "rewritten": removed.rewritten, "kept_for_others": removed.kept}


def _report(erasure: _Erasure, checks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    told = {
        "format": FORMAT,
        "version": VERSION,
        "id": erasure.note.id,
        "tenant_id": erasure.subject.tenant_id,
        "subject": named(erasure.subject),
        "created_at": erasure.note.created_at,
        **_counts(erasure.removed),
        "checks": list(checks),
        "complete": all(check["ok"] for check in checks),
    }
    return sealed(told, erasure.key)


def _caches(parts: Parts) -> None:
    """Nothing in this process remembers; other processes see by the change counter that they must look again."""
    parts.embedding.forget(parts.tenant_id)
    parts.tunings.changed(parts.tenant_id)
    parts.blocks.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("memstone."):
            _forget_calls(vars(module).values())


def _forget_calls(values: Iterable[object]) -> None:
    """What functions remember of texts they were given; one that remembers without limit was given none."""
    for value in list(values):
        parameters = getattr(value, "cache_parameters", None)
        if parameters is not None and parameters()["maxsize"] is not None:
            value.cache_clear()  # type: ignore[attr-defined]


# --- each gives what it looked at, and whether that is as it should be ------------------------------------------------


def _failed(check: str, error: MemstoneError) -> dict[str, Any]:
    return {"check": check, "ok": False, "error": error.as_dict()}


async def _indexes(erasure: _Erasure) -> dict[str, Any]:
    """Indexes in this process are dropped, a store of vectors outside follows; then nobody needs the name any more."""
    parts, tenant = erasure.parts, erasure.subject.tenant_id
    try:
        await parts.texts.forget(tenant)
        left = await _points(erasure)
        await parts.ledger.write(lambda tx: tx.erasure.rename_changes(erasure.subject))
    except MemstoneError as error:
        return _failed("indexes", error)
    return {"check": "indexes", "points_left": left, "ok": not left}


async def _points(erasure: _Erasure) -> int:
    parts, tenant = erasure.parts, erasure.subject.tenant_id
    holds = getattr(parts.index, "holds", None)
    if holds is None:
        await parts.index.forget(tenant)
        return 0
    spaces = await parts.ledger.read(lambda tx: tx.indexes.all(tenant))
    active = [space.signature for space in spaces if space.state == "active"]
    return sum([await holds(tenant, signature, erasure.removed.seqs) for signature in active])


async def _log(erasure: _Erasure) -> dict[str, Any]:
    """Free pages and the write-ahead log hold nothing."""
    ledger = erasure.parts.ledger
    if not isinstance(ledger, Copying) or not ledger.holds_files:
        return {"check": "log", "ok": True, "note": "the database sees to it"}
    try:
        emptied = await ledger.wipe()
    except MemstoneError as error:
        return _failed("log", error)
    hint = {} if emptied else {"hint": "another process reads an old snapshot; erase again when it has ended"}
    return {"check": "log", "ok": emptied, **hint}


async def _copies(erasure: _Erasure) -> dict[str, Any]:
    """Rewrite every copy Memstone made; one that is not where it was is named, and its restore would erase again."""
    parts, subject = erasure.parts, erasure.subject
    if not isinstance(parts.ledger, Copying):
        return {"check": "backups", "copies": [], "ok": True}
    known = await parts.ledger.read(lambda tx: tx.vault.copies(subject.tenant_id))

    async def work(tx: Tx) -> Look | None:
        found = await remove(tx, subject, erasure.note.created_at)
        await tx.erasure.rename_changes(subject)
        await tx.vault.note_erasures([erasure.note])
        return Pieces(pieces_of([*found.texts, *erasure.removed.texts])) if found.rows else None

    copies = await parts.ledger.rewrite(known, work, BackupSigner(await _known_key(parts)))
    unfinished = [one.path for one in known if not one.whole]
    await _forget(parts, [one for one in copies if one.state == "missing" and one.path in unfinished])
    reached = all(one.settled or one.state == "missing" for one in copies)
    return {"check": "backups", "copies": [_told(one) for one in copies], "ok": reached}


async def _known_key(parts: Parts) -> bytes | None:
    """The key of the store; where it cannot be had, copies are rewritten all the same, and are nobody's then."""
    try:
        return await parts.store_key.find()
    except ConfigError as error:
        log.warning("backups are rewritten without a signature: %s", error)
        return None


def _told(copy: Copy) -> dict[str, Any]:
    return {name: value for name, value in asdict(copy).items() if value}


async def _forget(parts: Parts, copies: Sequence[Copy]) -> None:
    async def work(tx: Tx) -> None:
        for one in copies:
            await tx.vault.forget_copy(WHOLE_STORE, one.path)

    if copies:
        await parts.ledger.write(work)


async def _rows(erasure: _Erasure) -> dict[str, Any]:
    left = await erasure.parts.ledger.read(lambda tx: tx.erasure.left(erasure.subject))
    return {"check": "rows", "left": left, "ok": not any(left.values())}


async def _files(erasure: _Erasure, look: Pieces) -> dict[str, Any]:
    """The raw bytes of every file are read and compared with pieces of what was erased."""
    ledger = erasure.parts.ledger
    if not isinstance(ledger, Copying) or not ledger.holds_files:
        return {"check": "files", "pieces": 0, "found": {}, "ok": True, "note": "the store has no files of its own"}
    try:
        found = await ledger.traces(look)
    except MemstoneError as error:
        return _failed("files", error)
    return {"check": "files", "pieces": look.count, "found": found, "ok": not any(found.values())}
