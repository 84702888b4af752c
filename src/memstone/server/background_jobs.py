"""Long work that a request starts: its state, its result, and cancelling it.

It lives in this process. What it does to the store is logged there as well (``/v1/jobs``), and every such piece of work
can be started again after it broke off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from starlette.requests import Request

from memstone.errors import Conflict, MemstoneError, NotFoundError
from memstone.model.ids import new_id
from memstone.server.errors import error_for_caller, log_server_fault
from memstone.server.gateway.chat import Tasks
from memstone.server.observe import log

if TYPE_CHECKING:
    from memstone.results import ErrorInfo

Progress: TypeAlias = Callable[[int, int], None]
Work: TypeAlias = Callable[[Progress], Awaitable[Mapping[str, Any]]]

_MAX_STORED_JOBS: Final = 100
RUNNING: Final = "running"


class _JobCancelled(Exception):
    """Somebody cancelled it."""


def _utc_now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


@dataclass(slots=True)
class BackgroundJob:
    """One piece of work: ``state`` is ``running``, ``done``, ``failed`` or ``cancelled``."""

    id: str
    task: str
    tenant_id: str
    state: str = RUNNING
    done: int = 0
    total: int | None = None
    started_at: str = field(default_factory=_utc_now)
    finished_at: str | None = None
    result: Mapping[str, Any] | None = None
    error: ErrorInfo | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what a caller is told."""
        answer = asdict(self)
        del answer["tenant_id"]
        return answer


class Works:
    """What runs in this process, and the last that did."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._jobs: dict[str, BackgroundJob] = {}
        self._running: dict[str, asyncio.Task[Any]] = {}
        self._stopped: set[str] = set()

    def start(self, tenant_id: str, task: str, work: Work) -> BackgroundJob:
        """Begin a piece of work; ``Conflict`` while the same runs for this tenant."""
        for other in self.of(tenant_id):
            if other.task == task and other.state == RUNNING:
                raise Conflict(f"{task} is already running, as {other.id}", hint="wait for it, or cancel it")
        job = BackgroundJob(new_id(), task, tenant_id)
        self._make_room(tenant_id)
        self._jobs[job.id] = job
        self._running[job.id] = self._tasks.start(self._carried_out(job, work))
        return job

    def of(self, tenant_id: str) -> list[BackgroundJob]:
        """Return those of a tenant, newest first."""
        return [job for job in reversed(self._jobs.values()) if job.tenant_id == tenant_id]

    def one(self, tenant_id: str, job_id: str) -> BackgroundJob:
        """Return one of them, or raise ``NotFoundError``."""
        job = self._jobs.get(job_id)
        if job is None or job.tenant_id != tenant_id:
            raise NotFoundError(f"no job {job_id}", hint="jobs from before a restart are in /v1/jobs")
        return job

    async def cancel(self, tenant_id: str, job_id: str) -> BackgroundJob:
        """End a piece of work where it is; one that has ended is left as it is."""
        job = self.one(tenant_id, job_id)
        task = self._running.get(job_id)
        if task is not None:
            self._stopped.add(job_id)
            task.cancel()
            await asyncio.wait([task], timeout=1.0)
        return job

    async def _carried_out(self, job: BackgroundJob, work: Work) -> None:
        def progress(done: int, total: int) -> None:
            job.done, job.total = done, total
            if job.id in self._stopped:  # it may be at work in a thread, which nothing else would end
                raise _JobCancelled

        try:
            job.result = await work(progress)
            job.state = "done"
        except (asyncio.CancelledError, _JobCancelled):
            job.state = "cancelled"
        except MemstoneError as error:
            log_server_fault(error)
            job.state, job.error = "failed", error_for_caller(error)
        except Exception as error:  # noqa: BLE001 - whoever started it learns of it by its state
            log.error("job.crashed", task=job.task, kind=type(error).__name__, exc_info=error)
            job.state = "failed"
            job.error = {"code": "internal", "message": "internal error", "hint": "", "retryable": False}
        finally:
            job.finished_at = _utc_now()
            self._running.pop(job.id, None)
            self._stopped.discard(job.id)

    def _make_room(self, tenant_id: str) -> None:
        ended = [job for job in self.of(tenant_id) if job.state != RUNNING]
        for job in ended[_MAX_STORED_JOBS - 1 :]:
            del self._jobs[job.id]


def works_of(request: Request) -> Works:
    """Return the work of the application that answers a request."""
    app = request.app
    if getattr(app.state, "works", None) is None:
        app.state.works = Works(app.state.memstone.tasks)
    works: Works = app.state.works
    return works
