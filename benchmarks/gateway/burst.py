"""``python -m benchmarks.gateway.burst``: many chats at once, and how many of them have which part of the memory.

A ``memstone serve`` stands before a model service that hands back what it was sent. Everybody who chats has more
memories than the profile holds, and asks for one that it does not hold; so a block shows by itself what was in time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx2

from benchmarks.gateway.__main__ import _ABOUT_ME, _PLACES, ROOT, _chat, _thing
from benchmarks.gateway.measure import Process, child, free_port, process
from benchmarks.speed.__main__ import _commit
from benchmarks.speed.measure import percentile
from memstone import Memory

_PROFILE: Final = "Known about the user:"
_RECALLED: Final = "Recalled for this message:"
_LEFT_OUT: Final = 20
"""So many of the oldest memories are surely not in the profile."""

_LEARNED: Final = 10.0
"""So many seconds after the first chat it is learned from, and all models are loaded for that."""


def main() -> int:
    """Run; 1 when a chat has no profile."""
    parser = argparse.ArgumentParser(prog="benchmarks.gateway.burst", description=__doc__)
    parser.add_argument("--chats", type=int, default=100, help="chats that begin at once")
    parser.add_argument("--people", type=int, default=100, help="how many people chat")
    parser.add_argument("--memories", type=int, default=120, help="memories of each of them")
    parser.add_argument("--times", type=int, default=3, help="how often they all chat at once")
    parser.add_argument("--slow", type=float, default=0.5, help="seconds that the embeddings elsewhere take")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for embedder in ("local", "slow"):
        with tempfile.TemporaryDirectory() as place:
            results[embedder] = _measure(Path(place), embedder, options)
    date = datetime.now(UTC).date().isoformat()
    results |= {"date": date, "commit": _commit(), "options": vars(options)}
    sys.stdout.write(json.dumps(results, indent=1) + "\n")
    if not options.dry:
        file = ROOT / "benchmarks" / "results" / f"burst-{date}-{results['commit']}.json"
        file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0 if all(one["profile"] == one["chats"] for name in ("local", "slow") for one in results[name]) else 1


def _measure(place: Path, embedder: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    behind, port = free_port(), free_port()
    with ExitStack() as running:
        upstream = running.enter_context(process(child("upstream", str(behind)), "/openapi.json", behind))
        config = _build_config(place, upstream.url, embedder)
        keys = _fill(config, options.people, options.memories)
        file = place / "memstone.toml"
        file.write_text("".join(f"{name} = {_toml_value(value)}\n" for name, value in config.items()), "utf-8")
        command = [sys.executable, "-m", "memstone.cli", "--config", str(file), "serve", "--port", str(port)]
        gateway = running.enter_context(process(command, "/readyz", port))
        asyncio.run(_burst(gateway, keys[:1], 1, 0))  # what a service does only once does not count, nor loading models
        time.sleep(_LEARNED)
        httpx2.post(f"{upstream.url}/slow", json={"seconds": options.slow if embedder == "slow" else 0.0})
        return [asyncio.run(_burst(gateway, keys, options.chats, at)) for at in range(1, options.times + 1)]


def _build_config(place: Path, upstream: str, embedder: str) -> dict[str, Any]:
    elsewhere = {"base_url": f"{upstream}/v1", "api_key": "sk", "model": "m"}
    return {
        "preset": "gateway",
        "store": {"url": f"sqlite:///{place}/g.db"},
        "embedder": {"provider": "openai", "config": elsewhere} if embedder == "slow" else {"provider": embedder},
        "server": {"rate": {"per_minute": 0}},
        "gateway": {"upstreams": [{"name": "up", "base_url": f"{upstream}/v1"}]},
    }


def _toml_value(value: Any) -> str:
    """Return a value as TOML writes it: like JSON, but for the tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml_value(one)}" for name, one in value.items()) + "}"
    return f"[{', '.join(map(_toml_value, value))}]" if isinstance(value, list) else json.dumps(value)


def _fill(config: dict[str, Any], people: int, memories: int) -> list[str]:
    """Return the keys of people with so many memories each."""
    texts = [f"I keep my {_thing(at)} in the {_PLACES[at % len(_PLACES)]}." for at in range(memories)]
    with Memory(config) as memory:
        names = [f"person{number}" for number in range(people)]
        for name in names:
            memory.add_many([{"messages": text, "user_id": name, "infer": False} for text in texts])
        return [memory.admin.keys.create(user_id=name)["key"] for name in names]


async def _burst(gateway: Process, keys: list[str], chats: int, number: int) -> dict[str, Any]:
    """Let all chat at once; return how many have which part of the memory, and how long they wait."""
    waits, counts, degraded = list[float](), Counter[str](), Counter[str]()

    async def one(client: httpx2.AsyncClient, at: int) -> None:
        body = _chat(_ABOUT_ME[number % len(_ABOUT_ME)], (at + number) % _LEFT_OUT)
        began = time.perf_counter()
        answer = await client.post(
            "/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {keys[at % len(keys)]}"}
        )
        waits.append((time.perf_counter() - began) * 1e3)
        if answer.status_code != httpx2.codes.OK:
            counts["failed"] += 1
            return
        sent = json.dumps(answer.json()["sent"])
        counts.update(profile=_PROFILE in sent, recalled=_RECALLED in sent)
        counts["receipt"] += answer.headers["x-memstone-receipt"] != "none"
        degraded[answer.headers.get("x-memstone-degraded", "")] += 1

    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=gateway.url, timeout=120, limits=limits) as client:
        await asyncio.gather(*(one(client, at) for at in range(chats)))
    names = ("profile", "recalled", "receipt", "failed")
    return {
        "chats": chats,
        **{name: counts[name] for name in names},
        "degraded": {name: count for name, count in degraded.items() if name},
        "p50": round(percentile(waits, 0.5)),
        "longest": round(max(waits)),
    }


if __name__ == "__main__":
    sys.exit(main())
