"""What the raw bytes of a SQLite store hold that no row of it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.ledger.sqlite_connection import Connection
from memstone.ports.storage import Look

_READ: Final = 4 << 20
_ROWS: Final = 1_000
_LOCKED: Final = os.name == "posix"
_held: Final[dict[tuple[int, int], int]] = {}
_holding: Final = ForkSafeLock()


def traces(connection: Connection, files: Mapping[str, Iterable[bytes]], look: Look) -> dict[str, int]:
    """How many pieces each file holds, but for those that stand in a row: somebody else may have said the same."""
    found = {name: _found(parts, look) for name, parts in files.items()}
    if any(found.values()):
        kept = _found(_texts(connection), look)
        found = {name: pieces - kept for name, pieces in found.items()}
    return {name: len(pieces) for name, pieces in found.items()}


def _found(parts: Iterable[bytes], look: Look) -> set[bytes]:
    return {piece for part in parts for piece in look(part)}


def blocks(path: Path, overlap: int) -> Iterator[bytes]:
    """A file in parts, each of which begins with the end of the one before."""
    before = b""
    with path.open("rb") as file:
        while block := file.read(_READ):
            part = before + block
            yield part
            before = part[-overlap:] if overlap else b""


def live_blocks(path: Path, overlap: int) -> Iterator[bytes]:
    """The same of a database that this process has open.

    On POSIX, closing a descriptor of a file takes every lock that the process has on it, SQLite's too: the next process
    would believe itself alone and take the log away under us. So this descriptor stays open while there is a file.
    """
    if not _LOCKED:
        yield from blocks(path, overlap)
        return
    file, at, before = _descriptor(path), 0, b""
    while block := os.pread(file, _READ, at):
        part = before + block
        yield part
        at, before = at + len(block), part[-overlap:] if overlap else b""


def _descriptor(path: Path) -> int:
    with _holding:
        for gone in [one for one, file in _held.items() if not os.fstat(file).st_nlink]:
            os.close(_held.pop(gone))  # its file was removed: nobody can open it, and its room is wanted
        about = path.stat()
        which = about.st_dev, about.st_ino
        if which not in _held:
            _held[which] = os.open(path, os.O_RDONLY)
        return _held[which]


def _texts(connection: Connection) -> Iterator[bytes]:
    """Every text that a row holds."""
    for (table,) in connection.raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = connection.raw.execute(f'SELECT * FROM "{table}"')
        while page := rows.fetchmany(_ROWS):
            yield "\n".join(value for row in page for value in row if isinstance(value, str)).encode()
