"""Processes to ask, and clocks to hold against them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx2

from benchmarks.speed.measure import percentile

_TICK: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_IN_A_BLOCK: Final = 25
WARM_UP: Final = 20
"""So many requests come first and do not count."""


@dataclass(frozen=True, slots=True)
class Process:
    """A service in a process of its own."""

    url: str
    pid: int

    def cpu(self) -> float:
        """Return the processor time it has used, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def megabytes(self) -> float:
        """Return the memory it holds."""
        return int(Path(f"/proc/{self.pid}/statm").read_text("utf-8").split()[1]) * _PAGE / 1e6


@contextmanager
def process(command: Sequence[str], health: str, port: int, env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Start something that listens, wait until it answers, and end it."""
    started = subprocess.Popen(  # noqa: S603 - our own programs
        command, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}{health}", started)
        yield Process(url, started.pid)
    finally:
        started.terminate()
        started.wait(20)


def _wait(url: str, started: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if started.poll() is not None:
            raise RuntimeError(f"it ended with {started.returncode}")
        try:
            httpx2.get(url, timeout=2)
        except httpx2.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def child(*arguments: str) -> list[str]:
    """Return the command of one of our own processes."""
    return [sys.executable, "-m", "benchmarks.gateway.child", *arguments]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask: where, what, and with which headers."""

    url: str
    bodies: Sequence[dict[str, Any]]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request costs, in milliseconds; the processor time is that of the gateway alone."""

    cpu: float
    p50: float
    p95: float


def in_turn(gateway: Process, ways: Mapping[str, Way], every: float = 0.0) -> dict[str, Cost]:
    """Ask in each of several ways, over and over in turn, so that whatever else the machine does meets all of them.

    With ``every`` a request begins so many seconds after the one before it, whichever way it goes. Back to back a way
    that answers at once keeps every processor awake and every cache warm, and one that takes longer does not: whoever
    asks second then waits for more than the work that is done for them.
    """
    walls = {name: list[float]() for name in ways}
    used = dict.fromkeys(ways, 0.0)
    with httpx2.Client(timeout=30) as client:
        for way in ways.values():
            _block(client, way, range(WARM_UP))
        for start in range(WARM_UP, max(len(way.bodies) for way in ways.values()), _IN_A_BLOCK):
            for name, way in ways.items():
                before = gateway.cpu()
                walls[name] += _block(client, way, range(start, min(start + _IN_A_BLOCK, len(way.bodies))), every)
                used[name] += gateway.cpu() - before
    return {
        name: Cost(used[name] * 1e3 / len(found), median(found), percentile(found, 0.95))
        for name, found in walls.items()
    }


def _block(client: httpx2.Client, way: Way, numbers: range, every: float = 0.0) -> list[float]:
    """Return how long each of some requests takes, one after the other over one connection."""
    walls, began = list[float](), 0.0
    for number in numbers:
        time.sleep(max(0.0, began + every - time.perf_counter()))
        began = time.perf_counter()
        client.post(way.url, json=way.bodies[number], headers=dict(way.headers)).raise_for_status()
        walls.append((time.perf_counter() - began) * 1e3)
    return walls


def per_second(ways: Mapping[str, Way], seconds: float, times: int) -> dict[str, list[float]]:
    """Return how many requests sixteen callers get done in a second, by each of several ways in turn, so many times."""
    for way in ways.values():  # what a service does only once does not count
        asyncio.run(_per_second(way, min(1.0, seconds)))
    found = {name: list[float]() for name in ways}
    for _ in range(times):
        for name, way in ways.items():
            found[name].append(round(asyncio.run(_per_second(way, seconds)), 1))
    return found


async def _per_second(way: Way, seconds: float) -> float:
    done = 0

    async def caller(client: httpx2.AsyncClient) -> None:
        nonlocal done
        while time.monotonic() < end:
            (await client.post(way.url, json=way.bodies[0])).raise_for_status()
            done += 1

    async with httpx2.AsyncClient(headers=dict(way.headers), timeout=30) as client:
        end = time.monotonic() + seconds
        await asyncio.gather(*(caller(client) for _ in range(16)))
    return done / seconds


async def slow_streams(
    service: Process, count: int, body: dict[str, Any], headers: Mapping[str, str]
) -> dict[str, Any]:
    """Hold many streams open at once; how many came to their end, and how much memory that took at most."""
    before, peak, ended, failed, stored_count, most = service.megabytes(), 0.0, 0, Counter[str](), 0, 0

    async def one(client: httpx2.AsyncClient) -> None:
        nonlocal ended, stored_count, most
        try:
            async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                stored_count += 1
                most = max(most, stored_count)
                text = b"".join([piece async for piece in answer.aiter_raw()])
                stored_count -= 1
        except httpx2.HTTPError as error:
            failed[type(error).__name__] += 1
            return
        is_complete = text.endswith(b"[DONE]\n\n")
        ended += is_complete
        failed[str(answer.status_code)] += not is_complete

    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=service.url, headers=dict(headers), timeout=120, limits=limits) as client:
        running = list[asyncio.Future[None]]()
        while len(running) < count:  # callers come one after the other, as they do, and stay
            running += [asyncio.ensure_future(one(client)) for _ in range(10)]
            await asyncio.sleep(0.1)
        while not all(task.done() for task in running):
            peak = max(peak, service.megabytes())
            await asyncio.sleep(0.2)
        await asyncio.gather(*running)
    room = {"megabytes_before": round(before, 1), "megabytes_peak": round(peak, 1)}
    return {"streams": len(running), "at_once": most, "ended": ended, "failed": dict(+failed), **room}
