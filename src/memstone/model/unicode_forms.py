"""Unicode normal forms, in time that grows in proportion to the text.

The library sorts marks that follow one letter one by one, so that a text of nothing but marks takes time by the square
of its length: tens of seconds for the longest text that may be stored, in one call that no other thread interrupts.
No language puts more than a few marks on a letter, and Unicode itself allows to cut after thirty (the stream-safe
format). What is cut here is therefore no text, but it has to have some form all the same.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final, Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_RUN: Final = re.compile(r"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){30}")
"""Thirty signs among which every mark is: no letter and no digit is one, but for two that become marks."""


def normalize_unicode(form: Form, text: str) -> str:
    """Return a normal form of a text; a run of marks is normalized thirty at a time."""
    if text.isascii():
        return text
    cuts = [run.end() for run in _RUN.finditer(text)]
    if not cuts:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, text[start:end]) for start, end in pairwise([0, *cuts, len(text)]))
