"""``python -m benchmarks.speed.encryption``: what encryption costs, as a ratio to the same store without it.

Both stores get the same texts in turns, in one process, so that whatever else the machine does slows both. Times are
CPU time of the process. The embedder hashes words: a real model would take longer than everything measured here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.speed.runner import ROOT
from memstone import Memory

_USERS: Final = 20
_WORDS: Final = "river stone cloud paper window garden letter morning market bridge winter music silver kitchen".split()


def main() -> int:
    """Measure, print the table, and write the readings into ``--output``."""
    options = _parse_options()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        readings = measure(Path(folder), options.memories, options.calls)
    table = format_table(readings)
    sys.stdout.write(table)
    if options.output:
        facts = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "commit": _commit(), "memories": options.memories}
        Path(options.output).write_text(json.dumps({"facts": facts, "readings": readings}, indent=1) + "\n", "utf-8")
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.speed.encryption", description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000, help="memories in each store")
    parser.add_argument("--calls", type=int, default=200, help="calls of each kind")
    parser.add_argument("--folder", help="where the stores are; by default the system's temporary folder")
    parser.add_argument("--output", help="a JSON file for the readings")
    return parser.parse_args()


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own command
    return done.stdout.strip()


def measure(folder: Path, memories: int, calls: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of every call, by kind of call and store."""
    settings = {"plain": _settings(folder, None), "encrypted": _settings(folder, f"file:{folder / 'keys' / 'key'}")}
    stores = {name: Memory(one) for name, one in settings.items()}
    for name, store in stores.items():
        _fill(store, memories)
        sys.stderr.write(f"{name}: {memories:,} memories\n")
    readings = {
        "add": _take_turns(stores, calls, lambda store, at: store.add(f"new {_text(at)}", user_id="u1", infer=False)),
        "add 100 at once": _take_turns(stores, max(3, calls // 20), _add_batch),
        "search": _take_turns(stores, calls, lambda store, at: store.search(_text(at), user_id=f"u{at % _USERS}")),
        "get all": _take_turns(stores, calls, lambda store, at: store.get_all(user_id=f"u{at % _USERS}", limit=50)),
    }
    for store in stores.values():
        store.close()
    readings["open and count"] = _take_turns(settings, 15, lambda one, _: Memory(one).stats())
    readings["open and search"] = _take_turns(settings, 15, _open_and_search)
    return readings


def _settings(folder: Path, key: str | None) -> dict[str, Any]:
    store = {"url": f"sqlite:///{folder / ('plain' if key is None else 'encrypted')}.db", "durable": False}
    return {"store": store if key is None else {**store, "encryption_key": key}, "embedder": {"provider": "hash"}}


def _text(number: int) -> str:
    words = (_WORDS[(number * step + step) % len(_WORDS)] for step in (1, 3, 5, 11, 13))
    return f"{' '.join(words)} {number}"


def _fill(store: Memory, memories: int) -> None:
    for start in range(0, memories, 500):
        rows = range(start, min(memories, start + 500))
        store.add_many([{"messages": _text(at), "user_id": f"u{at % _USERS}", "infer": False} for at in rows])


def _add_batch(store: Memory, at: int) -> None:
    store.add_many(
        [{"messages": f"batch {at} {_text(one)}", "user_id": f"u{one % _USERS}", "infer": False} for one in range(100)]
    )


def _open_and_search(settings: dict[str, Any], at: int) -> None:
    with Memory(settings) as store:
        store.search(_text(at), user_id=f"u{at % _USERS}")


def _take_turns(stores: dict[str, Any], calls: int, call: Callable[[Any, int], object]) -> dict[str, list[float]]:
    """Return the seconds of calls that the stores get in turns, the first few left out."""
    clock = time.process_time
    seconds: dict[str, list[float]] = {name: [] for name in stores}
    for at in range(calls + 3):
        for name, store in stores.items():
            began = clock()
            call(store, at)
            seconds[name].append(clock() - began)
    return {name: values[3:] for name, values in seconds.items()}


def format_table(readings: dict[str, dict[str, list[float]]]) -> str:
    """Return the means and their ratios as a table."""
    return "\n".join(_format_rows(readings)) + "\n"


def _format_rows(readings: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    yield "| call | plain | encrypted | ratio |"
    yield "|---|---|---|---|"
    for kind, seconds in readings.items():
        plain, encrypted = (statistics.median(seconds[name]) for name in ("plain", "encrypted"))
        yield f"| {kind} | {plain * 1e3:.2f} ms | {encrypted * 1e3:.2f} ms | {encrypted / plain:.2f} |"


if __name__ == "__main__":
    raise SystemExit(main())
