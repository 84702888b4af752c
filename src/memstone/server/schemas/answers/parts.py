"""What several answers have in common."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memstone.server.schemas.base import Answer


def optional_field(meaning: str | None = None) -> Any:
    """A field that an answer has or has not; where it has it, it is not null unless its type says so."""
    return Field(default=None, description=meaning, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def described_field(meaning: str) -> Any:
    """A field whose name does not say all of it."""
    return Field(description=meaning)


class Whose(Answer):
    """Whom it is about: each of them is null where it is not bound to one."""

    user_id: str | None
    agent_id: str | None
    run_id: str | None


class Failure(Answer):
    """Why something could not be done."""

    code: str = described_field("what kind of error it is, in a word that does not change")
    message: str
    hint: str = described_field("what to do about it; may be empty")
    retryable: bool = described_field("whether the same may work later")


class Degraded(Answer):
    """What could not be used for an answer, and why; it was made without."""

    step: str = optional_field("the step that was left out, such as `embedding`")
    channel: str = optional_field("the part of a search that was left out: `dense`, `text`, `entity` or `rerank`")
    code: str
    message: str
    hint: str = optional_field()
    retryable: bool = optional_field()
    reason: str = optional_field("of an embedder, in a word, what is wrong with it")


class Evidence(Answer):
    """The words that a memory was learned from."""

    turn: str | None = described_field("the id of what was said, where that is kept")
    start: int = described_field("where the words begin in it, in characters")
    end: int = described_field("where they end")
    quote: str = optional_field("the words themselves")


class Attachment(Answer):
    """Something in a message that is not words."""

    type: str = optional_field("what kind of thing: `image`, `audio`, `file` and so on")
    name: str = optional_field()
    media_type: str = optional_field()
    url: str = optional_field()


class CacheState(Answer):
    """How often the vector of a text was at hand."""

    size: int
    max_size: int
    hits: int
    misses: int


class Gate(Answer):
    """Where it was decided to look for a message, and why."""

    route: str = described_field("`none`, or which part of the memory was looked at first")
    reason: str


class GateDecision(Gate):
    """The same, with what made it so."""

    matched: str = described_field("the words that decided it; may be empty")
    asks_memory: bool = described_field("whether the message asks for something that was said or is known")
