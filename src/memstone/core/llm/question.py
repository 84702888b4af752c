"""What a model is asked: messages, the shape of the answer, and one more try after a bad answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from memstone.core.prompts import prompt_text, version_of
from memstone.core.showing.neutralize import neutralize

MAX_QUOTED_ANSWER: Final = 4_000
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
EXISTING: Final = "existing_memories_list"
NEW_FACTS: Final = "new_facts_list"
CONVERSATION: Final = "conversation"
"""Names in braces that a custom prompt may hold: what is known, what is new, and what was said."""


@dataclass(frozen=True, slots=True)
class Question:
    """Messages for a model and the JSON schema of its answer.

    ``version`` names the wording, so that an answer can be told from one to another wording. ``targets`` are the ids
    behind the numbers that the model is shown, in order; ids themselves are never shown. ``cut`` says how many turns
    did not fit and are shown in part.
    """

    messages: Sequence[dict[str, str]]
    schema: dict[str, Any]
    version: str
    targets: tuple[str, ...] = ()
    cut: int = 0


def safe_messages(question: Question) -> list[dict[str, str]]:
    """Return the messages as a model may read them: what people said holds nothing that reads as structure."""
    return [
        one if one["role"] == "system" else {**one, "content": neutralize(one["content"])} for one in question.messages
    ]


def system_message(name: str, custom: str, *more: str, fill: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The system message and its version; a custom text replaces ours, and the answer's format always follows.

    ``fill`` says what stands in the place of ``{name}`` in a custom text, made safe as in any other message. Other
    braces stay: a text may show JSON.
    """
    values = fill or {}
    own = _PLACEHOLDER.sub(
        lambda found: neutralize(values[found[1]]) if found[1] in values else found[0], custom.strip()
    )
    parts = [own or prompt_text(version_of(name)), *more, prompt_text(version_of(f"{name}_format"))]
    return "\n\n".join(part for part in parts if part), "custom" if own else version_of(name)


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """An object in the strict form that providers can enforce: every field is required, no other is allowed."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def repair_prompt(question: Question, bad_answer: str, error: str) -> Question:
    """The same question once more, after an answer that could not be read."""
    asked = f"{prompt_text('repair.v1')}\n\nWhat is wrong: {error}"
    answered = bad_answer if len(bad_answer) <= MAX_QUOTED_ANSWER else bad_answer[:MAX_QUOTED_ANSWER] + " […]"
    turn = [{"role": "assistant", "content": answered or "(empty)"}, {"role": "user", "content": asked}]
    return replace(question, messages=[*question.messages, *turn])
