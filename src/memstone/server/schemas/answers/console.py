"""What a console shows: previews, figures, work in the background, settings."""

from __future__ import annotations

from typing import Literal

from memstone.server.schemas.accounts import AccountShown
from memstone.server.schemas.answers.layers import Episode, PinnedFact
from memstone.server.schemas.answers.memories import MemoryBesides
from memstone.server.schemas.answers.moving import BackupMade, ErasureReport, ErasureTrial, Imported
from memstone.server.schemas.answers.parts import Degraded, Failure, described_field, optional_field
from memstone.server.schemas.answers.store import Reindexed, Stats
from memstone.server.schemas.base import Answer, Json
from memstone.server.schemas.companion import Agent, Consolidated, Identity


class MemoryPreview(MemoryBesides):
    """A memory without its secrets, and why it is there."""

    id: str
    metadata: Json
    version: int
    created_at: str
    updated_at: str
    preview: str
    why: str


class Previews(Answer):
    """Memories without their secrets, and why each is there."""

    results: list[MemoryPreview]
    limit: int
    more: bool = described_field("whether there are more than these")


class LastPass(Answer):
    """When memory was tidied up last, and how that ended."""

    at: str
    status: str


class WorkFigures(Answer):
    """How often work was done in the background, with what success, and how long it took."""

    calls: int
    success_rate: float | None
    average_ms: float | None
    input_tokens: int
    output_tokens: int


class Processing(WorkFigures):
    """All of it, and by task."""

    by_task: dict[str, WorkFigures]


class Waiting(Answer):
    """What is still to be learned from."""

    pending: int
    dead: int = described_field("was given up")


class DashboardBesides(Answer):
    """What a management view begins with: of somebody who is named their layers, of the whole tenant its work."""

    counts: dict[str, int] = described_field("memories by layer")
    last_consolidation: LastPass | None
    identity: Identity | None = optional_field("null where no user is named")
    facts: list[PinnedFact] = optional_field()
    episodes: list[Episode] = optional_field()
    processing: Processing = optional_field()
    waiting: Waiting = optional_field()
    agents: list[Agent] = optional_field()


class Counts(Answer):
    """What the figures are made of."""

    added: int
    replaced: int
    ended: int
    redundant: int = described_field("were told again")
    injected: int = described_field("were shown to a model")
    judged: int = described_field("were shown with an answer that is known")
    used: int = described_field("of these, were used in it")
    useful: int = described_field("people found so")
    useless: int = described_field("people found so")


class MetricsBesides(Answer):
    """Whose figures they are, and what they are made of."""

    user_id: str | None = described_field("null for everybody")
    counts: Counts


class RequestLine(Answer):
    """One request; never what was said in it."""

    at: str
    key_id: str
    method: str
    route: str
    status: int
    ms: float
    request_id: str


class RequestLog(Answer):
    """The last requests of this tenant's keys, newest first."""

    results: list[RequestLine]


class JobDone(Answer):
    """One piece of work in the background; an id is '' where it was for no one in particular."""

    user_id: str | None = described_field("null is the pool of the key itself")
    agent_id: str
    run_id: str
    id: str
    task: str
    status: str = described_field("`success`, `skipped`, `empty`, `error` or `dead_letter`")
    created_at: str
    model: str | None = described_field("null where rules did it")
    details: Json = described_field("what came of it; each task has its own")
    input_tokens: int
    output_tokens: int
    duration_ms: float
    outcome: str | None


class JobLog(Answer):
    """What was done in the background, newest first."""

    results: list[JobDone]


class JobBesides(Answer):
    """What came of a job."""

    task: str = described_field("`consolidate`, `reindex`, `erase`, `backup` or `import`")
    total: int | None = described_field("null as long as it is not known")
    result: Consolidated | Reindexed | ErasureReport | ErasureTrial | BackupMade | Imported | None = described_field(
        "what the task answers, once it is done"
    )
    error: Failure | None


class PauseShown(Answer):
    """Who is paused where they are together; who is not named is not bound to it."""

    user_id: str | None = optional_field("null is the pool of the key itself")
    agent_id: str = optional_field()
    run_id: str = optional_field()


class PauseHeld(PauseShown):
    """A pause, and until when."""

    until: str | None = described_field("null until it is ended")


class Pauses(Answer):
    """Who is paused."""

    paused: list[PauseHeld]


class Paused(Answer):
    """Who is paused from now on."""

    paused: PauseHeld


class Resumed(Answer):
    """Whose pause has ended; null when there was none."""

    resumed: PauseShown | None


class SettledBesides(Answer):
    """What settings are made of."""

    settings: Json = described_field("values by the names of the settings")
    sources: dict[str, str] = described_field(
        "where each value comes from: `default`, `tenant`, `user`, `agent` and so on"
    )
    effective: Json = optional_field("with the names of the gateway: what holds in the end")


class MovedBesides(Answer):
    """What else was handed over."""

    merged: int = described_field("said the same as what was there, and became one with it")
    signals: int
    receipts: int


class Emptied(Answer):
    """Everything is gone; for a dry run, what there is to go."""

    status: Literal["reset", "cleared", "dry_run"]
    would_delete: Stats = optional_field("counts of everything, for a dry run")


class AccountRemoved(AccountShown):
    """An account that is gone."""

    removed: Literal[True]


class TokenKeyRotated(Answer):
    """When tokens got another key, and whether those of before are accepted until they expire."""

    rotated_at: str
    grace: bool


class SuggestionBesides(Answer):
    """What a suggestion has at times."""

    degraded: list[Degraded] = optional_field()
