"""Whoever has paused memory, or switched it off, is not shown any: neither in the prompt nor through the tool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

from memstone.errors import StorageBusy
from tests.server.gate import Gate, ask, gated, until
from tests.server.upstream import Turn

ASKED = "Where do I live?"
CALL = ("call-1", "memory_search", {"query": "where does the user live"})


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, policy={"search_tool": True}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


@pytest.mark.parametrize(
    ("paused", "headers"),
    [
        ({"run_id": "s"}, {"X-Memstone-Session": "s"}),
        ({"user_id": "alice", "run_id": "s"}, {"X-Memstone-Session": "s"}),
        ({"agent_id": "nurse"}, {"X-Agent-Id": "nurse"}),
        ({"user_id": "alice", "agent_id": "nurse", "run_id": "s"}, {"X-Agent-Id": "nurse", "X-Session-Id": "s"}),
        ({"user_id": "alice"}, {}),
    ],
)
def test_who_is_paused_is_shown_nothing(gate: Gate, paused: dict[str, str], headers: dict[str, str]) -> None:
    gate.memory.settings.pause(**paused)
    raw = gate.openai(user_id="alice").chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": ASKED}], extra_headers=headers
    )
    assert gate.upstream.seen == [{"model": "m", "messages": [{"role": "user", "content": ASKED}]}]
    assert raw.headers["x-memstone-receipt"] == "none"


def test_a_pause_holds_for_nobody_else(gate: Gate) -> None:
    gate.memory.settings.pause(run_id="s")
    gate.memory.settings.pause(agent_id="nurse")
    ask(gate.openai(user_id="alice"), ASKED, extra_headers={"X-Memstone-Session": "other", "X-Agent-Id": "cook"})
    assert "Oslo" in gate.sent
    assert "memory_search" in gate.sent


def test_a_session_in_the_body_can_be_paused_too(gate: Gate) -> None:
    gate.memory.settings.pause(run_id="s")
    ask(gate.openai(user_id="alice"), ASKED, extra_body={"session_id": "s"})
    assert "Oslo" not in gate.sent


def test_a_request_without_a_session_is_not_looked_up_by_its_number(gate: Gate) -> None:
    gate.memory.settings.set({"policy.search_tool": False}, user_id="alice")
    client = gate.openai(user_id="alice")
    for _ in range(3):
        ask(client, ASKED, extra_headers={"x-memory": "extract-off"})
    known = gate.app.state.memstone.memory.engine.runtime.tunings.policies
    assert {(user, run) for _, user, _, run in known} == {("alice", "")}


@pytest.mark.parametrize("failure", ["slow", "bug", "busy"])
@pytest.mark.parametrize("off", ["paused", "disabled"])
def test_while_settings_cannot_be_read_the_model_gets_no_tool(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, failure: str, off: str
) -> None:
    if off == "paused":
        gate.memory.settings.pause(user_id="alice")
    else:
        gate.memory.settings.set({"policy.enabled": False}, user_id="alice")
    client = gate.openai(user_id="alice")
    ask(gate.openai(user_id="bob"), "hello", extra_headers={"x-memory": "extract-off"})  # the version is known now

    async def broken(*_: Any, **__: Any) -> Any:
        if failure == "slow":
            await asyncio.sleep(600)
        raise StorageBusy("no") if failure == "busy" else RuntimeError("no")

    for name in ("recall_ms", "profile_ms"):
        object.__setattr__(gate.app.state.memstone.settings.gateway, name, 75.0 if failure == "slow" else 60_000.0)
    if failure == "busy":  # what the settings themselves make of a store that does not answer
        monkeypatch.setattr("memstone.engine.policy._read_stored_settings", broken)
    else:
        monkeypatch.setattr("memstone.server.gateway.chat.apply_scope_policy", broken)
    gate.upstream.turns = [Turn("", [CALL]), Turn("Hm.")]
    ask(client, ASKED)
    assert gate.upstream.seen[1:] == [{"model": "m", "messages": [{"role": "user", "content": ASKED}]}]


@pytest.mark.req("N-13")
@pytest.mark.parametrize(
    ("wish", "shows", "learns"),
    [
        ("inject-off, extract-off", False, False),
        ("extract-off,inject-off", False, False),
        ("Inject-Off", False, True),
        ("extract-off", True, False),
        ("false", False, False),
        ("0", False, False),
        ("no", False, False),
        ("none", False, False),
        ("disabled", False, False),
        ("inject-off, nonsense", False, False),
        ("on", True, True),
        ("", True, True),
    ],
)
def test_what_a_request_may_say_about_memory(gate: Gate, wish: str, *, shows: bool, learns: bool) -> None:
    with structlog.testing.capture_logs() as logs:
        ask(gate.openai(user_id="alice"), ASKED, extra_headers={"x-memory": wish})
    until(lambda: gate.tasks == 0)
    assert ("Oslo" in gate.sent, "tools" in gate.upstream.seen[-1]) == (shows, shows)
    assert any(one["memory"] == ASKED for one in gate.turns("alice")) == learns
    warned = [one for one in logs if one["event"] == "gateway.header.unknown"]
    assert bool(warned) == ("disabled" in wish or "nonsense" in wish)


def test_what_a_request_says_in_two_headers_is_a_list(gate: Gate) -> None:
    sent = [("Authorization", f"Bearer {gate.key(user_id='alice')}"), ("x-memory", "extract-off"), ("x-memory", "on")]
    body = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    assert httpx2.post(f"{gate.url}/v1/chat/completions", json=body, headers=sent, timeout=120).status_code == 200
    until(lambda: gate.tasks == 0)
    assert "Oslo" in gate.sent
    assert ASKED not in [one["memory"] for one in gate.turns("alice")]


def test_the_session_in_a_body_goes_on_except_to_an_agent(gate: Gate) -> None:
    """Some services group by it; the field of a run is ours, and no upstream knows it there."""
    gate.memory.agents.save("nurse", model="m")
    ask(gate.openai(user_id="alice"), "hello", extra_body={"session_id": "s"})
    assert gate.upstream.seen[-1]["session_id"] == "s"
    until(lambda: [one for one in gate.turns("alice") if one["run_id"] == "s"])
    body = {"messages": [{"role": "user", "content": "hi"}], "session_id": "s"}
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
    assert httpx2.post(f"{gate.url}/agents/nurse/run", json=body, headers=headers, timeout=120).status_code == 200
    assert "session_id" not in gate.upstream.seen[-1]
