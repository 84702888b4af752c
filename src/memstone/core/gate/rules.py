"""The rules of the gate, in the order in which they are tried: the first that applies decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from memstone.core.entities.naming import spoken
from memstone.core.gate import ASKS_HOW_IT_WENT, DEPENDS_ON_WHO_ASKS, needs, phrases
from memstone.core.gate.evidence import weigh
from memstone.core.gate.people import known_name, private_person
from memstone.core.gate.said import Said, own_words_of
from memstone.core.gate.world import (
    is_anybodys,
    is_everybodys,
    is_general,
    is_of_the_world,
    is_puzzle,
    is_technical,
    is_technical_how_to,
    is_trouble,
)
from memstone.model.context_gate import GateDecision, Route

_ENOUGH: Final = 1.0
"""Evidence that opens the gate by itself."""

_REFUTED: Final = -2.0
"""Evidence against which a pattern alone does not stand."""

_Rule: TypeAlias = Callable[[Said, Collection[str]], GateDecision | None]


def first_match(message: str, names: Collection[str]) -> GateDecision:
    """What the first rule that applies says about a message."""
    said = own_words_of(message)
    if phrases.THIS_TURN.search(said.low):
        return GateDecision(Route.NONE, "is about the answer just given")
    decisions = (rule(said, names) for rule in _RULES)
    return next((found for found in decisions if found), GateDecision(Route.NONE, "nothing in it refers to memory"))


def may_ask_for_words(message: str) -> bool:
    """Return whether a message may ask for the very words somebody said; cheap, and most do not."""
    said = own_words_of(message)
    return not phrases.TRANSCRIPT_WORDS.isdisjoint(said.words) or not said.low.isascii()


def asks_for_words(message: str, names: Collection[str]) -> GateDecision | None:
    """Return a decision for a message that asks for the very words of the user or somebody named; None for others."""
    return _transcript(own_words_of(message), names)


def _search(pattern: re.Pattern[str], words: frozenset[str], said: Said) -> re.Match[str] | None:
    """Search, but only where one of the words occurs that it takes; scripts without blanks are always searched."""
    if words.isdisjoint(said.words) and said.low.isascii():
        return None
    return pattern.search(said.low)


def _identity(said: Said, _: Collection[str]) -> GateDecision | None:
    found = _search(phrases.IDENTITY, phrases.IDENTITY_WORDS, said)
    return GateDecision(Route.IDENTITY, "asks who the user is", found[0], asks_memory=True) if found else None


def _transcript(said: Said, names: Collection[str]) -> GateDecision | None:
    found = _search(phrases.TRANSCRIPT, phrases.TRANSCRIPT_WORDS, said)
    of_whom = found[0] if found else _whose_words(said, names)
    return GateDecision(Route.TRANSCRIPT, "asks for the very words", of_whom, asks_memory=True) if of_whom else None


def _whose_words(said: Said, names: Collection[str]) -> str:
    """The known name whose very words are asked for, as one asks for one's own; '' when there is none."""
    if phrases.TRANSCRIPT_WORDS.isdisjoint(said.words):
        return ""
    put = spoken(" ".join(said.text.split()), {name.strip().lower() for name in names if name.strip()})
    return put.named[-1] if phrases.TRANSCRIPT.search(put.text.lower()) else ""


def _went(said: Said, _: Collection[str]) -> GateDecision | None:
    found = phrases.WENT.match(said.low)
    return GateDecision(Route.EPISODE, ASKS_HOW_IT_WENT, found[0], asks_memory=True) if found else None


def _earlier(said: Said, _: Collection[str]) -> GateDecision | None:
    if is_general(said) or is_puzzle(said) or is_technical_how_to(said):
        return None
    found = _search(phrases.PRIOR, phrases.PRIOR_WORDS, said)
    if found and not phrases.NOT_RECALL.search(said.low):
        return GateDecision(Route.EPISODE, "refers to earlier talk", found[0], asks_memory=True)
    when = _search(phrases.CLOCK, phrases.CLOCK_WORDS, said) or phrases.DATE.search(said.low)
    if when:
        return GateDecision(Route.EPISODE, "names a time", when[0])
    when = phrases.LOOSE_CLOCK.search(said.low)
    if when is None:
        return None
    # "When did WW2 end?" asks about the world: beside the time there must be something that is somebody's.
    rest = said.low.replace("when did ", "", 1)
    if phrases.HAPPENED.search(rest) or not phrases.OPENS_QUESTION.match(said.low):
        return GateDecision(Route.EPISODE, "names a time", when[0])
    return None


def _known(said: Said, names: Collection[str]) -> GateDecision | None:
    name = known_name(said, names)
    if name and is_everybodys(name) and _asks_the_world(said, name):
        name = known_name(said, [one for one in names if not is_everybodys(one)])
    return GateDecision(Route.PINNED, "mentions something known", name) if name else None


def _asks_the_world(said: Said, name: str) -> bool:
    """Whether a question that names what everybody knows is about that: who lives in Paris may ask how old it is."""
    alone = said.low.strip(" .!?") == name.casefold()
    if alone or phrases.OWN_CHOICE.search(said.low):
        return False
    return is_of_the_world(said) and not _search(needs.TASTE, needs.TASTE_WORDS, said)


def _recall(said: Said, _: Collection[str]) -> GateDecision | None:
    found = _search(phrases.RECALL, phrases.RECALL_WORDS, said)
    if not found or phrases.NOT_RECALL.search(said.low):
        return None
    return GateDecision(Route.PINNED, "asks to remember", found[0], asks_memory=True)


def _possessive(said: Said, _: Collection[str]) -> GateDecision | None:
    found = _search(phrases.POSSESSIVE, phrases.POSSESSIVE_WORDS, said)
    if not found or is_puzzle(said) or (is_trouble(said) and "our" not in said.words):
        return None
    return GateDecision(Route.PINNED, "speaks of something of the user's", found[0])


def _implied(said: Said, _: Collection[str]) -> GateDecision | None:
    if is_puzzle(said) or not said.words:
        return None
    found = _search(needs.ABOUT_USER, needs.ABOUT_USER_WORDS, said)
    if found:
        return GateDecision(Route.PINNED, "asks about the user", found[0], asks_memory=True)
    return None if is_technical(said) else _weighed(said)


def _weighed(said: Said) -> GateDecision | None:
    evidence = weigh(said)
    found = _needs(said) if evidence > _REFUTED else None
    if found is None and evidence > _ENOUGH and not is_anybodys(said):
        found = GateDecision(
            Route.PINNED, "reads like a question about the user's own life", f"evidence {evidence:.2f}"
        )
    return found


def _needs(said: Said) -> GateDecision | None:
    found = _search(needs.DECISION, needs.DECISION_WORDS, said)
    found = found or _search(needs.TASTE, needs.TASTE_WORDS, said) or needs.AT_HOME.search(said.low)
    if found:
        return GateDecision(Route.PINNED, DEPENDS_ON_WHO_ASKS, found[0])
    name = private_person(said) if needs.ASKS.search(said.low) else ""
    return GateDecision(Route.PINNED, "asks about a private person", name, asks_memory=True) if name else None


_RULES: Final[tuple[_Rule, ...]] = (_identity, _transcript, _went, _earlier, _known, _recall, _possessive, _implied)
