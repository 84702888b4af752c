"""``python -m benchmarks.gateway``: a chat with and without memory against a bare route of the same server.

The model behind is a service on this machine that answers at once, so that all that is measured is ours. On a busy
machine only the ratios and the processor time say something.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.gateway.measure import (
    WARM_UP,
    Process,
    Way,
    child,
    free_port,
    in_turn,
    per_second,
    process,
    slow_streams,
)
from benchmarks.speed.__main__ import _commit
from memstone import Memory

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_SIZES: Final = ("small", "large", "narrow", "heavy", "light", "round", "flat", "tall")
_COLOURS: Final = ("red", "green", "blue", "yellow", "black", "white", "brown", "grey")
_THINGS: Final = ("kayak", "ladder", "lamp", "suitcase", "kettle", "drill", "tent", "mirror")
_PLACES: Final = ("shed", "attic", "cellar", "garage", "hall", "cabin", "barn")
_ABOUT_ME: Final = ("Where do I keep my {}?", "Where have I put my {}?", "In which place is my {}?")
"""Three questions, one for each thing that is measured: no text is embedded twice."""

_NOTHING: Final = "How do volcanoes form?"
_EVERY: Final = 0.04
"""So many seconds lie between requests where it is measured how long they take."""


def main() -> int:
    """Run; 1 when a limit is passed."""
    parser = argparse.ArgumentParser(prog="benchmarks.gateway", description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--memories", type=int, default=500)
    parser.add_argument("--streams", type=int, default=500, help="slow streams that are held open at once")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long throughput is measured each time")
    parser.add_argument("--times", type=int, default=5, help="how often throughput is measured, each way in turn")
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--litellm", help="the python of an environment with litellm[proxy], to compare with")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        results = _measured(Path(place), options)
    date = datetime.now(UTC).date().isoformat()
    results |= {"date": date, "commit": _commit(), "options": {**vars(options), "litellm": bool(options.litellm)}}
    results["held"] = _check_limits(results)
    sys.stdout.write(json.dumps(results, indent=1) + "\n")
    if not options.dry:
        file = ROOT / "benchmarks" / "results" / f"gateway-{date}-{results['commit']}.json"
        file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0 if all(results["held"].values()) else 1


def _measured(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    behind, port = free_port(), free_port()
    with ExitStack() as running:
        upstream = running.enter_context(process(child("upstream", str(behind)), "/openapi.json", behind))
        config = _config(place, upstream.url, options.embedder)
        auth = {"Authorization": f"Bearer {_filled(config, options.memories)}"}
        command = child("gateway", str(port), json.dumps(config))
        gateway = running.enter_context(process(command, "/openapi.json", port))
        results = _asked(gateway, upstream, auth, options)
        ways = _ways(gateway, upstream, auth, 1, _ABOUT_ME[0])
        rivals = {name: ways[name] for name in ("bare", "off")}
        if options.litellm:
            rivals["litellm"] = running.enter_context(_litellm(place, upstream.url, options, ways["off"]))
        found = per_second(rivals, options.seconds, options.times)
    return {**results, "per_second": {name: {"median": median(all_), "all": all_} for name, all_ in found.items()}}


def _config(place: Path, upstream: str, embedder: str) -> dict[str, Any]:
    return {
        "preset": "gateway",
        "store": {"url": f"sqlite:///{place}/g.db"},
        "embedder": {"provider": embedder},
        "context": {"gate": "heuristic"},
        "server": {"rate": {"per_minute": 0}},  # one key asks all the time
        "gateway": {"upstreams": [{"name": "up", "base_url": f"{upstream}/v1"}], "recall_ms": 5_000},
    }


def _filled(config: dict[str, Any], count: int) -> str:
    """Make somebody with memories, and return their key."""
    with Memory(config) as memory:
        texts = [f"I keep my {_thing(at)} in the {_PLACES[at % len(_PLACES)]}." for at in range(count)]
        memory.add_many([{"messages": text, "user_id": "alice", "infer": False} for text in texts])
        key: str = memory.admin.keys.create(user_id="alice")["key"]
        return key


def _thing(number: int) -> str:
    """Return one of 512 things."""
    return f"{_SIZES[number // 64 % 8]} {_COLOURS[number // 8 % 8]} {_THINGS[number % 8]}"


def _chat(question: str, number: int) -> dict[str, Any]:
    text = question.format(_thing(number))
    return {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]}


def _ways(gateway: Process, upstream: Process, auth: dict[str, str], count: int, question: str) -> dict[str, Way]:
    """Return the ways to ask; learning is left out of all but one, as it is not what a caller waits for."""
    show, off = {**auth, "x-memory": "extract-off"}, {**auth, "x-memory": "off"}
    chat = f"{gateway.url}/v1/chat/completions"
    about = [_chat(question, at) for at in range(WARM_UP + count)]
    none = [_chat(_NOTHING, at) for at in range(WARM_UP + count)]
    return {
        "direct": Way(f"{upstream.url}/v1/chat/completions", about, {}),
        "bare": Way(f"{gateway.url}/bare/chat/completions", about, auth),
        "off": Way(chat, about, off),
        "none": Way(chat, none, show),
        "memory": Way(chat, about, show),
        "learning": Way(chat, about, auth),
        "pause": Way(f"{gateway.url}/bare/chat/completions?pause=0.01", about, auth),
    }


def _all_but_learning(ways: dict[str, Way]) -> dict[str, Way]:
    return {name: way for name, way in ways.items() if name != "learning"}


def _asked(gateway: Process, upstream: Process, auth: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    first, second, third = (_ways(gateway, upstream, auth, options.requests, question) for question in _ABOUT_ME)
    learning = {"learning": third["learning"]}  # on its own: it goes on after its answers
    waits = in_turn(gateway, _all_but_learning(first), _EVERY)
    slow = {**_chat(_NOTHING, 1), "stream": True, "temperature": 1.5}
    costs = in_turn(gateway, _all_but_learning(second)) | in_turn(gateway, learning)
    return {
        "costs": {name: asdict(cost) for name, cost in costs.items()},
        "waits": {name: asdict(cost) for name, cost in waits.items()},
        "streams": asyncio.run(slow_streams(gateway, options.streams, slow, auth)),
    }


@contextmanager
def _litellm(place: Path, upstream: str, options: argparse.Namespace, like: Way) -> Iterator[Way]:
    """Start another proxy as it comes: one worker, a key, no database; it is asked the same as ours."""
    file, port = place / "litellm.yaml", free_port()
    model = {"model": "openai/m", "api_base": f"{upstream}/v1", "api_key": "x"}
    wanted = {"model_list": [{"model_name": "m", "litellm_params": model}]}
    file.write_text(json.dumps(wanted), "utf-8")
    program = str(Path(options.litellm).parent / "litellm")
    command = [program, "--config", str(file), "--port", str(port), "--host", "127.0.0.1"]
    key = f"sk-{secrets.token_hex(32)}"
    with process(command, "/health/liveliness", port, {"LITELLM_MASTER_KEY": key}) as proxy:
        yield Way(f"{proxy.url}/v1/chat/completions", like.bodies, {"Authorization": f"Bearer {key}"})


def _check_limits(results: dict[str, Any]) -> dict[str, bool]:
    """Check the limits: processor time back to back, waiting where all ways are asked at one rate.

    What is waited for on top is what comes on top of asking the model service directly.
    """
    costs, streams, rate = results["costs"], results["streams"], results["per_second"]
    direct, bare, memory = (results["waits"][name]["p50"] for name in ("direct", "bare", "memory"))
    stored = {
        "memory adds at most 10 ms of processor time": costs["memory"]["cpu"] - costs["bare"]["cpu"] <= 10,
        "a closed gate adds at most 3 ms of processor time": costs["none"]["cpu"] - costs["bare"]["cpu"] <= 3,
        "the wait that memory adds is at most three times that of a bare route": memory - direct <= 3 * bare,
        "every slow stream comes to its end": streams["ended"] == streams["streams"],
        "slow streams take little room": streams["megabytes_peak"] - streams["megabytes_before"] <= 300,
    }
    if "litellm" in rate:
        ahead = rate["off"]["median"] / rate["litellm"]["median"]
        stored["without memory it does at least one and a half times as much as another proxy"] = ahead >= 1.5
    return stored


if __name__ == "__main__":
    sys.exit(main())
