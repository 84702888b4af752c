"""``/v1/settings`` and ``/v1/pause``: what holds for a tenant, a user or an agent, and for whom memory stands still."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from memstone.literals import Vocabulary
from memstone.model.access import Verb
from memstone.server.access import (
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
    require_confirmation,
    require_setting_rights,
    resolve_scope,
)
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.console import PauseBody, SettingsBody

router = APIRouter(prefix="/v1", tags=["settings"], responses=PROBLEMS, route_class=AuthenticatedRoute)


@router.get("/settings", response_model=answer_form("SettingsReport"))
async def get_settings(
    caller: Reader, user_id: ScopeId = None, agent_id: ScopeId = None, names: Vocabulary = "native"
) -> Any:
    """Return every setting that applies to a user or agent, and where each value comes from."""
    return await caller.memory.settings.get(user_id=user_id or None, agent_id=agent_id or None, names=names)


@router.put("/settings", response_model=answer_form("SettingsChange"))
async def set_settings(caller: Writer, wanted: SettingsBody, user_id: ScopeId = None, agent_id: ScopeId = None) -> Any:
    """Store settings, all or none. Those of the tenant, quotas and masking need an administrator."""
    _require_admin_for_tenant(caller, user_id, agent_id)
    require_setting_rights(caller, wanted.values)
    return await caller.memory.settings.set(wanted.values, user_id=user_id or None, agent_id=agent_id or None)


@router.delete("/settings", response_model=answer_form("SettingsRemoval"))
async def unset_settings(
    caller: Writer,
    user_id: ScopeId = None,
    agent_id: ScopeId = None,
    names: Annotated[list[str] | None, Query(max_length=1_000)] = None,
    confirm: Confirm = None,
    *,
    dry_run: DryRun = False,
) -> Any:
    """Remove stored settings; without names all of them, except quotas and masking of a user or an agent."""
    _require_admin_for_tenant(caller, user_id, agent_id)
    require_setting_rights(caller, names)
    owner = {"user_id": user_id or None, "agent_id": agent_id or None}
    require_confirmation(caller, {**owner, "names": names}, confirm, dry_run=dry_run)
    return await caller.memory.settings.unset(names, **owner, dry_run=dry_run)


@router.get("/pause", response_model=answer_form("PauseList"))
async def list_pauses(caller: Reader, named: Reach) -> Any:
    """List who is paused, and until when."""
    return await caller.memory.settings.pauses(**resolve_scope(caller, named.as_dict()))


@router.post("/pause", response_model=answer_form("PauseResult"))
async def pause_memory(caller: Writer, wanted: PauseBody) -> Any:
    """Pause memory for a user, an agent or a session: nothing is stored and nothing is shown to a model."""
    return await caller.memory.settings.pause(**wanted.model_dump())


@router.delete("/pause", response_model=answer_form("ResumeResult"))
async def resume_memory(caller: Writer, named: NamedScope, *, dry_run: DryRun = False) -> Any:
    """End the pause of exactly these ids."""
    return await caller.memory.settings.resume(**named.as_dict(), dry_run=dry_run)


def _require_admin_for_tenant(caller: Caller, user_id: str | None, agent_id: str | None) -> None:
    if not (user_id or agent_id or is_bound(caller)):
        caller.needs(Verb.ADMIN)
