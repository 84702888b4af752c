"""SQLite and PostgreSQL answer alike, whatever is asked of them and in whatever order."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock
from tests.congruence.walk import Side, calls
from tests.postgres.server import Server

_STEPS = 60


@pytest.mark.slow
@pytest.mark.req("X-18")
@pytest.mark.parametrize("seed", range(4))
def test_the_same_story_is_told_alike_on_both_databases(postgres: Server, tmp_path: Path, seed: int) -> None:
    clocks = FakeClock(), FakeClock()
    urls = f"sqlite:///{tmp_path / 'memstone.db'}", postgres.fresh()
    memories = [
        Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}}, clock=clock)
        for url, clock in zip(urls, clocks, strict=True)
    ]
    sides = [Side(memory) for memory in memories]
    try:
        for number, (text, call) in enumerate(islice(calls(seed), _STEPS)):
            first, second = (side.told(call) for side in sides)
            assert first == second, f"step {number}: {text}"
            for clock in clocks:
                clock.advance(minutes=7)
    finally:
        for memory in memories:
            memory.close()
