"""A year of one person, a message a day, tidied up every night: what is known of her at the end, and what is not.

It is lived through by a companion and behind the gateway, with a language model (a server that answers with recorded
operations) and without. ``tests/data/year/nadia.toml`` holds what she says.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock
from memstone.testing.wire import KEY, FakeChat, WireReply, WireServer, completion_reply

DAYS: Final = 365
YEAR: Final[dict[str, Any]] = tomllib.loads(Path("tests/data/year/nadia.toml").read_text("utf-8"))
NEWS: Final[dict[int, dict[str, Any]]] = {one["day"]: one for one in YEAR["news"]}
ANSWER: Final = "Of course. Just tell me if you would like to know more about that, I am happy to help with it."
WHO: Final[dict[str, Any]] = {"user_id": "nadia", "agent_id": "bot"}
_KNOWN: Final = re.compile(r"^(\d+)\. \(\d{4}-\d\d-\d\d\) (.*)$", re.MULTILINE)


def said_on(day: int) -> str:
    """What she says on a day, counted from 1."""
    news = NEWS.get(day)
    return str(news["said"] if news else YEAR["idle"][day % len(YEAR["idle"])])


class RecordedModel(FakeChat):
    """Answers each question with the operations that are recorded for the news in it."""

    def _next(self, asked: dict[str, Any]) -> WireReply:
        question = asked["messages"][-1]["content"]
        title = asked["response_format"]["json_schema"]["name"]
        return completion_reply(json.dumps(_answer(title, question)), model=asked["model"])


def _answer(title: str, question: str) -> dict[str, Any]:
    if title == "narrative":
        return {"narrative": " ".join(re.findall(r"^- \([\d-]+\) (.*)$", question, re.MULTILINE))}
    talk = question.rpartition("Conversation:" if title == "digest" else "New turns:")[2]
    news = next((one for one in NEWS.values() if one["said"] in talk), None)
    known = _KNOWN.findall(question)
    done = [_operation(one, known, title) for one in news["operations"]] if news else []
    if title != "digest":
        return {"operations": done}
    summary = news["said"] if news else ""
    return {
        "episode": {"summary": summary, "topics": [], "decisions": [], "action_items": [], "salience": 0.6},
        "entities": [],
        "pinned_candidates": [one for one in done if one["tags"] != ["identity"]],
        "identity_facts": [one for one in done if one["tags"] == ["identity"]],
    }


def _operation(one: Mapping[str, Any], known: Sequence[tuple[str, str]], title: str) -> dict[str, Any]:
    of = one.get("of")
    number = next((int(at) for at, text in known if of and of in text), None)
    op = one["op"] if number or not of else "ADD"
    shared = {"op": op, "memory": number, "quote": one["quote"]}
    if title == "digest":
        return {**shared, "content": one["text"], "turn": 1, "salience": 0.7, "tags": [one["category"]]}
    about = {"category": one["category"], "about": "user"}
    return {**shared, **about, "text": one["text"] or None, "turns": [1]}


@dataclass(slots=True)
class Lived:
    """What was always shown at the beginning of each day, and what the profile says at the end."""

    mornings: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def stale(self) -> set[str]:
        """What a line says that holds no longer, where it does not say what became of it."""
        return {
            name
            for name, (old, since) in YEAR["gone"].items()
            if any(re.search(old, one) and not re.search(since, one) for one in self.lines)
        }

    @property
    def missing(self) -> set[str]:
        """What no line says that has to be known."""
        return {name for name, words in YEAR["holds"].items() if not re.search(words, "\n".join(self.lines))}

    @property
    def unshown(self) -> set[str]:
        """What of who she is does not stand in what is always shown."""
        return {name for name, words in YEAR["identity"].items() if not re.search(words, self.mornings[-1])}

    @property
    def restless(self) -> list[int]:
        """The days without news after which something else was shown."""
        days = enumerate(pairwise(self.mornings), 1)
        return [day for day, (before, after) in days if day not in NEWS and before != after]


def settings_of(preset: str, llm_url: str) -> dict[str, Any]:
    """A preset as it comes, but for when it learns: at once, or when a session is over."""
    chosen: dict[str, Any] = {"store": {"url": "memory:"}, "preset": preset}
    chosen["write"] = {"mode": "manual" if preset == "companion" else "inline"}
    if llm_url:
        chosen["llm"] = {"provider": "openai", "config": {"base_url": f"{llm_url}/v1", "api_key": KEY, "model": "m"}}
        chosen["extract"] = {"strategies": ["facts"]}
    return chosen


def live(preset: str, llm_url: str = "") -> Lived:
    """Live through the year, with a look in the morning, a talk at noon and a pass in the evening."""
    clock, lived = FakeClock(), Lived()
    with Memory(settings_of(preset, llm_url), clock=clock) as memory:
        for day in range(1, DAYS + 1):
            lived.mornings.append(memory.context("ok", **WHO).stable)
            talk = [{"role": "user", "content": said_on(day)}, {"role": "assistant", "content": ANSWER}]
            memory.add(talk, **WHO, run_id=f"day-{day}")
            if preset == "companion":
                memory.sessions.end(**WHO)
            clock.advance(hours=12)
            memory.admin.consolidate(everybody=True)
            clock.advance(hours=12)
        lived.mornings.append(memory.context("ok", **WHO).stable)
        answer = memory.profile.get(user_id="nadia")
        lived.lines = [one["memory"] for one in (*answer["instructions"], *answer["facts"], *answer["turns"])]
    return lived


@pytest.mark.req("X-4", "S-34", "S-38")
@pytest.mark.parametrize("preset", ["companion", pytest.param("gateway", marks=pytest.mark.system)])
def test_a_year_with_a_model(preset: str) -> None:
    with WireServer(RecordedModel()) as server:
        lived = live(preset, server.url)
    assert lived.missing == set()
    assert lived.stale == set()
    assert lived.unshown == set()
    assert lived.restless == []


@pytest.mark.req("X-4", "S-34", "S-38")
@pytest.mark.parametrize("preset", [pytest.param("companion", marks=pytest.mark.system), "gateway"])
def test_a_year_without_a_model(preset: str) -> None:
    lived = live(preset)
    assert lived.missing <= ({*YEAR["fades"], *YEAR["missed"]["holds"]} if preset == "companion" else set())
    assert lived.stale <= {*YEAR["missed"]["gone"]}
    assert len(lived.stale) <= YEAR["missed"]["most_gone"]
    assert lived.unshown <= {*YEAR["missed"]["identity"]}
    assert lived.restless == []
