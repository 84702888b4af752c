"""The two schemas are twins."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from memstone.adapters.postgres import migrations as postgres_migrations
from memstone.adapters.sqlite import migrations as sqlite_migrations
from tests.postgres.server import Server

_ONLY_SQLITE = {"fulltext", "log_mark"}
_ONLY_POSTGRES = {"schema_version"}
_MORE_ON_POSTGRES = {("words", "tenant_id"), ("words", "terms")}
_VIEWS = {"vectors": "shared_vectors"}
"""Views stand in a schema of their own, where they may be called what other tools expect."""


def _sqlite() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    with closing(sqlite3.connect(":memory:")) as database:
        for step in sqlite_migrations.list_migrations():
            for statement in sqlite_migrations.split_statements(step.script):
                database.execute(statement)
        columns = database.execute(
            "SELECT t.type, t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
            "WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'fulltext%'"
        ).fetchall()
    return _split(columns)


def _postgres(server: Server) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    with server.superuser(server.name) as connection:
        columns = connection.execute(
            "SELECT CASE table_schema WHEN 'memstone' THEN 'table' ELSE 'view' END, "
            "table_name::text, column_name::text "
            "FROM information_schema.columns WHERE table_schema IN ('memstone', 'memstone_views')"
        ).fetchall()
    return _split(columns)


def _split(columns: list[tuple[str, str, str]]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    tables = {(table, column) for kind, table, column in columns if kind == "table"}
    return tables, {(view, column) for kind, view, column in columns if kind == "view"}


@pytest.mark.req("X-18")
def test_tables_and_columns_are_called_alike(postgres: Server) -> None:
    (sqlite, _), (other, _) = _sqlite(), _postgres(postgres)

    only_here = {one for one in sqlite if one[0] in _ONLY_SQLITE}
    assert {one for one in other if one[0] not in _ONLY_POSTGRES} - _MORE_ON_POSTGRES == sqlite - only_here
    assert sqlite >= {("memories", "tenant_id"), ("vectors", "signature")}


@pytest.mark.req("P-2", "P-3", "P-4")
def test_views_show_the_same_columns(postgres: Server) -> None:
    (_, sqlite), (_, other) = _sqlite(), _postgres(postgres)

    assert {(_VIEWS.get(view, view), column) for view, column in other} == sqlite


def test_migrations_are_numbered_alike() -> None:
    numbers = [step.number for step in sqlite_migrations.list_migrations()]

    assert [step.number for step in postgres_migrations.list_migrations()] == numbers


def test_the_tenant_leads_every_key(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        rows = connection.execute(
            "SELECT c.relname::text, i.relname::text, a.attname::text FROM pg_index x "
            "JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0] "
            "WHERE c.relnamespace = 'memstone'::regnamespace AND (x.indisunique OR x.indisprimary)"
        ).fetchall()

    assert {index for table, index, first in rows if first != "tenant_id" and table not in _ONLY_POSTGRES} == set()
    assert len(rows) > 20


def test_every_text_is_compared_byte_by_byte(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        rows = connection.execute(
            "SELECT table_name::text, column_name::text, collation_name::text FROM information_schema.columns "
            "WHERE table_schema = 'memstone' AND data_type = 'text'"
        ).fetchall()

    assert {one[:2] for one in rows if one[2] != "C" and one[0] not in _ONLY_POSTGRES} == set()
