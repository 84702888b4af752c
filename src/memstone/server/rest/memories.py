"""``/v1/memories``: the verbs of ``Memory`` over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from pydantic import SkipValidation

from memstone.core.talk.transcript import refuse_unknown
from memstone.errors import NotFoundError, ScopeError
from memstone.literals import CallerKind, LayerName, SearchScope, StatusName
from memstone.server.access import (
    Admin,
    AuthenticatedRoute,
    Caller,
    Confirm,
    DryRun,
    NamedScope,
    Reach,
    Reader,
    ScopeId,
    Writer,
    is_bound,
    merge_body,
    require_confirmation,
    resolve_scope,
)
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.memories import (
    AddBatchBody,
    AddBody,
    ConfirmBody,
    ContextBody,
    EntityBody,
    IngestBody,
    MemoryIdsBody,
    ScopeBody,
    SearchBody,
    UpdateBatchBody,
    UpdateBody,
    VisibilityBody,
)

_EMPTIES: Final = "name one, with or without confirm; POST /memory/clear removes all memories of the tenant for good"
router = APIRouter(prefix="/v1", tags=["memories"], responses=PROBLEMS, route_class=AuthenticatedRoute)

IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=256)]
Limit = Annotated[int, Query(ge=1)]
Offset = Annotated[int, Query(ge=0, le=2**53)]


@router.post("/memories", response_model=answer_form("AddResult"))
async def add_memories(caller: Writer, body: AddBody) -> Any:
    """Learn from messages."""
    answer = await caller.memory.add(**body.model_dump())
    return {**_wrap_list(answer), "status": "ok"} if isinstance(answer, list) else answer


@router.post("/memories/batch", response_model=answer_form("AddBatchResult"))
async def add_many(caller: Writer, batch: AddBatchBody, idempotency_key: IdempotencyKey = None) -> Any:
    """Learn from up to 1,000 calls at once; each has its own result."""
    return await caller.memory.add_many(batch.items, idempotency_key=idempotency_key)


@router.put("/memories/batch", response_model=answer_form("UpdateBatchResult"))
async def update_many(caller: Writer, batch: UpdateBatchBody, idempotency_key: IdempotencyKey = None) -> Any:
    """Change up to 1,000 memories at once."""
    return await caller.memory.update_many(batch.items, idempotency_key=idempotency_key)


@router.delete("/memories/batch", response_model=answer_form("DeleteBatchResult"))
async def delete_many(caller: Writer, wanted: MemoryIdsBody, idempotency_key: IdempotencyKey = None) -> Any:
    """Delete up to 1,000 memories at once."""
    return await caller.memory.delete_many(wanted.ids, idempotency_key=idempotency_key, dry_run=wanted.dry_run)


@router.get("/memories/search", response_model=answer_form("SearchResults"))
async def search_by_query(
    caller: Reader, named: NamedScope, q: str, limit: Limit = 100, scope: SearchScope | None = None
) -> Any:
    """Find memories by words and by meaning."""
    return _wrap_list(await caller.memory.search(q, limit=limit, scope=scope, **named.as_dict()))


@router.post("/memories/search", response_model=answer_form("SearchResults"))
async def search_memories(caller: Reader, question: SearchBody) -> Any:
    """Find memories, with filters and all other arguments of a search."""
    asked = question.model_dump()
    return _wrap_list(await caller.memory.search(asked.pop("query"), **asked))


@router.get("/memories", response_model=answer_form("MemoryList"))
async def get_all(
    caller: Reader,
    named: NamedScope,
    limit: Limit = 100,
    offset: Offset | None = None,
    page: Annotated[int | None, Query(ge=1)] = None,
    kind: SkipValidation[CallerKind] | None = None,
    q: str | None = None,
    status: SkipValidation[StatusName] | None = None,
    as_of: str | None = None,
    layers: Annotated[list[SkipValidation[LayerName]] | None, Query()] = None,
    *,
    show_expired: bool = False,
    counts: bool = False,
) -> Any:
    """List the memories of a scope, last changed first; ``GET /api/memory`` lists by creation."""
    found = await caller.memory.get_all(
        **named.as_dict(),
        limit=limit,
        offset=offset,
        page=page,
        kind=kind,
        q=q,
        status=status,
        as_of=as_of,
        layers=layers,
        show_expired=show_expired,
        counts=counts,
    )
    return _wrap_list(found)


@router.delete("/memories", response_model=answer_form("DeleteAllResult"))
async def delete_all(caller: Writer, named: NamedScope, confirm: Confirm = None, *, dry_run: DryRun = False) -> Any:
    """Delete everything in a scope; ``POST /v1/memories/delete`` also takes filters."""
    if is_bound(caller):  # without a scope of its own, a key that names nobody is refused by the memory itself
        require_confirmation(caller, named.as_dict(), confirm, dry_run=dry_run)
    try:
        return await caller.memory.delete_all(**named.as_dict(), dry_run=dry_run)
    except ScopeError as error:
        raise ScopeError(error.message, hint=error.hint or _EMPTIES) from error


@router.get("/memories/{memory_id}", response_model=answer_form("MemoryItem"))
async def get_memory(caller: Reader, memory_id: str) -> Any:
    """Return one memory."""
    found = await caller.memory.get(memory_id)
    if found is None:
        raise NotFoundError(f"no memory {memory_id}")
    return found


@router.put("/memories/{memory_id}", response_model=answer_form("UpdateResult"))
async def update_memory(caller: Writer, memory_id: str, changes: UpdateBody) -> Any:
    """Change a memory; the old version stays in the history."""
    values = changes.model_dump(exclude_unset=True)
    return await caller.memory.update(memory_id, values.pop("text", None), **values)


@router.delete("/memories/{memory_id}", response_model=answer_form("DeleteResult"))
async def delete_memory(caller: Writer, memory_id: str, *, dry_run: DryRun = False) -> Any:
    """Delete a memory; its history stays."""
    return await caller.memory.delete(memory_id, dry_run=dry_run)


@router.put("/memories/{memory_id}/visibility", response_model=answer_form("VisibilityResult"))
async def set_visibility(caller: Writer, memory_id: str, wanted: VisibilityBody) -> Any:
    """Choose whether models see a memory: always (``pinned``), not in the profile (``hidden``), or never."""
    return await caller.memory.profile.set_visibility(memory_id, wanted.visibility)


@router.get("/memories/{memory_id}/history", response_model=answer_form("HistoryList"))
async def get_memory_history(caller: Reader, memory_id: str) -> Any:
    """List everything that happened to a memory, oldest first."""
    return {"results": await caller.memory.history(memory_id)}


@router.post("/context", response_model=answer_form("ContextBlock"), tags=["context"])
async def build_context(caller: Reader, question: ContextBody) -> Any:
    """Return what to put into a prompt for a message; empty if memory does not help."""
    asked = question.model_dump()
    return (await caller.memory.context(asked.pop("query"), **asked)).as_dict()


@router.get("/profile", response_model=answer_form("ProfileResult"), tags=["context"])
async def get_profile(
    caller: Reader,
    user_id: ScopeId = None,
    agent_id: ScopeId = None,
    tokens: Annotated[int | None, Query(ge=0, le=16_000)] = None,
) -> Any:
    """Return what a model always sees about a user, most important first, and what is left out."""
    return await caller.memory.profile.get(user_id=user_id, agent_id=agent_id, tokens=tokens)


@router.get("/receipts/{receipt_id}", response_model=answer_form("ContextReceipt"), tags=["context"])
async def get_receipt(caller: Reader, receipt_id: str) -> Any:
    """Return the record of a context: what was considered, chosen and dropped, and why."""
    found = await caller.memory.receipt(receipt_id)
    if found is None:
        raise NotFoundError(f"no receipt {receipt_id}", hint="receipts expire after a while")
    return found


@router.post("/ingest", response_model=answer_form("IngestResult"))
async def ingest_transcript(caller: Writer, transcript: IngestBody) -> Any:
    """Store a transcript as it is, turn by turn."""
    values = transcript.model_dump()
    refuse_unknown(values["turns"] if isinstance(values["turns"], list) else [values["turns"]])
    return await caller.memory.ingest(values.pop("turns"), **values)


@router.post("/flush", response_model=answer_form("FlushResult"))
async def flush_pending_memories(caller: Writer, named: Reach, whom: ScopeBody | None = None) -> Any:
    """Retry what could not be stored before; for administrators everybody's."""
    return await caller.memory.sessions.flush(**resolve_scope(caller, merge_body(named.as_dict(), whom)))


@router.post("/entities", response_model=answer_form("EntityList"))
async def list_entities(
    caller: Reader,
    named: NamedScope,
    wanted: EntityBody | None = None,
    limit: Annotated[int | None, Query(ge=1)] = None,
    offset: Offset | None = None,
) -> Any:
    """List people, places and things in the memories of a scope; the body or the query gives the scope."""
    asked = merge_body({**named.as_dict(), "limit": limit, "offset": offset}, wanted)
    return await caller.memory.graph.entities(**{name: value for name, value in asked.items() if value is not None})


@router.get("/entities/{name:path}/relations", response_model=answer_form("RelationList"))
async def list_relations(caller: Reader, named: NamedScope, name: str, limit: Limit = 100) -> Any:
    """List how someone or something is related to others."""
    found = await caller.memory.graph.relations(**named.as_dict(), limit=10_000)
    wanted = name.casefold()
    about = [one for one in found["results"] if wanted in (one["source"].casefold(), one["target"].casefold())]
    return {"results": about[:limit]}


@router.get("/stats", response_model=answer_form("StoreStats"))
async def get_stats(caller: Admin) -> Any:
    """Count everything."""
    return await caller.memory.stats()


@router.post("/reset", response_model=answer_form("ResetResult"))
async def reset_tenant(caller: Admin, wanted: ConfirmBody) -> Any:
    """Remove everything of this tenant for good."""
    return await empty_tenant(caller, wanted, "reset")


async def empty_tenant(caller: Caller, wanted: ConfirmBody, status: str) -> dict[str, Any]:
    """Remove everything of a tenant, if its name confirms that; for a dry run say what there is."""
    caller.needs_tenant()
    if wanted.dry_run:
        return {"status": "dry_run", "dry_run": True, "would_delete": await caller.memory.stats()}
    require_confirmation(caller, {}, wanted.confirm)
    await caller.memory.reset()
    return {"status": status}


def _wrap_list(answer: Any) -> Any:
    """Return the answer as an object, also where the library is asked for bare lists."""
    return {"results": answer} if isinstance(answer, list) else answer
