"""Keys: made, listed, rotated, revoked; for administrators of the whole tenant."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request

from memstone.server.access import Admin, AuthenticatedRoute, DryRun
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.keys import KeyBody, KeyChangeBody, KeyRotationBody

router = APIRouter(prefix="/v1/keys", tags=["keys"], responses=PROBLEMS, route_class=AuthenticatedRoute)


@router.get("", response_model=answer_form("KeyList"))
async def list_keys(caller: Admin) -> Any:
    """List the keys of this tenant."""
    caller.needs_tenant()
    return {"results": await caller.memory.admin.keys.list()}


@router.post("", status_code=201, response_model=answer_form("KeySecret"))
async def create_key(caller: Admin, wanted: KeyBody) -> Any:
    """Create a key; it is shown in this answer and nowhere else."""
    caller.needs_tenant()
    return await caller.memory.admin.keys.create(**wanted.model_dump())


@router.patch("/{key_id}", response_model=answer_form("KeyItem"))
async def update_key(request: Request, caller: Admin, key_id: str, wanted: KeyChangeBody) -> Any:
    """Change the name and permissions of a key; its secret stays."""
    caller.needs_tenant()
    answer = await caller.memory.admin.keys.update(key_id, **wanted.model_dump())
    request.app.state.memstone.doorkeeper.forget()
    return answer


@router.post("/{key_id}/rotate", response_model=answer_form("KeySecret"))
async def rotate_key(
    request: Request, caller: Admin, key_id: str, wanted: Annotated[KeyRotationBody | None, Body()] = None
) -> Any:
    """Give a key a new secret under the same id."""
    caller.needs_tenant()
    answer = await caller.memory.admin.keys.rotate(key_id, grace_seconds=(wanted or KeyRotationBody()).grace_seconds)
    request.app.state.memstone.doorkeeper.forget()
    return answer


@router.delete("/{key_id}", response_model=answer_form("KeyItem"))
async def revoke_key(request: Request, caller: Admin, key_id: str, *, dry_run: DryRun = False) -> Any:
    """Revoke a key immediately."""
    caller.needs_tenant()
    answer = await caller.memory.admin.keys.revoke(key_id, dry_run=dry_run)
    request.app.state.memstone.doorkeeper.forget()
    return answer
