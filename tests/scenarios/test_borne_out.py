"""Facts that other authors found worth knowing are borne out by the chats they come from.

Each is looked for with the whole turn that states it as its quote, which is the hardest case: much else stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from memstone.core.llm.evidence import Conversation
from memstone.model.message import Message
from tests.english import ENGLISH

_DEV: Final = Path(__file__).parents[2] / "benchmarks" / "quality" / "chats" / "dev"
_LINE: Final = re.compile(r"(?P<mark>@@|U|A|G|N|Q|XH|X)(?:\[(?P<facts>[^\]]*)\])?(?P<rest>[ :].*)")
_GOLD: Final = re.compile(r" (?P<name>\S+?)(?: >\S+)?: (?P<text>.*?) ~ ")
_NUMBER: Final = re.compile(r"(?<![\d.:,h/-])\d+(?![\d.:,h/-])")


@dataclass(slots=True)
class Chat:
    """One chat: its turns, which of them state which facts, and the facts."""

    when: datetime
    turns: list[Message] = field(default_factory=list)
    stated: dict[str, list[int]] = field(default_factory=dict)
    gold: list[tuple[str, str]] = field(default_factory=list)


def chats(path: Path) -> list[Chat]:
    found: list[Chat] = []
    for line in path.read_text("utf-8").splitlines():
        read = _LINE.match(line)
        if read is None:
            if line.strip() and found and found[-1].turns and not found[-1].gold:
                last = found[-1].turns[-1]
                found[-1].turns[-1] = Message(last.role, f"{last.text}\n{line}")
        elif read["mark"] == "@@":
            found.append(Chat(datetime.fromisoformat(line.split("|")[1].strip()).replace(tzinfo=UTC)))
        elif read["mark"] in ("U", "A"):
            found[-1].turns.append(Message("user" if read["mark"] == "U" else "assistant", read["rest"][1:].strip()))
            for name in filter(None, (read["facts"] or "").split(",")):
                found[-1].stated.setdefault(name.strip(), []).append(len(found[-1].turns))
        elif read["mark"] == "G" and (gold := _GOLD.match(read["rest"])):
            found[-1].gold.append((gold["name"], gold["text"]))
    return found


def cases() -> Iterator[tuple[Conversation, str, str, list[int]]]:
    """Every fact with its chat, the turn it stands in and the number of that."""
    for path in sorted(_DEV.glob("*.chat")):
        before: list[Message] = []
        for chat in chats(path):
            talk = Conversation(chat.turns, before[-10:], now=chat.when, language=ENGLISH)
            for name, text in chat.gold:
                turns = chat.stated.get(name, [])
                if turns:
                    yield talk, text, chat.turns[turns[0] - 1].text, turns
            before += chat.turns


@pytest.mark.req("R-32", "N-40")
def test_what_people_said_is_verified_and_never_dropped() -> None:
    verdicts = [talk.support(text, quote, turns) for talk, text, quote, turns in cases()]
    assert len(verdicts) > 150
    assert all(verdict is not None for verdict in verdicts)
    doubted = sum(bool(verdict and verdict.doubt) for verdict in verdicts)
    assert doubted <= 0.03 * len(verdicts)


@pytest.mark.req("R-32")
def test_another_number_is_noticed() -> None:
    noticed = tried = 0
    for talk, text, quote, turns in cases():
        if numbers := _NUMBER.findall(text):
            head, _, tail = text.rpartition(numbers[-1])
            verdict = talk.support(f"{head}{int(numbers[-1]) + 20}{tail}", quote, turns)
            noticed, tried = noticed + bool(verdict and verdict.doubt), tried + 1
    assert tried > 40
    assert noticed >= 0.85 * tried
