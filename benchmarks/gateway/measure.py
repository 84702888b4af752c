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


@dataclass(frozen=True, slots=True)
class Process:
    """A service in a process of its own."""

    url: str
    pid: int

    def cpu(self) -> float:
        """The processor time it has used, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def megabytes(self) -> float:
        """The memory it holds."""
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
    end = time.monotonic() + 120
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
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def child(*arguments: str) -> list[str]:
    """The command of one of our own processes."""
    return [sys.executable, "-m", "benchmarks.gateway.child", *arguments]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request costs, in milliseconds; the processor time is that of the gateway alone."""

    cpu: float
    p50: float
    p95: float


def one_by_one(service: Process, path: str, bodies: Sequence[dict[str, Any]], headers: Mapping[str, str]) -> Cost:
    """Ask one after the other over one connection; the first few do not count."""
    walls: list[float] = []
    with httpx2.Client(base_url=service.url, headers=dict(headers), timeout=30) as client:
        for body in bodies[: len(bodies) // 10 + 2]:
            client.post(path, json=body).raise_for_status()
        before = service.cpu()
        for body in bodies:
            began = time.perf_counter()
            client.post(path, json=body).raise_for_status()
            walls.append((time.perf_counter() - began) * 1e3)
        used = service.cpu() - before
    return Cost(used * 1e3 / len(bodies), median(walls), percentile(walls, 0.95))


def per_second(url: str, path: str, body: dict[str, Any], headers: Mapping[str, str], seconds: float) -> float:
    """How many requests sixteen callers get done in a second."""
    return asyncio.run(_per_second(url, path, body, headers, seconds))


async def _per_second(url: str, path: str, body: dict[str, Any], headers: Mapping[str, str], seconds: float) -> float:
    done, end = 0, 0.0

    async def caller(client: httpx2.AsyncClient) -> None:
        nonlocal done
        while time.monotonic() < end:
            (await client.post(path, json=body)).raise_for_status()
            done += 1

    async with httpx2.AsyncClient(base_url=url, headers=dict(headers), timeout=30) as client:
        for _ in range(20):  # what a service does only once does not count
            (await client.post(path, json=body)).raise_for_status()
        end = time.monotonic() + seconds
        await asyncio.gather(*(caller(client) for _ in range(16)))
    return done / seconds


async def slow_streams(
    service: Process, count: int, body: dict[str, Any], headers: Mapping[str, str]
) -> dict[str, Any]:
    """Hold many streams open at once; how many came to their end, and how much memory that took at most."""
    before, peak, ended, failed, held, most = service.megabytes(), 0.0, 0, Counter[str](), 0, 0

    async def one(client: httpx2.AsyncClient) -> None:
        nonlocal ended, held, most
        try:
            async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                held += 1
                most = max(most, held)
                text = b"".join([piece async for piece in answer.aiter_raw()])
                held -= 1
        except httpx2.HTTPError as error:
            failed[type(error).__name__] += 1
            return
        whole = text.endswith(b"[DONE]\n\n")
        ended += whole
        failed[str(answer.status_code)] += not whole

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
