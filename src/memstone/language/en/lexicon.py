"""Word lists of the rules. The functions that use them are in other modules."""

from __future__ import annotations

from typing import Final

from memstone.language.lists import read_data

_DATA: Final = read_data("en", "lexicon")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KIN: Final = _word_set(_DATA["kin"])
"""People who are in a relation to the speaker."""


PETS: Final = _word_set(
    "dog dogs puppy pup cat cats kitten hamster rabbit parrot horse fish goldfish turtle guinea-pig pet"
)

NEGATIONS: Final = _word_set(
    "not no never none nothing nobody neither nor without cannot hardly barely rarely seldom nowhere"
)

STOP_WORDS: Final = _word_set(_DATA["stop_words"])

LIGHT: Final = _word_set(_DATA["light"])
"""Words that say little about what a sentence is about; they count for less."""


CESSATION: Final = _DATA["cessation"]
"""Words that end something."""

CESSATION_AROUND: Final = _DATA["cessation_around"]
"""The same with what is ended in the middle."""


AVERSION: Final = _DATA["aversion"]
"""Words of not liking."""

NOT_NEGATIVE: Final = _DATA["not_negative"]
"""Phrases that hold a negative word and mean nothing negative."""
