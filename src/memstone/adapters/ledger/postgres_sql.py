"""How the seam speaks to PostgreSQL.

The tables write their statements once. What is SQLite's own way of saying things is translated here: placeholders, and
the hints that SQLite's planner needs where PostgreSQL has statistics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import lru_cache
from itertools import count
from typing import Final, Protocol, TypeAlias

import psycopg

from memstone.adapters.ledger.seam import Params, Row

_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
_PIECE: Final = re.compile(r""" \|\| ''|'(?:[^']|'')*'|"[^"]*"| INDEXED BY \w+|\?""")
_HINT: Final = re.compile(r" \|\| ''| INDEXED BY \w+")


@lru_cache(maxsize=4096)
def translated(statement: str) -> str:
    """A statement with numbered placeholders and without hints; what stands in quotes is left alone."""
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
    def lost(self) -> bool:
        """Whether it can no longer be used."""
        ...

    async def begin(self, statements: Sequence[Statement]) -> None:
        """Begin a transaction with these."""
        ...

    async def told(self) -> Row | None:
        """What the last of them gave."""
        ...

    async def commit(self) -> None:
        """End the transaction; when this returns, everything that was sent has been answered."""
        ...

    async def abandon(self) -> None:
        """Roll back what is open, if anything is."""
        ...

    async def alone(self, statements: Sequence[Statement], query: str, params: Params) -> list[Row]:
        """All rows of a query that is a transaction by itself, in one way to the database and back.

        What is sent together is one transaction, which ends with the last statement: it is neither begun nor committed.
        """
        ...

    async def fetch(self, query: str, params: Params) -> list[Row]:
        """All rows."""
        ...

    async def change(self, query: str, params: Params) -> int:
        """How many rows it changed."""
        ...

    async def send(self, query: str, rows: Sequence[Params]) -> None:
        """The same statement for each of the parameter rows."""
        ...


class BlockingWire:
    """A connection that answers at once, so that a unit of work never suspends."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection
        self._open = ExitStack()
        self._pipeline: psycopg.Pipeline | None = None
        self._said: psycopg.Cursor[Row] | None = None

    @property
    def lost(self) -> bool:
        return self._connection.closed

    async def begin(self, statements: Sequence[Statement]) -> None:
        self._pipeline = self._open.enter_context(self._connection.pipeline())
        for query, params in statements:
            self._said = self._connection.execute(query, params)

    async def told(self) -> Row | None:
        return self._said.fetchone() if self._said is not None else None

    async def commit(self) -> None:
        self._connection.execute("COMMIT")
        self._open.close()

    async def abandon(self) -> None:
        with suppress(psycopg.Error):
            self._open.close()
        if not self.lost and self._connection.info.transaction_status != _IDLE:
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
        self._said: psycopg.AsyncCursor[Row] | None = None

    @property
    def lost(self) -> bool:
        return self._connection.closed

    async def begin(self, statements: Sequence[Statement]) -> None:
        self._pipeline = await self._open.enter_async_context(self._connection.pipeline())
        for query, params in statements:
            self._said = await self._connection.execute(query, params)

    async def told(self) -> Row | None:
        return await self._said.fetchone() if self._said is not None else None

    async def commit(self) -> None:
        await self._connection.execute("COMMIT")
        await self._open.aclose()

    async def abandon(self) -> None:
        with suppress(psycopg.Error):
            await self._open.aclose()
        if not self.lost and self._connection.info.transaction_status != _IDLE:
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
        return await self._wire.fetch(translated(query), params)

    async def one(self, query: str, params: Params = ()) -> Row | None:
        found = await self.rows(query, params)
        return found[0] if found else None

    async def run(self, query: str, params: Params = ()) -> int:
        return await self._wire.change(translated(query), params)

    async def insert(self, query: str, params: Params) -> int:
        found = await self._wire.fetch(f"{translated(query)} RETURNING seq", params)
        return int(found[0][0])

    async def many(self, query: str, params: Iterable[Params]) -> None:
        rows: list[Params] = list(params)
        if rows:
            await self._wire.send(translated(query), rows)

    async def say(self, name: str, value: str) -> None:
        """Set a variable that the policies of the tables look at, for this transaction."""
        await self._wire.send(*_said(name, value))


def _said(name: str, value: str) -> tuple[str, list[Params]]:
    return "SELECT set_config($1, $2, true)", [(name, value)]


class PeekingSql(PostgresSql):
    """The seam for a unit that asks one thing: its statement is a transaction by itself."""

    statements: Sequence[Statement] = ()
    """What the transaction begins with."""

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        return await self._wire.alone(self.statements, translated(query), params)

    async def say(self, name: str, value: str) -> None:
        query, (params,) = _said(name, value)
        self.statements = [*self.statements, (query, params)]
