"""Requests and answers about keys."""

from __future__ import annotations

from pydantic import BaseModel, Field

from memstone.server.schemas.base import Answer, shown_as


class NewKey(BaseModel):
    """What a new key is for."""

    model_config = shown_as(name="app of alice", verbs=["read", "write"], user_id="alice")

    name: str = Field(default="", max_length=200)
    verbs: list[str] = Field(default_factory=lambda: ["read", "write"])
    user_id: str | None = Field(default=None, max_length=256)
    agent_id: str | None = Field(default=None, max_length=256)
    may_assert_user: bool = False
    expires_at: str | None = None


class KeyChanges(BaseModel):
    """What shall be different about a key; what is left out stays as it is."""

    model_config = shown_as(may_assert_user=True)

    name: str | None = Field(default=None, max_length=200)
    verbs: list[str] | None = None
    may_assert_user: bool | None = None


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
