"""What the chat keeps of memory, and what memory may cost the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import openai
import pytest
import structlog

from memstone.drive import drive
from memstone.engine.memory_page import PageRequest, memory_page
from memstone.errors import StorageBusy
from memstone.server.gateway.counts import SKIPPED
from tests.server.gate import Gate, ask, gated, said, until

PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/beach.png"}}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path) as made:
        yield made


def skipped(reason: str) -> float:
    return float(SKIPPED.labels(reason)._value.get())


@pytest.mark.req("O-3", "P-27", "P-11")
@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_what_changed_between_two_sessions_is_shown_as_it_is_now(gate: Gate, sdk: str) -> None:
    def talk(text: str) -> None:
        if sdk == "openai":
            ask(client, text)
        else:
            client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": text}])

    client: Any = gate.openai(user_id="alice") if sdk == "openai" else gate.anthropic(user_id="alice")
    talk("I live in Oslo")
    until(lambda: gate.facts("alice"))
    talk("I live in Rome now")
    until(lambda: "Rome" in str(gate.facts("alice")))
    talk("Where do I live?")
    assert "Rome" in gate.sent
    assert "User lives in Oslo" not in gate.sent
    assert len([one for one in gate.facts("alice") if "lives in" in one]) == 1


@pytest.mark.req("R-11")
@pytest.mark.parametrize("stream", [False, True])
def test_ten_turns_that_repeat_what_was_shown_add_nothing(gate: Gate, *, stream: bool) -> None:
    client = gate.openai(user_id="alice")
    for text in ("I live in Oslo", "My sister is called Mia", "I am allergic to peanuts"):
        gate.memory.add(text, user_id="alice")
    before = gate.facts("alice")
    history: list[Any] = []
    for turn in range(10):
        history.append({"role": "user", "content": f"What do you know about me, part {turn}?"})
        gate.upstream.reply = "\n".join(before)
        answer = client.chat.completions.create(model="m", messages=history, stream=stream)
        history.append({"role": "assistant", "content": said(answer, stream=stream) + f"\n{gate.sent}"})
    until(lambda: gate.tasks == 0)
    assert gate.facts("alice") == before


@pytest.mark.req("O-3")
def test_an_application_that_asks_for_a_title_is_not_the_user(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    gate.memory.add("I live in Oslo", user_id="alice")
    chat = "USER: Where do I live? I am allergic to nuts\nASSISTANT: In Oslo"
    ask(client, f"### Task:\nFind a short title.\n<chat_history>\n{chat}\n</chat_history>")
    assert "User lives in Oslo" not in gate.sent
    until(lambda: gate.tasks == 0)
    assert gate.facts("alice") == ["User lives in Oslo."]
    remaining = gate.memory.get_all(user_id="alice", layers=["turn"])["results"]
    assert not [one for one in remaining if "title" in one["memory"]]


@pytest.mark.req("O-5")
@pytest.mark.parametrize("failure", ["slow", "busy", "bug", "settings"])
def test_whatever_happens_to_the_memory_the_chat_goes_on(gate: Gate, failure: str) -> None:
    gate.memory.add("I live in Oslo", user_id="alice")
    settings = gate.app.state.memstone.settings.gateway
    for name in ("recall_ms", "profile_ms"):
        object.__setattr__(settings, name, 75.0 if failure == "slow" else 60_000.0)

    async def broken(self: Any, *_: Any, **__: Any) -> Any:
        if failure == "slow":
            await asyncio.sleep(600)
        raise StorageBusy("no") if failure == "busy" else ValueError("no")

    before, reason = skipped("deadline"), "deadline" if failure == "slow" else "error"
    with pytest.MonkeyPatch.context() as patch, structlog.testing.capture_logs() as logs:
        if failure == "settings":
            patch.setattr("memstone.server.gateway.chat.apply_scope_policy", broken)
        else:
            patch.setattr("memstone.engine.engine.Engine.context_for_service", broken)
        raw = gate.openai(user_id="alice").chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "Where do I live?"}], temperature=0.5
        )
    assert raw.parse().choices[0].message.content == "Noted."
    assert raw.headers["x-memstone-receipt"] == "none"
    assert gate.upstream.seen[-1] == {
        "model": "m",
        "messages": [{"role": "user", "content": "Where do I live?"}],
        "temperature": 0.5,
    }
    assert [one["reason"] for one in logs if one["event"] == "memory.injection.skipped"] == [reason]
    assert skipped("deadline") - before == (failure == "slow")


def test_a_store_that_takes_no_writes_does_not_hold_an_answer_up(tmp_path: Path) -> None:
    with gated(tmp_path, write={"mode": "background"}) as gate:
        released = asyncio.Event()

        async def stuck(self: Any, *_: Any, **__: Any) -> None:
            await released.wait()

        object.__setattr__(gate.app.state.memstone.settings.gateway, "recall_ms", 150.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("memstone.api.aio.verbs.AsyncMemoryVerbs.add", stuck)
            client = gate.openai(user_id="alice")
            assert said(ask(client, "I live in Oslo")) == "Noted."
            assert said(ask(client, "I live in Oslo", stream=True), stream=True) == "Noted."
        until(lambda: gate.tasks == 2)  # whatever else the service began with has ended
        gate.loop.call_soon_threadsafe(released.set)
        until(lambda: gate.tasks == 0)


@pytest.mark.req("O-62")
def test_what_was_shown_and_what_was_not_are_events(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    with structlog.testing.capture_logs() as logs:
        ask(client, "Where do I live?", extra_headers={"x-memory": "extract-off"})
        gate.memory.add("I live in Oslo", user_id="alice")
        ask(client, "Where do I live now?")
    lines = [one for one in logs if one["event"].startswith("memory.injection")]
    assert [one["event"].rpartition(".")[2] for one in lines] == ["skipped", "injected"]
    assert (lines[0]["reason"], lines[0]["model"]) == ("no_memories", "m")
    assert (lines[1]["count"], lines[1]["strategy"], lines[1]["model"]) == (1, "split", "m")
    assert "Oslo" not in str(logs)


@pytest.mark.req("O-41", "O-63", "X-23", "S-62")
@pytest.mark.parametrize(
    ("setting", "shows", "learns"),
    [
        ({"policy.enabled": False}, False, False),
        ({"context.budget": 0}, False, False),
        ({"policy.shows": False}, False, True),
        ({"policy.learns": False}, True, False),
        ({"inject.chat": False}, False, True),
    ],
)
def test_settings_of_a_user_switch_showing_and_learning(
    gate: Gate, setting: dict[str, Any], *, shows: bool, learns: bool
) -> None:
    gate.memory.add("I live in Oslo", user_id="alice")
    before = gate.facts("alice")
    gate.memory.settings.set(setting, user_id="alice")
    client = gate.openai(user_id="alice")
    until(lambda: _resolved(gate, client) == shows)
    ask(client, "Where do I live? I like tea.")
    assert ("Oslo" in gate.sent) == shows
    if learns:
        until(lambda: len(gate.facts("alice")) > len(before))
    else:
        until(lambda: gate.tasks == 0)
        gate.memory.settings.unset(user_id="alice")
        assert gate.facts("alice") == before


def _resolved(gate: Gate, client: openai.OpenAI) -> bool:
    """Ask until the service has noticed what another process stored, which takes a second at most."""
    ask(client, "Where do I live?", extra_headers={"x-memory": "extract-off"})
    return "Oslo" in gate.sent


@pytest.mark.req("O-6")
def test_an_answer_that_is_an_error_is_not_learned_from(gate: Gate) -> None:
    gate.upstream.broken = [400]
    with pytest.raises(openai.BadRequestError):
        ask(gate.openai(user_id="alice"), "I live in Oslo", stream=True)
    until(lambda: gate.tasks == 0)
    assert gate.facts("alice") == []


def test_pictures_pass_and_memory_knows_them_by_name(gate: Gate) -> None:
    client = gate.openai(user_id="alice")
    parts: Any = [{"type": "text", "text": "I live in Oslo, see"}, PICTURE]
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    assert gate.upstream.seen[-1]["messages"] == [{"role": "user", "content": parts}]
    until(lambda: gate.facts("alice"))
    said_then = next(one for one in gate.turns("alice") if one["role"] == "user")
    assert "beach.png" in said_then["memory"]


def test_the_secret_of_a_caller_never_goes_to_an_upstream_that_stands_in(tmp_path: Path) -> None:
    with gated(tmp_path / "a") as first:
        dead = {"name": "dead", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-dead", "retries": 0}
        live = {"name": "up", "base_url": f"{first.url}/v1", "api_key": first.key(user_id="x")}
        with gated(tmp_path, gateway={"upstreams": [dead, live]}) as gate:
            ask(gate.openai(user_id="alice"), "hello", extra_headers={"X-Upstream-Authorization": "Bearer sk-mine"})
        assert "sk-mine" not in str(first.upstream.headers)
        assert len(first.upstream.seen) == 1


def test_a_service_that_cannot_be_reached_does_not_hide_the_models_of_others(tmp_path: Path) -> None:
    with gated(tmp_path / "a") as first:
        dead = {"name": "dead", "base_url": "http://127.0.0.1:9/v1", "retries": 0, "models": ["x/"]}
        live = {"name": "up", "base_url": f"{first.url}/v1", "api_key": first.key(user_id="x")}
        named = {**live, "models": ["local/"], "strip": True}
        with gated(tmp_path, gateway={"upstreams": [dead, named]}) as gate:
            assert [one.id for one in gate.openai(user_id="alice").models.list()] == ["local/m"]


def test_why_nobody_is_remembered_is_told(gate: Gate) -> None:
    client = gate.openai(may_assert_user=True)
    with structlog.testing.capture_logs() as logs:
        ask(client, "Where do I live?", extra_headers={"X-Memstone-User": "ann lee"})
        ask(client, "Where do I live?", user="key:0000000000000000")
    reasons = [one["reason"] for one in logs if one["event"] == "memory.injection.skipped"]
    assert reasons == ["invalid_id", "invalid_id"]


@pytest.mark.req("D-7", "O-76", "D-18")
@pytest.mark.parametrize("stream", [False, True])
def test_the_hit_rate_is_known_from_the_answers_of_the_model(gate: Gate, *, stream: bool) -> None:
    def rate() -> float | None:
        found: float | None = drive(gate.memory.engine.run(memory_page, PageRequest({"user_id": "alice"})))["stats"][
            "hit_rate"
        ]
        return found

    client = gate.openai(user_id="alice")
    gate.memory.add("My sister is called Ingrid and lives in Tromso", user_id="alice", infer=False)
    gate.upstream.reply = "Your sister is called Ingrid, and she lives in Tromso."
    said(ask(client, "What is my sister called?", stream=stream), stream=stream)
    until(lambda: rate() == 1.0)
    gate.upstream.reply = "I do not know."
    said(ask(client, "Where does my sister live?", stream=stream), stream=stream)
    until(lambda: rate() not in (None, 1.0))


def _lines(text: str) -> list[str]:
    """The lines of a block without its fences, which are its own."""
    return [line for line in text.splitlines() if line and "memstone-memory" not in line]


@pytest.mark.req("N-10", "O-52")
@pytest.mark.parametrize("position", ["split", "system_merge"])
def test_previews_show_what_a_chat_is_given_to_the_line(tmp_path: Path, position: str) -> None:
    with gated(tmp_path, inject={"position": position}) as gate:
        for text in ("I live in Oslo", "My sister Ida is vegan"):
            gate.memory.add(text, user_id="alice")
        hidden = gate.memory.add("I keep bees in the garden", user_id="alice")["results"][0]["id"]
        gate.memory.profile.set_visibility(hidden, "hidden")  # so that it is recalled where it belongs
        client, key = gate.openai(user_id="alice"), gate.key(user_id="alice")
        for question, date in (("Where do I keep bees in the garden?", True), ("Thanks!", position != "split")):
            ask(client, question, extra_headers={"x-memory": "extract-off"})
            items = [one["content"] for one in gate.upstream.seen[-1]["messages"] if one["role"] == "system"]
            lines = _lines("\n".join(items))
            assert [any(word in line for line in lines) for word in ("Oslo", "Current date")] == [True, date]
            for path, name in (("/api/memory/retrieve-preview", "block"), ("/v1/console/context", "text")):
                asked = {"query": question, "user_id": "alice"}
                answer = httpx2.post(f"{gate.url}{path}", json=asked, headers={"Authorization": f"Bearer {key}"})
                assert _lines(answer.json()[name]) == lines


@pytest.mark.req("O-5")
def test_a_receipt_names_what_tells_nothing_to_remember(gate: Gate) -> None:
    gate.memory.add("I live in Oslo", user_id="alice", occurred_at="2026-01-01")
    gate.memory.add("haha nice one, good night!", user_id="alice", occurred_at="2026-01-02")
    (idle,) = (one["id"] for one in gate.turns("alice") if "haha" in one["memory"])
    raw = gate.openai(user_id="alice").chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": "Thanks!"}]
    )
    assert ("Oslo" in gate.sent, "haha" in gate.sent) == (True, False)
    receipt = raw.headers["x-memstone-receipt"]
    until(lambda: gate.memory.receipt(receipt) is not None)
    dropped = cast("Any", gate.memory.receipt(receipt))["dropped"]
    assert {"id": idle, "reason": "tells nothing to remember"} in dropped


@pytest.mark.req("O-3")
def test_what_somebody_told_the_user_is_learned_in_the_words_of_the_user(gate: Gate) -> None:
    ask(gate.openai(user_id="alice"), "My boss told me I get a raise.")
    until(lambda: gate.facts("alice"))
    assert gate.facts("alice") == ['User said: "My boss told me I get a raise"']
