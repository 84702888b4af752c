"""Many processes on one database, whatever its administrators have set for the role, the session or the server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from memstone import AsyncMemory, Memory
from memstone.adapters.postgres import backup, migrations
from memstone.adapters.postgres import ledger as ledger_of_postgres
from memstone.adapters.postgres import pools as postgres_pools
from memstone.adapters.postgres.connection import open_connection, setting_up
from memstone.adapters.postgres.pools import BlockingPool
from memstone.adapters.postgres.statements import BlockingWire
from memstone.adapters.vectors.pgvector import PgVectorConfig, PgVectorStore
from memstone.drive import drive
from memstone.errors import MigrationFailed, StorageBusy, StorageError, TooLarge
from memstone.ports.ledger import Tx
from memstone.registry import load_adapter
from memstone.results import RowCounts
from tests.patience import LONG, until
from tests.postgres.server import APP, Server


def _config(url: str, **store: Any) -> dict[str, Any]:
    return {"store": {"url": url, "durable": False, **store}, "embedder": {"provider": "hash"}}


@contextmanager
def _role_has(postgres: Server, setting: str, value: str) -> Iterator[None]:
    with postgres.superuser() as connection:
        connection.execute(f"ALTER ROLE {APP} SET {setting} = '{value}'")
        try:
            yield
        finally:
            connection.execute(f"ALTER ROLE {APP} RESET {setting}")


# --- connections ------------------------------------------------------------------------------------------------------


def test_calls_that_open_a_store_at_the_same_moment_share_its_connections(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is done with opening while the first one has a connection."""
    one, both, lent = threading.Event(), threading.Event(), threading.Event()
    ready = migrations.ensure_migrated

    def in_step(connection: psycopg.Connection[Any]) -> migrations.SchemaState:
        if not one.is_set():
            one.set()
            assert both.wait(LONG)
        else:
            both.set()
            assert lent.wait(LONG)
        return ready(connection)

    async def story() -> RowCounts:
        memory = AsyncMemory(_config(postgres.fresh()))
        ledger = memory.engine.runtime.ledger

        async def unit(tx: Tx) -> RowCounts:
            lent.set()
            await second
            return await tx.admin.counts("default")

        first = asyncio.create_task(ledger.read(unit))
        await asyncio.to_thread(one.wait, LONG)
        second = asyncio.create_task(ledger.read(lambda tx: tx.admin.counts("default")))
        try:
            return await first
        finally:
            await memory.close()

    monkeypatch.setattr(migrations, "ensure_migrated", in_step)
    assert asyncio.run(story())["memories"] == 0


@contextmanager
def _takes_nobody(postgres: Server) -> Iterator[None]:
    """As a server that is down: whoever is connected is cut off, and everybody who comes is refused at once."""
    with postgres.superuser() as connection:
        connection.execute(f"ALTER ROLE {APP} NOLOGIN")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (APP,))
        try:
            yield
        finally:
            connection.execute(f"ALTER ROLE {APP} LOGIN")


def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_pools, "OUTAGE", 0.3)
    monkeypatch.setattr(postgres_pools, "_TRIED", 0.1)


def test_a_server_that_takes_no_connections_is_not_waited_for_as_a_busy_one_is(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _in_a_hurry(monkeypatch)
    with Memory(_config(postgres.fresh())) as memory:
        memory.stats()
        with _takes_nobody(postgres):
            for _ in range(2):
                with pytest.raises(StorageBusy, match="does not accept connections") as caught:
                    memory.stats()
                assert caught.value.retryable

        assert memory.stats()["memories"] == 0, "and it goes on as soon as there is one"


def test_on_asyncio_it_is_not_waited_for_either(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    _in_a_hurry(monkeypatch)

    async def story() -> int:
        async with AsyncMemory(_config(postgres.fresh())) as memory:
            await memory.stats()
            with _takes_nobody(postgres), pytest.raises(StorageBusy, match="does not accept connections"):
                await memory.stats()
            return int((await memory.stats())["memories"])

    assert asyncio.run(story()) == 0


def test_connections_that_are_all_in_use_are_waited_for(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    _in_a_hurry(monkeypatch)
    begun, goes_on = threading.Event(), threading.Event()

    async def slow(tx: Tx) -> None:
        await tx.admin.counts("default")
        begun.set()
        goes_on.wait(LONG)

    with Memory(_config(postgres.fresh(), pool_size=1)) as memory, ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: drive(memory.engine.runtime.ledger.read(slow)))
        assert begun.wait(LONG)
        second = pool.submit(memory.stats)
        with pytest.raises(TimeoutError):
            second.result(1.0)
        goes_on.set()
        first.result(LONG)

        assert second.result(LONG)["memories"] == 0


def test_one_call_gets_past_any_number_of_lost_connections(postgres: Server) -> None:
    """A pool that is larger than the patience of a call: after a restart none of its connections is good."""
    size = 12
    with Memory(_config(postgres.fresh(), pool_size=size)) as memory, ThreadPoolExecutor(size) as pool:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        together = threading.Barrier(size)

        async def unit(tx: Tx) -> None:
            await tx.admin.counts("default")
            together.wait(LONG)

        ledger = memory.engine.runtime.ledger
        for done in [pool.submit(lambda: drive(ledger.read(unit))) for _ in range(size)]:
            done.result(LONG)
        with postgres.superuser(postgres.name) as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{APP}'")

        assert memory.search("Oslo", user_id="alice")["results"]


def test_what_became_of_a_commit_is_not_asked_for_ever(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(_config(postgres.fresh())) as memory:
        memory.stats()
        asked = count()

        async def cut_off(wire: BlockingWire) -> None:
            monkeypatch.setattr(BlockingPool, "take", out_of_reach)
            wire._connection.pgconn.finish()
            raise psycopg.OperationalError("the connection is gone")

        async def out_of_reach(_: BlockingPool) -> None:
            next(asked)
            raise PoolTimeout("couldn't get a connection after 30.00 sec")

        with monkeypatch.context() as patch:
            patch.setattr(ledger_of_postgres, "monotonic", iter(range(0, 1000, 40)).__next__)
            patch.setattr(BlockingWire, "commit", cut_off)
            with pytest.raises(StorageBusy, match="outcome is unknown"):
                memory.add("I live in Oslo", user_id="alice", infer=False)

        monkeypatch.undo()
        assert next(asked) == 1


def test_a_machine_that_is_gone_without_a_word_is_not_waited_for_unless_the_url_says_so(postgres: Server) -> None:
    url = postgres.fresh()

    with (
        open_connection(url) as usual,
        open_connection(f"{url}&tcp_user_timeout=5000&application_name=mine") as patient,
    ):
        assert usual.info.get_parameters()["tcp_user_timeout"] == "30000"
        assert usual.info.get_parameters()["connect_timeout"] == "10"
        assert patient.info.get_parameters()["tcp_user_timeout"] == "5000"
        assert patient.execute("SHOW application_name").fetchone() == ("mine",)


def test_what_is_secret_in_a_url_that_cannot_be_read_is_not_told() -> None:
    for url in ("postgresql://u:s3%zzcret@h/db", "postgresql://u:s3cret@[::1/db", "postgresql://u:s3/cret@h/db"):
        with pytest.raises(StorageError) as caught:
            Memory(_config(url))

        assert "cret" not in str(caught.value)
        assert "%40" in caught.value.hint


@pytest.mark.parametrize("seconds", [3e6, float("inf")])
def test_a_statement_may_take_longer_than_postgresql_can_count(postgres: Server, seconds: float) -> None:
    with Memory(_config(postgres.fresh(), statement_seconds=seconds)) as memory:
        assert memory.stats()["memories"] == 0


def test_a_limit_that_is_nearly_nothing_is_a_limit() -> None:
    assert ledger_of_postgres._to_milliseconds(1e-4) == 1


# --- what others have set ---------------------------------------------------------------------------------------------


def test_whoever_waited_for_the_turn_sees_what_was_written_meanwhile(postgres: Server) -> None:
    """Also where the role's transactions are repeatable reads by default."""
    begun, goes_on = threading.Event(), threading.Event()

    async def slow(tx: Tx) -> None:
        await tx.agents.meet("default", "bot", "")
        begun.set()
        assert goes_on.wait(LONG)

    url = postgres.fresh()
    with (
        _role_has(postgres, "default_transaction_isolation", "repeatable read"),
        Memory(_config(url)) as one,
        Memory(_config(url)) as other,
        ThreadPoolExecutor(3) as pool,
    ):
        for each in (one, other):
            each.add("I like tea", user_id="alice", infer=False)
        first = pool.submit(lambda: drive(one.engine.runtime.ledger.write(slow)))
        assert begun.wait(LONG)
        lines = [pool.submit(each.add, "I live in Oslo", user_id="alice", infer=False) for each in (one, other)]
        with postgres.superuser(postgres.name) as connection:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until(lambda: connection.execute(waiting).fetchone() == (2,))
        goes_on.set()
        first.result(LONG)

        assert sorted(each.result(LONG)["results"][0]["event"] for each in lines) == ["ADD", "NONE"]


def test_text_is_told_in_all_its_characters_whatever_the_environment_says(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with Memory(_config(postgres.fresh())) as memory:
        memory.add("Ich wohne in Łódź, früher in 東京", user_id="alice", infer=False)

        assert memory.search("Łódź", user_id="alice")["results"][0]["memory"] == "Ich wohne in Łódź, früher in 東京"


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Server) -> None:
    with postgres.superuser() as connection:
        connection.execute("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")

    with pytest.raises(MigrationFailed, match="SQL_ASCII") as caught:
        Memory(_config(postgres.url("ascii")))

    assert "UTF8" in caught.value.hint


def test_a_copy_may_take_as_long_as_it_takes(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a role may take for a single statement: a table has any size."""
    seen: list[Any] = []
    copied = backup._copy_out_query

    def looked(value: backup.BackupSession, *args: Any, **options: Any) -> Any:
        seen.extend(psycopg.ClientCursor(value.connection).execute("SHOW statement_timeout").fetchall())
        return copied(value, *args, **options)

    monkeypatch.setattr(backup, "_copy_out_query", looked)
    with _role_has(postgres, "statement_timeout", "1h"), Memory(_config(postgres.fresh())) as memory:
        memory.admin.backups.create(tmp_path / "one.backup")

    assert set(seen) == {("0",)}


# --- migrations -------------------------------------------------------------------------------------------------------


class _Pooled:
    """What a pooler makes of a connection: every transaction may go to another session."""

    def __init__(self, *sessions: psycopg.Connection[Any]) -> None:
        self._next, self._held = cycle(sessions), [None]

    def execute(self, *args: Any) -> Any:
        return (self._held[-1] or next(self._next)).execute(*args)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        session: Any = self._held[-1] or next(self._next)
        self._held.append(session)
        try:
            with session.transaction():
                yield
        finally:
            self._held.pop()


def test_a_migration_behind_a_pooler_leaves_no_lock_behind(postgres: Server) -> None:
    name = postgres.database()
    with postgres.superuser(name) as one, postgres.superuser(name) as other:
        pooled: Any = _Pooled(one, other)

        assert migrations.migrate_schema(pooled) == 0
        assert migrations.migrate_schema(pooled) == migrations.latest_schema_version()
        assert one.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)


def test_stores_of_vectors_that_start_together_set_up_once(postgres: Server) -> None:
    name = postgres.database()
    store = PgVectorStore(PgVectorConfig(url=postgres.url(name)), load_adapter("io", "blocking")())
    with postgres.superuser(name) as connection, postgres.superuser(name) as watcher, ThreadPoolExecutor(1) as pool:
        with setting_up(connection):
            connection.execute("CREATE EXTENSION vector")
            connection.execute("CREATE SCHEMA memstone_vectors")
            other = pool.submit(lambda: drive(store.create("memories", 8)))
            until(lambda: watcher.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() == (1,))
        other.result(LONG)

    assert [one.name for one in drive(store.collections())] == ["memories"]
    drive(store.close())


def test_an_old_pgvector_is_refused(postgres: Server) -> None:
    name = postgres.database()
    with postgres.superuser(name) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")

    with pytest.raises(MigrationFailed, match=r"pgvector 0\.8"):
        Memory(_config(postgres.url(name)))


def test_whoever_may_not_grant_is_not_told_that_it_was_done(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        connection.execute("DROP ROLE IF EXISTS newcomer")
        connection.execute("CREATE ROLE newcomer LOGIN")

    with Memory(_config(postgres.fresh())) as memory:
        ledger: Any = memory.engine.runtime.ledger
        with pytest.raises(MigrationFailed, match="newcomer") as caught:
            drive(ledger.migrate(["newcomer"]))

    assert "owns the tables" in caught.value.hint


def test_whoever_may_not_index_is_told_who_may(postgres: Server) -> None:
    with Memory(_config(postgres.fresh())) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        ledger: Any = memory.engine.runtime.ledger
        with pytest.raises(StorageError, match="must be owner") as caught:
            drive(ledger.index_vectors(half=False, progress=None))

    assert "owns the tables" in caught.value.hint


def test_vectors_that_are_too_long_are_not_taken_for_ids(postgres: Server) -> None:
    with Memory(_config(postgres.fresh()), embedder=lambda texts: [[1.0] * 16_001 for _ in texts]) as memory:
        with pytest.raises(TooLarge, match="16000 dimensions") as caught:
            memory.add("I live in Oslo", user_id="alice", infer=False)

        assert "ids" not in (caught.value.hint or "")
