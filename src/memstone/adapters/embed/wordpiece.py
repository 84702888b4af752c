"""BERT's uncased WordPiece: text to the token ids a model was trained on.

It gives the ids the ``tokenizers`` package gives, without that package and what it brings along (ADR 0006).
One difference is deliberate: ``[SEP]``, ``[MASK]`` and their like are plain words when they occur in a text,
because what people write must not be able to steer the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from memstone.errors import ConfigError
from memstone.model.unicode_forms import normalize

DATA = Path(__file__).parent / "data"
MAX_TOKENS = 256  # what sentence-transformers allows this model
_CAPITAL_SIGMA, _SMALL_SIGMA = "\u03a3", "\u03c3"
_LONGEST_WORD = 100  # the reference gives up on longer ones
_LONGEST_CACHED = 40
_CACHED_WORDS = 16_384  # about 4 MB when full


class WordPiece:
    """Encodes text with a vocabulary, in which a token's place is its id; safe to use from many threads."""

    def __init__(self, vocabulary: Sequence[str], *, max_tokens: int = MAX_TOKENS) -> None:
        self.max_tokens = max_tokens
        self._room = max_tokens - 2
        self._first = {token: number for number, token in enumerate(vocabulary)}
        self._rest = {token[2:]: number for token, number in self._first.items() if token.startswith("##")}
        self._longest_token = max(map(len, vocabulary), default=0)
        self._begin, self._end, self._unknown = (self._special(name) for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._patterns = _patterns()
        self._cached = lru_cache(_CACHED_WORDS)(lambda word: tuple(self._ids_of(word)))

    @classmethod
    def from_text(cls, text: str) -> WordPiece:
        """From the content of a ``vocab.txt``: one token a line."""
        return cls(text.replace("\r\n", "\n").removesuffix("\n").split("\n"))

    def encode(self, text: str) -> list[int]:
        """The ids of a text between ``[CLS]`` and ``[SEP]``; what goes beyond ``max_tokens`` is left out."""
        words = (match.group() for match in self._patterns.word.finditer(text))
        ids = chain.from_iterable(map(self._ids, words))
        return [self._begin, *islice(ids, self._room), self._end]

    def words(self, text: str) -> list[str]:
        """For each id of a text, the word or sign it is a piece of, in lower case."""
        plain = (self._plain(match.group()) for match in self._patterns.word.finditer(text))
        parts = (match.group() for word in plain for match in self._patterns.part.finditer(word))
        return list(islice((part for part in parts for _ in self._pieces(part)), self._room))

    def _ids(self, word: str) -> Iterator[int] | tuple[int, ...]:
        return self._cached(word) if len(word) <= _LONGEST_CACHED else self._ids_of(word)

    def _ids_of(self, word: str) -> Iterator[int]:
        for match in self._patterns.part.finditer(self._plain(word)):
            yield from self._pieces(match.group())

    def _plain(self, word: str) -> str:
        """Lower case, without accents and control characters."""
        if not word.isascii():
            # The reference lowers letter by letter and so knows no final sigma, unlike str.lower().
            word = normalize("NFD", word).replace(_CAPITAL_SIGMA, _SMALL_SIGMA)
        return self._patterns.drop.sub("", word.lower())

    def _pieces(self, part: str) -> list[int]:
        """Greedy from the left, each time the longest piece the vocabulary has; all or ``[UNK]``."""
        if len(part) > _LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        known, start = self._first, 0
        while start < len(part):
            for end in range(min(len(part), start + self._longest_token), start, -1):
                found = known.get(part[start:end])
                if found is not None:
                    break
            else:
                return [self._unknown]
            ids.append(found)
            known, start = self._rest, end
        return ids

    def _special(self, name: str) -> int:
        try:
            return self._first[name]
        except KeyError:
            raise ConfigError(
                f"the vocabulary has no {name}", hint="vocab.txt must be the one of an uncased BERT model"
            ) from None


class _Patterns(NamedTuple):
    word: re.Pattern[str]
    drop: re.Pattern[str]
    part: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    classes = _character_classes()
    space, single = classes["space"], classes["punctuation"] + classes["ideograph"]
    return _Patterns(
        word=re.compile(f"[^{space}]+"),
        drop=re.compile(f"[{classes['drop']}]+"),
        part=re.compile(f"[{single}]|[^{single}]+"),
    )


def _character_classes() -> dict[str, str]:
    """Each class of ``characters.txt`` as the inside of a regular expression's brackets."""
    classes: dict[str, str] = {}
    for line in (DATA / "characters.txt").read_text("ascii").splitlines():
        if not line.startswith("#"):
            name, *ranges = line.split()
            classes[name] = classes.get(name, "") + "".join(map(_bracket_range, ranges))
    return classes


def _bracket_range(ends: str) -> str:
    first, _, last = ends.partition("-")
    return f"\\U{first:0>8}-\\U{last or first:0>8}"
