"""Who a user is, what sessions were about, what was said, and who or what is spoken of."""

from __future__ import annotations

from typing import Any

from memstone.server.schemas.answers.parts import Degraded, Failure, Whose, described_field, optional_field
from memstone.server.schemas.base import Answer, Json


class Statement(Answer):
    """One thing that is always kept in mind."""

    id: str
    text: str
    token_count: int
    created_at: str


class Derived(Statement):
    """One that was derived from a fact."""

    fact: str | None = described_field("the id of the fact")


class Narrative(Answer):
    """The text about a user."""

    id: str
    text: str
    version: int
    model: str | None = described_field("who wrote it: a model, `rules`, or `user` by hand")
    generated_at: str
    token_count: int
    stale: bool = described_field("whether something it was made of has changed since")


class IdentityBesides(Answer):
    """What an identity is made of."""

    overrides: list[Statement] = described_field("what they wrote themselves")
    derived: list[Derived]
    narrative: Narrative | None
    warnings: list[str] = optional_field()


class Episode(Whose):
    """What a session was about."""

    id: str
    summary: str
    topics: list[str]
    entities: list[str]
    decisions: list[str]
    action_items: list[str]
    facts: list[str] = described_field("the ids of the facts it mentions")
    salience: float
    token_count: int
    model: str | None = described_field("null where rules wrote it")
    version: int
    status: str
    occurred_at: str
    created_at: str
    updated_at: str


class Episodes(Answer):
    """What sessions were about, newest first."""

    results: list[Episode]


class TurnShown(Whose):
    """One thing that was said."""

    id: str
    index: int = described_field("its place, counted from 0")
    role: str | None
    content: str
    token_count: int
    occurred_at: str


class TranscriptPage(Answer):
    """What was said, in order."""

    results: list[TurnShown]
    total: int


class PinnedFact(Answer):
    """A fact as a companion sees it."""

    id: str
    content: str
    salience: float
    effective_salience: float = described_field("what time has left of it since it was last told or used")
    source_count: int = described_field("how many sessions tell it")
    source_episode_id: str | None
    last_used: str | None
    use_count: int
    status: str
    tags: list[str]
    user_id: str | None
    agent_id: str | None
    occurred_at: str
    created_at: str


class Pinned(Answer):
    """Facts, the weightiest first."""

    results: list[PinnedFact]


class Instruction(Answer):
    """What a user wants to be done always."""

    id: str
    text: str
    occurred_at: str


class Instructions(Answer):
    """What a user wants to be done always, oldest first."""

    text: str = described_field("all of it, one a line; may be empty")
    instructions: list[Instruction]


class EntityShown(Answer):
    """Somebody or something that memories speak of."""

    id: str
    name: str
    type: str
    description: str | None
    mentions: int
    updated_at: str


class Entities(Answer):
    """Whom and what memories speak of, most often mentioned first."""

    results: list[EntityShown]


class Relation(Answer):
    """How two are related."""

    source: str
    source_id: str
    relation: str
    target: str
    target_id: str
    confidence: float
    valid_from: str
    valid_to: str | None = described_field("null while it holds")
    memories: int = described_field("how many memories state it")


class Relations(Answer):
    """How they are related, what was stated last first."""

    results: list[Relation]


class TranscriptKept(Answer):
    """What became of the turns of a transcript."""

    stored: int
    known: int = described_field("were there already")
    deleted: int = described_field("somebody had deleted before, and stay deleted")
    masked: int = described_field("held something that was masked")
    dropped: int = described_field("held something that may not be kept")
    skipped: int = described_field("were empty, or said neither by a person nor by the assistant")
    queued: int = described_field("are learned from in a while")
    degraded: list[Degraded] = optional_field()
    warnings: list[str] = optional_field()
    status: str = optional_field("`paused` or `disabled`, where nothing was stored")
    reason: str = optional_field()
    hint: str = optional_field()


class IngestedBesides(Answer):
    """What the answer to a whole conversation has at times."""

    status: str = described_field("`ok`, `pending` (it is tried again), `failed`, `disabled` or `paused`")
    warnings: list[str] = optional_field()
    reason: str = optional_field("why nothing was stored")


class Backfill(Answer):
    """What became of one conversation."""

    run_id: Any = described_field("as it was given, where it is wrong; else text")
    status: str = described_field("`ok`, `known`, `pending`, `failed`, `disabled`, `paused` or `error`")
    turns_ingested: int = optional_field()
    distillation: str = optional_field("whether an episode came of it, or why not")
    episode_id: int = optional_field()
    warnings: list[str] = optional_field()
    reason: str = optional_field()
    error: Failure = optional_field()


class Backfilled(Answer):
    """What became of conversations, in their order."""

    ingested: int
    known: int = described_field("were there already, and are left alone")
    failed: int
    cancelled: bool
    results: list[Backfill]


class SessionEnded(Answer):
    """What became of one session; an id is '' where it has none."""

    user_id: str | None = described_field("null is the pool of the key itself")
    agent_id: str
    run_id: str
    distillation: str = described_field("`distilled`, or why no episode came of it")
    episode_id: int = optional_field()


class SessionsEnded(Answer):
    """What became of every session in which something waited."""

    results: list[SessionEnded]


class AgentBesides(Answer):
    """The rest of an agent."""

    model: str | None
    system_prompt: str | None
    settings: Json = described_field(
        "values by the names of the settings, and its switches under the names its host has for them"
    )
    paused: bool
    memory_counts: dict[str, int] = described_field("how many memories of each layer it has")
    created_at: str
    updated_at: str
