"""Find out which of the shown memories an answer used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memstone.language.language import Language
from memstone.language.text.tokens import query_terms

MIN_MEMORY_SHARE: Final = 0.2

MIN_ANSWER_SHARE: Final = 0.5
"""The two must have this much in common of what the memory tells, or that much of what the answer says."""

_LIGHT: Final = 0.2
_NAMED: Final = 2.0
_WORDS: Final = 5_000

_ABOUT: Final = frozenset({"user"})
"""Whom a memory is about is in every memory."""


@dataclass(frozen=True, slots=True)
class Use:
    """What an answer has in common with a memory: the share of the memory, the share of the answer, and the words."""

    id: str
    memory_share: float = 0.0
    answer_share: float = 0.0
    words: tuple[str, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether that is enough to say that the memory was used."""
        return self.memory_share >= MIN_MEMORY_SHARE or self.answer_share >= MIN_ANSWER_SHARE


def measure_uses(question: str, answer: str, visible: Sequence[tuple[str, str]], language: Language) -> list[Use]:
    """Return, for each memory, given by its id and its text, what an answer to a question takes from it."""
    known = _term_set(question) | _ABOUT
    texts = _term_set(answer) - known
    reply = {one: _term_set(text) - known for one, text in visible}
    counts = Counter(word for words in reply.values() for word in words)
    named = {word for _, text in visible for word in _name_words(text, language)}
    light = frozenset(word for word in {*counts, *texts} if not word[0].isdigit() and language.relevance.is_light(word))
    weights = {
        word: _word_weight(word, counts[word], len(visible), is_light=word in light, is_named=word in named)
        for word in {*counts, *texts}
    }
    return [_measure_use(one, words, texts, weights, light) for one, words in reply.items()]


def _measure_use(
    memory_id: str,
    known_names: frozenset[str],
    words: frozenset[str],
    weights: Mapping[str, float],
    light: frozenset[str],
) -> Use:
    shared = sorted(known_names & words)
    if light.issuperset(shared):
        return Use(memory_id)
    return Use(
        memory_id, _weighted_share(shared, known_names, weights), _weighted_share(shared, words, weights), tuple(shared)
    )


def _weighted_share(shared: Collection[str], all_items: Collection[str], weights: Mapping[str, float]) -> float:
    return round(sum(weights[word] for word in shared) / sum(weights[word] for word in all_items), 4)


def _word_weight(word: str, count: int, memories: int, *, is_light: bool, is_named: bool) -> float:
    rare = math.log(1 + (memories + 1) / (count + 0.5))
    return rare * (_LIGHT if is_light else _NAMED if is_named or word[0].isdigit() else 1.0)


def _term_set(text: str) -> frozenset[str]:
    return frozenset(query_terms(text, _WORDS))


def _name_words(text: str, language: Language) -> Iterable[str]:
    """Return the words of the names in a text."""
    return (word for one in language.names.list_marked(text) for word in query_terms(one, _WORDS))
