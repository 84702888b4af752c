"""``/memory``: what a companion's host asks for. Whole conversations, identity, episodes, and tidying up."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from memstone.errors import ScopeError
from memstone.server.access import (
    Admin,
    AuthenticatedRoute,
    DryRun,
    NamedScope,
    Reader,
    ScopeId,
    Writer,
    merge_body,
    resolve_scope,
)
from memstone.server.rest.memories import empty_tenant
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.companion import ConversationBody, OverrideBody, OverridesBody
from memstone.server.schemas.console import ConsolidateBody
from memstone.server.schemas.memories import ConfirmBody, ScopeBody

router = APIRouter(prefix="/memory", tags=["companions"], responses=PROBLEMS, route_class=AuthenticatedRoute)

Limit = Annotated[int, Query(ge=1, le=10_000)]
Offset = Annotated[int, Query(ge=0, lt=2**53)]
Position = Annotated[int, Query(ge=0, le=1_000)]


@router.post("/ingest", response_model=answer_form("ConversationResult"))
async def ingest_conversation(caller: Writer, body: ConversationBody) -> Any:
    """Store a whole conversation and learn from it now; one with a known id is replaced.

    Without ``user_id`` it belongs to the same user as a chat that names nobody: in a companion the owner.
    """
    answer = await caller.memory.sessions.ingest(
        [turn.model_dump(exclude_none=True) for turn in body.turns],
        user_id=_resolve_owner(caller, body.user_id),
        agent_id=body.agent_id,
        run_id=body.conversation_id,
        occurred_at=body.session_date,
        skip_extraction=body.skip_extraction,
    )
    return {**answer, "episode_id": answer.get("episode_id")}


@router.post("/consolidate", response_model=answer_form("ConsolidateResult"))
async def consolidate_memories(caller: Writer, wanted: ConsolidateBody | None = None) -> Any:
    """Consolidate now; without a user for everybody, which needs an administrator.

    ``/v1/console/consolidate`` does the same as a job.
    """
    asked = (wanted or ConsolidateBody()).model_dump()
    return await caller.memory.admin.consolidate(**asked | resolve_scope(caller, asked))


@router.post("/sync", response_model=answer_form("FlushResult"))
async def sync_memories(caller: Writer, named: NamedScope, whom: ScopeBody | None = None) -> Any:
    """Process everything that is waiting; for administrators everybody's."""
    return await caller.memory.sessions.flush(**resolve_scope(caller, merge_body(named.as_dict(), whom)))


@router.get("/identity", response_model=answer_form("IdentityResult"))
async def get_identity(caller: Reader, user_id: ScopeId = None) -> Any:
    """Return who a user is: what they wrote themselves, what was derived, and the text made from it."""
    return await caller.memory.identity.get(user_id=_require_user(caller, user_id))


@router.post("/identity/overrides", response_model=answer_form("IdentityResult"))
async def add_override(caller: Writer, body: OverrideBody) -> Any:
    """Add something to keep in mind for good."""
    return await caller.memory.identity.add_override(body.text, user_id=_require_user(caller, body.user_id))


@router.put("/identity/overrides", response_model=answer_form("IdentityResult"))
async def set_overrides(caller: Writer, body: OverridesBody) -> Any:
    """Replace all standing instructions."""
    return await caller.memory.identity.set_overrides(body.texts, user_id=_require_user(caller, body.user_id))


@router.delete("/identity/overrides/{position}", response_model=answer_form("IdentityResult"))
async def remove_override(caller: Writer, position: int, user_id: ScopeId = None, *, dry_run: DryRun = False) -> Any:
    """Delete the standing instruction at a position, counted from 0."""
    who = _require_user(caller, user_id)
    return await caller.memory.identity.remove_override(position, user_id=who, dry_run=dry_run)


@router.get("/episodes", response_model=answer_form("EpisodeList"))
async def list_episodes(
    caller: Reader, named: NamedScope, limit: Limit = 20, offset: Offset = 0, since: str | None = None
) -> Any:
    """List what sessions were about, newest first."""
    return await caller.memory.sessions.episodes(**named.as_dict(), limit=limit, offset=offset, since=since)


@router.get("/transcript", response_model=answer_form("TranscriptPage"))
async def get_transcript(
    caller: Reader,
    user_id: ScopeId = None,
    agent_id: ScopeId = None,
    conversation_id: ScopeId = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Any:
    """List what was said, in order and word for word."""
    named = {"user_id": user_id, "agent_id": agent_id, "run_id": conversation_id}
    return await caller.memory.sessions.transcript(**named, limit=limit, offset=offset)


@router.post("/clear", response_model=answer_form("ResetResult"))
async def clear_all_memories(caller: Admin, wanted: ConfirmBody) -> Any:
    """Remove all layers of this tenant's memory for good."""
    return await empty_tenant(caller, wanted, "cleared")


def _resolve_owner(caller: Reader, user_id: str | None) -> str | None:
    """Return the owner: the named user, the user of the key, or the one for requests that name nobody."""
    return user_id or caller.bounds.user_id or caller.bounds.unnamed or None


def _require_user(caller: Reader, user_id: str | None) -> str:
    """Return whom an identity is about; raise if that is nobody."""
    named = _resolve_owner(caller, user_id)
    if not named:
        raise ScopeError("an identity belongs to a user", hint="give user_id")
    return named
