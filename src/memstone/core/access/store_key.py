"""Sign and encrypt with the key of a store, and name it without revealing it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memstone.errors import Corrupted

OURS: Final = "ours"
FOREIGN: Final = "foreign"
_SIGNATURE: Final = "signature"
_SIGNING: Final = b"memstone backup 1\n"
_NAMING: Final = b"memstone key id 1\n"
_NAME_CHARS: Final = 12


def key_id(key: bytes) -> str:
    """Return a name for a key that tells nothing about it."""
    return hmac.new(key, _NAMING, hashlib.sha256).hexdigest()[:_NAME_CHARS]


@dataclass(frozen=True, slots=True)
class BackupSigner:
    """Signs the manifest of a backup, which holds the sums of everything in it. Without a key nothing is ours."""

    key: bytes | None

    def sign(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest with a signature."""
        if self.key is None:
            return dict(manifest)
        signed = {name: value for name, value in manifest.items() if name != _SIGNATURE}
        return {**signed, _SIGNATURE: {"key": key_id(self.key), "hmac": _compute_hmac(self.key, signed)}}

    def origin(self, manifest: Mapping[str, Any]) -> str:
        """Return whether a backup is ``ours`` or ``foreign``; ``Corrupted`` if it was ours and has been changed."""
        signature = manifest.get(_SIGNATURE)
        if self.key is None or not isinstance(signature, Mapping) or signature.get("key") != key_id(self.key):
            return FOREIGN
        signed = {name: value for name, value in manifest.items() if name != _SIGNATURE}
        if not hmac.compare_digest(str(signature.get("hmac")), _compute_hmac(self.key, signed)):
            raise Corrupted(
                "the backup was changed after it was made: its signature does not match", hint="use another backup"
            )
        return OURS


def _compute_hmac(key: bytes, signed: Mapping[str, Any]) -> str:
    written = json.dumps(signed, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    return hmac.new(key, _SIGNING + written, hashlib.sha256).hexdigest()
