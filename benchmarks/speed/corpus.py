"""The texts: made-up sentences with the word statistics of real ones.

Everything is a pure function of an index, so that every process, whatever its Python, sees the same
corpus, and a small corpus is the beginning of a large one.
"""

from __future__ import annotations

import functools
import itertools
import random
from dataclasses import dataclass
from typing import Final

VOCABULARY_SIZE: Final = 20_000
SHORTEST: Final = 8
LONGEST: Final = 25
SEED: Final = 20_260_507

# The most frequent ranks are real function words: a text index may know them and skip them, as it
# would in real text. Without them the commonest made-up word would be in four of five sentences.
FUNCTION_WORDS: Final = tuple(
    """the to and of a in i is that it for you was on my with be have at but not this are as we she he they
    so from or an by me her his our your about when there what had were if would which will all can just like
    up out one them been has than some who do over their then more now also into only other after before
    because very how its no""".split()
)
_CONSONANTS: Final = "bcdfghjklmnprstvz"
_VOWELS: Final = "aeiou"


@dataclass(frozen=True, slots=True)
class Item:
    """One text and whose it is."""

    text: str
    user: str


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """Return all words, the most frequent first."""
    rng = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    words = dict.fromkeys(FUNCTION_WORDS)
    while len(words) < VOCABULARY_SIZE:
        words.setdefault(_made_up_word(rng))
    return tuple(words)


def _made_up_word(rng: random.Random) -> str:
    syllables = rng.choices((2, 3, 4), weights=(3, 5, 2))[0]
    return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(syllables)) + rng.choice("nrst")


@functools.cache
def _cumulative_weights() -> tuple[float, ...]:
    """Return weights by Zipf's law with a flattened head (Mandelbrot's form)."""
    return tuple(itertools.accumulate(1.0 / (rank + 2.7) for rank in range(VOCABULARY_SIZE)))


def sentence(index: int) -> str:
    """Return the text number ``index``."""
    rng = random.Random(SEED * 1_000_003 + index)  # noqa: S311 - reproducible, not secret
    count = rng.randint(SHORTEST, LONGEST)
    words = rng.choices(vocabulary(), cum_weights=_cumulative_weights(), k=count)
    return " ".join(words).capitalize() + "."


def user_of(index: int, users: int) -> str:
    """Return whose the text number ``index`` is, when ``users`` people share the corpus evenly."""
    return f"user{index % users}"


def items(start: int, stop: int, users: int) -> list[Item]:
    """Return the texts from ``start`` up to ``stop``."""
    return [Item(sentence(index), user_of(index, users)) for index in range(start, stop)]


def query(number: int, size: int, users: int) -> Item:
    """Return a question: three to six words of one stored text, asked by the person it belongs to."""
    rng = random.Random(SEED * 7_919 - number)  # noqa: S311 - reproducible, not secret
    target = rng.randrange(size)
    words = list(dict.fromkeys(sentence(target)[:-1].lower().split()))
    return Item(" ".join(rng.sample(words, min(len(words), rng.randint(3, 6)))), user_of(target, users))


def queries(count: int, size: int, users: int) -> list[Item]:
    """Return the first ``count`` questions to a corpus of ``size`` texts."""
    return [query(number, size, users) for number in range(count)]
