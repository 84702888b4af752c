"""Choose the SQLite library for a file: Python's, or SQLCipher, which encrypts pages and log.

SQLCipher's Python module is a copy of Python's own, with exceptions of its own. They are turned into those of
``sqlite3`` here, so that nobody above sees a difference.

A process must not open one file with both libraries: on POSIX, closing a descriptor costs the process every lock that
it has on the file, and each library knows only its own descriptors.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from memstone.adapters.encryption_keys import derive_database_key, encryption_key_id
from memstone.errors import EncryptionError, MissingExtra, install_hint
from memstone.ports.storage import EncryptionKeys

T = TypeVar("T")
STATEMENTS: Final = 256
CIPHER: Final = "sqlcipher"
PLAIN_MARK: Final = b"SQLite format 3\x00"
ENCRYPTED_MARK: Final = b"MEMSTNE1"
"""How an encrypted file begins: the first half of SQLCipher's salt. The other half is random, as the key is."""

_SALT_BYTES: Final = 16
_REMEMBERED: Final = 64
_FIRST_READ: Final = "SELECT count(*) FROM sqlite_master"


class Driver(Protocol):
    """Opens connections."""

    @property
    def key_name(self) -> str | None:
        """The name of the key that new files get; None where nothing is encrypted."""
        ...

    def connect(self, target: str, *, uri: bool = False, timeout: float = 60.0) -> sqlite3.Connection:
        """Open a file; ``EncryptionError`` where it is not encrypted as it should be, or no key opens it."""
        ...

    def attach(self, connection: sqlite3.Connection, path: Path, name: str) -> None:
        """Let a connection see a second file of the same kind under a name."""
        ...

    def is_other_key(self, error: Exception) -> bool:
        """Return whether an error may mean that somebody encrypted the file with another key meanwhile."""
        ...


class PlainDriver:
    """Python's own library."""

    key_name: Final = None

    def connect(self, target: str, *, uri: bool = False, timeout: float = 60.0) -> sqlite3.Connection:
        """Open a file."""
        return sqlite3.connect(
            target,
            uri=uri,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS,
            timeout=timeout,
        )

    def attach(self, connection: sqlite3.Connection, path: Path, name: str) -> None:
        """Let a connection see a second file."""
        connection.execute(f"ATTACH DATABASE ? AS {name}", (str(path),))

    def is_other_key(self, error: Exception) -> bool:  # noqa: ARG002 - there is no key
        """Return False."""
        return False


PLAIN: Final = PlainDriver()


class CipherDriver:
    """SQLCipher, with the keys of an encrypted store."""

    def __init__(self, keys: EncryptionKeys) -> None:
        self._keys = keys
        self._known: tuple[bytes, ...] = ()
        self._used: dict[str, bytes] = {}

    @property
    def place(self) -> str:
        """Where the keys are."""
        return self._keys.place

    @property
    def key_name(self) -> str | None:
        """The name of the key that new files get."""
        return encryption_key_id(self.current_key())

    def current_key(self) -> bytes:
        """Return the key that new files get; it is made if there is none."""
        if not self._known:
            self._keys.make()
            self._known = self._keys.read()
        return self._known[0]

    def key_of(self, path: Path) -> bytes | None:
        """Return the key that a file was last opened with."""
        return self._used.get(str(path))

    def connect(self, target: str, *, uri: bool = False, timeout: float = 60.0) -> sqlite3.Connection:
        """Open a file with the first key that fits; one that is empty gets the current key."""
        if not uri and is_empty_file(Path(target)):
            opened = self._open(target, self.current_key(), uri=uri, timeout=timeout, salt=new_salt())
            return self._remember(target, self.current_key(), opened)
        tried = set[bytes]()
        for key in self._candidates(target):
            if key in tried:
                continue
            tried.add(key)
            try:
                opened = self._open(target, key, uri=uri, timeout=timeout)
            except sqlite3.DatabaseError as error:
                if not is_not_a_database(error):
                    raise
            else:
                return self._remember(target, key, opened)
        raise self._failure(target, known=bool(tried))

    def _candidates(self, target: str) -> Iterator[bytes]:
        """Yield the key that fitted last and others that are known; their place is looked at only if all fail."""
        if target in self._used:
            yield self._used[target]
        yield from self._known
        self._known = self._keys.read()
        yield from self._known

    def _remember(self, target: str, key: bytes, opened: sqlite3.Connection) -> sqlite3.Connection:
        if len(self._used) >= _REMEMBERED:
            self._used.clear()  # files that were opened once, such as backups
        self._used[target] = key
        return opened

    def _open(self, target: str, key: bytes, *, uri: bool, timeout: float, salt: bytes = b"") -> sqlite3.Connection:
        raw = connect_cipher(target, uri=uri, timeout=timeout)
        try:
            raw.execute(f"PRAGMA key = {key_literal(key, salt)}")
            raw.execute(_FIRST_READ).fetchone()
        except BaseException:
            raw.close()
            raise
        return raw

    def _failure(self, target: str, *, known: bool) -> EncryptionError:
        if starts_with(Path(target), PLAIN_MARK):
            return EncryptionError(
                f"{target} is not encrypted, but store.encryption_key is set",
                hint="`memstone encryption enable` encrypts it; nothing was changed",
            )
        lost = "restore the key from your copy of it: without it nobody can read the store. Nothing was changed"
        if not known:
            return EncryptionError(f"{target} is encrypted, and there is no key in {self._keys.place}", hint=lost)
        return EncryptionError(f"no key in {self._keys.place} opens {target}", hint=lost)

    def attach(self, connection: sqlite3.Connection, path: Path, name: str) -> None:
        """Let a connection see a second file, with the key that it was last opened with, or the current one."""
        key = self.key_of(path) or self.current_key()
        connection.execute(f"ATTACH DATABASE ? AS {name} KEY {key_literal(key)}", (str(path),))

    def is_other_key(self, error: Exception) -> bool:
        """Return whether the file cannot be read with the key of a connection any more.

        A connection that has once failed to read a page lets nobody write after that.
        """
        return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY)

    def forget(self, path: Path) -> None:
        """Look at all keys again when a file is opened next."""
        self._used.pop(str(path), None)
        self._known = ()


def key_literal(key: bytes, salt: bytes = b"") -> str:
    """Return a key as SQLCipher takes it; with a salt for a new file, else the salt is read from the file."""
    return f"\"x'{derive_database_key(key).hex()}{salt.hex()}'\""


def new_salt() -> bytes:
    """Return the first bytes of a new file."""
    return ENCRYPTED_MARK + os.urandom(_SALT_BYTES - len(ENCRYPTED_MARK))


def is_empty_file(path: Path) -> bool:
    """Return whether a file is missing or has no content yet."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True


def starts_with(path: Path, mark: bytes) -> bool:
    """Return whether a file, which nobody could open as a database, begins with some bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False


def is_not_a_database(error: sqlite3.Error) -> bool:
    """Return whether SQLite could make nothing of a file, which is what a wrong key looks like."""
    return (getattr(error, "sqlite_errorcode", None) or 0) == sqlite3.SQLITE_NOTADB


# --- SQLCipher behind the names of ``sqlite3`` ------------------------------------------------------------------------


def connect_cipher(target: str, *, uri: bool = False, timeout: float = 60.0) -> sqlite3.Connection:
    """Open a file with SQLCipher, and without a key yet: so it can read a plain one."""
    opened = _cipher_connection_class()(
        target,
        uri=uri,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=STATEMENTS,
        timeout=timeout,
    )
    opened.execute("PRAGMA cipher_log_level = NONE")  # it would write to standard error what we raise
    return cast("sqlite3.Connection", opened)


@cache
def import_cipher() -> Any:
    """Return SQLCipher's module."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise MissingExtra(
            "store.encryption_key is set, but the package sqlcipher3 is not installed",
            hint=f"{install_hint('encryption')}; nothing was changed",
        ) from error
    return dbapi2


@cache
def _cipher_connection_class() -> Any:
    module = import_cipher()
    cursor_class: Any = module.Cursor
    connection_class: Any = module.Connection

    def translate(call: Callable[..., T]) -> Callable[..., T]:
        def call_translated(*args: Any, **options: Any) -> T:
            try:
                return call(*args, **options)
            except module.Error as error:
                raise _as_sqlite_error(error) from error

        return call_translated

    class CipherCursor(cursor_class):  # type: ignore[misc]
        """A cursor that raises errors of ``sqlite3``."""

        execute = translate(module.Cursor.execute)
        executemany = translate(module.Cursor.executemany)
        executescript = translate(module.Cursor.executescript)
        fetchone = translate(module.Cursor.fetchone)
        fetchmany = translate(module.Cursor.fetchmany)
        fetchall = translate(module.Cursor.fetchall)
        __next__ = translate(module.Cursor.__next__)

    class CipherConnection(connection_class):  # type: ignore[misc]
        """A connection that raises errors of ``sqlite3``."""

        backup = translate(module.Connection.backup)
        close = translate(module.Connection.close)
        commit = translate(module.Connection.commit)
        rollback = translate(module.Connection.rollback)
        __exit__ = translate(module.Connection.__exit__)
        create_function = translate(module.Connection.create_function)

        def cursor(self, factory: Any = CipherCursor) -> Any:
            """Return a cursor of our own, which every method uses that runs a statement."""
            try:
                return super().cursor(factory)
            except module.Error as error:
                raise _as_sqlite_error(error) from error

    return translate(CipherConnection)


def _as_sqlite_error(error: Exception) -> sqlite3.Error:
    kind: type[sqlite3.Error] = getattr(sqlite3, type(error).__name__, sqlite3.DatabaseError)
    made = kind(*error.args)
    made.sqlite_errorcode = getattr(error, "sqlite_errorcode", 0)
    made.sqlite_errorname = getattr(error, "sqlite_errorname", "")
    return made


def cipher_version() -> str:
    """Return which SQLCipher is installed."""
    connection = connect_cipher(":memory:")
    try:
        return str(connection.execute("PRAGMA cipher_version").fetchone()[0]).split()[0]
    finally:
        connection.close()
