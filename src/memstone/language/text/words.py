"""Data of the analyser: stop words, and how letters are folded."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category, decimal

from memstone.model.unicode_forms import normalize_unicode

STOP_WORDS: Final = frozenset(
    """
    a about am an and any are aren't as at be been being but by can can't could couldn't did didn't do does doesn't
    doing don't for from had hadn't has hasn't have haven't having he her here hers him his how i if in into is isn't it
    its itself me my myself of on or our ours out she should so some than that the their theirs them then there
    these they this those to too up very was wasn't we were weren't what when where which while who whom whose why
    will with won't would wouldn't you your yours yourself http https www
    """.replace("'", "").split()
)
"""Words that a question is put with, not what it is about. Not among them: "may" (the month) and "us" (the country)."""

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3021-\u3029\u3041-\u3096\u3099-\u309f\u30a1-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana
    "\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Bopomofo, Han
)
"""Scripts whose words are not set apart by blanks, as the inside of a regular expression's class."""

FLAG_LETTERS: Final = "\U0001f1e6-\U0001f1ff"
"""Two of these make the flag of a country; as the inside of a regular expression's class."""

_LETTERS: Final = {
    "\u00e6": "ae",
    "\u00f0": "d",
    "\u00f8": "o",
    "\u00fe": "th",
    "\u0111": "d",
    "\u0127": "h",
    "\u0131": "i",
    "\u0142": "l",
    "\u0153": "oe",
    "\u0167": "t",
}
"""Letters with a stroke or of two in one, which Unicode does not take apart."""

_APOSTROPHES: Final = "\u02b9\u02bb\u02bc\u055a\u05f3\u2018\u2019\u201b\u2032\ua78c"
_HYPHENS: Final = "\u2010\u2212"
_ACUTE: Final = "\u00b4"  # typed for an apostrophe; its compatibility form is a blank with an accent

_OPTIONAL_MARKS: Final = (
    (0x0300, 0x036F),  # accents of Latin, Greek and Cyrillic
    (0x0483, 0x0489),
    (0x0591, 0x05C7),  # Hebrew points
    (0x0610, 0x061A),  # Arabic vowel signs
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x06D6, 0x06ED),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE2F),  # variants of a character's look
    (0xE0100, 0xE01EF),
)
"""Marks a writer may leave out. Those of Devanagari or Thai are not here: there they are the word's vowels."""

_FIRST_PICTURE: Final = 0x2190
_TATWEEL: Final = 0x0640
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_FLAGS: Final = range(0x1F1E6, 0x1F200)


def fold_letters(text: str) -> str:
    """Return the text with one form of each letter: no case, no accents, plain digits, apostrophes and hyphens.

    Of the ASCII range nothing but case changes; beyond it, what is not part of a word is a blank.
    """
    apart = normalize_unicode("NFKD", text.replace(_ACUTE, "'")).casefold()
    return normalize_unicode("NFC", apart.translate(_FOLDS))


class _CaseFolds(dict[int, str]):
    """What becomes of a character; worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(code)
        return folded


def _fold_character(code: int) -> str:
    char = chr(code)
    kind = category(char)
    if kind[0] in "SPZ" or kind in ("Cc", "Cs") or _is_noncharacter(code):
        return _folded_sign(code, kind)
    if (
        kind == "Cf"
        or code == _TATWEEL
        or (kind[0] == "M" and any(low <= code <= high for low, high in _OPTIONAL_MARKS))
    ):
        return ""
    return str(decimal(char)) if kind == "Nd" else char


def _folded_sign(code: int, kind: str) -> str:
    if code in _FLAGS:
        return chr(code)
    if code in _SKIN_TONES:
        return ""
    is_picture = kind in ("So", "Sm") and code >= _FIRST_PICTURE
    return f" {chr(code)} " if is_picture else " "


def _is_noncharacter(code: int) -> bool:
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004 - fixed by Unicode for ever


_FOLDS: Final = _CaseFolds(
    {code: chr(code) for code in range(128)}
    | {ord(char): folded for char, folded in _LETTERS.items()}
    | dict.fromkeys(map(ord, _APOSTROPHES), "'")
    | dict.fromkeys(map(ord, _HYPHENS), "-")
)


_LETTER_RUN: Final = re.compile(r"[^\W\d_]+")


def has_words(text: str) -> bool:
    """Return whether there are words in a text, in whatever language; not only numbers, marks or pictures."""
    return _LETTER_RUN.search(text) is not None
