"""Write and read encrypted files: exports, and parts of backups of PostgreSQL.

A file begins with a line that says what it is and which key opens it. Then come blocks, each encrypted with AES-256-GCM
under a key of this file alone. The nonce of a block is its number and whether it is the last one, so that a file that
was cut off, or whose blocks were moved, does not open.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from memstone.adapters.encryption_keys import derive_file_key, encryption_key_id
from memstone.errors import Corrupted, EncryptionError, MissingExtra, install_hint
from memstone.ports.storage import EncryptionKeys

if TYPE_CHECKING:
    from memstone.literals import EncryptionState
    from memstone.results import EncryptionStatus

CIPHER: Final = "aes-256-gcm"
_MARK: Final = b"memstone-encrypted-1 "
_SALT_BYTES: Final = 16
_BLOCK: Final = 64 << 10
_TAG_BYTES: Final = 16
_LONGEST_HEADER: Final = 200


class ContentSink(Protocol):
    """What can be written to."""

    def write(self, data: bytes, /) -> object:
        """Take more bytes."""
        ...


class ContentSource(Protocol):
    """What can be read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes; nothing at the end."""
        ...


class EncryptedFiles:
    """Writes files encrypted where there are keys, and reads both kinds."""

    def __init__(self, keys: EncryptionKeys | None) -> None:
        self._keys = keys

    @property
    def key_name(self) -> str | None:
        """The name of the key that files are written with; None if they are plain."""
        return None if self._keys is None else encryption_key_id(self._keys.make())

    @contextmanager
    def open_writer(self, file: BinaryIO) -> Iterator[ContentSink]:
        """Yield where the content of a file is written to."""
        if self._keys is None:
            yield file
            return
        writer = _EncryptingWriter(file, self._keys.make())
        yield writer
        writer.finish()  # not after an error: what was cut off must not look complete

    def open_reader(self, file: BinaryIO, name: str) -> ContentSource:
        """Return where the content of a file is read from, decrypted if need be; ``name`` is for people."""
        start = file.read(len(_MARK))
        if start != _MARK:
            file.seek(0)
            return file
        header = start + file.readline(_LONGEST_HEADER)
        return io.BufferedReader(_DecryptingReader(file, header, self._find_key(header, name), name), _BLOCK)

    def _find_key(self, header: bytes, name: str) -> bytes:
        wanted = header.split()[1].decode("ascii", "replace")
        if self._keys is None:
            raise EncryptionError(
                f"{name} is encrypted, and store.encryption_key is not set", hint=f"set it to where the key {wanted} is"
            )
        for key in self._keys.read():
            if encryption_key_id(key) == wanted:
                return key
        raise EncryptionError(
            f"{name} was encrypted with the key {wanted}, which is not in {self._keys.place}",
            hint="put that key below the current one; nothing was changed",
        )


def describe_keys(
    state: EncryptionState, cipher: str, keys: EncryptionKeys | None, used: bytes | None = None
) -> EncryptionStatus:
    """Return what is encrypted, and with which of the keys: ``used``, or the current one."""
    if keys is None:
        return {"state": state, "files": False}
    known = keys.read()
    name = encryption_key_id(used or known[0]) if used or known else None
    return {
        "state": state,
        "files": True,
        "cipher": cipher,
        "key_place": keys.place,
        "key": name,
        "former_keys": max(0, len(known) - 1),
        "rotation_due": used is not None and bool(known) and used != known[0],
    }


class _EncryptingWriter:
    """Encrypts block by block."""

    def __init__(self, file: BinaryIO, key: bytes) -> None:
        salt = secrets.token_bytes(_SALT_BYTES)
        self._header = _MARK + f"{encryption_key_id(key)} {salt.hex()}\n".encode()
        self._cipher, self._file = _build_cipher(derive_file_key(key, salt)), file
        self._waiting, self._number = bytearray(), 0
        file.write(self._header)

    def write(self, data: bytes, /) -> int:
        self._waiting += data
        while len(self._waiting) > _BLOCK:  # the last block, even a full one, waits to be marked as such
            self._write_block(bytes(self._waiting[:_BLOCK]), last=False)
            del self._waiting[:_BLOCK]
        return len(data)

    def finish(self) -> None:
        self._write_block(bytes(self._waiting), last=True)

    def _write_block(self, block: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._number, last=last), block, self._header))
        self._number += 1


class _DecryptingReader(io.RawIOBase):
    """Decrypts block by block."""

    def __init__(self, file: BinaryIO, header: bytes, key: bytes, name: str) -> None:
        super().__init__()
        try:
            salt = bytes.fromhex(header.split()[2].decode("ascii"))
        except (IndexError, ValueError) as error:
            raise Corrupted(f"{name} is damaged: its first line is incomplete", hint="use another copy") from error
        self._cipher, self._file, self._header, self._name = (
            _build_cipher(derive_file_key(key, salt)),
            file,
            header,
            name,
        )
        self._next, self._number, self._ready = file.read(_BLOCK + _TAG_BYTES), 0, b""
        self._done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready and not self._done:
            self._ready = self._read_block()
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _read_block(self) -> bytes:
        from cryptography.exceptions import InvalidTag

        block, self._next = self._next, self._file.read(_BLOCK + _TAG_BYTES)
        self._done = not self._next
        try:
            opened: bytes = self._cipher.decrypt(_nonce(self._number, last=self._done), block, self._header)
        except (InvalidTag, ValueError) as error:
            raise Corrupted(f"{self._name} is cut off or damaged", hint="use another copy") from error
        self._number += 1
        return opened


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _build_cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra(
            "files of an encrypted store need the package cryptography", hint=install_hint("encryption")
        ) from error
    return AESGCM(key)
