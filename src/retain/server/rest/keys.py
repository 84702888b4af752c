"""Keys: made, listed, rotated, revoked; for administrators of the whole tenant."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, Field

from retain.server.access import Admin, Keyed
from retain.server.schemas.base import PROBLEMS, Answer, shown_as

router = APIRouter(prefix="/v1/keys", tags=["keys"], responses=PROBLEMS, route_class=Keyed)


class NewKey(BaseModel):
    """What a new key is for."""

    model_config = shown_as(name="app of alice", verbs=["read", "write"], user_id="alice")

    name: str = Field(default="", max_length=200)
    verbs: list[str] = Field(default_factory=lambda: ["read", "write"])
    user_id: str | None = Field(default=None, max_length=256)
    agent_id: str | None = Field(default=None, max_length=256)
    may_assert_user: bool = False
    expires_at: str | None = None


class Rotation(BaseModel):
    """How long the old secret is still accepted."""

    model_config = shown_as(grace_seconds=3_600)

    grace_seconds: float = Field(default=3_600.0, ge=0, le=30 * 86_400)


class KeyShown(Answer):
    """A key as lists show it: without its secret."""

    id: str
    name: str
    prefix: str
    tenant_id: str
    user_id: str | None
    agent_id: str | None
    may_assert_user: bool
    verbs: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class Secret(Answer):
    """The key itself, which is nowhere else."""

    key: str


class KeyMade(KeyShown, Secret):
    """A key with its secret, this once."""


class KeyList(Answer):
    """The keys of a tenant."""

    results: list[KeyShown]


@router.get("", response_model=KeyList)
async def listed(caller: Admin) -> Any:
    """The keys of this tenant."""
    caller.needs_tenant()
    return {"results": await caller.memory.keys()}


@router.post("", status_code=201, response_model=KeyMade)
async def create(caller: Admin, wanted: NewKey) -> Any:
    """A new key; it is shown in this answer and nowhere else."""
    caller.needs_tenant()
    return await caller.memory.create_key(**wanted.model_dump())


@router.post("/{key_id}/rotate", response_model=KeyMade)
async def rotate(
    request: Request, caller: Admin, key_id: str, wanted: Annotated[Rotation | None, Body()] = None
) -> Any:
    """A new secret under the same id."""
    caller.needs_tenant()
    answer = await caller.memory.rotate_key(key_id, grace_seconds=(wanted or Rotation()).grace_seconds)
    request.app.state.retain.doorkeeper.forget()
    return answer


@router.delete("/{key_id}", response_model=KeyShown)
async def revoke(request: Request, caller: Admin, key_id: str) -> Any:
    """End a key at once."""
    caller.needs_tenant()
    answer = await caller.memory.revoke_key(key_id)
    request.app.state.retain.doorkeeper.forget()
    return answer
