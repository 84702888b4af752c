"""Ask a language model for the digest of a session, and check its answer.

One question brings everything: the episode, what becomes of the facts that are known, and what says who the user is.
Texts are kept as they were written; whether the user's words bear a fact out is noted beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Final

from memstone.core.llm.evidence import Conversation, is_comparable
from memstone.core.llm.operations import (
    CATEGORIES,
    KnownFact,
    Operation,
    RejectedOperation,
    Talk,
    format_section,
    memory_line,
    read_operations,
)
from memstone.core.llm.parse import How, UnreadableAnswer, clean_text, parse_json
from memstone.core.llm.questions import ModelQuestion, object_schema, system_message
from memstone.core.portrait import is_within_budget
from memstone.language.language import Language, TextGuard
from memstone.language.text.normal import ESTIMATE, TokenCounter, normal_text
from memstone.model.digest import EPISODE_SALIENCE, Digest, truncate_text
from memstone.model.message import Message

# --- a session's digest by a language model ---------------------------------------------------------------------------


MOST_FACTS: Final = 12
MOST_IDENTITY: Final = 8
MOST_LISTED: Final = 24
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NO_EPISODE: Final = "no_episode"
EMPTY_SUMMARY: Final = "empty_summary"
INVENTED: Final = "invented"
CLAIM: Final = "the assistant says it, and the user does not"

_CANDIDATES: Final = ("pinned_candidates", "candidates", "pinned", "facts")
_IDENTITY: Final = ("identity_facts", "identity")
_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_OPERATION_FIELDS: Final = {
    "op": {"type": "string", "enum": ["ADD", "UPDATE", "REMOVE", "FORGET"]},
    "memory": {"type": ["integer", "null"]},
    "content": {"type": "string"},
    "turn": {"type": "integer"},
    "quote": {"type": "string"},
}
_SCHEMA: Final = {
    "title": "digest",
    **object_schema(
        {
            "episode": object_schema(
                {
                    "summary": {"type": "string"},
                    "topics": _STRINGS,
                    "decisions": _STRINGS,
                    "action_items": _STRINGS,
                    "salience": {"type": "number"},
                }
            ),
            "entities": _STRINGS,
            "pinned_candidates": {
                "type": "array",
                "items": object_schema({**_OPERATION_FIELDS, "salience": {"type": "number"}, "tags": _STRINGS}),
            },
            "identity_facts": {"type": "array", "items": object_schema(_OPERATION_FIELDS)},
        }
    ),
}
_CHATTY: Final = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[,.!:]?\s*)?"
    r"(?:here(?:'s|\u2019s| is| are)\b[^:\n]{0,80}:|(?:the |a |brief |short )*(?:summary|digest|episode)\b[^:\n]{0,40}:"
    r"|in summary,|to summari[sz]e[,:])\s*",
    re.IGNORECASE,
)
_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # strftime asks the locale


@dataclass(frozen=True, slots=True)
class DigestFact:
    """What a model would do to the memory, how much it matters, and what it is about."""

    operation: Operation
    salience: float | None = None
    tags: tuple[str, ...] = ()
    is_identity: bool = False


@dataclass(slots=True)
class LlmDigest:
    """What is left of an answer; without a digest, ``reason`` says why there is none."""

    digest: Digest | None
    reason: str = ""
    facts: list[DigestFact] = field(default_factory=list)
    dropped: list[RejectedOperation] = field(default_factory=list)
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return int(self.digest is not None) + len(self.facts)


@dataclass(frozen=True, slots=True)
class Before:
    """What is shown for understanding: the text about the user, and earlier episodes by date."""

    narrative: str = ""
    episodes: tuple[tuple[str, str], ...] = ()


def digest_prompt(
    turns: Sequence[Message],
    *,
    now: datetime,
    timezone: str = "UTC",
    before: Before | None = None,
    known: Sequence[KnownFact] = (),
    most_turns: int = 60,
    turn_chars: int = 2_000,
    instructions: str = "",
) -> ModelQuestion:
    """Return the question for the digest of a session; turns are shown by their place, from 1."""
    before = before or Before()
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    system, version = system_message("distill", "", more)
    visible = [
        f"Conversation date: {now:%Y-%m-%d} ({_WEEKDAYS[now.weekday()]}), time zone {timezone}.",
        f"Known about the user:\n{_one_line(before.narrative)}" if before.narrative else "",
        format_section("Known memories", [memory_line(number, one) for number, one in enumerate(known, 1)]),
        format_section("Earlier conversations", [f"- {day}: {_one_line(text)[:160]}" for day, text in before.episodes]),
        format_section("Conversation", shown_turns(turns, most_turns, turn_chars)),
    ]
    user = "\n\n".join(part for part in visible if part)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return ModelQuestion(messages, dict(_SCHEMA), version, tuple(one.id for one in known))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def parse_digest(
    answer: str,
    turns: Sequence[Message],
    known: Sequence[KnownFact] = (),
    now: datetime = EPOCH,
    withheld: Sequence[str] = (),
    *,
    language: Language,
) -> LlmDigest:
    """Return what is left of an answer; ``UnreadableAnswer`` when it is no digest at all."""
    parsed = parse_json(answer)
    if not isinstance(parsed.value, Mapping):
        raise UnreadableAnswer('the answer is not a digest: expected {"episode": {...}, ...}')
    value = parsed.value
    found = LlmDigest(None, how=parsed.how)
    found.digest, found.reason = _parse_episode(value, turns, language.guard)
    lines = [*_first_list(value, _CANDIDATES)[:MOST_FACTS]]
    who = [*_first_list(value, _IDENTITY)[:MOST_IDENTITY]]
    read = read_operations([*who, *lines], Talk(turns, (), known, now, withheld=withheld, language=language))
    own = [one for one in read.operations if turns[one.turn - 1].role == "user"]  # the user's words make a fact
    found.dropped = [*read.dropped, *(RejectedOperation(one.text, CLAIM) for one in read.operations if one not in own)]
    found.facts = [_build_fact(one, [*who, *lines][one.item], is_identity=one.item < len(who)) for one in own]
    return found


def _build_fact(one: Operation, item: Any, *, is_identity: bool) -> DigestFact:
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    tags = _parse_tags(fields)
    salience = fields.get("salience")
    weight = -1.0 if salience is None else clamp_salience(salience, -1.0)
    return DigestFact(replace(one, category=category_of(tags)), None if weight < 0 else weight, tags, is_identity)


def _parse_episode(value: Mapping[str, Any], turns: Sequence[Message], guard: TextGuard) -> tuple[Digest | None, str]:
    answer = value.get("episode", value if "summary" in value else None)
    if isinstance(answer, str):
        answer = {"summary": answer}
    if not isinstance(answer, Mapping):
        return None, NO_EPISODE
    summary = _clean_summary(answer.get("summary"), guard)
    if not summary:
        return None, EMPTY_SUMMARY
    text = "\n".join([*(turn.name for turn in turns if turn.name), *(turn.text for turn in turns)])
    if not is_comparable(summary, text):
        return None, INVENTED
    entities = answer.get("entities") if value.get("entities") is None else value["entities"]
    digest = Digest(
        summary=truncate_text(summary),
        topics=_parse_list(answer.get("topics"), guard),
        entities=_parse_list(entities, guard),
        decisions=_parse_list(answer.get("decisions"), guard),
        action_items=_parse_list(answer.get("action_items"), guard),
        salience=clamp_salience(answer.get("salience"), EPISODE_SALIENCE),
    )
    return digest, ""


def _clean_summary(value: Any, guard: TextGuard) -> str:
    """Return the summary as it was written, without the chat around it; a sentence that gives orders is left out."""
    text = clean_text(value) if isinstance(value, str) else ""
    while (bare := _CHATTY.sub("", text, count=1).strip()) != text:
        text = bare
    return guard.remove_orders(text)


def _parse_list(value: Any, guard: TextGuard) -> tuple[str, ...]:
    """Return a list, also when it was written as one text."""
    items = re.split(r"[\n;,]", value) if isinstance(value, str) else value if isinstance(value, list) else []
    texts = [clean_text(one) for one in items if isinstance(one, str)]
    stored = {normal_text(one): one for one in reversed(texts) if one and not guard.is_order(f"- {one}")}
    return tuple(truncate_text(one, 500) for one in reversed(stored.values()))[:MOST_LISTED]


def _first_list(value: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    found: Any = next((value[name] for name in names if value.get(name)), [])
    return found if isinstance(found, list) else [found]


def _parse_tags(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields.get("tags")
    items = re.split(r"[,;\n]", value) if isinstance(value, str) else value if isinstance(value, list) else []
    tags = (one.strip().lower() for one in items if isinstance(one, str))
    return tuple(dict.fromkeys(tag[:40] for tag in tags if tag))[:8]


def category_of(tags: Sequence[str]) -> str:
    """Return the category of a fact by its tags."""
    return next((tag for tag in tags if tag in CATEGORIES), "other")


# --- a text about the user by a language model, from facts that are known and nothing else ----------------------------


_NAMES: Final = ("narrative", "text", "content", "summary")
_ENDS: Final = re.compile(r"(?<=[.!?\u2026])(?<!\d\.)\s+|(?<=[\u3002\uff01\uff1f\u0964])\s*")
"""Where a sentence ends in any language; "2. M\u00e4rz" is no end."""

_NARRATIVE_SCHEMA: Final = {"title": "narrative", **object_schema({"narrative": {"type": "string"}})}


@dataclass(frozen=True, slots=True)
class Narrative:
    """A text as it was written, without sentences that the facts do not bear out or that did not fit."""

    text: str
    dropped: int = 0
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.text)


def narrative_prompt(facts: Sequence[str], *, days: Sequence[str] = (), instructions: str = "") -> ModelQuestion:
    """Return the question for a text about the user; ``days`` are those on which the facts were told."""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    system, version = system_message("distill_narrative", "", more)
    dated = zip_longest(facts, days[: len(facts)], fillvalue="")
    text = "\n".join(
        ["Statements:", *(f"- {f'({day}) ' if day else ''}{' '.join(fact.split())}" for fact, day in dated)]
    )
    return ModelQuestion(
        [{"role": "system", "content": system}, {"role": "user", "content": text}], dict(_NARRATIVE_SCHEMA), version
    )


def parse_narrative(
    answer: str, facts: Sequence[str], tokens: int, language: Language, counter: TokenCounter = ESTIMATE
) -> Narrative:
    """Return the text of an answer as far as the facts support it, and as far as it fits."""
    parsed = parse_json(answer)
    value = parsed.value
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), None)
    if not isinstance(value, str):
        raise UnreadableAnswer('the answer is not a text: expected {"narrative": "..."}')
    text = language.guard.remove_orders(clean_text(value))
    known = Conversation((), known=facts, language=language)
    lines = [part for part in _ENDS.split(text) if part]
    remaining = [part for part in lines if known.bears_out(part)]
    text = text if remaining == lines else " ".join(remaining)
    while remaining and not is_within_budget(text, tokens, counter):
        remaining.pop()
        text = text[: text.rfind(remaining[-1]) + len(remaining[-1])] if remaining else ""
    return Narrative(text, len(lines) - len(remaining), parsed.how)


_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+))\s*(%?)")


def clamp_salience(value: Any, default: float) -> float:
    """Return a salience from 0 to 1; a number may be written as text, what is none is the default."""
    if isinstance(value, str):
        found = _NUMBER.match(value)
        value = float(found[1].replace(",", ".")) / (100 if found[2] else 1) if found else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN is none
        return default
    return min(1.0, max(0.0, float(value)))


_SPOKEN: Final = ("user", "assistant")


def shown_turns(turns: Sequence[Message], most: int, chars: int) -> list[str]:
    """Return the turns as lines numbered from 1: the first quarter and the most recent rest, each up to ``chars``."""
    spoken = [(at, turn) for at, turn in enumerate(turns, 1) if turn.role in _SPOKEN and turn.text.strip()]
    if len(spoken) <= most:
        return [_format_turn(at, turn, chars) for at, turn in spoken]
    first = most // 4
    last = most - first
    left_out = len(spoken) - most
    return [
        *(_format_turn(at, turn, chars) for at, turn in spoken[:first]),
        f"[... {left_out} turns left out ...]",
        *(_format_turn(at, turn, chars) for at, turn in spoken[len(spoken) - last :]),
    ]


def _format_turn(at: int, turn: Message, chars: int) -> str:
    return f"[{at}] {speaker_label(turn)}: {_indent_lines(shorten_text(turn.text.strip(), chars))}"


def speaker_label(turn: Message) -> str:
    """Return who speaks, as a model is told."""
    return f"{turn.role} ({' '.join(turn.name.split())})" if turn.name else turn.role


def shorten_text(text: str, chars: int) -> str:
    """Return a text up to a length, with a note of how much is missing."""
    return text if len(text) <= chars else f"{text[:chars]} [... {len(text) - chars:,} more characters]"


def _indent_lines(text: str) -> str:
    """Return a text of several lines as one turn: a line of it cannot look like a turn of its own."""
    return "\n    ".join(text.splitlines())
