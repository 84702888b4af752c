"""``python -m benchmarks.server.attack``: many connections that send no whole request, and everybody else meanwhile.

Everything stays on this machine: all ends are processes of this run, and the address is 127.0.0.1. Those who attack and
those who ask are two processes: how long the attack keeps its own process busy is not what is measured.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import click
import httpx2

from benchmarks.server import measure
from benchmarks.server.__main__ import _RESULTS, commit
from benchmarks.server.service import Service, running

P99_MS: Final = 250.0
LOG_BYTES: Final = 1_000_000
_HEALTH_EVERY: Final = 0.05
_SEARCH_EVERY: Final = 0.2
_PATIENCE: Final = 10.0
_START_SECONDS: Final = 60.0
_OPENED_PER_SECOND: Final = 1_000
_REOPENED_PER_SECOND: Final = 200
_HEAD: Final = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
_BODY: Final = b"Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
KINDS: Final = {
    "silent": b"",
    "half heads": _HEAD,
    "heads in drops": _HEAD,
    "half bodies": b"POST /v1/auth/login HTTP/1.1\r\nHost: localhost\r\n" + _BODY,
}
"""What the connections send, and then nothing more; but for the drops, which are a header every second."""


@dataclass
class Seen:
    """How those fared who sent whole requests."""

    health_ms: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures."""
        cuts = quantiles(self.health_ms, n=100, method="inclusive")
        return {
            "health_checks": len(self.health_ms),
            "health_p50_ms": round(cuts[49], 1),
            "health_p99_ms": round(cuts[98], 1),
            "health_most_ms": round(max(self.health_ms), 1),
            "outcomes": dict(sorted(self.outcomes.items())),
        }


@contextmanager
def attacked(port: int, kind: str, connections: int) -> Iterator[None]:
    """Hold so many connections open in a process of their own, others for those that are closed."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_hold_all, args=(port, kind, connections, ready), daemon=True)
    process.start()
    try:
        assert ready.wait(_START_SECONDS)
        yield
    finally:
        process.kill()
        process.join()


async def ask(service: Service, key: str, seconds: float) -> Seen:
    """Ask like anybody else: whether the service is well, for memories, and for events as they come."""
    seen, over = Seen(), asyncio.Event()
    port = int(service.url.rpartition(":")[2])
    stream = asyncio.create_task(_follow(service, key, seen, over))
    ends = time.monotonic() + seconds
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=_PATIENCE) as http:

        async def health() -> None:
            began = time.perf_counter()
            try:
                seen.outcomes[f"health {await _health(port)}"] += 1
            finally:
                seen.health_ms.append((time.perf_counter() - began) * 1_000)

        async def search() -> None:
            question = measure.question_of(len(seen.health_ms))
            answer = await http.post(f"{service.url}/v1/memories/search", json=question)
            seen.outcomes[f"search {answer.status_code}"] += 1

        await asyncio.gather(_repeat(health, _HEALTH_EVERY, ends, seen), _repeat(search, _SEARCH_EVERY, ends, seen))
    over.set()
    await stream
    return seen


async def _repeat(ask: Callable[[], Awaitable[None]], every: float, ends: float, seen: Seen) -> None:
    while time.monotonic() < ends:
        try:
            await ask()
        except (OSError, httpx2.HTTPError, TimeoutError) as error:
            seen.outcomes[f"failed {type(error).__name__}"] += 1
        await asyncio.sleep(every)


async def _health(port: int) -> str:
    """Ask on a connection of its own, as balancers do; return the status."""
    async with asyncio.timeout(_PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_HEAD + b"Connection: close\r\n\r\n")
        line = await reader.readline()
        writer.close()
        return line.split(b" ")[1].decode() if line else "closed"


def _hold_all(port: int, kind: str, connections: int, ready: Any) -> None:
    """Be the process that attacks; ``ready`` is set when all connections were opened once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, connections + 1_000)), hard))

    async def hold() -> None:
        turns = _Turns(1 / _OPENED_PER_SECOND)
        holders = [asyncio.create_task(_hold(port, kind, turns)) for _ in range(connections)]
        await turns.taken(connections)
        turns.seconds = 1 / _REOPENED_PER_SECOND
        ready.set()
        await asyncio.gather(*holders)

    asyncio.run(hold())


class _Turns:
    """Lets connections be opened one after the other, so many a second."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock, self._count, self._changed = asyncio.Lock(), 0, asyncio.Event()

    async def take(self) -> None:
        async with self._lock:
            await asyncio.sleep(self.seconds)
        self._count += 1
        self._changed.set()

    async def taken(self, count: int) -> None:
        while self._count < count:
            self._changed.clear()
            await self._changed.wait()


async def _hold(port: int, kind: str, turns: _Turns) -> None:
    """Open a connection, send what its kind sends, wait until it is closed, and begin again when it may."""
    while True:
        await turns.take()
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(KINDS[kind])
            while not reader.at_eof():
                if kind == "heads in drops":
                    writer.write(b"X-More: 1\r\n")
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await reader.read(65_536)
            writer.close()


async def _follow(service: Service, key: str, seen: Seen, over: asyncio.Event) -> None:
    """Follow the stream of events: it goes on, whatever happens around it."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=None) as http,
        http.stream("GET", f"{service.url}/v1/events/stream") as answer,
    ):
        reading = asyncio.create_task(_read(answer))
        await asyncio.wait([reading, asyncio.create_task(over.wait())], return_when=asyncio.FIRST_COMPLETED)
        seen.outcomes["stream went on" if not reading.done() else "stream broke off"] += 1
        reading.cancel()


async def _read(answer: httpx2.Response) -> None:
    async for _ in answer.aiter_lines():
        pass


def measured(kind: str, connections: int, seconds: float, descriptors: int) -> dict[str, Any]:
    """Measure one service, one kind of attack."""
    with tempfile.TemporaryDirectory() as folder:
        place, log = Path(folder) / "a.db", Path(folder) / "log"
        key = measure.stocked(place, 200)
        with running(place, log=log, descriptors=descriptors) as service:
            port, before = int(service.url.rpartition(":")[2]), service.cpu()
            with attacked(port, kind, connections):
                seen = asyncio.run(ask(service, key, seconds))
            cpu = service.cpu() - before
        written = log.stat().st_size
    return {
        "kind": kind,
        "connections": connections,
        "descriptors": descriptors,
        **seen.as_dict(),
        "cpu_seconds": round(cpu, 1),
        "log_bytes": written,
    }


def is_within(found: dict[str, Any]) -> bool:
    """Return whether everybody was answered, soon enough, and the log stayed small."""
    wrong = [one for one in found["outcomes"] if not one.endswith(("200", "went on"))]
    return not wrong and found["health_p99_ms"] <= P99_MS and found["log_bytes"] <= LOG_BYTES


@click.command()
@click.option("--connections", default="1100,2000", show_default=True, help="How many, one run for each number.")
@click.option("--kinds", default=",".join(KINDS), show_default=True, help="What they send.")
@click.option("--seconds", default=15.0, show_default=True, help="How long each run lasts.")
@click.option("--descriptors", default=1_024, show_default=True, help="How many files the service may have open.")
@click.option("--strict", is_flag=True, help="Exit with 1 when somebody was not answered in time.")
@click.option("--dry", is_flag=True, help="Print only, keep no results file.")
def main(*, connections: str, kinds: str, seconds: float, descriptors: int, strict: bool, dry: bool) -> None:
    """Measure how the service bears connections that never send a whole request."""
    sizes = [int(one) for one in connections.split(",")]
    found = [measured(kind, size, seconds, descriptors) for kind in kinds.split(",") for size in sizes]
    click.echo(as_table(found))
    if not dry:
        name = f"attack-{datetime.now(UTC):%Y-%m-%d}-{commit()}"
        full = {"commit": commit(), "load_average": [round(one, 1) for one in os.getloadavg()], "runs": found}
        (_RESULTS / f"{name}.json").write_text(json.dumps(full, indent=2) + "\n")
    if strict and not all(map(is_within, found)):
        raise SystemExit(1)


def as_table(found: list[dict[str, Any]]) -> str:
    """Return the result for people."""
    lines = [
        "| connections | what they send | health p50 / p99 / most, ms | answers | log, KB |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        times = f"{one['health_p50_ms']} / {one['health_p99_ms']} / {one['health_most_ms']}"
        answers = ", ".join(f"{name}: {count}" for name, count in one["outcomes"].items())
        lines.append(f"| {one['connections']} | {one['kind']} | {times} | {answers} | {one['log_bytes'] // 1_000} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
