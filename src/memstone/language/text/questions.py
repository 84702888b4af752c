"""Decide whether a text only asks or also states something."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from typing import Final

from memstone.language.lists import read_data
from memstone.model.message import asks_alone

# --- whether a message mentions whoever writes it, in any of the languages listed in ---------------------------------


_LETTER: Final = r"(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff])"
"""With the signs that stand at a letter: vowels of Indian scripts, accents."""

_WORD: Final = re.compile(rf"{_LETTER}+(?:['\u2019]{_LETTER}+)*")


class Person(IntEnum):
    """How much of the writer is in a message: nothing, that they do something, or something that is theirs."""

    NOBODY = 0
    SELF = 1
    OWN = 2


@cache
def _first_person_words() -> tuple[frozenset[str], frozenset[str], tuple[str, ...]]:
    listed = read_data("text", "first_person")
    own, self_, within = (
        [word for language in listed.values() for word in language.get(name, "").split()]
        for name in ("own", "self", "within")
    )
    return frozenset(own), frozenset(self_), tuple(within)


def words_of(message: str) -> list[str]:
    """Return the words of a message, in small letters."""
    return [word.replace("\u2019", "'") for word in _WORD.findall(message.casefold())]


def person_of(message: str) -> Person:
    """Return how much of the writer is in a message."""
    own, self_, within = _first_person_words()
    words = {*words_of(message)}
    if not words.isdisjoint(own) or any(part in message for part in within):
        return Person.OWN
    return Person.NOBODY if words.isdisjoint(self_) else Person.SELF


# --- whether somebody's words only ask, or tell something as well -----------------------------------------------------


_BEGINNING: Final = 3
"""Among so many words that a question begins with stands the one that says what is unknown."""


@cache
def _question_words() -> tuple[frozenset[str], tuple[str, ...]]:
    listed = read_data("text", "questions")
    words, within = (
        [word for language in listed.values() for word in language.get(name, "").split()]
        for name in ("words", "within")
    )
    return frozenset(words), tuple(within)


def only_asks(text: str) -> bool:
    """Return whether a text asks and tells nothing.

    A question with something of whoever writes it ("Can I take ibuprofen with my warfarin?") tells that they have it,
    unless that is what it asks for ("What is my name?").
    """
    return asks_alone(text, begins_as_question) and (person_of(text) is not Person.OWN or begins_as_question(text))


def begins_as_question(text: str) -> bool:
    """Return whether a word that asks stands at the beginning of a text, in any of the languages listed."""
    words, within = _question_words()
    return not words.isdisjoint(words_of(text)[:_BEGINNING]) or any(part in text for part in within)
