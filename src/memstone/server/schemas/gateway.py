"""Bodies of the chat routes. Only fields that Memstone needs are named; the rest is passed on."""

from __future__ import annotations

from typing import Any

from memstone.server.schemas.base import Json


def _route_description(about: str, example: Json, required: list[str], **properties: Json) -> dict[str, Any]:
    """Return what the description of the service says about a route whose body is passed on."""
    schema = {"type": "object", "required": required, "properties": properties, "examples": [example]}
    answer = {"description": about, "content": {"application/json": {}, "text/event-stream": {}}}
    return {
        "responses": {200: answer},
        "openapi_extra": {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}},
    }


_TEXT: Json = {"type": "string"}
_STREAM: Json = {"type": "boolean"}
_LIST: Json = {"type": "array", "minItems": 1, "items": {"type": "object"}}
_HELLO: list[Json] = [{"role": "user", "content": "Where do I live?"}]

CHAT = _route_description(
    "what the model says",
    {"model": "gpt-5-mini", "messages": _HELLO},
    ["model", "messages"],
    model=_TEXT,
    messages=_LIST,
    stream=_STREAM,
    user=_TEXT,
)
MESSAGES = _route_description(
    "what the model says",
    {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "messages": _HELLO},
    ["model", "messages"],
    model=_TEXT,
    messages=_LIST,
    stream=_STREAM,
)
RESPONSES = _route_description(
    "what the model says",
    {"model": "gpt-5-mini", "input": "Where do I live?"},
    ["model", "input"],
    model=_TEXT,
    input={},
    stream=_STREAM,
)
RUN = _route_description(
    "what the agent says",
    {"messages": _HELLO, "session_id": "monday"},
    ["messages"],
    messages=_LIST,
    session_id=_TEXT,
    stream=_STREAM,
)
EMBEDDINGS = _route_description(
    "the vectors", {"model": "text-embedding-3-small", "input": "some text"}, ["model", "input"], model=_TEXT, input={}
)
COUNT = _route_description(
    "how many tokens a request has",
    {"model": "claude-sonnet-4-5", "messages": _HELLO},
    ["model", "messages"],
    model=_TEXT,
    messages=_LIST,
)
