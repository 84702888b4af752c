"""Processes on one store give away one burst together, and let guess no more often than one of them would."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import HTTPConnection

from memstone import AsyncMemory
from memstone.errors import TooManyRequests
from memstone.sections_service import RateSettings
from memstone.server import limits
from memstone.server.limits import Failures, Rate, SharedCounts
from tests.postgres.server import Server

pytestmark = pytest.mark.req("N-42")


class Process:
    """The buckets of one process."""

    def __init__(self, memory: AsyncMemory, settings: RateSettings) -> None:
        runtime = memory.engine.runtime
        self.counts = SharedCounts(runtime.ledger, runtime.tenant_id, runtime.now)
        self.rate = Rate(settings, lambda: 0.0, self.counts)  # nothing fills up meanwhile
        self.failures = Failures(settings, lambda: 0.0, self.counts)

    def take(self, name: str, times: int) -> int:
        """How many of so many requests are let through."""
        passed = 0
        for _ in range(times):
            try:
                self.rate.take(name)
                passed += 1
            except TooManyRequests:
                break
        return passed

    async def exchange(self) -> None:
        """Hear from the others."""
        counts = await self.counts.exchange()
        self.rate.charge(counts)
        self.failures.charge(counts)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'm.db'}"
    server: Server = request.getfixturevalue("postgres")
    return server.fresh()


async def _two(url: str) -> tuple[AsyncMemory, Process, Process]:
    memory = AsyncMemory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}})
    settings = RateSettings(per_minute=60, burst=20)
    one, two = Process(memory, settings), Process(memory, settings)
    for process in (one, two):
        assert process.take("start", 1) == 1
        await process.exchange()
    await one.exchange()
    return memory, one, two


def test_what_one_process_lets_through_the_other_does_not(url: str) -> None:
    async def story() -> tuple[int, int, int]:
        memory, one, two = await _two(url)
        first = one.take("key", 15)
        await one.exchange()
        await two.exchange()
        second = two.take("key", 100)
        other = two.take("another key", 100)
        await memory.close()
        return first, second, other

    assert asyncio.run(story()) == (15, 5, 20)


def test_what_was_too_much_is_taken_from_both(url: str) -> None:
    async def story() -> tuple[int, int]:
        memory, one, two = await _two(url)
        assert one.take("key", 100) + two.take("key", 100) == 40
        for process in (one, two, one, two):
            await process.exchange()
        answer = one.take("key", 1), two.take("key", 1)
        await memory.close()
        return answer

    assert asyncio.run(story()) == (0, 0)


def _from(address: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "client": (address, 1), "headers": []})


def test_wrong_keys_count_in_every_process(url: str) -> None:
    async def story() -> None:
        memory, one, two = await _two(url)
        for _ in range(20):
            one.failures.note(_from("203.0.113.9"))
        await one.exchange()
        await two.exchange()
        with pytest.raises(TooManyRequests):
            two.failures.check(_from("203.0.113.9"))
        two.failures.check(_from("203.0.113.10"))
        await memory.close()

    asyncio.run(story())


def test_a_store_that_cannot_be_written_leaves_each_process_to_itself(tmp_path: Path) -> None:
    async def story() -> tuple[int, dict[str, int]]:
        memory, one, _ = await _two(f"sqlite:///{tmp_path / 'm.db'}")
        await memory.close()
        passed = one.take("key", 3)
        assert await one.counts.exchange() == {}
        return passed, dict(one.counts._own)

    assert asyncio.run(story()) == (3, {"key:key": 3})


def test_counts_of_an_earlier_day_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> tuple[Any, Any]:
        memory, one, two = await _two(f"sqlite:///{tmp_path / 'm.db'}")
        one.take("key", 5)
        await one.exchange()
        monkeypatch.setattr(two.counts, "_now", lambda: "2099-01-01T00:00:00.000000Z")
        two.take("key", 2)
        await two.exchange()
        ledger, tenant = memory.engine.runtime.ledger, memory.engine.runtime.tenant_id
        sums = await ledger.read(lambda tx: tx.metrics.sum_counts(tenant, limits._RATES, "2000-01-01T00:00:00.000000Z"))
        await memory.close()
        return sums, two.take("key", 100)

    assert asyncio.run(story()) == ({"key:key": 2}, 18)
