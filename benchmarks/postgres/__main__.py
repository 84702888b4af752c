"""``python -m benchmarks.postgres``: search on PostgreSQL beside the same SQL by itself and a peer, and its recall."""

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
from typing import Any, Final, TypeAlias

import numpy as np
import psycopg

from benchmarks.postgres.corpus import LARGE, TENANT, Corpus, Size, load
from benchmarks.postgres.measure import LIMIT, Asked, Product, Raw, Reading, Searching, compare, users
from benchmarks.postgres.peer import Peer
from benchmarks.speed.__main__ import _commit, _keep, _say
from memstone.adapters.postgres import migrations
from memstone.adapters.postgres.vectors import HnswIndex
from memstone.adapters.vectors import postgres

APP: Final = "app"
_EVER: Final = 10**9
# No parallel workers: their time could not be counted.
_SETTINGS: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "maintenance_work_mem": "'1GB'",
    "shared_buffers": "'2GB'",
    "max_parallel_maintenance_workers": "4",
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
        "calls": f"{options.calls}, each another question; drawn by {options.questions}",
    }
    text = _report(facts, tables)
    if not options.dry:
        _keep(f"postgres-{facts['date']}-{facts['commit']}", text, {"facts": facts, "results": _plain(tables)})
    sys.stdout.write(text)
    judged = [one for found in tables.values() for one in found if one.name.startswith("Memstone, ")]
    recalls = [np.mean(one.recall) for one in judged if one.name != "Memstone, search()"]
    return 1 if options.strict and min(recalls) < 0.99 else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.postgres", description=__doc__)
    parser.add_argument("--users", type=int, default=200, help="how many users with a few memories")
    parser.add_argument("--each", type=int, default=1000, help="how many each of them has")
    parser.add_argument("--large", type=int, default=50_000, help="how many the one with many has")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--calls", type=int, default=200, help="questions; a third of them where all is compared")
    parser.add_argument("--questions", type=int, default=2026, help="another number asks other questions")
    parser.add_argument("--no-peer", action="store_true", help="leave out mem0 on pgvector")
    parser.add_argument("--halfvec", action="store_true", help="build the index in 16 bits")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a recall is below 0.99")
    return parser.parse_args()


Tables: TypeAlias = dict[str, list[Reading]]


def _measured(url: str, app: str, size: Size, options: argparse.Namespace) -> Tables:
    corpus = Corpus.of(size, options.calls, options.questions)
    _say("loading")
    load(url, corpus)
    tables = _one_by_one(url, app, corpus, max(12, options.calls // 3))
    with _peer(url, corpus, wanted=not options.no_peer) as peer:
        _say("building the index")
        postgres.build_indexes(url, [TENANT], postgres.Build(half=options.halfvec))
        if peer:
            _say("waiting for the peer")
            peer.filled()
        asked = {"mem0, its pgvector store": Asked(peer, "store")} if peer else {}
        full = {"mem0, search()": Asked(peer, "search")} if peer else {}
        graph = HnswIndex.of(size.signature, half=options.halfvec)
        by_index = {
            "Memstone, by the index": Product(app, corpus, in_process_rows=0, exact_rows=0),
            "SQL": Raw(url, corpus, graph, spare=LIMIT),
            "SQL, only ten asked for": Raw(url, corpus, graph),
            **asked,
        }
        ways = {"Memstone, as it comes": Product(app, corpus), "SQL": Raw(url, corpus), **asked}
        searching = {"Memstone, search()": Searching(app, corpus), **full}
        for facts in (False, True):
            tables |= _table(corpus, LARGE, by_index, "by the index", facts=facts, calls=options.calls)
        for user in users(corpus).values():
            tables |= _table(corpus, user, ways, "as it comes", facts=True, calls=max(12, options.calls // 3))
            tables |= _table(corpus, user, searching, "search()", facts=False, calls=max(12, options.calls // 3))
    return tables


def _one_by_one(url: str, app: str, corpus: Corpus, calls: int) -> Tables:
    """Measure before there is an index."""
    exact = {
        "Memstone, compared in the database": _Exactly(app, corpus),
        "SQL": Raw(url, corpus),
        "Memstone, held in this process": Product(app, corpus, in_process_rows=_EVER, memory_mb=4096),
    }
    tables: Tables = {}
    for user in users(corpus).values():
        for facts in (False, True):
            tables |= _table(corpus, user, exact, "one by one", facts=facts, calls=calls)
    return tables


def _table(corpus: Corpus, user: str, ways: dict[str, Any], how: str, *, facts: bool, calls: int) -> Tables:
    who = "the large one" if user == LARGE else "one of many"
    name = f"{who}{', facts only' if facts else ''}, {how}"
    found = {name: compare(corpus, user, ways, facts=facts, calls=calls)}
    _say("\n".join(_lines(found)))
    return found


@contextmanager
def _peer(url: str, corpus: Corpus, *, wanted: bool) -> Iterator[Peer | None]:
    """Start the peer with the same memories, in a database of its own on the same server."""
    if not wanted:
        yield None
        return
    _say("filling the peer")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE peer")
    with tempfile.TemporaryDirectory(prefix="memstone-bench-") as folder:
        made = Peer(url.replace("/postgres?", "/peer?"), corpus, Path(folder))
        try:
            yield made
        finally:
            made.close()


class _Exactly(Product):
    """The product where nothing is held in the process and no index is there."""

    def __init__(self, url: str, corpus: Corpus) -> None:
        super().__init__(url, corpus, in_process_rows=0)
        self.index._fits = lambda *_: False  # type: ignore[method-assign]  # noqa: SLF001 - else it would be held


def _report(facts: dict[str, str], tables: Tables) -> str:
    lines = [f"# Search inside PostgreSQL at {facts['commit']}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += ["", "Milliseconds; the ratios are to SQL by itself, asked in turns with it.", ""]
    lines += ["| question | by | p50 | ratio | CPU | ratio | recall of 10 |", "|---|---|--:|--:|--:|--:|--:|"]
    return "\n".join([*lines, *_lines(tables)]) + "\n"


def _lines(tables: Tables) -> list[str]:
    lines: list[str] = []
    for question, readings in tables.items():
        beside = next((one for one in readings if one.name == "SQL"), None)
        lines += [_line(question, one, beside) for one in readings]
    return lines


def _line(question: str, one: Reading, beside: Reading | None) -> str:
    wall, cpu = one.median("wall"), one.cpu
    ratios = (f"{wall / beside.median('wall'):.2f}", f"{cpu / beside.cpu:.2f}") if beside else ("", "")
    recall = f"{np.mean(one.recall):.4f}" if beside else ""
    return f"| {question} | {one.name} | {wall:.2f} | {ratios[0]} | {cpu:.2f} | {ratios[1]} | {recall} |"


def _plain(tables: Tables) -> dict[str, Any]:
    return {name: [asdict(one) for one in found] for name, found in tables.items()}


@contextmanager
def _server() -> Iterator[tuple[str, str]]:
    """Start a server with the schema, in memory where there is such a place; yield two ways to connect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own, about folders of this machine
        from pgserver.postgres_server import get_server
    memory = Path("/dev/shm")  # noqa: S108 - a folder with a random name is made in it
    with tempfile.TemporaryDirectory(prefix="memstone-bench-", dir=memory if memory.is_dir() else None) as folder:
        server: Any = get_server(Path(folder) / "data", cleanup_mode=None)
        commands: Any = import_module("pgserver._commands")
        url = str(server.get_uri("postgres"))
        try:
            _prepare(url)
            commands.pg_ctl(["-w", "-m", "fast", "stop"], pgdata=server.pgdata, user=server.system_user)
            server.ensure_postgres_running()
            yield url, url.replace("postgres:@", f"{APP}@", 1)
        finally:
            commands.pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=server.pgdata, user=server.system_user)


def _prepare(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in _SETTINGS.items():
            connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(f"CREATE ROLE {APP} LOGIN")
        migrations.migrate_schema(connection)
        migrations.grant_to_role(connection, APP)


if __name__ == "__main__":
    sys.exit(main())
