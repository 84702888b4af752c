"""Check passwords, hash them, and refuse those that are easy to guess.

Scrypt, with its cost in the text that is kept: a password that was stored at another cost is still recognised.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from memstone.errors import InvalidInput
from memstone.model.unicode_forms import normalize_unicode

SALT_BYTES: Final = 16
MIN_CHARS: Final = 10
MAX_CHARS: Final = 1_024

_HASH_BYTES: Final = 32
_STORED: Final = re.compile(
    r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{8,128})\$([A-Za-z0-9+/]{43})"
)
_MOST_MEMORY: Final = 256 * 1024 * 1024
_FEW: Final = 4
_COMMON: Final = frozenset(
    """1234567890 0123456789 12345678910 1q2w3e4r5t 1qaz2wsx3edc qwertyuiop qwerty12345 qwerty123456 asdfghjkl123
    password12 password123 password1234 passw0rd123 letmein123 welcome123 iloveyou12 administrator admin12345
    changeme123 changemenow trustno1234 superman123 football123 baseball123 dragon12345 monkey12345 sunshine123
    princess123 correcthorsebatterystaple secret12345 default123 qazwsxedcrfv 9876543210 abcdefghij abcd123456
    """.split()
)


@dataclass(frozen=True, slots=True)
class Cost:
    """How much work it is to try one: ``2**ln`` blocks of ``r`` kilobits of memory, ``p`` times."""

    ln: int
    r: int
    p: int

    def __str__(self) -> str:
        return f"ln={self.ln},r={self.r},p={self.p}"


COST: Final = Cost(14, 8, 5)
"""16 MB and about a fifth of a second, however many try at once."""


def checked_password(password: object, login: str) -> str:
    """Return a password that may be set, or raise ``InvalidInput``.

    Length is what counts, so no kind of character is asked for.
    """
    if not isinstance(password, str):
        raise InvalidInput("a password must be text")
    if not MIN_CHARS <= len(password) <= MAX_CHARS:
        raise InvalidInput(
            f"a password has {MIN_CHARS} to {MAX_CHARS:,} characters", hint="a few words make a good one"
        )
    known = _normalize_password(password).casefold()
    if known in _COMMON or len(set(known)) <= _FEW or (login and known in {login, login.partition("@")[0], login * 2}):
        raise InvalidInput("this password is easy to guess", hint="a few words make a good one")
    return password


def hash_password(password: str, salt: bytes, cost: Cost | None = None) -> str:
    """Return what is kept of a password."""
    how = cost or COST
    return f"$scrypt${how}${_encode_base64(salt)}${_encode_base64(_compute_scrypt(password, salt, how))}"


def decoy_hash() -> str:
    """Return what is kept of nobody's password: to compare with it takes as long as with anybody's."""
    return f"$scrypt${COST}${_encode_base64(bytes(SALT_BYTES))}${_encode_base64(bytes(_HASH_BYTES))}"


def is_correct_password(password: str, stored: str) -> bool:
    """Return whether it is the password of which that is kept."""
    found = _STORED.fullmatch(stored)
    if found is None:
        return False
    cost = Cost(*map(int, found.group(1, 2, 3)))
    if not (cost.ln and cost.r and cost.p) or 128 * cost.r * 2**cost.ln > _MOST_MEMORY:
        return False
    return hmac.compare_digest(_compute_scrypt(password, _decode_base64(found[4]), cost), _decode_base64(found[5]))


def is_outdated(stored: str) -> bool:
    """Return whether it was stored at another cost than is usual now."""
    return not stored.startswith(f"$scrypt${COST}$")


def _compute_scrypt(password: str, salt: bytes, cost: Cost) -> bytes:
    value = _normalize_password(password).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(
        value, salt=salt, n=2**cost.ln, r=cost.r, p=cost.p, maxmem=_MOST_MEMORY * 2, dklen=_HASH_BYTES
    )


def _normalize_password(password: str) -> str:
    """Return one form of a password, on whatever keyboard it is typed."""
    return normalize_unicode("NFKC", password)


def _encode_base64(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return b""
