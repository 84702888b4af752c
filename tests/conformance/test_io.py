"""Both Ios keep one contract about work, background work and locks."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from memstone.ports.io import HttpRequest, Io
from memstone.testing.modes import MODES, run
from memstone.testing.wire import WireReply, WireServer

both = pytest.mark.parametrize("mode", MODES)
speaker: ContextVar[str] = ContextVar("speaker", default="nobody")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@both
@pytest.mark.req("C-49")
def test_work_gives_its_result_and_sees_the_callers_context(mode: str) -> None:
    async def scenario(io: Io) -> str:
        speaker.set("alice")
        return await io.run(speaker.get)

    assert run(mode, scenario) == "alice"


@both
@pytest.mark.parametrize(("raised", "seen"), [(KeyError("k"), KeyError), (StopIteration(), RuntimeError)])
def test_an_error_of_the_work_reaches_the_caller(mode: str, raised: Exception, seen: type[Exception]) -> None:
    def work() -> None:
        raise raised

    async def scenario(io: Io) -> None:
        await io.run(work)

    with pytest.raises(seen):
        run(mode, scenario)


@both
def test_computing_gives_its_result_or_its_error_and_sees_the_callers_context(mode: str) -> None:
    async def scenario(io: Io) -> str:
        speaker.set("alice")
        with pytest.raises(ZeroDivisionError):
            await io.compute(lambda: 1 // 0)
        return await io.compute(speaker.get)

    assert run(mode, scenario) == "alice"


@both
def test_gather_keeps_the_order_and_the_context(mode: str) -> None:
    async def named(number: int) -> str:
        return f"{speaker.get()} {number}"

    async def scenario(io: Io) -> tuple[list[str], list[int]]:
        speaker.set("bob")
        return await io.gather(*(named(n) for n in range(5))), await io.gather()

    assert run(mode, scenario) == ([f"bob {n}" for n in range(5)], [])


@both
def test_gather_raises_the_first_error_after_all_have_ended(mode: str) -> None:
    ended: list[str] = []

    async def part(io: Io, name: str, error: Exception | None) -> None:
        await io.run(lambda: None)
        ended.append(name)
        if error:
            raise error

    async def scenario(io: Io) -> None:
        await io.gather(part(io, "a", None), part(io, "b", KeyError("b")), part(io, "c", ValueError("c")))

    with pytest.raises(KeyError):
        run(mode, scenario)
    assert sorted(ended) == ["a", "b", "c"]


@both
def test_sleep_of_no_time_comes_back(mode: str) -> None:
    assert run(mode, lambda io: io.sleep(0)) is None


@both
def test_background_work_is_waited_for_when_the_io_closes(mode: str) -> None:
    done: list[str] = []

    async def scenario(io: Io) -> None:
        async def work() -> None:
            await io.sleep(0.02)
            done.append(speaker.get())

        speaker.set("carol")
        io.spawn(work(), name="late")

    run(mode, scenario)
    assert done == ["carol"]


@both
def test_an_error_in_the_background_is_logged_and_goes_no_further(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> None:
        raise OSError("disk on fire")

    async def scenario(io: Io) -> str:
        io.spawn(broken(), name="mender")
        return "alive"

    assert run(mode, scenario) == "alive"
    assert [(record.name, record.message) for record in caplog.records] == [
        ("memstone.io", "background task mender failed")
    ]
    assert "disk on fire" in caplog.text


@both
def test_closing_twice_is_no_error_and_a_closed_io_opens_anew(mode: str, server: WireServer) -> None:
    server.script(WireReply(json=1), WireReply(json=2))

    async def scenario(io: Io) -> list[bytes]:
        bodies = []
        for _ in range(2):
            bodies.append((await io.http(HttpRequest("GET", server.url))).body)
            await io.close()
            await io.close()
        return [*bodies, await io.run(lambda: b"3")]

    assert run(mode, scenario) == [b"1", b"2", b"3"]


@both
def test_a_lock_is_given_back_when_its_block_fails(mode: str) -> None:
    async def failing(lock: Any) -> None:
        async with lock:
            raise KeyError

    async def scenario(io: Io) -> str:
        lock = io.lock()
        with pytest.raises(KeyError):
            await failing(lock)
        async with lock:
            return "in"

    assert run(mode, scenario) == "in"


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="trio"):
        run("trio", lambda io: io.sleep(0))
