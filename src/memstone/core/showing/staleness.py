"""Whether somebody's words say what no longer holds: people repeat what they told before, and no fact comes of that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memstone.core.text.analyze import query_terms, terms
from memstone.model.instant import Instant

_USER: Final = frozenset(query_terms("user"))
_DENIALS: Final = frozenset(query_terms("not no never without longer anymore"))
_FEWEST: Final = 2
"""With fewer words a fact is too little to be recognised in what somebody says."""


@dataclass(frozen=True, slots=True)
class EndedFact:
    """The words of a fact, and until when it held; None if it still does and models may not be shown it."""

    words: frozenset[str]
    until: Instant | None


class EndedFacts:
    """Everything that once was known of somebody and is not to be told any more."""

    def __init__(self, facts: Iterable[tuple[str, Instant | None]], current: Iterable[str]) -> None:
        self._by_word: dict[str, list[EndedFact]] = {}
        found = {(words, until) for text, until in facts if len(words := _words_of(text)) >= _FEWEST}
        known = dict[str, list[frozenset[str]]]()
        for one in {_words_of(text) for text in current} if found else ():
            for word in one:
                known.setdefault(word, []).append(one)
        for words, until in found:
            rare = max(words, key=len)
            if until is None or not _is_held(words, known.get(rare, ())):
                self._by_word.setdefault(rare, []).append(EndedFact(words, until))

    def __bool__(self) -> bool:
        return bool(self._by_word)

    def tells(self, text: str, said_at: Instant) -> bool:
        """Tell whether words that were said at a moment hold every word of a fact that has ended since."""
        if not self._by_word:
            return False
        said = frozenset(terms(text))
        possible = (fact for word in said & self._by_word.keys() for fact in self._by_word[word])
        return any(fact.words <= said and (fact.until is None or said_at < fact.until) for fact in possible)


@lru_cache(maxsize=8192)  # the same facts are looked at with every message
def _words_of(text: str) -> frozenset[str]:
    return frozenset(query_terms(text)) - _USER


def _is_held(words: frozenset[str], known: Sequence[frozenset[str]]) -> bool:
    """Tell whether something that is known says this and perhaps more, and does not deny it."""
    return any(words <= one and words & _DENIALS == one & _DENIALS for one in known)


NOTHING_ENDED: Final = EndedFacts((), ())
