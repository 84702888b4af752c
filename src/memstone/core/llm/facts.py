"""Facts by a language model, where a caller brings its own prompts: the first of two questions.

What is asked for is facts alone; what becomes of each is asked next (``decisions``).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

from memstone.core.llm.operations import (
    CATEGORIES,
    Op,
    Operations,
    Side,
    Talk,
    block,
    date_line,
    earlier_lines,
    listed_items,
    memory_line,
    numbered,
    read_operations,
)
from memstone.core.llm.question import CONVERSATION, EXISTING, Question, object_schema, system_message
from memstone.core.prompts import prompt_text, version_of
from memstone.model.memory import Kind

_KINDS: Final = [Kind.FACTUAL.value, Kind.EPISODIC.value, Kind.PROCEDURAL.value, Kind.SEMANTIC.value]
_SCHEMA: Final = {
    "title": "facts",
    **object_schema(
        {
            "facts": {
                "type": "array",
                "items": object_schema(
                    {
                        "text": {"type": "string"},
                        "turn": {"type": "integer"},
                        "quote": {"type": "string"},
                        "category": {"type": "string", "enum": CATEGORIES},
                        "kind": {"type": "string", "enum": _KINDS},
                        "about": {"type": "string"},
                    }
                ),
            }
        }
    ),
}


def extraction_prompt(
    talk: Talk,
    *,
    instructions: str = "",
    custom_prompt: str = "",
    side: Side = "user",
    categories: Sequence[str] = (),
) -> Question:
    """The question for the facts in the new turns; they are shown by their place, from 1.

    ``custom_prompt`` replaces our instructions, ``instructions`` are added to whichever are used. ``categories`` take
    the place of the built-in ones.
    """
    agent = prompt_text(version_of("extract_facts_agent")) if side == "agent" else ""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    told, cut = numbered(talk.turns)
    memories = [memory_line(number, one) for number, one in enumerate(talk.known, 1)]
    fill = {EXISTING: "\n".join(memories or ["(none)"]), CONVERSATION: "\n".join(told)}
    system, version = system_message("extract_facts", custom_prompt, agent, more, fill=fill)
    shown = [
        block("Known memories", memories),
        block(
            "Earlier messages, for understanding",
            [f"- {line.partition('] ')[2]}" for line in earlier_lines(talk.shown)],
        ),
        block("Conversation", told),
        date_line(talk.now, talk.timezone),
    ]
    user = "\n\n".join(part for part in shown if part)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return Question(messages, _schema(categories), version, cut=cut)


def _schema(categories: Sequence[str]) -> dict[str, Any]:
    if not categories:
        return dict(_SCHEMA)
    schema: dict[str, Any] = deepcopy(_SCHEMA)
    schema["properties"]["facts"]["items"]["properties"]["category"]["enum"] = [*categories, "other"]
    return schema


def parse_extraction(answer: str, talk: Talk, *, side: Side = "user", categories: Sequence[str] = ()) -> Operations:
    """The facts of an answer, all of them additions for now; ``UnreadableAnswer`` when it is no list of facts."""
    items, how = listed_items(answer)
    read = read_operations(items, talk, side=side, categories=categories)
    read.how = how
    read.operations = [one for one in read.operations if one.op is Op.ADD]
    return read
