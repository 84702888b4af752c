"""The gate of the read path: whether long-term memory helps with a message, and which layer of it.

Rules over the user's own words, the first that applies decides. Most messages to an assistant need no memory, and
memory that does not belong to them costs tokens and leads answers astray; but a question that depends on who asks
("what should I cook tonight?") needs it although it does not say so.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from memstone.core.gate.query import query_of
from memstone.errors import InvalidInput
from memstone.model.context_gate import GateDecision, GateMode, Route

__all__ = ["ASKS_HOW_IT_WENT", "DEPENDS_ON_WHO_ASKS", "SHORTEST", "TOO_SHORT", "checked_mode", "decide", "query_of"]

SHORTEST: Final = 3
"""Characters a message must have to be looked at."""

DEPENDS_ON_WHO_ASKS: Final = "depends on who asks"
"""The reason for a question whose answer depends on the user, whatever it speaks of: "what shall I cook tonight?"."""

ASKS_HOW_IT_WENT: Final = "asks how something went"
"""The reason for a short question that names nothing: it is about what was spoken of last."""

TOO_SHORT: Final = GateDecision(Route.NONE, "too short")


def decide_route(message: str, *, mode: str = GateMode.HEURISTIC, names: Collection[str] = ()) -> GateDecision:
    """Where to look for what helps with a message.

    ``names`` are people and things already known. In mode ``llm`` this is what the rules say; the engine asks a model
    when they say nothing.
    """
    if checked_mode(mode) in {GateMode.ALWAYS, GateMode.OFF}:
        return GateDecision(Route.EPISODE, "the gate is open for every message")
    if len(message.strip()) < SHORTEST:
        return TOO_SHORT
    from memstone.core.gate.rules import first_match  # its patterns take a while to compile

    return first_match(message, names)


def checked_mode(mode: str) -> GateMode:
    """A mode by its name."""
    try:
        return GateMode(mode)
    except ValueError as error:
        raise InvalidInput(f"unknown gate mode {mode!r}", hint="one of " + ", ".join(GateMode)) from error
