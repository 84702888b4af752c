"""Whether two facts say the same, judged without a language model, and how well learned facts agree with noted ones.

Two facts say the same when their vectors are near (cosine from 0.80, or from 0.65 with a good share of words in
common), and neither their numbers nor their polarity contradict each other. That is a rough judge: it is for comparing
two states of the rules on the same conversations, not for a statement about how good they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.quality.metrics import Estimate, bootstrap, share
from memstone.drive import drive
from memstone.language.text.tokens import document_terms
from memstone.language.text.words import STOP_WORDS

NEAR: Final = 0.80
NEAR_WITH_WORDS: Final = 0.65
WORDS_IN_COMMON: Final = 0.30
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORDS: Final = {
    word: str(value)
    for value, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
}
_NEGATIVE: Final = re.compile(
    r"\b(?:not|never|no longer|cannot|\w+n't|dislikes?|hates?|stopped|quit|gave up|avoids?|without|refuses?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one session: how many facts there are on each side, and how many of them the other side says, too."""

    learned: int
    noted: int
    learned_found: int
    noted_found: int


def agreement(learned: Sequence[str], noted: Sequence[str], names: Collection[str], embedder: Any) -> Agreement:
    """Return how learned facts agree with those that people noted; ``names`` are in every fact and tell nothing."""
    if not learned or not noted:
        return Agreement(len(learned), len(noted), 0, 0)
    vectors = np.asarray(drive(embedder.embed([*learned, *noted])))
    cosines = vectors[: len(learned)] @ vectors[len(learned) :].T
    known = frozenset(term for name in names for term in document_terms(name))
    same = np.array(
        [
            [say_the_same(one, other, float(cosines[i, j]), known) for j, other in enumerate(noted)]
            for i, one in enumerate(learned)
        ]
    )
    return Agreement(len(learned), len(noted), int(same.any(axis=1).sum()), int(same.any(axis=0).sum()))


def say_the_same(one: str, other: str, cosine: float, names: frozenset[str] = frozenset()) -> bool:
    """Return whether two facts with such a cosine say the same."""
    if cosine < NEAR and (cosine < NEAR_WITH_WORDS or in_common(one, other, names) < WORDS_IN_COMMON):
        return False
    numbers, others = _numbers(one), _numbers(other)
    if numbers and others and numbers.isdisjoint(others):
        return False
    return bool(_NEGATIVE.search(one)) == bool(_NEGATIVE.search(other))


def in_common(one: str, other: str, names: frozenset[str] = frozenset()) -> float:
    """Return the share of words that are in both: 1 when all do."""
    words, others = _content(one) - names, _content(other) - names
    return share(2 * len(words & others), len(words) + len(others))


def _content(text: str) -> set[str]:
    return {term for term in document_terms(text) if term not in STOP_WORDS}


def _numbers(text: str) -> set[str]:
    return {*_NUMBER.findall(text), *(_NUMBER_WORDS[word] for word in text.lower().split() if word in _NUMBER_WORDS)}


def precision_recall_f1(sessions: Sequence[Agreement]) -> tuple[Estimate, Estimate, Estimate]:
    """Estimate over all facts; what is drawn again and again is sessions, because the facts of one are alike."""
    columns = np.array([[one.learned, one.noted, one.learned_found, one.noted_found] for one in sessions], dtype=float)

    def of(which: int) -> Estimate:
        return bootstrap(lambda drawn: _shares(columns[drawn].sum(axis=0))[which], len(columns))

    return of(0), of(1), of(2)


def _shares(sums: Any) -> tuple[float, float, float]:
    learned, noted, learned_found, noted_found = sums
    precision, recall = share(learned_found, learned), share(noted_found, noted)
    return precision, recall, share(2 * precision * recall, precision + recall)
