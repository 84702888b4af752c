"""Facts by a language model: how it is asked for them, and which of its answers are believed.

The model proposes and the conversation decides: a fact stays only when words of a turn show it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, Literal, TypeAlias

from memstone.core.changes.statement import polarity_of
from memstone.core.llm.parse import How, UnreadableAnswer, parse_json
from memstone.core.llm.question import CONVERSATION, EXISTING, Question, object_schema, system_message
from memstone.core.llm.screen import assistant_says, clean, first_person, is_stock_name, other_script, unusable
from memstone.core.privacy.poison import is_quoted
from memstone.core.prompts import prompt_text
from memstone.core.rules.assistant import restated
from memstone.core.rules.material import is_english
from memstone.core.rules.orders import suspect
from memstone.core.rules.plain import plain
from memstone.core.rules.rewrite import third
from memstone.core.talk.evidence import Conversation, Evidence
from memstone.core.text.normalize import normal_text
from memstone.model.memory import Kind
from memstone.model.message import Message

Side: TypeAlias = Literal["user", "agent"]
"""Whose memories are written: about the user, or from the agent's own side."""

MAX_FACTS: Final = 24
RECENT_MESSAGES: Final = 10
RECENT_CHARS: Final = 300
INPUT_CHARS: Final = 65_536

CATEGORIES: Final = (
    "identity family home work skill health preference opinion decision habit goal plan date possession project event "
    "instruction other"
).split()
KINDS: Final = [Kind.FACTUAL.value, Kind.EPISODIC.value, Kind.PROCEDURAL.value, Kind.SEMANTIC.value]
_RENAMED: Final = {"habit": "pattern"}
"""What models call otherwise than the rules do; a memory has one word for it, whoever found it."""

_SPOKEN: Final = ("user", "assistant")
_LISTS: Final = ("facts", "memory", "memories", "results")
_TEXTS: Final = ("text", "fact", "memory", "content")
_MAX_NUMBER: Final = 999_999
_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # strftime asks the locale
_DATE: Final = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
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
                        "kind": {"type": "string", "enum": KINDS},
                        "polarity": {"type": "string", "enum": ["positive", "negative"]},
                        "about": {"type": "string"},
                        "date": {"type": ["string", "null"]},
                    }
                ),
            }
        }
    ),
}


@dataclass(frozen=True, slots=True)
class LlmFact:
    """A fact a model proposed, with its evidence: turn number ``turn`` (from 1), from ``start`` to ``end``.

    ``found_by`` says whether the model's quote stands there ("quote") or the fact's own words do ("words").
    """

    text: str
    turn: int
    start: int
    end: int
    category: str = "other"
    kind: str = Kind.FACTUAL
    polarity: int = 1
    about: str = "user"
    date: str | None = None
    found_by: Literal["quote", "words"] = "quote"
    doubtful: bool = False
    """Others say it, and the user or the assistant only passes it on: somebody has to approve it."""


@dataclass(slots=True)
class Extraction:
    """What is left of an answer, how many proposals were dropped for which reason, and how the answer was read."""

    facts: list[LlmFact]
    dropped: dict[str, int]
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.facts)


def extraction_prompt(  # noqa: PLR0913 - all that a question is made of, by name
    turns: Sequence[Message],
    *,
    now: datetime,
    timezone: str = "UTC",
    known: Sequence[str] = (),
    recent: Sequence[Message] = (),
    instructions: str = "",
    custom_prompt: str = "",
    side: Side = "user",
    categories: Sequence[str] = (),
) -> Question:
    """The question for the facts in ``turns``; they are shown by their place, from 1.

    ``now`` is when the conversation took place, in the time zone named. ``known`` are near memories, ``recent`` the
    messages before these turns; both are for understanding only. ``custom_prompt`` replaces our instructions,
    ``instructions`` are added to whichever are used. ``categories`` take the place of the built-in ones.
    """
    agent = prompt_text("extract_facts_agent.v1") if side == "agent" else ""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    told, cut = _told(turns)
    memories = [f"{number}. {_one_line(text)}" for number, text in enumerate(known, 1)]
    fill = {EXISTING: "\n".join(memories or ["(none)"]), CONVERSATION: "\n".join(told)}
    system, version = system_message("extract_facts", custom_prompt, agent, more, fill=fill)
    shown = [
        f"Conversation date: {now:%Y-%m-%d} ({_WEEKDAYS[now.weekday()]}), {now:%H:%M}, time zone {timezone}.",
        _block("Known memories", memories),
        _block("Earlier messages, for understanding", [_earlier(message) for message in recent[-RECENT_MESSAGES:]]),
        _block("Conversation", told),
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


def _block(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *lines]) if lines else ""


def _told(turns: Sequence[Message]) -> tuple[list[str], int]:
    """Spoken turns as numbered lines, and how many of them had to be cut to fit."""
    spoken = [(number, turn) for number, turn in enumerate(turns, 1) if turn.role in _SPOKEN and turn.text.strip()]
    total = sum(len(turn.text) for _, turn in spoken)
    room = INPUT_CHARS if total <= INPUT_CHARS else max(RECENT_CHARS, INPUT_CHARS // len(spoken))
    lines = [f"[{number}] {_role(turn)}: {_indented(_middle_out(turn.text, room))}" for number, turn in spoken]
    return lines, sum(len(turn.text) > room for _, turn in spoken)


def _role(turn: Message) -> str:
    return f"{turn.role} ({_one_line(turn.name)})" if turn.name else turn.role


def _indented(text: str) -> str:
    """A text of several lines as one turn: a line of it cannot look like a turn of its own."""
    return "\n    ".join(text.strip().splitlines())


def _middle_out(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room // 2]} […] {text[len(text) - room // 2 :]}"


def _earlier(message: Message) -> str:
    line = _one_line(message.text)
    return f"- {_role(message)}: {line if len(line) <= RECENT_CHARS else line[:RECENT_CHARS] + '…'}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


@dataclass(slots=True)
class _Reading:
    """The conversation while proposals are held against it."""

    conversation: Conversation
    side: Side
    categories: Sequence[str] = ()
    facts: list[LlmFact] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)


def parse_extraction(
    answer: str,
    turns: Sequence[Message],
    *,
    side: Side = "user",
    before: Sequence[Message] = (),
    categories: Sequence[str] = (),
) -> Extraction:
    """The facts in an answer that the conversation shows; ``UnreadableAnswer`` when it is no list of facts.

    ``before`` are the messages that were shown for understanding: they show no fact, but may have named somebody in it.
    """
    parsed = parse_json(answer)
    reading = _Reading(Conversation(turns, _SPOKEN if side == "agent" else ("user",), before), side, categories)
    for item in _items(parsed.value):
        reason = _read(reading, item)
        if reason:
            reading.dropped[reason] += 1
    return Extraction(reading.facts, dict(reading.dropped), parsed.how)


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        named = next((name for name in _LISTS if name in value and not isinstance(value[name], str)), None)
        if named is not None:
            value = value[named] or []
        elif not value or any(isinstance(value.get(name), str) for name in _TEXTS):
            value = [value] if value else []
    if not isinstance(value, list):
        raise UnreadableAnswer('the answer is not a list of facts: expected {"facts": [...]}')
    return value


def _read(reading: _Reading, item: Any) -> str:
    """Take one proposal, or say why it is dropped."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {"text": item}
    text = clean(next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), ""))
    reason = unusable(text, agent_side=reading.side == "agent", about=fields.get("about"))
    if reason:
        return reason
    fact = _with_evidence(reading, fields, text)
    if isinstance(fact, str):
        return fact
    same = normal_text(fact.text)
    if same in reading.seen:
        return "duplicate"
    if len(reading.facts) == MAX_FACTS:
        return "too many"
    reading.seen.add(same)
    reading.facts.append(fact)
    return ""


def _with_evidence(reading: _Reading, fields: Mapping[str, Any], text: str) -> LlmFact | str:
    quote = fields.get("quote")
    turns = reading.conversation.turns
    spoken = [turn.text for turn in turns if turn.role in _SPOKEN]
    if other_script(text, spoken):
        return "other language"
    found = reading.conversation.evidence(text, quote if isinstance(quote, str) else "", _number(fields.get("turn")))
    if found is None:
        return "placeholder" if quote and is_stock_name(text, "\n".join(spoken)) else "no evidence"
    if found.asked:
        return "question"
    turn = turns[found.turn - 1]
    if turn.role == "assistant" and reading.side == "user":
        reason = assistant_says(turn.text, found.start, found.end) or ("instruction" if suspect(text) else "")
        if reason:
            return reason
    elif first_person(text):
        text = third(plain(text).rstrip(" .!"), turn.name or "User")
    if is_stock_name(text, turn.text):
        return "placeholder"
    labels = _labels(fields, text, reading.categories)
    own = _is_plain(turn, found) or reading.side == "agent"
    return LlmFact(text, found.turn, found.start, found.end, found_by=found.found_by, doubtful=not own, **labels)


def _is_plain(turn: Message, found: Evidence) -> bool:
    """Whether the words are the user's own, or an assistant plainly says back what it knows of them.

    How an assistant says that is known in English only; elsewhere the model's own judgement has to do.
    """
    if turn.role == "user":
        return not is_quoted(turn.text, found.start, found.end)
    told = restated(turn.text)
    return not is_english(turn.text) or any(one.start < found.end and found.start < one.end for one in told)


def _labels(fields: Mapping[str, Any], text: str, own: Sequence[str]) -> dict[str, Any]:
    kind = str(fields.get("kind", "")).strip().lower()
    stance = str(fields.get("polarity", "")).strip().lower()
    about = fields.get("about")
    return {
        "category": _category(str(fields.get("category", "")).strip().lower(), own),
        "kind": kind if kind in KINDS else Kind.FACTUAL.value,
        "polarity": {"negative": -1, "-1": -1, "positive": 1, "1": 1}.get(stance) or polarity_of(text.lower()),
        "about": clean(about)[:80] if isinstance(about, str) and about.strip() else "user",
        "date": _date(fields.get("date")),
    }


def _category(given: str, own: Sequence[str]) -> str:
    mine = next((name for name in own if name.lower() == given), None)
    if mine is not None:
        return mine
    return _RENAMED.get(given, given) if given in (*CATEGORIES, *_RENAMED.values()) else "other"


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        digits = re.search(r"\d{1,6}", value)
        return int(digits[0]) if digits else None
    return int(value) if isinstance(value, (int, float)) and abs(value) <= _MAX_NUMBER else None


def _date(value: Any) -> str | None:
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        return None
    try:
        date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None
    return found[0]
