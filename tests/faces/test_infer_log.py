"""What learning writes into the log: its steps, decisions and failures; no content unless details are asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone.testing.wire import WireReply, WireServer
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model, configured
from tests.faces.infer_steps import LOCAL


class Heard:
    """The records of Memstone's logger, by event."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def __call__(self, event: str, level: int | None = None) -> list[dict[str, Any]]:
        """What the records of an event hold, of one level or of all."""
        found = [one for one in self._caplog.records if one.name == "memstone" and one.__dict__.get("event") == event]
        return [one.__dict__ for one in found if level is None or one.levelno == level]

    @property
    def text(self) -> str:
        """Everything in every record."""
        return str([one.__dict__ for one in self._caplog.records])

    def forget(self) -> None:
        """Start anew."""
        self._caplog.clear()


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Heard:
    caplog.set_level(logging.DEBUG, "memstone")
    return Heard(caplog)


_WORDS: Final = {"ADD": "add", "UPDATE": "replace", "NONE": "ignore", "DELETE": "retract"}


@pytest.mark.req("O-38")
async def test_the_steps_of_extraction_are_events(face: Face, heard: Heard) -> None:
    await face.add(["I love tea.", "I live in Oslo."], user_id="alice", infer=True)

    (start,) = heard("memory.extraction.start", logging.INFO)
    (complete,) = heard("memory.extraction.complete", logging.INFO)
    assert start["owner"] == "alice"
    assert (complete["owner"], complete["factCount"]) == ("alice", 2)
    found = heard("memory.extraction.fact_found", logging.DEBUG)
    assert [one["category"] for one in found] == ["preference", "home"]
    assert [one["key"] for one in found] == ["preference:loves_tea", "home:lives_in_oslo"]
    assert heard("memory.extraction.background.failed") == []


@pytest.mark.req("O-38")
async def test_the_owner_is_whoever_is_named(face: Face, heard: Heard) -> None:
    await face.add("I love tea.", agent_id="guide", infer=True)
    await face.add("I love tea.", run_id="monday", infer=True)
    assert [one["owner"] for one in heard("memory.extraction.start")] == ["guide", "monday"]


@pytest.fixture
def server() -> Iterator[WireServer]:
    model = Model()
    model.knows = {"love tea": "User loves tea."}
    with WireServer(model) as running:
        yield running


@pytest.mark.req("O-38", "X-25")
async def test_a_failure_is_logged_and_does_not_reach_the_caller(
    opens: Opens, server: WireServer, heard: Heard
) -> None:
    face = opens(configured(server.url))
    server.script(WireReply(500, body=b"sk-0123456789abcdef0123456789abcdef was refused"))

    answer = await face.add("I love tea.", user_id="alice", infer=True)

    assert answer["status"] == "deferred"
    (failed,) = heard("memory.extraction.background.failed")
    assert (failed["owner"], failed["code"]) == ("alice", "backend_unavailable")
    assert failed["levelno"] == logging.WARNING
    assert heard("memory.extraction.complete") == []
    assert "sk-0123" not in heard.text, "what a service says may hold a key"

    heard.forget()
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert [one["factCount"] for one in heard("memory.extraction.complete")] == [1], "the background run is logged too"
    assert len(heard("memory_decision", logging.INFO)) == 1


@pytest.mark.req("P-23")
async def test_every_run_logs_its_decisions_without_their_content(opens: Opens, heard: Heard) -> None:
    face = opens(LOCAL)
    await face.add("I live in Oslo.", user_id="alice", infer=True)
    opens.clock.advance(days=1)
    heard.forget()

    answer = await face.add(["I moved to Bergen.", "I love tea."], user_id="alice", infer=True)

    (run,) = heard("memory_decision", logging.INFO)
    assert run["user_id"] == "alice"
    assert run["input_message_length"] == len("I moved to Bergen." + "I love tea.")
    assert run["extracted_count"] == 2
    assert run["decisions"] == [{"action": _WORDS[one["event"]], "target_id": one["id"]} for one in answer["results"]]
    loud = str([vars(one) for one in heard._caplog.records if one.levelno >= logging.INFO])
    assert "Bergen" not in loud
    assert "tea" not in loud


@pytest.mark.req("P-23", "P-23.1")
async def test_every_decision_has_a_record_of_its_own_for_those_who_want_details(opens: Opens, heard: Heard) -> None:
    face = opens(LOCAL)
    await face.add("I live in Oslo.", user_id="alice", infer=True)
    opens.clock.advance(days=1)
    heard.forget()

    answer = await face.add(["I moved to Bergen.", "I love tea."], user_id="alice", infer=True)

    moved, tea = heard("memory_decision", logging.DEBUG)
    assert [(one["action"], one["memory_id"]) for one in (moved, tea)] == [
        (_WORDS[one["event"]], one["id"]) for one in answer["results"]
    ]
    assert moved["action"] == "replace"
    assert "Bergen" in moved["fact"]
    assert moved["slot"] == "home"
    assert [one["reason"] for one in (moved, tea)] == [one["reason"] for one in answer["results"]]
    assert tea["action"] == "add"


@pytest.mark.req("P-23", "P-23.1")
async def test_what_changes_nothing_is_a_decision_too(face: Face, heard: Heard) -> None:
    await face.add("I love tea.", user_id="alice", infer=True)
    heard.forget()
    await face.add("I love tea!", user_id="alice", infer=True)
    (run,) = heard("memory_decision", logging.INFO)
    assert [one["action"] for one in run["decisions"]] == ["ignore"]
