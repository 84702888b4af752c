"""Bodies of requests about memories."""

from __future__ import annotations

from pydantic import ConfigDict, Field, SkipValidation

from memstone.literals import CallerKind, GateName, SearchScope, Strategy, VisibilityName
from memstone.server.schemas.base import FilterForm, Id, Json, RequestBody, ScopedBody, example_config

Messages = str | Json | list[str | Json]

# Words are described here and checked by the memory, which says in a hint what else there is.


class AddBody(ScopedBody):
    """Messages, and how to learn from them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"messages": "I moved to Oslo last week", "user_id": "alice"}]},
    )

    messages: Messages
    metadata: Json | None = None
    infer: bool = True
    prompt: str | None = None
    strict: bool = False
    kind: SkipValidation[CallerKind] | None = None
    key: str | None = None
    occurred_at: str | None = None
    expires_at: str | None = None
    keep_turns: bool | None = None
    filters: FilterForm | None = None
    project_id: Id | None = None


class AddBatchBody(RequestBody):
    """Up to 1,000 items at once."""

    model_config = example_config(items=[{"messages": "I live in Oslo", "user_id": "alice"}])

    items: list[Json]


class UpdateBatchBody(AddBatchBody):
    """Up to 1,000 changes at once."""

    model_config = example_config(
        items=[{"memory_id": "0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11", "text": "User lives in Bergen."}]
    )


class UpdateBody(RequestBody):
    """The fields to change."""

    model_config = example_config(text="User lives in Bergen.")

    text: str | None = None
    metadata: Json | None = None
    kind: SkipValidation[CallerKind] | None = None
    key: str | None = None
    expires_at: str | None = None
    occurred_at: str | None = None


class VisibilityBody(RequestBody):
    """Whether models see a memory."""

    model_config = example_config(visibility="private")

    visibility: VisibilityName


class MemoryIdsBody(RequestBody):
    """Ids of memories."""

    model_config = example_config(ids=["0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11"])

    ids: list[Id]
    dry_run: bool = False


class SearchBody(ScopedBody):
    """A query, and where to search."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Where does she live?", "user_id": "alice", "limit": 5}]},
    )

    query: str
    limit: int = Field(default=100, ge=1)
    filters: FilterForm | None = None
    min_score: float | None = Field(default=None, ge=0, le=1)
    layers: str | list[str] | None = None
    as_of: str | None = None
    strategy: SkipValidation[Strategy] | None = None
    explain: bool = False
    show_expired: bool = False
    scope: SearchScope | None = None
    project_id: Id | None = None


class ScopeBody(ScopedBody):
    """The user, agent or run that a call is about."""

    model_config = example_config(user_id="alice")


class EntityBody(ScopedBody):
    """Whose entities to list, and which."""

    model_config = example_config(user_id="alice", limit=20)

    limit: int | None = Field(default=None, ge=1)
    offset: int | None = Field(default=None, ge=0, le=2**53)


class ContextBody(ScopedBody):
    """The message that a model is about to answer."""

    model_config = example_config(query="What should I cook tonight?", user_id="alice", budget=400)

    query: str
    budget: int | None = Field(default=None, ge=0, le=16_000)
    gate: SkipValidation[GateName] | None = None
    scope: SearchScope | None = None
    project_id: Id | None = None
    as_of: str | None = None


class IngestBody(ScopedBody):
    """A transcript, turn by turn."""

    model_config = example_config(user_id="alice", turns=[{"role": "user", "content": "I live in Oslo"}])

    turns: str | Json | list[str | Json]
    metadata: Json | None = None
    occurred_at: str | None = None
    expires_at: str | None = None
    learn: bool = False


class ConfirmBody(RequestBody):
    """An action that cannot be undone: ``confirm`` is the name of the tenant. ``dry_run`` needs none."""

    model_config = example_config(confirm="default")

    confirm: str = ""
    dry_run: bool = False
