"""``python -m benchmarks.postgres``: nearest ten inside PostgreSQL, beside the same SQL by itself, and their recall."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg

from benchmarks.postgres.corpus import LARGE, TENANT, Corpus, Size, load
from benchmarks.postgres.measure import Product, Raw, Reading, compare, users
from benchmarks.speed.__main__ import _commit, _keep, _say
from retain.adapters.ledger import postgres_migrate
from retain.adapters.ledger.postgres_vectors import Graph
from retain.adapters.vectors import pg_hnsw

APP: Final = "app"
_EVER: Final = 10**9
# No parallel workers: their time could not be counted.
_SETTINGS: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "maintenance_work_mem": "'1GB'",
    "max_wal_size": "'8GB'",
    "max_parallel_workers_per_gather": "0",
}


def main() -> int:
    """Run; 1 when a recall is below 0.99 and ``--strict`` was given."""
    options = _options()
    size = Size(options.users, options.each, options.large, options.dim)
    with _server() as (url, app):
        tables = _measured(url, app, size, options)
    facts = {
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "memories": f"{size.users} users with {size.each:,} each, one with {size.large:,}; {size.dim} dimensions",
        "calls": str(options.calls),
    }
    text = _report(facts, tables)
    if not options.dry:
        _keep(f"postgres-{facts['date']}-{facts['commit']}", text, {"facts": facts, "results": _plain(tables)})
    sys.stdout.write(text)
    recalls = [np.mean(one.recall) for found in tables.values() for one in found if one.name.startswith("Retain")]
    return 1 if options.strict and min(recalls) < 0.99 else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.postgres", description=__doc__)
    parser.add_argument("--users", type=int, default=200, help="how many users with a few memories")
    parser.add_argument("--each", type=int, default=1000, help="how many each of them has")
    parser.add_argument("--large", type=int, default=50_000, help="how many the one with many has")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--halfvec", action="store_true", help="build the index in 16 bits")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a recall is below 0.99")
    return parser.parse_args()


def _measured(url: str, app: str, size: Size, options: argparse.Namespace) -> dict[str, list[Reading]]:
    corpus = Corpus.of(size)
    _say("loading")
    load(url, corpus)
    tables: dict[str, list[Reading]] = {}
    exact = {
        "Retain, compared in the database": _Exactly(app, corpus),
        "SQL": Raw(url, corpus),
        "Retain, held in this process": Product(app, corpus, in_process_rows=_EVER, memory_mb=4096),
    }
    for label, user in users(corpus).items():
        for facts in (False, True):
            _say(f"{label}, one by one")
            name = f"{label}{', facts only' if facts else ''}, one by one"
            tables[name] = compare(corpus, user, exact, facts=facts, calls=max(12, options.calls // 3))
    _say("building the index")
    pg_hnsw.build(url, [TENANT], pg_hnsw.Build(half=options.halfvec))
    graph = Graph.of(size.signature, half=options.halfvec)
    by_index = {
        "Retain, by the index": Product(app, corpus, in_process_rows=0, exact_rows=0),
        "SQL": Raw(url, corpus, graph),
    }
    for facts in (False, True):
        _say("by the index")
        name = f"the large one{', facts only' if facts else ''}, by the index"
        tables[name] = compare(corpus, LARGE, by_index, facts=facts, calls=options.calls)
    return tables


class _Exactly(Product):
    """The product where nothing is held in the process and no index is there."""

    def __init__(self, url: str, corpus: Corpus) -> None:
        super().__init__(url, corpus, in_process_rows=0)
        self.index._fits = lambda *_: False  # type: ignore[method-assign]  # noqa: SLF001 - else it would be held


def _report(facts: dict[str, str], tables: dict[str, list[Reading]]) -> str:
    lines = [f"# Search inside PostgreSQL at {facts['commit']}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += ["", "Milliseconds; the ratios are to SQL by itself, asked in turns with it.", ""]
    lines += ["| question | by | p50 | ratio | CPU | ratio | recall of 10 |", "|---|---|--:|--:|--:|--:|--:|"]
    for question, readings in tables.items():
        raw = next(one for one in readings if one.name == "SQL")
        lines += [_line(question, one, raw) for one in readings]
    return "\n".join(lines) + "\n"


def _line(question: str, one: Reading, raw: Reading) -> str:
    wall, cpu = one.median("wall"), one.cpu
    ratios = f"{wall:.2f} | {wall / raw.median('wall'):.2f} | {cpu:.2f} | {cpu / raw.cpu:.2f}"
    return f"| {question} | {one.name} | {ratios} | {np.mean(one.recall):.4f} |"


def _plain(tables: dict[str, list[Reading]]) -> dict[str, Any]:
    return {name: [asdict(one) for one in found] for name, found in tables.items()}


@contextmanager
def _server() -> Iterator[tuple[str, str]]:
    """A server of its own with the schema, in memory where there is such a place; gives two ways to connect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own, about folders of this machine
        from pgserver.postgres_server import get_server
    memory = Path("/dev/shm")  # noqa: S108 - a folder with a random name is made in it
    with tempfile.TemporaryDirectory(prefix="retain-bench-", dir=memory if memory.is_dir() else None) as folder:
        server: Any = get_server(Path(folder) / "data", cleanup_mode=None)
        commands: Any = import_module("pgserver._commands")
        url = str(server.get_uri("postgres"))
        try:
            _prepare(url)
            yield url, url.replace("postgres:@", f"{APP}@", 1)
        finally:
            commands.pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=server.pgdata, user=server.system_user)


def _prepare(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in _SETTINGS.items():
            connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(f"CREATE ROLE {APP} LOGIN")
        postgres_migrate.migrate(connection)
        postgres_migrate.grant(connection, APP)


if __name__ == "__main__":
    sys.exit(main())
