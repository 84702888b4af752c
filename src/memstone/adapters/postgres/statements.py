"""Send statements to PostgreSQL, and translate them from SQLite's dialect.

The tables contain each statement once, for SQLite. This module translates what PostgreSQL writes differently:
placeholders, and hints for SQLite's query planner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

import psycopg

from memstone.adapters.sql.rows import Params, Row
from memstone.adapters.sql.where import (
    FALSE,
    JSON_WORDS,
    Field,
    Shapes,
    SqlDialect,
    SqlFragment,
    bind_value,
    chain_tests,
    compile_where,
    equals_any,
    has_part,
    is_number,
    join_tests,
    negate_test,
)
from memstone.model.query import Where

# --- how the seam speaks to PostgreSQL --------------------------------------------------------------------------------


_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
_PIECE: Final = re.compile(r""" \|\| ''|'(?:[^']|'')*'|"[^"]*"| INDEXED BY \w+|\?""")
_HINT: Final = re.compile(r" \|\| ''| INDEXED BY \w+")


@lru_cache(maxsize=4096)
def to_numbered_placeholders(statement: str) -> str:
    """Return a statement with numbered placeholders and without hints; what is in quotes is left alone."""
    numbers = count(1)

    def piece(match: re.Match[str]) -> str:
        found = match[0]
        if found == "?":
            return f"${next(numbers)}"
        return "" if _HINT.fullmatch(found) else found

    return _PIECE.sub(piece, statement)


Statement: TypeAlias = tuple[str, Params]


class Wire(Protocol):
    """One connection inside a transaction, whether one waits for it or awaits it.

    Statements whose answer nobody needs are sent with the next one that somebody waits for: a way to the database and
    back takes longer than most of them.
    """

    @property
    def is_lost(self) -> bool:
        """Whether it can no longer be used."""
        ...

    async def begin(self, statements: Sequence[Statement]) -> None:
        """Begin a transaction with these."""
        ...

    async def read_last_row(self) -> Row | None:
        """Return what the last of them gave."""
        ...

    async def commit(self) -> None:
        """End the transaction; when this returns, everything that was sent has been answered."""
        ...

    async def abandon(self) -> None:
        """Roll back what is open, if anything is."""
        ...

    async def alone(self, statements: Sequence[Statement], query: str, params: Params) -> list[Row]:
        """Return all rows of a query that is a transaction by itself, in one way to the database and back.

        What is sent together is one transaction, which ends with the last statement: it is neither begun nor committed.
        """
        ...

    async def fetch(self, query: str, params: Params) -> list[Row]:
        """Return all rows."""
        ...

    async def change(self, query: str, params: Params) -> int:
        """Return how many rows it changed."""
        ...

    async def send(self, query: str, rows: Sequence[Params]) -> None:
        """Send the same statement for each of the parameter rows."""
        ...


class BlockingWire:
    """A connection that answers at once, so that a unit of work never suspends."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection
        self._open = ExitStack()
        self._pipeline: psycopg.Pipeline | None = None
        self._last_cursor: psycopg.Cursor[Row] | None = None

    @property
    def is_lost(self) -> bool:
        return self._connection.closed

    async def begin(self, statements: Sequence[Statement]) -> None:
        self._pipeline = self._open.enter_context(self._connection.pipeline())
        for query, params in statements:
            self._last_cursor = self._connection.execute(query, params)

    async def read_last_row(self) -> Row | None:
        return self._last_cursor.fetchone() if self._last_cursor is not None else None

    async def commit(self) -> None:
        self._connection.execute("COMMIT")
        self._open.close()

    async def abandon(self) -> None:
        with suppress(psycopg.Error):
            self._open.close()
        if not self.is_lost and self._connection.info.transaction_status != _IDLE:
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")

    async def alone(self, statements: Sequence[Statement], query: str, params: Params) -> list[Row]:
        with self._connection.pipeline():
            for statement, values in statements:
                self._connection.execute(statement, values)
            cursor = self._connection.execute(query, params, binary=True)
        return cursor.fetchall()

    async def fetch(self, query: str, params: Params) -> list[Row]:
        return self._connection.execute(query, params, binary=True).fetchall()

    async def change(self, query: str, params: Params) -> int:
        cursor = self._connection.execute(query, params)
        if self._pipeline is not None:
            self._pipeline.sync()
        return cursor.rowcount

    async def send(self, query: str, rows: Sequence[Params]) -> None:
        if len(rows) == 1:
            self._connection.execute(query, rows[0])
        else:
            self._connection.cursor().executemany(query, rows)


class AsyncWire:
    """A connection that is awaited on the event loop."""

    def __init__(self, connection: psycopg.AsyncConnection[Row]) -> None:
        self._connection = connection
        self._open = AsyncExitStack()
        self._pipeline: psycopg.AsyncPipeline | None = None
        self._last_cursor: psycopg.AsyncCursor[Row] | None = None

    @property
    def is_lost(self) -> bool:
        return self._connection.closed

    async def begin(self, statements: Sequence[Statement]) -> None:
        self._pipeline = await self._open.enter_async_context(self._connection.pipeline())
        for query, params in statements:
            self._last_cursor = await self._connection.execute(query, params)

    async def read_last_row(self) -> Row | None:
        return await self._last_cursor.fetchone() if self._last_cursor is not None else None

    async def commit(self) -> None:
        await self._connection.execute("COMMIT")
        await self._open.aclose()

    async def abandon(self) -> None:
        with suppress(psycopg.Error):
            await self._open.aclose()
        if not self.is_lost and self._connection.info.transaction_status != _IDLE:
            with suppress(psycopg.Error):
                await self._connection.execute("ROLLBACK")

    async def alone(self, statements: Sequence[Statement], query: str, params: Params) -> list[Row]:
        async with self._connection.pipeline():
            for statement, values in statements:
                await self._connection.execute(statement, values)
            cursor = await self._connection.execute(query, params, binary=True)
        return await cursor.fetchall()

    async def fetch(self, query: str, params: Params) -> list[Row]:
        cursor = await self._connection.execute(query, params, binary=True)
        return await cursor.fetchall()

    async def change(self, query: str, params: Params) -> int:
        cursor = await self._connection.execute(query, params)
        if self._pipeline is not None:
            await self._pipeline.sync()
        return cursor.rowcount

    async def send(self, query: str, rows: Sequence[Params]) -> None:
        if len(rows) == 1:
            await self._connection.execute(query, rows[0])
        else:
            await self._connection.cursor().executemany(query, rows)


class PostgresSql:
    """The seam over one connection inside a transaction."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        return await self._wire.fetch(to_numbered_placeholders(query), params)

    async def one(self, query: str, params: Params = ()) -> Row | None:
        found = await self.rows(query, params)
        return found[0] if found else None

    async def run(self, query: str, params: Params = ()) -> int:
        return await self._wire.change(to_numbered_placeholders(query), params)

    async def insert(self, query: str, params: Params) -> int:
        found = await self._wire.fetch(f"{to_numbered_placeholders(query)} RETURNING seq", params)
        return int(found[0][0])

    async def many(self, query: str, params: Iterable[Params]) -> None:
        rows: list[Params] = list(params)
        if rows:
            await self._wire.send(to_numbered_placeholders(query), rows)

    async def say(self, name: str, value: str) -> None:
        """Set a variable that the policies of the tables look at, for this transaction."""
        await self._wire.send(*_set_config_statement(name, value))


def _set_config_statement(name: str, value: str) -> tuple[str, list[Params]]:
    return "SELECT set_config($1, $2, true)", [(name, value)]


class PeekingSql(PostgresSql):
    """The seam for a unit that asks one thing: its statement is a transaction by itself."""

    statements: Sequence[Statement] = ()
    """What the transaction begins with."""

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        return await self._wire.alone(self.statements, to_numbered_placeholders(query), params)

    async def say(self, name: str, value: str) -> None:
        query, (params,) = _set_config_statement(name, value)
        self.statements = [*self.statements, (query, params)]


# --- filters in PostgreSQL's words. Metadata is JSON text, and numbers are compared as the reference ------------------


_EXACT_INTEGERS: Final = 2.0**53
_LARGE: Final = 2.0**63


class PostgresDialect:
    """PostgreSQL, with the functions ``readable``, ``number_of`` and ``fold_case`` of the schema."""

    def contains(self, text: str) -> str:
        """Test with ``strpos``, because LIKE reads % and _ as wildcards."""
        return f"strpos({text}, ?) > 0"

    def fold_case(self, text: str) -> str:
        """Fold by our own function: not every server knows full case folding."""
        return f"memstone.folded({text})"

    def metadata(self, key: str, column: str = "metadata") -> Field:
        """Return JSON as it was written: ``jsonb`` would turn 1e16 into a whole number."""
        return _PostgresJsonKey(key, self, column)


def _compile_filter(where: Where) -> tuple[str, list[Any]]:
    return compile_where(where, PostgresDialect())


compiled: Final = Shapes(_compile_filter)
"""A boolean expression in brackets, and its parameters in order."""


@dataclass(frozen=True, slots=True)
class _PostgresJsonKey:
    key: str
    dialect: SqlDialect
    column: str

    def present(self) -> SqlFragment:
        return self._some(SqlFragment("json_typeof(e.v) <> 'null'"))

    def absent(self) -> SqlFragment:
        return negate_test(self.present())

    def one_of(self, values: Sequence[object]) -> SqlFragment:
        return self._some(_json_equals_any("e.v", values))

    def compare_order(self, sign: str, value: object) -> SqlFragment:
        if isinstance(value, str):
            return self._some(
                SqlFragment(f"json_typeof(e.v) = 'string' AND {_json_text_sql('e.v')} {sign} ?", (value,))
            )
        if is_number(value):
            # CASE keeps the conversion from being tried on anything but a number.
            test = f"CASE json_typeof(e.v) WHEN 'number' THEN {_json_number_sql('e.v')} {sign} ? END"
            return self._some(SqlFragment(test, (_to_number_operand(value),)))
        return FALSE

    def has(self, value: object, *, folded: bool) -> SqlFragment:
        """Test within CASE, so that only a list is taken apart as one, and only text is searched."""
        part = has_part(self.dialect, _json_text_sql("e.v"), value, folded=folded) if isinstance(value, str) else FALSE
        equal = _json_equals_any("i.v", [value], self.dialect if folded else None)
        members = f"SELECT 1 FROM json_array_elements(e.v) AS i (v) WHERE {equal.text}"
        text = f"CASE json_typeof(e.v) WHEN 'string' THEN {part.text} WHEN 'array' THEN EXISTS ({members}) END"
        return self._some(SqlFragment(text, (*part.params, *equal.params)))

    def _some(self, test: SqlFragment) -> SqlFragment:
        # OFFSET keeps the planner from taking the metadata apart once for each mention of the value.
        entry = f"SELECT memstone.readable(m.{self.column}) -> ?::text AS v OFFSET 0"
        return SqlFragment(f"EXISTS (SELECT 1 FROM ({entry}) e WHERE {test.text})", (self.key, *test.params))


def _json_text_sql(value: str) -> str:
    return f"""({value} #>> '{{}}') COLLATE "C\""""


def _json_number_sql(value: str) -> str:
    return f"memstone.number_of({value} #>> '{{}}')"


def _json_equals_any(value: str, wanted: Sequence[object], folding: SqlDialect | None = None) -> SqlFragment:
    """Return a test that a JSON value equals one of those wanted, type by type."""
    kind = f"json_typeof({value})"
    tests = [_is_word(kind, value, each, word) for each, word in JSON_WORDS if any(each is one for one in wanted)]
    texts = [each for each in wanted if isinstance(each, str)]
    numbers = [bind_value(_to_number_operand(each)) for each in wanted if is_number(each)]
    if texts:
        read = folding.fold_case(_json_text_sql(value)) if folding else _json_text_sql(value)
        fragments = [bind_value(each.casefold() if folding else each) for each in texts]
        tests.append(chain_tests("AND", [SqlFragment(f"{kind} = 'string'"), equals_any(read, fragments)]))
    if numbers:
        number = equals_any(_json_number_sql(value), numbers)
        tests.append(SqlFragment(f"CASE {kind} WHEN 'number' THEN {number.text} END", number.params))
    return join_tests("OR", tests)


def _is_word(kind: str, value: str, wanted: object, word: str) -> SqlFragment:
    """Test for ``null``, ``true`` and ``false``; PostgreSQL calls the last two by one type."""
    return SqlFragment(
        f"{kind} = 'null'" if wanted is None else f"{kind} = 'boolean' AND {value} #>> '{{}}' = '{word}'"
    )


def _to_number_operand(value: float) -> int | Decimal:
    """Return a number as ``number_of`` gives it."""
    if isinstance(value, int):
        return value
    if -_LARGE <= value < _LARGE and abs(value) >= _EXACT_INTEGERS:
        return int(value)
    return Decimal(repr(float(value)))
