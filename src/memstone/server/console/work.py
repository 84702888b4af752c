"""Pages of long work: progress, result, and cancelling."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from memstone.model.access import Verb
from memstone.server.background_jobs import works_of
from memstone.server.console.visit import Pages, Visit, local_path

pages = Pages()

PATH: Final = "/console/work"
LABELS: Final = {
    "merge": "Merging two people",
    "import": "Importing",
    "backup": "Writing a backup",
    "erase": "Erasing for good",
    "reindex": "Rebuilding vectors",
    "consolidate": "Consolidating",
    "cleanup": "Cleaning up the vector store",
}


@pages.page(f"{PATH}/{{job_id}}", Verb.ADMIN, tenant=True)
async def show_work(visit: Visit, job_id: str) -> Response:
    """Show how far a piece of work has come."""
    job = works_of(visit.request).one(visit.caller.key.tenant_id, job_id)
    then = local_path(visit.query("then"), "")
    label = LABELS.get(job.task, job.task.capitalize())
    return visit.render("work.html", title=label, job=job, label=label, then=then)


@pages.act(f"{PATH}/{{job_id}}/cancel", Verb.ADMIN, tenant=True)
async def cancel_work(visit: Visit, job_id: str) -> Response:
    """Stop a piece of work; what it has done stays."""
    await works_of(visit.request).cancel(visit.caller.key.tenant_id, job_id)
    return visit.leave(f"{PATH}/{job_id}")
