"""Every chat leaves one event: what was shown and where, or why nothing was, from a fixed list and without names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import structlog
from starlette.responses import JSONResponse

from memstone.core.prompt.inject import Position
from memstone.errors import StorageBusy
from memstone.model.policy import PRESETS
from memstone.server.gateway.counts import SKIPPED, Skip
from tests.patience import LONG
from tests.server.gate import Gate, gated, until
from tests.server.scripted import CHAT, answers, in_turn, whole

SESSION: Final = "session-of-alice-77"
ASKED: Final = [{"role": "user", "content": "Where do I live?"}]
DONE: Final = {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, upstream={"retries": 0}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


def chat(
    gate: Gate, key: dict[str, Any], body: dict[str, Any] | None = None, headers: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Ask something, and give the events about what was shown."""
    auth = {"Authorization": f"Bearer {gate.key(**key)}", "X-Memstone-Session": SESSION, **(headers or {})}
    with structlog.testing.capture_logs() as logs:
        asked = {"model": "m", "messages": ASKED, **(body or {})}
        answer = httpx2.post(f"{gate.url}/v1/chat/completions", json=asked, headers=auth, timeout=LONG)
        assert answer.status_code == 200, answer.text
        until(lambda: gate.tasks == 0)
    return [dict(one) for one in logs if one["event"].startswith("memory.injection.")]


def noticed(gate: Gate, reason: Skip, body: dict[str, Any] | None = None, **key: str) -> list[dict[str, Any]]:
    """Ask until the service has noticed what another process stored, which takes a second at most."""
    found: list[dict[str, Any]] = []

    def is_noticed() -> bool:
        found[:] = chat(gate, key, body)
        return [one.get("reason") for one in found] == [reason]

    until(is_noticed)
    return found


ALICE: Final = {"user_id": "alice"}
Case = Callable[[Gate, pytest.MonkeyPatch], list[dict[str, Any]]]


def no_memories(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return chat(gate, {"user_id": "carol"})


def empty_context(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    gate.memory.add("I love tea", user_id="dave")
    gate.memory.settings.set({"context.gate": "heuristic"}, user_id="dave")
    sum_ = {"messages": [{"role": "user", "content": "What is 17 * 23?"}]}
    return noticed(gate, Skip.EMPTY_CONTEXT, sum_, user_id="dave")


def disabled(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    switches: tuple[dict[str, Any], ...] = (
        {"policy.enabled": False},
        {"policy.shows": False},
        {"context.budget": 0},
        {"inject.chat": False},
    )
    for number, setting in enumerate(switches):
        gate.memory.settings.set(setting, user_id=f"u{number}")
    found = [one for number in range(4) for one in noticed(gate, Skip.DISABLED, user_id=f"u{number}")]
    assert len(found) == 4, "each of them is told"
    return found[:1]


def opted_out(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return chat(gate, ALICE, headers={"X-Memory": "off"})


def paused(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    gate.memory.settings.pause(user_id="alice", run_id=SESSION)
    return noticed(gate, Skip.PAUSED, user_id="alice")


def no_user(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    engine = gate.app.state.memstone.memory.engine
    policy = replace(engine.runtime.policy, identity=PRESETS["shared"].identity)
    engine.runtime = replace(engine.runtime, policy=policy)
    return chat(gate, {"may_assert_user": True})


def user_in_body(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    engine = gate.app.state.memstone.memory.engine
    engine.runtime = replace(engine.runtime, policy=replace(engine.runtime.policy, identity=PRESETS["shared"].identity))
    return chat(gate, {"may_assert_user": True}, {"user": "alice"})


def invalid_id(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return chat(gate, {"may_assert_user": True}, headers={"X-Memstone-User": "ann lee of session-of-alice-77"})


def no_messages(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return chat(gate, ALICE, {"messages": []})


def no_question(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return chat(gate, ALICE, {"messages": [{"role": "system", "content": "Be kind."}]})


def deadline(gate: Gate, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    async def slow(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(600)

    for name in ("recall_ms", "profile_ms"):
        object.__setattr__(gate.app.state.memstone.settings.gateway, name, 75.0)
    patch.setattr("memstone.engine.engine.Engine.context_for_service", slow)
    return chat(gate, ALICE)


def settings(gate: Gate, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    patch.setattr("memstone.server.gateway.chat._is_told", lambda *_: False)
    return chat(gate, ALICE)


def refused(gate: Gate, _: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    answers(gate, CHAT, in_turn(lambda: JSONResponse({"error": "too long"}, 413), whole(json.dumps(DONE))))
    return [one for one in chat(gate, ALICE) if not one["event"].endswith("injected")]


def unreadable(gate: Gate, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    def broken(*_: Any) -> Any:
        raise ValueError("I live in Oslo")

    before = SKIPPED.labels(Skip.UNREADABLE)._value.get()
    patch.setattr("memstone.core.dialects.chat.Chat.with_memory", broken)
    chat(gate, ALICE)
    assert SKIPPED.labels(Skip.UNREADABLE)._value.get() == before + 1
    return [{"event": "memory.injection.skipped", "reason": Skip.UNREADABLE, "model": "m"}]  # it is memory.chat.unread


def error(gate: Gate, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    async def broken(*_: Any, **__: Any) -> Any:
        raise StorageBusy("no")

    patch.setattr("memstone.engine.engine.Engine.context_for_service", broken)
    found = chat(gate, ALICE)
    assert [one["code"] for one in found] == ["storage_busy"]
    return found


@pytest.mark.req("O-62")
@pytest.mark.parametrize("reason", list(Skip))
def test_a_chat_without_memory_says_why_by_a_word_of_the_list(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, reason: Skip
) -> None:
    case: Case = globals()[reason.value]
    (answer,) = case(gate, monkeypatch)
    assert (answer["event"], answer["reason"], answer["model"]) == ("memory.injection.skipped", reason, "m")
    assert not [word for word in ("Oslo", "ann lee", SESSION, "alice") if word in str(answer)]


@pytest.mark.req("O-62", "X-3")
@pytest.mark.parametrize("position", list(Position))
def test_what_was_shown_is_told_with_its_place(tmp_path: Path, position: Position) -> None:
    with gated(tmp_path, inject={"position": str(position)}) as gate:
        gate.memory.add("I live in Oslo", user_id="alice")
        (answer,) = chat(gate, ALICE)
    assert (answer["event"], answer["count"], answer["strategy"]) == ("memory.injection.injected", 1, position)
    assert (answer["model"], answer["tokens"] > 0) == ("m", True)


@pytest.mark.req("O-62", "S-32")
def test_an_agent_is_shown_memories_before_the_words_of_the_user_and_the_event_says_so(tmp_path: Path) -> None:
    with gated(tmp_path) as gate:
        gate.memory.add("I live in Oslo", user_id="alice", agent_id="guide")
        gate.memory.agents.save("guide", model="m")
        auth = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
        with structlog.testing.capture_logs() as logs:
            asked = {"messages": ASKED}
            assert (
                httpx2.post(f"{gate.url}/agents/guide/run", json=asked, headers=auth, timeout=LONG).status_code == 200
            )
            until(lambda: gate.tasks == 0)
    assert [one["strategy"] for one in logs if one["event"] == "memory.injection.injected"] == ["prefix_last_user"]
