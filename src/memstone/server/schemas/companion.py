"""Bodies of the companion routes: conversations, agents, identity."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from memstone.server.schemas.base import Id, Json, RequestBody, example_config

Text = Annotated[str, Field(max_length=1_000_000)]


class TurnPair(RequestBody):
    """A message of the user, and the answer."""

    user: Text
    assistant: Text
    date: str | None = None


class ConversationBody(RequestBody):
    """A whole conversation; ``session_date`` is the time of turns without a date."""

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
    turns: list[TurnPair] = Field(min_length=1, max_length=10_000)
    session_date: str | None = None
    skip_extraction: bool = False
    user_id: Id | None = None


class OverrideBody(RequestBody):
    """A standing instruction, in the user's own words."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "Call me Al", "user_id": "alice"}]}
    )

    text: Text
    user_id: Id | None = None


class OverridesBody(RequestBody):
    """All standing instructions."""

    model_config = example_config(texts=["Call me Al", "Answer in metric units"], user_id="alice")

    texts: list[Text] = Field(max_length=1_000)
    user_id: Id | None = None


class AgentChangeBody(RequestBody):
    """Fields of an agent to change; what is left out stays as it is."""

    model_config = example_config(name="Coach", system_prompt="You are a kind coach.")

    name: str | None = Field(default=None, max_length=256)
    model: str | None = Field(default=None, max_length=256)
    system_prompt: str | None = None
    settings: Json | None = None


class AgentBody(AgentChangeBody):
    """A new agent; without an id, it gets one."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"id": "coach", "name": "Coach", "settings": {"searchMemoryEnabled": True}}]},
    )

    id: Id | None = None
