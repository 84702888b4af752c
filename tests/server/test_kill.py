from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from memstone import Memory
from memstone.literals import LayerName
from tests.ports import free_port

_CLIENTS: Final = 8
_ENVIRONMENT: Final = {"MEMSTONE_EMBEDDER__PROVIDER": "hash", "PYTHONWARNINGS": "ignore"}
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processor, by itself and in its kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Service:
    """``memstone serve`` in a process of its own."""

    def __init__(self, place: Path, **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        program = [sys.executable, "-m", "memstone.cli", "--db", str(place), "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            program,
            env={**os.environ, **_ENVIRONMENT, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ready(self, seconds: float = 120.0) -> float:
        """Wait until it answers; gives the processor time that took."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if httpx2.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return cpu_seconds(self.process.pid)
            except httpx2.HTTPError:
                time.sleep(0.01)
        raise AssertionError(f"it is not ready: {self.process.poll()}")

    def kill(self) -> None:
        """End it, at once."""
        self.process.kill()
        self.process.wait(120)


async def written(service: Service, key: str, run: int, enough: int) -> list[tuple[str, int]]:
    """Write with many clients at once and kill the service in the middle; gives what was acknowledged."""
    done, over = list[tuple[str, int]](), asyncio.Event()

    async def client(number: int) -> None:
        user = f"user{run}x{number}"
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=120) as http:
            for at in range(1_000):
                texts: dict[str, Any] = {"messages": f"note {user} {at}", "user_id": user, "infer": number % 2 == 1}
                texts |= (
                    {"messages": f"My favourite number is {at} of {user}.", "run_id": "s"} if texts["infer"] else {}
                )
                try:
                    answer = await http.post(f"{service.url}/v1/memories", json=texts)
                except httpx2.HTTPError:
                    if over.is_set():
                        return
                    continue  # a service that stood still for seconds hangs up before it reads what has come
                if answer.status_code == 200:
                    done.append((user, at))
                    if len(done) >= enough and service.process.poll() is None:
                        over.set()
                        os.kill(service.process.pid, signal.SIGKILL)

    await asyncio.gather(*(client(number) for number in range(_CLIENTS)))
    return done


def killed(place: Path, key: str, times: int, **environment: str) -> dict[str, set[int]]:
    """Start, write and kill, again and again; gives all that was ever acknowledged, by user."""
    acknowledged: dict[str, set[int]] = {}
    for run in range(times):
        service = Service(place, **environment)
        try:
            service.ready()
            for user, at in asyncio.run(written(service, key, run, 20 + 7 * run)):
                acknowledged.setdefault(user, set()).add(at)
        finally:
            service.kill()
    return acknowledged


def assert_kept(place: Path, acknowledged: dict[str, set[int]]) -> None:
    """Everything that was acknowledged is a memory, or waits to become one; nothing is there twice."""
    with Memory({"store": {"url": f"sqlite:///{place}"}, "embedder": {"provider": "hash"}}) as memory:
        assert memory.admin.check()["integrity"] == ["ok"]
        for user, numbers in acknowledged.items():
            turns = user.rpartition("x")[2] in "1357"
            layers: list[LayerName] = ["turn"] if turns else ["fact"]
            found = [one["memory"] for one in memory.get_all(user_id=user, layers=layers, limit=1_000)["results"]]
            assert len(found) == len(set(found))
            mark = "My favourite number is {at} of {user}." if turns else "note {user} {at}"
            assert {mark.format(at=at, user=user) for at in numbers} <= set(found), user
        stats = memory.stats()
        assert stats["dead"] == 0
        assert memory.admin.health()["level"] == "healthy"


def tried(tmp_path: Path, times: int) -> None:
    place = tmp_path / "k.db"
    with Memory({"store": {"url": f"sqlite:///{place}"}, "embedder": {"provider": "hash"}}) as memory:
        key = memory.admin.keys.create("writer", may_assert_user=True)["key"]
    acknowledged = killed(place, key, times)
    assert sum(map(len, acknowledged.values())) >= 20 * times
    assert_kept(place, acknowledged)


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_killed_service(tmp_path: Path) -> None:
    tried(tmp_path, 2)


@pytest.mark.system
@pytest.mark.timeout(1_800)
def test_what_was_acknowledged_survives_twenty_killed_services(tmp_path: Path) -> None:
    tried(tmp_path, 20)


@pytest.mark.system
@pytest.mark.timeout(600)
def test_no_session_is_lost_when_the_service_is_killed_before_it_was_formed(tmp_path: Path) -> None:
    place = tmp_path / "b.db"
    config = {"store": {"url": f"sqlite:///{place}"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory:
        key = memory.admin.keys.create("writer", may_assert_user=True)["key"]
    later = {"MEMSTONE_WRITE__MODE": "background", "MEMSTONE_WRITE__DEBOUNCE_SECONDS": "2"}
    later["MEMSTONE_WRITE__LEASE_SECONDS"] = "2"  # what a killed service had begun is free again after that
    acknowledged = killed(place, key, 3, **later)
    sessions = {user for user in acknowledged if user.rpartition("x")[2] in "1357"}
    time.sleep(3)
    with Memory(config) as memory:
        for user in sessions:
            memory.sessions.end(user_id=user)
        memory.sessions.flush(everybody=True)
        assert memory.stats()["pending"] == 0
    assert_kept(place, acknowledged)
