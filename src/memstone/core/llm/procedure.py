"""What a language model is asked about what an agent did, and what of its answer is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.llm.parse import How, UnreadableAnswer, parse_json
from memstone.core.llm.questions import ModelQuestion, object_schema, system_message
from memstone.model.message import Message

_SCHEMA: Final = {"title": "procedure", **object_schema({"procedure": {"type": "string"}})}
_NAMES: Final = ("procedure", "summary", "memory", "text")


@dataclass(frozen=True, slots=True)
class Procedure:
    """How something was done, in the words of a model."""

    text: str
    how: How

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.text)


def procedure_question(messages: Sequence[Message], prompt: str) -> ModelQuestion:
    """Return the question; a prompt of the caller's own replaces the instructions."""
    system, version = system_message("procedure", prompt)
    asked = [{"role": "system", "content": system}, {"role": "user", "content": format_messages(messages)}]
    return ModelQuestion(asked, dict(_SCHEMA), version)


def format_messages(messages: Sequence[Message]) -> str:
    """Return who said what, in order."""
    return "\n".join(f"{one.name or one.role}: {one.text}" for one in messages if one.text.strip())


def parse_procedure(answer: str) -> Procedure:
    """Return the text of an answer; one that is no JSON is the text itself."""
    try:
        parsed = parse_json(answer)
    except UnreadableAnswer:
        return _checked_procedure(answer, "bare")
    value = parsed.value
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), None)
    if not isinstance(value, str):
        raise UnreadableAnswer('the answer is not a text: expected {"procedure": "..."}')
    return _checked_procedure(value, parsed.how)


def _checked_procedure(text: str, how: How) -> Procedure:
    if not text.strip():
        raise UnreadableAnswer("the answer is empty")
    return Procedure(text.strip(), how)
