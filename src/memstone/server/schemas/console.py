"""Requests and answers of a console."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from memstone.server.schemas.base import Answer, FilterForm, Id, Json, RequestBody, Scoped, shown_as

Reason = Annotated[str | None, Field(max_length=1_000)]


class ConsoleQuestion(Scoped):
    """What to look for; nothing is everything, newest first."""

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


class Because(RequestBody):
    """Why something is done, if anybody wants to say."""

    model_config = shown_as(reason="it is not true any more")

    reason: Reason = None


class Trial(RequestBody):
    """Whether to look first: with ``dry_run`` nothing is deleted."""

    model_config = shown_as(dry_run=True)

    dry_run: bool = False


class Rejection(Because):
    """Why a memory is not to be, if anybody wants to say."""

    dry_run: bool = False


class Version(RequestBody):
    """Which version comes back; the last one when none is named."""

    model_config = shown_as(version=1)

    version: int | None = Field(default=None, ge=1, le=2**53)


class Undone(RequestBody):
    """A change, or everything a job did."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"event_id": "the id of an event"}]})

    event_id: Id | None = None
    job_id: Id | None = None


class Rollback(Scoped):
    """What to take back: everything by a source, or since a time. Look first (``dry_run``)."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"source": "facts", "user_id": "alice", "dry_run": True}]}
    )

    source: str | None = Field(default=None, max_length=256)
    since: str | None = None
    dry_run: bool = True
    everybody: bool | None = None


class ContextPreview(Scoped):
    """A message, to see what a model would be shown for it."""

    model_config = shown_as(query="What should I cook tonight?", user_id="alice")

    query: str
    budget: int | None = Field(default=None, ge=0, le=16_000)
    as_of: str | None = None


class Previewed(Answer):
    """What a model would be shown, redacted."""

    besides = "answers.context.PreviewedBesides"

    text: str
    tokens: int
    budget: int
    gate: Json
    chosen: list[str]
    dropped: list[Json]


class Judgement(Scoped):
    """Whether a memory, or what a receipt names, was of use."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"useful": True, "receipt_id": "the id of a receipt"}]}
    )

    useful: bool
    receipt_id: Id | None = None
    memory_id: Id | None = None
    note: Reason = None


class Judged(Answer):
    """What was judged."""

    besides = "answers.context.JudgedBesides"

    useful: bool
    ids: list[str]


class AnswerGiven(RequestBody):
    """What a model answered to a prompt with a context."""

    model_config = shown_as(receipt_id="0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11", answer="You live in Oslo.")

    receipt_id: Id
    answer: str = Field(max_length=1_000_000)


class UseFound(Answer):
    """Which memories the answer used."""

    besides = "answers.context.UseBesides"

    used: list[str]
    unused: list[str]


class Metrics(Answer):
    """Figures of a user, or of everybody."""

    besides = "answers.console.MetricsBesides"

    memory_total_count: int
    memory_replacement_rate: float | None
    memory_dedup_rate: float | None
    retrieval_hit_rate: float | None
    counts: Json


class SharedWith(Scoped):
    """Who is to hold a memory."""

    model_config = shown_as(user_id="bob")

    reason: Reason = None


class TakenFrom(SharedWith):
    """Who is to hold a memory no longer."""

    dry_run: bool = False


class Reassignment(RequestBody):
    """From whom to whom."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"from_scope": {"user_id": "al"}, "to_scope": {"user_id": "alice"}}]},
    )

    from_scope: Json
    to_scope: Json


class Moved(Answer):
    """How much was handed over, and the job by which it can be taken back."""

    besides = "answers.console.MovedBesides"

    job_id: str | None = None
    moved: int


class Dashboard(Answer):
    """What a management view begins with."""

    besides = "answers.console.DashboardBesides"

    counts: dict[str, int]
    last_consolidation: Json | None = None


class ScopeCount(Answer):
    """Somebody, and how many memories they have."""

    id: str
    memories: int
    last_at: str


class Scopes(Answer):
    """Who there is."""

    kind: str
    results: list[ScopeCount]


class Configuration(Answer):
    """How the service is configured, without secrets."""

    configuration: Json


class Settled(Answer):
    """Settings as they hold, and where each value comes from."""

    besides = "answers.console.SettledBesides"

    settings: Json
    sources: dict[str, str]
    preset: str


class SetTo(RequestBody):
    """Names of settings and their values."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"values": {"context.budget": 600}}]})

    values: Json


class SettingsSet(Answer):
    """Whose settings were changed, and to what."""

    scope: str
    set: Json


class SettingsUnset(Answer):
    """Whose settings were removed, and how many."""

    scope: str
    unset: int


class Pause(Scoped):
    """For whom memory stands still, and until when."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"user_id": "alice"}]})

    until: str | None = None


class JobState(Answer):
    """Work that goes on: ``state`` is ``running``, ``done``, ``failed`` or ``cancelled``."""

    besides = "answers.console.JobBesides"

    id: str
    task: str
    state: str
    done: int
    total: int | None = None
    started_at: str
    finished_at: str | None = None
    result: Json | None = None
    error: Json | None = None


class JobStates(Answer):
    """Work that this process does or has done, newest first."""

    results: list[JobState]


class Tidying(Scoped):
    """Whose memory is tidied up; everybody's when nobody is named."""

    model_config = shown_as(user_id="alice", dry_run=True)

    dry_run: bool = False


class Erasure(Scoped):
    """What is removed for good. ``confirm`` repeats the id that is named (of several, the first).

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


class Loaded(Answer):
    """What was put back, and what was there already."""

    memories: int
    events: int
    deletions: int
    waiting: int
    already_there: int
