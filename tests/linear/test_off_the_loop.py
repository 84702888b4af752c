"""Where an event loop runs, rules read long texts in a thread of their own, so that everybody else is answered."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import AsyncMemory
from memstone.adapters.embed.curator import LocalCurator
from memstone.language.en.facts import read_message
from memstone.model.fact import CuratedFacts
from tests.linear.watch import TEXT, watched
from tests.server.gate import ask, gated, until
from tests.server.world import World

_CONFIG: Final[dict[str, Any]] = {
    "store": {"url": "memory:"},
    "embedder": {"provider": "hash"},
    "write": {"mode": "inline"},
}
_TALK: Final = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": f"{TEXT}How old are you?"}]
_REPLY: Final = {"role": "user", "content": "29"}

_CALLS: Final[dict[str, Callable[[AsyncMemory, str], Awaitable[Any]]]] = {
    "add": lambda memory, _: memory.add(TEXT, user_id="al"),
    "add a talk": lambda memory, _: memory.add([*_TALK, _REPLY], user_id="al"),
    "answer what is stored": lambda memory, _: memory.add(_REPLY, user_id="bo"),
    "add as it is": lambda memory, _: memory.add(TEXT, user_id="al", infer=False),
    "add_many": lambda memory, _: memory.add_many([{"messages": TEXT, "user_id": "al"}]),
    "add_many as they are": lambda memory, _: memory.add_many([{"messages": TEXT, "user_id": "al", "infer": False}]),
    "ingest": lambda memory, _: memory.ingest(_TALK, user_id="al", learn=True),
    "ingest_session": lambda memory, _: memory.sessions.ingest(_TALK, user_id="al", run_id="r"),
    "update": lambda memory, known: memory.update(known, TEXT),
    "update_many": lambda memory, known: memory.update_many([{"memory_id": known, "text": TEXT}]),
}
_REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "/v1/memories": {"messages": _TALK, "user_id": "al"},
    "/v1/memories/batch": {"items": [{"messages": TEXT, "user_id": "al"}]},
    "/v1/sessions": {"turns": [{"user": TEXT, "assistant": "Go on."}], "user_id": "al", "run_id": "r"},
    "/api/memory": {"key": "k", "content": TEXT, "userId": "al"},
}


def _model(_: list[dict[str, str]]) -> str:
    return json.dumps({"facts": [{"text": "User likes tea.", "turn": 1, "quote": "I like tea."}]})


@pytest.mark.parametrize("model", [None, _model], ids=["rules", "model"])
@pytest.mark.parametrize("call", _CALLS)
def test_no_rule_reads_a_long_text_on_the_loop(call: str, model: Callable[[Any], str] | None) -> None:
    async def scenario() -> None:
        async with AsyncMemory(_CONFIG, llm=model) as memory:
            known = (await memory.add("I live in Oslo", user_id="al", infer=False))["results"][0]["id"]
            await memory.add(_TALK, user_id="bo")
            with watched() as found:
                await _CALLS[call](memory, known)
            assert found == set()

    asyncio.run(scenario())


@pytest.mark.parametrize("path", _REQUESTS)
def test_no_rule_reads_a_long_text_on_the_loop_of_the_service(path: str) -> None:
    with watched() as found, World.of(_CONFIG) as world:
        assert world.client.post(path, json=_REQUESTS[path]).status_code < 300
    assert found == set()


def test_no_rule_reads_a_long_message_of_a_chat_on_the_loop_of_the_gateway(tmp_path: Path) -> None:
    with watched() as found, gated(tmp_path) as gate:
        ask(gate.openai(verbs=["read", "write"], may_assert_user=True), TEXT, user="al")
        until(lambda: gate.facts("al"))
    assert found == set()


def test_what_reads_on_the_loop_is_noticed() -> None:
    async def scenario() -> None:
        read_message(TEXT, LocalCurator())

    with watched() as found:
        asyncio.run(scenario())
    assert "language/en/facts.py: read_message" in found


@pytest.mark.parametrize("call", ["add", "add_many", "ingest_session"])
def test_facts_are_learned_in_the_one_thread_for_it(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()

    def read(*args: Any, **more: Any) -> CuratedFacts:
        threads.add(threading.current_thread().name)
        return read_message(*args, **more)

    async def scenario() -> None:
        async with AsyncMemory(_CONFIG) as memory:
            await _CALLS[call](memory, "")

    monkeypatch.setattr("memstone.language.en.facts.read_message", read)
    asyncio.run(scenario())
    assert threads == {"memstone-compute_0"}
