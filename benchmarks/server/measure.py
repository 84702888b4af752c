"""The two questions: what a request adds to a call, and what many clients at once do to the service."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import httpx2

from benchmarks.server.service import Service, config_of
from memstone import AsyncMemory, Memory

USERS: Final = 20
_WORDS: Final = ("harbour", "violin", "tomato", "bicycle", "granite", "lantern", "orchard", "compass")
_WRITES: Final = 5
"""One request in so many stores something."""


def text_of(number: int) -> str:
    """Return one of the texts."""
    return f"note {number}: the {_WORDS[number % 8]} near the {_WORDS[number // 8 % 8]} of house {number}"


def question_of(number: int) -> dict[str, Any]:
    """Return one of the questions."""
    return {"query": f"{_WORDS[number % 8]} house {number % 97}", "user_id": f"user{number % USERS}", "limit": 10}


def stocked(place: Path, memories: int) -> str:
    """Fill a store; return a key to it."""
    with Memory(config_of(place)) as memory:
        for start in range(0, memories, 500):
            numbers = range(start, min(start + 500, memories))
            memory.add_many([{"messages": text_of(n), "user_id": f"user{n % USERS}", "infer": False} for n in numbers])
        key: str = memory.admin.keys.create("bench", verbs=["read", "write", "admin"])["key"]
        return key


async def library_cpu(place: Path, calls: int) -> float:
    """Return the processor milliseconds of a search through the library, in this process."""
    async with AsyncMemory(config_of(place)) as memory:
        for number in range(USERS * 2):
            await memory.search(**question_of(number))
        began = time.process_time()
        for number in range(calls):
            await memory.search(**question_of(number))
        return (time.process_time() - began) / calls * 1_000


async def service_cpu(service: Service, key: str, calls: int) -> float:
    """Return the processor milliseconds of a search through the service, in its process.

    A client keeps its connection.
    """
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        for number in range(USERS * 2):
            await _search(http, service, number)
        began = service.cpu()
        for number in range(calls):
            await _search(http, service, number)
        return (service.cpu() - began) / calls * 1_000


async def _search(http: httpx2.AsyncClient, service: Service, number: int) -> None:
    answer = await http.post(f"{service.url}/v1/memories/search", json=question_of(number))
    answer.raise_for_status()


async def load(service: Service, key: str, clients: int, seconds: float) -> dict[str, Any]:
    """Let many clients ask at once, each again as soon as it is answered; one request in five stores something."""
    took: list[float] = []
    outcomes: Counter[str] = Counter()
    memory = [service.megabytes()]
    ends = time.monotonic() + seconds
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)

    async def client(http: httpx2.AsyncClient, name: int) -> None:
        number = name * 1_000_003
        while time.monotonic() < ends:
            number += 1
            began = time.perf_counter()
            outcomes[await _asked(http, service, number)] += 1
            took.append((time.perf_counter() - began) * 1_000)

    async def watch() -> None:
        while time.monotonic() < ends:
            await asyncio.sleep(seconds / 10)
            memory.append(service.megabytes())

    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120, limits=limits) as http:
        await asyncio.gather(watch(), *(client(http, name) for name in range(clients)))
    return _figures(took, outcomes, memory, seconds)


async def _asked(http: httpx2.AsyncClient, service: Service, number: int) -> str:
    try:
        if number % _WRITES:
            answer = await http.post(f"{service.url}/v1/memories/search", json=question_of(number))
        else:
            texts = {"messages": text_of(number), "user_id": f"user{number % USERS}", "infer": False}
            answer = await http.post(f"{service.url}/v1/memories", json=texts)
    except httpx2.HTTPError as error:
        return type(error).__name__
    return str(answer.status_code)


def _figures(took: list[float], outcomes: Counter[str], memory: list[float], seconds: float) -> dict[str, Any]:
    cut = quantiles(took, n=100) if len(took) > 1 else [0.0] * 99
    return {
        "requests": len(took),
        "per_second": round(len(took) / seconds, 1),
        "outcomes": dict(outcomes),
        "errors": sum(count for name, count in outcomes.items() if name != "200"),
        "p50_ms": round(cut[49], 1),
        "p99_ms": round(cut[98], 1),
        "megabytes": [round(one, 1) for one in memory],
    }
