"""Whether somebody's words only ask, or tell something as well."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

from memstone.core.text.first_person import Person, person_of, words_of
from memstone.model.questions import asks_alone

_BEGINNING: Final = 3
"""Among so many words that a question begins with stands the one that says what is unknown."""


@cache
def _question_words() -> tuple[frozenset[str], tuple[str, ...]]:
    listed = tomllib.loads(files("memstone.core.text").joinpath("questions.toml").read_text("utf-8"))
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
    return asks_alone(text, _asks_for_something) and (person_of(text) is not Person.OWN or _asks_for_something(text))


def _asks_for_something(text: str) -> bool:
    words, within = _question_words()
    return not words.isdisjoint(words_of(text)[:_BEGINNING]) or any(part in text for part in within)
