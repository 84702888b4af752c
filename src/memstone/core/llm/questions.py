"""Ask a model a question with a schema, and ask once more after an unusable answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from memstone.core.llm.parse import UnreadableAnswer, parse_json
from memstone.core.prompt.fence import neutralize_text
from memstone.core.prompts import prompt_text, version_of
from memstone.model.context_gate import Route

# --- what a model is asked --------------------------------------------------------------------------------------------


MAX_QUOTED_ANSWER: Final = 4_000
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
EXISTING: Final = "existing_memories_list"
NEW_FACTS: Final = "new_facts_list"
CONVERSATION: Final = "conversation"
"""Names in braces that a custom prompt may hold: what is known, what is new, and what was said."""


@dataclass(frozen=True, slots=True)
class ModelQuestion:
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


def safe_messages(question: ModelQuestion) -> list[dict[str, str]]:
    """Return the messages as a model may read them: what people said holds nothing that reads as structure."""
    return [
        one if one["role"] == "system" else {**one, "content": neutralize_text(one["content"])}
        for one in question.messages
    ]


def system_message(name: str, custom: str, *more: str, fill: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return the system message and its version; a custom text replaces ours, and the answer's format always follows.

    ``fill`` says what is in place of ``{name}`` in a custom text, made safe as in any other message. Other
    braces stay: a text may show JSON.
    """
    values = fill or {}
    own = _PLACEHOLDER.sub(
        lambda found: neutralize_text(values[found[1]]) if found[1] in values else found[0], custom.strip()
    )
    parts = [own or prompt_text(version_of(name)), *more, prompt_text(version_of(f"{name}_format"))]
    return "\n\n".join(part for part in parts if part), "custom" if own else version_of(name)


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return an object in the strict form that providers can enforce: every field is required, no other is allowed."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def repair_prompt(question: ModelQuestion, bad_answer: str, error: str) -> ModelQuestion:
    """Return the same question once more, after an answer that could not be read."""
    asked = f"{prompt_text('repair.v1')}\n\nWhat is wrong: {error}"
    answered = bad_answer if len(bad_answer) <= MAX_QUOTED_ANSWER else bad_answer[:MAX_QUOTED_ANSWER] + " […]"
    turn = [{"role": "assistant", "content": answered or "(empty)"}, {"role": "user", "content": asked}]
    return replace(question, messages=[*question.messages, *turn])


# --- asking a language model whether memory helps with a message, where the rules have found nothing ------------------


MAX_MESSAGE: Final = 2_000
ANSWER_TOKENS: Final = 200
"""More than the answer takes, for models that say something before it."""

_SCHEMA: Final = {"title": "route", **object_schema({"route": {"type": "string", "enum": [*Route]}})}
_NAMES: Final = ("route", "layer", "answer")
_ROUTE: Final = re.compile(rf"\b(?:{'|'.join(Route)})\b")


def gate_question(message: str) -> ModelQuestion:
    """Return the question about a message; of a long one its two ends are shown."""
    system, version = system_message("gate", "")
    half = MAX_MESSAGE // 2
    output = message if len(message) <= MAX_MESSAGE else f"{message[:half]} [\u2026] {message[-half:]}"
    asked = f"The message:\n<message>\n{output}\n</message>"
    return ModelQuestion([{"role": "system", "content": system}, {"role": "user", "content": asked}], _SCHEMA, version)


def parse_route(answer: str) -> Route:
    """Return the layer an answer names, in JSON or as a bare word.

    An answer that names none or several is an ``UnreadableAnswer``.
    """
    try:
        value = parse_json(answer).value
    except UnreadableAnswer:
        value = answer
    named = set(_ROUTE.findall(_route_text(value).lower()))
    if len(named) != 1:
        raise UnreadableAnswer('the answer names no layer: expected {"route": "..."}')
    return Route(named.pop())


def _route_text(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if name in value), "")
    if isinstance(value, list) and len(value) == 1:
        return _route_text(value[0])
    return value if isinstance(value, str) else ""
