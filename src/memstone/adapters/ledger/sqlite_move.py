"""Move a SQLite store, with everything that lies beside it, to another place on this machine."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from memstone.adapters.ledger.migrate import APPLICATION_ID, FORMER_ID
from memstone.errors import Conflict, Corrupted, NotFoundError, StorageBusy

_PATIENCE: Final = 2.0


def move_store(source: Path, target: Path) -> list[Path]:
    """Move a store that nobody has open; returns the new paths, the store's own first."""
    if not source.is_file():
        raise NotFoundError(f"there is no store at {source}")
    if target.exists():
        raise Conflict(f"there is a store at {target} already", hint="`memstone copy` puts one store into another")
    _take_in_log(source)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = sorted([*source.parent.glob(f"{source.name}.before-*"), *source.parent.glob(f"{source.name}.key")])
    # What lies beside goes first: if the power fails in between, the store is still found where it was.
    moved = [_move(path, target.with_name(target.name + path.name[len(source.name) :])) for path in beside]
    return [_move(source, target), *moved]


def _take_in_log(path: Path) -> None:
    """Bring everything from the log into the file, which takes that nobody else has it open."""
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as database:
            if database.execute("PRAGMA application_id").fetchone()[0] not in (APPLICATION_ID, FORMER_ID):
                raise Corrupted(f"{path} was not made by Memstone", hint="choose another file")
            database.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        raise StorageBusy(f"{path} is in use: {error}", hint="stop the program that has it open") from error
    except sqlite3.DatabaseError as error:
        raise Corrupted(f"{path} is damaged: {error}", hint="restore a backup") from error


def _move(source: Path, target: Path) -> Path:
    shutil.move(source, target)
    return target
