"""Signed tokens (JWT, RFC 7519) of one kind: HS256 with fixed claims.

Nothing in a token chooses how it is checked: the algorithm is fixed, and a token that differs in anything is none.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

ISSUER: Final = "memstone"
AUDIENCE: Final = "memstone"
MAX_CHARS: Final = 4_096
MAX_SECONDS: Final = 86_400
"""No token is valid for longer, whatever it says."""

_PARTS: Final = 3
_SKEW: Final = 30
"""Seconds by which the clocks of two machines may differ."""

_ALGORITHM: Final = "HS256"
_HEADER: Final = frozenset({"alg", "typ", "kid"})
_SIGNATURE_BYTES: Final = 32
_NUMBERS: Final = ("iat", "nbf", "exp")


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says: who, in which tenant, in which role and session, and from when until when (in seconds)."""

    sub: str
    tenant: str
    role: str
    sid: str
    iat: int
    nbf: int
    exp: int

    def hold_at(self, now: int) -> bool:
        """Return whether it is valid at a time."""
        lifetime = self.exp - self.iat
        return self.nbf <= now + _SKEW and self.iat <= now + _SKEW and now < self.exp and 0 < lifetime <= MAX_SECONDS


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """A well-formed token of which nobody knows yet who made it."""

    claims: Claims
    kid: str
    signed: bytes
    signature: bytes

    def is_by(self, key: bytes) -> bool:
        """Return whether it was made with a key."""
        return hmac.compare_digest(self.signature, _compute_mac(self.signed, key))


def key_name(key: bytes) -> str:
    """Return what a key is called in the tokens made with it; it tells nothing about the key."""
    return hashlib.sha256(b"memstone token key\0" + key).hexdigest()[:16]


def issue_token(claims: Claims, key: bytes) -> str:
    """Return the token."""
    header = {"alg": _ALGORITHM, "typ": "JWT", "kid": key_name(key)}
    texts = {"iss": ISSUER, "aud": AUDIENCE, **asdict(claims)}
    signed = f"{_encode_json(header)}.{_encode_json(texts)}"
    return f"{signed}.{_encode_base64(_compute_mac(signed.encode(), key))}"


def looks_like_one(token: str) -> bool:
    """Return whether somebody means a token of this kind; a key holds no dots."""
    return token.count(".") == _PARTS - 1


def parse_token(token: str) -> UnverifiedToken | None:
    """Return what a token says, before it is known who made it; None when it is not well-formed in every detail."""
    if len(token) > MAX_CHARS or not token.isascii() or not looks_like_one(token):
        return None
    header, message, signature = (_decode_base64(part) for part in token.split("."))
    about, claims = _parse_object(header), _parse_claims(_parse_object(message))
    if claims is None or about.keys() != _HEADER or signature is None or len(signature) != _SIGNATURE_BYTES:
        return None
    if about["alg"] != _ALGORITHM or about["typ"] != "JWT" or not isinstance(about["kid"], str):
        return None
    return UnverifiedToken(claims, about["kid"], token.rpartition(".")[0].encode(), signature)


def _parse_claims(texts: dict[str, Any]) -> Claims | None:
    if texts.pop("iss", None) != ISSUER or texts.pop("aud", None) != AUDIENCE:
        return None
    names = [field.name for field in fields(Claims)]
    if texts.keys() != set(names):
        return None
    wanted = ((texts[name], int if name in _NUMBERS else str) for name in names)
    # bool is a kind of int, and no number of seconds
    return Claims(**texts) if all(type(value) is kind and value for value, kind in wanted) else None


def _compute_mac(signed: bytes, key: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256")


def _encode_json(value: dict[str, Any]) -> str:
    return _encode_base64(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _encode_base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode_base64(part: str) -> bytes | None:
    """Return the bytes of the one way in which they are written.

    Several ways would be several tokens that say the same.
    """
    try:
        value = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return value if _encode_base64(value) == part else None


def _parse_object(value: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(value or b"", object_pairs_hook=_refuse_duplicate_keys)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refuse_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name appears twice")
    return found
