"""What was said, turn by turn: checked, cleaned of what Retain injected and of secrets, and kept as rows.

A turn is the evidence of every fact that comes from it. The same words by the same speaker in the same scope are the
same turn unless the caller dates them: an application that sends the whole conversation again repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retain.engine.draft import TRUST, Draft, dedupe_value
from retain.model.instant import Instant
from retain.model.memory import Kind, Layer, Origin
from retain.model.message import Message
from retain.model.scope import Scope

_EVERY_FIELD: Final = ("user_id", "agent_id", "run_id")


@dataclass(slots=True)
class Turn:
    """One message of a conversation and the row it becomes."""

    message: Message
    draft: Draft
    id: str = ""
    said_before: bool = False

    @property
    def text(self) -> str:
        """The words, as they are stored."""
        return self.message.text

    @property
    def occurred_at(self) -> Instant:
        """When it was said; for words that were stored before, the first time."""
        return self.draft.occurred_at


def turns_of(scope: Scope, messages: Sequence[Message], occurred_at: Instant, *, dated: bool) -> list[Turn]:
    """A conversation as turns, in order."""
    return [_turn(scope, message, occurred_at, at, dated=dated) for at, message in enumerate(messages)]


def _turn(scope: Scope, message: Message, occurred_at: Instant, at: int, *, dated: bool) -> Turn:
    origin = Origin(message.role)
    when = occurred_at if dated else ""
    draft = Draft(
        scope=scope,
        text=message.text,
        dedupe=dedupe_value(scope, _EVERY_FIELD, speaker=f"turn:{when}:{message.speaker}", key=None, text=message.text),
        kind=Kind.EPISODIC,
        origin=origin,
        trust=TRUST[origin],
        occurred_at=occurred_at,
        role=message.role,
        dated=dated,
        speaker=message.speaker,
        data={"role": message.role, "speaker": message.speaker, "index": at},
        item=at,
        layer=Layer.TURN,
    )
    return Turn(message, draft)
