"""Whether there is room on the disk for a store to grow, and whether it can be written to at all."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from memstone.errors import StorageFull, StorageReadOnly

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TRIED_BYTES: Final = 65_536
_MEGABYTE: Final = 1_000_000


def refuse_full_disk(folder: Path, reserve_bytes: int) -> None:
    """Raise ``StorageFull`` if less is free than is reserved; a folder that cannot be looked at is left to others."""
    if not reserve_bytes:
        return
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    if free < reserve_bytes:
        raise StorageFull(
            f"{folder}: {free / _MEGABYTE:,.0f} MB are free, and {reserve_bytes / _MEGABYTE:,.0f} MB are reserved",
            hint="free some space or delete memories; store.reserve_mb says how much must stay free",
        )


def try_to_write(folder: Path) -> None:
    """Write a file that has no name and is gone at once; raise if the disk is full or cannot be written."""
    try:
        with TemporaryFile(dir=folder) as tried:
            tried.write(bytes(_TRIED_BYTES))  # through a buffer, which writes all of it or raises
            tried.flush()
    except OSError as error:
        kind = StorageFull if error.errno in _FULL else StorageReadOnly
        raise kind(f"{folder}: {error.strerror}") from error
