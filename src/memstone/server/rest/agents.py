"""``/agents``: agents with their settings and memory counts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from memstone.errors import NotFoundError
from memstone.model.ids import new_id
from memstone.server.access import Admin, AuthenticatedRoute, DryRun, Reader, Writer, require_setting_rights
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.companion import AgentBody, AgentChangeBody

router = APIRouter(prefix="/agents", tags=["agents"], responses=PROBLEMS, route_class=AuthenticatedRoute)


@router.get("", response_model=answer_form("AgentList"))
async def list_agents(
    caller: Reader,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, lt=2**53)] = 0,
) -> Any:
    """List the agents of this tenant, with their memory counts."""
    return await caller.memory.agents.list(limit=limit, offset=offset)


@router.post("", status_code=201, response_model=answer_form("AgentItem"))
async def create_agent(caller: Writer, wanted: AgentBody) -> Any:
    """Create an agent, or change the one with this id."""
    values = wanted.model_dump()
    require_setting_rights(caller, values["settings"])
    return await caller.memory.agents.save(values.pop("id") or new_id(), **values)


@router.get("/{agent_id:path}", response_model=answer_form("AgentItem"))
async def get_agent(caller: Reader, agent_id: str) -> Any:
    """Return one agent."""
    found = await caller.memory.agents.get(agent_id)
    if found is None:
        raise NotFoundError(f"no agent {agent_id}")
    return found


@router.put("/{agent_id:path}", response_model=answer_form("AgentItem"))
async def save_agent(caller: Writer, agent_id: str, changes: AgentChangeBody) -> Any:
    """Change or create an agent; the given settings replace all of its settings."""
    values = changes.model_dump()
    require_setting_rights(caller, values["settings"])
    return await caller.memory.agents.save(agent_id, **values)


@router.delete("/{agent_id:path}", response_model=answer_form("AgentDeletion"))
async def delete_agent(caller: Admin, agent_id: str, *, dry_run: DryRun = False) -> Any:
    """Remove an agent with its memories, queued work and settings."""
    return await caller.memory.agents.delete(agent_id, dry_run=dry_run)
