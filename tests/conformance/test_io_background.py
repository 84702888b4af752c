"""Both Ios keep one contract about bells, and about background work that goes on until it is told to stop."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.ports.io import Bell, Io
from memstone.testing.modes import MODES, run

both = pytest.mark.parametrize("mode", MODES)


@both
def test_a_bell_that_was_rung_is_heard_once(mode: str) -> None:
    async def scenario(io: Io) -> list[bool]:
        bell = io.bell()
        silent = await bell.wait(0)
        bell.ring()
        bell.ring()
        return [silent, await bell.wait(0), await bell.wait(0.01)]

    assert run(mode, scenario) == [False, True, False]


@both
def test_a_ring_from_another_thread_wakes_whoever_waits(mode: str) -> None:
    async def scenario(io: Io) -> bool:
        bell = io.bell()
        threading.Timer(0.05, bell.ring).start()
        return await bell.wait(120)

    assert run(mode, scenario) is True


class _Interruption:
    """Ctrl-C at one step of the interpreter, of those that a bell takes and the threads' tools that it uses."""

    def __init__(self, step: int) -> None:
        self.left = step

    def __call__(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if os.path.basename(frame.f_code.co_filename) not in {"blocking.py", "threading.py"}:  # noqa: PTH119 - many
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def _rings_and_waits(bell: Bell) -> None:
    bell.ring()
    drive(bell.wait(0))
    drive(bell.wait(0))


@pytest.mark.req("R-36")
def test_a_bell_rings_on_wherever_ctrl_c_came() -> None:
    step, interrupted, before = 0, True, sys.gettrace()
    while interrupted:
        bell, step = BlockingIo().bell(), step + 1
        interruption = _Interruption(step)
        sys.settrace(interruption)
        with suppress(KeyboardInterrupt):
            _rings_and_waits(bell)
        sys.settrace(before)
        interrupted = interruption.left == 0
        ringer = threading.Thread(target=bell.ring, daemon=True)
        ringer.start()
        ringer.join(10)
        assert not ringer.is_alive(), f"whoever rings waits for ever after an interruption at step {step}"
        assert drive(bell.wait(120))
    assert step > 50, "many steps were tried"


@both
def test_all_who_wait_are_woken_by_one_ring(mode: str) -> None:
    async def scenario(io: Io) -> list[bool]:
        bell, messages, all_heard = io.bell(), list[bool](), io.bell()

        async def wait() -> None:
            messages.append(await bell.wait(120))
            if len(messages) == 2:
                all_heard.ring()

        for name in ("one", "other"):
            io.spawn(wait(), name=name)
        while len(bell._waiting) < 2:  # type: ignore[attr-defined]
            await io.sleep(0.001)
        bell.ring()
        return [await all_heard.wait(120), *messages]

    assert run(mode, scenario) == [True, True, True]


class _Worker:
    """Works until it is told to stop, and then does one thing more."""

    def __init__(self, bell: Bell, log: list[str]) -> None:
        self._bell, self._log, self._over = bell, log, False

    def stop(self) -> None:
        self._over = True
        self._bell.ring()

    async def work(self, name: str) -> None:
        while not self._over:
            await self._bell.wait(120)
        self._log.append(name)


@both
@pytest.mark.req("R-36", "N-22")
def test_finishing_tells_each_to_stop_and_waits_for_it(mode: str) -> None:
    log: list[str] = []

    async def scenario(io: Io) -> list[bool]:
        started = []
        for name in ("first", "second"):
            worker = _Worker(io.bell(), log)
            started.append(io.spawn(worker.work(name), name=name, stop=worker.stop))
        await io.sleep(0.01)
        before = [one.alive for one in started]
        await io.finish()
        assert log == ["first", "second"], "one after the other"
        return [*before, *(one.alive for one in started)]

    assert run(mode, scenario) == [True, True, False, False]


@both
def test_work_that_does_not_stop_is_left_when_its_time_is_over(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(io: Io) -> None:
        bell = io.bell()

        async def deaf() -> None:
            await bell.wait(120)

        io.spawn(deaf(), name="deaf", stop=lambda: None, patience=0.05)
        await io.sleep(0.01)
        await io.finish()
        bell.ring()

    run(mode, scenario)
    assert "background task deaf did not finish in time" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_no_background_work_and_a_bell_of_its_own() -> None:
    io = BlockingIo()
    bell = io.bell()
    log: list[str] = []
    worker = _Worker(bell, log)
    started = io.spawn(worker.work("parent"), name="worker", stop=worker.stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of a fork beside threads
        child = os.fork()
    if child == 0:
        bell.ring()
        os._exit(0 if not started.alive and drive(bell.wait(0)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert started.alive
    drive(io.close())
    assert log == ["parent"]
