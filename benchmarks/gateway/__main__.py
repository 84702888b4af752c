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
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.gateway.measure import Cost, Process, child, free_port, one_by_one, per_second, process, slow_streams
from benchmarks.speed.__main__ import _commit
from retain import Memory

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_SIZES: Final = ("small", "large", "narrow", "heavy", "light", "round", "flat", "tall")
_COLOURS: Final = ("red", "green", "blue", "yellow", "black", "white", "brown", "grey")
_THINGS: Final = ("kayak", "ladder", "lamp", "suitcase", "kettle", "drill", "tent", "mirror")
_PLACES: Final = ("shed", "attic", "cellar", "garage", "hall", "cabin", "barn")
_ABOUT_ME: Final = "Where do I keep my {}?"
_NOTHING: Final = "How do volcanoes form?"


def main() -> int:
    """Run; 1 when a limit is passed."""
    parser = argparse.ArgumentParser(prog="benchmarks.gateway", description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--memories", type=int, default=500)
    parser.add_argument("--streams", type=int, default=500, help="slow streams that are held open at once")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long throughput is measured")
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--litellm", help="the python of an environment with litellm[proxy], to compare with")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        results = _measured(Path(place), options)
    date = datetime.now(UTC).date().isoformat()
    results |= {"date": date, "commit": _commit(), "options": {**vars(options), "litellm": bool(options.litellm)}}
    results["held"] = _held(results)
    sys.stdout.write(json.dumps(results, indent=1) + "\n")
    if not options.dry:
        file = ROOT / "benchmarks" / "results" / f"gateway-{date}-{results['commit']}.json"
        file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0 if all(results["held"].values()) else 1


def _measured(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    behind = free_port()
    with process(child("upstream", str(behind)), "/openapi.json", behind) as upstream:
        config = _config(place, upstream.url, options.embedder)
        key = _filled(config, options.memories)
        port = free_port()
        with process(child("gateway", str(port), json.dumps(config)), "/openapi.json", port) as gateway:
            results = _asked(gateway, {"Authorization": f"Bearer {key}"}, options)
        if options.litellm:
            results["litellm_per_second"] = _litellm(place, upstream.url, options)
    return results


def _config(place: Path, upstream: str, embedder: str) -> dict[str, Any]:
    return {
        "profile": "gateway",
        "store": {"url": f"sqlite:///{place}/g.db"},
        "embedder": {"provider": embedder},
        "context": {"gate": "heuristic"},
        "gateway": {"upstreams": [{"name": "up", "base_url": f"{upstream}/v1"}], "recall_ms": 5_000},
    }


def _filled(config: dict[str, Any], count: int) -> str:
    """Somebody with memories, and their key."""
    with Memory(config) as memory:
        texts = [f"I keep my {_thing(at)} in the {_PLACES[at % len(_PLACES)]}." for at in range(count)]
        memory.add_many([{"messages": text, "user_id": "alice", "infer": False} for text in texts])
        key: str = memory.create_key(user_id="alice")["key"]
        return key


def _thing(number: int) -> str:
    """One of 512 things, so that no question comes twice while an answer is still held."""
    return f"{_SIZES[number // 64 % 8]} {_COLOURS[number // 8 % 8]} {_THINGS[number % 8]}"


def _chat(question: str, number: int) -> dict[str, Any]:
    text = question.format(_thing(number))
    return {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]}


def _asked(gateway: Process, auth: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """The four ways to ask; learning is left out of three of them, as it is not what a caller waits for."""
    show = {**auth, "x-memory": "extract-off"}
    chat, bare = "/v1/chat/completions", "/bare/chat/completions"
    about = [_chat(_ABOUT_ME, at) for at in range(options.requests)]
    none = [_chat(_NOTHING, at) for at in range(options.requests)]
    costs: dict[str, Cost] = {
        "bare": one_by_one(gateway, bare, about, auth),
        "off": one_by_one(gateway, chat, about, {**auth, "x-memory": "off"}),
        "none": one_by_one(gateway, chat, none, show),
        "memory": one_by_one(gateway, chat, about, show),
        "learning": one_by_one(gateway, chat, about, auth),
    }
    off = {**auth, "x-memory": "off"}
    slow = {**_chat(_NOTHING, 1), "stream": True, "temperature": 1.5}
    return {
        "costs": {name: asdict(cost) for name, cost in costs.items()},
        "bare_per_second": per_second(gateway.url, bare, about[0], auth, options.seconds),
        "off_per_second": per_second(gateway.url, chat, about[0], off, options.seconds),
        "streams": asyncio.run(slow_streams(gateway, options.streams, slow, auth)),
    }


def _litellm(place: Path, upstream: str, options: argparse.Namespace) -> float:
    file, port = place / "litellm.yaml", free_port()
    model = {"model": "openai/m", "api_base": f"{upstream}/v1", "api_key": "x"}
    wanted = {"model_list": [{"model_name": "m", "litellm_params": model}]}
    file.write_text(json.dumps(wanted), "utf-8")
    program = str(Path(options.litellm).parent / "litellm")
    command = [program, "--config", str(file), "--port", str(port), "--host", "127.0.0.1"]
    key = f"sk-{secrets.token_hex(32)}"
    with process(command, "/health/liveliness", port, {"LITELLM_MASTER_KEY": key}) as proxy:
        auth = {"Authorization": f"Bearer {key}"}
        return per_second(proxy.url, "/v1/chat/completions", _chat(_NOTHING, 1), auth, options.seconds)


def _held(results: dict[str, Any]) -> dict[str, bool]:
    costs, streams = results["costs"], results["streams"]
    bare = costs["bare"]
    held = {
        "memory adds at most 10 ms of processor time": costs["memory"]["cpu"] - bare["cpu"] <= 10,
        "a closed gate adds at most 3 ms of processor time": costs["none"]["cpu"] - bare["cpu"] <= 3,
        "memory adds at most three times the wait of a bare route": costs["memory"]["p50"] <= 4 * bare["p50"],
        "every slow stream comes to its end": streams["ended"] == streams["streams"],
        "slow streams take little room": streams["megabytes_peak"] - streams["megabytes_before"] <= 300,
    }
    if "litellm_per_second" in results:
        held["without memory it is no slower than another proxy"] = (
            results["off_per_second"] >= results["litellm_per_second"]
        )
    return held


if __name__ == "__main__":
    sys.exit(main())
