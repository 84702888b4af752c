"""Bodies of requests about keys."""

from __future__ import annotations

from pydantic import BaseModel, Field, SkipValidation

from memstone.literals import VerbName
from memstone.server.schemas.base import example_config


class KeyBody(BaseModel):
    """A new key."""

    model_config = example_config(name="app of alice", verbs=["read", "write"], user_id="alice")

    name: str = Field(default="", max_length=200)
    verbs: list[SkipValidation[VerbName]] = ["read", "write"]
    user_id: str | None = Field(default=None, max_length=256)
    agent_id: str | None = Field(default=None, max_length=256)
    may_assert_user: bool = False
    expires_at: str | None = None


class KeyChangeBody(BaseModel):
    """Changes of a key; what is left out stays as it is."""

    model_config = example_config(may_assert_user=True)

    name: str | None = Field(default=None, max_length=200)
    verbs: list[SkipValidation[VerbName]] | None = None
    may_assert_user: bool | None = None


class KeyRotationBody(BaseModel):
    """For how long the old secret is still accepted."""

    model_config = example_config(grace_seconds=3_600)

    grace_seconds: float = Field(default=3_600.0, ge=0, le=30 * 86_400)
