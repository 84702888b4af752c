"""What a language model costs where a call learns at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from memstone import Memory
from memstone.testing.wire import WireServer
from memstone.testing.wire_chat import MODEL, FakeAnthropic, WireAnswer
from tests.conformance.chat_dialects import DIALECTS

FACT = {"text": "User lives in Oslo.", "turn": 1, "quote": "I live in Oslo"}
ANSWER = WireAnswer(json.dumps({"operations": [{"event": "ADD", **FACT}]}), usage=(321, 45))


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(FakeAnthropic(ANSWER)) as made:
        yield made


def opened(server: WireServer) -> Memory:
    chosen = {
        "provider": "anthropic",
        "config": DIALECTS["anthropic"].config(server.url, retries=0),
        "prices": {MODEL: {"input": 3.0, "output": 15.0}},
    }
    return Memory({"store": {"url": "memory:"}, "llm": chosen})


def logged(memory: Memory) -> list[dict[str, Any]]:
    return [dict(job) for job in memory.admin.jobs(everybody=True)["results"]]


@pytest.mark.req("C-40")
def test_the_tokens_of_an_add_are_logged_and_priced(server: WireServer) -> None:
    with opened(server) as memory:
        assert memory.add("I live in Oslo", user_id="alice")["results"][0]["memory"] == "User lives in Oslo."
        (job,) = logged(memory)
        spent = memory.admin.dashboard(everybody=True)["processing"]
    figures = {name: job[name] for name in ("user_id", "task", "status", "outcome", "model", "details")}
    assert figures == {
        "user_id": "alice",
        "task": "add",
        "status": "success",
        "outcome": "learned",
        "model": MODEL,
        "details": {"outcome": "learned", "changes": 1},
    }
    assert (job["input_tokens"], job["output_tokens"], job["cost"]) == (321, 45, 0.001638)
    assert (spent["by_task"]["add"]["calls"], spent["input_tokens"], spent["cost"]) == (1, 321, 0.001638)


@pytest.mark.req("C-59")
def test_an_answer_that_is_known_costs_nothing(server: WireServer) -> None:
    with opened(server) as memory:
        for _ in range(2):
            memory.add("I live in Oslo", user_id="alice")
        assert len(server.requests) == len(logged(memory)) == 1


def test_an_answer_that_was_paid_for_in_vain_is_logged_with_its_error(server: WireServer) -> None:
    server.handler = FakeAnthropic(WireAnswer("I would rather talk about the weather.", usage=(100, 10)))
    with opened(server) as memory:
        assert memory.add("I live in Oslo", user_id="alice")["status"] == "deferred"
        (job,) = logged(memory)
    assert job["status"] == "error"
    assert (job["input_tokens"], job["output_tokens"]) == (100 * len(server.requests), 10 * len(server.requests))


def test_a_model_that_was_not_reached_and_memories_without_one_leave_no_job(server: WireServer) -> None:
    server.handler = None  # a 500
    with opened(server) as memory:
        assert memory.add("I live in Oslo", user_id="alice")["status"] == "deferred"
        assert logged(memory) == []
    with Memory({"store": {"url": "memory:"}}) as memory:
        memory.add("I live in Oslo", user_id="alice")
        assert logged(memory) == []


def test_a_conversation_of_an_add_can_still_be_filled_in_as_a_session(server: WireServer) -> None:
    with opened(server) as memory:
        memory.add("I live in Oslo", user_id="alice", run_id="monday")
        assert [job["run_id"] for job in logged(memory)] == ["monday"]
        turns = [{"role": "user", "content": "I live in Oslo"}, {"role": "assistant", "content": "Nice."}]
        filled = memory.sessions.backfill([{"run_id": "monday", "turns": turns}], user_id="alice")
        assert "known" not in str(filled["results"][0]["status"])
