"""The key of a store, kept in a file, the system's keyring, another program or a variable."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from memstone.errors import ConfigError, Conflict, Corrupted, EncryptionError, MissingExtra, install_hint
from memstone.ports.io import Io
from memstone.ports.storage import EncryptionKeys

# --- where the key of a store is kept ---------------------------------------------------------------------------------


KEY_BYTES: Final = 32
KEY_FORM: Final = "memstone-key-1 "
_LEAST_CHARS: Final = 32
_SECONDS: Final = 30.0
_NEW: Final = "`python -c 'import secrets; print(secrets.token_urlsafe(32))'` creates one"
_ONLY_ME: Final = 0o600
_MY_FOLDER: Final = 0o700
_WRAPPING: Final = "the key of a store"


class FileKeyConfig(BaseModel):
    """``path`` of the file; it is made when the key is first needed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path


class FileKey:
    """See ``memstone.ports.storage.StoreKey``."""

    Config = FileKeyConfig

    def __init__(self, config: FileKeyConfig, io: Io, keys: EncryptionKeys | None = None) -> None:
        """With ``keys``, the file is encrypted like the store beside it."""
        self._path, self._io, self._keys = config.path.expanduser(), io, keys

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._path)

    async def find(self) -> bytes | None:
        """Return the key in the file."""
        return await self._io.run(self._find)

    async def make(self) -> bytes:
        """Return the key in the file, which is made if it is not there."""
        return await self._io.run(self._make)

    async def adopt(self, source: Path) -> None:
        """Put the key of another file here; ``Conflict`` where there is another, which something may be sealed with."""
        await self._io.run(lambda: self._adopt(source))

    def _adopt(self, source: Path) -> None:
        wanted = self._read_file(source)
        if wanted is None:
            raise ConfigError(f"there is no key at {source}")
        known = self._make(wanted)
        if known != wanted:
            raise Conflict(f"there is already a different key at {self._path}", hint="move it away if nothing needs it")

    def _find(self) -> bytes | None:
        return self._read_file(self._path)

    def encrypt_again(self) -> None:
        """Encrypt the file, if there is one, with the current of the keys."""
        if (known := self._find()) is not None:
            self._write_part(known).replace(self._path)

    def decrypt(self) -> None:
        """Write the file, if there is one, as it is without encryption."""
        if (known := self._find()) is not None:
            self._keys = None
            self._write_part(known).replace(self._path)

    def _read_file(self, path: Path) -> bytes | None:
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the key {path} cannot be read: {error}", hint="see store.key") from error
        sealer = AesGcm()
        if not sealer.is_sealed(text):
            return parse_key(text, str(path))
        for key in self._keys.read() if self._keys is not None else ():
            with suppress(Corrupted):
                return parse_key(sealer.unseal(key, text.strip(), _WRAPPING), str(path))
        raise EncryptionError(
            f"the key {path} is encrypted with a key that is not in "
            f"{self._keys.place if self._keys is not None else 'store.encryption_key, which is not set'}"
        )

    def _write_part(self, key: bytes) -> Path:
        """Write a key under another name."""
        text = f"{KEY_FORM}{key.hex()}"
        if self._keys is not None:
            text = AesGcm().seal(self._keys.make(), text, _WRAPPING)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}-{secrets.token_hex(4)}")
        self._path.parent.mkdir(mode=_MY_FOLDER, parents=True, exist_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_ME), "w") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        return part

    def _make(self, key: bytes = b"") -> bytes:
        """Make the key: of those who do so at the same moment one wins, and nobody ever reads half of it."""
        if (known := self._find()) is not None:
            return known
        part: Path | None = None
        try:
            part = self._write_part(key or secrets.token_bytes(KEY_BYTES))
            os.link(part, self._path)
        except FileExistsError:
            pass
        except OSError as error:
            raise ConfigError(
                f"the key {self._path} cannot be created: {error}", hint="store.key sets where it is kept"
            ) from error
        finally:
            if part is not None:
                part.unlink(missing_ok=True)
        made = self._find()
        assert made is not None, "it was just made"  # noqa: S101 - tells the type checker what is so
        return made


class KeyringKeyConfig(BaseModel):
    """``service`` and ``name`` under which the keyring has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    service: str
    name: str


class KeyringKey:
    """See ``memstone.ports.storage.StoreKey``; the keyring of the system, by the package ``keyring``."""

    Config = KeyringKeyConfig

    def __init__(self, config: KeyringKeyConfig, io: Io) -> None:
        self._config, self._io = config, io

    @property
    def place(self) -> str:
        """The entry of the keyring."""
        return f"the keyring, {self._config.service}/{self._config.name}"

    async def find(self) -> bytes | None:
        """Return the key in the keyring."""
        return await self._io.run(self._find)

    async def make(self) -> bytes:
        """Return the key in the keyring, where one is put if there is none."""
        return await self._io.run(self._make)

    def _find(self) -> bytes | None:
        keyring = import_keyring()
        try:
            found = keyring.get_password(self._config.service, self._config.name)
        except keyring.errors.KeyringError as error:
            raise ConfigError(
                f"{self.place} cannot be read: {type(error).__name__}", hint="check whether it is locked"
            ) from error
        return None if found is None else parse_key(str(found), self.place)

    def _make(self) -> bytes:
        if (known := self._find()) is not None:
            return known
        made, keyring = f"{KEY_FORM}{secrets.token_hex(KEY_BYTES)}", import_keyring()
        try:
            keyring.set_password(self._config.service, self._config.name, made)
        except keyring.errors.KeyringError as error:
            raise ConfigError(
                f"{self.place} does not accept the key: {type(error).__name__}", hint="check whether it is locked"
            ) from error
        return parse_key(made, self.place)


def import_keyring() -> Any:
    """Return the package that speaks to the keyring of the system."""
    try:
        import keyring
        import keyring.errors
    except ImportError as error:
        raise MissingExtra(
            "store.key uses the keyring, but the package keyring is not installed",
            hint=install_hint("keyring"),
        ) from error
    return keyring


class CommandKeyConfig(BaseModel):
    """``command`` whose output is the key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str


class CommandKey:
    """See ``memstone.ports.storage.StoreKey``; what another program says, asked once."""

    Config = CommandKeyConfig

    def __init__(self, config: CommandKeyConfig, io: Io) -> None:
        self._words, self._io = shlex.split(config.command), io
        self._known: bytes | None = None

    @property
    def place(self) -> str:
        """The program; not its arguments, which may be secret."""
        return f"the command {self._words[0] if self._words else ''}"

    async def find(self) -> bytes | None:
        """Return the key that the program says."""
        if self._known is None:
            self._known = await self._io.run(self._ask)
        return self._known

    async def make(self) -> bytes:
        """Return the same: a program that has no key is an error."""
        found = await self.find()
        assert found is not None, "asking gives a key or raises"  # noqa: S101 - tells the type checker what is so
        return found

    def _ask(self) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own command, without a shell
                self._words, capture_output=True, check=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise ConfigError(f"{self.place} returned no key: {type(error).__name__}", hint="see store.key") from error
        return parse_key(done.stdout, self.place)


class EnvKeyConfig(BaseModel):
    """``env``: the name of the variable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str


class EnvKey:
    """See ``memstone.ports.storage.StoreKey``; a variable of this process."""

    Config = EnvKeyConfig

    def __init__(self, config: EnvKeyConfig, io: Io) -> None:
        del io
        self._name = config.env
        self.place = f"the environment variable {config.env}"

    async def find(self) -> bytes | None:
        """Return the key in the variable."""
        text = os.environ.get(self._name)
        return None if text is None else parse_key(text, self.place)

    async def make(self) -> bytes:
        """Return the same: Memstone cannot put a key there."""
        if (found := await self.find()) is None:
            raise ConfigError(f"{self.place} is not set", hint=_NEW)
        return found


class ProcessKeyConfig(BaseModel):
    """Nothing to choose."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProcessKey:
    """See ``memstone.ports.storage.StoreKey``; for a store that ends with the process, and the key with it."""

    Config = ProcessKeyConfig
    place: Final = ""

    def __init__(self, config: ProcessKeyConfig, io: Io) -> None:
        del config, io
        self._key = secrets.token_bytes(KEY_BYTES)

    async def find(self) -> bytes | None:
        """Return the key."""
        return self._key

    async def make(self) -> bytes:
        """Return the key."""
        return self._key


def parse_key(text: str, place: str) -> bytes:
    """Return the key that a text stands for: one of our own form, or any secret that is long enough."""
    value = text.strip()
    if value.startswith(KEY_FORM):
        try:
            key = bytes.fromhex(value.removeprefix(KEY_FORM))
        except ValueError:
            key = b""
        if len(key) == KEY_BYTES:
            return key
        raise ConfigError(f"{place} contains an incomplete key", hint="restore it from your own copy")
    if len(value) < _LEAST_CHARS:
        raise ConfigError(f"{place} contains no valid key: a key has at least {_LEAST_CHARS} characters", hint=_NEW)
    return hashlib.sha256(b"memstone key 1\n" + value.encode()).digest()


# --- sealing short texts with AES-256-GCM, by the package ``cryptography`` --------------------------------------------


_SEALING_FORM: Final = "sealed:1:"
_PURPOSE: Final = b"memstone sealing 1\n"
_NONCE_BYTES: Final = 12
_LOST: Final = "restore the key it was encrypted with (see store.key), or set the value again"


class AesGcm:
    """See ``memstone.ports.storage.Sealer``."""

    def is_sealed(self, text: str) -> bool:
        """Return whether a text is an encrypted one."""
        return text.startswith(_SEALING_FORM)

    def seal(self, key: bytes, text: str, about: str) -> str:
        """Return the encrypted text; ``about`` is no part of it and has to be the same again."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = _build_cipher(key).encrypt(nonce, text.encode(), about.encode())
        return _SEALING_FORM + base64.urlsafe_b64encode(nonce + sealed).decode()

    def unseal(self, key: bytes, sealed: str, about: str) -> str:
        """Return the text."""
        from cryptography.exceptions import InvalidTag

        cipher = _build_cipher(key)
        try:
            raw = base64.b64decode(sealed.removeprefix(_SEALING_FORM), altchars=b"-_", validate=True)
            opened: bytes = cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], about.encode())
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise Corrupted("an encrypted value cannot be read with this key", hint=_LOST) from error
        return opened.decode()


def _build_cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra(
            "provider keys are stored encrypted, but the package cryptography is not installed",
            hint=f"{install_hint('server')}; or put the key in the configuration file",
        ) from error
    return AESGCM(hmac.new(key, _PURPOSE, hashlib.sha256).digest())
