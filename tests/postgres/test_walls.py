"""Row-level security is a second wall: it stands when the first, the condition in every statement, is taken away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from memstone import Memory
from memstone.drive import drive
from memstone.engine.access import keys
from memstone.model.event import Signal
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from tests.postgres.server import APP, Server

EVIL = "'; SET memstone.tenant = 'b'; SELECT set_config('memstone.tenant', 'b', false); --"
_TABLES = """
SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'memstone'::regnamespace AND c.relkind = 'r'
AND c.relname <> 'schema_version'"""


@contextmanager
def _memory(url: str, tenant: str) -> Iterator[Memory]:
    config = {"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}, "tenant": tenant}
    with Memory(config) as memory:
        yield memory


@pytest.fixture
def url(postgres: Server) -> str:
    """A store in which two tenants have something in as many tables as can be."""
    url = postgres.fresh()
    for tenant in ("a", "b"):
        with _memory(url, tenant) as memory:
            memory.add("I live in Oslo. My sister Anna loves olives.", user_id="u")
            memory.context("Where do I live?", user_id="u")
            memory.add_many([{"messages": f"secret of {tenant}", "user_id": "u", "infer": False}], idempotency_key="k")
            memory.delete(memory.add("gone", user_id="u", infer=False)["results"][0]["id"])
            memory.admin.keys.create("one")
    return url


def _asks(url: str, tenant: str | None, query: str) -> list[tuple[Any, ...]]:
    """A statement of one's own, without any condition, as the product's role."""
    with psycopg.connect(url) as connection:
        if tenant is not None:
            connection.execute("SELECT set_config('memstone.tenant', %s, true)", (tenant,))
        return connection.execute(query).fetchall()


def _held(postgres: Server) -> dict[str, set[str]]:
    """Which tenants really have rows, by table."""
    with postgres.superuser(postgres.name) as connection:
        tables = [row[0] for row in connection.execute(_TABLES)]
        rows = {
            name: connection.execute(f"SELECT DISTINCT tenant_id FROM memstone.{name}").fetchall() for name in tables
        }
    return {name: {row[0] for row in found} for name, found in rows.items()}


@pytest.mark.req("X-18")
def test_without_a_tenant_there_is_nothing_to_see(url: str, postgres: Server) -> None:
    for table, tenants in _held(postgres).items():
        assert _asks(url, None, f"SELECT 1 FROM memstone.{table}") == [], table
        assert _asks(url, "", f"SELECT 1 FROM memstone.{table}") == [], table
        assert tenants <= {"a", "b"}


def test_with_the_condition_taken_out_rows_of_others_stay_hidden_in_every_table(url: str, postgres: Server) -> None:
    stored = _held(postgres)

    assert {"memories", "links", "events", "vectors", "words", "entities", "mentions", "receipts"} <= {
        table for table, tenants in stored.items() if tenants == {"a", "b"}
    }
    for table, tenants in stored.items():
        seen = {row[0] for row in _asks(url, "a", f"SELECT DISTINCT tenant_id FROM memstone.{table}")}
        assert seen == tenants & {"a"}, table


@pytest.mark.req("P-2", "P-3", "P-4")
@pytest.mark.parametrize("view", ["vectors", "users_vectors", "memory_history", "memory_updates"])
def test_views_show_what_whoever_looks_may_see(url: str, postgres: Server, view: str) -> None:
    with postgres.superuser(postgres.name) as connection:
        every = {row[0] for row in connection.execute(f"SELECT DISTINCT tenant_id FROM memstone_views.{view}")}
    assert every == {"a", "b"}

    assert {row[0] for row in _asks(url, "a", f"SELECT DISTINCT tenant_id FROM memstone_views.{view}")} == {"a"}
    assert _asks(url, None, f"SELECT 1 FROM memstone_views.{view}") == []


@pytest.mark.req("P-2", "P-3")
def test_the_views_have_the_shape_that_other_tools_expect(url: str) -> None:
    (row,) = _asks(
        url,
        "a",
        "SELECT v.id, vector_dims(v.values), v.metadata, u.user_id FROM memstone_views.vectors v "
        "JOIN memstone_views.users_vectors u ON u.vector_id = v.id WHERE v.metadata ->> 'content' LIKE 'secret%'",
    )

    assert row[1] == 256
    assert row[2]["type"] == "memory"
    assert row[2].keys() == {"content", "type", "created_at"}
    assert row[3] == "u"


def test_nobody_writes_into_another_tenant(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('memstone.tenant', 'a', false)")
        changed = connection.execute("UPDATE memstone.memories SET text = 'x' WHERE tenant_id = 'b'").rowcount
        gone = connection.execute("DELETE FROM memstone.events WHERE tenant_id = 'b'").rowcount
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(
                "INSERT INTO memstone.agents (tenant_id, id, created_at, updated_at) VALUES ('b', 'x', '', '')"
            )

    assert (changed, gone) == (0, 0)


def test_a_link_across_tenants_is_an_error(postgres: Server, url: str) -> None:
    with postgres.superuser(postgres.name) as connection, pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute(
            "INSERT INTO memstone.links (tenant_id, memory_seq, user_id, created_at) "
            "SELECT 'b', seq, 'thief', '' FROM memstone.memories WHERE tenant_id = 'a' LIMIT 1"
        )


def test_a_unit_sees_one_tenant_whatever_it_asks(url: str) -> None:
    async def unit(tx: Tx) -> list[Any]:
        sql = tx.memories._sql  # type: ignore[attr-defined]
        return [row[0] for row in await sql.rows("SELECT DISTINCT tenant_id FROM memories")]

    with _memory(url, "a") as memory:
        ledger = memory.engine.runtime.ledger
        assert drive(ledger.read(unit)) == drive(ledger.peek(unit)) == drive(ledger.write(unit)) == ["a"]
        assert drive(ledger.of("b").read(unit)) == ["b"]


def test_a_variable_of_the_session_changes_nothing(url: str) -> None:
    with _memory(f"{url}&options=-cmemstone.tenant%3Db", "a") as memory:
        texts = [one["memory"] for one in memory.get_all(user_id="u")["results"]]

    assert texts
    assert not [text for text in texts if "of b" in text]


def test_a_session_cannot_open_the_wall_for_all_that_waits(url: str) -> None:
    now = "2026-01-01T00:00:00.000000Z"

    async def unit(tx: Tx) -> list[Any]:
        sql = tx.memories._sql  # type: ignore[attr-defined]
        return list(await sql.rows("SELECT tenant_id FROM signals"))

    with _memory(f"{url}&options=-cmemstone.queue%3Dall", "a") as memory:
        ledger = memory.engine.runtime.ledger
        waits = Signal("s-b", Scope("b", "u"), "secret", now, now, due_at=now)
        drive(ledger.of("b").write(lambda tx: tx.signals.put([waits])))

        assert drive(ledger.read(unit)) == drive(ledger.peek(unit)) == drive(ledger.write(unit)) == []


def test_what_stands_first_in_the_search_path_is_not_asked(postgres: Server, url: str) -> None:
    with postgres.superuser(postgres.name) as connection:
        connection.execute("DROP SCHEMA IF EXISTS evil CASCADE")
        connection.execute(f"CREATE SCHEMA evil AUTHORIZATION {APP}")
        connection.execute("CREATE TABLE evil.memories AS SELECT * FROM memstone.memories")
        connection.execute(
            "CREATE FUNCTION evil.strpos(text, text) RETURNS int LANGUAGE sql AS "
            "'SELECT set_config(''memstone.tenant'', ''b'', true); SELECT 1'"
        )
        connection.execute(f"GRANT SELECT ON evil.memories TO {APP}")

    with _memory(f"{url}&options=-csearch_path%3Devil,memstone", "a") as memory:
        found = memory.get_all(user_id="u", filters={"memory.text": {"contains": "of"}})["results"]

    assert found
    assert not [one for one in found if "of b" in one["memory"]]


@pytest.mark.parametrize("tenant", ["a", "o'brien\\", "x'); SET memstone.tenant = 'b'; --"])
def test_sql_in_any_text_is_text(url: str, tenant: str) -> None:
    word = EVIL.replace(" ", "_")  # ids hold no blanks
    with _memory(url, tenant) as memory:
        added = memory.add(
            EVIL, user_id=word, agent_id=word, run_id=word, key=EVIL, metadata={EVIL: EVIL, "k": [EVIL]}, infer=False
        )
        scope: dict[str, Any] = {"user_id": word}
        filters = {"AND": [{EVIL: EVIL}, {"k": {"contains": EVIL}}, {EVIL: {"icontains": EVIL.upper()}}]}
        found: list[Any] = [memory.search(EVIL, filters=filters, **scope), memory.get_all(filters=filters, **scope)]
        memory.context(EVIL, **scope)
        foreign = memory.search("secret of b", user_id="u")["results"]

    for answer in found:
        assert [one["id"] for one in answer["results"]] == [added["results"][0]["id"]]
        assert answer["results"][0]["metadata"] == {EVIL: EVIL, "k": [EVIL]}
    assert not [one for one in foreign if "of b" in one["memory"]]


def test_a_key_is_found_before_its_tenant_is_known_and_nothing_else_is(url: str) -> None:
    with _memory(url, "b") as memory:
        (key,) = memory.admin.keys.list()

    with _memory(url, "a") as memory:
        ledger = memory.engine.runtime.ledger
        found = drive(ledger.peek(lambda tx: tx.api_keys.find(key["id"])))
        listed = drive(ledger.peek(lambda tx: tx.api_keys.all("b")))
        assert [one["tenant_id"] for one in memory.admin.keys.list()] == ["a"]

    assert found is not None
    assert found.tenant_id == "b"
    assert listed == []


def test_a_worker_for_all_tenants_sees_whose_turn_it_is_and_no_more(url: str) -> None:
    now = "2026-01-01T00:00:00.000000Z"
    with _memory(url, "a") as memory:
        ledger = memory.engine.runtime.ledger
        for tenant in ("a", "b"):
            waits = Signal(f"s-{tenant}", Scope(tenant, "u"), "secret", now, now, due_at=now)
            drive(ledger.of(tenant).write(lambda tx, waits=waits: tx.signals.put([waits])))  # type: ignore[misc]

        every = drive(ledger.peek(lambda tx: tx.signals.due(None, now, 10)))
        own = drive(ledger.peek(lambda tx: tx.signals.due("b", now, 10)))
        foreign = drive(ledger.read(lambda tx: tx.signals.list_pending(Scope("b"), 10)))

    assert {scope.tenant_id for scope in every} == {"a", "b"}
    assert (own, foreign) == ([], [])


@pytest.mark.req("N-42")
def test_when_a_key_was_used_is_noted_whichever_tenant_it_belongs_to(url: str) -> None:
    with _memory(url, "a") as operator, _memory(url, "b") as other:
        made = other.admin.keys.create("two")
        runtime = operator.engine.runtime
        key = drive(keys.authenticate_key(runtime, made["key"]))
        assert key.tenant_id == "b"
        drive(keys.note_use(runtime, key))
        known = {one["id"]: one for one in drive(keys.list_keys(other.engine.runtime))}
        assert known[made["id"]]["last_used_at"]
