"""Measure what open consoles cost the gateway: chats a second with and without so many live feeds, turn by turn.

::

    python -m benchmarks.console.feeds               # 20 feeds, about a minute
    python -m benchmarks.console.feeds --feeds 50 --seconds 5 --rounds 8
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import uvicorn
from fastapi import FastAPI

from memstone import Memory
from memstone.drive import drive
from memstone.engine.access.console_access import create_console_link

_HOST: Final = "127.0.0.1"
_CALLERS: Final = 8
_REPLY: Final = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
_CHOICE: Final = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Noted."}}


def _serve_model(port: int) -> None:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def answer() -> dict[str, Any]:
        return {**_REPLY, "choices": [_CHOICE]}

    uvicorn.run(app, host=_HOST, port=port, log_level="critical")


def _serve(config: dict[str, Any]) -> None:
    from memstone.config import Settings
    from memstone.server.app import create_app
    from memstone.server.process import Service, server_config

    settings = Settings.of(config)
    Service(server_config(create_app(settings), settings.server)).run()


def main() -> None:
    """Start a service and a model, and print both throughputs and the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=6)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memstone-feeds-") as folder:
        asyncio.run(_measure(Path(folder), wanted))


async def _measure(folder: Path, wanted: argparse.Namespace) -> None:
    port, model_port = 18_431, 18_432
    config = {
        "store": {"url": f"sqlite:///{folder / 'memory.db'}"},
        "embedder": {"provider": "hash"},
        "write": {"mode": "manual"},
        "server": {"port": port, "rate": {"per_minute": 0}, "log_level": "error"},
        "gateway": {"upstreams": [{"name": "m", "base_url": f"http://{_HOST}:{model_port}/v1"}]},
    }
    with Memory(config) as memory:
        for number in range(200):
            memory.add(f"Fact number {number} about tea", user_id=f"user-{number % 20}", infer=False)
        key = memory.admin.keys.create(verbs=["read", "write"], may_assert_user=True)["key"]
        link = drive(memory.engine.run(create_console_link, minutes=30.0, session_hours=1.0)).token
    children = [
        multiprocessing.Process(target=_serve, args=(config,)),
        multiprocessing.Process(target=_serve_model, args=(model_port,)),
    ]
    for child in children:
        child.start()
    try:
        async with httpx2.AsyncClient(base_url=f"http://{_HOST}:{port}", timeout=60) as client:
            await _wait_until_ready(client)
            await _compare(client, key, link, wanted, children[0].pid or 0)
    finally:
        for child in children:
            child.terminate()
            child.join(10)


async def _wait_until_ready(client: httpx2.AsyncClient) -> None:
    for _ in range(300):
        try:
            if (await client.get("/readyz")).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        await asyncio.sleep(0.1)
    raise SystemExit("the service did not start")


async def _compare(client: httpx2.AsyncClient, key: str, link: str, wanted: argparse.Namespace, pid: int) -> None:
    await client.post("/console/sign-in", data={"link": link})
    await _chats_a_second(client, key, 2.0)  # what the first requests load is not measured
    without, beside = list[_Round](), list[_Round]()
    for _ in range(wanted.rounds):
        without.append(await _measure_round(client, key, wanted.seconds, pid))
        async with _feeds(client, wanted.feeds):
            beside.append(await _measure_round(client, key, wanted.seconds, pid))
    alone, watched = _median(without), _median(beside)
    print(f"{'':24}{'chats a second':>16}{'CPU ms a chat':>16}   (median of {wanted.rounds} rounds)")
    print(f"{'without a console':24}{alone.rate:>16.1f}{alone.cpu_ms:>16.2f}")
    print(f"{f'beside {wanted.feeds} live feeds':24}{watched.rate:>16.1f}{watched.cpu_ms:>16.2f}")
    throughput, cpu = 100 * (1 - watched.rate / alone.rate), 100 * (1 - alone.cpu_ms / watched.cpu_ms)
    print(f"cost: {throughput:.1f} % of the throughput as measured, {cpu:.1f} % by the CPU time of the service")


@dataclass(frozen=True, slots=True)
class _Round:
    """Chats a second, and what CPU time the service took for each."""

    rate: float
    cpu_ms: float


def _median(rounds: list[_Round]) -> _Round:
    return _Round(statistics.median(one.rate for one in rounds), statistics.median(one.cpu_ms for one in rounds))


async def _measure_round(client: httpx2.AsyncClient, key: str, seconds: float, pid: int) -> _Round:
    before = _cpu_seconds(pid)
    rate = await _chats_a_second(client, key, seconds)
    return _Round(rate, 1_000 * (_cpu_seconds(pid) - before) / max(rate * seconds, 1))


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process; on a busy machine it says more than the clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def _feeds(client: httpx2.AsyncClient, count: int) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(_listen(client)) for _ in range(count)]
    await asyncio.sleep(1.0)
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _listen(client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", "/console/activity/stream", headers={"accept": "text/event-stream"}) as answer:
        async for _ in answer.aiter_raw():
            pass


async def _chats_a_second(client: httpx2.AsyncClient, key: str, seconds: float) -> float:
    until, began, done = time.monotonic() + seconds, time.monotonic(), 0

    async def chat(number: int) -> None:
        nonlocal done
        headers = {"authorization": f"Bearer {key}", "x-user-id": f"user-{number}"}
        body = {"model": "m", "user": f"user-{number}", "messages": [{"role": "user", "content": "Do I like tea?"}]}
        while time.monotonic() < until:
            answer = await client.post("/v1/chat/completions", json=body, headers=headers)
            answer.raise_for_status()
            done += 1

    await asyncio.gather(*(chat(number) for number in range(_CALLERS)))
    return done / (time.monotonic() - began)


if __name__ == "__main__":
    main()
