"""An agent that is run: its model, its instructions, its memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.gate import Gate, ask, gated, until


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, preset="companion", write={"mode": "manual"}, context={}) as made:
        made.memory.agents.save("nurse", model="m-nurse", system_prompt="You are a nurse.")
        yield made


def run(gate: Gate, agent: str, text: str, key: dict[str, Any] | None = None, **more: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {gate.key(**(key or {'user_id': 'alice'}))}"}
    body = {"messages": [{"role": "user", "content": text}], **more}
    return httpx2.post(f"{gate.url}/agents/{agent}/run", json=body, headers=headers, timeout=120)


@pytest.mark.req("S-68", "S-32")
def test_running_an_agent_goes_from_the_gate_to_the_transcript(gate: Gate) -> None:
    gate.memory.add("I am allergic to peanuts.", user_id="alice", agent_id="nurse", infer=False)
    answer = run(gate, "nurse", "What am I allergic to?", session_id="monday", temperature=0.1)
    assert answer.json()["choices"][0]["message"]["content"] == "Noted."
    sent = gate.upstream.seen[-1]
    assert (sent["model"], sent["temperature"], "session_id" in sent) == ("m-nurse", 0.1, False)
    system, user = sent["messages"]
    assert system == {"role": "system", "content": "You are a nurse."}
    assert user["content"].startswith("<memstone-memory")
    assert user["content"].endswith("\n\nWhat am I allergic to?")
    assert user["content"].count("\n# ") <= 1
    assert "peanuts" in user["content"]
    turns = gate.memory.get_all(user_id="alice", agent_id="nurse", run_id="monday", layers=["turn"])["results"]
    assert sorted(one["role"] for one in turns) == ["assistant", "user"]
    assert all("memstone-memory" not in one["memory"] for one in turns)
    assert gate.memory.sessions.end(user_id="alice", agent_id="nurse", run_id="monday")["results"]


@pytest.mark.req("S-68")
def test_the_gate_decides_whether_an_agent_is_shown_anything(gate: Gate) -> None:
    gate.memory.add("I am allergic to peanuts.", user_id="alice", agent_id="nurse", infer=False)
    run(gate, "nurse", "How do volcanoes form?")
    assert gate.upstream.seen[-1]["messages"][-1]["content"] == "How do volcanoes form?"


@pytest.mark.req("S-62", "X-23")
def test_plain_chat_is_shown_nothing_and_files_what_is_said_under_the_agent(gate: Gate) -> None:
    gate.memory.add("I am allergic to peanuts.", user_id="alice", agent_id="nurse", infer=False)
    client = gate.openai(user_id="alice")
    ask(client, "What am I allergic to?", extra_headers={"X-Agent-Id": "nurse", "X-Memstone-Session": "tuesday"})
    assert gate.upstream.seen[-1]["messages"] == [{"role": "user", "content": "What am I allergic to?"}]
    until(lambda: len(gate.turns("alice")) == 2)
    turns = gate.memory.get_all(user_id="alice", agent_id="nurse", run_id="tuesday", layers=["turn"])["results"]
    assert len(turns) == 2


def test_both_spellings_of_the_plain_route_are_the_same(gate: Gate) -> None:
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert httpx2.post(f"{gate.url}/chat/completions", json=body, headers=headers, timeout=120).status_code == 200


def test_an_agent_streams_too(gate: Gate) -> None:
    answer = run(gate, "nurse", "hello there", stream=True)
    assert answer.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("agent", "key", "body", "status"),
    [
        ("nobody", {}, {}, 404),
        ("nurse", {"agent_id": "other"}, {}, 403),
        ("nurse", {"agent_id": "nurse"}, {}, 200),
        ("nurse", {}, {"messages": []}, 400),
        ("plain", {}, {}, 400),
        ("plain", {}, {"model": "m"}, 200),
    ],
)
def test_what_is_wrong_is_said_before_a_model_is_asked(
    gate: Gate, agent: str, key: dict[str, Any], body: dict[str, Any], status: int
) -> None:
    gate.memory.agents.save("plain", name="without a model")
    answer = run(gate, agent, "hello", key or {"user_id": "alice"}, **body)
    assert answer.status_code == status
    assert len(gate.upstream.seen) == (status == 200)


def test_an_agent_whose_id_holds_a_slash_runs_too(gate: Gate) -> None:
    gate.memory.agents.save("ward/nurse", model="m-ward")
    for agent in ("ward/nurse", "ward%2Fnurse"):
        assert run(gate, agent, "Hello.").status_code == 200
        assert gate.upstream.seen[-1]["model"] == "m-ward"


@pytest.mark.req("S-63", "S-68")
@pytest.mark.parametrize(
    "key", [{"verbs": ["read", "write", "admin"]}, {"may_assert_user": True}, {}, {"agent_id": "nurse"}]
)
def test_what_was_ingested_for_nobody_is_recalled_where_nobody_is_named(gate: Gate, key: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {gate.key(**key)}"}
    text = "I am allergic to peanuts, and I have to carry an injection with me wherever I go, since I was nine."
    turns = [{"user": text, "assistant": "I will keep that in mind."}]
    body = {"agent_id": "nurse", "conversation_id": "monday", "turns": turns}
    reply = httpx2.post(f"{gate.url}/memory/ingest", json=body, headers=headers, timeout=120).json()
    assert reply["turns_ingested"] == 1
    asked = {"messages": [{"role": "user", "content": "What am I allergic to?"}]}
    answer = httpx2.post(f"{gate.url}/agents/nurse/run", json=asked, headers=headers, timeout=120)
    assert answer.status_code == 200
    assert "peanuts" in gate.sent
    page = httpx2.get(f"{gate.url}/memory/transcript?conversation_id=monday", headers=headers, timeout=120).json()
    assert [one["content"] for one in page["results"]] == [text, "I will keep that in mind."]


@pytest.mark.req("S-62", "X-23")
@pytest.mark.parametrize("headers", [{}, {"X-Agent-Id": "nurse"}, {"X-Agent-Id": "nurse", "X-Memory": "on"}])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", {"messages": [{"role": "user", "content": "What am I allergic to?"}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "What am I allergic to?"}]}),
        ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "What am I allergic to?"}]}),
        ("/v1/responses", {"input": "What am I allergic to?"}),
    ],
)
def test_plain_chat_goes_on_as_it_came_whatever_an_agent_is_allowed(
    gate: Gate, path: str, body: dict[str, Any], headers: dict[str, str]
) -> None:
    gate.memory.agents.save("nurse", settings={"searchMemoryEnabled": True})
    gate.memory.add("I am allergic to peanuts.", user_id="alice", agent_id="nurse", infer=False)
    gate.memory.identity.add_override("Always answer in French", user_id="alice")
    key = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
    sent = {"model": "m", **body}
    answer = httpx2.post(f"{gate.url}{path}", json=sent, headers={**key, **headers}, timeout=120)
    assert (answer.status_code, answer.headers["x-memstone-receipt"]) == (200, "none")
    assert gate.upstream.seen[-1] == sent
    run(gate, "nurse", "What am I allergic to?")
    assert "peanuts" in gate.sent, "an agent that is run is shown it"
    assert "tools" in gate.upstream.seen[-1]
