"""What a text must hold before it is worth a closer look: nearly every message holds none of it.

Looking for a few words and for digits costs a small part of the patterns that find a secret for certain. A hint may be
wrong about a text that holds nothing; it is never wrong about one that does.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = (
    ("key", "api_key"),
    ("secret", "api_key"),
    ("token", "api_key"),
    ("credential", "api_key"),
    ("authorization", "api_key"),
    ("private key", "private_key"),
    ("passw", "password"),
    ("passphrase", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("_pass", "password"),
    ("://", "password"),
    ("://", "url"),
    ("www.", "url"),
    ("@", "email"),
)
_DIGIT: Final = re.compile("[0-9]")
_DIGITS: Final = ((7, "phone"), (9, "ssn"), (13, "card"), (13, "account"))
_IBAN_START: Final = re.compile("[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})")
_LONG_WORD: Final = 12
"""Every token that is told by its shape has a digit and is written in one piece, at least so long."""

_NONE: Final[frozenset[str]] = frozenset()


def suspected(text: str) -> frozenset[str]:
    """The kinds that this text may hold, by the names of ``Sensitive``."""
    small = text.lower()
    kinds = [kind for word, kind in _WORDS if word in small]
    if _DIGIT.search(text):
        kinds += _by_digits(text, small)
    return frozenset(kinds) if kinds else _NONE


def _by_digits(text: str, small: str) -> list[str]:
    count = len(_DIGIT.findall(text))
    kinds = [kind for least, kind in _DIGITS if count >= least]
    if "pin" in small:
        kinds.append("password")
    if _IBAN_START.search(text):
        kinds.append("iban")
    if len(max(text.split(), key=len, default="")) >= _LONG_WORD:
        kinds.append("api_key")
    return kinds
