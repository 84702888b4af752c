"""The gate of the read path: whether long-term memory helps with a message, and which layer of it.

Rules over the user's own words, the first that applies decides. Most messages to an assistant need no memory, and
memory that does not belong to them costs tokens and leads answers astray; but a question that depends on who asks
("what should I cook tonight?") needs it although it does not say so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from retain.core.gate import needs, phrases
from retain.core.gate.evidence import weigh
from retain.core.gate.people import known_name, private_person
from retain.core.gate.query import query_of
from retain.core.gate.said import Said, own_words_of
from retain.core.gate.world import is_anybodys, is_general, is_puzzle, is_technical, is_technical_how_to, is_trouble
from retain.errors import InvalidInput
from retain.model.context_gate import GateDecision, GateMode, Route

__all__ = ["SHORTEST", "TOO_SHORT", "checked_mode", "decide", "query_of"]

SHORTEST: Final = 3
"""Characters a message must have to be looked at."""

TOO_SHORT: Final = GateDecision(Route.NONE, "too short")
_ENOUGH: Final = 0.5
"""Evidence that opens the gate by itself."""

_REFUTED: Final = -2.0
"""Evidence against which a pattern alone does not stand."""

_Rule: TypeAlias = Callable[[Said, Collection[str]], GateDecision | None]


def decide(message: str, *, mode: str = GateMode.HEURISTIC, names: Collection[str] = ()) -> GateDecision:
    """Where to look for what helps with a message.

    ``names`` are people and things already known. In mode ``llm`` this is what the rules say; the engine asks a model
    when they say nothing.
    """
    if checked_mode(mode) in {GateMode.ALWAYS, GateMode.OFF}:
        return GateDecision(Route.EPISODE, "the gate is open for every message")
    if len(message.strip()) < SHORTEST:
        return TOO_SHORT
    said = own_words_of(message)
    if phrases.THIS_TURN.search(said.low):
        return GateDecision(Route.NONE, "is about the answer just given")
    decisions = (rule(said, names) for rule in _RULES)
    return next((found for found in decisions if found), GateDecision(Route.NONE, "nothing in it refers to memory"))


def checked_mode(mode: str) -> GateMode:
    """A mode by its name."""
    try:
        return GateMode(mode)
    except ValueError as error:
        raise InvalidInput(f"unknown gate mode {mode!r}", hint="one of " + ", ".join(GateMode)) from error


def _identity(said: Said, _: Collection[str]) -> GateDecision | None:
    found = phrases.IDENTITY.search(said.low)
    return GateDecision(Route.IDENTITY, "asks who the user is", found[0], asks_memory=True) if found else None


def _transcript(said: Said, _: Collection[str]) -> GateDecision | None:
    if phrases.TRANSCRIPT_WORDS.isdisjoint(said.words):
        return None
    found = phrases.TRANSCRIPT.search(said.low)
    return GateDecision(Route.TRANSCRIPT, "asks for the very words", found[0], asks_memory=True) if found else None


def _earlier(said: Said, _: Collection[str]) -> GateDecision | None:
    if is_general(said) or is_puzzle(said) or is_technical_how_to(said):
        return None
    found = phrases.PRIOR.search(said.low)
    if found and not phrases.NOT_RECALL.search(said.low):
        return GateDecision(Route.EPISODE, "refers to earlier talk", found[0], asks_memory=True)
    when = phrases.CLOCK.search(said.low)
    if when:
        return GateDecision(Route.EPISODE, "names a time", when[0])
    when = phrases.LOOSE_CLOCK.search(said.low)
    if when and (phrases.HAPPENED.search(said.low) or not phrases.OPENS_QUESTION.match(said.low)):
        return GateDecision(Route.EPISODE, "names a time", when[0])
    return None


def _known(said: Said, names: Collection[str]) -> GateDecision | None:
    name = known_name(said, names)
    return GateDecision(Route.PINNED, "mentions something known", name) if name else None


def _recall(said: Said, _: Collection[str]) -> GateDecision | None:
    found = phrases.RECALL.search(said.low)
    if not found or phrases.NOT_RECALL.search(said.low):
        return None
    return GateDecision(Route.PINNED, "asks to remember", found[0], asks_memory=True)


def _possessive(said: Said, _: Collection[str]) -> GateDecision | None:
    found = phrases.POSSESSIVE.search(said.low)
    if not found or is_puzzle(said) or (is_trouble(said) and "our" not in said.words):
        return None
    return GateDecision(Route.PINNED, "speaks of something of the user's", found[0])


def _implied(said: Said, _: Collection[str]) -> GateDecision | None:
    if is_puzzle(said) or not said.words:
        return None
    evidence = weigh(said)
    found = _needs(said) if evidence > _REFUTED else None
    if found is None and evidence > _ENOUGH and not is_anybodys(said):
        found = GateDecision(Route.PINNED, "reads like a question about the user's own life", f"evidence {evidence:.2f}")
    return found


def _needs(said: Said) -> GateDecision | None:
    found = needs.ABOUT_USER.search(said.low)
    if found:
        return GateDecision(Route.PINNED, "asks about the user", found[0], asks_memory=True)
    if is_technical(said):
        return None
    found = needs.DECISION.search(said.low) or needs.TASTE.search(said.low) or needs.AT_HOME.search(said.low)
    if found:
        return GateDecision(Route.PINNED, "depends on who asks", found[0])
    name = private_person(said) if needs.ASKS.search(said.low) else ""
    return GateDecision(Route.PINNED, "asks about a private person", name, asks_memory=True) if name else None


_RULES: Final[tuple[_Rule, ...]] = (_identity, _transcript, _earlier, _known, _recall, _possessive, _implied)
