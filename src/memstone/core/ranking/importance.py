"""How much a fact matters for knowing a person: who they are and how they live first, what they plan last."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple

from memstone.core.entities.find import capital_names
from memstone.core.entities.names import COMMON
from memstone.core.rules.stance import is_light, topics_of
from memstone.core.text.analyze import query_terms
from memstone.errors import ConfigError
from memstone.model.instant import Instant, datetime_from_instant

# --- how much a fact matters for knowing a person ---------------------------------------------------------------------


CLASSES: Final = ("pinned", "identity", "health", "family", "home", "work", "preference", "project", "other")
_OF_CATEGORY: Final = {
    "instruction": "preference",
    "style": "preference",
    "identity": "identity",
    "biography": "identity",
    "health": "health",
    "family": "family",
    "relationship": "family",
    "home": "home",
    "location": "home",
    "work": "work",
    "study": "work",
    "education": "work",
    "skill": "work",
    "preference": "preference",
    "opinion": "preference",
    "goal": "project",
    "plan": "project",
    "project": "project",
    "decision": "project",
    "date": "project",
}
_OF_TOPIC: Final = {
    "name": "identity",
    "age": "identity",
    "visa": "identity",
    "spoken": "identity",
    "illness": "health",
    "medicine": "health",
    "diet": "health",
    "alcohol": "health",
    "smoking": "health",
    "therapist": "health",
    "love": "family",
    "baby": "family",
    "household": "family",
    "pet": "family",
    "school": "family",
    "home": "home",
    "timezone": "home",
    "work": "work",
    "team": "work",
    "boss": "work",
    "study": "work",
    "favourite": "preference",
    "answers": "preference",
    "project": "project",
    "trip": "project",
    "wedding": "project",
}
_KIN: Final = re.compile(
    r"\b(?:wife|husband|partner|spouse|fianc\w+|girlfriend|boyfriend|son|daughter|child(?:ren)?|kids?|mother|father|mum|mom|dad"
    r"|parents?|sister|brother|siblings?|grand\w+|nephew|niece|aunt|uncle|cousin|twins)\b"
)

_OF_SELF: Final = re.compile(
    r"(?!(?:the )?user(?:'s (?!(?:\w+ )?(?:\w*names?|age|birthday|pronouns?|nationality|visa|languages?)\b)"
    r"| (?:has|had|owns?|bought|restor\w+|is restoring|is building|named|calls (?:his|her|their|the))\b))"
)
"""What is not about something of the user's: a dog that is called something is not who the user is."""


@lru_cache(maxsize=8192)  # the same facts are ranked again whenever one is added
def importance_rank(category: str, text: str) -> int:
    """Return the place of what a fact is about in ``CLASSES``; the first is for what a person pins."""
    lowered = text.lower()
    found = {_OF_CATEGORY.get(category, "other"), *(_OF_TOPIC.get(one, "other") for one in topics_of(lowered))}
    if _KIN.search(lowered):
        found = (found | {"family"}) - {"identity"}
    elif not _OF_SELF.match(lowered):
        found -= {"identity"}
    return min(map(CLASSES.index, found), default=CLASSES.index("other"))


# --- how memories fade ------------------------------------------------------------------------------------------------


TIME_CONSTANT_DAYS: Final = 30.0
"""After so many days a memory has 1/e of its strength; half of it is left after 20.8."""

_DAY_SECONDS: Final = 86_400.0


class Strength(NamedTuple):
    """What is stored of a memory's strength: how much, from 0 to 1, and since when it fades."""

    base: float
    anchor: Instant


def time_constant(time_constant_days: float | None = None, half_life_days: float | None = None) -> float:
    """The time constant in days from whichever of the two is set; 30 when neither is."""
    if time_constant_days is not None and half_life_days is not None:
        raise ConfigError(
            "time_constant_days and half_life_days set the same thing",
            hint="set one of them: the half-life is 0.693 times the time constant",
        )
    if half_life_days is not None:
        return _validate_days(half_life_days, "half_life_days") / math.log(2)
    return _validate_days(
        TIME_CONSTANT_DAYS if time_constant_days is None else time_constant_days, "time_constant_days"
    )


def remaining_share(anchor: Instant, now: Instant, days: float | None = TIME_CONSTANT_DAYS) -> float:
    """Which part is left of what was whole at ``anchor``: from 1 down towards 0.

    ``days`` is the time constant; None means that nothing fades. What is anchored in the future has not begun to.
    """
    if days is None or anchor >= now:
        return 1.0
    age = (datetime_from_instant(now) - datetime_from_instant(anchor)).total_seconds() / _DAY_SECONDS
    return math.exp(-age / days)


def current_strength(strength: Strength, now: Instant, days: float | None = TIME_CONSTANT_DAYS) -> float:
    """How strong a memory is now, from 0 to 1."""
    return _clamp_unit(strength.base) * remaining_share(strength.anchor, now, days)


def reinforce_strength(strength: Strength, now: Instant, boost: float = 0.0) -> Strength:
    """After use, or after being told again: as strong as it ever was, and more by ``boost``.

    The anchor never moves back, so that uses which are recorded late, or twice, change nothing.
    """
    return Strength(_clamp_unit(_clamp_unit(strength.base) + boost), max(strength.anchor, now))


def promote_strength(
    strength: Strength, now: Instant, boost: float, days: float | None = TIME_CONSTANT_DAYS
) -> Strength:
    """Stronger by ``boost`` than it is now, without counting as used.

    With a boost of 0 this only says the same thing as of another day: from there it fades as it would have.
    """
    if strength.anchor >= now:
        return Strength(_clamp_unit(_clamp_unit(strength.base) + boost), strength.anchor)
    return Strength(_clamp_unit(current_strength(strength, now, days) + boost), now)


def _clamp_unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def _validate_days(days: float, name: str) -> float:
    if not (math.isfinite(days) and days > 0):
        raise ConfigError(f"{name} must be a number of days above 0, not {days!r}")
    return float(days)


# --- which of the memories a model was shown it has really used -------------------------------------------------------


TOLD: Final = 0.2
SAID: Final = 0.5
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
    told: float = 0.0
    said: float = 0.0
    words: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Whether that is enough to say that the memory was used."""
        return self.told >= TOLD or self.said >= SAID


def measure_uses(question: str, answer: str, shown: Sequence[tuple[str, str]]) -> list[Use]:
    """For each memory, given by its id and its text, what an answer to a question takes from it."""
    known = _term_set(question) | _ABOUT
    said = _term_set(answer) - known
    told = {one: _term_set(text) - known for one, text in shown}
    counts = Counter(word for words in told.values() for word in words)
    named = {word for _, text in shown for word in _name_words(text)}
    weights = {word: _word_weight(word, counts[word], len(shown), is_named=word in named) for word in {*counts, *said}}
    return [_measure_use(one, words, said, weights) for one, words in told.items()]


def _measure_use(memory_id: str, told: frozenset[str], said: frozenset[str], weights: Mapping[str, float]) -> Use:
    shared = sorted(told & said)
    if all(_is_light(word) for word in shared):
        return Use(memory_id)
    return Use(memory_id, _weighted_share(shared, told, weights), _weighted_share(shared, said, weights), tuple(shared))


def _weighted_share(shared: Collection[str], whole: Collection[str], weights: Mapping[str, float]) -> float:
    return round(sum(weights[word] for word in shared) / sum(weights[word] for word in whole), 4)


def _word_weight(word: str, count: int, memories: int, *, is_named: bool) -> float:
    rare = math.log(1 + (memories + 1) / (count + 0.5))
    return rare * (_LIGHT if _is_light(word) else _NAMED if is_named or word[0].isdigit() else 1.0)


def _is_light(word: str) -> bool:
    return not word[0].isdigit() and (is_light(word) or word in _common_terms())


@cache
def _common_terms() -> frozenset[str]:
    return frozenset(term for word in COMMON for term in query_terms(word))


def _term_set(text: str) -> frozenset[str]:
    return frozenset(query_terms(text, _WORDS))


def _name_words(text: str) -> Iterable[str]:
    """The words of the names in a text."""
    return (word for one in capital_names(text) for word in query_terms(one.name, _WORDS))


# --- what a judgement does to the strength of a memory ----------------------------------------------------------------


BOOST: Final = 0.1
"""What one judgement of a person moves the strength by."""

USED: Final = 0.02
"""What it gains when an answer used it: uses are many, and nobody has said that they were right."""


def apply_judgement(strength: Strength, now: Instant, *, useful: bool) -> Strength:
    """After somebody said whether a memory was useful. A bad one is weaker, and fades from where it stood."""
    if useful:
        return reinforce_strength(strength, now, BOOST)
    return Strength(max(0.0, min(1.0, strength.base) - BOOST), strength.anchor)


def apply_use(strength: Strength, now: Instant) -> Strength:
    """After a memory was shown and an answer held what it says."""
    return reinforce_strength(strength, now, USED)
