"""Compute from measurements how many nodes a load needs, how evenly they are filled, and what moves with one more.

``python -m benchmarks.postgres.scaling`` prints the tables of ``docs/scaling.md``. ``--write`` writes them into the
page, and ``--check`` fails if the page has other ones. Every run gives the same numbers: the tenants are drawn with a
fixed seed, and everything else is arithmetic over ``benchmarks/results/scaling.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

_ROOT: Final = Path(__file__).resolve().parents[2]
_MEASURED: Final = _ROOT / "benchmarks" / "results" / "scaling.json"
_PAGE: Final = _ROOT / "docs" / "scaling.md"
_BEGIN, _END = "<!-- computed -->", "<!-- /computed -->"
_GB: Final = 1e9

# A usual size of a rented node, and how full and how busy it may become.
CORES: Final = 16
RAM_GB: Final = 64
DISK_GB: Final = 2_000
BUSY: Final = 0.6
FULL: Final = 0.7
GRAPH_BYTES: Final = 1.3
"""An index over vectors contains a copy of them, and edges of about a third of their size."""
_WRITERS: Final = {
    "one tenant, turns": "one tenant",
    "one tenant, no turns": "one tenant, if writers did not take turns",
    "four tenants, turns": "four tenants",
    "four tenants, no turns": "four tenants, if writers did not take turns",
    "four tenants, queued and called": "four tenants, learning is queued and workers are notified",
    "four tenants, queued and not called": "four tenants, learning is queued and workers are not notified",
}
"""What the page calls the measured runs."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What one memory and one search cost a node, as measured."""

    bytes_a_memory: int
    vector_bytes: int
    add_ms: float
    search_ms: float

    @classmethod
    def of(cls, found: dict[str, Any], dim: int) -> Costs:
        """Return the measured figures with vectors of another dimension: only their bytes depend on it."""
        plain = found["bytes_a_memory"] - found["bytes_by_table"].get("vectors", 0)
        vector = 4 * dim + 60  # its row and its place in the primary key
        return cls(plain + vector, 4 * dim, found["add"]["server_cpu_ms"], found["search"]["server_cpu_ms"])


@dataclass(frozen=True, slots=True)
class Load:
    """Who uses it: tenants of very different sizes, and what they do in the busiest minute."""

    tenants: int
    memories: int
    searches_a_second: float
    adds_a_second: float

    def sizes(self) -> Any:
        """Return the share of every tenant: a few are large, most are small (log-normal, fixed seed)."""
        drawn = np.random.default_rng(7).lognormal(sigma=1.6, size=self.tenants)
        return drawn / drawn.sum()


def place(tenant: int, nodes: int, shards: int = 4096) -> int:
    """Return the node of a tenant: it hashes to one of many shards, and shards are dealt to nodes (rendezvous)."""
    return _node_of(_hash(f"t{tenant}") % shards, nodes)


def _node_of(shard: int, nodes: int) -> int:
    return max(range(nodes), key=lambda node: _hash(f"{shard}/{node}"))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def nodes_needed(costs: Costs, load: Load) -> tuple[int, dict[str, float]]:
    """Return how many nodes carry a load, and what each of the three things alone would need."""
    disk = load.memories * costs.bytes_a_memory / _GB / (DISK_GB * FULL)
    cpu = (load.searches_a_second * costs.search_ms + load.adds_a_second * costs.add_ms) / 1000 / (CORES * BUSY)
    hot = load.memories * costs.bytes_a_memory * 0.2 / _GB / (RAM_GB * FULL)  # a fifth of it is asked for in a day
    parts = {"disk": disk, "CPU": cpu, "memory": hot}
    return max(1, int(np.ceil(max(parts.values()) * 1.15))), parts  # 15 %: hashing is not even


def evenness(load: Load, nodes: int) -> tuple[float, float]:
    """Return the fullest node against the mean, and the largest tenant against it."""
    sizes, current = load.sizes(), np.zeros(nodes)
    for tenant, size in enumerate(sizes):
        current[place(tenant, nodes)] += size
    return float(current.max() / current.mean()), float(sizes.max() / current.mean())


def moved(load: Load, nodes: int) -> float:
    """Return the share of all memories that moves when one node is added."""
    sizes = load.sizes()
    return float(sum(size for tenant, size in enumerate(sizes) if place(tenant, nodes) != place(tenant, nodes + 1)))


LOADS: Final = (
    Load(200, 10_000_000, 200, 20),
    Load(2_000, 100_000_000, 2_000, 200),
    Load(10_000, 1_000_000_000, 20_000, 2_000),
)


def report(found: dict[str, Any]) -> str:
    """Return all tables."""
    return "\n".join(
        (*_measured_table(found), "", *_turns(found), "", *_nodes(found), "", *_evenness(), "", *_vectors(found))
    )


def _measured_table(found: dict[str, Any]) -> Sequence[str]:
    rows = [
        "| cost of one memory or one call | bytes | CPU of the server | CPU of the caller |",
        "|---|---|---|---|",
        f"| a memory on disk, with all indexes and its history | {found['bytes_a_memory']:,} | | |",
    ]
    for name, label in (("add", "an add (stored as it is)"), ("search", "a search (text and vectors)")):
        cost = found[name]
        rows.append(f"| {label} | | {cost['server_cpu_ms']} ms | {cost['client_cpu_ms']} ms |")
    return rows


def _turns(found: dict[str, Any]) -> Sequence[str]:
    rows = [f"| {found['processes']} processes that write | adds per second |", "|---|---|"]
    return [*rows, *(f"| {_WRITERS[name]} | {rate:,.0f} |" for name, rate in found["writers"].items())]


def _nodes(found: dict[str, Any]) -> Sequence[str]:
    rows = [
        "| memories | tenants | searches per second | adds per second | disk in total | nodes | limited by |",
        "|---|---|---|---|---|---|---|",
    ]
    costs = Costs.of(found, 256)
    for load in LOADS:
        count, parts = nodes_needed(costs, load)
        disk = load.memories * costs.bytes_a_memory / _GB
        decides = max(parts, key=lambda name: parts[name])
        rows.append(
            f"| {load.memories:,} | {load.tenants:,} | {load.searches_a_second:,.0f} | {load.adds_a_second:,.0f} "
            f"| {disk:,.0f} GB | {count} | {decides} |"
        )
    return rows


def _evenness() -> Sequence[str]:
    rows = [
        "| tenants | nodes | fullest node / mean node | largest tenant / mean node | moves if you add a node |",
        "|---|---|---|---|---|",
    ]
    for tenants, nodes in ((200, 2), (200, 4), (2_000, 4), (2_000, 16), (10_000, 16)):
        load = Load(tenants, 0, 0, 0)
        fullest, largest = evenness(load, nodes)
        rows.append(f"| {tenants:,} | {nodes} | {fullest:.2f} | {largest:.2f} | {moved(load, nodes):.0%} |")
    return rows


def _vectors(found: dict[str, Any]) -> Sequence[str]:
    """Return how many bytes a search over so many vectors reads, and what a graph index over them would take."""
    rows = [
        "| vectors in one search | dimensions | bytes to read | memory for a graph index |",
        "|---|---|---|---|",
    ]
    for count, dim in ((1_000, 256), (100_000, 256), (1_000_000, 256), (10_000_000, 256), (10_000_000, 1_024)):
        costs = Costs.of(found, dim)
        graph = count * costs.vector_bytes * GRAPH_BYTES / _GB
        rows.append(f"| {count:,} | {dim:,} | {count * costs.vector_bytes / 1e6:,.0f} MB | {graph:,.1f} GB |")
    return rows


def main() -> int:
    """Print, write or check."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true")
    options.add_argument("--check", action="store_true")
    value = options.parse_args()
    text = report(json.loads(_MEASURED.read_text("utf-8")))
    if value.write or value.check:
        page = _PAGE.read_text("utf-8")
        before, _, rest = page.partition(_BEGIN)
        after = rest.partition(_END)[2]
        fresh = f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}"
        if value.check:
            return 0 if fresh == page else 1
        _PAGE.write_text(fresh, "utf-8")
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
