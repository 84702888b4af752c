"""The archive of a backup: files that a ledger wrote, and a manifest that lists them.

Nothing is compressed, so that a look at the raw bytes tells what the file holds. The manifest is written last and an
archive is read from its end, so a file that was cut short is not one; and it gets its name only when it is whole and on
disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from memstone.errors import Corrupted, InvalidInput, SchemaTooNew, StorageError
from memstone.ports.storage import FORMAT, FORMATS, VERSION, Signer

_MANIFEST: Final = "manifest.json"
_BLOCK: Final = 1 << 20
_ONLY_ME: Final = 0o600
_NEVER: Final = (1980, 1, 1, 0, 0, 0)
"""The time an archive gives its parts; the manifest says when it was made."""


def write_archive(
    target: Path, parts: Mapping[str, Path], about: Mapping[str, Any], signer: Signer | None
) -> dict[str, Any]:
    """Write an archive in place of an older one; return its manifest, which is signed where there is a signer."""
    with _open_atomic_file(target) as file, zipfile.ZipFile(file, "w") as archive:
        written = {name: _write_part(archive, name, source) for name, source in parts.items()}
        manifest = {"format": FORMAT, "version": VERSION, **about, "files": written}
        manifest = manifest if signer is None else signer.sign(manifest)
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _NEVER), json.dumps(manifest, indent=2, sort_keys=True) + "\n")
    return manifest


@contextmanager
def _open_atomic_file(target: Path) -> Iterator[IO[bytes]]:
    """Yield a file that gets its name when all is written and on disk."""
    part = target.with_name(f"{target.name}.part-{os.urandom(4).hex()}-{os.getpid()}")
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, _ONLY_ME), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def open_staging_folder(beside: Path) -> Iterator[Path]:
    """Yield a folder for what is not finished, on the same disk as a file, that nobody else may look into."""
    folder = Path(tempfile.mkdtemp(prefix=f"{beside.name}.staged-", suffix=f"-{os.getpid()}", dir=beside.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Let a new name survive a power cut, where the system can do that for folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_part(archive: zipfile.ZipFile, name: str, source: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as file, archive.open(zipfile.ZipInfo(name, _NEVER), "w", force_zip64=True) as out:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
            out.write(block)
    return {"bytes": size, "sha256": digest.hexdigest()}


def is_backup(path: Path) -> bool:
    """Return whether a file is a backup, or at least one whose manifest can be read."""
    try:
        manifest_of(path)
    except (Corrupted, InvalidInput, OSError):
        return False
    return True


def manifest_of(path: Path) -> dict[str, Any]:
    """Return what an archive says of itself."""
    with _open_archive(path) as archive:
        return _read_manifest(path, archive)


def manifest_for(path: Path, store: str, latest: int) -> dict[str, Any]:
    """Return the same of a backup that a store of this kind and schema can put back."""
    manifest = manifest_of(path)
    if manifest.get("store") != store:
        raise Corrupted(
            f"{path} is a backup of another kind of store: {manifest.get('store')}",
            hint="restore it into that kind of store; `memstone copy` converts one kind into the other",
        )
    known = manifest.get("schema")
    if not isinstance(known, int) or known > latest:
        raise SchemaTooNew(
            f"{path} has schema {known}, this version of Memstone knows up to {latest}", hint="upgrade Memstone"
        )
    return manifest


def extract_archive(path: Path, folder: Path, names: frozenset[str]) -> dict[str, Any]:
    """Put the parts of an archive into a folder, each checked against the manifest; return the manifest."""
    with _open_archive(path) as archive:
        manifest = _read_manifest(path, archive)
        if manifest["files"].keys() != names:
            raise Corrupted(
                f"{path} does not contain what a backup of this store should", hint="check that Memstone made it"
            )
        for name, promised in manifest["files"].items():
            _extract_part(path, archive, name, promised, folder / name)
    return manifest


def _extract_part(path: Path, archive: zipfile.ZipFile, name: str, promised: Mapping[str, Any], target: Path) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        with archive.open(name) as source, os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT, _ONLY_ME), "wb") as out:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
                out.write(block)
    except (KeyError, EOFError, zipfile.BadZipFile) as error:
        raise Corrupted(f"{path} is damaged: {name}: {error}", hint="use another backup") from error
    if {"bytes": size, "sha256": digest.hexdigest()} != {key: promised.get(key) for key in ("bytes", "sha256")}:
        raise Corrupted(f"{path} is damaged: {name} does not match the manifest", hint="use another backup")


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    if not path.is_file():
        raise InvalidInput(f"there is no backup at {path}")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise Corrupted(f"{path} is not a complete backup: {error}", hint="use another backup") from error
    with archive:
        yield archive


def _read_manifest(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        manifest = json.loads(archive.read(_MANIFEST))
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise Corrupted(f"{path} has no readable manifest", hint="check that Memstone made it") from error
    if not isinstance(manifest, dict) or manifest.get("format") not in FORMATS or not _is_whole(manifest.get("files")):
        raise Corrupted(f"{path} is not a Memstone backup", hint="use `memstone import` for other files")
    if manifest.get("version") != VERSION:
        raise StorageError(
            f"{path} is a backup in a newer format, version {manifest.get('version')!r}", hint="upgrade Memstone"
        )
    return manifest


def _is_whole(files: object) -> bool:
    return isinstance(files, dict) and all(isinstance(one, dict) for one in files.values())


def unfinished_beside(path: Path) -> list[Path]:
    """Return what somebody is writing, or was."""
    folder, name = path.parent, path.name
    return [*folder.glob(f"{name}.part-*"), *folder.glob(f"{name}.staged-*")] if folder.is_dir() else []


def left_over(folder: Path, name: str) -> list[Path]:
    """Return files that ended processes left beside a store.

    The number of a process ends the name of its files.
    """
    found = unfinished_beside(folder / name)
    return [path for path in found if (number := path.name.rpartition("-")[2]).isdigit() and not _is_alive(int(number))]


def _is_alive(process: int) -> bool:
    if process == os.getpid() or os.name == "nt":  # where asking would be a signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def remove_path(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
