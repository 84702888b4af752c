"""``python -m benchmarks.server.messages``: messages that are made to take long, and everybody else meanwhile.

Each message is sent to a service of its own, and ``/healthz`` is asked all the while. Everything stays on this machine:
all ends are processes of this run, and the address is 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import click
import httpx2

from benchmarks.gateway.measure import child, free_port, process
from benchmarks.server import measure
from benchmarks.server.__main__ import _RESULTS, commit
from benchmarks.server.attack import _health
from benchmarks.server.service import Service, running

P99_MS: Final = 250.0
_HEALTH_EVERY: Final = 0.02
_QUIET_SECONDS: Final = 1.0
_IDLE_SHARE: Final = 0.3
"""Who uses less of the processor only answers whether it is well."""

_USER: Final = "mallory"
_TEXT: Final = 49_999
"""The longest text that may be stored is hardly longer."""

_BODY: Final = 4_100_000
"""Bytes of texts that fit into a body, with what stands around them."""


def _filled(unit: str, size: int = _TEXT) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _in_lines(unit: str, width: int = 880) -> str:
    return _filled(_filled(unit, width) + "\n")


def _many(text: str) -> list[str]:
    """Return texts of which none is the other, and all together are as large as a body may be."""
    most = _BODY // len(json.dumps(text, ensure_ascii=False).encode())
    return [f"{at} {text}"[:_TEXT] for at in range(most)]


TEXTS: Final[dict[str, Callable[[], str]]] = {
    "short sentences": lambda: _filled("a. "),
    "facts": lambda: "".join(f"I like tea{at}. I have a dog called Bob{at}.\n" for at in range(2_000))[:_TEXT],
    "clauses": lambda: _in_lines("I am in a band; we play on my boat and "),
    "cars": lambda: _in_lines("I drive a toyota. My now a now a now a now a now a now a now a now a "),
    "blanks": lambda: _in_lines("I like tea" + " " * 200),
    "form": lambda: _filled("name: x\n"),
    "marks": lambda: "e" + _filled("\u0315\u0301\u0327")[1:],
    "one token": lambda: _filled("a"),
}


@dataclass(frozen=True, slots=True)
class Hostile:
    """A request: where it goes, and what it holds."""

    path: str
    body: Callable[[str], dict[str, Any]]


ROUTES: Final[dict[str, Hostile]] = {
    "add": Hostile("/v1/memories", lambda text: {"user_id": _USER, "messages": text}),
    "add 4 MiB": Hostile("/v1/memories", lambda text: {"user_id": _USER, "messages": _many(text)}),
    "add 1000 messages": Hostile(
        "/v1/memories",
        lambda text: {"user_id": _USER, "messages": [text[at * 40 : at * 40 + 4_000] for at in range(1_000)]},
    ),
    "batch 4 MiB": Hostile(
        "/v1/memories/batch",
        lambda text: {"items": [{"user_id": _USER, "messages": one} for one in _many(text)]},
    ),
    "entry": Hostile("/api/memory", lambda text: {"key": "k", "content": text, "userId": _USER}),
    "ingest": Hostile(
        "/memory/ingest",
        lambda text: {
            "agent_id": "coach",
            "conversation_id": "c",
            "user_id": _USER,
            "turns": [{"user": one, "assistant": "Go on."} for one in _many(text)],
        },
    ),
    "search": Hostile("/v1/memories/search", lambda text: {"user_id": _USER, "query": text}),
    "context": Hostile("/v1/context", lambda text: {"user_id": _USER, "query": text}),
    "chat": Hostile(
        "/v1/chat/completions",
        lambda text: {"model": "m", "user": _USER, "messages": [{"role": "user", "content": text}]},
    ),
    "chat 4 MiB": Hostile(
        "/v1/chat/completions",
        lambda text: {
            "model": "m",
            "user": _USER,
            "messages": [{"role": "user", "content": one} for one in _many(text)],
        },
    ),
}


@dataclass
class Seen:
    """How the others fared while one request was answered."""

    health_ms: list[float] = field(default_factory=list)
    failed: int = 0
    status: str = ""
    answer_seconds: float = 0.0


async def attacked(service: Service, key: str, hostile: Hostile, text: str, seconds: float) -> Seen:
    """Send one request and ask all the while; one that takes longer than ``seconds`` is given up."""
    seen, over = Seen(), asyncio.Event()
    port = int(service.url.rpartition(":")[2])

    async def ask() -> None:
        while not over.is_set():
            began = time.perf_counter()
            try:
                seen.failed += await _health(port) != "200"
            except (OSError, TimeoutError):
                seen.failed += 1
            seen.health_ms.append((time.perf_counter() - began) * 1_000)
            await asyncio.sleep(_HEALTH_EVERY)

    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=seconds) as http:
        asking = asyncio.create_task(ask())
        began = time.perf_counter()
        try:
            answer = await http.post(f"{service.url}{hostile.path}", json=hostile.body(text))
            seen.status = str(answer.status_code)
        except httpx2.HTTPError as error:
            seen.status = type(error).__name__
        seen.answer_seconds = time.perf_counter() - began
        await _until_idle(service, seconds)  # what goes on behind the answer is borne by the same people
        over.set()
        await asking
    return seen


async def _until_idle(service: Service, seconds: float) -> None:
    ends, idle = time.monotonic() + seconds, False
    while not idle and time.monotonic() < ends:
        before = service.cpu()
        await asyncio.sleep(_QUIET_SECONDS)
        idle = service.cpu() - before < _IDLE_SHARE * _QUIET_SECONDS


def measured(route: str, text: str, seconds: float) -> dict[str, Any]:
    """Measure one service, one message."""
    upstream = free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        process(child("upstream", str(upstream)), "/docs", upstream),
    ):
        place = Path(folder) / "a.db"
        key = measure.stocked(place, 50)
        where = {"name": "near", "base_url": f"http://127.0.0.1:{upstream}/v1"}
        with running(place, GATEWAY__UPSTREAMS=json.dumps([where])) as service:
            _warm(service, key)
            before = service.cpu()
            seen = asyncio.run(attacked(service, key, ROUTES[route], TEXTS[text](), seconds))
            cpu = service.cpu() - before
    cuts = quantiles(seen.health_ms, n=100, method="inclusive") if len(seen.health_ms) > 1 else seen.health_ms * 99
    return {
        "route": route,
        "text": text,
        "status": seen.status,
        "answer_seconds": round(seen.answer_seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "health_checks": len(seen.health_ms),
        "health_failed": seen.failed,
        "health_p50_ms": round(cuts[49], 1),
        "health_p99_ms": round(cuts[98], 1),
        "health_most_ms": round(max(seen.health_ms), 1),
    }


def _warm(service: Service, key: str) -> None:
    """Ask once for what is loaded only when it is first wanted."""
    with httpx2.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        for route, hostile in ROUTES.items():
            if "4 MiB" not in route and "1000" not in route:
                http.post(f"{service.url}{hostile.path}", json=hostile.body("I like tea, and my dog is called Bob."))


def is_within(found: dict[str, Any]) -> bool:
    """Return whether everybody was answered soon enough, and the message too."""
    return not found["health_failed"] and found["health_p99_ms"] <= P99_MS and found["status"] == "200"


@click.command()
@click.option("--routes", default=",".join(ROUTES), show_default=True, help="Where they go, by the names in ROUTES.")
@click.option("--texts", default="short sentences,facts,clauses,cars", show_default=True, help="What they say.")
@click.option("--seconds", default=120.0, show_default=True, help="How long a message is waited for.")
@click.option("--strict", is_flag=True, help="Exit with 1 when somebody was not answered in time.")
@click.option("--dry", is_flag=True, help="Print only, keep no results file.")
def main(*, routes: str, texts: str, seconds: float, strict: bool, dry: bool) -> None:
    """Measure how the service bears messages that are made to take long."""
    found = []
    for route in routes.split(","):
        for text in texts.split(","):
            found.append(measured(route, text, seconds))
            click.echo(as_row(found[-1]))
    if not dry:
        name = f"messages-{datetime.now(UTC):%Y-%m-%d}-{commit()}"
        full = {"commit": commit(), "load_average": [round(one, 1) for one in os.getloadavg()], "runs": found}
        (_RESULTS / f"{name}.json").write_text(json.dumps(full, indent=2) + "\n")
    if strict and not all(map(is_within, found)):
        raise SystemExit(1)


def as_row(one: dict[str, Any]) -> str:
    """Return one result for people."""
    times = f"{one['health_p50_ms']} / {one['health_p99_ms']} / {one['health_most_ms']}"
    spent = f"{one['status']} after {one['answer_seconds']} s, {one['cpu_seconds']} CPU s"
    asked = f"{one['health_checks']} times, {one['health_failed']} failed"
    return f"| {one['route']} | {one['text']} | {spent} | {times} | {asked} |"


if __name__ == "__main__":
    main()
