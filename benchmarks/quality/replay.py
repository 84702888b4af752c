"""Plays recorded chats: a real store and engine, and a language model that answers from a file.

The format is told in ``benchmarks/quality/recorded/README.md``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.report import Table
from memstone import Memory
from memstone.core.prompts import prompt_text, version_of
from memstone.language.text.normal import estimate_tokens
from memstone.ports.models import Prompt
from memstone.results import AddEvent, AddResult, MemoryItem
from memstone.testing.llm import ScriptedLlm

RECORDED: Final = Path(__file__).parent / "recorded"
_LINE: Final = re.compile(r"(@@|U:|A:|OP|OK|G|N)(?= |$)\s*(.*)", re.DOTALL)
_GOLD: Final = re.compile(r"(?P<name>\S+?)(?: >(?P<until>\S+))?: (?P<text>.*?) ~ (?P<patterns>.*)", re.DOTALL)
_MEMORY: Final = re.compile(r"^(\d+)\. \([\d-]+\) (.*)$", re.MULTILINE)
_TURN: Final = re.compile(r"^\[(\d+)\]", re.MULTILINE)


@dataclass(slots=True)
class Step:
    """One ``add``: what is said, and what the model answers."""

    chat: str
    when: datetime
    messages: list[dict[str, str]] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Gold:
    """A fact worth knowing, or one that must not be known; with ``until`` it is true before that chat only."""

    name: str
    until: str
    patterns: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Return whether a memory says it."""
        return all(re.search(pattern, text, re.IGNORECASE) for pattern in self.patterns)


@dataclass(slots=True)
class Recording:
    """A person: all that they say, and what is worth knowing of it."""

    name: str
    steps: list[Step] = field(default_factory=list)
    worth: list[Gold] = field(default_factory=list)
    never: list[Gold] = field(default_factory=list)


@dataclass(slots=True)
class Played:
    """What came of a recording."""

    name: str
    memories: list[MemoryItem] = field(default_factory=list)
    stored: int = 0
    worth: int = 0
    missing: list[str] = field(default_factory=list)
    wrongly_known: list[str] = field(default_factory=list)
    garbled: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    let_through: list[str] = field(default_factory=list)
    not_shown: list[str] = field(default_factory=list)
    adds: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_fixed: int = 0


def read_recording(path: Path) -> Recording:
    """Read a file; ``ValueError`` names the line that cannot be read."""
    answer = Recording(path.stem)
    is_answered = True
    for number, (mark, rest) in _lines(path):
        try:
            if mark == "@@":
                chat, _, when = rest.partition(" | ")
                answer.steps.append(Step(chat.strip(), datetime.fromisoformat(when.strip()).replace(tzinfo=UTC)))
                is_answered = False
            elif mark in ("U:", "A:"):
                if is_answered:
                    answer.steps.append(Step(answer.steps[-1].chat, answer.steps[-1].when))
                    is_answered = False
                role = "user" if mark == "U:" else "assistant"
                answer.steps[-1].messages.append({"role": role, "content": rest})
            elif mark in ("OP", "OK"):
                answer.steps[-1].operations += [json.loads(rest)] if mark == "OP" else []
                is_answered = True
            else:
                (answer.worth if mark == "G" else answer.never).append(_gold(rest))
        except (ValueError, IndexError) as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error
    return answer


def _lines(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the lines of a file with their marks; one without a mark continues the one before."""
    begun: tuple[int, str] | None = None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if _LINE.match(line):
            if begun is not None:
                yield begun[0], _marked(begun[1])
            begun = number, line
        elif begun is not None and line.strip():
            begun = begun[0], f"{begun[1]}\n{line}"
    if begun is not None:
        yield begun[0], _marked(begun[1])


def _marked(line: str) -> tuple[str, str]:
    found = _LINE.match(line)
    return (found[1], found[2].strip()) if found else ("", "")


def _gold(rest: str) -> Gold:
    found = _GOLD.fullmatch(rest)
    if found is None:
        raise ValueError("expected NAME: text ~ patterns")
    patterns = tuple(one.strip() for one in found["patterns"].split(" & "))
    return Gold(found["name"], found["until"] or "", patterns)


class _Player:
    """The model of one recording: it answers the step that is being played."""

    def __init__(self, played: Played) -> None:
        self.played = played
        self.step: Step | None = None

    def answer(self, prompt: Prompt) -> dict[str, Any]:
        """Return the recorded operations, with the numbers that this question uses."""
        texts = [message["content"] for message in prompt.messages]
        self.played.calls += 1
        self.played.tokens_in += sum(map(estimate_tokens, texts))
        fixed = prompt_text(version_of("learn"))
        self.played.tokens_fixed += estimate_tokens(fixed) if texts[0].startswith(fixed) else 0
        output, _, sentence = texts[-1].partition("New turns:\n")
        memories = {text: int(number) for number, text in _MEMORY.findall(output)}
        first = int(found[1]) if (found := _TURN.search(sentence)) else 1
        wanted = self.step.operations if self.step else []
        return {"operations": [one for item in wanted if (one := self._numbered(item, memories, first)) is not None]}

    def _numbered(self, item: dict[str, Any], memories: dict[str, int], first: int) -> dict[str, Any] | None:
        wanted = item.get("memory")
        number = next(
            (at for text, at in memories.items() if wanted and str(wanted).casefold() in text.casefold()), None
        )
        if wanted and number is None:
            self.played.not_shown.append(f"{item['op']}: {wanted}")
            return None
        turns = [first - 1 + turn for turn in item.get("turns", [1])]
        answer = {"text": None, "category": "other", "about": "user", "quote": "", **item}
        return {**answer, "memory": number, "turns": turns}


def play(reply: Recording) -> Played:
    """Play a recording from its beginning, and hold what is known at the end against what should be."""
    played = Played(reply.name, worth=sum(not one.until for one in reply.worth))
    player = _Player(played)
    settings = {"store": {"url": "memory:"}}
    with Memory(settings, llm=ScriptedLlm(player.answer, model="recorded")) as memory:
        for step in reply.steps:
            player.step = step
            played.adds += 1
            when = step.when.isoformat()
            answer = memory.add(step.messages, user_id=reply.name, run_id=step.chat, occurred_at=when)
            _judge(played, step, answer)
        played.memories = memory.get_all(user_id=reply.name, limit=1_000)["results"]
    _hold_against(played, reply)
    return played


def _judge(played: Played, step: Step, answer: AddResult) -> None:
    """Judge which operations had their effect."""
    done = Counter(str(one["event"]) for one in answer["results"])
    remaining = {one["memory"]: one for one in answer["results"] if one["event"] in ("ADD", "UPDATE", "REPLACE")}
    dropped = {one["text"]: one["reason"] for one in answer.get("dropped", ())}
    unseen = {line.partition(": ")[2] for line in played.not_shown}
    for item in step.operations:
        text, op = item.get("text") or "", item["op"]
        if item.get("memory") in unseen:
            continue
        stored = remaining.get(text)
        if item.get("wrong"):
            played.let_through += [text] if stored is not None and "doubt" not in stored else []
        elif op in ("ADD", "UPDATE"):
            why = _rejection(op, stored, dropped.get(text, "not stored"))
            played.rejected += [f"{text}: {why}"] if why else []
        elif op in ("REMOVE", "FORGET"):
            done["DELETE"] -= 1
            played.rejected += [f"{op} {item['memory']}: not carried out"] if done["DELETE"] < 0 else []


def _rejection(op: str, stored: AddEvent | None, dropped: str) -> str:
    if stored is None:
        return dropped
    if "doubt" in stored:
        return str(stored["doubt"])
    return "added beside the memory" if op == "UPDATE" and stored["event"] == "ADD" else ""


def _hold_against(played: Played, answer: Recording) -> None:
    texts = [one["memory"] for one in played.memories]
    written = {item.get("text") for step in answer.steps for item in step.operations}
    played.garbled = [text for text in texts if text not in written]
    for gold in answer.worth:
        if not gold.until:
            known = any(gold.matches(text) for text in texts)
            played.stored += known
            played.missing += [] if known else [gold.name]
    verified = [one["memory"] for one in played.memories if "doubt" not in one]
    played.wrongly_known = [gold.name for gold in answer.never if any(gold.matches(text) for text in verified)]


def play_all(folder: Path = RECORDED) -> list[Played]:
    """Play every recording of a folder."""
    return [play(read_recording(path)) for path in sorted(folder.glob("*.rec"))]


def tables(played: Sequence[Played]) -> list[Table]:
    """Return what is reported: a row for each person and one for all, then what went wrong, in words."""
    header = ("person", "worth knowing, stored", "must not be known", "garbled", "rejected", "let through", "not shown")
    cost = ("person", "adds", "calls per add", "tokens in per add", "of these fixed")
    rows = [_row(one.name, [one]) for one in played] + [_row("all", played)]
    costs = [_cost(one.name, [one]) for one in played] + [_cost("all", played)]
    wrong = [(one.name, line) for one in played for line in _wrong(one)]
    found = [Table("", header, rows), Table("Cost", cost, costs)]
    return [*found, Table("What went wrong", ("person", "what"), wrong)] if wrong else found


def _row(name: str, played: Sequence[Played]) -> tuple[str, ...]:
    stored, worth = (sum(getattr(one, part) for one in played) for part in ("stored", "worth"))
    parts = ("wrongly_known", "garbled", "rejected", "let_through", "not_shown")
    counts = [str(sum(len(getattr(one, part)) for one in played)) for part in parts]
    return (name, f"{stored} of {worth} ({stored / max(1, worth):.3f})", *counts)


def _cost(name: str, played: Sequence[Played]) -> tuple[str, ...]:
    adds, calls, tokens, fixed = (
        sum(getattr(one, part) for one in played) for part in ("adds", "calls", "tokens_in", "tokens_fixed")
    )
    return name, str(adds), f"{calls / adds:.2f}", f"{tokens / adds:.0f}", f"{fixed / max(1, calls):.0f}"


def _wrong(one: Played) -> list[str]:
    answer = {
        "missing": one.missing,
        "must not be known": one.wrongly_known,
        "garbled": one.garbled,
        "rejected": one.rejected,
        "let through": one.let_through,
        "not shown": one.not_shown,
    }
    return [f"{what}: {line}" for what, lines in answer.items() for line in lines]
