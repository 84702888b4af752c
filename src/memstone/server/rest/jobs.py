"""Background work: the log of what was done, and long work that is started, looked at and cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request

from memstone.errors import ConfigError, InvalidInput
from memstone.literals import JobStatus
from memstone.server.access import Admin, AuthenticatedRoute, NamedScope, Reach, Reader, needs_operator, resolve_scope
from memstone.server.background_jobs import BackgroundJob, Progress, Work, works_of
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.console import ConsolidateBody, EraseBody

router = APIRouter(tags=["jobs"], responses=PROBLEMS, route_class=AuthenticatedRoute)

_FILE: Final = {"type": "string", "examples": ['[{"memory": "User lives in Oslo.", "user_id": "alice"}]']}
UPLOAD: Final = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": _FILE}}}}


@router.get("/v1/jobs", response_model=answer_form("JobList"))
async def list_jobs(
    caller: Reader,
    named: Reach,
    task: str | None = None,
    status: JobStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """List background jobs, newest first: outcomes, decisions about facts, and costs."""
    scope = resolve_scope(caller, named.as_dict())
    return await caller.memory.admin.jobs(**scope, task=task, status=status, limit=limit)


@router.get("/v1/console/jobs", response_model=answer_form("ConsoleJobList"))
async def list_console_jobs(request: Request, caller: Admin) -> Any:
    """List the long-running jobs of this process for the tenant."""
    caller.needs_tenant()
    return {"results": [job.as_dict() for job in works_of(request).of(caller.key.tenant_id)]}


@router.get("/v1/console/jobs/{job_id}", response_model=answer_form("ConsoleJob"))
async def get_job(request: Request, caller: Admin, job_id: str) -> Any:
    """Return the progress of a job, and its result."""
    caller.needs_tenant()
    return works_of(request).one(caller.key.tenant_id, job_id).as_dict()


@router.post("/v1/console/jobs/{job_id}/cancel", response_model=answer_form("ConsoleJob"))
async def cancel_job(request: Request, caller: Admin, job_id: str) -> Any:
    """Cancel a job. What it has done stays, and you can start it again."""
    caller.needs_tenant()
    return (await works_of(request).cancel(caller.key.tenant_id, job_id)).as_dict()


@router.post("/v1/console/consolidate", status_code=202, response_model=answer_form("ConsoleJob"))
async def start_consolidation(request: Request, caller: Admin, wanted: ConsolidateBody | None = None) -> Any:
    """Consolidate the memories as a job."""
    values = (wanted or ConsolidateBody()).model_dump()
    values |= resolve_scope(caller, values)
    return _start_job(request, caller, "consolidate", lambda _: caller.memory.admin.consolidate(**values))


@router.post("/v1/console/reindex", status_code=202, response_model=answer_form("ConsoleJob"))
async def start_reindex(request: Request, caller: Admin) -> Any:
    """Rebuild the vectors of the configured embedder, as a job; searches keep working."""
    return _start_job(request, caller, "reindex", caller.memory.admin.reindex)


@router.post("/v1/console/erase", status_code=202, response_model=answer_form("ConsoleJob"))
async def start_erasure(request: Request, caller: Admin, wanted: EraseBody) -> Any:
    """Erase everything of a scope, or one memory, for good, as a job; its result is the report."""
    if wanted.subject is None or not (wanted.dry_run or wanted.confirm == wanted.subject):
        raise InvalidInput("this cannot be undone", hint="name a scope or a memory, and confirm by repeating its id")
    values = wanted.model_dump(exclude={"confirm", "dry_run"})

    async def work(progress: Progress) -> Mapping[str, Any]:
        return await caller.memory.admin.erase(**values, progress=progress, dry_run=wanted.dry_run)

    return _start_job(request, caller, "erase", work)


@router.post("/v1/console/backup", status_code=202, response_model=answer_form("ConsoleJob"))
async def start_backup(request: Request, caller: Admin) -> Any:
    """Write the whole store, with all tenants, into the configured folder, as a job."""
    needs_operator(request, caller)
    folder = request.app.state.memstone.settings.server.backup_folder
    if folder is None or not folder.expanduser().is_dir():
        raise ConfigError("no folder is set for backups", hint="set server.backup_folder to an existing folder")

    async def work(progress: Progress) -> Mapping[str, Any]:
        return await caller.memory.admin.backups.create(folder, progress=progress)

    return _start_job(request, caller, "backup", work)


@router.post("/v1/console/import", status_code=202, response_model=answer_form("ConsoleJob"), openapi_extra=UPLOAD)
async def start_import(
    request: Request,
    caller: Admin,
    named: NamedScope,
    wanted: Annotated[str, Query(alias="format", max_length=40)] = "auto",
    from_user: Annotated[str | None, Query(max_length=256)] = None,
    *,
    trusted: bool = False,
    learn: bool = True,
) -> Any:
    """Import what another system exported, as a job; the body is the file as it is, also a zip archive."""
    caller.needs_tenant()
    values = {**named.as_dict(), "format": wanted, "from_user": from_user, "trusted": trusted, "learn": learn}
    body = await request.body()

    async def work(progress: Progress) -> Mapping[str, Any]:
        return await caller.memory.admin.import_from(body, **values, progress=progress)

    return _start_job(request, caller, "import", work)


def _start_job(request: Request, caller: Admin, task: str, work: Work) -> dict[str, Any]:
    caller.needs_tenant()
    job: BackgroundJob = works_of(request).start(caller.key.tenant_id, task, work)
    return job.as_dict()
