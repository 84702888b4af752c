"""Ask a language model what new facts do to stored memories, and check its answer.

The model sees numbers and never ids. What it says about a number it was not shown, or in a word that is no operation,
is dropped and logged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from memstone.core.llm.operations import (
    CATEGORIES,
    KnownFact,
    OperationKind,
    Operations,
    Side,
    Talk,
    date_line,
    earlier_lines,
    format_section,
    listed_items,
    memory_line,
    number_turns,
    one_line,
    parse_ordinal,
    read_operations,
)
from memstone.core.llm.parse import MAX_CHARS, MIN_CHARS, How, UnreadableAnswer, clean_text, parse_json
from memstone.core.llm.questions import CONVERSATION, EXISTING, NEW_FACTS, ModelQuestion, object_schema, system_message
from memstone.core.prompts import prompt_text, version_of
from memstone.model.memory import Kind

# --- what new facts do to stored memories, by a language model --------------------------------------------------------


MAX_REASON_CHARS: Final = 200
_SHOWN_CHARS: Final = 60

_LISTS: Final = ("decisions", "operations", "memory", "results", "actions")
_OPERATION_NAMES: Final = ("operation", "event", "action", "op")
_TARGET_NAMES: Final = ("target", "target_id", "id")
_TEXT_NAMES: Final = ("text", "data", "new_memory", "memory")
_SCHEMA: Final = {
    "title": "decisions",
    **object_schema(
        {
            "decisions": {
                "type": "array",
                "items": object_schema(
                    {
                        "fact": {"type": "integer"},
                        "operation": {"type": "string", "enum": ["ADD", "UPDATE", "DELETE", "NONE"]},
                        "target": {"type": ["integer", "null"]},
                        "text": {"type": ["string", "null"]},
                        "reason": {"type": "string"},
                    }
                ),
            }
        }
    ),
}


class DecisionKind(StrEnum):
    """What a model may decide."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


_OPERATIONS: Final = {
    **dict.fromkeys(("add", "create", "insert", "new"), DecisionKind.ADD),
    **dict.fromkeys(("update", "replace", "revise", "merge"), DecisionKind.UPDATE),
    **dict.fromkeys(("delete", "remove", "retract"), DecisionKind.DELETE),
    **dict.fromkeys(("none", "noop", "ignore", "keep", "skip", "no_change"), DecisionKind.NONE),
}


@dataclass(frozen=True, slots=True)
class LlmDecision:
    """What happens to a fact (its number), with which memory (its number), in which words; '' are the fact's own."""

    fact: int
    operation: DecisionKind
    target: int | None = None
    text: str = ""
    reason: str = ""


@dataclass(slots=True)
class Decisions:
    """Decisions in the order of the answer, and what was dropped and why."""

    decisions: list[LlmDecision] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.decisions)

    def for_fact(self, number: int) -> list[LlmDecision] | None:
        """Return the decisions about one fact; None when the model has made none that can be used."""
        return [decision for decision in self.decisions if decision.fact == number] or None


def decision_prompt(
    facts: Sequence[str], neighbours_per_fact: Sequence[Sequence[KnownFact]], custom_prompt: str = ""
) -> ModelQuestion:
    """Return the question for all facts together; a memory that is near several facts is shown once.

    ``targets`` of the question are the memories' ids in the order of their numbers. A ``custom_prompt`` may say where
    it wants the memories and the facts; they are in the question either way.
    """
    numbers: dict[str, int] = {}
    visible: list[str] = []
    for neighbour in (one for near in neighbours_per_fact for one in near):
        if neighbour.id not in numbers:
            numbers[neighbour.id] = len(numbers) + 1
            visible.append(memory_line(numbers[neighbour.id], neighbour))
    lines = [
        f"{number}. {one_line(fact)} {_format_neighbours(near, numbers)}"
        for number, (fact, near) in enumerate(zip(facts, neighbours_per_fact, strict=True), 1)
    ]
    memories, facts_shown = "\n".join(visible or ["(none)"]), "\n".join(lines)
    fill = {EXISTING: memories, NEW_FACTS: facts_shown}
    system, version = system_message("decide", custom_prompt, fill=fill)
    user = f"Stored memories:\n{memories}\n\nNew facts:\n{facts_shown}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return ModelQuestion(messages, dict(_SCHEMA), version, targets=tuple(numbers))


def _format_neighbours(near: Sequence[KnownFact], numbers: Mapping[str, int]) -> str:
    listed = ", ".join(str(numbers[neighbour.id]) for neighbour in near)
    return f"(similar memories: {listed})" if listed else "(no similar memory)"


def parse_decisions(answer: str, n_facts: int, n_neighbours: int) -> Decisions:
    """Return the usable decisions of an answer; ``UnreadableAnswer`` when it is no list of decisions."""
    parsed = parse_json(answer)
    items = _extract_items(parsed.value)
    by_place = len(items) == n_facts
    read = Decisions(how=parsed.how)
    for place, item in enumerate(items, 1):
        try:
            fallback = place if by_place else 1 if n_facts == 1 else None
            read.decisions.append(_parse_decision(item, fallback, n_facts, n_neighbours))
        except _UnusableError as error:
            read.log.append(f"decision {place}: {error}")
    _keep_last_per_target(read)
    return read


def _extract_items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        named = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
        if named is not None:
            value = value[named]
        elif not value or _first_value(value, _OPERATION_NAMES) is not None:
            value = [value] if value else []
    if not isinstance(value, list):
        raise UnreadableAnswer('the answer is not a list of decisions: expected {"decisions": [...]}')
    return value


class _UnusableError(Exception):
    """Why a decision cannot be used."""


def _parse_decision(item: Any, fallback: int | None, n_facts: int, n_neighbours: int) -> LlmDecision:
    if not isinstance(item, Mapping):
        raise _UnusableError("it is not an object")
    named = _first_value(item, _OPERATION_NAMES)
    operation = _OPERATIONS.get(named.strip().lower()) if isinstance(named, str) else None
    if operation is None:
        raise _UnusableError(f"unknown operation {_short_repr(named)}")
    fact = parse_ordinal(item["fact"]) if item.get("fact") is not None else fallback
    if fact is None or not 1 <= fact <= n_facts:
        raise _UnusableError(f"unknown fact {_short_repr(item.get('fact'))}")
    target = _parse_target(item, operation, n_neighbours)
    text = _parse_text(item, operation)
    reason = item.get("reason")
    return LlmDecision(
        fact, operation, target, text, clean_text(reason)[:MAX_REASON_CHARS] if isinstance(reason, str) else ""
    )


def _parse_target(item: Mapping[str, Any], operation: DecisionKind, n_neighbours: int) -> int | None:
    """Return the memory that is meant; only a change needs one, and only a change fails without."""
    named = _first_value(item, _TARGET_NAMES)
    number = parse_ordinal(named)
    known = number if number is not None and 1 <= number <= n_neighbours else None
    if known is None and operation in (DecisionKind.UPDATE, DecisionKind.DELETE):
        raise _UnusableError(f"{operation} of unknown memory {_short_repr(named)}")
    return None if operation is DecisionKind.ADD else known


def _parse_text(item: Mapping[str, Any], operation: DecisionKind) -> str:
    """Return the wording to store; an addition whose wording cannot be used is still one, in the words of the fact."""
    value = _first_value(item, _TEXT_NAMES) if operation in (DecisionKind.ADD, DecisionKind.UPDATE) else None
    text = clean_text(value) if isinstance(value, str) else ""
    if not text or MIN_CHARS <= len(text) <= MAX_CHARS:
        return text
    if operation is DecisionKind.ADD:
        return ""
    raise _UnusableError(f"its text is unusable: it has {len(text)} characters, at most {MAX_CHARS}")


def _keep_last_per_target(read: Decisions) -> None:
    """Keep the last decision about each memory: it is changed once in a batch."""
    last = {one.target: at for at, one in enumerate(read.decisions) if _is_change(one)}
    decisions: list[LlmDecision] = []
    for at, one in enumerate(read.decisions):
        if _is_change(one) and last[one.target] != at:
            read.log.append(f"{one.operation} of memory {one.target} for fact {one.fact}: a later decision changes it")
        else:
            decisions.append(one)
    read.decisions = decisions


def _is_change(decision: LlmDecision) -> bool:
    return decision.operation in (DecisionKind.UPDATE, DecisionKind.DELETE)


def _first_value(item: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


# --- facts by a language model, where a caller brings its own prompts -------------------------------------------------


_KINDS: Final = [Kind.FACTUAL.value, Kind.EPISODIC.value, Kind.PROCEDURAL.value, Kind.SEMANTIC.value]
_FACTS_SCHEMA: Final = {
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
) -> ModelQuestion:
    """Return the question for the facts in the new turns; they are shown by their place, from 1.

    ``custom_prompt`` replaces our instructions, ``instructions`` are added to whichever are used. ``categories`` take
    the place of the built-in ones.
    """
    agent = prompt_text(version_of("extract_facts_agent")) if side == "agent" else ""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    lines, cut = number_turns(talk.turns)
    memories = [memory_line(number, one) for number, one in enumerate(talk.known, 1)]
    fill = {EXISTING: "\n".join(memories or ["(none)"]), CONVERSATION: "\n".join(lines)}
    system, version = system_message("extract_facts", custom_prompt, agent, more, fill=fill)
    visible = [
        format_section("Known memories", memories),
        format_section(
            "Earlier messages, for understanding",
            [f"- {line.partition('] ')[2]}" for line in earlier_lines(talk.earlier_turns)],
        ),
        format_section("Conversation", lines),
        date_line(talk.now, talk.timezone),
    ]
    user = "\n\n".join(part for part in visible if part)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return ModelQuestion(messages, _extraction_schema(categories), version, cut=cut)


def _extraction_schema(categories: Sequence[str]) -> dict[str, Any]:
    if not categories:
        return dict(_FACTS_SCHEMA)
    schema: dict[str, Any] = deepcopy(_FACTS_SCHEMA)
    schema["properties"]["facts"]["items"]["properties"]["category"]["enum"] = [*categories, "other"]
    return schema


def parse_extraction(answer: str, talk: Talk, *, side: Side = "user", categories: Sequence[str] = ()) -> Operations:
    """Return the facts of an answer, all additions for now; raise ``UnreadableAnswer`` when it is no list of facts."""
    items, how = listed_items(answer)
    read = read_operations(items, talk, side=side, categories=categories)
    read.how = how
    read.operations = [one for one in read.operations if one.op is OperationKind.ADD]
    return read
