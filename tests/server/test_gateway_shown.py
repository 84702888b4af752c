"""What was shown, told in the answer to those who ask: the official clients read it, and read on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.server.gate import Gate, ask, gated, until

ASKED = "Where do I live?"
WANTED = {"X-Memstone-Include": "memories"}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


def carried(events: list[Any]) -> list[Any]:
    """What events carry besides what they are known to."""
    return [one.model_extra["memories"] for one in events if "memories" in (one.model_extra or {})]


@pytest.mark.req("P-27")
def test_streamed_messages_tell_what_was_shown_and_stay_what_they_are(gate: Gate) -> None:
    client = gate.anthropic(user_id="alice")
    asked: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKED}]}
    with client.messages.stream(**asked, extra_headers=WANTED) as answer:
        events = list(answer)
        full = answer.get_final_message()
    [memories] = carried(events)
    assert memories[0]["memory"] == "User lives in Oslo."
    assert (full.stop_reason, full.usage.output_tokens) == ("end_turn", 1), "the upstream has the last word"
    assert answer.get_final_text().strip() == "Noted."
    pieces = list(client.messages.create(**asked, stream=True, extra_headers=WANTED))
    assert len(carried(pieces)) == 1
    assert [one.type for one in pieces[-3:]] == ["message_delta", "message_delta", "message_stop"]


@pytest.mark.req("P-27")
def test_streamed_responses_tell_what_was_shown_and_stay_what_they_are(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    with client.responses.stream(model="m", input=ASKED, extra_headers=WANTED) as answer:
        events = list(answer)
        full = answer.get_final_response()
    [memories] = carried(events)
    assert memories[0]["memory"] == "User lives in Oslo."
    assert full.output_text.strip() == "Noted."
    numbers = [one.sequence_number for one in events]
    assert numbers == sorted(numbers)
    pieces = list(client.responses.create(model="m", input=ASKED, stream=True, extra_headers=WANTED))
    assert [one.type for one in pieces[-2:]] == ["memstone.memories", "response.completed"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", {"messages": [{"role": "user", "content": ASKED}]}),
        ("/messages", {"messages": [{"role": "user", "content": ASKED}], "max_tokens": 9}),
        ("/responses", {"input": ASKED}),
    ],
)
def test_whoever_does_not_ask_gets_every_byte_as_it_came(gate: Gate, path: str, body: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
    sent = {"model": "m", "stream": True, **body}
    plain, text = (
        httpx2.post(f"{gate.url}/v1{path}", json=sent, headers={**headers, **more}, timeout=120).text
        for more in ({}, WANTED)
    )
    assert "memories" not in plain
    assert "Oslo" not in plain
    added = next(one for one in text.split("\n\n") if "memories" in one)
    assert text.replace(f"{added}\n\n", "") == plain, "one event more, and nothing else"


def test_an_upstream_that_closes_as_if_it_had_ended_is_not_taken_for_ended(gate: Gate) -> None:
    gate.upstream.reply, gate.upstream.stop_after = "Oslo is nice in winter", 2
    with pytest.raises(openai.APIError, match="ended its response early"):
        list(ask(gate.openai(user_id="alice"), "I like skiing", stream=True))
    until(lambda: gate.tasks == 0)
    assert "Oslo is" in [one["memory"] for one in gate.turns("alice") if one["role"] == "assistant"][-1]


@pytest.mark.req("P-27")
@pytest.mark.parametrize("mode", ["profile", "always"])
def test_an_answer_carries_memories_and_not_the_lines_of_a_prompt(tmp_path: Path, mode: str) -> None:
    with gated(tmp_path, preset="shared", context={"gate": mode}) as gate:
        stored = gate.memory.add("The harbour ferry leaves at 7:40\nfrom pier 2", user_id="alice", infer=False)
        client = gate.openai(user_id="alice")
        asked = [{"role": "user", "content": "When does the harbour ferry leave?"}]
        answer = client.chat.completions.create(model="m", messages=asked, extra_headers=WANTED)  # type: ignore[arg-type]
        reply = (answer.model_extra or {})["memories"]
    (one,) = [one for one in reply if one["id"] == stored["results"][0]["id"]]
    assert one["memory"] == "The harbour ferry leaves at 7:40\nfrom pier 2"
