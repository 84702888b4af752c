"""What is to be learned from a transcript, cut into pieces that a model can read at once."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from memstone.engine.storing.turns import Turn, origin_of
from memstone.model.event import Signal
from memstone.model.instant import Instant
from memstone.model.scope import Scope

TURNS: Final = 20
"""So many turns of one run are learned from together."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Turns of one run that follow each other; ``last`` is the place of the last one in the transcript."""

    id: str
    turns: tuple[Turn, ...]
    last: int

    def signal(self, metadata: dict[str, Any], expires_at: Instant | None, now: Instant, *, keeps: bool) -> Signal:
        """It as a row of the inbox, with all it takes to learn from it later."""
        turns = [turn for turn in self.turns if turn.id or not keeps]  # what a person has deleted is not learned again
        data = {
            "infer": True,
            "ingested": True,
            "messages": [_message(turn) for turn in turns],
            "metadata": metadata,
            "prompt": "",
            "dated": True,
            "expires_at": expires_at,
            "keep_turns": keeps,
        }
        first = next((turn.text for turn in turns if turn.message.role == "user"), "")
        scope, when = self.turns[0].draft.scope, self.turns[0].occurred_at
        return Signal(self.id, scope, first, when, now, data=data)


def lessons_of(turns: Sequence[Turn]) -> list[Lesson]:
    """A transcript as lessons, in the order in which they end."""
    under_way: dict[Scope, list[tuple[int, Turn]]] = {}
    lessons: list[Lesson] = []
    for at, turn in enumerate(turns):
        run = under_way.setdefault(turn.draft.scope, [])
        run.append((at, turn))
        if len(run) == TURNS:
            lessons.append(_lesson(under_way.pop(turn.draft.scope)))
    return [*lessons, *(_lesson(run) for run in under_way.values())]


def _lesson(run: Sequence[tuple[int, Turn]]) -> Lesson:
    turns = tuple(turn for _, turn in run)
    return Lesson(_id(turns), turns, run[-1][0])


def _id(turns: Sequence[Turn]) -> str:
    """The same turns are the same lesson, so that a transcript that is sent again is learned from once."""
    digest = hashlib.sha256("".join(turn.draft.dedupe for turn in turns).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _message(turn: Turn) -> dict[str, Any]:
    return {
        "role": turn.message.role,
        "content": turn.text,
        "name": turn.message.name,
        "occurred_at": turn.occurred_at,
        "dated": turn.draft.dated,
        "repeated": turn.repeated,
        **origin_of(turn),
    }
