"""``backup``, ``verify_backup`` and ``restore_backup``.

What was erased stays erased: a store remembers its erasures without telling whose they were, and carries out again on
an older backup those that came after it. Who was shut out stays shut out: keys and accounts that the store knows stay
as they are now, and everybody has to log in again.

A backup is signed with the store's key, which is no part of it. One that is not is foreign: it is restored only on
request, and then without anything that lets somebody in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.core.access.store_key import FOREIGN, BackupSigner
from memstone.core.checks.arguments import checked_path
from memstone.engine.access.accounts import REMOVED
from memstone.engine.change.erase import Pieces, digest_erased_name, pieces_of
from memstone.engine.change.erase_rows import RemovedRows, remove_subject
from memstone.engine.request_scope import Progress
from memstone.engine.runtime import Runtime
from memstone.errors import Forbidden, InvalidInput, StorageReadOnly
from memstone.language.language import Language
from memstone.model.access import Account, ApiKey, StoredSecret
from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.erasure import WHOLE_STORE, ErasureRecord, KnownCopy, Subject
from memstone.ports.ledger import Tx
from memstone.ports.storage import Copy, CopyableLedger, Look, require_copying
from memstone.trace import log

if TYPE_CHECKING:
    from memstone.results import BackupRestore, BackupResult, BackupVerification

_FIELDS: Final = ("user_id", "agent_id", "run_id", "memory_id")


async def write_backup(runtime: Runtime, path: str | os.PathLike[str], progress: Progress | None) -> BackupResult:
    """Write everything into one file, while others go on writing."""
    ledger, value, now = _require_operator(runtime), _validate_path(path), runtime.now()
    signer = BackupSigner(await runtime.store_key.make())
    target = await runtime.io.run(lambda: _backup_file(value, now))
    before = await _register_backup(runtime, target, now)
    try:
        manifest = await ledger.backup(target, now, signer, _from_thread(runtime, progress))
        manifest = await _without_erased(runtime, ledger, target, before, signer) or manifest
    except BaseException:
        await _record_copies(runtime, before.copies, target)
        raise
    await _record_copies(runtime, [KnownCopy(str(target), now)], None)
    return cast("BackupResult", {"path": str(target), "key_place": runtime.store_key.place, **manifest})


async def rewrite_backups(runtime: Runtime) -> list[Copy]:
    """Rewrite every known backup, encrypted as the store is now.

    Return what happened to each.
    """
    ledger = _require_operator(runtime)
    signer = BackupSigner(await runtime.store_key.find())
    known = await runtime.ledger.read(lambda tx: tx.vault.copies(WHOLE_STORE))

    async def change_nothing(tx: Tx) -> Look:
        del tx
        return Pieces(())

    return await ledger.rewrite(known, change_nothing, signer, own=False)


async def verify_backup(runtime: Runtime, path: str | os.PathLike[str]) -> BackupVerification:
    """Return the manifest of a backup after everything in it was checked, and whether this store signed it.

    Raises ``Corrupted`` when something is wrong.
    """
    ledger, value = _require_operator(runtime), _validate_path(path)
    manifest = await ledger.inspect(value)
    signer = BackupSigner(await runtime.store_key.find())
    output = {"path": str(value), "ok": True, "origin": signer.origin(manifest), **manifest}
    return cast("BackupVerification", output)


def _from_thread(runtime: Runtime, progress: Progress | None) -> Progress | None:
    """Return the same for a ledger, which copies on a thread."""
    return None if progress is None else runtime.io.from_thread(progress)


async def restore_backup(
    runtime: Runtime, path: str | os.PathLike[str], progress: Progress | None, *, foreign: bool
) -> BackupRestore:
    """Put a backup in place of everything there is, in one step."""
    ledger, value, now = _require_operator(runtime), _validate_path(path), runtime.now()
    admission = _Admission(value, BackupSigner(await runtime.store_key.find()), foreign=_validate_flag(foreign))
    live = await runtime.ledger.read(_read_state)
    again = 0

    async def prepare(tx: Tx) -> bool:
        nonlocal again
        missing = await _find_missing_erasures(tx, live.erasures)
        await tx.vault.note_copies(WHOLE_STORE, live.copies)
        await _keep_access(tx, live)
        again = sum(one.rows > 0 for one in await _reapply_erasures(tx, runtime.language, missing, live.keys, now))
        return bool(again)

    manifest = await ledger.restore(value, admission, prepare, _from_thread(runtime, progress))
    await runtime.texts.forget(runtime.tenant_id)
    runtime.blocks.clear()
    output = {"path": str(value), "origin": admission.origin, **manifest, "erased_again": again}
    return cast("BackupRestore", output)


@dataclass(slots=True)
class _Admission:
    """Lets a backup in or refuses it, by the manifest of what is about to be restored."""

    path: Path
    signer: BackupSigner
    foreign: bool
    origin: str = ""

    def __call__(self, manifest: Mapping[str, Any]) -> str:
        self.origin = self.signer.origin(manifest)
        if self.origin == FOREIGN and not self.foreign:
            raise Forbidden(
                f"{self.path} is foreign: it was not signed with the key of this store",
                hint="install the key that signed it (see store.key), or restore it as foreign "
                "(`memstone restore --foreign`), without its keys, accounts and secrets",
            )
        return self.origin


def _validate_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"foreign must be True or False, not {value!r}"[:200])
    return value


def _require_operator(runtime: Runtime) -> CopyableLedger:
    """Return the ledger, for somebody who operates the whole store."""
    if runtime.bounds is not None:
        raise Forbidden(
            "a backup contains everybody's memories", hint="use a key that is not bound to a user or an agent"
        )
    return require_copying(runtime.ledger)


def _validate_path(path: object) -> Path:
    return checked_path(path, "the path of a backup").absolute()


def _backup_file(path: Path, now: Instant) -> Path:
    """Return the file of a backup; a folder gets one of its own for every backup."""
    stamp = now[:19].replace("-", "").replace(":", "")
    return path / f"memstone-{stamp}Z.backup" if path.is_dir() else path


# --- what a store knows of itself -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _State:
    """The keys, erasures and copies of a store at one moment, and who has access to it."""

    keys: Mapping[str, bytes]
    erasures: list[ErasureRecord]
    copies: list[KnownCopy]
    secrets: list[tuple[str, str, StoredSecret]]
    callers: list[ApiKey]
    accounts: list[Account]


async def _read_state(tx: Tx) -> _State:
    vault = tx.vault
    known = (await vault.keys(), await vault.erasures(), await vault.copies(WHOLE_STORE))
    return _State(*known, await vault.secrets(), await tx.api_keys.every(), await tx.accounts.every())


async def _keep_access(tx: Tx, live: _State) -> None:
    """Keep the current keys, passwords and accounts.

    An older backup does not know which were revoked since.
    """
    await tx.vault.put_secrets(live.secrets)
    for tenant, name, _ in live.secrets:
        if name.startswith(REMOVED):
            await tx.accounts.remove(tenant, name.removeprefix(REMOVED))
    for key in live.callers:
        await tx.api_keys.put(key)
    for account in live.accounts:
        namesake = await tx.accounts.find_by_login(account.tenant_id, account.login)
        if namesake is not None and namesake.id != account.id:
            await tx.accounts.remove(namesake.tenant_id, namesake.id)
        await tx.accounts.put(account)
    await tx.accounts.end_every()


async def _register_backup(runtime: Runtime, target: Path, now: Instant) -> _State:
    """Remember that a copy is being written: after a crash, who erases somebody looks for what is left of it."""
    state = await runtime.ledger.read(_read_state)
    state.copies = [one for one in state.copies if one.path == str(target)]
    await _record_copies(runtime, [KnownCopy(str(target), now, is_complete=False)], None)
    return state


async def _record_copies(runtime: Runtime, copies: Sequence[KnownCopy], gone: Path | None) -> None:
    """Put copies on the list, in place of one that is gone; a store that cannot be written keeps none."""

    async def work(tx: Tx) -> None:
        if gone is not None:
            await tx.vault.forget_copy(WHOLE_STORE, str(gone))
        await tx.vault.note_copies(WHOLE_STORE, copies)

    with suppress(StorageReadOnly):
        await runtime.ledger.write(work)


async def _without_erased(
    runtime: Runtime, ledger: CopyableLedger, target: Path, before: _State, signer: BackupSigner
) -> dict[str, Any] | None:
    """Erase in a new backup who was erased while it was written; return its manifest then."""
    known = {(one.tenant_id, one.id) for one in before.erasures}
    state = await runtime.ledger.read(_read_state)
    late = [one for one in state.erasures if (one.tenant_id, one.id) not in known]
    if not late:
        return None
    now = runtime.now()

    async def work(tx: Tx) -> Look | None:
        removed = await _reapply_erasures(tx, runtime.language, await _find_missing_erasures(tx, late), state.keys, now)
        texts = [text for one in removed for text in one.texts]
        return Pieces(pieces_of(texts)) if any(one.rows for one in removed) else None

    (copy,) = await ledger.rewrite([KnownCopy(str(target), now)], work, signer, own=False)
    if not copy.is_settled:
        log.warning(
            "data was erased while %s was being written, and it could not be rewritten: %s", target, copy.reason
        )
    return await ledger.inspect(target)


async def _find_missing_erasures(tx: Tx, erasures: Sequence[ErasureRecord]) -> list[ErasureRecord]:
    """Return the erasures that a copy does not know of: they came after it."""
    known = {(one.tenant_id, one.id) for one in await tx.vault.erasures()}
    return [one for one in erasures if (one.tenant_id, one.id) not in known]


async def _reapply_erasures(
    tx: Tx, language: Language, erasures: Sequence[ErasureRecord], keys: Mapping[str, bytes], at: Instant
) -> list[RemovedRows]:
    """Erase again; return what each removed."""
    removed: list[RemovedRows] = []
    for one in erasures:
        subject = await _identify_subject(tx, one, keys.get(one.tenant_id, b""))
        if subject is not None:
            removed.append(await remove_subject(tx, language, subject, at))
            await tx.erasure.rebuild()
            await tx.erasure.rename_changes(subject)
    await tx.vault.note_erasures(erasures)
    return removed


async def _identify_subject(tx: Tx, one: ErasureRecord, key: bytes) -> Subject | None:
    """Return whom an erasure was about, if a copy names them."""
    names: dict[str, str] = {}
    for field in _FIELDS:
        wanted = getattr(one, field)
        if not wanted:
            continue
        matching = [
            name
            for name in await tx.erasure.names(one.tenant_id, field)
            if digest_erased_name(key, field, name) == wanted
        ]
        if not matching:
            return None
        names[field] = matching[0]
    memory_id = names.pop("memory_id", "")
    return Subject(Scope(one.tenant_id, **names), memory_id) if names or memory_id else None
