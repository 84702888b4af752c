"""Sealing short texts with AES-256-GCM, by the package ``cryptography``."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from typing import Any, Final

from memstone.errors import Corrupted, MissingExtra

_FORM: Final = "sealed:1:"
_PURPOSE: Final = b"memstone sealing 1\n"
_NONCE_BYTES: Final = 12
_LOST: Final = "put the key back that it was sealed with (see store.key), or set it anew"


class AesGcm:
    """See ``memstone.ports.storage.Sealing``."""

    def is_sealed(self, text: str) -> bool:
        """Return whether a text is an encrypted one."""
        return text.startswith(_FORM)

    def seal(self, key: bytes, text: str, about: str) -> str:
        """Return the encrypted text; ``about`` is no part of it and has to be the same again."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = _cipher(key).encrypt(nonce, text.encode(), about.encode())
        return _FORM + base64.urlsafe_b64encode(nonce + sealed).decode()

    def unseal(self, key: bytes, sealed: str, about: str) -> str:
        """Return the text."""
        from cryptography.exceptions import InvalidTag

        cipher = _cipher(key)
        try:
            raw = base64.b64decode(sealed.removeprefix(_FORM), altchars=b"-_", validate=True)
            opened: bytes = cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], about.encode())
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise Corrupted("a sealed value cannot be read with this key", hint=_LOST) from error
        return opened.decode()


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra(
            "keys of providers are stored encrypted, and the package cryptography is not installed",
            hint="pip install 'memstone[server]', or name the key in the configuration file",
        ) from error
    return AESGCM(hmac.new(key, _PURPOSE, hashlib.sha256).digest())
