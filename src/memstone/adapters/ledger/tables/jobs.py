"""The log of background work."""

from __future__ import annotations

from typing import Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Row, Sql, marks
from memstone.model.instant import Instant
from memstone.model.job import Job, JobFigures
from memstone.model.scope import Scope

_COLUMNS: Final = (
    "id, tenant_id, user_id, agent_id, run_id, task, status, created_at, model, details, input_tokens, output_tokens, "
    "duration_ms"
)
_FIGURES: Final = """
SELECT task, status, count(*), avg(duration_ms), sum(input_tokens), sum(output_tokens)
FROM jobs WHERE tenant_id = ? GROUP BY task, status ORDER BY task, status"""


class JobsTable:
    """See ``memstone.ports.work_tables.Jobs``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, job: Job) -> None:
        who, tokens = job.scope, (job.input_tokens, job.output_tokens)
        done = (job.task, job.status, job.created_at, job.model, dump(job.details), *tokens, job.duration_ms)
        values = (job.id, who.tenant_id, who.user_id, who.agent_id, who.run_id, *done)
        await self._sql.run(f"INSERT INTO jobs ({_COLUMNS}) VALUES ({marks(len(values))})", values)

    async def find(
        self, scope: Scope, *, task: str | None = None, status: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[Job]:
        where, values = _where(scope, task=task, status=status)
        query = f"SELECT {_COLUMNS} FROM jobs WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?"
        return [_job(row) for row in await self._sql.rows(query, (*values, limit, offset))]

    async def figures(self, tenant_id: str) -> list[JobFigures]:
        rows = await self._sql.rows(_FIGURES, (tenant_id,))
        return [
            JobFigures(task, status, int(count), float(took), int(read), int(written))
            for task, status, count, took, read, written in rows
        ]

    async def forget(self, scope: Scope) -> None:
        where, values = _where(scope)
        await self._sql.run(f"DELETE FROM jobs WHERE {where}", values)

    async def purge(self, tenant_id: str, before: Instant) -> int:
        return await self._sql.run("DELETE FROM jobs WHERE tenant_id = ? AND created_at < ?", (tenant_id, before))


def _where(scope: Scope, **more: str | None) -> tuple[str, list[str]]:
    named = {name: getattr(scope, name) for name in ("user_id", "agent_id", "run_id")} | more
    given = [("tenant_id", scope.tenant_id), *((name, value) for name, value in named.items() if value)]
    return " AND ".join(f"{name} = ?" for name, _ in given), [value for _, value in given]


def _job(row: Row) -> Job:
    id_, tenant, user, agent, run, task, status, created_at, model, details, *figures = row
    return Job(id_, task, Scope(tenant, user, agent, run), status, created_at, model, load(details), *figures)
