"""The decision of the gate: whether memory helps with a message, and which layer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstone.results import GateResult


class GateMode(StrEnum):
    """How that is decided.

    ``profile``: what is always known of a person is always shown, and further memories when the message calls for them.
    ``always`` shows whatever fits (``off``, the gate is off, is another word for it), ``heuristic`` and ``llm`` decide
    for each message by rules or by a model, ``never`` shows nothing.
    """

    PROFILE = "profile"
    ALWAYS = "always"
    OFF = "off"
    HEURISTIC = "heuristic"
    LLM = "llm"
    NEVER = "never"


class Route(StrEnum):
    """The layer that answers: who the user is, lasting facts, what happened, what was said word for word, or none.

    ``recall``: whatever is near to the message, facts and turns together.
    """

    NONE = "none"
    RECALL = "recall"
    IDENTITY = "identity"
    PINNED = "pinned"
    EPISODE = "episode"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Where to look, which rule said so, and the words that made it say so.

    ``asks_memory`` is true when the message asks for something that was said or is known, so that "I know nothing
    about it" is an answer worth giving; a wish for a recipe needs memory too, but nobody asked for it.
    """

    route: Route
    reason: str
    matched: str = ""
    asks_memory: bool = False

    def as_dict(self) -> GateResult:
        """Return it as JSON can hold it."""
        return {
            "route": self.route.value,
            "reason": self.reason,
            "matched": self.matched,
            "asks_memory": self.asks_memory,
        }

    @property
    def helps(self) -> bool:
        """Whether memory is worth looking at."""
        return self.route is not Route.NONE


DEPENDS_ON_WHO_ASKS: Final = "depends on who asks"
"""The reason for a question whose answer depends on the user, whatever it mentions: "what shall I cook tonight?"."""

ASKS_HOW_IT_WENT: Final = "asks how something went"
"""The reason for a short question that names nothing: it is about what was mentioned last."""
