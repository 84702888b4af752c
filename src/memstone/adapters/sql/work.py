"""Tables of signals, suppressed memories, jobs, leases and answered batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.adapters.sql.rows import (
    Row,
    SqlConnection,
    dump_json,
    load_json_object,
    placeholder_list,
    split_chunks,
    status_list,
)
from memstone.model.event import Job, JobFigures, Signal
from memstone.model.instant import Instant
from memstone.model.memory import ASIDE
from memstone.model.scope import Scope
from memstone.ports.erasure import ErasureRecord

# --- signals that wait, deletions that are remembered, batches that were answered -------------------------------------


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
_LEASE_IN_FORCE: Final = "SELECT 1 FROM leases l WHERE l.tenant_id = ? AND l.name = ? AND l.until > ?"
_MARK: Final = """
UPDATE signals SET status = ?, attempts = attempts + ?, last_error = ?,
       due_at = CASE WHEN due_at IS NULL THEN NULL ELSE coalesce(?, due_at) END
WHERE tenant_id = ? AND id = ? AND status = 'pending'"""


class SignalsTable:
    """See ``memstone.ports.work_tables.Signals``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, signals: Iterable[Signal]) -> None:
        await self._sql.many(
            "INSERT INTO signals (tenant_id, id, user_id, agent_id, run_id, user_text, assistant_text, data, status, "
            "attempts, last_error, occurred_at, created_at, due_at) "
            f"VALUES ({placeholder_list(14)})",
            (_signal_params(signal) for signal in signals),
        )

    async def list_pending(self, scope: Scope, limit: int) -> list[Signal]:
        narrowed, values = _scope_condition(scope)
        rows = await self._sql.rows(
            f"SELECT {_COLUMNS} FROM signals WHERE tenant_id = ? AND status = 'pending'{narrowed} ORDER BY seq LIMIT ?",
            (scope.tenant_id, *values, limit),
        )
        return [_signal_from_row(row) for row in rows]

    async def session(self, scope: Scope, limit: int) -> list[Signal]:
        query = f"SELECT {_COLUMNS} FROM signals WHERE {_SAME} AND status = 'pending' ORDER BY seq LIMIT ?"
        return [_signal_from_row(row) for row in await self._sql.rows(query, (*_session_params(scope), limit))]

    async def sessions(self, scope: Scope, limit: int, offset: int = 0) -> list[Scope]:
        narrowed, values = _scope_condition(scope)
        query = (
            "SELECT tenant_id, user_id, agent_id, run_id FROM signals "
            f"WHERE tenant_id = ? AND status = 'pending'{narrowed} "
            "GROUP BY tenant_id, user_id, agent_id, run_id ORDER BY min(seq) LIMIT ? OFFSET ?"
        )
        return [Scope(*row) for row in await self._sql.rows(query, (scope.tenant_id, *values, limit, offset))]

    async def due(self, tenant_id: str | None, now: Instant, limit: int, offset: int = 0) -> list[Scope]:
        owner = "" if tenant_id is None else " AND s.tenant_id = ?"
        values = () if tenant_id is None else (tenant_id,)
        rows = await self._sql.rows(_DUE.replace(":whose", owner), (now, *values, now, limit, offset))
        return [Scope(*row) for row in rows]

    async def free(self, sessions: Sequence[tuple[Scope, str]], now: Instant) -> int | None:
        query = f"SELECT 1 FROM signals WHERE {_SAME} AND status = 'pending' AND NOT EXISTS ({_LEASE_IN_FORCE}) LIMIT 1"
        for place, (scope, lease) in enumerate(sessions):
            if await self._sql.one(query, (*_session_params(scope), scope.tenant_id, lease, now)) is not None:
                return place
        return None

    async def hurry(self, scope: Scope, now: Instant) -> int:
        return await self._sql.run(
            "UPDATE signals SET due_at = ? WHERE tenant_id = ? AND status = 'pending' AND user_id = ? AND agent_id = ? "
            "AND run_id <> ? AND due_at > ?",
            (now, *_session_params(scope), now),
        )

    async def count_pending(self, scope: Scope) -> int:
        narrowed, values = _scope_condition(scope)
        query = f"SELECT count(*) FROM signals WHERE tenant_id = ? AND status = 'pending'{narrowed}"
        row = await self._sql.one(query, (scope.tenant_id, *values))
        return int(row[0]) if row else 0

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in split_chunks(ids):
            query = f"SELECT id FROM signals WHERE tenant_id = ? AND id IN ({placeholder_list(len(part))})"
            found.update(str(row[0]) for row in await self._sql.rows(query, (tenant_id, *part)))
        return found

    async def remove(self, tenant_id: str, ids: Sequence[str]) -> None:
        await self._sql.many("DELETE FROM signals WHERE tenant_id = ? AND id = ?", ((tenant_id, id_) for id_ in ids))

    async def forget(self, scope: Scope) -> None:
        narrowed, values = _scope_condition(scope)
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

    async def list_unfinished(self, scope: Scope) -> list[Signal]:
        narrowed, values = _scope_condition(scope)
        query = (
            f"SELECT {_COLUMNS} FROM signals WHERE tenant_id = ?{narrowed} "
            "AND (status <> 'processed' OR last_error IS NOT NULL) ORDER BY seq"
        )
        return [_signal_from_row(row) for row in await self._sql.rows(query, (scope.tenant_id, *values))]

    async def passed_over(self, scope: Scope, limit: int) -> list[Signal]:
        query = (
            f"SELECT {_COLUMNS} FROM signals WHERE {_SAME} AND status = 'processed' AND last_error IS NOT NULL "
            "ORDER BY seq LIMIT ?"
        )
        return [_signal_from_row(row) for row in await self._sql.rows(query, (*_session_params(scope), limit))]

    async def take_up(self, tenant_id: str, ids: Iterable[str]) -> None:
        query = "UPDATE signals SET last_error = NULL WHERE tenant_id = ? AND id = ? AND status = 'processed'"
        await self._sql.many(query, ((tenant_id, id_) for id_ in ids))

    async def is_known(self, scope: Scope) -> bool:
        return await self._sql.one(f"SELECT 1 FROM signals WHERE {_SAME} LIMIT 1", _session_params(scope)) is not None

    async def clear(self, scope: Scope) -> None:
        await self._sql.run(f"DELETE FROM signals WHERE {_SAME}", _session_params(scope))

    async def purge(self, tenant_id: str, before: Instant) -> int:
        query = "DELETE FROM signals WHERE tenant_id = ? AND status = 'processed' AND created_at < ?"
        return await self._sql.run(query, (tenant_id, before))


# A memory that is deleted for everybody or put aside says so itself; one that only lost a link is named by what is
# suppressed.
_HIDDEN: Final = f"""
SELECT m.origin_id FROM memories m WHERE m.tenant_id = ? AND m.origin_id IN (:ids)
   AND (m.status = 'deleted' OR (m.valid_to IS NULL AND m.status IN ({status_list(ASIDE)}))
        OR EXISTS (SELECT 1 FROM suppressed s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id))
UNION SELECT turn_id FROM suppressed WHERE tenant_id = ? AND turn_id IN (:ids)"""


_DELETED: Final = """
SELECT m.origin_id, m.id, m.data FROM memories m WHERE m.tenant_id = ? AND m.origin_id IN (:ids)
   AND (m.status = 'deleted'
        OR EXISTS (SELECT 1 FROM suppressed s WHERE s.tenant_id = m.tenant_id AND s.memory_id = m.id))"""


class SuppressedTable:
    """See ``memstone.ports.work_tables.Suppressions``."""

    def __init__(self, sql: SqlConnection) -> None:
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
        for part in split_chunks(turn_ids):
            values = (tenant_id, *part)
            rows = await self._sql.rows(_HIDDEN.replace("(:ids)", f"({placeholder_list(len(part))})"), values + values)
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
        for part in split_chunks(turn_ids):
            rows = await self._sql.rows(
                _DELETED.replace("(:ids)", f"({placeholder_list(len(part))})"), (tenant_id, *part)
            )
            found += [(str(row[0]), str(row[1]), load_json_object(row[2])) for row in rows]
        return found


class IdempotencyTable:
    """See ``memstone.ports.work_tables.Idempotency``."""

    def __init__(self, sql: SqlConnection) -> None:
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

    def __init__(self, sql: SqlConnection) -> None:
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


def _scope_condition(scope: Scope) -> tuple[str, list[str]]:
    """Return the part of a condition that says whose signals, and its values."""
    items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    return "".join(f" AND {name} = ?" for name, _ in items), [value for _, value in items]


def _signal_params(signal: Signal) -> tuple[object, ...]:
    who = signal.scope
    scope = (who.tenant_id, signal.id, who.user_id, who.agent_id, who.run_id)
    state = (signal.status, signal.attempts, signal.last_error, signal.occurred_at, signal.created_at)
    return (*scope, signal.user_text, signal.assistant_text, dump_json(signal.data), *state, signal.due_at)


def _session_params(scope: Scope) -> tuple[str, str, str, str]:
    return (scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id)


def _signal_from_row(row: Row) -> Signal:
    id_, tenant, user, agent, run, text, occurred_at, created_at, answer, data, status, attempts, error, due_at = row
    scope = Scope(tenant, user, agent, run)
    return Signal(
        id_, scope, text, occurred_at, created_at, answer, load_json_object(data), status, attempts, error, due_at
    )


# --- the log of background work ---------------------------------------------------------------------------------------


_JOBS_COLUMNS: Final = (
    "id, tenant_id, user_id, agent_id, run_id, task, status, created_at, model, details, input_tokens, output_tokens, "
    "duration_ms"
)
_FIGURES: Final = """
SELECT task, status, count(*), avg(duration_ms), sum(input_tokens), sum(output_tokens), model
FROM jobs WHERE tenant_id = ? GROUP BY task, status, model ORDER BY task, status, model"""


class JobsTable:
    """See ``memstone.ports.work_tables.Jobs``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, job: Job) -> None:
        who, tokens = job.scope, (job.input_tokens, job.output_tokens)
        done = (job.task, job.status, job.created_at, job.model, dump_json(job.details), *tokens, job.duration_ms)
        values = (job.id, who.tenant_id, who.user_id, who.agent_id, who.run_id, *done)
        await self._sql.run(f"INSERT INTO jobs ({_JOBS_COLUMNS}) VALUES ({placeholder_list(len(values))})", values)

    async def find(
        self, scope: Scope, *, task: str | None = None, status: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[Job]:
        where, values = _job_condition(scope, task=task, status=status)
        query = f"SELECT {_JOBS_COLUMNS} FROM jobs WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?"
        return [_job_from_row(row) for row in await self._sql.rows(query, (*values, limit, offset))]

    async def figures(self, tenant_id: str) -> list[JobFigures]:
        rows = await self._sql.rows(_FIGURES, (tenant_id,))
        return [
            JobFigures(task, status, int(count), float(took), int(read), int(written), model)
            for task, status, count, took, read, written, model in rows
        ]

    async def forget(self, scope: Scope) -> None:
        where, values = _job_condition(scope)
        await self._sql.run(f"DELETE FROM jobs WHERE {where}", values)

    async def purge(self, tenant_id: str, before: Instant) -> int:
        return await self._sql.run("DELETE FROM jobs WHERE tenant_id = ? AND created_at < ?", (tenant_id, before))


def _job_condition(scope: Scope, **more: str | None) -> tuple[str, list[str]]:
    named = {name: getattr(scope, name) for name in ("user_id", "agent_id", "run_id")} | more
    items = [("tenant_id", scope.tenant_id), *((name, value) for name, value in named.items() if value)]
    return " AND ".join(f"{name} = ?" for name, _ in items), [value for _, value in items]


def _job_from_row(row: Row) -> Job:
    id_, tenant, user, agent, run, task, status, created_at, model, details, *figures = row
    return Job(
        id_, task, Scope(tenant, user, agent, run), status, created_at, model, load_json_object(details), *figures
    )


# --- who works on what ------------------------------------------------------------------------------------------------


_CLAIM: Final = """
INSERT INTO leases (tenant_id, name, owner, until) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, name) DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE leases.until <= ?"""


class LeasesTable:
    """See ``memstone.ports.work_tables.Leases``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def claim(self, tenant_id: str, name: str, owner: str, now: Instant, until: Instant) -> bool:
        return await self._sql.run(_CLAIM, (tenant_id, name, owner, until, now)) == 1

    async def renew(self, tenant_id: str, name: str, owner: str, until: Instant) -> bool:
        query = "UPDATE leases SET until = ? WHERE tenant_id = ? AND name = ? AND owner = ?"
        return await self._sql.run(query, (until, tenant_id, name, owner)) == 1

    async def release(self, tenant_id: str, name: str, owner: str) -> bool:
        query = "DELETE FROM leases WHERE tenant_id = ? AND name = ? AND owner = ?"
        return await self._sql.run(query, (tenant_id, name, owner)) == 1


# --- the accounts of what was shown to a model ------------------------------------------------------------------------


_INSERT: Final = (
    "INSERT INTO receipts (tenant_id, id, user_id, agent_id, run_id, body, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
# By time alone, which the index answers without looking at a row; what was kept in the same moment stays with it.
_SURPLUS: Final = """
DELETE FROM receipts WHERE tenant_id = ? AND created_at < (
    SELECT created_at FROM receipts WHERE tenant_id = ? ORDER BY created_at DESC LIMIT 1 OFFSET ?)"""
# The last ones only, which the key answers: who asks about a moment ago need not read through all that ever was.
_ERASED: Final = """
SELECT tenant_id, id, created_at, user_digest, agent_digest, run_digest, memory_digest FROM (
    SELECT * FROM erasures ORDER BY seq DESC LIMIT 256) AS last
WHERE tenant_id = ? AND created_at >= ?"""


class ReceiptsTable:
    """See ``memstone.ports.work_tables.Receipts``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, scope: Scope, receipt_id: str, body: Mapping[str, Any], at: Instant) -> None:
        who = (scope.tenant_id, receipt_id, scope.user_id, scope.agent_id, scope.run_id)
        await self._sql.many(_INSERT, [(*who, dump_json(body), at)])

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        query = f"SELECT id FROM receipts WHERE tenant_id = ? AND id IN ({placeholder_list(len(ids))})"
        return {row[0] for row in await self._sql.rows(query, (tenant_id, *ids))}

    async def list_erasures(self, tenant_id: str, since: Instant) -> list[ErasureRecord]:
        return [ErasureRecord(*row) for row in await self._sql.rows(_ERASED, (tenant_id, since))]

    async def get(self, tenant_id: str, receipt_id: str) -> dict[str, Any] | None:
        query = "SELECT body FROM receipts WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, receipt_id))
        return None if row is None else load_json_object(row[0])

    async def find_with_owner(self, tenant_id: str, receipt_id: str) -> tuple[Scope, dict[str, Any]] | None:
        query = "SELECT user_id, agent_id, run_id, body FROM receipts WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, receipt_id))
        return None if row is None else (Scope(tenant_id, *row[:3]), load_json_object(row[3]))

    async def list_newest(self, scope: Scope, since: Instant, limit: int) -> list[tuple[Scope, dict[str, Any]]]:
        where, values = _job_condition(scope)
        query = (
            f"SELECT user_id, agent_id, run_id, body FROM receipts WHERE {where} AND created_at >= ? "
            "ORDER BY created_at DESC LIMIT ?"
        )
        rows = await self._sql.rows(query, (*values, since, limit))
        return [(Scope(scope.tenant_id, *row[:3]), load_json_object(row[3])) for row in rows]

    async def owner(self, tenant_id: str, receipt_id: str) -> Scope | None:
        query = "SELECT user_id, agent_id, run_id FROM receipts WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, receipt_id))
        return None if row is None else Scope(tenant_id, *row)

    async def amend(self, tenant_id: str, receipt_id: str, body: Mapping[str, Any]) -> None:
        query = "UPDATE receipts SET body = ? WHERE tenant_id = ? AND id = ?"
        await self._sql.run(query, (dump_json(body), tenant_id, receipt_id))

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        await self._sql.many("DELETE FROM receipts WHERE tenant_id = ? AND created_at < ?", [(tenant_id, before)])
        await self._sql.many(_SURPLUS, [(tenant_id, tenant_id, max(keep, 1) - 1)])

    async def forget(self, scope: Scope) -> None:
        items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
        narrowed = "".join(f" AND {name} = ?" for name, _ in items)
        values = (scope.tenant_id, *(value for _, value in items))
        await self._sql.run(f"DELETE FROM receipts WHERE tenant_id = ?{narrowed}", values)


# --- answers of models that began under one number and ended under another --------------------------------------------


_PUT: Final = """
INSERT INTO continuations (tenant_id, user_id, began, ended, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, user_id, began) DO UPDATE SET ended = excluded.ended, created_at = excluded.created_at"""
# By time alone, which the index answers without looking at a row; what was noted in the same moment stays with it.
_CONTINUATIONS_SURPLUS: Final = """
DELETE FROM continuations WHERE tenant_id = ? AND created_at < (
    SELECT created_at FROM continuations WHERE tenant_id = ? ORDER BY created_at DESC LIMIT 1 OFFSET ?)"""
_HAND_OVER: Final = """
INSERT INTO continuations (tenant_id, user_id, began, ended, created_at)
SELECT tenant_id, ?, began, ended, created_at FROM continuations WHERE tenant_id = ? AND user_id = ?
ON CONFLICT (tenant_id, user_id, began) DO NOTHING"""


class ContinuationsTable:
    """See ``memstone.ports.work_tables.Continuations``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, tenant_id: str, user_id: str, began: str, ended: str, at: Instant) -> None:
        await self._sql.run(_PUT, (tenant_id, user_id, began, ended, at))

    async def find_end(self, tenant_id: str, user_id: str, began: str) -> str | None:
        query = "SELECT ended FROM continuations WHERE tenant_id = ? AND user_id = ? AND began = ?"
        row = await self._sql.one(query, (tenant_id, user_id, began))
        return None if row is None else str(row[0])

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        await self._sql.run(_HAND_OVER, (new_user, tenant_id, old_user))
        await self._sql.run("DELETE FROM continuations WHERE tenant_id = ? AND user_id = ?", (tenant_id, old_user))

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        await self._sql.run("DELETE FROM continuations WHERE tenant_id = ? AND created_at < ?", (tenant_id, before))
        await self._sql.run(_CONTINUATIONS_SURPLUS, (tenant_id, tenant_id, max(keep, 1) - 1))


# --- what unrelated questions score, and memories to find that out with -----------------------------------------------


_CALIBRATION_PUT: Final = """
INSERT INTO calibration (tenant_id, signature, body, updated_at) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, signature) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at"""
_FROM: Final = """
FROM links l
JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
WHERE l.tenant_id = ?"""
# Numbers that were given out in turns, to one user and another, must not end up all in or all out.
_PRIME: Final = 104_729
_FACTOR: Final = 7_919


class CalibrationTable:
    """See ``memstone.ports.work_tables.Calibration``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def get(self, tenant_id: str, name: str) -> dict[str, Any] | None:
        query = "SELECT body FROM calibration WHERE tenant_id = ? AND signature = ?"
        row = await self._sql.one(query, (tenant_id, name))
        return None if row is None else load_json_object(row[0])

    async def put(self, tenant_id: str, name: str, body: Mapping[str, Any], at: Instant) -> None:
        await self._sql.run(_CALIBRATION_PUT, (tenant_id, name, dump_json(body), at))

    async def sample(self, scope: Scope, signature: str, most: int) -> tuple[int, list[bytes]]:
        items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
        # "<> ''" repeats the condition of the partial indexes, which the planner needs to see to use them.
        narrowed = _FROM + "".join(f" AND l.{name} = ? AND l.{name} <> ''" for name, _ in items)
        params = (signature, scope.tenant_id, *(value for _, value in items))
        counted = await self._sql.one(f"SELECT count(*) {narrowed}", params)
        rows = int(counted[0]) if counted else 0
        share = _PRIME if rows <= most else _PRIME * most // rows
        spread = f"SELECT v.vector {narrowed} AND (l.memory_seq % {_PRIME}) * {_FACTOR} % {_PRIME} < ?"
        found = await self._sql.rows(f"{spread} ORDER BY l.memory_seq", (*params, share))
        return rows, [bytes(row[0]) for row in found]
