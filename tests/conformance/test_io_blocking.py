"""What only the blocking Io promises."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from memstone.adapters.io import blocking
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive, drive_iter
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.testing.wire import WireReply, WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


async def _fetch(io: Io, request: HttpRequest) -> HttpResponse:
    return await io.http(request)


async def _value(number: int) -> int:
    return number


async def _hold(io: Io, lock: Any, inside: list[int], most: list[int]) -> None:
    async with lock:
        inside.append(1)
        most.append(len(inside))
        await io.sleep(0.005)
        inside.pop()


def test_a_lock_of_the_blocking_io_lets_one_thread_in() -> None:
    io = BlockingIo(threads=5)
    lock, inside, most = io.lock(), list[int](), list[int]()
    drive(io.gather(*(_hold(io, lock, inside, most) for _ in range(5))))
    drive(io.close())
    assert most == [1] * 5


def test_the_blocking_io_works_inside_a_running_loop(server: WireServer) -> None:
    server.script(WireReply(204))

    async def in_a_notebook() -> int:
        io = BlockingIo()
        status = drive(io.http(HttpRequest("GET", server.url))).status
        drive(io.close())
        return status

    assert asyncio.run(in_a_notebook()) == 204


def test_gather_on_threads_runs_side_by_side() -> None:
    meeting = threading.Barrier(2)

    async def meet() -> int:
        return meeting.wait(120)

    io = BlockingIo(threads=2)
    assert sorted(drive(io.gather(meet(), meet()))) == [0, 1]
    drive(io.close())


def test_a_gather_within_a_gather_does_not_wait_for_its_own_threads() -> None:
    io = BlockingIo(threads=2)

    async def outer(number: int) -> list[int]:
        return await io.gather(*(_value(number * 10 + n) for n in range(3)))

    assert drive(io.gather(*(outer(n) for n in range(4)))) == [[n * 10 + m for m in range(3)] for n in range(4)]
    drive(io.close())


def test_ctrl_c_in_a_gather_rises_at_once_and_leaves_nothing_unawaited() -> None:
    async def interrupted() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # warnings are errors: a coroutine never awaited would show
        drive(BlockingIo().gather(interrupted(), _value(1)))


def test_background_work_that_does_not_end_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(blocking, "CLOSE_SECONDS", 0.05)
    release = threading.Event()

    async def stuck() -> None:
        release.wait(120)

    io = BlockingIo()
    io.spawn(stuck(), name="stuck")
    drive(io.close())
    release.set()
    assert "background task stuck did not finish" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_its_own_connection_and_is_not_locked_out(server: WireServer) -> None:
    server.handler = lambda _: WireReply(json=os.getpid())
    io = BlockingIo(threads=2)
    lock = io.lock()
    drive(_fetch(io, HttpRequest("GET", server.url)))
    drive(io.gather(_value(1), _value(2)))
    drive(lock.__aenter__())  # as another thread of the parent could hold it at the moment of the fork
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that waits for ever must not outlive the test
        os._exit(0 if _child_works(io, lock, server.url) else 1)
    drive(lock.__aexit__(None, None, None))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert drive(_fetch(io, HttpRequest("GET", server.url))).status == 200
    drive(io.close())


def _child_works(io: BlockingIo, lock: Any, url: str) -> bool:
    async def guarded() -> int:
        async with lock:
            return (await io.http(HttpRequest("GET", url))).status

    return drive(guarded()) == 200 and drive(io.gather(_value(3), _value(4))) == [3, 4] and len(io._clients) == 2


def test_drive_iter_reads_lines_without_a_loop(server: WireServer) -> None:
    server.script(WireReply(body=b"a\nb\n"))
    io = BlockingIo()
    assert list(drive_iter(io.http_lines(HttpRequest("GET", server.url)))) == ["a", "b"]
    drive(io.close())


def test_building_an_io_loads_no_http_client() -> None:
    code = (
        "import sys; from memstone.adapters.io.blocking import BlockingIo; BlockingIo();"
        "print([m for m in ('httpx2', 'asyncio', 'numpy', 'pydantic') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.strip() == "[]"
