"""Bodies of the console routes."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from memstone.server.schemas.base import FilterForm, Id, Json, RequestBody, ScopedBody, example_config

Reason = Annotated[str | None, Field(max_length=1_000)]


class ConsoleSearchBody(ScopedBody):
    """A search for people; without a query, everything, newest first."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"q": "Oslo", "user_id": "alice", "statuses": ["active", "disabled"]}]},
    )

    q: str | None = None
    layers: str | list[str] | None = None
    statuses: str | list[str] | None = None
    filters: FilterForm | None = None
    limit: int = Field(default=60, ge=1, le=250)
    as_of: str | None = None
    everybody: bool | None = None


class ReasonBody(RequestBody):
    """An optional reason."""

    model_config = example_config(reason="it is not true any more")

    reason: Reason = None


class DryRunBody(RequestBody):
    """With ``dry_run``, nothing is deleted."""

    model_config = example_config(dry_run=True)

    dry_run: bool = False


class RejectBody(ReasonBody):
    """An optional reason for rejecting a memory."""

    dry_run: bool = False


class VersionBody(RequestBody):
    """The version to restore; by default the last one."""

    model_config = example_config(version=1)

    version: int | None = Field(default=None, ge=1, le=2**53)


class UndoBody(RequestBody):
    """The change to undo, or a job whose changes to undo."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"event_id": "the id of an event"}]})

    event_id: Id | None = None
    job_id: Id | None = None


class RollbackBody(ScopedBody):
    """What to undo: everything by a source, or since a time. ``dry_run`` only shows it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"source": "facts", "user_id": "alice", "dry_run": True}]}
    )

    source: str | None = Field(default=None, max_length=256)
    since: str | None = None
    dry_run: bool = True
    everybody: bool | None = None


class ContextPreviewBody(ScopedBody):
    """A message, to see what a model would be shown for it."""

    model_config = example_config(query="What should I cook tonight?", user_id="alice")

    query: str
    budget: int | None = Field(default=None, ge=0, le=16_000)
    as_of: str | None = None


class FeedbackBody(ScopedBody):
    """Whether a memory, or everything in a receipt, was useful."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"useful": True, "receipt_id": "the id of a receipt"}]}
    )

    useful: bool
    receipt_id: Id | None = None
    memory_id: Id | None = None
    note: Reason = None


class AnswerBody(RequestBody):
    """The answer of a model to a prompt with a context."""

    model_config = example_config(receipt_id="0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11", answer="You live in Oslo.")

    receipt_id: Id
    answer: str = Field(max_length=1_000_000)


class ShareBody(ScopedBody):
    """Whom to share a memory with."""

    model_config = example_config(user_id="bob")

    reason: Reason = None


class UnshareBody(ShareBody):
    """Whom to take a memory away from."""

    dry_run: bool = False


class ReassignBody(RequestBody):
    """The scope to move, and the scope to move it to."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"from_scope": {"user_id": "al"}, "to_scope": {"user_id": "alice"}}]},
    )

    from_scope: Json
    to_scope: Json


class SettingsBody(RequestBody):
    """Names of settings and their values."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"values": {"context.budget": 600}}]})

    values: Json


class PauseBody(ScopedBody):
    """Whom to pause memory for, and until when."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"user_id": "alice"}]})

    until: str | None = None


class ConsolidateBody(ScopedBody):
    """Whose memories to consolidate; everybody's if nobody is named."""

    model_config = example_config(user_id="alice", dry_run=True)

    dry_run: bool = False


class EraseBody(ScopedBody):
    """What to erase. ``confirm`` repeats the id (if there are several, the first).

    With ``dry_run`` the result of the job says how many rows would go, and ``confirm`` is not needed.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"user_id": "alice", "confirm": "alice"}]}
    )

    memory_id: Id | None = None
    confirm: str = ""
    dry_run: bool = False

    @property
    def subject(self) -> str | None:
        """What has to be typed again."""
        return self.memory_id or self.user_id or self.agent_id or self.run_id
