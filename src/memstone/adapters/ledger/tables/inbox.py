"""Signals that wait, deletions that are remembered, batches that were answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Row, Sql, chunks, marks
from memstone.model.event import Signal
from memstone.model.instant import Instant
from memstone.model.scope import Scope

_COLUMNS: Final = (
    "id, tenant_id, user_id, agent_id, run_id, user_text, occurred_at, created_at, assistant_text, data, status, "
    "attempts, last_error, due_at"
)
_SAME: Final = "tenant_id = ? AND user_id = ? AND agent_id = ? AND run_id = ?"
# By rows and not by sessions: grouping would read all that wait whenever somebody looks.
_DUE: Final = """
SELECT s.tenant_id, s.user_id, s.agent_id, s.run_id FROM signals s
WHERE s.status = 'pending' AND s.due_at <= ?:whose
  AND NOT EXISTS (SELECT 1 FROM signals later
                  WHERE later.tenant_id = s.tenant_id AND later.status = 'pending' AND later.user_id = s.user_id
                    AND later.agent_id = s.agent_id AND later.run_id = s.run_id AND later.due_at > ?)
ORDER BY s.due_at, s.seq LIMIT ? OFFSET ?"""
_HELD: Final = "SELECT 1 FROM leases l WHERE l.tenant_id = ? AND l.name = ? AND l.until > ?"
_MARK: Final = """
UPDATE signals SET status = ?, attempts = attempts + ?, last_error = ?,
       due_at = CASE WHEN due_at IS NULL THEN NULL ELSE coalesce(?, due_at) END
WHERE tenant_id = ? AND id = ? AND status = 'pending'"""


class SignalsTable:
    """See ``memstone.ports.work_tables.Signals``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, signals: Iterable[Signal]) -> None:
        await self._sql.many(
            "INSERT INTO signals (tenant_id, id, user_id, agent_id, run_id, user_text, assistant_text, data, status, "
            "attempts, last_error, occurred_at, created_at, due_at) "
            f"VALUES ({marks(14)})",
            (_params(signal) for signal in signals),
        )

    async def pending(self, scope: Scope, limit: int) -> list[Signal]:
        narrowed, values = _narrowed(scope)
        rows = await self._sql.rows(
            f"SELECT {_COLUMNS} FROM signals WHERE tenant_id = ? AND status = 'pending'{narrowed} ORDER BY seq LIMIT ?",
            (scope.tenant_id, *values, limit),
        )
        return [_signal(row) for row in rows]

    async def session(self, scope: Scope, limit: int) -> list[Signal]:
        query = f"SELECT {_COLUMNS} FROM signals WHERE {_SAME} AND status = 'pending' ORDER BY seq LIMIT ?"
        return [_signal(row) for row in await self._sql.rows(query, (*_session(scope), limit))]

    async def sessions(self, scope: Scope, limit: int, offset: int = 0) -> list[Scope]:
        narrowed, values = _narrowed(scope)
        query = (
            "SELECT tenant_id, user_id, agent_id, run_id FROM signals "
            f"WHERE tenant_id = ? AND status = 'pending'{narrowed} "
            "GROUP BY tenant_id, user_id, agent_id, run_id ORDER BY min(seq) LIMIT ? OFFSET ?"
        )
        return [Scope(*row) for row in await self._sql.rows(query, (scope.tenant_id, *values, limit, offset))]

    async def due(self, tenant_id: str | None, now: Instant, limit: int, offset: int = 0) -> list[Scope]:
        whose = "" if tenant_id is None else " AND s.tenant_id = ?"
        values = () if tenant_id is None else (tenant_id,)
        rows = await self._sql.rows(_DUE.replace(":whose", whose), (now, *values, now, limit, offset))
        return [Scope(*row) for row in rows]

    async def free(self, sessions: Sequence[tuple[Scope, str]], now: Instant) -> int | None:
        query = f"SELECT 1 FROM signals WHERE {_SAME} AND status = 'pending' AND NOT EXISTS ({_HELD}) LIMIT 1"
        for place, (scope, lease) in enumerate(sessions):
            if await self._sql.one(query, (*_session(scope), scope.tenant_id, lease, now)) is not None:
                return place
        return None

    async def hurry(self, scope: Scope, now: Instant) -> int:
        return await self._sql.run(
            "UPDATE signals SET due_at = ? WHERE tenant_id = ? AND status = 'pending' AND user_id = ? AND agent_id = ? "
            "AND run_id <> ? AND due_at > ?",
            (now, *_session(scope), now),
        )

    async def waiting(self, scope: Scope) -> int:
        narrowed, values = _narrowed(scope)
        query = f"SELECT count(*) FROM signals WHERE tenant_id = ? AND status = 'pending'{narrowed}"
        row = await self._sql.one(query, (scope.tenant_id, *values))
        return int(row[0]) if row else 0

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
        self,
        tenant_id: str,
        ids: Iterable[str],
        status: str,
        error: str | None = None,
        *,
        counts: bool = True,
        due_at: Instant | None = None,
    ) -> int:
        marked = 0
        for signal_id in ids:
            marked += await self._sql.run(_MARK, (status, int(counts), error, due_at, tenant_id, signal_id))
        return marked

    async def unfinished(self, scope: Scope) -> list[Signal]:
        narrowed, values = _narrowed(scope)
        query = (
            f"SELECT {_COLUMNS} FROM signals WHERE tenant_id = ?{narrowed} "
            "AND (status <> 'processed' OR last_error IS NOT NULL) ORDER BY seq"
        )
        return [_signal(row) for row in await self._sql.rows(query, (scope.tenant_id, *values))]

    async def passed_over(self, scope: Scope, limit: int) -> list[Signal]:
        query = (
            f"SELECT {_COLUMNS} FROM signals WHERE {_SAME} AND status = 'processed' AND last_error IS NOT NULL "
            "ORDER BY seq LIMIT ?"
        )
        return [_signal(row) for row in await self._sql.rows(query, (*_session(scope), limit))]

    async def take_up(self, tenant_id: str, ids: Iterable[str]) -> None:
        query = "UPDATE signals SET last_error = NULL WHERE tenant_id = ? AND id = ? AND status = 'processed'"
        await self._sql.many(query, ((tenant_id, id_) for id_ in ids))

    async def is_known(self, scope: Scope) -> bool:
        return await self._sql.one(f"SELECT 1 FROM signals WHERE {_SAME} LIMIT 1", _session(scope)) is not None

    async def clear(self, scope: Scope) -> None:
        await self._sql.run(f"DELETE FROM signals WHERE {_SAME}", _session(scope))

    async def purge(self, tenant_id: str, before: Instant) -> int:
        query = "DELETE FROM signals WHERE tenant_id = ? AND status = 'processed' AND created_at < ?"
        return await self._sql.run(query, (tenant_id, before))


# A memory that is deleted for everybody or put aside says so itself; one that only lost a link is named by what is
# suppressed.
_HIDDEN: Final = """
SELECT m.origin_id FROM memories m WHERE m.tenant_id = ? AND m.origin_id IN (:ids)
   AND (m.status = 'deleted' OR (m.valid_to IS NULL AND m.status IN ('disabled', 'quarantined'))
        OR EXISTS (SELECT 1 FROM suppressed s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id))
UNION SELECT turn_id FROM suppressed WHERE tenant_id = ? AND turn_id IN (:ids)"""


_DELETED: Final = """
SELECT m.origin_id, m.id, m.data FROM memories m WHERE m.tenant_id = ? AND m.origin_id IN (:ids)
   AND (m.status = 'deleted'
        OR EXISTS (SELECT 1 FROM suppressed s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id))"""


class SuppressedTable:
    """See ``memstone.ports.work_tables.Suppressed``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, tenant_id: str, dedupe: str, memory_id: str, at: Instant, turn_id: str | None = None) -> None:
        await self._sql.run(
            "INSERT INTO suppressed (tenant_id, dedupe, memory_id, created_at, turn_id) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (tenant_id, dedupe) DO UPDATE "
            "SET memory_id = excluded.memory_id, created_at = excluded.created_at, turn_id = excluded.turn_id",
            (tenant_id, dedupe, memory_id, at, turn_id),
        )

    async def lift(self, tenant_id: str, dedupe: str) -> None:
        await self._sql.run("DELETE FROM suppressed WHERE tenant_id = ? AND dedupe = ?", (tenant_id, dedupe))

    async def any(self, tenant_id: str) -> bool:
        return await self._sql.one("SELECT 1 FROM suppressed WHERE tenant_id = ? LIMIT 1", (tenant_id,)) is not None

    async def has(self, tenant_id: str, dedupe: str) -> bool:
        query = "SELECT 1 FROM suppressed WHERE tenant_id = ? AND dedupe = ?"
        return await self._sql.one(query, (tenant_id, dedupe)) is not None

    async def since(self, tenant_id: str, dedupe: str) -> Instant | None:
        query = "SELECT created_at FROM suppressed WHERE tenant_id = ? AND dedupe = ?"
        row = await self._sql.one(query, (tenant_id, dedupe))
        return None if row is None else row[0]

    async def turns(self, tenant_id: str, turn_ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in chunks(turn_ids):
            values = (tenant_id, *part)
            rows = await self._sql.rows(_HIDDEN.replace("(:ids)", f"({marks(len(part))})"), values + values)
            found.update(str(row[0]) for row in rows)
        return found

    async def page(self, tenant_id: str, after: str, limit: int) -> list[tuple[str, str, Instant]]:
        query = (
            "SELECT dedupe, memory_id, created_at FROM suppressed WHERE tenant_id = ? AND dedupe > ? "
            "ORDER BY dedupe LIMIT ?"
        )
        return [(row[0], row[1], row[2]) for row in await self._sql.rows(query, (tenant_id, after, limit))]

    async def evidence(self, tenant_id: str, turn_ids: Sequence[str]) -> list[tuple[str, str, Mapping[str, Any]]]:
        found: list[tuple[str, str, Mapping[str, Any]]] = []
        for part in chunks(turn_ids):
            rows = await self._sql.rows(_DELETED.replace("(:ids)", f"({marks(len(part))})"), (tenant_id, *part))
            found += [(str(row[0]), str(row[1]), load(row[2])) for row in rows]
        return found


class IdempotencyTable:
    """See ``memstone.ports.work_tables.Idempotency``."""

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
    """See ``memstone.ports.work_tables.LlmCache``."""

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
    return (*scope, signal.user_text, signal.assistant_text, dump(signal.data), *state, signal.due_at)


def _session(scope: Scope) -> tuple[str, str, str, str]:
    return (scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id)


def _signal(row: Row) -> Signal:
    id_, tenant, user, agent, run, text, occurred_at, created_at, answer, data, status, attempts, error, due_at = row
    scope = Scope(tenant, user, agent, run)
    return Signal(id_, scope, text, occurred_at, created_at, answer, load(data), status, attempts, error, due_at)
