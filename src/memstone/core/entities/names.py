"""The names in a statement, and which of them nobody has said."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from memstone.core.text.analyze import query_terms, terms

_WORD: Final = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
_SENTENCE_STARTS: Final = ".!?:"
_SHORTEST_STEM: Final = 4
_STARTS_WITH_NAME: Final = re.compile(
    r"(?P<name>[^\W\d_a-z][^\W\d_]*(?<!s))(?:['\u2019]s |,? (?:is|was|has|had|will|and|[a-z]+(?:ed|s)) )"
)
"""A first word that somebody does something after; it has a capital in any case, so it takes more to be a name."""

_CALENDAR: Final = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|weekend|(?:last|next|this|past|coming|in (?:a|two|three|\d+)) \w+)\b",
    re.IGNORECASE,
)
_GERMAN: Final = re.compile(r"\b(?:und|ist|nicht|eine[nmrs]?|ein|mit|f\u00fcr|auf|seit|(?:Ben|ben|N|n)utzer(?:in)?)\b")
"""Small words of a language that writes every noun with a capital."""


def names_in(statement: str, leave_out: Sequence[str] = ()) -> list[str]:
    """The words with a capital that have it for themselves, not for standing at the start of a sentence."""
    skipped = {word.casefold() for word in leave_out}
    first = _STARTS_WITH_NAME.match(statement)
    found: list[str] = []
    behind = 0
    for word in _WORD.finditer(statement):
        between = statement[behind : word.start()].rstrip(" \"'(")
        is_start = between[-1] in _SENTENCE_STARTS if between else not behind
        behind = word.end()
        bare = word[0].removesuffix("'s").removesuffix("\u2019s")
        named = not is_start or (first is not None and word.start() == 0)
        if bare[0].isupper() and named and bare.casefold() not in skipped and bare != "I":
            found.append(bare)
    return found


def unknown_names(statement: str, said: str, leave_out: Sequence[str] = ()) -> list[str]:
    """The names in a statement that do not stand in what was said, in any form a name may take there.

    "Postgres" is PostgreSQL, "NYC" New York City, and "last month" may well have been April.
    """
    if _GERMAN.search(statement):
        return []
    names = names_in(statement, leave_out)
    words = {word.casefold() for word in _WORD.findall(said)}
    dated = _CALENDAR if _RELATIVE.search(said) else frozenset()
    spelled_out = _initials_known(names, words)
    known = set(terms(said))
    return [
        name
        for name in names
        if name not in spelled_out
        and name.casefold() not in dated
        and not set(query_terms(name)) <= known
        and not any(_same_stem(name.casefold(), word) for word in words)
    ]


def _same_stem(name: str, word: str) -> bool:
    if min(len(name), len(word)) < _SHORTEST_STEM:
        return False
    return name.startswith(word) or word.startswith(name)


def _initials_known(names: Sequence[str], words: Collection[str]) -> set[str]:
    """Names that follow one another and whose first letters are a word of what was said."""
    known: set[str] = set()
    for start in range(len(names)):
        for end in range(start + 2, min(len(names), start + 5) + 1):
            if "".join(name[0] for name in names[start:end]).casefold() in words:
                known.update(names[start:end])
    return known
