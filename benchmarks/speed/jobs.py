"""What a child process does with one system."""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.speed import measure
from benchmarks.speed.corpus import Item, items, queries
from benchmarks.speed.systems import LIMIT, Opens, System
from benchmarks.speed.vectors import VectorTable, brute_force, stack

Answer = dict[str, Any]

BATCH: Final = 500
QUERIES: Final = 300
SINGLE_ADDS: Final = 300
BATCHES: Final = 3
EXACT_QUERIES: Final = 25
COMMIT_PROBES: Final = 5
NEAR_TIE: Final = 1e-6
SPREAD: Final = 10_000_000
"""Texts added on top of a filled store are taken from this far into the corpus."""


def fill(opens: Opens, job: Mapping[str, Any]) -> Answer:
    """Fill a store and leave it on disk."""
    directory, size, users = Path(job["directory"]), int(job["size"]), int(job["users"])
    vectors = VectorTable()
    system = opens(directory, vectors)
    spent = _fill(system, vectors, size, users)
    system.close()
    return {"fill_cpu_s": spent, "stored_mb": measure.directory_mb(directory)}


def _fill(system: System, vectors: VectorTable, size: int, users: int) -> float:
    spent = 0.0
    for start in range(0, size, BATCH):
        chunk = items(start, min(size, start + BATCH), users)
        vectors.learn(item.text for item in chunk)
        before = time.process_time()
        system.add_many(chunk)
        spent += time.process_time() - before
        vectors.forget()
    return spent


def calls(opens: Opens, job: Mapping[str, Any]) -> Answer:
    """Time every kind of call on a filled store. Searches come first, so that they see its exact size."""
    directory, size, users, budget = Path(job["directory"]), int(job["size"]), int(job["users"]), float(job["budget"])
    vectors = VectorTable()
    asked = queries(QUERIES, size, users)
    vectors.learn(query.text for query in asked)
    system = opens(directory, vectors)
    measure.warm_up(system.search, _first_of_each_user(asked), budget=budget)
    answer: Answer = {"search": _timed(system.search, asked, budget)}
    answer["exact"] = _exactness(system, asked[:EXACT_QUERIES], size, users)
    answer |= _writes_and_reads(system, vectors, users, budget)
    answer["embedded_late"] = vectors.late
    system.close()
    return answer


def _first_of_each_user(asked: Sequence[Item]) -> list[Item]:
    """Return what is asked before the clock counts, so that what is loaded lazily is there."""
    return list({query.user: query for query in asked}.values())


def _timed(call: Callable[[Any], object], inputs: Sequence[Any], budget: float) -> dict[str, float]:
    return measure.time_calls(call, inputs, budget=budget).as_dict()


def _exactness(system: System, asked: Sequence[Item], size: int, users: int) -> Answer | None:
    """Return how many vector searches give what comparing with every vector gives."""
    texts: dict[str, list[str]] = {}
    for item in items(0, size, users):
        texts.setdefault(item.user, []).append(item.text)
    owned = {user: (texts[user], stack(texts[user])) for user in {query.user for query in asked}}
    equal = 0
    for query in asked:
        found = system.nearest(query)
        if found is None:
            return None
        equal += same_ranking(found, brute_force(*owned[query.user], query.text, 2 * LIMIT))
    return {"equal": equal, "of": len(asked)}


def same_ranking(found: Sequence[str], expected: Sequence[tuple[str, float]]) -> bool:
    """Return whether a ranking is the true one; texts closer than float32 can tell may change places."""
    cosine = dict(expected)
    if len(found) != min(LIMIT, len(expected)) or len(set(found)) != len(found):
        return False
    true_cosines = [value for _, value in expected]
    return all(
        text in cosine and abs(cosine[text] - true) <= NEAR_TIE for text, true in zip(found, true_cosines, strict=False)
    )


def _writes_and_reads(system: System, vectors: VectorTable, users: int, budget: float) -> Answer:
    fresh = items(SPREAD, SPREAD + SINGLE_ADDS, users)
    vectors.learn(item.text for item in fresh)
    ids: list[str] = []
    answer: Answer = {"add": _timed(lambda item: ids.append(system.add(item)), fresh, budget)}
    answer["get"] = _timed(system.get, _repeated(ids, 2000), budget)
    answer["history"] = _timed(system.history, _repeated(ids, 2000), budget)
    first = SPREAD + SINGLE_ADDS
    batches = [items(at, at + BATCH, 1) for at in range(first, first + BATCHES * BATCH, BATCH)]
    vectors.learn(item.text for batch in batches for item in batch)
    answer["batch"] = _timed(system.add_many, batches, budget)
    return answer


def _repeated(ids: Sequence[str], count: int) -> list[str]:
    return list(itertools.islice(itertools.cycle(ids), count))


def reopen(opens: Opens, job: Mapping[str, Any]) -> Answer:
    """Return the first search of a fresh process, and what the process then holds in memory.

    A tiny store is opened and searched before, so that what is imported on first use is not counted.
    """
    vectors = VectorTable()
    vectors.learn_packed(job["vectors"])
    asked = [Item(**query) for query in job["queries"]]
    tiny = opens(Path(job["tiny"]), vectors)
    tiny.search(asked[0])
    tiny.close()
    opened: list[System] = []
    open_cpu, open_wall = measure.cpu_and_wall_ms(lambda: opened.append(opens(Path(job["directory"]), vectors)))
    search_cpu, search_wall = measure.cpu_and_wall_ms(lambda: opened[0].search(asked[0]))
    for query in asked[1:]:
        opened[0].search(query)
    rss = measure.resident_mb()
    opened[0].close()
    return {
        "first_search_cpu_ms": open_cpu + search_cpu,
        "first_search_wall_ms": open_wall + search_wall,
        "of_which_open_cpu_ms": open_cpu,
        "rss_mb": rss,
    }


def threads(opens: Opens, job: Mapping[str, Any]) -> Answer:
    """Return the searches per second of one thread and of eight."""
    size, users = int(job["size"]), int(job["users"])
    vectors = VectorTable()
    asked = queries(QUERIES, size, users)
    vectors.learn(query.text for query in asked)
    system = opens(Path(job["directory"]), vectors)
    measure.warm_up(system.search, _first_of_each_user(asked), budget=float(job["budget"]))
    rates: dict[int, list[float]] = {1: [], 8: []}
    seconds = float(job["budget"]) / 2
    for _ in range(5):  # in turn, so that whatever else the machine does meets both
        for count, seen in rates.items():
            seen.append(measure.calls_per_second(system.search, asked, threads=count, seconds=seconds))
    system.close()
    one, eight = median(rates[1]), median(rates[8])
    return {"one": one, "eight": eight, "eight_to_one": eight / one}


def disk(opens: Opens, job: Mapping[str, Any]) -> Answer:
    """Return what one add takes on a real disk, where a commit waits for it, and how many commits it makes."""
    directory = Path(job["directory"])
    vectors = VectorTable()
    fresh = items(0, SINGLE_ADDS, 1)
    vectors.learn(item.text for item in fresh)
    system = opens(directory, vectors)
    timing = _timed(system.add, fresh[COMMIT_PROBES:], float(job["budget"]))
    commits = _commits(system, fresh[:COMMIT_PROBES], directory)
    system.close()
    return {"add": timing, "commits_per_add": commits}


def _commits(system: System, probes: Sequence[Item], directory: Path) -> float | None:
    """Count the commits in the write-ahead log; None for a system that keeps none."""
    logs = list(directory.rglob("*-wal"))
    if not logs:
        return None
    for log in logs:
        with sqlite3.connect(str(log).removesuffix("-wal")) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
    for item in probes:
        system.add(item)
    return sum(measure.count_commits(log.read_bytes()) for log in logs) / len(probes)


JOBS: Final[dict[str, Callable[[Opens, Mapping[str, Any]], Answer]]] = {
    "fill": fill,
    "calls": calls,
    "reopen": reopen,
    "threads": threads,
    "disk": disk,
}
