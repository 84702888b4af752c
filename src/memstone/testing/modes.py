"""Run a scenario in both ways: blocking and asyncio.

Write a scenario once, as a function from an Io to a coroutine, and run it under every mode::

    @pytest.mark.parametrize("mode", MODES)
    def test_something(mode: str) -> None:
        async def scenario(io: Io) -> int:
            return await io.run(lambda: 42)

        assert run(mode, scenario) == 42
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from memstone.adapters.io.aio import AsyncIo
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.ports.io import Io

T = TypeVar("T")

MODES: Final = ("blocking", "asyncio")


def run(mode: str, make: Callable[[Io], Coroutine[Any, Any, T]], *, naps: list[float] | None = None) -> T:
    """Return what the scenario returns under this mode; its Io is closed afterwards.

    With ``naps`` nobody sleeps: the seconds asked for are put on that list instead.
    """
    match mode:
        case "blocking":
            return drive(_run_scenario(make, BlockingIo() if naps is None else _RestlessBlockingIo(naps)))
        case "asyncio":
            return asyncio.run(_run_scenario(make, AsyncIo() if naps is None else _RestlessAsyncIo(naps)))
        case _:
            raise ValueError(f"unknown mode {mode!r}, expected one of {MODES}")


async def _run_scenario(make: Callable[[Io], Coroutine[Any, Any, T]], io: Io) -> T:
    try:
        return await make(io)
    finally:
        await io.close()


class _RestlessBlockingIo(BlockingIo):
    def __init__(self, naps: list[float]) -> None:
        super().__init__()
        self._naps = naps

    async def sleep(self, seconds: float) -> None:
        self._naps.append(seconds)


class _RestlessAsyncIo(AsyncIo):
    def __init__(self, naps: list[float]) -> None:
        super().__init__()
        self._naps = naps

    async def sleep(self, seconds: float) -> None:
        self._naps.append(seconds)
