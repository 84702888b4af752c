"""Requests and answers of a companion: conversations, agents, identity, episodes."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from memstone.server.schemas.base import Answer, Id, Json, RequestBody, shown_as

Text = Annotated[str, Field(max_length=1_000_000)]


class Pair(RequestBody):
    """What a user said, and what was answered."""

    user: Text
    assistant: Text
    date: str | None = None


class Conversation(RequestBody):
    """A whole conversation; ``session_date`` is when turns without a date of their own were said."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "agent_id": "coach",
                    "conversation_id": "monday",
                    "turns": [{"user": "I moved to Oslo last week", "assistant": "How do you like it?"}],
                    "session_date": "2026-03-02",
                }
            ]
        },
    )

    agent_id: Id
    conversation_id: Id
    turns: list[Pair] = Field(min_length=1, max_length=10_000)
    session_date: str | None = None
    skip_extraction: bool = False
    user_id: Id | None = None


class Ingested(Answer):
    """What became of a conversation; ``distillation`` says whether an episode came of it, or why not."""

    besides = "answers.layers.IngestedBesides"

    status: str
    turns_ingested: int
    distillation: str
    episode_id: int | str | None = None


class Consolidated(Answer):
    """What a pass has changed."""

    besides = "answers.store.ConsolidatedBesides"

    status: str


class Synced(Answer):
    """What was formed, and what still waits."""

    stored: int
    waiting: int


class Override(RequestBody):
    """Something to keep in mind for good, in the user's own words."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "Call me Al", "user_id": "alice"}]}
    )

    text: Text
    user_id: Id | None = None


class Overrides(RequestBody):
    """All that is to be kept in mind."""

    model_config = shown_as(texts=["Call me Al", "Answer in metric units"], user_id="alice")

    texts: list[Text] = Field(max_length=1_000)
    user_id: Id | None = None


class Identity(Answer):
    """Who a user is; ``user_id`` is null for the pool of the key itself."""

    besides = "answers.layers.IdentityBesides"

    user_id: str | None
    overrides: list[Json]
    derived: list[Json]
    narrative: Json | None = None


class AgentChanges(RequestBody):
    """What to keep of an agent; what is not given stays as it is."""

    model_config = shown_as(name="Coach", system_prompt="You are a kind coach.")

    name: str | None = Field(default=None, max_length=256)
    model: str | None = Field(default=None, max_length=256)
    system_prompt: str | None = None
    settings: Json | None = None


class NewAgent(AgentChanges):
    """An agent; without an id it gets one."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"id": "coach", "name": "Coach", "settings": {"searchMemoryEnabled": True}}]},
    )

    id: Id | None = None


class Agent(Answer):
    """An agent, its settings, and how many memories it has: ``memory_entry_count`` is all of them but its turns."""

    besides = "answers.layers.AgentBesides"

    id: str
    name: str
    model: str | None = None
    system_prompt: str | None = None
    settings: Json
    memory_entry_count: int


class Agents(Answer):
    """The agents there are."""

    agents: list[Agent]
    total: int


class AgentDeleted(Answer):
    """An agent that is gone, and how many memories went with it."""

    id: str
    deleted: int
