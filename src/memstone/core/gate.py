"""The modes and routes of the gate: whether memory helps with a message, and which layer.

Rules over the user's own words decide, which are those of a language. Most messages to an assistant need no memory, and
memory that does not belong to them costs tokens and leads answers astray; but a question that depends on who asks
("what should I cook tonight?") needs it although it does not say so.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from memstone.errors import InvalidInput
from memstone.language.language import Language
from memstone.model.context_gate import GateDecision, GateMode, Route

SHORTEST: Final = 3
"""Characters a message must have to be looked at."""


TOO_SHORT: Final = GateDecision(Route.NONE, "too short")


def decide_route(
    message: str, language: Language, *, mode: str = GateMode.HEURISTIC, names: Collection[str] = ()
) -> GateDecision:
    """Return where to look for what helps with a message.

    ``names`` are people and things already known. In mode ``llm`` this is what the rules say; the engine asks a model
    when they say nothing.
    """
    if checked_mode(mode) in {GateMode.ALWAYS, GateMode.OFF}:
        return GateDecision(Route.EPISODE, "the gate is open for every message")
    if len(message.strip()) < SHORTEST:
        return TOO_SHORT
    return language.gate.route(message, names)


def checked_mode(mode: str) -> GateMode:
    """Return a mode by its name."""
    try:
        return GateMode(mode)
    except ValueError as error:
        raise InvalidInput(f"unknown gate mode {mode!r}", hint="one of " + ", ".join(GateMode)) from error
