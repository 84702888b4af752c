"""Compare stores with their vendors' clients, and what they find with an exact search.

``python -m benchmarks.stores`` measures what can be started here: Redis and FAISS from their packages, Chroma where it
is installed, Elasticsearch and OpenSearch where there is Java, Weaviate where
``MEMSTONE_WEAVIATE_SERVER`` names its program; the others over a fake, which says nothing about what is found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks.stores import clients
from benchmarks.stores.clients import NAME, VendorClient
from benchmarks.stores.fake_server import KEY
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.model.query import Condition, Op
from memstone.ports.index import Point, VectorStore
from memstone.registry import load_adapter

ROOT: Final = Path(__file__).resolve().parents[2]
DIMENSION: Final = 384
USERS: Final = 20
SEARCHES: Final = 60
WRITES: Final = 200
HEAD: Final = (
    "| store | server | search, ms | its client | ratio | upsert, ms | its client | ratio | 10 nearest | filtered |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Milliseconds of processor time of one search and of one upsert of 200 points, ours and the vendor's."""

    store: str
    server: str
    points: int
    search_ms: float
    vendor_search_ms: float
    upsert_ms: float
    vendor_upsert_ms: float
    overlap: float
    filters_right: float

    def format_row(self) -> str:
        """Return a row of the table."""
        times = (self.search_ms, self.vendor_search_ms), (self.upsert_ms, self.vendor_upsert_ms)
        cells = [cell for ours, vendor in times for cell in _format_times(ours, vendor)]
        found = [f"{self.overlap:.3f}", f"{self.filters_right:.0%}"]
        return f"| {' | '.join([f'`{self.store}`', self.server, *cells, *found])} |"


def _format_times(ours: float, vendor: float) -> tuple[str, str, str]:
    return f"{ours:.2f}", f"{vendor:.2f}" if vendor else "", f"{ours / vendor:.2f}" if vendor else ""


def merge_rounds(rounds: Sequence[Measurement]) -> Measurement:
    """Return the median of each time; of what was found, the worst."""
    times = ("search_ms", "vendor_search_ms", "upsert_ms", "vendor_upsert_ms")
    medians = {name: round(median(getattr(one, name) for one in rounds), 3) for name in times}
    worst = {name: min(getattr(one, name) for one in rounds) for name in ("overlap", "filters_right")}
    return replace(rounds[0], **medians, **worst)


@dataclass(frozen=True, slots=True)
class _Case:
    """A store to measure: how it is started, and how its vendor's client is made."""

    name: str
    server: str
    start: Callable[[], Any]
    options: Callable[[str], dict[str, Any]]
    vendor: Callable[[str], VendorClient] | None
    points: int = 5_000


def make_points(count: int) -> tuple[list[Point], Any]:
    """Return points with directions of their own, and the vectors as a matrix."""
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((count, DIMENSION)).astype("<f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    points = [
        Point(f"{n:06}", row.tolist(), {"tenant_id": "t", "user_id": f"u{n % USERS}", "seq": n, "layer": "fact"})
        for n, row in enumerate(vectors)
    ]
    return points, vectors


def measure(case: _Case, io: BlockingIo) -> Measurement:
    """Fill the store, then time searches and upserts of both, by turns."""
    points, vectors = make_points(case.points)
    with case.start() as url:
        cls = load_adapter("vectors", case.name)
        store: VectorStore = cls(cls.Config.model_validate(case.options(url)), io)
        drive(store.reset())
        drive(store.create(NAME, DIMENSION))
        for at in range(0, len(points), WRITES):
            drive(store.upsert(NAME, points[at : at + WRITES]))
        vendor = case.vendor(url) if case.vendor is not None else None
        overlap, right = _check_hits(store, vectors)
        search = _time_searches(store, vendor, points)
        upsert = _time_upserts(store, vendor, points[:WRITES])
        drive(store.close())
    return Measurement(case.name, case.server, case.points, *search, *upsert, overlap, right)


def _check_hits(store: VectorStore, vectors: Any) -> tuple[float, float]:
    """Return how many of the exact ten nearest were found, and whether every hit was one the filter allows."""
    chance = np.random.default_rng(8)
    shared = right = total = 0
    for number in range(SEARCHES):
        asked = chance.standard_normal(DIMENSION)
        user = number % USERS
        own = np.arange(user, len(vectors), USERS)
        exact = own[np.argsort(-(vectors[own] @ asked))[:10]]
        hits = drive(store.search(NAME, asked.tolist(), 10, Condition("user_id", Op.EQ, f"u{user}")))
        shared += len({int(hit.id) for hit in hits} & set(exact.tolist()))
        right += sum(hit.payload["user_id"] == f"u{user}" for hit in hits)
        total += len(hits)
    return shared / (10 * SEARCHES), right / max(1, total)


def _time_searches(store: VectorStore, vendor: VendorClient | None, points: Any) -> tuple[float, float]:
    if vendor is not None:
        if hasattr(vendor, "make_index"):
            vendor.make_index(DIMENSION)
        for at in range(0, len(points), WRITES):
            vendor.upsert(points[at : at + WRITES])
    chance = np.random.default_rng(9)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(SEARCHES):
        asked, user = chance.standard_normal(DIMENSION).tolist(), f"u{number % USERS}"
        where = Condition("user_id", Op.EQ, user)
        ours.append(_cpu(partial(_search, store, asked, where)))
        if vendor is not None:
            theirs.append(_cpu(partial(vendor.search, asked, user)))
    return _median_ms(ours), _median_ms(theirs)


def _search(store: VectorStore, asked: list[float], where: Condition) -> None:
    drive(store.search(NAME, asked, 10, where))


def _time_upserts(store: VectorStore, vendor: VendorClient | None, points: Any) -> tuple[float, float]:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(9):
        ours.append(_cpu(lambda: drive(store.upsert(NAME, points))))
        if vendor is not None:
            theirs.append(_cpu(lambda: vendor.upsert(points)))
    return _median_ms(ours), _median_ms(theirs)


def _cpu(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _median_ms(seconds: list[float]) -> float:
    return round(1_000 * float(np.median(seconds)), 3) if seconds else 0.0


# --- what is measured -------------------------------------------------------------------------------------------------


@contextmanager
def _run_fake(name: str) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.stores.fake_server", name]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def _run_nothing() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield folder


@contextmanager
def _run_postgres() -> Iterator[str]:
    from tests.postgres.server import running

    with running() as server:
        yield server.url()


def list_cases() -> list[_Case]:
    """Return what can be measured here."""
    from tests.stores.redis_server import run_redis

    key = {"api_key": KEY}
    fakes = [
        _Case(
            "qdrant",
            "fake",
            lambda: _run_fake("qdrant"),
            lambda url: {"url": url, **key},
            lambda url: clients.QdrantVendor(url, KEY),
            200,
        ),
        _Case(
            "pinecone",
            "fake",
            lambda: _run_fake("pinecone"),
            lambda url: {"url": url, **key},
            lambda url: clients.PineconeVendor(url, KEY, DIMENSION),
            200,
        ),
        _Case(
            "azure_ai_search",
            "fake",
            lambda: _run_fake("azure"),
            lambda url: {"url": url, **key},
            lambda url: clients.AzureVendor(url, KEY),
            200,
        ),
    ]
    local = [
        _Case("redis", "real", run_redis, lambda url: {"url": url}, lambda url: clients.RedisVendor(url, "")),
        _Case("faiss", "in process", _run_nothing, lambda url: {"path": url}, None),
    ]
    return [*local, *fakes, *_list_servers()]


def _list_servers() -> list[_Case]:
    from importlib.util import find_spec

    from tests.stores import elasticsearch_server, opensearch_server, weaviate_server
    from tests.stores.free_port import free_port

    found: list[_Case] = []
    if find_spec("milvus_lite"):
        found.append(_Case("milvus", "in process", _run_nothing, lambda folder: {"url": f"{folder}/bench.db"}, None))
    if find_spec("pgserver"):
        found.append(_Case("pgvector", "real", _run_postgres, lambda url: {"url": url}, None))
    if elasticsearch_server.can_run_elasticsearch():  # its client in the newest version does not speak to this server
        start = elasticsearch_server.run_elasticsearch
        found.append(_Case("elasticsearch", "real", start, lambda url: {"url": url}, None))
    if opensearch_server.can_run_opensearch():
        found.append(
            _Case(
                "opensearch",
                "real",
                opensearch_server.run_opensearch,
                lambda url: {"url": url},
                clients.OpenSearchVendor,
            )
        )
    if weaviate_server.PROGRAM:
        port = free_port()
        found.append(
            _Case(
                "weaviate",
                "real",
                lambda: weaviate_server.run_weaviate(port),
                lambda url: {"url": url, "api_key": weaviate_server.KEY},
                lambda url: clients.WeaviateVendor(url, weaviate_server.KEY, port),
            )
        )
    if find_spec("chromadb"):
        from tests.stores.chroma_server import run_chroma

        found.append(
            _Case("chroma", "real", run_chroma, lambda url: {"url": url}, lambda url: clients.ChromaVendor(url, ""))
        )
    return found


def main() -> None:
    """Measure, print the table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="stores to measure, separated by commas")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    parser.add_argument("--rounds", type=int, default=3, help="how often each store is measured, all by turns")
    chosen = parser.parse_args()
    wanted = set(chosen.only.split(",")) if chosen.only else set()
    cases = [case for case in list_cases() if not wanted or case.name in wanted]
    io = BlockingIo()
    rounds = [[_measure_aloud(case, io) for case in cases] for _ in range(chosen.rounds)]
    drive(io.close())
    if not chosen.dry:
        _keep([merge_rounds(of_store) for of_store in zip(*rounds, strict=True)])


def _measure_aloud(case: _Case, io: BlockingIo) -> Measurement:
    found = measure(case, io)
    print(found.format_row(), flush=True)
    return found


def _keep(found: list[Measurement]) -> None:
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - the usual git
    folder = ROOT / "benchmarks" / "results"
    for old in folder.glob("stores-*"):
        old.unlink()
    place = folder / f"stores-{datetime.now(UTC).date().isoformat()}-{commit}"
    place.with_suffix(".json").write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", "utf-8")
    rows = [one.format_row() for one in sorted(found, key=lambda one: one.store)]
    place.with_suffix(".md").write_text("\n".join([f"# Vector stores, {commit}", "", *HEAD, *rows]) + "\n", "utf-8")
    print(place.relative_to(ROOT))


if __name__ == "__main__":
    main()
