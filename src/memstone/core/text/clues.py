"""Words a pattern cannot match without, read off the pattern itself.

Looking for a short string in a text is many times cheaper than trying a pattern at each of its letters, and most
patterns match few texts. So a pattern that has such clues is tried only on a text that holds one. A pattern that is
written in a way not understood here has no clues and is always tried: what matches is never changed.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memstone.core.text.words import STOP_WORDS
from memstone.model.memory import Found

# --- words a pattern cannot match without, read off the pattern itself ------------------------------------------------


_NONE: Final[frozenset[str]] = frozenset()
_SHORTEST: Final = 2
_PARTS: Final = re.compile(
    r"(?P<skipped>\(\?<?[=!])|(?P<group>\((?:\?(?:-i)?:|\?P<\w+>|(?!\?)))|(?P<strange>\()|(?P<end>\))|(?P<bar>\|)"
    r"|(?P<counted>(?:[*+?]|\{\d*(?:,\d*)?\})[?+]?)|(?P<edge>\\[bBAZ]|[$^])|(?P<any>\\[wWdDsS]|\.|\[\^?\]?(?:\\.|[^]\\])*\])"
    r"|\\(?P<escaped>[^\w])|(?P<letter>[^\\])",
    re.DOTALL,
)


@dataclass(slots=True)
class Clued:
    """A compiled pattern that is tried only on a text with one of its clues."""

    pattern: re.Pattern[str]
    clues: tuple[str, ...]
    folds: bool

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self.pattern.search(text) if self.may_match(text) else None

    def match(self, text: str) -> re.Match[str] | None:
        """A match at the start."""
        return self.pattern.match(text) if self.may_match(text) else None

    def sub(self, replacement: str, text: str) -> str:
        """The text with every match replaced."""
        return self.pattern.sub(replacement, text) if self.may_match(text) else text

    def may_match(self, text: str) -> bool:
        """Whether a text holds a clue, or the pattern has none."""
        if self.folds:
            if not text.isascii():  # some letters of other scripts count as "i" or "s" where case does not matter
                return True
            text = text.lower()
        return is_possible(text, self.clues)


def is_possible(text: str, clues: tuple[str, ...]) -> bool:
    """Whether what has these clues can match a text: it holds one of them, or there are none."""
    for clue in clues:  # twice as fast as any() over a generator
        if clue in text:
            return True
    return not clues


def clues_of_all(patterns: Iterable[Clued]) -> tuple[str, ...]:
    """Clues of a table: whatever one of these patterns matches holds one. None as soon as a pattern has none."""
    found = [one.clues for one in patterns]
    return tuple(sorted(_drop_redundant_clues(clue for clues in found for clue in clues))) if all(found) else ()


def compile_with_clues(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Clued:
    """A pattern, compiled, with its clues."""
    compiled = re.compile(pattern, flags)
    return Clued(compiled, tuple(sorted(clues_of(compiled))), folds=bool(compiled.flags & re.IGNORECASE))


def clues_of(pattern: re.Pattern[str]) -> frozenset[str]:
    """Strings of which every match holds at least one, in lower case where case does not matter; none if unknown."""
    if pattern.flags & re.VERBOSE:
        return _NONE
    try:
        clues = _Reader(pattern.pattern).read()
    except _Strange:
        return _NONE
    return frozenset(map(str.lower, clues)) if pattern.flags & re.IGNORECASE else clues


class _Strange(Exception):
    """Something in a pattern that is not understood."""


@dataclass(slots=True)
class _Branch:
    """One alternative: the literal text being read, and the clues of what was read before."""

    literal: str = ""
    found: list[frozenset[str]] = field(default_factory=list)

    def close(self) -> None:
        """The literal text ends here."""
        if len(self.literal) >= _SHORTEST:
            self.found.append(frozenset({self.literal}))
        self.literal = ""

    def best(self) -> frozenset[str]:
        """The most telling clues: those with most letters in the poorest of them, then the fewest."""
        self.close()
        return max(self.found, key=lambda clues: (min(map(_count_letters, clues)), -len(clues)), default=_NONE)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def read(self) -> frozenset[str]:
        clues = self._alternatives()
        if self._at < len(self._pattern):
            raise _Strange
        return clues

    def _next(self) -> tuple[str, str]:
        """The kind and text of the next part; ('', '') at the end."""
        if self._at == len(self._pattern):
            return "", ""
        found = _PARTS.match(self._pattern, self._at)
        if found is None:
            raise _Strange
        self._at = found.end()
        kind = found.lastgroup or ""
        return kind, found[kind]

    def _alternatives(self) -> frozenset[str]:
        """Up to the end of the group or pattern: one clue of each alternative, or none at all."""
        branches = [_Branch()]
        while True:
            kind, text = self._next()
            if kind in ("", "end"):
                every = [branch.best() for branch in branches]
                return (
                    frozenset(_drop_redundant_clues({clue for clues in every for clue in clues}))
                    if all(every)
                    else _NONE
                )
            if kind == "bar":
                branches.append(_Branch())
            elif kind in _READ:
                _READ[kind](self, branches[-1], text)
            else:
                raise _Strange

    def _is_optional(self) -> bool | None:
        """Whether the part just read may be missing; None where nothing counts it."""
        at = self._at
        kind, text = self._next()
        if kind != "counted":
            self._at = at
            return None
        return text[0] in "*?" or text.startswith(("{0", "{,"))

    def letter(self, branch: _Branch, text: str) -> None:
        optional = self._is_optional()
        if optional is None:
            branch.literal += text
            return
        if not optional:
            branch.literal += text
        branch.close()

    def group(self, branch: _Branch, text: str) -> None:
        del text
        branch.close()
        clues = self._alternatives()
        if not self._is_optional() and clues:
            branch.found.append(clues)

    def skipped(self, branch: _Branch, text: str) -> None:
        """What is only looked at beside a match: it says nothing of the match, and takes no letter of it."""
        del text
        branch.close()
        self._alternatives()

    def gap(self, branch: _Branch, text: str) -> None:
        """A letter that can be many."""
        del text
        self._is_optional()
        branch.close()

    def edge(self, branch: _Branch, text: str) -> None:
        """A place between letters: the literal text goes on behind it."""


_READ: Final[dict[str, Callable[[_Reader, _Branch, str], None]]] = {
    "letter": _Reader.letter,
    "escaped": _Reader.letter,
    "group": _Reader.group,
    "skipped": _Reader.skipped,
    "any": _Reader.gap,
    "edge": _Reader.edge,
}


def _count_letters(clue: str) -> int:
    return sum(map(str.isalpha, clue))


def _drop_redundant_clues(clues: Iterable[str]) -> list[str]:
    """Without clues that hold another one."""
    kept: list[str] = []
    for clue in sorted(set(clues), key=len):
        if not any(shorter in clue for shorter in kept):
            kept.append(clue)
    return kept


# --- points for keywords ----------------------------------------------------------------------------------------------


WHOLE_QUERY: Final = 20
IN_KEY: Final = 6
EACH_OCCURRENCE: Final = 3
_TELLING: Final = 4


def by_keywords(query: str, rows: Iterable[Found]) -> list[tuple[Found, int]]:
    """Rows with their points: most points first, then newest; rows without any point are left out.

    Without a query there is nothing to give points for: all rows come, newest first.
    """
    wanted = _Query(query)
    scored = ((row, wanted.points(row.record.text, row.record.key, row.record.metadata)) for row in rows)
    return _sort_by_score((row, points) for row, points in scored if points or not wanted.text)


def by_labels(query: str, rows: Iterable[Found]) -> list[tuple[Found, int]]:
    """Return the same for what keys and metadata hold, whatever the texts say."""
    wanted = _Query(query)
    scored = ((row, wanted.points("", row.record.key, row.record.metadata)) for row in rows)
    return _sort_by_score((row, points) for row, points in scored if points)


def _sort_by_score(scored: Iterable[tuple[Found, int]]) -> list[tuple[Found, int]]:
    newest = sorted(scored, key=lambda item: (item[0].record.created_at, item[0].record.seq), reverse=True)
    return sorted(newest, key=lambda item: -item[1])


def by_word_starts(query: str, rows: Iterable[Found]) -> list[tuple[Found, int]]:
    """Rows in which words begin as telling words of the query do, by how many do; of equals the newest first.

    Telling are words of four letters and more that are not in every sentence.
    """
    wanted = tuple(word for word in _query_words(query.lower()) if len(word) >= _TELLING and word not in STOP_WORDS)
    if not wanted:
        return []
    scored = ((row, _count_word_starts(row.record.text.lower(), wanted)) for row in rows)
    kept = [(row, points) for row, points in scored if points]
    kept.sort(key=lambda item: (item[1], item[0].record.occurred_at, item[0].record.seq), reverse=True)
    return kept


def _count_word_starts(text: str, wanted: tuple[str, ...]) -> int:
    return sum(_without_marks(part).startswith(wanted) for part in text.split())


class _Query:
    def __init__(self, query: str) -> None:
        self.text = query.strip().lower()
        self._words = _query_words(self.text)

    def points(self, text: str, key: str | None, metadata: dict[str, Any] | None) -> int:
        """20 when the whole query occurs; for each of its words 6 in the key, else 3 a time."""
        if not self.text:
            return 0
        name = (key or "").lower()
        content, about = text.lower(), _as_text(metadata)
        whole = WHOLE_QUERY if any(self.text in haystack for haystack in (content, name, about)) else 0
        return whole + sum(
            IN_KEY if word in name else EACH_OCCURRENCE * (content.count(word) + about.count(word))
            for word in self._words
        )


def _query_words(query: str) -> list[str]:
    """The words of a query, each once, without the marks around them.

    One Latin letter or digit alone is no word here: as a substring "a" is everywhere, and would outweigh all the rest.
    """
    bare = (_without_marks(part) for part in query.split())
    return list(dict.fromkeys(word for word in bare if len(word) > 1 or (word and not word.isascii())))


def _without_marks(part: str) -> str:
    places = [place for place, char in enumerate(part) if char.isalnum()]
    return part[places[0] : places[-1] + 1] if places else ""


def _as_text(metadata: dict[str, Any] | None) -> str:
    if not metadata:
        return ""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), default=str).lower()


# --- bM25 over a handful of texts, for questions the full-text mirror cannot answer (the past) ------------------------


K1: Final = 1.2
B: Final = 0.75


def score_bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """A score per document; 0 where no word occurs."""
    if not documents:
        return []
    average = sum(map(len, documents)) / len(documents) or 1.0
    counted = [Counter(document) for document in documents]
    weights = {word: _idf_weight(sum(word in counts for counts in counted), len(documents)) for word in set(query)}
    return [
        _score_document(weights, counts, len(document) / average)
        for counts, document in zip(counted, documents, strict=True)
    ]


def _idf_weight(rows: int, total: int) -> float:
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def _score_document(weights: dict[str, float], counts: Counter[str], length: float) -> float:
    spread = K1 * (1 - B + B * length)
    return sum(weight * counts[word] * (K1 + 1) / (counts[word] + spread) for word, weight in weights.items())
