"""Word lists of the gate. Each list is a kind of word; you can add words without a rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from memstone.language.lists import read_data

_DATA: Final = read_data("en", "gate")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def join_alternatives(words: Iterable[str]) -> str:
    """Return words as the alternatives of a pattern; ``_`` in word stands for blank or hyphen."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word))).replace("_", "[ -]")


KIN: Final = _word_set(_DATA["kin"])
"""Relatives: who says "mum" without more means their own."""

PRIVATE_THINGS: Final = _word_set(_DATA["private_things"])
"""What people call "the" without having said which: their own."""

LEISURE: Final = _word_set(_DATA["leisure"])
"""What is chosen by taste and circumstances."""

PERSONAL_VERBS: Final = _word_set(_DATA["personal_verbs"])
"""What one does after having decided for oneself."""

HUMAN_VERBS: Final = _word_set(_DATA["human_verbs"])
"""What private people are said to do, be or want."""

PRIVATE_NOUNS: Final = _word_set(_DATA["private_nouns"])
"""What private people have."""

PUBLIC_WORDS: Final = _word_set(_DATA["public_words"])
"""Subjects of general knowledge."""

FAMOUS: Final = _word_set(_DATA["famous"])
"""Names that everybody means the same by."""

PLACES_AND_BRANDS: Final = _word_set(_DATA["places_and_brands"])
"""Capitalised words that are no private person."""

CALENDAR: Final = _word_set(_DATA["calendar"])
"""Capitalised words that are neither people nor public."""

TECH: Final = _word_set(_DATA["tech"])
"""Computing; "my" in such a question is usually anybody's."""

TECH_WEAK: Final = _word_set(_DATA["tech_weak"])
"""Words of computing that mean something else as well; two of them are needed."""

TECH_THINGS: Final = _word_set(_DATA["tech_things"])

COMMON_WORDS: Final = _word_set(_DATA["common_words"])
"""Names that are words too count only where they are written as names."""
