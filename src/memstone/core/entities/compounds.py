"""Names without a capital: known ones in small letters, and compounds such as "support group"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.entities.lists import HEADS, KNOWN, NOUNS_LIKE_ADJECTIVES, ORDINARY, UNCASED, UNCASED_PAIRS
from memstone.core.entities.types import Spotted
from memstone.model.entity import EntityType

_WORD: Final = re.compile(r"[a-z]+")
_APART: Final = dict.fromkeys(map(ord, ".,;:!?\"'()[]\u2019\u201c\u201d\u2026"), " ")
_DETERMINERS: Final = frozenset("a an the my our your his her their this that some".split())
_ADJECTIVES: Final = tuple("ly ful ous ive ible able less est ed ish al ic".split())


def words_of(text: str) -> set[str]:
    """The words of a text as they stand there, without the marks around them."""
    return set(text.translate(_APART).split())


def small_names(text: str, words: set[str]) -> Iterator[Spotted]:
    """Known names in small letters, and compounds; ``words`` are those of the text."""
    if words.isdisjoint(_TELLING):
        return
    longer = [name for word in words & _FIRSTS for name in UNCASED_PAIRS[word]]
    taken: set[int] = set()
    for name in (*longer, *(words & UNCASED)):
        start = place_of(text, name, 0)
        if start >= 0 and start not in taken:
            taken.add(start)
            yield Spotted(start, start + len(name), name, KNOWN[name])
    for word in words & _HEADS:
        yield from _compound(text, word)


def place_of(text: str, word: str, start: int) -> int:
    """Where a word stands by itself, or -1."""
    at = text.find(word, start)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if not before.isalnum() and not after.isalnum():
            return at
        at = text.find(word, at + 1)
    return -1


def _compound(text: str, head: str) -> Iterator[Spotted]:
    at = place_of(text, head, 0)
    while at > 0:
        end = at + len(head)
        start = _compound_start(text, at) if text[at - 1] == " " and not _goes_on(text, end) else at
        if start < at:
            yield Spotted(start, end, text[start:at] + HEAD_FORMS[head], EntityType.CONCEPT)
        at = place_of(text, head, end)


def _compound_start(text: str, at: int) -> int:
    """Where the nouns before a noun begin: one, or two if the first makes a compound with the second."""
    modifier, before = _word_before(text, at)
    if not _modifies(modifier, before):
        return at
    start = at - len(modifier) - 1
    if modifier in HEAD_FORMS:
        outer, before = _word_before(text, start)
        start -= len(outer) + 1 if _modifies(outer, before) else 0
    return start


def _word_before(text: str, at: int) -> tuple[str, str]:
    """The word before a blank at ``at - 1`` and the one before that."""
    words = text[max(0, at - 60) : at].split(" ")
    return words[-2] if len(words) > 1 else "", words[-3].casefold() if len(words) > 2 else ""  # noqa: PLR2004 - third


def _goes_on(text: str, end: int) -> bool:
    """Whether the next word is a noun of the same compound."""
    following = _WORD.match(text, end + 1) if text[end : end + 1] == " " else None
    return following is not None and following[0] in HEAD_FORMS


def _modifies(word: str, before: str) -> bool:
    if len(word) <= 2 or not word.isalpha() or not word.islower() or word in ORDINARY:  # noqa: PLR2004 - no noun
        return False
    if word.endswith("ing"):  # a painting class, but not: we were painting classes
        return before in _DETERMINERS
    return word in NOUNS_LIKE_ADJECTIVES or not word.endswith(_ADJECTIVES)


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


HEAD_FORMS: Final = {**{_plural(head): head for head in HEADS}, **{head: head for head in HEADS}}
"""Every form of the second noun of a compound, and the form it is kept in."""

_HEADS: Final = frozenset(HEAD_FORMS)
_FIRSTS: Final = frozenset(UNCASED_PAIRS)
_TELLING: Final = _HEADS | _FIRSTS | UNCASED
"""Without any of these words a text has no names in small letters."""
