"""Filters select on PostgreSQL what the reference evaluator selects: the same questions that SQLite is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memstone.adapters.postgres.statements import compiled, to_numbered_placeholders
from memstone.core.checks.filters import found_fields
from memstone.model.memory import FoundMemory
from memstone.model.query import LINK_FIELDS, RECORD_FIELDS, Condition, Op, Where
from tests.conformance.filter_world import SELECT, expected, link_column, written
from tests.conformance.test_filter_sql import one_row, operands, questions, values
from tests.postgres.server import Server

_WHOLE = {"seq", "version", "source_count", "tokens", "use_count"}


@pytest.fixture(scope="module")
def tables(postgres: Server) -> Iterator[psycopg.Connection[Any]]:
    """Two tables with the columns that can be asked for, over the functions of the schema."""
    with psycopg.connect(postgres.url(postgres.name), cursor_factory=psycopg.RawCursor) as connection:
        connection.execute("SET search_path = pg_catalog, pg_temp")
        connection.execute(f"CREATE TEMP TABLE memories ({_columns(RECORD_FIELDS)}, metadata TEXT, data TEXT)")
        connection.execute(f"CREATE TEMP TABLE links ({_columns(LINK_FIELDS)}, memory_seq BIGINT)")
        connection.commit()
        yield connection


def _columns(fields: Any) -> str:
    kinds = {"text": 'TEXT COLLATE "C"', "instant": 'TEXT COLLATE "C"', "number": "DOUBLE PRECISION"}
    named = ((name.removeprefix("link_"), "BIGINT" if name in _WHOLE else kinds[kind]) for name, kind in fields.items())
    return ", ".join(f"{name} {kind}" for name, kind in named)


@contextmanager
def stored(connection: psycopg.Connection[Any], rows: Sequence[FoundMemory]) -> Iterator[None]:
    try:
        for found in rows:
            read = found_fields(found)
            _insert(connection, "memories", [*map(read, RECORD_FIELDS), *written(found)])
            _insert(connection, "links", [*(link_column(found, name) for name in LINK_FIELDS), found.record.seq])
        yield
    finally:
        connection.rollback()


def _insert(connection: psycopg.Connection[Any], table: str, row: Sequence[object]) -> None:
    marks = ", ".join(f"${place}" for place in range(1, len(row) + 1))
    connection.execute(f"INSERT INTO pg_temp.{table} VALUES ({marks})", row)


def _select(connection: psycopg.Connection[Any], where: Where) -> set[int]:
    condition, params = compiled(where)
    return {seq for (seq,) in connection.execute(to_numbered_placeholders(SELECT + condition), params)}


@pytest.mark.slow
@pytest.mark.req("C-38")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(question=questions)
def test_postgres_selects_what_the_reference_evaluator_selects(
    tables: psycopg.Connection[Any], question: tuple[list[FoundMemory], list[Where]]
) -> None:
    rows, wheres = question
    with stored(tables, rows):
        for where in wheres:
            assert _select(tables, where) == expected(rows, where), where


@pytest.mark.slow
@pytest.mark.req("C-38")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(value=values, operand=operands)
@example(value=2**53 + 1, operand=2.0**53)
@example(value=2**63, operand=2.0**63)
@example(value=float(2**60 + 2**8), operand=2**60 + 2**8)
@example(value=-(2.0**63), operand=-(2**63))
@example(value=10**400, operand=1)
@example(value=1e16, operand=10**16)
@example(value=5e-324, operand=0)
@example(value=True, operand=1)
@example(value=["A"], operand="a")
def test_every_value_against_every_operand_on_postgres(
    tables: psycopg.Connection[Any], value: object, operand: object
) -> None:
    rows = one_row(value)
    with stored(tables, rows):
        for op in sorted(set(Op) - {Op.IN, Op.NIN, Op.EXISTS}):
            where = Condition("metadata.k", op, operand)
            assert _select(tables, where) == expected(rows, where), where


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@example(text="Straße ŒUVRE İstanbul ΣΊΣΥΦΟΣ ﬁn")
def test_case_is_folded_as_python_folds_it(tables: psycopg.Connection[Any], text: str) -> None:
    row = tables.execute("SELECT memstone.folded($1)", (text,)).fetchone()

    assert row == (text.casefold(),)


def test_damaged_metadata_hides_only_its_own_row(tables: psycopg.Connection[Any]) -> None:
    rows = [*one_row("a"), *one_row("b")]
    rows[1].record.seq = 2
    with stored(tables, rows):
        tables.execute("UPDATE pg_temp.memories SET metadata = '{broken' WHERE seq = 2")

        assert _select(tables, Condition("metadata.k", Op.EXISTS, value=True)) == {1}
