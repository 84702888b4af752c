"""Measure the pages of the console over many memories: CPU time per page, and how much is sent.

::

    python -m benchmarks.console                 # 100,000 memories, under two minutes
    python -m benchmarks.console --size 10000
"""

from __future__ import annotations

import argparse
import gzip
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from starlette.testclient import TestClient

from memstone import Memory
from memstone.engine.access.console_access import create_console_link
from memstone.server.app import create_app

_PEOPLE: Final = 300
_BATCH: Final = 1_000
_CALLS: Final = 40
_WORDS: Final = """
tea coffee Oslo Lisbon bakery peanuts chess Japanese bicycle Patagonia window ramen astronomy cello hospital night
trains oat milk running Python Rust gardening pottery jazz door cats maps harbour marathon biologist violin
""".split()
_TYPED: Final = ("o", "os", "osl", "oslo", "oslo t", "oslo te", "oslo tea", "patag", "night tr", "zzz", "a", "maps cel")


def main() -> None:
    """Fill a store, open the console over it, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="how many memories")
    size = parser.parse_args().size
    with tempfile.TemporaryDirectory(prefix="memstone-console-") as folder, _console(Path(folder), size) as client:
        print(f"{size:,} memories of {_PEOPLE} people, CPU time of the whole process per request\n")
        print(f"{'page':<34}{'median ms':>10}{'worst ms':>10}{'KB':>8}")
        for label, path in _pages(client):
            _report(label, client, [path])
        console = client.app.state.console  # type: ignore[attr-defined]  # an application of ours
        _report("overview, counted again", client, ["/"], lambda: console.expire_figures("default"))
        _report("search as it is typed", client, [f"/console/memories?q={typed}" for typed in _TYPED])
        print(f"\nfirst page with all that it loads: {_first_load(client):,.0f} KB, compressed {_sent(client):,.0f} KB")


@contextmanager
def _console(folder: Path, size: int) -> Iterator[TestClient]:
    config: dict[str, Any] = {
        "store": {"url": f"sqlite:///{folder / 'memory.db'}"},
        "embedder": {"provider": "hash"},
        "server": {"rate": {"per_minute": 0}},
    }
    _fill(config, size)
    with TestClient(create_app(config)) as client:
        engine = client.app.state.memstone.memory.engine  # type: ignore[attr-defined]  # an application of ours
        link = client.portal.call(lambda: engine.run(create_console_link, minutes=10.0, session_hours=1.0))  # type: ignore[union-attr]  # it runs
        client.post("/console/sign-in", data={"link": link.token})
        yield client


def _fill(config: dict[str, Any], size: int) -> None:
    chance = random.Random(7)  # noqa: S311 - the same store in every run
    with Memory(config) as memory:
        for first in range(0, size, _BATCH):
            numbers = range(first, min(first + _BATCH, size))
            memory.add_many([_memory(chance, number) for number in numbers])


def _memory(chance: random.Random, number: int) -> dict[str, Any]:
    text = f"{' '.join(chance.choices(_WORDS, k=9))} {number:x}"
    return {"messages": text, "user_id": f"user-{chance.randrange(_PEOPLE)}", "infer": False}


def _pages(client: TestClient) -> list[tuple[str, str]]:
    page = client.get("/console/memories").text
    own = page.split('href="/console/memories/', 1)[1].split('"', 1)[0]
    older = page.split('rel="next" href="', 1)[1].split('"', 1)[0].replace("&amp;", "&")
    return [
        ("overview", "/"),
        ("memories", "/console/memories"),
        ("memories, second page", older),
        ("memories, in the middle", "/console/memories?at=a..50000"),
        ("memories of one person", "/console/memories?user=user-7"),
        ("memories, 100 on a page", "/console/memories?per=100"),
        ("one memory", f"/console/memories/{own}"),
        ("profile", "/console/profile?user=user-7"),
    ]


def _report(label: str, client: TestClient, paths: Sequence[str], prepare: Callable[[], None] = lambda: None) -> None:
    """Print what a page costs once it was asked for: what the first request loads or counts is not in it."""
    client.get(paths[0])
    times, sizes = [], []
    for number in range(_CALLS):
        prepare()
        began = time.process_time()
        answer = client.get(paths[number % len(paths)])
        times.append((time.process_time() - began) * 1_000)
        sizes.append(len(answer.content))
        assert answer.status_code == 200, answer.text
    print(f"{label:<34}{statistics.median(times):>10.1f}{max(times):>10.1f}{max(sizes) / 1_000:>8.0f}")


def _loaded(client: TestClient) -> list[bytes]:
    page = client.get("/")
    files = [part.split('"', 1)[0] for part in page.text.split('="/console/static/')[1:]]
    return [page.content, *(client.get(f"/console/static/{file}").content for file in dict.fromkeys(files))]


def _first_load(client: TestClient) -> float:
    return sum(map(len, _loaded(client))) / 1_000


def _sent(client: TestClient) -> float:
    page, *files = _loaded(client)
    return (len(page) + sum(len(gzip.compress(file)) for file in files)) / 1_000


if __name__ == "__main__":
    main()
