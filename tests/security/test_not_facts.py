"""What is not the user speaking of themselves teaches nothing: prompts, tools, code, logs, and texts handed over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from memstone import Memory

_DATA: Final = Path(__file__).resolve().parents[1] / "data" / "curation" / "not_facts"
_BEGIN: Final = re.compile(r"^%% (system|tool|user)\n", re.MULTILINE)


class Sent(NamedTuple):
    """A message and where it stands."""

    place: str
    role: str
    content: str


def messages(file: Path) -> list[Sent]:
    parts = _BEGIN.split(file.read_text("utf-8"))
    assert not parts[0], f"{file.name} begins with a message"
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return [Sent(f"{file.stem} {number}", role, text.rstrip("\n")) for number, (role, text) in enumerate(pairs, 1)]


_ALL: Final = [sent for file in sorted(_DATA.glob("*.txt")) for sent in messages(file)]


def learned(sent: Sent) -> list[str]:
    """What a memory that has never heard anything else makes of one message."""
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        texts = [{"role": "user", "content": "Hello!"}, {"role": sent.role, "content": sent.content}]
        assert memory.add(texts, user_id="u", infer=True)["status"] == "ok"
        return [item["memory"] for item in memory.get_all(user_id="u")["results"]]


def test_there_are_two_hundred_of_them() -> None:
    assert len(_ALL) >= 200
    assert len({sent.content for sent in _ALL}) == len(_ALL)


@pytest.mark.req("X-9")
@pytest.mark.parametrize("sent", _ALL, ids=lambda sent: sent.place)
def test_nothing_is_learned_of_the_user(sent: Sent) -> None:
    assert learned(sent) == []


@pytest.mark.req("X-9", "R-11")
def test_not_even_when_a_whole_day_of_them_is_said_in_one_conversation() -> None:
    """System and tool text between real words: only the words count, and nothing else is even kept."""
    between = [{"role": sent.role, "content": sent.content} for sent in _ALL if sent.role in ("system", "tool")]
    assert len(between) >= 40
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        texts = [*between, {"role": "user", "content": "I live in Oslo."}, *between]
        memory.add(texts, user_id="u", infer=True)
        remaining = memory.get_all(user_id="u", layers=["fact", "turn"], limit=100)["results"]
    assert sorted(item["memory"] for item in remaining) == ["I live in Oslo.", "User lives in Oslo."]
