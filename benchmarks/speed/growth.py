"""``python -m benchmarks.speed.growth``: what a call costs as a store grows, by memories and by people.

Stores of different sizes hold the memories of different numbers of people. If cost follows the person and not the
store, rows with as many memories for each person cost the same, however large the store is. Texts are made up and
loaded with ``add_many``; the embedder hashes words, so no model is measured. A person is *new* to the process at the
first search and *known* at the next: then the words and vectors of that person are in memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memstone import Memory

_BATCH: Final = 500
_ASKED: Final = 12
"""So many people are measured, spread over all of them."""

_NOUNS: Final = (
    "harbour garden ledger violin orchard lantern saddle teapot compass bicycle window ladder bridge".split()
)
_VERBS: Final = "keeps paints repairs borrows sells carries polishes measures photographs remembers".split()
_PLACES: Final = "Bergen Porto Lyon Cork Gdansk Turku Graz Bilbao Aarhus Leuven Trieste Malmo".split()


def main() -> int:
    """Measure every size, print the table, and write the readings into ``--output``."""
    options = _parse_options()
    rows = []
    for memories in options.memories:
        for people in options.people:
            if people <= memories:
                rows.append(_measure_size(options, memories, people))
                sys.stderr.write(f"{json.dumps(rows[-1])}\n")
                if options.output:
                    _write(Path(options.output), rows, options.store)
    sys.stdout.write(format_table(rows))
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.speed.growth", description=__doc__)
    parser.add_argument("--memories", type=_read_sizes, default=(10_000, 100_000), help="sizes of the store")
    parser.add_argument("--people", type=_read_sizes, default=(10, 1_000, 100_000), help="numbers of people")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--folder", help="where the stores are; by default the system's temporary folder")
    parser.add_argument("--output", help="a JSON file for the readings")
    return parser.parse_args()


def _read_sizes(text: str) -> tuple[int, ...]:
    return tuple(int(float(one)) for one in text.split(","))


def _write(path: Path, rows: list[dict[str, Any]], store: str) -> None:
    facts = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "store": store}
    path.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n", "utf-8")


def _measure_size(options: argparse.Namespace, memories: int, people: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, _open_url(options.store, Path(folder)) as url:
        settings = {"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}}
        with Memory(settings) as memory:
            began = time.perf_counter()
            _fill(memory, memories, people)
            loaded = time.perf_counter() - began
        with Memory(settings) as memory:  # a process that knows nobody yet
            memory.search("Who paints?", user_id="nobody")
            asked = [f"p{number * people // min(_ASKED, people)}" for number in range(min(_ASKED, people))]
            readings = _measure_calls(memory, asked)
    each = memories // people
    return {"memories": memories, "people": people, "each": each, "load_s": round(loaded, 1), **readings}


@contextmanager
def _open_url(store: str, folder: Path) -> Iterator[str]:
    if store == "sqlite":
        yield f"sqlite:///{folder / 'growth.db'}"
        return
    from pgserver.postgres_server import get_server

    server = get_server(folder / "server")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _text(number: int) -> str:
    noun, verb = _NOUNS[number % len(_NOUNS)], _VERBS[number // 7 % len(_VERBS)]
    return f"Somebody in {_PLACES[number // 5 % len(_PLACES)]} {verb} the {noun} number {number}"


def _fill(memory: Memory, memories: int, people: int) -> None:
    for start in range(0, memories, _BATCH):
        rows = range(start, min(memories, start + _BATCH))
        memory.add_many([{"messages": _text(at), "user_id": f"p{at % people}", "infer": False} for at in rows])


def _measure_calls(memory: Memory, people: list[str]) -> dict[str, Any]:
    numbers = iter(range(10_000_000, 20_000_000))
    kinds: dict[str, Callable[[str], object]] = {
        "search_new": lambda who: memory.search(_text(next(numbers)), user_id=who),
        "search": lambda who: memory.search(_text(next(numbers)), user_id=who),
        "context": lambda who: memory.context(f"Who paints the harbour number {next(numbers)}?", user_id=who),
        "add": lambda who: memory.add(_text(next(numbers)), user_id=who, infer=False),
        "consolidate": lambda who: memory.admin.consolidate(user_id=who),
    }
    answer: dict[str, Any] = {}
    for name, call in kinds.items():
        rounds = 1 if name in ("search_new", "consolidate") else 5
        seconds = [_time(call, who) for _ in range(rounds) for who in people]
        answer[f"{name}_cpu_ms"] = round(statistics.median(cpu for cpu, _ in seconds) * 1e3, 2)
        answer[f"{name}_ms"] = round(statistics.median(wall for _, wall in seconds) * 1e3, 2)
    return answer


def _time(call: Callable[[str], object], who: str) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    call(who)
    return time.process_time() - cpu, time.perf_counter() - wall


def format_table(rows: list[dict[str, Any]]) -> str:
    """Return the readings as a table: CPU time of the caller in milliseconds."""
    names = ("search_new", "search", "context", "add", "consolidate")
    lines = ["| memories | people | each | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|"]
    for row in sorted(rows, key=lambda one: (one["each"], one["memories"])):
        values = " | ".join(f"{row[f'{name}_cpu_ms']:.1f}" for name in names)
        lines.append(f"| {row['memories']:,} | {row['people']:,} | {row['each']:,} | {values} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
