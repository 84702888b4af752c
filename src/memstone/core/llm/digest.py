"""A session's digest by a language model: how it is asked for one, and what of its answer is believed.

One question brings everything: the episode, facts to keep, and what says who the user is. A fact stays only when words
of the user show it, and no name or number comes in that nobody said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from memstone.core.digest.invented import invented_names, unknown_numbers
from memstone.core.digest.model import EPISODE_SALIENCE, Digest, clamped, cut
from memstone.core.digest.similar import MIN_CHARS
from memstone.core.digest.window import shown_turns
from memstone.core.llm.facts import CATEGORIES
from memstone.core.llm.parse import How, UnreadableAnswer, parse_json
from memstone.core.llm.question import Question, object_schema, system_message
from memstone.core.llm.screen import clean, first_person, is_stock_name, other_script, unusable
from memstone.core.privacy.poison import is_quoted
from memstone.core.rules.orders import is_order
from memstone.core.rules.plain import plain, sentences
from memstone.core.rules.rewrite import third
from memstone.core.talk.evidence import Conversation, Source
from memstone.core.text.normalize import normal_text
from memstone.model.message import Message

MOST_FACTS: Final = 12
MOST_IDENTITY: Final = 8
MOST_LISTED: Final = 24
SENTENCES: Final = 3
NO_EPISODE: Final = "no_episode"
EMPTY_SUMMARY: Final = "empty_summary"

_TEXTS: Final = ("content", "text", "fact", "memory", "statement")
_CANDIDATES: Final = ("pinned_candidates", "candidates", "pinned", "facts")
_IDENTITY: Final = ("identity_facts", "identity")
_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
_SHOWN: Final = {
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
                "items": object_schema({**_SHOWN, "salience": {"type": "number"}, "tags": _STRINGS}),
            },
            "identity_facts": {"type": "array", "items": object_schema(_SHOWN)},
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
    """A fact a model would keep, with its evidence: turn number ``turn`` (from 1), from ``start`` to ``end``."""

    text: str
    turn: int
    start: int
    end: int
    salience: float | None = None
    tags: tuple[str, ...] = ()
    quoted: bool = False
    """The user quotes or hands over the words: others say it."""


@dataclass(slots=True)
class LlmDigest:
    """What is left of an answer; without a digest, ``reason`` says why there is none."""

    digest: Digest | None
    reason: str = ""
    facts: list[DigestFact] = field(default_factory=list)
    identity: list[DigestFact] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return int(self.digest is not None) + len(self.facts) + len(self.identity)


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
    most_turns: int = 60,
    turn_chars: int = 2_000,
    instructions: str = "",
) -> Question:
    """The question for the digest of a session; turns are shown by their place, from 1."""
    before = before or Before()
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    system, version = system_message("distill", "", more)
    shown = [
        f"Conversation date: {now:%Y-%m-%d} ({_WEEKDAYS[now.weekday()]}), time zone {timezone}.",
        f"Known about the user:\n{_one_line(before.narrative)}" if before.narrative else "",
        _block("Earlier conversations", [f"- {day}: {_one_line(text)[:160]}" for day, text in before.episodes]),
        _block("Conversation", shown_turns(turns, most_turns, turn_chars)),
    ]
    user = "\n\n".join(part for part in shown if part)
    return Question([{"role": "system", "content": system}, {"role": "user", "content": user}], dict(_SCHEMA), version)


def _block(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *lines]) if lines else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


@dataclass(slots=True)
class _Reading:
    """The session while an answer is held against it."""

    turns: Sequence[Message]
    conversation: Conversation
    said: Source
    names: list[str]
    dropped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, turns: Sequence[Message]) -> _Reading:
        spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
        names = [turn.name for turn in spoken if turn.name]
        # Only the user's words show a fact; the assistant's stand in the way of no name in a summary.
        own = [turn if turn.role == "user" else Message("system", "") for turn in turns]
        said = Source("\n".join([*names, *(turn.text for turn in spoken)]))
        return cls(turns, Conversation(own), said, [*names, "user", "assistant"])


def parse_digest(answer: str, turns: Sequence[Message]) -> LlmDigest:
    """What the session shows of an answer; ``UnreadableAnswer`` when it is no digest at all."""
    parsed = parse_json(answer)
    if not isinstance(parsed.value, Mapping):
        raise UnreadableAnswer('the answer is not a digest: expected {"episode": {...}, ...}')
    value = parsed.value
    reading = _Reading.of(turns)
    found = LlmDigest(None, how=parsed.how)
    found.digest, found.reason = _episode(reading, value)
    found.facts = _facts(reading, _named(value, _CANDIDATES), MOST_FACTS)
    found.identity = _facts(reading, _named(value, _IDENTITY), MOST_IDENTITY)
    found.dropped = dict(reading.dropped)
    return found


def _episode(reading: _Reading, value: Mapping[str, Any]) -> tuple[Digest | None, str]:
    told = value.get("episode", value if "summary" in value else None)
    if isinstance(told, str):
        told = {"summary": told}
    if not isinstance(told, Mapping):
        return None, NO_EPISODE
    summary = _summary(reading, told.get("summary"))
    if not summary:
        return None, EMPTY_SUMMARY
    entities = told.get("entities") if value.get("entities") is None else value["entities"]
    digest = Digest(
        summary=cut(summary),
        topics=_listed(reading, told.get("topics")),
        entities=_listed(reading, entities),
        decisions=_listed(reading, told.get("decisions")),
        action_items=_listed(reading, told.get("action_items")),
        salience=clamped(told.get("salience"), EPISODE_SALIENCE),
    )
    return digest, ""


def _summary(reading: _Reading, value: Any) -> str:
    """One to three sentences, without the chat around them and without what nobody said."""
    text = clean(value) if isinstance(value, str) else ""
    while (bare := _CHATTY.sub("", text, count=1).strip()) != text:
        text = bare
    kept = [one for one in sentences(text) if _stands(reading, one)]
    return " ".join(kept[:SENTENCES])


def _stands(reading: _Reading, text: str) -> bool:
    said = reading.said
    if is_order(text):
        reading.dropped["instruction"] += 1
        return False
    invented = bool(invented_names(text, said.text, reading.names) or unknown_numbers(text, said))
    invented = invented or is_stock_name(text, said.text)
    if invented:
        reading.dropped["invented"] += 1
    return not invented


def _listed(reading: _Reading, value: Any) -> tuple[str, ...]:
    """A list, also when it was written as one text; what names somebody nobody named is left out."""
    items = re.split(r"[\n;,]", value) if isinstance(value, str) else value if isinstance(value, list) else []
    texts = [clean(one) for one in items if isinstance(one, str)]
    kept = {normal_text(one): one for one in reversed(texts) if one and _stands(reading, f"- {one}")}
    return tuple(cut(one, 500) for one in reversed(kept.values()))[:MOST_LISTED]


def _named(value: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    found: Any = next((value[name] for name in names if value.get(name)), [])
    return found if isinstance(found, list) else [found]


def _facts(reading: _Reading, items: Sequence[Any], most: int) -> list[DigestFact]:
    found: dict[str, DigestFact] = {}
    for item in items:
        fact = _fact(reading, item)
        if isinstance(fact, str):
            reading.dropped[fact] += 1
        elif len(found) < most:
            found.setdefault(normal_text(fact.text), fact)
        else:
            reading.dropped["too many"] += 1
    return list(found.values())


def _fact(reading: _Reading, item: Any) -> DigestFact | str:
    """A fact with its evidence, or why it is dropped."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {"content": item}
    text = clean(next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), ""))
    reason = "too short" if len(text) <= MIN_CHARS else unusable(text, agent_side=False)
    if reason:
        return reason
    spoken = [turn.text for turn in reading.turns if turn.role == "user"]
    if other_script(text, spoken):
        return "other language"
    quote, turn = fields.get("quote"), fields.get("turn")
    number = turn if isinstance(turn, int) and not isinstance(turn, bool) else None
    found = reading.conversation.evidence(text, quote if isinstance(quote, str) else "", number)
    if found is None or is_stock_name(text, "\n".join(spoken)):
        return "no evidence"
    if found.asked:
        return "question"
    if unknown_numbers(text, reading.said):
        return "invented"
    if first_person(text):
        text = third(plain(text).rstrip(" .!"), reading.turns[found.turn - 1].name or "User")
    salience = fields.get("salience")
    weight = None if salience is None else clamped(salience, -1.0)
    quoted = is_quoted(reading.turns[found.turn - 1].text, found.start, found.end)
    told = None if weight == -1.0 else weight
    return DigestFact(text, found.turn, found.start, found.end, told, _tags(fields), quoted)


def _tags(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields.get("tags")
    items = re.split(r"[,;\n]", value) if isinstance(value, str) else value if isinstance(value, list) else []
    tags = (one.strip().lower() for one in items if isinstance(one, str))
    return tuple(dict.fromkeys(tag[:40] for tag in tags if tag))[:8]


def category_of(tags: Sequence[str]) -> str:
    """The category of a fact by its tags."""
    return next((tag for tag in tags if tag in CATEGORIES), "other")
