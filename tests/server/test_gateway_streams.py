"""Streams that end too early, whoever ends them: nothing hangs, nothing acknowledged is lost, nobody is lied to."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from memstone import Memory
from memstone.server.gateway.sse import SseParser
from tests.patience import at_most
from tests.ports import free_port
from tests.server.gate import Gate, ask, gated, until
from tests.server.upstream import Upstream, served

WORDS = "one two three four five six seven eight"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, write={"mode": "manual"}) as made:
        made.upstream.reply = WORDS
        yield made


def body(number: int, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"message {number}"}], "stream": True, **more}


@pytest.mark.req("P-11")
def test_every_byte_comes_as_it_was_sent_and_as_soon(gate: Gate) -> None:
    """The upstream sends an event when the one before it has come through."""
    gate.upstream.pace = pace = threading.Semaphore(0)
    headers, seen = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}, b""
    with httpx2.stream("POST", f"{gate.url}/v1/chat/completions", json=body(1), headers=headers, timeout=60) as answer:
        for piece in answer.iter_raw():
            seen += piece
            pace.release(piece.count(b"\n\n") or 1)
    gate.upstream.pace = None
    with served(gate.upstream.app) as direct:
        straight = httpx2.post(f"{direct}/v1/chat/completions", json=body(1), timeout=120).content
    assert seen == straight
    assert seen.count(b"\n\n") >= 8


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_callers_who_leave_in_the_middle_leave_nothing_running(gate: Gate, path: str) -> None:
    gate.upstream.delay = 1.0  # whoever leaves is noticed long before the last word
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}

    async def leave(client: httpx2.AsyncClient, number: int) -> None:
        async with client.stream("POST", f"{gate.url}{path}", json=body(number, max_tokens=9), headers=headers) as got:
            assert got.status_code == 200
            text = b""
            async for piece in got.aiter_raw():
                text += piece
                if b"two" in text:
                    return

    async def ten() -> None:
        async with httpx2.AsyncClient(timeout=120) as client:
            await asyncio.gather(*(leave(client, number) for number in range(10)))

    asyncio.run(ten())
    until(lambda: gate.upstream.open == 0)
    until(lambda: len(gate.turns("alice")) == 20)
    until(lambda: gate.tasks == 0)
    words = [one["memory"] for one in gate.turns("alice") if one["role"] == "assistant"]
    assert all("two" in one and "eight" not in one for one in words)


def test_ten_streams_that_the_upstream_cuts_end_in_an_error_and_are_kept(gate: Gate) -> None:
    gate.upstream.cut_after = 3
    client = gate.openai(user_id="alice")
    for number in range(10):
        with pytest.raises(openai.APIError, match="ended its response early"):
            list(ask(client, f"message {number}", stream=True))
    until(lambda: len(gate.turns("alice")) == 20)
    until(lambda: gate.tasks == 0)
    anthropic_client = gate.anthropic(user_id="bob")
    with (
        pytest.raises(Exception, match="ended its response early"),
        anthropic_client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as answer,
    ):
        answer.get_final_message()
    gate.upstream.cut_after = 1
    events = list(client.responses.create(model="m", input="hi", stream=True))
    assert (events[-1].type, events[-1].code) == ("error", "upstream_cut")  # type: ignore[union-attr]  # an error has one


def test_a_whole_answer_that_is_cut_is_an_error_of_the_upstream(gate: Gate) -> None:
    gate.upstream.cut_after = 2
    with pytest.raises(openai.APIStatusError) as failed:
        ask(gate.openai(user_id="alice"), "message")
    assert failed.value.status_code == 502
    assert gate.turns("alice") == []


def _killed(place: Path, config: str, key: str) -> tuple[list[int], list[int]]:
    """Start a service of its own, chat, and kill it in the middle of ten streams; what ended, and what broke."""
    port = free_port()
    program = [sys.executable, "-m", "memstone.cli", "--config", config, "serve", "--port", str(port)]
    process = subprocess.Popen(  # noqa: S603 - our own command
        program, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: _answers(port), 120)
        return asyncio.run(_chats(f"http://127.0.0.1:{port}", key, process.pid))
    finally:
        process.kill()
        process.wait(60)


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/health/live").status_code < 500
    except httpx2.HTTPError:
        return False


async def _chats(url: str, key: str, pid: int) -> tuple[list[int], list[int]]:
    """Ten streams that end, then ten that are all in the middle when the service is killed."""
    ended, begun, broken = list[int](), list[int](), list[int]()

    async def one(client: httpx2.AsyncClient, number: int) -> None:
        headers, text = {"Authorization": f"Bearer {key}"}, b""
        path = f"{url}/v1/chat/completions"
        async with client.stream("POST", path, json=body(number), headers=headers) as answer:
            async for piece in answer.aiter_raw():
                text += piece
                if b"two" in text and number not in begun:
                    begun.append(number)
                    if len(begun) == 20:
                        os.kill(pid, signal.SIGKILL)
        assert text.endswith(b"[DONE]\n\n"), "a stream without an end must not look like one"
        ended.append(number)

    async def broken_off(client: httpx2.AsyncClient, number: int) -> None:
        with pytest.raises(httpx2.HTTPError):
            await one(client, number)
        broken.append(number)

    async with httpx2.AsyncClient(timeout=60) as client:
        await asyncio.gather(*(one(client, number) for number in range(10)))
        await asyncio.gather(*(broken_off(client, number) for number in range(10, 20)))
    return ended, broken


@pytest.mark.system
@pytest.mark.timeout(180)
def test_what_was_answered_to_the_end_survives_a_killed_service_and_what_was_not_breaks_off(tmp_path: Path) -> None:
    upstream = Upstream()
    upstream.reply, upstream.delay = f"{WORDS} " * 20, 0.05
    with served(upstream.app) as behind:
        config = tmp_path / "memstone.toml"
        config.write_text(
            f'preset = "gateway"\n[store]\nurl = "sqlite:///{tmp_path}/k.db"\n[embedder]\nprovider = "hash"\n'
            f'[write]\nmode = "manual"\n[gateway]\nrecall_ms = 10000\n'
            f'[[gateway.upstreams]]\nname = "up"\nbase_url = "{behind}/v1"\n'
        )
        with Memory({"store": {"url": f"sqlite:///{tmp_path}/k.db"}, "embedder": {"provider": "hash"}}) as memory:
            key = memory.admin.keys.create(user_id="alice")["key"]
        ended, broken = _killed(tmp_path, str(config), key)
        until(lambda: upstream.open == 0)
    assert (sorted(ended), sorted(broken)) == (list(range(10)), list(range(10, 20)))
    with Memory({"store": {"url": f"sqlite:///{tmp_path}/k.db"}, "embedder": {"provider": "hash"}}) as memory:
        turns = memory.get_all(user_id="alice", layers=["turn"], limit=100)["results"]
        remaining = {one["memory"] for one in turns if one["role"] == "user"}
        assert remaining == {f"message {number}" for number in ended}
        assert memory.sessions.flush(everybody=True)["waiting"] == 0


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_are_cut_out_without_a_change_however_they_arrive(end: bytes) -> None:
    full = b"event: a\ndata: {}" + end + b"data: x" + end
    for size in range(1, len(full)):
        events = SseParser()
        pieces = [full[at : at + size] for at in range(0, len(full), size)]
        found = [event for piece in pieces for event in events.feed(piece)]
        assert b"".join(one.raw for one in found) + events.rest == full
        assert [(one.name, one.data) for one in found] == [("a", "{}"), ("", "x")]


def test_many_events_in_one_piece_cost_no_more_than_one_by_one() -> None:
    """A service may pack its stream, and then many come at once."""
    events = [b'data: {"number": %d}\n\n' % number for number in range(40_000)]
    with at_most(5.0):
        assert [one.raw for one in SseParser().feed(b"".join(events))] == events
    parts = [b"data: " + b"x" * 8_000_000 + b"\n\n"]
    collected = SseParser()
    with at_most(5.0):
        got = [one for at in range(0, len(parts[0]), 4_096) for one in collected.feed(parts[0][at : at + 4_096])]
    assert [one.raw for one in got] == parts
