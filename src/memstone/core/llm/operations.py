"""Ask a language model what new turns do to the memory, and check its operations.

The model sees the memories near the talk by number, never by id, with the day each was said. What it writes is stored
as it is; whether the conversation supports it is noted beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from memstone.core.llm.evidence import NOTHING, Conversation, Support
from memstone.core.llm.parse import MAX_CHARS, MIN_CHARS, How, UnreadableAnswer, clean_text, parse_json
from memstone.core.llm.questions import ModelQuestion, object_schema
from memstone.core.prompts import prompt_text, version_of
from memstone.language.language import Language
from memstone.language.text.normal import normal_text
from memstone.language.text.statements import clause_at, is_of_the_speaker
from memstone.model.memory import Kind
from memstone.model.message import Message

if TYPE_CHECKING:
    from memstone.results import DroppedFact

Side: TypeAlias = Literal["user", "agent"]
"""Whose memories are written: about the user, or from the agent's own side."""

MOST: Final = 40
MOST_REMOVED: Final = 3
"""One answer ends at most so many memories; beyond that somebody has to look at it."""

EARLIER: Final = 10
EARLIER_CHARS: Final = 300
ANSWER_CHARS: Final = 120
"""So much of an earlier answer of the assistant is enough to understand what was said to it."""

INPUT_CHARS: Final = 65_536
REASON_CHARS: Final = 200

UNKNOWN: Final = "it names no memory that was shown"
TWICE: Final = "another operation changes the same memory"
BEYOND: Final = "it says more than the memory and the conversation"
NOT_THEIRS: Final = "only the user may ask for this"
NOT_SAID: Final = "nothing in the conversation asks for it"

CATEGORIES: Final = (
    "identity family home work skill health preference opinion decision habit goal plan date possession project event "
    "instruction other"
).split()
KINDS: Final = {
    **dict.fromkeys(("decision", "plan", "event", "date"), Kind.EPISODIC.value),
    "instruction": Kind.PROCEDURAL.value,
}
_RENAMED: Final = {"habit": "pattern"}
"""What models call otherwise than the rules do; a memory has one word for it, whoever found it."""

_SPOKEN: Final = ("user", "assistant")
_LISTS: Final = ("operations", "facts", "memory", "memories", "results", "decisions", "actions")
_TEXTS: Final = ("text", "fact", "data", "content", "new_memory")
_NAMES: Final = ("op", "operation", "event", "action")
_TARGETS: Final = ("memory", "target", "id", "target_id")
_MAX_NUMBER: Final = 999_999
_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # strftime asks the locale


class OperationKind(StrEnum):
    """The operations of a model."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    REMOVE = "REMOVE"
    FORGET = "FORGET"
    NONE = "NONE"


_OPS: Final = {
    **dict.fromkeys(("", "add", "create", "insert", "new"), OperationKind.ADD),
    **dict.fromkeys(("update", "replace", "revise", "merge", "correct"), OperationKind.UPDATE),
    **dict.fromkeys(("remove", "delete", "retract", "end"), OperationKind.REMOVE),
    "forget": OperationKind.FORGET,
    **dict.fromkeys(("none", "noop", "ignore", "keep", "skip", "no_change"), OperationKind.NONE),
}
_SCHEMA: Final = {
    "title": "operations",
    **object_schema(
        {
            "operations": {
                "type": "array",
                "items": object_schema(
                    {
                        "op": {"type": "string", "enum": [*OperationKind]},
                        "memory": {"type": ["integer", "null"]},
                        "text": {"type": ["string", "null"]},
                        "turns": {"type": "array", "items": {"type": "integer"}},
                        "quote": {"type": "string"},
                        "category": {"type": "string", "enum": CATEGORIES},
                        "about": {"type": "string"},
                    }
                ),
            }
        }
    ),
}


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A memory as a model is shown it: its text, and the day it was said."""

    id: str
    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its evidence: turn number ``turn`` (from 1), from ``start`` to ``end``.

    ``turns`` are all that it names. ``doubt`` says why it counts as doubtful; '' is verified. ``quoted`` when the user
    only passes on what others say. ``memory`` is the number of a memory that was shown.
    """

    op: OperationKind
    text: str
    turn: int
    start: int
    end: int
    turns: tuple[int, ...] = ()
    memory: int | None = None
    category: str = "other"
    kind: str = Kind.FACTUAL
    polarity: int = 1
    about: str = "user"
    doubt: str = ""
    quoted: bool = False
    waits: bool = False
    """Somebody has to approve it first: only others say it, of themselves or of the user."""

    reason: str = ""
    item: int = 0
    """Its place in the answer."""


@dataclass(frozen=True, slots=True)
class RejectedOperation:
    """An operation that is not carried out, and why."""

    text: str
    reason: str

    def as_dict(self) -> DroppedFact:
        """Return the form for callers."""
        return {"text": self.text, "reason": self.reason}


@dataclass(slots=True)
class Operations:
    """The accepted and rejected operations of an answer."""

    operations: list[Operation] = field(default_factory=list)
    dropped: list[RejectedOperation] = field(default_factory=list)
    how: How = "bare"

    @property
    def size(self) -> int:
        """The number of operations."""
        return len(self.operations)


# --- the question -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Talk:
    """The content of a question: new turns, earlier turns, similar memories, and the day."""

    turns: Sequence[Message]
    before: Sequence[Message] = ()
    known: Sequence[KnownFact] = ()
    now: datetime = datetime(1970, 1, 1)  # noqa: DTZ001 - only shown; the caller gives one with its zone
    timezone: str = "UTC"
    withheld: Sequence[str] = ()
    """What was said and is not shown: words by which others want something to be remembered or done."""

    language: Language = field(kw_only=True)
    """What an answer is held against the conversation with."""

    @property
    def earlier_turns(self) -> list[Message]:
        """The earlier turns that are shown."""
        return [one for one in self.before if one.role in _SPOKEN and one.text.strip()][-EARLIER:]

    @property
    def conversation(self) -> Conversation:
        """The conversation for checking evidence; earlier turns are counted first."""
        known = [one.text for one in self.known]
        return Conversation(self.turns, self.before, known, self.now, self.withheld, language=self.language)


def learn_question(
    talk: Talk, *, instructions: str = "", side: Side = "user", categories: Sequence[str] = ()
) -> ModelQuestion:
    """Build the question about ``talk``: the part that never changes first, the date last."""
    agent = prompt_text(version_of("extract_facts_agent")) if side == "agent" else ""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    own = f"Categories here: {', '.join([*categories, 'other'])}." if categories else ""
    system = "\n\n".join(part for part in (prompt_text(version_of("learn")), agent, own, more) if part)
    first = len(talk.earlier_turns)
    lines, cut = number_turns(talk.turns, first)
    visible = [
        format_section("Memories", [memory_line(number, one) for number, one in enumerate(talk.known, 1)])
        or "Memories: none",
        format_section("Earlier turns", earlier_lines(talk.earlier_turns)),
        format_section("New turns", lines),
        date_line(talk.now, talk.timezone),
    ]
    user = "\n\n".join(part for part in visible if part)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    ids = tuple(one.id for one in talk.known)
    return ModelQuestion(messages, operation_schema(categories), version_of("learn"), ids, cut)


def operation_schema(categories: Sequence[str]) -> dict[str, Any]:
    """Return the schema of the answer, with configured categories if there are any."""
    if not categories:
        return dict(_SCHEMA)
    schema: dict[str, Any] = deepcopy(_SCHEMA)
    schema["properties"]["operations"]["items"]["properties"]["category"]["enum"] = [*categories, "other"]
    return schema


def memory_line(number: int, known: KnownFact) -> str:
    """Return a memory as a model is shown it."""
    return f"{number}. ({known.day}) {one_line(known.text)}" if known.day else f"{number}. {one_line(known.text)}"


def date_line(now: datetime, timezone: str) -> str:
    """Return the line with the day of the conversation."""
    return f"Date: {_WEEKDAYS[now.weekday()]} {now:%Y-%m-%d}, {now:%H:%M}, time zone {timezone}."


def format_section(title: str, lines: Sequence[str]) -> str:
    """Put lines under a title; '' if there are none."""
    return "\n".join([f"{title}:", *lines]) if lines else ""


def number_turns(turns: Sequence[Message], after: int = 0) -> tuple[list[str], int]:
    """Return numbered turns, and how many of them had to be cut."""
    spoken = [(number, turn) for number, turn in enumerate(turns, 1) if turn.role in _SPOKEN and turn.text.strip()]
    total = sum(len(turn.text) for _, turn in spoken)
    room = INPUT_CHARS if total <= INPUT_CHARS else max(EARLIER_CHARS, INPUT_CHARS // len(spoken))
    lines = [
        f"[{after + number}] {_format_role(turn)}: {_indent_lines(_middle_out(turn.text, room))}"
        for number, turn in spoken
    ]
    return lines, sum(len(turn.text) > room for _, turn in spoken)


def earlier_lines(messages: Sequence[Message]) -> list[str]:
    """Return earlier turns, one line each; long ones are cut, and the end of the last is shown."""
    visible: list[str] = []
    for number, message in enumerate(messages, 1):
        line, most = one_line(message.text), ANSWER_CHARS if message.role == "assistant" else EARLIER_CHARS
        if number == len(messages):
            line = _middle_out(line, EARLIER_CHARS)
        elif len(line) > most:
            line = f"{line[:most]}…"
        visible.append(f"[{number}] {_format_role(message)}: {line}")
    return visible


def _format_role(turn: Message) -> str:
    return f"{turn.role} ({one_line(turn.name)})" if turn.name else turn.role


def _indent_lines(text: str) -> str:
    """Indent the lines of a turn, so that none looks like a turn."""
    return "\n    ".join(text.strip().splitlines())


def _middle_out(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room // 2]} […] {text[len(text) - room // 2 :]}"


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


# --- the answer -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _OperationReader:
    """Checks the operations of an answer against the conversation."""

    conversation: Conversation
    known: Sequence[KnownFact]
    first: int
    side: Side
    categories: Sequence[str]
    read: Operations
    language: Language
    texts: list[str] = field(default_factory=list)
    """All wordings of the answer."""


def parse_operations(answer: str, talk: Talk, *, side: Side = "user", categories: Sequence[str] = ()) -> Operations:
    """Parse the operations of an answer; raise ``UnreadableAnswer`` if it is not a list of them."""
    parsed = parse_json(answer)
    read = read_operations(
        _extract_items(parsed.value), talk, side=side, categories=categories, first=len(talk.earlier_turns)
    )
    read.how = parsed.how
    return read


def read_operations(
    items: Sequence[Any], talk: Talk, *, side: Side = "user", categories: Sequence[str] = (), first: int = 0
) -> Operations:
    """Check operations that a model listed against the conversation.

    ``first`` turns were shown before the new ones.
    """
    values = [_as_fields(item) for item in items]
    reading = _OperationReader(talk.conversation, talk.known, first, side, categories, Operations(), talk.language)
    reading.texts = [_operation_text(item) for item in values]
    for at, item in enumerate(values):
        found = _parse_operation(reading, item, at)
        if isinstance(found, RejectedOperation):
            reading.read.dropped.append(found)
        elif len(reading.read.operations) == MOST:
            reading.read.dropped.append(RejectedOperation(found.text, f"an answer has at most {MOST} operations"))
        else:
            reading.read.operations.append(replace(found, item=at))
    _keep_one_change_each(reading.read)
    return reading.read


def listed_items(answer: str) -> tuple[list[Any], How]:
    """Return the raw operations of an answer; raise ``UnreadableAnswer`` if it is not a list."""
    parsed = parse_json(answer)
    return _extract_items(parsed.value), parsed.how


def _extract_items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        named = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
        if named is not None:
            value = value[named]
        elif not value or any(isinstance(value.get(name), str) for name in (*_TEXTS, *_NAMES)):
            value = [value] if value else []
        elif all(value.get(name) is None for name in _LISTS) and any(name in value for name in _LISTS):
            value = []
    if not isinstance(value, list):
        raise UnreadableAnswer('the answer is not a list of operations: expected {"operations": [...]}')
    return value


def _as_fields(item: Any) -> Mapping[str, Any]:
    return item if isinstance(item, Mapping) else {"text": item}


def _operation_text(fields: Mapping[str, Any]) -> str:
    return clean_text(next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), ""))


def _parse_operation(reading: _OperationReader, fields: Mapping[str, Any], at: int) -> Operation | RejectedOperation:
    named = next((fields[name] for name in _NAMES if isinstance(fields.get(name), str)), "")
    text, op = reading.texts[at], _OPS.get(named.strip().lower())
    quote = fields.get("quote") if isinstance(fields.get("quote"), str) else ""
    output = text or clean_text(str(quote or ""))
    if op is None:
        return RejectedOperation(output, f"unknown operation {named[:40]!r}")
    memory = _parse_target(reading, fields)
    if op is OperationKind.UPDATE and memory is None:
        op = OperationKind.ADD  # what it says is still news
    if op in (OperationKind.REMOVE, OperationKind.FORGET) and memory is None:
        return RejectedOperation(output, UNKNOWN)
    if op in (OperationKind.ADD, OperationKind.UPDATE):
        if wrong := _find_text_problem(text):
            return RejectedOperation(text, wrong)
        return _build_statement_operation(reading, fields, op, memory, at)
    return _build_target_operation(reading, fields, op, memory, at)


def _find_text_problem(text: str) -> str:
    if len(text) < MIN_CHARS:
        return "it is too short"
    return f"it has more than {MAX_CHARS:,} characters" if len(text) > MAX_CHARS else ""


def _parse_target(reading: _OperationReader, fields: Mapping[str, Any]) -> int | None:
    number = parse_ordinal(next((fields[name] for name in _TARGETS if fields.get(name) is not None), None))
    return number if number is not None and 1 <= number <= len(reading.known) else None


def _build_statement_operation(
    reading: _OperationReader, fields: Mapping[str, Any], op: OperationKind, memory: int | None, at: int
) -> Operation | RejectedOperation:
    """Build an ADD or UPDATE with its evidence.

    A wording that goes beyond its sources is an addition.
    """
    text, quote, named = reading.texts[at], str(fields.get("quote") or ""), _parse_turn_numbers(reading, fields)
    about = clean_text(str(fields.get("about") or "user"))[:80] or "user"
    own = about.casefold() in ("user", "the user") and reading.side == "user"
    found = reading.conversation.support(text, quote, named, about_user=own)
    if found is None:
        return RejectedOperation(text, NOTHING)
    doubt = found.doubt
    if op is OperationKind.UPDATE and not doubt:
        more = [reading.known[(memory or 1) - 1].text, *(one for place, one in enumerate(reading.texts) if place != at)]
        doubt = "" if reading.conversation.bears_out(text, *more) else BEYOND
    if op is OperationKind.UPDATE and doubt:
        op, memory = OperationKind.ADD, None
    turn = reading.conversation.turns[found.turn - 1]
    guard = reading.language.guard
    quoted = turn.role == "user" and guard.is_quoted(turn.text, found.start, found.end)
    passed_on = (quoted or turn.role == "assistant") and reading.side == "user"
    if reading.conversation.is_withheld(text) or (passed_on and guard.is_suspicious(text)):
        return RejectedOperation(text, NOT_THEIRS)
    waits = passed_on and not _is_trusted(reading.language, turn, found, doubt, own=own)
    labels = labels_of(fields, text, reading.categories, reading.language)
    evidence: dict[str, Any] = {"turns": tuple(named), "doubt": doubt, "quoted": quoted, "about": about, "waits": waits}
    return Operation(op, text, found.turn, found.start, found.end, memory=memory, **evidence, **labels)


def _is_trusted(language: Language, turn: Message, found: Support, doubt: str, *, own: bool) -> bool:
    """Return whether words that are not the user's may become a memory without approval.

    News that the user passes on may, unless it is what somebody says of themselves. Of the assistant's words only what
    it plainly says back; in a language that is not read here, the model's own judgement has to do.
    """
    if turn.role == "user":
        return not (own and is_of_the_speaker(clause_at(turn.text, found.start, found.end)))
    sentences = language.facts.read_restatements(turn.text)
    plain = not language.reads(turn.text) or any(one.start < found.end and found.start < one.end for one in sentences)
    return plain and not doubt


def _build_target_operation(
    reading: _OperationReader, fields: Mapping[str, Any], op: OperationKind, memory: int | None, at: int
) -> Operation | RejectedOperation:
    """Build an operation without a text: REMOVE, FORGET or NONE."""
    quote, named = str(fields.get("quote") or ""), _parse_turn_numbers(reading, fields)
    known = reading.known[memory - 1].text if memory is not None else reading.texts[at] or clean_text(quote)
    found = reading.conversation.place(known, quote, named)
    if found is None and op is not OperationKind.NONE:
        return RejectedOperation(known, NOT_SAID)
    place = found or (reading.conversation.carrier(named), 0, 0)
    if not place[0]:
        return RejectedOperation(known, NOT_SAID)
    labels = labels_of(fields, known, reading.categories, reading.language)
    return Operation(op, known, *place, turns=tuple(named), memory=memory, **labels)


def _parse_turn_numbers(reading: _OperationReader, fields: Mapping[str, Any]) -> list[int]:
    """Return the new turns that an operation names."""
    value = fields.get("turns", fields.get("turn"))
    numbers = [parse_ordinal(one) for one in (value if isinstance(value, list) else [value])]
    places = [number - reading.first for number in numbers if number is not None]
    return [place for place in places if 1 <= place <= len(reading.conversation.turns)]


def labels_of(fields: Mapping[str, Any], text: str, own: Sequence[str], language: Language) -> dict[str, Any]:
    """Return category, kind and stance, as far as they are given."""
    value = str(fields.get("category", "")).strip().lower()
    kind = str(fields.get("kind", "")).strip().lower()
    stance = str(fields.get("polarity", "")).strip().lower()
    reason = fields.get("reason")
    return {
        "category": category_of(value, own),
        "kind": kind if kind in _KINDS else KINDS.get(value, Kind.FACTUAL.value),
        "polarity": {"negative": -1, "-1": -1, "positive": 1, "1": 1}.get(stance) or language.changes.polarity_of(text),
        "reason": clean_text(reason)[:REASON_CHARS] if isinstance(reason, str) else "",
    }


_KINDS: Final = frozenset({Kind.FACTUAL.value, Kind.EPISODIC.value, Kind.PROCEDURAL.value, Kind.SEMANTIC.value})


def category_of(text: str, own: Sequence[str]) -> str:
    """Return a known category, or ``other``."""
    own_value = next((name for name in own if name.lower() == text), None)
    if own_value is not None:
        return own_value
    return _RENAMED.get(text, text) if text in (*CATEGORIES, *_RENAMED.values()) else "other"


def _keep_one_change_each(read: Operations) -> None:
    """Keep the last change of each memory; other wordings become additions."""
    last = {one.memory: at for at, one in enumerate(read.operations) if _is_change(one)}
    operations: list[Operation] = []
    for at, one in enumerate(read.operations):
        if not _is_change(one) or last[one.memory] == at:
            operations.append(one)
        elif one.op is OperationKind.UPDATE:
            operations.append(replace(one, op=OperationKind.ADD, memory=None))
        else:
            read.dropped.append(RejectedOperation(one.text, TWICE))
    seen: set[str] = set()
    read.operations = [one for one in operations if one.op is not OperationKind.ADD or not _is_repetition(one, seen)]


def _is_repetition(one: Operation, seen: set[str]) -> bool:
    text = normal_text(one.text)
    known = text in seen
    seen.add(text)
    return known


def _is_change(one: Operation) -> bool:
    return one.memory is not None and one.op in (OperationKind.UPDATE, OperationKind.REMOVE, OperationKind.FORGET)


def parse_ordinal(value: Any) -> int | None:
    """Parse a number as models write it: 2, "2", "F2", "[2]", 2.0.

    A text with anything else in it is no number of ours.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        found = re.fullmatch(r"\W*+(?:(?:fact|memory|turn|m|f|t)\W*+)?(\d{1,6})\W*+", value, re.IGNORECASE)
        return int(found[1]) if found else None
    return int(value) if isinstance(value, (int, float)) and abs(value) <= _MAX_NUMBER and value % 1 == 0 else None
