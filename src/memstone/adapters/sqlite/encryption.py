"""Encrypt an SQLite store, decrypt it, or change its key.

The first two write a new file and put it in place of the old one, so nobody may have the store open. The third is
one transaction: others go on, and find with their next statement that they need the new key.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from memstone.adapters.sql.backup_archive import left_over, open_staging_folder, remove_path, sync_folder
from memstone.adapters.sql.rows import make_private
from memstone.adapters.sqlite.connection import BUSY_SECONDS, Connection, open_connection, primary_code
from memstone.adapters.sqlite.driver import (
    PLAIN,
    PLAIN_MARK,
    CipherDriver,
    connect_cipher,
    is_empty_file,
    key_literal,
    new_salt,
    starts_with,
)
from memstone.errors import Conflict, Corrupted, EncryptionError, NotFoundError, StorageBusy
from memstone.ports.storage import EncryptionKeys

_SECONDS: Final = 2.0
_BLOCK: Final = 1 << 20
_NUMBERS: Final = ("application_id", "user_version")


# --- copies -----------------------------------------------------------------------------------------------------------


def encrypt_copy(source: Path, target: Path, driver: CipherDriver) -> Path:
    """Write a plain file encrypted with the current key under another name, which it gives."""
    make_private(target)
    with closing(connect_cipher(str(source))) as opened:
        _export(opened, target, key_literal(driver.current_key(), new_salt()))
    return target


def use_current_key(opened: sqlite3.Connection, path: Path, driver: CipherDriver) -> None:
    """Encrypt an open copy, which nobody else uses, with the current key if it has another one."""
    if driver.key_of(path) != driver.current_key():
        opened.execute(f"PRAGMA rekey = {key_literal(driver.current_key())}").fetchall()
        driver.forget(path)


def _export(source: sqlite3.Connection, target: Path, key: str) -> None:
    """Copy everything in an open file into a new one that has another key, or none."""
    source.execute(f"ATTACH DATABASE ? AS target KEY {key}", (str(target),))
    try:
        source.execute("SELECT sqlcipher_export('target')").fetchall()
        for name in _NUMBERS:
            value = int(source.execute(f"PRAGMA main.{name}").fetchone()[0])
            source.execute(f"PRAGMA target.{name} = {value}")
    finally:
        source.execute("DETACH DATABASE target")


# --- a store ----------------------------------------------------------------------------------------------------------


def encrypt_store(path: Path, keys: EncryptionKeys) -> None:
    """Encrypt a plain store that nobody has open, and the copies that were made before upgrades."""
    driver = CipherDriver(keys)
    _require_file(path)
    if not starts_with(path, PLAIN_MARK):
        driver.connect(str(path)).close()  # another key, or damage, is said as such
        raise Conflict(f"{path} is already encrypted", hint="`memstone encryption rotate` gives it another key")
    for copy in copies_beside(path):
        if starts_with(copy, PLAIN_MARK):
            _replace_by_copy(copy, connect_cipher(str(copy), timeout=_SECONDS), _literal(driver))
    _replace_by_copy(path, connect_cipher(str(path), timeout=_SECONDS), _literal(driver))
    with closing(open_connection(str(path), uri=False, writable=True, durable=True, driver=driver)) as made:
        _refuse_damaged_result(made, path)


def decrypt_store(path: Path, keys: EncryptionKeys) -> None:
    """Write an encrypted store that nobody has open as a plain file.

    The copies that were made before upgrades are decrypted, too.
    """
    driver = CipherDriver(keys)
    _require_file(path)
    if starts_with(path, PLAIN_MARK):
        raise Conflict(f"{path} is not encrypted")
    for copy in copies_beside(path):
        if not starts_with(copy, PLAIN_MARK):
            _replace_by_copy(copy, driver.connect(str(copy), timeout=_SECONDS), "''")
    _replace_by_copy(path, driver.connect(str(path), timeout=_SECONDS), "''")
    with closing(open_connection(str(path), uri=False, writable=True, durable=True, driver=PLAIN)) as made:
        _refuse_damaged_result(made, path)


def _literal(driver: CipherDriver) -> str:
    return key_literal(driver.current_key(), new_salt())


def _require_file(path: Path) -> None:
    if is_empty_file(path):
        raise NotFoundError(f"there is no store at {path}", hint="with store.encryption_key, a new one is encrypted")
    for leftover in left_over(path.parent, path.name):
        remove_path(leftover)


def copies_beside(path: Path) -> list[Path]:
    """Return the copies that were made of a store before upgrades."""
    found = sorted(path.parent.glob(f"{path.name}.before-*"))
    return [one for one in found if not one.name.endswith(("-wal", "-shm"))]


def _replace_by_copy(path: Path, opened: sqlite3.Connection, key: str) -> None:
    """Let a copy with another key take the place of a file.

    Whoever waits for the old file meanwhile must not get it: after the lock is gone, they would write to a file that
    has no name any more. So the old file is overwritten before the lock is released, which also leaves no plain text.
    """
    with closing(opened), open_staging_folder(path) as folder:
        _lock_alone(opened, path)
        copy = folder / "copy.db"
        make_private(copy)
        _export(opened, copy, key)
        _sync_path(copy)
        old = os.open(path, os.O_RDWR)
        try:
            copy.replace(path)
            sync_folder(path.parent)
            _overwrite(old)
        finally:
            os.close(old)


def _lock_alone(opened: sqlite3.Connection, path: Path) -> None:
    """Bring everything from the log into the file, and keep all others out until the connection is closed."""
    try:
        opened.execute("PRAGMA locking_mode = EXCLUSIVE")
        opened.execute("PRAGMA journal_mode = DELETE")
        opened.execute("BEGIN EXCLUSIVE")
        opened.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if primary_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        raise StorageBusy(f"{path} is in use", hint="stop every program that uses the store") from error


def _overwrite(file: int) -> None:
    for at in range(0, os.fstat(file).st_size, _BLOCK):
        os.pwrite(file, bytes(min(_BLOCK, os.fstat(file).st_size - at)), at)
    os.fsync(file)


def _sync_path(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _refuse_damaged_result(made: Connection, path: Path) -> None:
    found = made.raw.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise Corrupted(f"{path} is damaged: {found}", hint="restore a backup")


# --- another key ------------------------------------------------------------------------------------------------------


def rekey_store(path: Path, keys: EncryptionKeys) -> bool:
    """Encrypt a store and its copies with the current key while others use it.

    Return False if it has that key already.
    """
    driver = CipherDriver(keys)
    key = driver.current_key()
    changed = _rekey_file(path, driver, key)
    for copy in copies_beside(path):
        _rekey_file(copy, driver, key)
    return changed


def _rekey_file(path: Path, driver: CipherDriver, key: bytes) -> bool:
    deadline = time.monotonic() + BUSY_SECONDS
    while not (changed := _try_rekey(path, driver, key)):
        if changed is False:
            return False
        if time.monotonic() > deadline:
            raise StorageBusy(f"{path} cannot be encrypted with the new key: another process keeps it locked")
        time.sleep(random.uniform(0.01, 0.05))  # noqa: S311 - jitter, not a secret
    with closing(driver.connect(str(path))) as opened:
        if driver.key_of(path) != key:
            raise EncryptionError(f"{path} still has its former key", hint="run the command again")
        if broken := opened.execute("PRAGMA cipher_integrity_check").fetchall():
            raise Corrupted(f"{path} is damaged: {broken[0][0]}", hint="restore a backup")
    return True


def _try_rekey(path: Path, driver: CipherDriver, key: bytes) -> bool | None:
    """Return whether the key was changed.

    Return False if there was nothing to change, and None if somebody else was writing.
    """
    with closing(driver.connect(str(path), timeout=BUSY_SECONDS)) as opened:
        if driver.key_of(path) == key:
            return False
        try:
            opened.execute(f"PRAGMA rekey = {key_literal(key)}").fetchall()
        except sqlite3.OperationalError:  # SQLCipher has one message for whatever was in the way
            return None
        driver.forget(path)
        with suppress(sqlite3.OperationalError):  # readers of old snapshots keep the log; the next checkpoint does it
            opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return True
