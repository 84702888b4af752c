"""Another vector store and another embedder under twenty thousand memories, while somebody searches all the time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest

from memstone import Memory
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.redis import RedisConfig, RedisStore
from memstone.drive import drive
from tests.stores.redis_server import run_redis

pytestmark = pytest.mark.system

COUNT: Final = 20_000
_ROOT: Final = Path(__file__).resolve().parents[2]
_REINDEX: Final = """
import json, sys
from memstone import Memory
with Memory(json.loads(sys.argv[1])) as memory:
    print("=", json.dumps(memory.admin.reindex(lambda done, total: print(done, total, flush=True))), flush=True)
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_redis() as running:
        yield running


def config(place: Path, url: str, prefix: str, dim: int) -> dict[str, Any]:
    return {
        "store": {"url": f"sqlite:///{place / 'memories.db'}", "durable": False},
        "embedder": {"provider": "hash", "config": {"dim": dim}},
        "vector_store": {"provider": "redis", "config": {"url": url, "prefix": prefix}},
    }


class _Searcher:
    """Searches without a pause, and counts what it gets."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._memory = Memory(settings)
        self.answers = self.empty = 0
        self.degraded: list[Any] = []
        self.errors: list[BaseException] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._search)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(120)
        self._memory.close()

    def _search(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            try:
                answer = self._memory.search(f"topic {number % 97}", user_id=f"u{number % 100}", limit=10)
            except BaseException as error:  # noqa: BLE001 - the test looks at them
                self.errors.append(error)
                continue
            self.answers += 1
            self.empty += not answer["results"]
            self.degraded += answer.get("degraded", [])
            time.sleep(0.02)


def reindex(settings: dict[str, Any], *, kill_at: float = 2.0) -> tuple[list[tuple[int, int]], dict[str, Any]]:
    """Run it in a process of its own; gives its progress and, unless it was killed at that share, its answer."""
    command = [sys.executable, "-W", "ignore", "-c", _REINDEX, json.dumps(settings)]
    told: list[tuple[int, int]] = []
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("="):
                answer: dict[str, Any] = json.loads(line[1:])
                return told, answer
            done, total = map(int, line.split())
            told.append((done, total))
            if done >= kill_at * total:
                process.kill()
    return told, {}


def collections(url: str, prefix: str) -> dict[int, int]:
    """How many points there are, by their dimension."""
    io = BlockingIo()
    store = RedisStore(RedisConfig(url=url, prefix=prefix), io)
    try:
        return {info.dimension: info.count for info in drive(store.collections())}
    finally:
        drive(store.close())
        drive(io.close())


@pytest.mark.timeout(1_200)
@pytest.mark.req("R-6", "R-18", "X-20")
def test_a_store_and_an_embedder_are_switched_while_somebody_searches(tmp_path: Path, url: str) -> None:
    first, second = config(tmp_path, url, "first", 64), config(tmp_path, url, "second", 64)
    with Memory(first) as memory:
        for start in range(0, COUNT, 500):
            memory.add_many(
                [
                    {"messages": f"note {n} on topic {n % 97}", "user_id": f"u{n % 100}", "infer": False}
                    for n in range(start, start + 500)
                ]
            )
        assert memory.admin.reindex()["sent"] >= COUNT
    assert collections(url, "first")[64] == COUNT + 1  # and a note of how far it follows

    with _Searcher(first) as searcher:
        begun, nothing = reindex(second, kill_at=0.4)
        assert nothing == {}
        assert begun[-1][0] >= 0.4 * COUNT
        told, answer = reindex(second)
        assert 0.3 * COUNT < answer["sent"] < 0.8 * COUNT, "it began from the beginning, or sent nothing"
        assert told[-1][0] == told[-1][1]
    assert_all_answered(searcher)
    assert collections(url, "second")[64] == COUNT + 1

    third = config(tmp_path, url, "second", 96)
    with _Searcher(second) as searcher:
        begun, nothing = reindex(third, kill_at=0.5)
        assert nothing == {}
        _, answer = reindex(third)
        assert answer["indexed"] <= COUNT - 0.5 * COUNT + 200, "it began from the beginning"
    assert searcher.errors == []
    assert searcher.empty == 0
    with _Searcher(third) as searcher:
        time.sleep(3)
    assert_all_answered(searcher)
    assert collections(url, "second") == {96: COUNT + 1}, "the old index is still there"


def assert_all_answered(searcher: _Searcher) -> None:
    assert (searcher.errors, searcher.degraded, searcher.empty) == ([], [], 0)
    assert searcher.answers > 10
