"""Who a user is, what sessions were about, what was said, and who or what is spoken of."""

from __future__ import annotations

from typing import Any

from memstone.server.schemas.answers.parts import Degraded, Failure, Whose, means, sometimes
from memstone.server.schemas.base import Answer, Json


class Statement(Answer):
    """One thing that is always kept in mind."""

    id: str
    text: str
    token_count: int
    created_at: str


class Derived(Statement):
    """One that was derived from a fact."""

    fact: str | None = means("the id of the fact")


class Narrative(Answer):
    """The text about a user."""

    id: str
    text: str
    version: int
    model: str | None = means("who wrote it: a model, `rules`, or `user` by hand")
    generated_at: str
    token_count: int
    stale: bool = means("whether something it was made of has changed since")


class IdentityBesides(Answer):
    """What an identity is made of."""

    overrides: list[Statement] = means("what they wrote themselves")
    derived: list[Derived]
    narrative: Narrative | None
    warnings: list[str] = sometimes()


class Episode(Whose):
    """What a session was about."""

    id: str
    summary: str
    topics: list[str]
    entities: list[str]
    decisions: list[str]
    action_items: list[str]
    facts: list[str] = means("the ids of the facts it mentions")
    salience: float
    token_count: int
    model: str | None = means("null where rules wrote it")
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
    index: int = means("its place, counted from 0")
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
    effective_salience: float = means("what time has left of it since it was last told or used")
    source_count: int = means("how many sessions tell it")
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

    text: str = means("all of it, one a line; may be empty")
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
    valid_to: str | None = means("null while it holds")
    memories: int = means("how many memories state it")


class Relations(Answer):
    """How they are related, what was stated last first."""

    results: list[Relation]


class TranscriptKept(Answer):
    """What became of the turns of a transcript."""

    stored: int
    known: int = means("were there already")
    deleted: int = means("somebody had deleted before, and stay deleted")
    masked: int = means("held something that was masked")
    dropped: int = means("held something that may not be kept")
    skipped: int = means("were empty, or said neither by a person nor by the assistant")
    queued: int = means("are learned from in a while")
    degraded: list[Degraded] = sometimes()
    warnings: list[str] = sometimes()
    status: str = sometimes("`paused` or `disabled`, where nothing was stored")
    reason: str = sometimes()
    hint: str = sometimes()


class IngestedBesides(Answer):
    """What the answer to a whole conversation has at times."""

    status: str = means("`ok`, `pending` (it is tried again), `failed`, `disabled` or `paused`")
    warnings: list[str] = sometimes()
    reason: str = sometimes("why nothing was stored")


class Backfill(Answer):
    """What became of one conversation."""

    run_id: Any = means("as it was given, where it is wrong; else text")
    status: str = means("`ok`, `known`, `pending`, `failed`, `disabled`, `paused` or `error`")
    turns_ingested: int = sometimes()
    distillation: str = sometimes("whether an episode came of it, or why not")
    episode_id: int = sometimes()
    warnings: list[str] = sometimes()
    reason: str = sometimes()
    error: Failure = sometimes()


class Backfilled(Answer):
    """What became of conversations, in their order."""

    ingested: int
    known: int = means("were there already, and are left alone")
    failed: int
    cancelled: bool
    results: list[Backfill]


class SessionEnded(Answer):
    """What became of one session; an id is '' where it has none."""

    user_id: str | None = means("null is the pool of the key itself")
    agent_id: str
    run_id: str
    distillation: str = means("`distilled`, or why no episode came of it")
    episode_id: int = sometimes()


class SessionsEnded(Answer):
    """What became of every session in which something waited."""

    results: list[SessionEnded]


class AgentBesides(Answer):
    """The rest of an agent."""

    model: str | None
    system_prompt: str | None
    settings: Json = means(
        "values by the names of the settings, and its switches under the names its host has for them"
    )
    paused: bool
    memory_counts: dict[str, int] = means("how many memories of each layer it has")
    created_at: str
    updated_at: str
