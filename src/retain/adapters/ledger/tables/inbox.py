"""Signals that wait, deletions that are remembered, batches that were answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from retain.adapters.ledger.codec import dump, load
from retain.adapters.ledger.seam import Row, Sql, chunks, marks
from retain.model.event import Signal
from retain.model.instant import Instant
from retain.model.scope import Scope


class SignalsTable:
    """See ``retain.ports.inbox.Signals``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, signals: Iterable[Signal]) -> None:
        await self._sql.many(
            "INSERT INTO signals (tenant_id, id, user_id, agent_id, run_id, user_text, assistant_text, data, status, "
            "attempts, last_error, occurred_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (_params(signal) for signal in signals),
        )

    async def pending(self, scope: Scope, limit: int) -> list[Signal]:
        narrowed, values = _narrowed(scope)
        rows = await self._sql.rows(
            "SELECT id, tenant_id, user_id, agent_id, run_id, user_text, occurred_at, created_at, assistant_text, "
            f"data, status, attempts, last_error FROM signals WHERE tenant_id = ? AND status = 'pending'{narrowed} "
            "ORDER BY seq LIMIT ?",
            (scope.tenant_id, *values, limit),
        )
        return [_signal(row) for row in rows]

    async def known(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in chunks(ids):
            query = f"SELECT id FROM signals WHERE tenant_id = ? AND id IN ({marks(len(part))})"
            found.update(str(row[0]) for row in await self._sql.rows(query, (tenant_id, *part)))
        return found

    async def remove(self, tenant_id: str, ids: Sequence[str]) -> None:
        await self._sql.many("DELETE FROM signals WHERE tenant_id = ? AND id = ?", ((tenant_id, id_) for id_ in ids))

    async def forget(self, scope: Scope) -> None:
        narrowed, values = _narrowed(scope)
        await self._sql.run(f"DELETE FROM signals WHERE tenant_id = ?{narrowed}", (scope.tenant_id, *values))

    async def mark(
        self, tenant_id: str, ids: Iterable[str], status: str, error: str | None = None, *, counts: bool = True
    ) -> None:
        await self._sql.many(
            "UPDATE signals SET status = ?, attempts = attempts + ?, last_error = ? WHERE tenant_id = ? AND id = ?",
            ((status, int(counts), error, tenant_id, signal_id) for signal_id in ids),
        )


# A memory that is deleted for everybody says so itself; one that only lost a link is named by what is suppressed.
_HIDDEN: Final = """
SELECT m.origin_id FROM memories m WHERE m.tenant_id = ? AND m.origin_id IN (:ids)
   AND (m.status = 'deleted'
        OR EXISTS (SELECT 1 FROM suppressed s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id))
UNION SELECT turn_id FROM suppressed WHERE tenant_id = ? AND turn_id IN (:ids)"""


class SuppressedTable:
    """See ``retain.ports.inbox.Suppressed``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, tenant_id: str, dedupe: str, memory_id: str, at: Instant) -> None:
        await self._sql.run(
            "INSERT INTO suppressed (tenant_id, dedupe, memory_id, created_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (tenant_id, dedupe) DO UPDATE "
            "SET memory_id = excluded.memory_id, created_at = excluded.created_at",
            (tenant_id, dedupe, memory_id, at),
        )

    async def lift(self, tenant_id: str, dedupe: str) -> None:
        await self._sql.run("DELETE FROM suppressed WHERE tenant_id = ? AND dedupe = ?", (tenant_id, dedupe))

    async def any(self, tenant_id: str) -> bool:
        return await self._sql.one("SELECT 1 FROM suppressed WHERE tenant_id = ? LIMIT 1", (tenant_id,)) is not None

    async def has(self, tenant_id: str, dedupe: str) -> bool:
        query = "SELECT 1 FROM suppressed WHERE tenant_id = ? AND dedupe = ?"
        return await self._sql.one(query, (tenant_id, dedupe)) is not None

    async def turns(self, tenant_id: str, turn_ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in chunks(turn_ids):
            values = (tenant_id, *part)
            rows = await self._sql.rows(_HIDDEN.replace("(:ids)", f"({marks(len(part))})"), values + values)
            found.update(str(row[0]) for row in rows)
        return found


class IdempotencyTable:
    """See ``retain.ports.inbox.Idempotency``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def get(self, tenant_id: str, key: str) -> tuple[str, str] | None:
        query = "SELECT request, reply FROM idempotency WHERE tenant_id = ? AND key = ?"
        row = await self._sql.one(query, (tenant_id, key))
        return None if row is None else (str(row[0]), str(row[1]))

    async def put(self, tenant_id: str, key: str, request: str, reply: str, at: Instant) -> None:
        await self._sql.run(
            "INSERT INTO idempotency (tenant_id, key, request, reply, created_at) VALUES (?, ?, ?, ?, ?)",
            (tenant_id, key, request, reply, at),
        )

    async def purge(self, before: Instant) -> None:
        await self._sql.run("DELETE FROM idempotency WHERE created_at < ?", (before,))


class LlmCacheTable:
    """See ``retain.ports.inbox.LlmCache``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def get(self, tenant_id: str, key: str) -> str | None:
        row = await self._sql.one("SELECT reply FROM llm_cache WHERE tenant_id = ? AND key = ?", (tenant_id, key))
        return None if row is None else str(row[0])

    async def put(self, tenant_id: str, key: str, reply: str, at: Instant) -> None:
        await self._sql.run(
            "INSERT INTO llm_cache (tenant_id, key, reply, created_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (tenant_id, key) DO UPDATE SET reply = excluded.reply, created_at = excluded.created_at",
            (tenant_id, key, reply, at),
        )


def _narrowed(scope: Scope) -> tuple[str, list[str]]:
    """The part of a condition that says whose signals, and its values."""
    given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    return "".join(f" AND {name} = ?" for name, _ in given), [value for _, value in given]


def _params(signal: Signal) -> tuple[object, ...]:
    who = signal.scope
    scope = (who.tenant_id, signal.id, who.user_id, who.agent_id, who.run_id)
    state = (signal.status, signal.attempts, signal.last_error, signal.occurred_at, signal.created_at)
    return (*scope, signal.user_text, signal.assistant_text, dump(signal.data), *state)


def _signal(row: Row) -> Signal:
    id_, tenant, user, agent, run, text, occurred_at, created_at, answer, data, status, attempts, error = row
    scope = Scope(tenant, user, agent, run)
    return Signal(id_, scope, text, occurred_at, created_at, answer, load(data), status, attempts, error)
