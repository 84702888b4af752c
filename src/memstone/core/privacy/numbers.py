"""Finders of secrets: by a pattern, and of numbers that can be told by their check digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]
Finder: TypeAlias = Callable[[str], Iterator[Span]]
Test: TypeAlias = Callable[[str], bool]


def pattern(pattern: str, test: Test | None = None, flags: int = 0) -> Finder:
    """Finds the last group of a pattern (or all of it), if the test holds for it."""
    compiled = re.compile(pattern, flags | re.ASCII)

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            group = match.lastindex or 0
            if test is None or test(match[group]):
                yield match.span(group)

    return find


def any_of(*finders: Finder) -> Finder:
    """Finds what any of them finds."""
    return lambda text: chain.from_iterable(finder(text) for finder in finders)


_SHAPES: Final = "[0-9]{13,19} (?:[0-9]{4}S){3}[0-9]{4} (?:[0-9]{4}S){3,4}[0-9]{1,3} [0-9]{4}S[0-9]{6}S[0-9]{4,5}"
_LONG_NUMBER: Final = re.compile("[0-9](?:[ \u00a0-]?[0-9]){12}")
_CARD_START: Final = re.compile("[3-6]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720")


def numbers(test: Test) -> Finder:
    """Finds numbers of 13 to 19 digits, in one piece or in the groups they are written in on a card."""
    # Looked at ahead, not consumed: a number before the card must not take the card's first digits along.
    shapes = [shape.replace("S", "[ \u00a0-]") for shape in _SHAPES.split()]
    find = any_of(*(pattern(rf"(?<!\w)(?<![0-9][.,])(?=({shape})(?!\w))", test) for shape in shapes))
    return lambda text: find(text) if _LONG_NUMBER.search(text) else iter(())


def is_card(digits: str) -> bool:
    """The check digit is right and the number starts as cards do; a time in milliseconds does not."""
    numbers = [int(char) for char in reversed(digits) if char.isdigit()]
    luhn = (sum(numbers[::2]) + sum(sum(divmod(2 * number, 10)) for number in numbers[1::2])) % 10 == 0
    return luhn and _CARD_START.match(digits) is not None


_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[0-9]{2}(?:[ ]?[A-Za-z0-9]){11,30}")
_IBAN_CHARS: Final = {
    word[:2]: int(word[2:])
    for word in """AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29
    ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21
    LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24
    SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20""".split()
}


def ibans(text: str) -> Iterator[Span]:
    """Finds account numbers whose country, length and check digits are right."""
    for match in _IBAN.finditer(text):
        wanted = _IBAN_CHARS.get(match[1].upper(), 0)
        places = [at for at in range(*match.span()) if text[at] != " "][:wanted]
        if wanted and len(places) == wanted and not text[places[-1] + 1 : places[-1] + 2].isalnum():
            chars = "".join(text[at] for at in places)
            if int("".join(str(int(char, 36)) for char in chars[4:] + chars[:4])) % 97 == 1:
                yield places[0], places[-1] + 1
