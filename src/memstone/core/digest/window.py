"""As much of a session as a model is shown: its beginning, its end, and a word about what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memstone.model.message import Message

_SPOKEN: Final = ("user", "assistant")


def shown_turns(turns: Sequence[Message], most: int, chars: int) -> list[str]:
    """Numbered lines for the turns, from 1: the first quarter and the most recent rest, each up to ``chars``."""
    spoken = [(at, turn) for at, turn in enumerate(turns, 1) if turn.role in _SPOKEN and turn.text.strip()]
    if len(spoken) <= most:
        return [_line(at, turn, chars) for at, turn in spoken]
    first = most // 4
    last = most - first
    left_out = len(spoken) - most
    return [
        *(_line(at, turn, chars) for at, turn in spoken[:first]),
        f"[... {left_out} turns left out ...]",
        *(_line(at, turn, chars) for at, turn in spoken[len(spoken) - last :]),
    ]


def _line(at: int, turn: Message, chars: int) -> str:
    return f"[{at}] {speaker(turn)}: {_indented(shortened(turn.text.strip(), chars))}"


def speaker(turn: Message) -> str:
    """Who speaks, as a model is told."""
    return f"{turn.role} ({' '.join(turn.name.split())})" if turn.name else turn.role


def shortened(text: str, chars: int) -> str:
    """A text up to a length, with a note of how much is missing."""
    return text if len(text) <= chars else f"{text[:chars]} [... {len(text) - chars:,} more characters]"


def _indented(text: str) -> str:
    """A text of several lines as one turn: a line of it cannot look like a turn of its own."""
    return "\n    ".join(text.splitlines())
