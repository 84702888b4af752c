"""Plan the profile: what a model always sees about a person, most important first.

It is made of what is known, without a search and without an embedding, so that it is there whatever else fails. The
same memories give the same bytes: what is chosen depends on what the facts say and on the order in which they were
stored, never on the time of day or on how often something was used.

Where there is room beside the facts, the user's own words stand there: what they said of themselves and no fact holds,
in whatever language. They enter a day later, so that talking does not change the profile in the middle of a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from memstone.language.language import IdentityRules
from memstone.language.text.normal import ESTIMATE, TokenCounter, normal_text
from memstone.language.text.questions import Person, only_asks, person_of
from memstone.language.text.statements import DENIAL_TERMS
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.instant import Instant
from memstone.model.message import MARKS

# --- whether a text says something that others do not -----------------------------------------------------------------


_MORE: Final = 3
"""So many words besides those of its facts make a turn worth showing for itself."""

_FEWEST: Final = 2
"""With fewer words something is too little to be told, or told besides."""

_SIGNS: Final = re.compile(r"[^\w]+")
_USER: Final = frozenset(query_terms("user"))


def says_more(text: str, quotes: Sequence[str]) -> bool:
    """Return whether a turn says something besides the words that its facts were learned from."""
    for quote in quotes:
        text = text.replace(quote, " ") if quote else text
    return len(query_terms(text)) >= _MORE


def is_covered(text: str, quotes: Sequence[str]) -> bool:
    """Return whether some of these are in a text, and it says next to nothing besides."""
    found = [quote for quote in quotes if quote and quote in text]
    return bool(found) and not says_more(text, found)


def remove_quotes(text: str, quotes: Iterable[str]) -> str:
    """Return a text with an ellipsis in place of each of these."""
    for quote in quotes:
        start = text.find(quote) if quote else -1
        if start >= 0:
            text = f"{text[:start]}\u2026{text[start + len(quote) :].lstrip('.!?')}"
    return text


def adds_words(text: str, others: Sequence[str]) -> bool:
    """Return whether a text says something besides what others say, in whatever words they are put together."""
    known = {*document_terms(" ".join(others))}
    return sum(word not in known for word in query_terms(text)) >= _MORE


def is_repetition(text: str, facts: Sequence[str]) -> bool:
    """Return whether a fact quotes a text, or the text holds every word of some facts and next to nothing besides."""
    if any(_strip_signs(text) in _strip_signs(fact) for fact in facts):
        return True
    texts = {*document_terms(text)}
    known_names = {word for fact in facts if (words := _fact_words(fact)) <= texts for word in words}
    return len(known_names) >= _FEWEST and len({*query_terms(text)} - known_names) < _FEWEST


@lru_cache(maxsize=8192)  # the same facts are shown with every message
def _strip_signs(text: str) -> str:
    """Return a text without differences made by quoting, between signs that keep it from being found inside a word."""
    return f" {_SIGNS.sub(' ', normal_text(text))} ".replace("  ", " ")


@lru_cache(maxsize=8192)
def _fact_words(fact: str) -> frozenset[str]:
    return frozenset(query_terms(fact)) - _USER


def has_fact_words(text: str, fact: str) -> bool:
    """Return whether a text about the user holds every word of a fact about them, in whatever order."""
    return {*query_terms(fact)} - _USER <= {*document_terms(text)}


# --- whether somebody's words say what no longer holds ----------------------------------------------------------------


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
        """Return whether words that were said at a moment hold every word of a fact that has ended since."""
        if not self._by_word:
            return False
        words = frozenset(document_terms(text))
        possible = (fact for word in words & self._by_word.keys() for fact in self._by_word[word])
        return any(fact.words <= words and (fact.until is None or said_at < fact.until) for fact in possible)


@lru_cache(maxsize=8192)  # the same facts are looked at with every message
def _words_of(text: str) -> frozenset[str]:
    return frozenset(query_terms(text)) - _USER


def _is_held(words: frozenset[str], known: Sequence[frozenset[str]]) -> bool:
    """Return whether something that is known says this and perhaps more, and does not deny it."""
    return any(words <= one and words & DENIAL_TERMS == one & DENIAL_TERMS for one in known)


NOTHING_ENDED: Final = EndedFacts((), ())


# --- the profile ------------------------------------------------------------------------------------------------------


LONGEST: Final = 400
"""A longer text is a document or a story: it is recalled when it is asked for, and would crowd out everything else."""

_SECRET: Final = re.compile(
    r"\b(?:pass(?:word|code|phrase|wort)s?|pin(?: code| number)?|cvv|api[ _-]?keys?|secret (?:key|code|question)|"
    r"(?:recovery|seed|security|gate|door|locker|alarm|safe) (?:code|phrase|combination)|mot de passe|contrase\u00f1a|"
    r"social security|ssn|iban|account number|card number)\b",
    re.IGNORECASE,
)

_OF_LIFE: Final = frozenset({"identity", "biography", "home", "location", "work"})
_IDENTITY: Final = 1
"""The rank of who somebody is."""


class Visibility(StrEnum):
    """What a person decided about one memory.

    ``pinned``: always in the profile, before everything else. ``hidden``: never in it, though it may be recalled.
    ``private``: shown to no model at all.
    """

    DEFAULT = "default"
    PINNED = "pinned"
    HIDDEN = "hidden"
    PRIVATE = "private"


VISIBILITY: Final = "visibility"
"""Where a memory's data say what a person decided about it."""

HIDDEN: Final = "hidden by the user"
PRIVATE: Final = "marked private"
SECRET: Final = "may hold a secret"  # noqa: S105 - a reason
TOO_LONG: Final = "too long for the profile"
UNTRUSTED: Final = "not from the user"
DOUBTFUL: Final = "doubtful"
SAME: Final = "another says the same"
OVER_TOKENS: Final = "over the tokens of the profile"
TELLS_NOTHING: Final = "tells nothing to remember"


def visibility_of(data: Mapping[str, Any]) -> str:
    """Return what a person decided about a memory with these data."""
    return str(data.get(VISIBILITY) or Visibility.DEFAULT)


@dataclass(frozen=True, slots=True)
class ProfileFact:
    """A fact that may be in the profile; ``seq`` is the order in which it was stored."""

    id: str
    seq: int
    text: str
    rank: int = 1
    """How important it is, as ``memstone.core.ranking.strength`` has it; 1 comes first, after what is pinned."""

    category: str = ""
    visibility: str = Visibility.DEFAULT
    trusted: bool = True
    doubtful: bool = False
    salience: float = 0.5
    sources: tuple[str, ...] = ()
    quote: str = ""
    expires_at: str | None = None
    hash: str = ""
    """Of its text, as the store has it."""

    said_at: Instant = ""
    date: str = ""
    """The day of that, where the user lives; for citations."""


@dataclass(frozen=True, slots=True)
class ProfileTurn:
    """Something the user said, on a day, that may be in the profile in their own words."""

    id: str
    seq: int
    text: str
    date: str
    expires_at: str | None = None
    said_at: Instant = ""
    learned: bool = False
    """Whether facts were learned from it: then these say whether it holds."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What is shown, in order, and what is not, with the reason."""

    facts: tuple[ProfileFact, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    turns: tuple[ProfileTurn, ...] = ()
    beside_budget: bool = False
    """Whether it is shown whatever the budget, as what the user asked to keep in mind is."""

    facts_over: int = 0
    """How many facts found no room."""

    @property
    def expires_at(self) -> str | None:
        """When the first thing in it ends, if anything does."""
        ends = [one.expires_at for one in self.facts] + [one.expires_at for one in self.turns]
        return min((end for end in ends if end is not None), default=None)

    @property
    def holds_most(self) -> bool:
        """Whether most of the facts that are known are in it."""
        return self.facts_over <= len(self.facts)

    @property
    def is_complete(self) -> bool:
        """Whether everything that may be shown is in it, and nothing was too long or found no room."""
        return not any(reason in (OVER_TOKENS, TOO_LONG) for _, reason in self.left_out)


NOBODY: Final = Profile()


def build_profile(facts: Iterable[ProfileFact], tokens: int, counter: TokenCounter = ESTIMATE) -> Profile:
    """Choose the facts of a profile: by importance, of equals the newest; shown by importance, oldest first.

    The most important one is there whatever it costs, unless there is to be no profile.
    """
    left_out = list[tuple[str, str]]()
    open_to = list[ProfileFact]()
    for fact in facts:
        reason = reason_against(fact)
        if reason:
            left_out.append((fact.id, reason))
        else:
            open_to.append(fact)
    chosen, room, texts = list[ProfileFact](), counter.units(tokens), set[str]()
    for fact in sorted(open_to, key=lambda one: (importance_of(one), -one.seq)):
        words, cost = normal_text(fact.text), counter.cost(f"- {fact.text}\n")
        if words in texts:
            left_out.append((fact.id, SAME))
            continue
        if cost > room and (chosen or not tokens):
            left_out.append((fact.id, OVER_TOKENS))
            continue
        texts.add(words)
        room -= cost
        chosen.append(fact)
    chosen.sort(key=lambda one: (importance_of(one), one.seq))
    over = sum(reason == OVER_TOKENS for _, reason in left_out)
    return Profile(tuple(chosen), tuple(left_out), facts_over=over)


def says_who(fact: ProfileFact, rules: IdentityRules) -> bool:
    """Return whether a fact says who the user is: their name, age, home or work, or what a person pinned."""
    if fact.visibility == Visibility.PINNED or not rules.is_of_self(fact.text):
        return fact.visibility == Visibility.PINNED
    of_life = fact.category in _OF_LIFE and fact.text.lower().startswith(("user", "the user"))
    return of_life or rules.tells_life(fact.text) or fact.rank == _IDENTITY


def room_left(facts: Iterable[ProfileFact], tokens: int, counter: TokenCounter = ESTIMATE) -> int:
    """Return how many units of a profile these facts leave."""
    return counter.units(tokens) - sum(counter.cost(f"- {fact.text}\n") for fact in facts)


def add_turns(
    profile: Profile,
    turns: Iterable[ProfileTurn],
    room: int,
    ended: EndedFacts = NOTHING_ENDED,
    counter: TokenCounter = ESTIMATE,
) -> Profile:
    """Add what the user said, in their own words and whole: what they say of themselves first.

    Of equals, what nothing was learned from comes first, and of these the newest. What nothing was learned from, and
    repeats what has ended since, is not told, and neither is what only asks or says no more than the facts. What of it
    facts say takes no room. What is too long, finds no room or may hold a secret is named as left out.
    """
    chosen, left_out, texts = list[ProfileTurn](), list[tuple[str, str]](), set[str]()
    known, quotes = [fact.text for fact in profile.facts], dict[str, list[str]]()
    for fact in profile.facts:
        for source in fact.sources:
            quotes.setdefault(source, []).append(fact.quote)
    for _, turn in sorted(_rank_turns(turns), key=lambda one: (one[0], one[1].learned, -one[1].seq)):
        words, rest = normal_text(turn.text), remove_quotes(turn.text, quotes.get(turn.id, ()))
        cost = counter.cost(f"- [{turn.date}] {rest}\n")
        if (
            words in texts
            or is_covered(turn.text, quotes.get(turn.id, ()))
            or (not turn.learned and ended.tells(turn.text, turn.said_at))
            or is_repetition(turn.text, known)
        ):
            continue
        texts.add(words)
        if reason := _reason_against_text(turn.text) or (OVER_TOKENS if cost > room else ""):
            left_out.append((turn.id, reason))
            continue
        room -= cost
        chosen.append(turn)
    profile_turns = tuple(sorted(chosen, key=lambda one: one.seq))
    return replace(profile, turns=profile_turns, left_out=(*profile.left_out, *left_out))


def _rank_turns(turns: Iterable[ProfileTurn]) -> Iterator[tuple[int, ProfileTurn]]:
    """Yield what tells something, with how much of that is about whoever wrote it."""
    ranked = ((turn_rank(one.text, learned=one.learned), one) for one in turns)
    return ((rank, one) for rank, one in ranked if rank is not None)


def turn_rank(text: str, *, learned: bool = False) -> int | None:
    """Return how much a turn says of whoever wrote it, 0 most; None if it only asks, and nothing was learned of it."""
    asks = text.rstrip().endswith(tuple(MARKS))
    if person_of(text) is Person.NOBODY:
        return None if asks else 2
    if not asks:
        return 0
    return 1 if learned or not only_asks(text) else None


def reason_against(fact: ProfileFact) -> str:
    """Return why a fact may not be in the profile; '' if it may."""
    if fact.visibility == Visibility.PRIVATE:
        return PRIVATE
    if fact.visibility == Visibility.HIDDEN:
        return HIDDEN
    if not fact.trusted:
        return UNTRUSTED
    if fact.doubtful:
        return DOUBTFUL
    return _reason_against_text(fact.text, pinned=fact.visibility == Visibility.PINNED)


def _reason_against_text(text: str, *, pinned: bool = False) -> str:
    """Return why these words may not be in the profile; '' if they may."""
    if len(text) > LONGEST and not pinned:
        return TOO_LONG
    return SECRET if _SECRET.search(text) else ""


def importance_of(fact: ProfileFact) -> int:
    """Return the rank of a fact: 0 comes first."""
    return 0 if fact.visibility == Visibility.PINNED else fact.rank
