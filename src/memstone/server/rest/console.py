"""``/v1/console``: what a person needs to look after a memory. Texts are previews; every act can be taken back."""

from __future__ import annotations

import time
from itertools import islice
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Query, Request

from memstone.literals import ScopeKind
from memstone.server.access import (
    Admin,
    AuthenticatedRoute,
    Reach,
    Reader,
    ScopeId,
    Writer,
    needs_operator,
    resolve_scope,
)
from memstone.server.schemas.base import PROBLEMS, Json, answer_form
from memstone.server.schemas.console import (
    AnswerBody,
    ConsoleSearchBody,
    ContextPreviewBody,
    DryRunBody,
    FeedbackBody,
    ReasonBody,
    ReassignBody,
    RejectBody,
    RollbackBody,
    ShareBody,
    UndoBody,
    UnshareBody,
    VersionBody,
)
from memstone.server.stored_settings import mask_settings

_REPORT: Final = {
    "format": "memstone-erasure",
    "version": 1,
    "created_at": "2026-05-07T09:30:00Z",
    "subject": {"user_id": "alice"},
    "complete": True,
    "sha256": "0" * 64,
    "hmac": "0" * 64,
}
_PREVIEWS: Final = answer_form("PreviewList")
_SHARED: Final = answer_form("ShareResult")
_STATUS: Final = answer_form("StatusResult")
router = APIRouter(prefix="/v1/console", tags=["console"], responses=PROBLEMS, route_class=AuthenticatedRoute)

Limit = Annotated[int, Query(ge=1, le=250)]
Offset = Annotated[int, Query(ge=0, lt=2**53)]


@router.get("/dashboard", response_model=answer_form("DashboardResult"))
async def get_dashboard(caller: Reader, named: Reach, limit: Limit = 20) -> Any:
    """Return an overview for a management page: layers, counts, agents, and background work."""
    return await caller.memory.admin.dashboard(**resolve_scope(caller, named.as_dict()), limit=limit)


@router.post("/search", response_model=_PREVIEWS)
async def search_all_layers(caller: Reader, question: ConsoleSearchBody) -> Any:
    """Search every layer, including disabled and quarantined memories, now or ``as_of`` a time."""
    asked = question.model_dump()
    return await caller.memory.review.list(asked.pop("q"), **asked | resolve_scope(caller, asked))


@router.get("/quarantine", response_model=_PREVIEWS)
async def list_quarantined_memories(caller: Reader, named: Reach, limit: Limit = 60) -> Any:
    """List memories waiting for approval."""
    scope = resolve_scope(caller, named.as_dict())
    return await caller.memory.review.list(None, **scope, statuses=["quarantined"], limit=limit)


@router.get("/memories/{memory_id}/history", response_model=answer_form("HistoryList"))
async def get_memory_history(caller: Reader, memory_id: str) -> Any:
    """List everything that happened to a memory, oldest first."""
    return {"results": await caller.memory.history(memory_id)}


@router.post("/memories/{memory_id}/forget", response_model=answer_form("DeleteResult"))
async def forget_memory(caller: Writer, memory_id: str, wanted: DryRunBody | None = None) -> Any:
    """Delete a memory; its history stays, and it can be restored."""
    return await caller.memory.delete(memory_id, dry_run=(wanted or DryRunBody()).dry_run)


@router.post("/memories/{memory_id}/restore", response_model=answer_form("RestoreResult"))
async def restore_memory(caller: Writer, memory_id: str, wanted: VersionBody | None = None) -> Any:
    """Bring back a memory, or the text of an earlier version."""
    return await caller.memory.review.restore(memory_id, (wanted or VersionBody()).version)


@router.post("/memories/{memory_id}/approve", response_model=_STATUS)
async def approve_memory(caller: Admin, memory_id: str, why: ReasonBody | None = None) -> Any:
    """Release a memory from quarantine."""
    return await caller.memory.review.approve(memory_id, (why or ReasonBody()).reason)


@router.post("/memories/{memory_id}/reject", response_model=_STATUS)
async def reject_memory(caller: Admin, memory_id: str, why: RejectBody | None = None) -> Any:
    """Delete a memory in quarantine."""
    body = why or RejectBody()
    return await caller.memory.review.reject(memory_id, body.reason, dry_run=body.dry_run)


@router.post("/memories/{memory_id}/share", response_model=_SHARED)
async def share_memory(caller: Writer, memory_id: str, whom: ShareBody) -> Any:
    """Share a memory with someone else."""
    return await caller.memory.sharing.share(memory_id, **whom.model_dump())


@router.post("/memories/{memory_id}/unshare", response_model=_SHARED)
async def unshare_memory(caller: Writer, memory_id: str, whom: UnshareBody) -> Any:
    """Take a memory away from someone; the others keep it."""
    return await caller.memory.sharing.unshare(memory_id, **whom.model_dump())


@router.post("/memories/{memory_id}/{act}", response_model=_STATUS)
async def put_aside(
    caller: Writer, memory_id: str, act: Literal["disable", "enable", "quarantine"], why: ReasonBody | None = None
) -> Any:
    """Stop recalling a memory (``disable``), recall it again (``enable``), or hold it for approval (``quarantine``)."""
    review = caller.memory.review
    verbs = {"disable": review.disable, "enable": review.enable, "quarantine": review.quarantine}
    return await verbs[act](memory_id, (why or ReasonBody()).reason)


@router.post("/undo", response_model=answer_form("UndoResult"))
async def undo_changes(caller: Writer, wanted: UndoBody) -> Any:
    """Undo one change, or everything a job did; all of it or nothing."""
    return await caller.memory.undo(wanted.event_id, job_id=wanted.job_id)


@router.post("/rollback", response_model=answer_form("RollbackResult"))
async def roll_back_changes(caller: Admin, wanted: RollbackBody) -> Any:
    """Undo everything by a source or since a time; only reports unless ``dry_run`` is false."""
    values = wanted.model_dump()
    return await caller.memory.review.rollback(**values | resolve_scope(caller, values))


@router.post("/reassign", response_model=answer_form("ReassignResult"))
async def reassign_memories(caller: Admin, wanted: ReassignBody) -> Any:
    """Move everything of one scope to another; ``undo`` with the job reverses it."""
    caller.needs_tenant()
    return await caller.memory.sharing.reassign(wanted.from_scope, wanted.to_scope)


@router.post("/context", response_model=answer_form("ContextPreview"))
async def preview_context(caller: Reader, question: ContextPreviewBody) -> Any:
    """Show what a model would see for a message, now or ``as_of`` a time; masked, and not counted as used."""
    asked = question.model_dump()
    return await caller.memory.profile.preview(asked.pop("query"), **asked)


@router.post("/feedback", response_model=answer_form("FeedbackResult"))
async def give_feedback(caller: Writer, judgement: FeedbackBody) -> Any:
    """Say whether a memory, or everything in a receipt, was useful."""
    return await caller.memory.review.feedback(**judgement.model_dump())


@router.post("/answers", response_model=answer_form("UseReport"))
async def record_answer(caller: Writer, body: AnswerBody) -> Any:
    """Record a model's answer, to work out which memories it used."""
    return await caller.memory.review.record_answer(body.receipt_id, body.answer)


@router.get("/metrics", response_model=answer_form("MetricsReport"))
async def get_metrics(
    caller: Reader, user_id: ScopeId = None, since: str | None = None, *, everybody: bool | None = None
) -> Any:
    """Count memories, and the rates at which they are replaced, repeated and used."""
    scope = resolve_scope(caller, {"user_id": user_id, "everybody": everybody})
    return await caller.memory.admin.metrics(user_id=scope["user_id"], everybody=scope["everybody"], since=since)


@router.get("/scopes", response_model=answer_form("ScopeList"))
async def list_scopes(caller: Admin, kind: ScopeKind = "user", limit: Limit = 100, offset: Offset = 0) -> Any:
    """List the users, agents or runs, with their memory counts."""
    caller.needs_tenant()
    return await caller.memory.admin.list_scopes(kind, limit=limit, offset=offset)


@router.get("/requests", response_model=answer_form("RequestList"))
async def list_requests(request: Request, caller: Admin, limit: Limit = 100) -> Any:
    """List the last requests by this tenant's keys, never their content."""
    caller.needs_tenant()
    lines = request.app.state.journal.of(caller.key.tenant_id, time.time())
    return {"results": [line.as_dict() for line in islice(lines, limit)]}


@router.get("/configuration", response_model=answer_form("ServiceConfiguration"))
async def get_configuration(request: Request, caller: Admin) -> Any:
    """Return the configuration of the service, without secrets; use ``/v1/settings`` to change settings at run time."""
    needs_operator(request, caller)
    return {"configuration": mask_settings(request.app.state.memstone.settings)}


@router.get("/database", response_model=answer_form("StoreCheck"))
async def check_database(request: Request, caller: Admin) -> Any:
    """Check the whole store: its size, schema and integrity. It reads all of it."""
    needs_operator(request, caller)
    return await caller.memory.admin.check()


@router.get("/health", response_model=answer_form("HealthReport"))
async def check_health(caller: Admin) -> Any:
    """Check whether memory works, and if not, where it fails."""
    caller.needs_tenant()
    return await caller.memory.admin.health()


@router.post("/erasures/verify", response_model=answer_form("ErasureVerification"))
async def verify_erasure(caller: Admin, report: Annotated[Json, Body(examples=[_REPORT])]) -> Any:
    """Check that this store wrote an erasure report, and that nothing from before it has come back."""
    caller.needs_tenant()
    return await caller.memory.admin.verify_erasure(report)
