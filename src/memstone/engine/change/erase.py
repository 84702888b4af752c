"""``erase``: remove everything of a subject from tables, indexes, caches, files and backups.

First the rows go, in one transaction. Then whatever follows the ledger is made to follow it, the file is written again,
and the copies Memstone has made are rewritten. At last everything is looked at again. Each step may be done twice:
after a crash the same call finishes what was begun.

Several tenants may share a file. What one of them erases holds the others up as briefly as can be: the rows go in one
short transaction, the full text follows in small steps, and writing the file again waits until it is quiet.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.core.access.store_key import BackupSigner
from memstone.engine.change.erase_rows import (
    ErasureProgress,
    RemovedRows,
    compact_store,
    compact_when_quiet,
    compacted_since,
    inspect_subject,
    remove_batch,
    remove_subject,
)
from memstone.engine.request_scope import Progress, report_progress
from memstone.engine.runtime import Runtime
from memstone.engine.store.versions import checked_id, under_id
from memstone.errors import BackendError, ConfigError, Corrupted, InvalidInput, MemstoneError, ScopeError
from memstone.model.former_name import FORMER_NAME, formats_of
from memstone.model.ids import new_id
from memstone.model.instant import Instant, parse_when
from memstone.model.scope import NO_SCOPE, Scope
from memstone.ports.erasure import WHOLE_STORE, ErasureRecord, Subject
from memstone.ports.ledger import Tx, Work
from memstone.ports.storage import Beyond, Copy, CopyableLedger, Look
from memstone.trace import log, log_event

if TYPE_CHECKING:
    from memstone.results import (
        BackupErasure,
        ErasureCheck,
        ErasureCounts,
        ErasurePreview,
        ErasureReport,
        ErasureSubject,
        ErasureVerification,
    )

# --- the report of an erasure -----------------------------------------------------------------------------------------


FORMAT: Final = "memstone-erasure"
FORMATS: Final = formats_of("erasure")
VERSION: Final = 1
_SEALS: Final = ("sha256", "hmac")
_NAMES: Final = ("user_id", "agent_id", "run_id", "memory_id")
_PURPOSE: Final = "{name} erasure report 1\n"
"""What a seal is for; a report of the former name is sealed under that name."""


def describe_subject(subject: Subject) -> ErasureSubject:
    """Return whom and what an erasure was about."""
    return cast("ErasureSubject", _subject_ids(subject))


def _subject_ids(subject: Subject) -> dict[str, str]:
    who = subject.scope
    values = zip(_NAMES, (who.user_id, who.agent_id, who.run_id, subject.memory_id), strict=True)
    return {name: value for name, value in values if value}


def seal_report(report: ErasureReport, key: bytes) -> ErasureReport:
    """Return a report with its digest, and with a seal that only who has the store's key can make."""
    written = _canonical_bytes(report)
    return {**report, "sha256": hashlib.sha256(written).hexdigest(), "hmac": _compute_seal(written, key, FORMAT)}


def digest_erased_name(key: bytes, field: str, value: str) -> str:
    """Return a name as the list of erasures keeps it: it can be recognised with the key, and told by nobody."""
    # Under the former name: what is listed was written so, and has to be recognised.
    return (
        hmac.new(key, f"{FORMER_NAME} erased {field} 1\n{value}".encode(), hashlib.sha256).hexdigest() if value else ""
    )


async def verify_report(runtime: Runtime, report: Mapping[str, Any]) -> ErasureVerification:
    """Return whether a report is what this store wrote, and whether anything from before it has come back."""
    subject, until = _parse_report(runtime, report)
    written = _canonical_bytes(report)
    keys = await runtime.ledger.read(lambda tx: tx.vault.keys())
    key = keys.get(runtime.tenant_id, b"")
    is_complete = hmac.compare_digest(str(report["sha256"]), hashlib.sha256(written).hexdigest())
    ours = bool(key) and hmac.compare_digest(str(report["hmac"]), _compute_seal(written, key, str(report["format"])))
    left = await runtime.ledger.read(lambda tx: tx.erasure.count_rows(subject, until))
    passed, beyond = await _is_passed(runtime, report), list(report.get("not_looked_at") or ())
    return {
        "ok": is_complete and ours and not any(left.values()) and passed,
        "unchanged": is_complete,
        "sealed_by_this_store": ours,
        "complete": passed and not beyond,
        "not_looked_at": beyond,
        "left": {table: count for table, count in left.items() if count},
        "subject": describe_subject(subject),
    }


def is_pending(checks: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether checks are not passed, and all that is missing will be done without anybody's doing."""
    failed = [check for check in checks if not check.get("ok")]
    return bool(failed) and all(check.get("pending") is True for check in failed)


async def _is_passed(runtime: Runtime, report: Mapping[str, Any]) -> bool:
    """Return whether every check was passed, or what was still to be done has been done since."""
    checks = report.get("checks")
    if not isinstance(checks, list) or not all(isinstance(check, Mapping) for check in checks):
        return report["complete"] is True
    if is_pending(checks):
        failed = {check.get("check") for check in checks if not check.get("ok")}
        followed = "graph" not in failed or await _has_graph_followed(runtime)
        at = parse_when(report["created_at"], "created_at")
        return followed and (failed == {"graph"} or await compacted_since(runtime, at))
    return all(check.get("ok") is True for check in checks)


async def _has_graph_followed(runtime: Runtime) -> bool:
    """Return whether a graph database has seen everything that happened, or is used no more."""
    if runtime.graph is None:
        return True
    try:
        return not await runtime.graph.count_pending(runtime.tenant_id)
    except BackendError:
        return False


def _parse_report(runtime: Runtime, report: Mapping[str, Any]) -> tuple[Subject, str]:
    if not isinstance(report, Mapping) or report.get("format") not in FORMATS:
        raise InvalidInput("this is not an erasure report", hint="pass what `erase` returned, or its JSON")
    if report.get("version") != VERSION:
        raise InvalidInput(f"unknown report version {report.get('version')!r}", hint="upgrade Memstone")
    about = report.get("subject")
    if not isinstance(about, Mapping) or not all(name in report for name in (*_SEALS, "created_at", "complete")):
        raise InvalidInput("the report is incomplete: a part of it is missing")
    who = {name: about.get(name) for name in _NAMES[:3]}
    subject = Subject(Scope.of(**who, tenant_id=runtime.tenant_id), str(about.get("memory_id") or ""))
    if subject.scope.is_open and not subject.memory_id:
        raise InvalidInput("the report does not say what was erased")
    return subject, parse_when(report["created_at"], "created_at")


def _canonical_bytes(report: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed; the same however the JSON was written."""
    answer = {name: value for name, value in report.items() if name not in _SEALS}
    return json.dumps(answer, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _compute_seal(written: bytes, key: bytes, form: str) -> str:
    purpose = _PURPOSE.format(name=form.partition("-")[0]).encode()
    return hmac.new(key, purpose + written, hashlib.sha256).hexdigest()


# --- looking for pieces of erased text in raw bytes -------------------------------------------------------------------


_SHORTEST: Final = 12
"""A shorter text says too little to be recognised by."""

_PIECE: Final = 32
_APART: Final = 512
"""Long texts lie on several pages of a file, so a piece is taken from every part of one."""

_HEAD: Final = 8
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z\Z")
"""Times say nothing of anybody, and stand everywhere."""


def pieces_of(texts: Iterable[str]) -> set[bytes]:
    """Return what to look for: short enough to lie on one page, long enough to be told from anything else."""
    found: set[bytes] = set()
    for text in texts:
        if _MOMENT.match(text):
            continue
        data = text.encode("utf-8", "ignore")
        if len(data) >= _SHORTEST:
            starts = [*range(0, len(data), _APART), len(data) - _PIECE]
            found |= {data[max(0, at) : max(0, at) + _PIECE] for at in starts}
    return {piece for piece in found if len(piece) >= _SHORTEST}


class Pieces:
    """See ``memstone.ports.storage.Look``.

    Every place is asked, two bytes at a time, whether any piece begins like this; the few that are left are compared.
    So the number of pieces hardly matters.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        import numpy as np

        self._by_head: dict[bytes, dict[int, set[bytes]]] = {}
        for piece in pieces:
            self._by_head.setdefault(piece[:_HEAD], {}).setdefault(len(piece), set()).add(piece)
        self._tables: list[Any] = []
        for at in range(0, _HEAD, 2):
            table = np.zeros(1 << 16, dtype=bool)
            table[[int.from_bytes(head[at : at + 2], "little") for head in self._by_head]] = True
            self._tables.append(table)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(same) for by_length in self._by_head.values() for same in by_length.values())

    @property
    def overlap(self) -> int:
        """So many bytes a next part must repeat."""
        return _PIECE - 1

    def __call__(self, part: bytes) -> set[bytes]:
        """Return the pieces that occur in it."""
        import numpy as np

        if len(part) < _HEAD or not self._by_head:
            return set()
        wide = np.frombuffer(part, dtype=np.uint8).astype(np.uint16)
        pairs = wide[:-1] | (wide[1:] << 8)
        places = np.flatnonzero(self._tables[0][pairs[: len(part) - _HEAD + 1]])
        for number, table in enumerate(self._tables[1:], start=1):
            places = places[table[pairs[places + 2 * number]]]
        found: set[bytes] = set()
        for at in places.tolist():
            for length, same in self._by_head.get(part[at : at + _HEAD], {}).items():
                if (piece := part[at : at + length]) in same:
                    found.add(piece)
        return found


# --- ``erase`` --------------------------------------------------------------------------------------------------------


_STEPS: Final = 6
_MERGE_STEPS: Final = 100_000
KEY_BYTES: Final = 32


@dataclass(slots=True)
class _ErasureRun:
    """An erasure under way."""

    runtime: Runtime
    subject: Subject
    note: ErasureRecord
    key: bytes
    removed: RemovedRows
    progress: Progress | None
    done: int = 0

    @property
    def by_operator(self) -> bool:
        """Whether the tenant erases that runs the store; any other one is a guest in it."""
        return self.runtime.tenant_id == self.runtime.home_tenant

    async def step(self) -> None:
        """Say that a step is done."""
        self.done += 1
        await report_progress(self.progress, self.done, _STEPS)


async def erase_subject(
    runtime: Runtime, values: Mapping[str, Any], memory_id: str | None, progress: Progress | None
) -> ErasureReport | ErasurePreview:
    """Erase a scope, or one memory; return the sealed report, or for a dry run what would go."""
    subject = await _as_stored(runtime, _resolve_subject(runtime, values, memory_id))
    now, number, fresh = runtime.now(), new_id(), secrets.token_bytes(KEY_BYTES)

    async def write_erasure_note(tx: Tx) -> tuple[bytes, ErasureRecord]:
        key = await tx.vault.key(runtime.tenant_id, fresh, now)
        note = erased_note(
            subject, key, number, runtime.now()
        )  # what was asked while this waited for its turn is before
        await tx.vault.note_erasures([note])
        return key, note

    async def rows(tx: Tx) -> tuple[bytes, ErasureRecord, RemovedRows]:
        return *await write_erasure_note(tx), await remove_subject(tx, runtime.language, subject, now, begun)

    ledger = runtime.ledger
    begun = (
        await _remove_in_batches(runtime, ledger, subject, write_erasure_note)
        if isinstance(ledger, CopyableLedger) and ledger.holds_files
        else None
    )
    key, note, removed = await (ledger.remove(rows) if isinstance(ledger, CopyableLedger) else ledger.write(rows))
    if runtime.dry_run:
        return {"dry_run": True, "subject": describe_subject(subject), **_format_counts(removed)}
    under_way = _ErasureRun(runtime, subject, note, key, removed, progress)
    await under_way.step()
    return await _finish_erasure(under_way)


async def _remove_in_batches(
    runtime: Runtime, ledger: CopyableLedger, subject: Subject, noted: Work[Any]
) -> ErasureProgress | None:
    """Remove most of a large subject in batches, and leave others as much time to write as each of them took."""
    begun = await runtime.ledger.read(lambda tx: inspect_subject(tx, subject))
    batches = list(begun.batches())
    if batches:
        await runtime.ledger.write(noted)  # should it break off, a later restore still knows
    for ids in batches:
        began = monotonic()
        begun.counts.update(await ledger.remove(partial(remove_batch, subject=subject, ids=ids)))
        await runtime.io.sleep(monotonic() - began)
    return begun if batches else None


def _resolve_subject(runtime: Runtime, values: Mapping[str, Any], memory_id: str | None) -> Subject:
    scope = runtime.scope(values)
    if scope.is_open and memory_id is None:
        raise ScopeError(NO_SCOPE, hint="or name one memory by its id")
    return Subject(scope, "" if memory_id is None else checked_id(memory_id))


async def _as_stored(runtime: Runtime, subject: Subject) -> Subject:
    """Return it with the id as the store writes it: one that is only spelled otherwise would be called gone."""
    if not subject.memory_id:
        return subject
    try:
        found = await runtime.ledger.read(lambda tx: under_id(tx.memories.last, runtime.tenant_id, subject.memory_id))
    except Corrupted:  # its text is damaged: then it is erased under the id that is given
        return subject
    return subject if found is None else replace(subject, memory_id=found.id)


def erased_note(subject: Subject, key: bytes, number: str, at: Instant) -> ErasureRecord:
    """Return what the store remembers of an erasure."""
    names = {name: digest_erased_name(key, name, value) for name, value in _subject_ids(subject).items()}
    return ErasureRecord(subject.tenant_id, number, at, **names)


async def _finish_erasure(erasure: _ErasureRun) -> ErasureReport:
    """Return what comes after the rows; where something fails it is told, because they are gone already."""
    checks: list[ErasureCheck | None] = [await _erase_from_indexes(erasure), await _erase_from_graph(erasure)]
    await erasure.step()
    _clear_caches(erasure.runtime)
    look = Pieces(pieces_of(erasure.removed.texts))
    checks.append(await _erase_from_log(erasure))
    await erasure.step()
    checks.append(await _rewrite_copies(erasure))
    await erasure.step()
    checks.append(await _check_rows(erasure))
    await erasure.step()
    checks += await _check_files(erasure, look)
    await erasure.step()
    return _build_report(erasure, [check for check in checks if check])


def _format_counts(removed: RemovedRows) -> ErasureCounts:
    erased = {table: count for table, count in sorted(removed.counts.items()) if count}
    return {"erased": erased, "rewritten": removed.rewritten, "kept_for_others": removed.retained_count}


def _build_report(erasure: _ErasureRun, checks: Sequence[ErasureCheck]) -> ErasureReport:
    ledger = erasure.runtime.ledger
    beyond = ledger.beyond if isinstance(ledger, CopyableLedger) else Beyond()
    report: ErasureReport = {
        "format": FORMAT,
        "version": VERSION,
        "id": erasure.note.id,
        "tenant_id": erasure.subject.tenant_id,
        "subject": describe_subject(erasure.subject),
        "created_at": erasure.note.created_at,
        **_format_counts(erasure.removed),
        "checks": list(checks),
        "complete": all(check["ok"] for check in checks) and not beyond.places,
        "pending": is_pending(checks),
        "not_looked_at": list(beyond.places),
        "to_finish": list(beyond.commands),
        "sha256": "",
        "hmac": "",
    }
    return seal_report(report, erasure.key)


def _clear_caches(runtime: Runtime) -> None:
    """Clear what this process remembers; other processes see by the change counter that they must look again."""
    runtime.embedding.forget(runtime.tenant_id)
    runtime.tunings.invalidate(runtime.tenant_id)
    runtime.blocks.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("memstone."):
            _forget_calls(vars(module).values())


def _forget_calls(values: Iterable[object]) -> None:
    """Clear what functions remember of texts they were given; one that remembers without limit was given none."""
    for value in list(values):
        parameters = getattr(value, "cache_parameters", None)
        if parameters is not None and parameters()["maxsize"] is not None:
            value.cache_clear()  # type: ignore[attr-defined]


# --- each gives what it looked at, and whether that is as it should be ------------------------------------------------


def _failed_check(check: str, error: MemstoneError) -> ErasureCheck:
    return {"check": check, "ok": False, "error": error.as_dict()}


async def _erase_from_indexes(erasure: _ErasureRun) -> ErasureCheck:
    """Drop indexes in this process, let a store of vectors outside follow; then nobody needs the name any more."""
    runtime, tenant = erasure.runtime, erasure.subject.tenant_id
    try:
        await runtime.texts.forget(tenant)
        await _merge_words(runtime)
        left = await _count_remaining_points(erasure)
        await runtime.ledger.write(lambda tx: tx.erasure.rename_changes(erasure.subject))
    except MemstoneError as error:
        return _failed_check("indexes", error)
    return {"check": "indexes", "points_left": left, "ok": not left}


async def _erase_from_graph(erasure: _ErasureRun) -> ErasureCheck | None:
    """Let a graph database follow; one that does not answer follows by itself when it does."""
    graph, tenant = erasure.runtime.graph, erasure.subject.tenant_id
    if graph is None:
        return None
    try:
        await graph.catch_up(tenant)
        left = await graph.count_traces(tenant, erasure.removed.seqs)
    except MemstoneError as error:
        return {**_failed_check("graph", error), "pending": True}
    return {"check": "graph", "entities_left": left, "ok": not left}


async def _merge_words(runtime: Runtime) -> None:
    """Let the full text forget what was taken out, in transactions so small that others find their turn in between."""
    first = True
    for _ in range(_MERGE_STEPS):
        if not await runtime.ledger.write(partial(_merge_step, first=first)):
            return
        first = False


async def _merge_step(tx: Tx, *, first: bool) -> bool:
    return await tx.erasure.merge_words(first=first)


async def _count_remaining_points(erasure: _ErasureRun) -> int:
    runtime, tenant = erasure.runtime, erasure.subject.tenant_id
    holds = getattr(runtime.index, "holds", None)
    if holds is None:
        await runtime.index.forget(tenant)
        return 0
    spaces = await runtime.ledger.read(lambda tx: tx.indexes.all(tenant))
    active = [space.signature for space in spaces if space.state == "active"]
    return sum([await holds(tenant, signature, erasure.removed.seqs) for signature in active])


async def _erase_from_log(erasure: _ErasureRun) -> ErasureCheck | None:
    """Empty the write-ahead log and, for whoever operates the store, free pages."""
    runtime = erasure.runtime
    if not isinstance(runtime.ledger, CopyableLedger) or not runtime.ledger.holds_files:
        return None
    try:
        emptied = await (compact_store(runtime) if erasure.by_operator else runtime.ledger.empty_log())
    except MemstoneError as error:
        return _failed_check("log", error)
    if emptied:
        return {"check": "log", "ok": True}
    hint = "another process is reading an old snapshot; erase again when it has finished"
    return {"check": "log", "ok": False, "hint": hint}


async def _rewrite_copies(erasure: _ErasureRun) -> ErasureCheck:
    """Rewrite every copy that Memstone made.

    A missing one is named in the report; restoring it would erase again.
    """
    runtime, subject = erasure.runtime, erasure.subject
    if not isinstance(runtime.ledger, CopyableLedger):
        return {"check": "backups", "copies": [], "ok": True}
    known = await runtime.ledger.read(lambda tx: tx.vault.copies(subject.tenant_id))

    async def work(tx: Tx) -> Look | None:
        found = await remove_subject(tx, runtime.language, subject, erasure.note.created_at)
        await tx.erasure.rebuild()
        await tx.erasure.rename_changes(subject)
        await tx.vault.note_erasures([erasure.note])
        return Pieces(pieces_of([*found.texts, *erasure.removed.texts])) if found.rows else None

    copies = await runtime.ledger.rewrite(known, work, BackupSigner(await _known_key(runtime)))
    unfinished = [one.path for one in known if not one.is_complete]
    await _forget_copies(runtime, [one for one in copies if one.state == "missing" and one.path in unfinished])
    reached = all(one.is_settled or one.state == "missing" for one in copies)
    lines = [_describe_copy(one, with_path=erasure.by_operator) for one in copies]
    return {"check": "backups", "copies": lines, "ok": reached}


async def _known_key(runtime: Runtime) -> bytes | None:
    """Return the key of the store; where it cannot be had, copies are rewritten all the same, and are nobody's then."""
    try:
        return await runtime.store_key.find()
    except ConfigError as error:
        log.warning("rewriting backups without a signature: %s", error)
        return None


def _describe_copy(copy: Copy, *, with_path: bool) -> BackupErasure:
    """Return what became of a copy. Where it lies is the operator's business; a tenant is told how it is."""
    if not copy.is_settled:
        log_event("erasure.copy", logging.WARNING, path=copy.path, state=copy.state, reason=copy.reason)
    visible: BackupErasure = {"state": copy.state}
    if with_path:
        visible["path"] = copy.path
        if copy.reason:
            visible["reason"] = copy.reason
    if copy.found:
        visible["found"] = copy.found
    return visible


async def _forget_copies(runtime: Runtime, copies: Sequence[Copy]) -> None:
    async def work(tx: Tx) -> None:
        for one in copies:
            await tx.vault.forget_copy(WHOLE_STORE, one.path)

    if copies:
        await runtime.ledger.write(work)


async def _check_rows(erasure: _ErasureRun) -> ErasureCheck:
    left = await erasure.runtime.ledger.read(lambda tx: tx.erasure.count_rows(erasure.subject))
    return {"check": "rows", "left": left, "ok": not any(left.values())}


async def _check_files(erasure: _ErasureRun, look: Pieces) -> list[ErasureCheck]:
    """Return the raw bytes of every file are read and compared with pieces of what was erased."""
    runtime = erasure.runtime
    if not isinstance(runtime.ledger, CopyableLedger) or not runtime.ledger.holds_files:
        return []
    try:
        found = await runtime.ledger.traces(look)
    except MemstoneError as error:
        return [_failed_check("files", error)]
    check: ErasureCheck = {
        "check": "files",
        "pieces": look.count,
        "found": found,
        "ok": not any(found.values()),
    }
    if erasure.by_operator:
        return [check]
    check["found"] = {"files": sum(found.values())}  # what they are called is the operator's business
    compact_when_quiet(runtime)
    hint = "the file is rewritten when it is idle; `verify_erasure` shows when that is done"
    if not check["ok"]:
        check["pending"], check["hint"] = True, hint
    return [check, {"check": "free space", "ok": False, "pending": True, "hint": hint}]
