"""What only the asyncio Io promises."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from memstone.adapters.io import aio
from memstone.adapters.io.aio import AsyncIo
from memstone.errors import (
    UsageError,
)
from memstone.ports.io import HttpRequest, Io
from memstone.testing.modes import run
from memstone.testing.wire import WireReply, WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


async def _hold(io: Io, lock: Any, inside: list[int], most: list[int]) -> None:
    async with lock:
        inside.append(1)
        most.append(len(inside))
        await io.sleep(0.005)
        inside.pop()


def test_a_lock_of_the_asyncio_io_lets_one_task_in() -> None:
    async def scenario(io: Io) -> list[int]:
        lock, inside, most = io.lock(), list[int](), list[int]()
        await io.gather(*(_hold(io, lock, inside, most) for _ in range(5)))
        return most

    assert run("asyncio", scenario) == [1] * 5


async def _cancelled_at_once(coroutine: Coroutine[Any, Any, object]) -> bool:
    task = asyncio.create_task(coroutine)
    await asyncio.sleep(0.01)
    task.cancel()
    return (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError


def test_computing_goes_on_in_one_thread_while_others_ask_the_database() -> None:
    asked = threading.Event()

    async def scenario(io: Io) -> list[Any]:
        names = [io.compute(lambda: (asked.wait(120), threading.current_thread().name)) for _ in range(8)]
        return await io.gather(*names, io.run(asked.set))

    *computed, _ = run("asyncio", scenario)
    assert set(computed) == {(True, "memstone-compute_0")}


def test_what_has_not_begun_to_be_computed_for_a_cancelled_caller_is_not() -> None:
    go_on, done = threading.Event(), list[str]()

    async def scenario() -> bool:
        io = AsyncIo()
        first = asyncio.create_task(io.compute(lambda: go_on.wait(120)))
        gone = await _cancelled_at_once(io.compute(lambda: done.append("for nobody")))
        go_on.set()
        await first
        await io.compute(lambda: done.append("next"))
        await io.close()
        return gone

    assert asyncio.run(scenario())
    assert done == ["next"]


def test_a_cancelled_caller_goes_at_once_and_its_work_runs_to_the_end() -> None:
    caller_is_gone, done = threading.Event(), list[str]()

    def under_way() -> None:
        done.append("under way" if caller_is_gone.wait(120) else "the caller was held")

    async def scenario() -> bool:
        io = AsyncIo(threads=1)
        first = asyncio.create_task(io.run(under_way))
        await asyncio.sleep(0)
        queued_cancelled = await _cancelled_at_once(io.run(lambda: done.append("queued")))
        first_cancelled = first.cancel()
        caller_is_gone.set()
        await io.close()
        return queued_cancelled and first_cancelled

    assert asyncio.run(scenario())
    assert done == ["under way", "queued"]


def test_an_error_after_the_caller_was_cancelled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caller_is_gone = threading.Event()

    def work() -> None:
        caller_is_gone.wait(120)
        raise OSError("disk full")

    async def scenario() -> None:
        io = AsyncIo()
        await _cancelled_at_once(io.run(work))
        caller_is_gone.set()
        await io.close()

    asyncio.run(scenario())
    assert "a task failed after its caller was cancelled" in caplog.text
    assert "disk full" in caplog.text


def test_work_that_outlives_its_loop_ends_in_peace(caplog: pytest.LogCaptureFixture) -> None:
    loop_is_gone, ended = threading.Event(), threading.Event()

    def work() -> None:
        loop_is_gone.wait(120)

    io = AsyncIo()
    asyncio.run(_cancelled_at_once(io.run(work)))
    for unit in io._units:
        unit.add_done_callback(lambda _: ended.set())
    loop_is_gone.set()
    assert ended.wait(120)
    assert caplog.records == []


def test_cancelling_a_gather_cancels_its_parts() -> None:
    cancelled: list[int] = []

    async def part(io: Io, number: int) -> None:
        try:
            await io.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    async def scenario(io: Io) -> bool:
        return await _cancelled_at_once(io.gather(part(io, 1), part(io, 2)))

    assert run("asyncio", scenario)
    assert cancelled == [1, 2]


def test_one_io_serves_one_loop_after_the_other(server: WireServer) -> None:
    server.handler = lambda _: WireReply(json="hello")
    io = AsyncIo()
    lock = io.lock()

    async def use() -> bytes:
        async def ask() -> bytes:
            async with lock:
                return (await io.http(HttpRequest("GET", server.url))).body

        return b"".join(await io.gather(ask(), ask()))

    # Without close: a connection left open by an ended loop would warn, and warnings are errors.
    assert [asyncio.run(use()) for _ in range(3)] == [b'"hello""hello"'] * 3
    assert len(io._clients) == 1


def test_background_work_that_does_not_end_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(aio, "CLOSE_SECONDS", 0.05)
    seen: list[str] = []

    async def stuck() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def scenario(io: Io) -> None:
        io.spawn(stuck(), name="stuck")
        await io.sleep(0)

    run("asyncio", scenario)
    assert seen == ["cancelled"]
    assert "background task stuck did not finish" in caplog.text


def test_background_work_without_a_loop_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        AsyncIo().spawn(asyncio.sleep(0), name="lost")
