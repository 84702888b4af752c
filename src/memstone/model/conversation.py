"""What belongs to one conversation, so that what was said before a turn can be told."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeAlias

from memstone.model.instant import Instant, moment
from memstone.model.memory import Layer

Conversation: TypeAlias = tuple[str, str, str]
PAUSE: Final = timedelta(minutes=30)
"""Without a run to hold it together, a conversation ends with a pause of this length."""


def conversation_of(agent_id: str, run_id: str, layer: str, *, own_words: bool) -> Conversation | None:
    """What a memory is a part of: the turns of a run, or what was stored in a run as it was said; None: it is alone."""
    if not own_words or not (run_id or layer == Layer.TURN):
        return None
    return agent_id, run_id, str(layer)


def goes_on(run_id: str, before: Instant, at: Instant) -> bool:
    """Whether what is said at a time still belongs to what was said before."""
    return bool(run_id) or abs(moment(at) - moment(before)) <= PAUSE
