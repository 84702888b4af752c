"""A vector store in PostgreSQL keeps the contract of every other one."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.pgvector import PgVectorConfig, PgVectorStore
from memstone.drive import drive
from memstone.errors import BackendUnavailable, DimensionMismatch, InvalidFilter, InvalidInput
from memstone.model.query import Condition, Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, assert_close, fill_collection
from tests.postgres.server import Server


def terminate_connections(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = %s AND application_name = 'memstone'",
            (postgres.name,),
        )


class _InPostgres(VectorStoreSuite):
    unsupported = frozenset({Op.ICONTAINS})
    options: ClassVar[dict[str, Any]] = {}
    _url = ""
    _server: Server

    @pytest.fixture(autouse=True)
    def _database(self, postgres: Server) -> None:
        self._url, self._server = postgres.url(postgres.name), postgres

    def connect(self, io: Io) -> VectorStore:
        """A schema of the suite's own."""
        return PgVectorStore(PgVectorConfig(url=self._url, schema_name="suite's", **self.options), io)

    def interrupt(self) -> None:
        """End every connection of ours, on the server."""
        terminate_connections(self._server)


@pytest.mark.req("C-31", "C-32", "C-34", "R-5", "R-27", "R-28", "X-19")
class TestComparedOneByOne(_InPostgres):
    """A small collection."""


@pytest.mark.req("C-34")
class TestByHnsw(_InPostgres):
    """Every search asks the index first."""

    options: ClassVar[dict[str, Any]] = {"exact_rows": 0}


@pytest.fixture
def store(postgres: Server) -> PgVectorStore:
    made = PgVectorStore(PgVectorConfig(url=postgres.url(postgres.name), schema_name="one"), BlockingIo())
    drive(made.reset())
    return made


@pytest.mark.req("C-34")
def test_the_table_has_the_columns_that_other_tools_expect(store: PgVectorStore, postgres: Server) -> None:
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"})]))

    with postgres.superuser(postgres.name) as connection:
        row = connection.execute(
            f"SELECT id, vector::text, payload, created_at <= now(), 1 - (vector <=> '[0,2]') FROM one.{NAME}"  # noqa: S608
        ).fetchone()
        columns = connection.execute(
            "SELECT column_name::text, udt_name::text FROM information_schema.columns WHERE table_schema = 'one'"
        ).fetchall()
        index = connection.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'one'").fetchall()

    assert row is not None
    assert row[:4] == ("a", "[0.6,0.8]", {"user_id": "u"}, True)
    (hit,) = drive(store.search(NAME, [0, 2], 1))
    assert_close([hit.score], [row[4]])
    assert set(columns) == {("id", "text"), ("vector", "vector"), ("payload", "jsonb"), ("created_at", "timestamptz")}
    assert any("vector_cosine_ops" in one for (one,) in index)


@pytest.mark.req("C-34")
def test_an_ivfflat_index_is_made_when_it_is_asked_for(postgres: Server) -> None:
    config = PgVectorConfig(url=postgres.url(postgres.name), schema_name="lists", index="ivfflat", exact_rows=0)
    lists = PgVectorStore(config, BlockingIo())
    drive(lists.reset())
    drive(fill_collection(lists, [Point(str(n), [1, n]) for n in range(200)]))

    with postgres.superuser(postgres.name) as connection:
        connection.execute(f"ANALYZE lists.{NAME}")
        made = connection.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'lists'").fetchall()

    assert any("USING ivfflat" in one for (one,) in made)
    assert [hit.id for hit in drive(lists.search(NAME, [1, 0], 3))] == ["0", "1", "2"]


def test_many_points_behind_a_filter_are_found_by_the_index(store: PgVectorStore, postgres: Server) -> None:
    by_index = PgVectorStore(
        PgVectorConfig(url=postgres.url(postgres.name), schema_name="one", exact_rows=0), BlockingIo()
    )
    points = [Point(f"{n:04}", [1, n / 1000, (n * 7 % 13) / 10], {"seq": n}) for n in range(3000)]
    drive(fill_collection(by_index, points))
    with postgres.superuser(postgres.name) as connection:
        connection.execute(f"ANALYZE one.{NAME}")

    where = Condition("seq", Op.GTE, 2500)
    found = drive(by_index.search(NAME, [1, 0, 0], 10, where))

    assert [hit.id for hit in found] == [hit.id for hit in drive(store.search(NAME, [1, 0, 0], 10, where))]


@pytest.mark.parametrize("name", ["x" * 64, "", 'a"; DROP TABLE b; --'])
def test_any_name_is_a_name_or_refused(store: PgVectorStore, name: str) -> None:
    if len(name) in (0, 64):
        with pytest.raises(InvalidInput):
            drive(store.create(name, 2))
        return
    drive(store.create(name, 2))

    assert [info.name for info in drive(store.collections())] == [name]


def test_what_goes_wrong_is_told_in_our_words(store: PgVectorStore) -> None:
    drive(fill_collection(store, [Point("a", [1, 0])]))
    with pytest.raises(InvalidFilter):
        drive(store.search(NAME, [1, 0], 5, Condition("no_such_field", Op.EQ, "x")))
    with pytest.raises(DimensionMismatch):
        drive(store.create("none", 0))
    nowhere = "postgresql://nobody:hidden@127.0.0.1:1/none?connect_timeout=1"
    with pytest.raises(BackendUnavailable, match=r"127\.0\.0\.1.* refused") as refused:
        drive(PgVectorStore(PgVectorConfig(url=nowhere), BlockingIo()).collections())
    assert "service is running" in (refused.value.hint or "")
    assert not [secret for secret in ("nobody", "hidden") if secret in str(refused.value)]


def test_a_connection_that_was_lost_is_replaced(store: PgVectorStore, postgres: Server) -> None:
    drive(fill_collection(store, [Point("a", [1, 0])]))
    terminate_connections(postgres)

    assert [point.id for point in drive(store.scan(NAME))] == ["a"]
