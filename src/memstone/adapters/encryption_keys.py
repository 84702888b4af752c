"""The list of encryption keys of a store: read it from its place, and add a new current key.

A place holds one key per line, the current one first. Former keys stay below it: a process that has the store open, a
backup, or a crash in the middle of a rotation may still need one of them.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict

from memstone.adapters.store_key import KEY_BYTES, KEY_FORM, import_keyring, parse_key
from memstone.errors import EncryptionError
from memstone.ports.io import Io

_ONLY_ME: Final = 0o600
_MY_FOLDER: Final = 0o700
_SECONDS: Final = 30.0
_DATABASE: Final = b"memstone database 1\n"
_FILE: Final = b"memstone file 1\n"
_NAME: Final = b"memstone encryption key id 1\n"
_NAME_CHARS: Final = 12


def derive_database_key(key: bytes) -> bytes:
    """Return what SQLCipher encrypts with: one key for each purpose, none of which tells another."""
    return hmac.new(key, _DATABASE, hashlib.sha256).digest()


def derive_file_key(key: bytes, salt: bytes) -> bytes:
    """Return what one file is encrypted with."""
    return hmac.new(key, _FILE + salt, hashlib.sha256).digest()


def encryption_key_id(key: bytes) -> str:
    """Return a name for a key that tells nothing about it."""
    return hmac.new(key, _NAME, hashlib.sha256).hexdigest()[:_NAME_CHARS]


class _KeyText(Protocol):
    """Where the text of the keys is kept."""

    place: str

    @property
    def is_writable(self) -> bool:
        """Whether Memstone may write there."""
        ...

    def read(self) -> str | None:
        """Return the text; None where there is none."""
        ...

    def write(self, text: str, *, new: bool) -> None:
        """Put another text there; with ``new`` only where there is none, and whoever came first wins."""
        ...


class EncryptionKeysConfig(BaseModel):
    """``source``: ``file:PATH``, ``keyring:SERVICE/NAME``, ``command:PROGRAM AND ARGUMENTS`` or ``env:NAME``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str


class SourcedKeys:
    """See ``memstone.ports.storage.EncryptionKeys``."""

    Config = EncryptionKeysConfig

    def __init__(self, config: EncryptionKeysConfig, io: Io) -> None:
        del io  # whoever reads a key is on a thread that may wait
        kind, _, where = config.source.partition(":")
        self._text = _PLACES[kind](where)
        self.place: str = self._text.place
        self.is_writable: bool = self._text.is_writable

    def read(self) -> tuple[bytes, ...]:
        """Return the keys, the current one first."""
        lines = [line.strip() for line in (self._text.read() or "").splitlines()]
        return tuple(parse_key(line, self.place) for line in lines if line and not line.startswith("#"))

    def make(self) -> bytes:
        """Return the current key, which is made if there is none and the place can be written."""
        if not (known := self.read()):
            if not self.is_writable:
                raise EncryptionError(
                    f"there is no key in {self.place}", hint="put one there; see store.encryption_key"
                )
            self._text.write(_format_keys([secrets.token_bytes(KEY_BYTES)]), new=True)
            known = self.read()
        return known[0]

    def add(self) -> bytes:
        """Put a new key before those that are there."""
        self._refuse_read_only()
        made = secrets.token_bytes(KEY_BYTES)
        self._text.write(_format_keys([made, *self.read()]), new=False)
        return made

    def drop_former(self) -> int:
        """Remove all keys but the current one."""
        self._refuse_read_only()
        known = self.read()
        self._text.write(_format_keys(known[:1]), new=False)
        return len(known) - 1

    def _refuse_read_only(self) -> None:
        if not self.is_writable:
            raise EncryptionError(
                f"Memstone cannot change the keys in {self.place}",
                hint="change them there; the current key comes first",
            )


def _format_keys(keys: Sequence[bytes]) -> str:
    return "".join(f"{KEY_FORM}{key.hex()}\n" for key in keys)


def write_key_copy(keys: Sequence[bytes], path: Path) -> None:
    """Write keys into a new file that only its owner may read."""
    _write_private(path, _format_keys(keys), new=True)


# --- places -----------------------------------------------------------------------------------------------------------


class _KeyFile:
    """A file that only its owner may read."""

    is_writable: Final = True

    def __init__(self, where: str) -> None:
        self._path = Path(where).expanduser()
        self.place = str(self._path)

    def read(self) -> str | None:
        try:
            return self._path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise EncryptionError(f"the key {self._path} cannot be read: {error}") from error

    def write(self, text: str, *, new: bool) -> None:
        _write_private(self._path, text, new=new)


def _write_private(path: Path, text: str, *, new: bool) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=_MY_FOLDER, parents=True, exist_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_ME), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if new:
            os.link(part, path)
        else:
            part.replace(path)
    except FileExistsError:  # somebody made one at the same moment, and that one counts
        pass
    except OSError as error:
        raise EncryptionError(f"the key {path} cannot be written: {error}", hint="choose another place") from error
    finally:
        part.unlink(missing_ok=True)


class _KeyringEntry:
    """The keyring of the system, by the package ``keyring``."""

    is_writable: Final = True

    def __init__(self, where: str) -> None:
        self._service, _, self._name = where.partition("/")
        self.place = f"the keyring, {where}"

    def read(self) -> str | None:
        keyring = import_keyring()
        try:
            found: str | None = keyring.get_password(self._service, self._name)
        except keyring.errors.KeyringError as error:
            raise self._failure("cannot be read", error) from error
        return found

    def write(self, text: str, *, new: bool) -> None:
        if new and self.read() is not None:
            return
        keyring = import_keyring()
        try:
            keyring.set_password(self._service, self._name, text)
        except keyring.errors.KeyringError as error:
            raise self._failure("does not accept the key", error) from error

    def _failure(self, what: str, error: Exception) -> EncryptionError:
        hint = "unlock it, or check that this machine has a keyring; nothing was changed"
        return EncryptionError(f"{self.place} {what}: {type(error).__name__}", hint=hint)


class _ReadOnlyText:
    """A place that somebody else fills."""

    is_writable: Final = False

    def write(self, text: str, *, new: bool) -> None:
        del text, new
        raise AssertionError("keys cannot be written to this place")


class _CommandOutput(_ReadOnlyText):
    """What another program prints. It is asked whenever a key is needed that is not known yet."""

    def __init__(self, where: str) -> None:
        self._words = shlex.split(where)
        self.place = f"the command {self._words[0] if self._words else ''}"

    def read(self) -> str | None:
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own command, without a shell
                self._words, capture_output=True, check=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise EncryptionError(
                f"{self.place} returned no key: {type(error).__name__}", hint="see store.encryption_key"
            ) from error
        return done.stdout


class _EnvironmentVariable(_ReadOnlyText):
    """A variable of this process."""

    def __init__(self, where: str) -> None:
        self._name = where
        self.place = f"the environment variable {where}"

    def read(self) -> str | None:
        return os.environ.get(self._name)


_PLACES: Final[dict[str, Callable[[str], _KeyText]]] = {
    "file": _KeyFile,
    "keyring": _KeyringEntry,
    "command": _CommandOutput,
    "env": _EnvironmentVariable,
}
