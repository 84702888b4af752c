"""What was said, turn by turn: checked, cleaned of what Retain injected and of secrets, and kept as rows.

A turn is the evidence of every fact that comes from it. The same words by the same speaker in the same scope are the
same turn unless the caller dates them: an application that sends the whole conversation again repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from retain.core.fence import Fence
from retain.core.redact import RedactPolicy, redact
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
    retold: bool = False
    """Taken from the inbox: these are the words of then, whatever was said since."""

    place: int = 0
    """The number of the row, when it was stored before."""

    @property
    def text(self) -> str:
        """The words, as they are stored."""
        return self.message.text

    @property
    def occurred_at(self) -> Instant:
        """When it was said; for words that were stored before, the first time."""
        return self.draft.occurred_at


@dataclass(slots=True)
class Heard:
    """Messages as they may be kept, and what was taken out of them."""

    messages: list[Message]
    warnings: list[str]


def heard(messages: Sequence[Message], redaction: RedactPolicy) -> Heard:
    """Messages without what Retain itself injected and without secrets; one that is nothing but that is left out."""
    kept = Heard([], [])
    for at, message in enumerate(messages):
        own = _STRIPPER.strip(message.text)[0] if _MARKER in message.text.lower() else message.text
        masked = redact(own, redaction)
        if masked.found:
            kinds = ", ".join(masked.found)
            what = "was not stored" if masked.dropped else "was masked before it was stored"
            kept.warnings.append(f"messages[{at}] {what}: {kinds}")
        if masked.text.strip():
            kept.messages.append(replace(message, text=masked.text))
    return kept


_MARKER: Final = "retain-memory"
_STRIPPER: Final = Fence(b"any", foreign=True)
"""Removes every fence, whoever made it: what a memory says is never learned again from what it was shown to."""


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
