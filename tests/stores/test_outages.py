"""What becomes of a vector store that is killed, cut off or away while memories are written: real processes."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest

from memstone import Memory
from memstone.drive import drive
from memstone.engine import status
from memstone.engine.transfer import mirror
from tests.stores.redis_process import RedisProcess
from tests.stores.tcp_relay import TcpRelay

pytestmark = pytest.mark.system

_ROOT: Final = Path(__file__).resolve().parents[2]
_ROUNDS: Final = 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisProcess]:
    folder = tmp_path / "redis"
    folder.mkdir()
    running = RedisProcess(folder)
    yield running
    running.kill()


def config(place: Path, url: str, **more: Any) -> dict[str, Any]:
    return {
        "store": {"url": f"sqlite:///{place / 'memories.db'}"},
        "embedder": {"provider": "hash"},
        "vector_store": {"provider": "redis", "config": {"url": url, "timeout": 3, **more}},
    }


def compare(memory: Memory) -> dict[str, Any]:
    found = drive(memory.admin.engine.run(status.compare_vectors, repair=False))
    assert found is not None
    return dict(found)


def count_lag(memory: Memory) -> int:
    part = drive(memory.admin.engine.run(status.engine_status))["vector_store"]
    return int(part["lag"])


class _Traffic:
    """Somebody who writes and somebody who searches, until they are told to stop."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.stored: list[str] = []
        self.deleted = 0
        self.answers = self.degraded = 0
        self.errors: list[BaseException] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(one,)) for one in (self._write, self._search)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(120)

    def _run(self, work: Callable[[int], None]) -> None:
        number = 0
        while not self._over.is_set():
            try:
                work(number)
            except BaseException as error:  # noqa: BLE001 - the test looks at them
                self.errors.append(error)
            number += 1

    def _write(self, number: int) -> None:
        text = f"memory number {number} about topic {number % 97}"
        added = self.memory.add(text, user_id=f"u{number % 5}", infer=False)
        self.stored.append(added["results"][0]["id"])
        if number % 7 == 3:
            self.memory.delete(self.stored.pop(random.randrange(len(self.stored))))  # noqa: S311 - any of them
            self.deleted += 1
        time.sleep(0.002)

    def _search(self, number: int) -> None:
        answer = self.memory.search(f"topic {number % 97}", user_id=f"u{number % 5}")
        self.answers += 1
        self.degraded += any(one["channel"] == "vector_store" for one in answer.get("degraded", ()))
        time.sleep(0.01)


def assert_nothing_lost(memory: Memory, traffic: _Traffic) -> None:
    """Every memory that was acknowledged is there once, in the ledger and in the store, and the store lags no more."""
    assert traffic.errors == []
    wait_until_back(memory)
    wait_until_filled(memory)
    assert memory.stats()["memories"] == len(traffic.stored) == len(set(traffic.stored))
    found = compare(memory)
    assert (found["missing"], found["different"], found["unknown"]) == (0, 0, 0), found
    assert found["points"] == len(traffic.stored)
    assert count_lag(memory) == 0
    for number in range(5):
        assert not memory.search("topic 5", user_id=f"u{number}").get("degraded")


def wait_until_filled(memory: Memory) -> None:
    until = time.monotonic() + 120
    while count_lag(memory) and time.monotonic() < until:
        memory.search("topic", user_id="u0")
        time.sleep(0.1)


def wait_until_back(memory: Memory) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if not memory.search("topic", user_id="u0").get("degraded"):
            return
        time.sleep(0.1)
    raise AssertionError("the store is not asked again")


@pytest.mark.timeout(600)
@pytest.mark.req("R-18", "N-1", "N-29", "O-24")
def test_a_store_killed_twenty_times_loses_nothing(
    tmp_path: Path, server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_PAUSE_SECONDS", 0.3)
    with Memory(config(tmp_path, server.url)) as memory:
        with _Traffic(memory) as traffic:
            for _ in range(_ROUNDS):
                time.sleep(random.uniform(0.3, 1.2))  # noqa: S311 - at any moment
                server.kill()
                time.sleep(random.uniform(0.0, 0.4))  # noqa: S311 - at any moment
                server.start()
        wait_until_back(memory)
        assert_nothing_lost(memory, traffic)
        assert len(traffic.stored) > 500


@pytest.mark.timeout(600)
@pytest.mark.req("R-18", "N-1", "N-29", "O-24")
def test_a_connection_cut_twenty_times_loses_nothing(
    tmp_path: Path, server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_PAUSE_SECONDS", 0.3)
    with TcpRelay(server.port) as relay, Memory(config(tmp_path, f"redis://127.0.0.1:{relay.port}")) as memory:
        with _Traffic(memory) as traffic:
            for _ in range(_ROUNDS):
                time.sleep(random.uniform(0.2, 0.8))  # noqa: S311 - at any moment
                relay.close_off()
                time.sleep(random.uniform(0.0, 0.2))  # noqa: S311 - at any moment
                relay.open_up()
        wait_until_back(memory)
        assert_nothing_lost(memory, traffic)


_SERVICE: Final = """
import sys
from memstone import Memory
place, url, number = sys.argv[1:]
config = {"store": {"url": "sqlite:///" + place + "/memories.db"}, "embedder": {"provider": "hash"},
          "vector_store": {"provider": "redis", "config": {"url": url}}}
with Memory(config) as memory:
    for n in range(100_000):
        text = f"service {number} memory {n}"
        print("?", text, flush=True)
        memory.add(text, user_id="u", infer=False)
        print("!", text, flush=True)
        if n % 3 == 0:
            memory.search("memory", user_id="u")
"""


@pytest.mark.timeout(900)
@pytest.mark.req("R-18", "R-6")
def test_a_service_killed_twenty_times_loses_nothing(tmp_path: Path, server: RedisProcess) -> None:
    acknowledged: set[str] = set()
    begun: set[str] = set()
    for number in range(_ROUNDS):
        command = [sys.executable, "-W", "ignore", "-c", _SERVICE, str(tmp_path), server.url, str(number)]
        with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
            wanted = random.randrange(40, 160)  # noqa: S311 - at any moment
            assert process.stdout is not None
            for line in process.stdout:
                mark, _, text = line.strip().partition(" ")
                (acknowledged if mark == "!" else begun).add(text)
                wanted -= 1
                if wanted <= 0:
                    break
            process.kill()
            for line in process.stdout:  # what it had said before it died
                mark, _, text = line.strip().partition(" ")
                (acknowledged if mark == "!" else begun).add(text)
    with Memory(config(tmp_path, server.url)) as memory:
        wait_until_filled(memory)
        found = compare(memory)
        listed = memory.get_all(user_id="u", limit=10_000)["results"]
        texts = [one["memory"] for one in listed]
        assert len(texts) == len(set(texts)), "a memory is there twice"
        assert acknowledged <= set(texts) <= begun
        assert found["points"] == found["expected"] == len(texts)
        assert (found["missing"], found["different"], found["unknown"]) == (0, 0, 0)
        assert count_lag(memory) == 0


@pytest.mark.timeout(300)
@pytest.mark.req("N-1", "N-15", "N-29", "O-24", "R-18")
def test_thirty_seconds_without_the_store_stop_nobody(tmp_path: Path, server: RedisProcess) -> None:
    with TcpRelay(server.port) as relay, Memory(config(tmp_path, f"redis://127.0.0.1:{relay.port}")) as memory:
        with _Traffic(memory) as traffic:
            time.sleep(3)
            assert traffic.degraded == 0
            relay.close_off()
            before = len(traffic.stored)
            time.sleep(30)
            during, degraded = len(traffic.stored) - before, traffic.degraded
            relay.open_up()
            wait_until_back(memory)
        assert during > 1_000
        assert degraded > 100
        assert_nothing_lost(memory, traffic)
