"""Requests and answers about memories."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from memstone.literals import SearchScope, VisibilityName
from memstone.server.schemas.base import Answer, FilterForm, Given, Id, Json, Scoped, shown_as

Messages = str | Json | list[str | Json]


class NewMemories(Scoped):
    """What was said, and how to take it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"messages": "I moved to Oslo last week", "user_id": "alice"}]},
    )

    messages: Messages
    metadata: Json | None = None
    infer: bool = True
    prompt: str | None = None
    strict: bool = False
    kind: str | None = None
    key: str | None = None
    occurred_at: str | None = None
    expires_at: str | None = None
    keep_turns: bool | None = None


class NewMemoriesBatch(Given):
    """Up to 1,000 calls at once."""

    model_config = shown_as(items=[{"messages": "I live in Oslo", "user_id": "alice"}])

    items: list[Json]


class ChangesBatch(NewMemoriesBatch):
    """Up to 1,000 changes at once."""

    model_config = shown_as(
        items=[{"memory_id": "0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11", "text": "User lives in Bergen."}]
    )


class Changes(Given):
    """What is different from now on."""

    model_config = shown_as(text="User lives in Bergen.")

    text: str | None = None
    metadata: Json | None = None
    kind: str | None = None
    key: str | None = None
    expires_at: str | None = None
    occurred_at: str | None = None


class Visibility(Given):
    """What a person decides about showing a memory to models."""

    model_config = shown_as(visibility="private")

    visibility: VisibilityName


class Ids(Given):
    """Which ones."""

    model_config = shown_as(ids=["0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11"])

    ids: list[Id]
    dry_run: bool = False


class Question(Scoped):
    """What to look for, and where."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Where does she live?", "user_id": "alice", "limit": 5}]},
    )

    query: str
    limit: int = Field(default=100, ge=1)
    filters: FilterForm | None = None
    min_score: float | None = Field(default=None, ge=0, le=1)
    layers: list[str] | None = None
    as_of: str | None = None
    strategy: str | None = None
    explain: bool = False
    show_expired: bool = False
    scope: SearchScope | None = None


class Whom(Scoped):
    """Whom a call is about."""

    model_config = shown_as(user_id="alice")


class EntitiesOf(Scoped):
    """Whose entities, and which of them."""

    model_config = shown_as(user_id="alice", limit=20)

    limit: int | None = Field(default=None, ge=1)
    offset: int | None = Field(default=None, ge=0, le=2**53)


class ContextQuestion(Scoped):
    """The message a model is about to answer."""

    model_config = shown_as(query="What should I cook tonight?", user_id="alice", budget=400)

    query: str
    budget: int | None = Field(default=None, ge=0, le=16_000)
    gate: str | None = None
    scope: SearchScope | None = None


class Transcript(Scoped):
    """What was said, turn by turn."""

    model_config = shown_as(user_id="alice", turns=[{"role": "user", "content": "I live in Oslo"}])

    turns: list[Json]
    metadata: Json | None = None
    occurred_at: str | None = None
    expires_at: str | None = None
    learn: bool = False


class Confirmed(Given):
    """An act that cannot be taken back: ``confirm`` is the name of the tenant. A ``dry_run`` needs none."""

    model_config = shown_as(confirm="default")

    confirm: str = ""
    dry_run: bool = False


class MemoryItem(Answer):
    """One memory."""

    besides = "answers.memories.MemoryBesides"

    id: str
    memory: str
    hash: str
    metadata: Json
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    layer: str
    kind: str
    key: str | None = None
    status: str
    version: int
    occurred_at: str
    created_at: str
    updated_at: str
    expires_at: str | None = None


class Change(Answer):
    """What became of one thing that was said."""

    besides = "answers.memories.ChangeBesides"

    id: str | None = None
    event: str
    memory: str | None = None
    old_memory: str | None = None
    new_memory: str | None = None
    metadata: Json = Field(default_factory=dict)
    reason: str | None = None


class Added(Answer):
    """What became of everything that was said.

    ``left_out``, where it is there, counts what was left as it is: deleted by the user, or changed since it was said.
    """

    besides = "answers.memories.AddedBesides"

    results: list[Change]
    status: str


class FoundMemories(Answer):
    """Memories, best or newest first."""

    besides = "answers.memories.FoundBesides"

    results: list[MemoryItem]


class Deleted(Answer):
    """What is gone."""

    id: str | None = None
    event: Literal["DELETE"] = "DELETE"


class DeletedMany(Answer):
    """How many are gone."""

    deleted: int


class HistoryLine(Answer):
    """One thing that happened to a memory."""

    besides = "answers.memories.HistoryBesides"

    id: str
    memory_id: str
    event: str
    old_value: str | None = None
    new_value: str | None = None
    timestamp: str
    is_deleted: bool
    reason: str | None = None
    actor: str


class History(Answer):
    """Everything that happened to a memory, oldest first."""

    results: list[HistoryLine]


class Pack(Answer):
    """What to put into a prompt."""

    besides = "answers.context.PackBesides"

    text: str
    stable: str
    volatile: str
    tokens: int
    budget: int
    empty: bool
    receipt_id: str
    sections: list[Any]
    citations: list[Json]
