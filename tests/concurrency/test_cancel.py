"""A cancelled call of the asyncio face: its write is there as a whole, or not at all."""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from tests.concurrency.intact import assert_counted, assert_found, assert_intact, texts
from tests.concurrency.workers import quick_embedder, settings, slow_embedder
from tests.patience import LONG


async def _cancelled_after(seconds: float, call: asyncio.Task[object]) -> bool:
    """Whether the call had ended before it could be cancelled."""
    await asyncio.sleep(seconds)
    call.cancel()
    (outcome,) = await asyncio.gather(call, return_exceptions=True)
    if isinstance(outcome, asyncio.CancelledError):
        return False
    if isinstance(outcome, BaseException):
        raise outcome
    return True


@pytest.mark.slow
@pytest.mark.req("C-56")
def test_adds_cancelled_at_any_moment_are_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    async def scenario() -> tuple[set[str], set[str]]:
        done, tried = set[str](), set[str]()
        async with AsyncMemory(settings(str(path))) as memory:
            for number in range(150):
                text = f"note n{number}"
                tried.add(text)
                call: asyncio.Task[object] = asyncio.create_task(memory.add(text, user_id="u", infer=False))
                if await _cancelled_after(random.uniform(0, 0.008), call):  # noqa: S311 - a moment, not a secret
                    done.add(text)
            await memory.add("the memory still works", user_id="u", infer=False)
        return done, tried

    done, tried = asyncio.run(scenario())
    stored = set(texts(path))
    assert done | {"the memory still works"} <= stored <= tried | {"the memory still works"}
    assert assert_intact(path) == len(stored)
    with Memory(settings(str(path))) as memory:
        assert_counted(memory, len(stored))
        assert_found(memory, sorted(stored)[::20], user_id="u")


def test_an_add_cancelled_while_its_text_is_embedded_stores_nothing(tmp_path: Path) -> None:
    path, begun, goes_on = tmp_path / "memstone.db", threading.Event(), threading.Event()

    def current(texts: list[str]) -> Any:
        begun.set()
        assert goes_on.wait(LONG)
        return quick_embedder(texts)

    async def scenario() -> bool:
        async with AsyncMemory({"store": {"url": f"sqlite:///{path}"}}, embedder=quick_embedder) as memory:
            await memory.add("the first", user_id="u", infer=False)
        async with AsyncMemory({"store": {"url": f"sqlite:///{path}"}}, embedder=current) as memory:
            call: asyncio.Task[object] = asyncio.create_task(memory.add("the second", user_id="u", infer=False))
            assert await asyncio.to_thread(begun.wait, LONG)
            had_ended = await _cancelled_after(0, call)
            goes_on.set()
            return had_ended

    assert asyncio.run(scenario()) is False
    assert texts(path) == ["the first"]
    assert assert_intact(path) == 1


@pytest.mark.req("X-10")
def test_an_update_cancelled_at_any_moment_is_a_whole_version_or_none(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    async def scenario() -> tuple[int, int]:
        ended = 0
        async with AsyncMemory(settings(str(path))) as memory:
            memory_id = (await memory.add("version 0", user_id="u", infer=False))["results"][0]["id"]
            for number in range(60):
                call: asyncio.Task[object] = asyncio.create_task(memory.update(memory_id, f"version {number + 1}"))
                ended += await _cancelled_after(random.uniform(0, 0.008), call)  # noqa: S311 - a moment
            return ended, len(await memory.history(memory_id))

    ended, history = asyncio.run(scenario())
    assert 1 + ended <= history <= 61
    assert assert_intact(path) == 1


def test_a_timeout_around_a_call_leaves_the_memory_usable(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    async def scenario() -> None:
        async with AsyncMemory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
            for number in range(5):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(memory.add(f"too slow {number}", user_id="u", infer=False), 0.01)
            await memory.add("in time", user_id="u", infer=False)

    asyncio.run(scenario())
    assert "in time" in texts(path)
    assert_intact(path)
