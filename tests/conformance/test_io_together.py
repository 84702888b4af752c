"""Several steps as one unit: on an event loop they share a thread, without one they run as everything does."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory
from memstone.adapters.io.aio import AsyncIo
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run


async def _where(io: Io) -> int:
    return await io.run(threading.get_ident)


@pytest.mark.parametrize("mode", MODES)
def test_the_steps_of_one_unit_run_on_one_thread(mode: str) -> None:
    async def scenario(io: Io) -> list[int]:
        async def steps() -> list[int]:
            async with io.turn():
                return [threading.get_ident(), await _where(io), *await io.together(lambda: _twice(io))]

        return await io.together(steps)

    async def _twice(io: Io) -> list[int]:
        return [await _where(io), await _where(io)]

    threads = run(mode, scenario)
    assert len(threads) == 4
    assert len(set(threads)) == 1
    assert (threads[0] == threading.get_ident()) == (mode == "blocking")


@pytest.mark.parametrize("mode", MODES)
def test_an_error_of_a_step_reaches_the_caller_and_ends_the_unit(mode: str) -> None:
    async def scenario(io: Io) -> list[str]:
        async def steps() -> None:
            await io.run(lambda: 1 // 0)

        messages = list[str]()
        try:
            await io.together(steps)
        except ZeroDivisionError:
            messages.append("raised")
        return [*messages, str(await io.run(lambda: 42))]

    assert run(mode, scenario) == ["raised", "42"]


def test_without_its_caller_a_unit_ends_at_the_next_step(caplog: pytest.LogCaptureFixture) -> None:
    begun, caller_is_gone, done = threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        begun.set()
        done.append("first" if caller_is_gone.wait(120) else "the caller was held")

    async def scenario() -> None:
        io = AsyncIo(threads=1)

        async def steps() -> None:
            await io.run(first)
            await io.run(lambda: done.append("second"))

        asking = asyncio.create_task(io.together(steps))
        await asyncio.to_thread(begun.wait, 120)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        caller_is_gone.set()
        await io.run(lambda: done.append("somebody else"))
        await io.close()

    asyncio.run(scenario())
    assert done == ["first", "somebody else"]
    assert not caplog.records


def test_a_search_is_one_unit_on_a_thread_and_a_context_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    units = list[str]()
    begin = AsyncIo.run

    async def counted(self: AsyncIo, work: Any) -> Any:
        if threading.current_thread() is threading.main_thread():  # within a unit it is a step on a thread
            units.append("unit")
        return await begin(self, work)

    async def scenario() -> list[int]:
        config = {"store": {"url": f"sqlite:///{tmp_path / 'units.db'}"}, "embedder": {"provider": "hash"}}
        memory = AsyncMemory(config)
        texts = [f"I keep my {one} in the shed" for one in ("kayak", "ladder", "tent")]
        await memory.add(texts, user_id="u", infer=False)
        await memory.context("Where do I keep my tent?", user_id="u")  # what is found out only once
        counts = []
        for ask in (memory.search, memory.context):
            units.clear()
            assert await ask("Where do I keep my kayak?", user_id="u")
            counts.append(len(units))
        await memory.close()
        return counts

    monkeypatch.setattr(AsyncIo, "run", counted)
    searched, visible_count = asyncio.run(scenario())
    once_a_second = 1  # whether somebody changed a setting
    assert 1 <= searched <= 1 + once_a_second
    assert 2 <= visible_count <= 2 + once_a_second
