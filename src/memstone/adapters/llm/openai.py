"""Answers from OpenAI, or from any server that speaks its chat dialect (Mistral, vLLM, llama.cpp, ...)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from pydantic import Field

from memstone.adapters.llm.remote import (
    ADDRESS,
    MAX_ANSWER_BYTES,
    JsonMode,
    Manner,
    RemoteLlm,
    RemoteLlmConfig,
    StopReasons,
    bad_tool_call,
    check_stop,
    parse_object,
    reply_of,
    tool_call_of,
    unexpected_answer,
)
from memstone.adapters.llm.streams import Event, join_chat
from memstone.adapters.vendors import VENDORS, JsonWay, Vendor, environment_reader
from memstone.errors import ModelRefused
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.ports.models import Prompt, Reply, ToolCall

__all__ = ["MAX_ANSWER_BYTES", "OpenAiLlm", "OpenAiLlmConfig"]

_STOPS: Final = StopReasons(cut_off=frozenset({"length", "model_length"}), refused=frozenset({"content_filter"}))


class OpenAiLlmConfig(RemoteLlmConfig):
    """``json_mode`` is how JSON is asked for: by ``schema`` (the server enforces it), as any ``object``, by the words
    of the prompt alone (``none``), or ``auto``: the strictest way that the server has not refused.
    """  # noqa: D205 - one sentence

    model: str = Field(default=VENDORS["openai"].model, min_length=1)
    base_url: str = Field(default=VENDORS["openai"].base_url, pattern=ADDRESS)
    json_mode: JsonMode = "auto"


class OpenAiLlm(RemoteLlm):
    """``POST {base_url}/chat/completions``.

    What a server refuses (a response format; ``max_tokens`` under its old name; a temperature) is asked for in another
    way at once, and never again in the refused way.
    """

    Config: ClassVar[type[OpenAiLlmConfig]] = OpenAiLlmConfig
    vendor: ClassVar[Vendor] = VENDORS["openai"]
    read_environment = staticmethod(environment_reader("openai"))
    _config: OpenAiLlmConfig

    def __init__(self, config: OpenAiLlmConfig, io: Io) -> None:
        way = self.vendor.json_ways[0] if config.json_mode == "auto" else config.json_mode
        super().__init__(config, io, Manner(way))

    def _request(self, prompt: Prompt, manner: Manner) -> HttpRequest:
        return self._post("/chat/completions", self._payload(prompt, manner), self._headers())

    def _payload(self, prompt: Prompt, manner: Manner) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self.model, "messages": [dict(message) for message in prompt.messages]}
        payload[manner.limit_name] = self._max_tokens(prompt)
        if manner.with_temperature:
            payload["temperature"] = self._temperature(prompt)
        if prompt.tools:
            payload["tools"] = [wrap_tool(tool) for tool in prompt.tools]
        response_format = self._response_format(prompt, manner.json_way)
        if response_format is not None:
            payload["response_format"] = response_format
        if self._config.stream:
            payload["stream"] = True
            if manner.with_usage:
                payload["stream_options"] = {"include_usage": True}
        return payload

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._config.key}"} if self._config.key else {}

    def _response_format(self, prompt: Prompt, way: JsonWay) -> dict[str, Any] | None:
        if prompt.response_format != "json" or way == "none":
            return None
        if prompt.schema is None or way == "object":
            has_objects = "object" in self.vendor.json_ways or self._config.json_mode == "object"
            return {"type": "json_object"} if has_objects else None
        return schema_format(prompt.schema)

    def _change_manner(self, manner: Manner, sent: dict[str, Any], response: HttpResponse) -> Manner | None:
        text = response.body.decode("utf-8", "replace")
        if self._config.json_mode == "auto" and "response_format" in text and "response_format" in sent:
            by_schema = sent["response_format"]["type"] == "json_schema"
            has_objects = by_schema and "object" in self.vendor.json_ways
            return manner._replace(json_way="object" if has_objects else "none")
        if "stream_options" in text and "stream_options" in sent:
            return manner._replace(with_usage=False)
        if "max_completion_tokens" in text and "max_tokens" in sent:
            return manner._replace(limit_name="max_completion_tokens")
        if "temperature" in text and "temperature" in sent:
            return manner._replace(with_temperature=False)
        return None

    def _join_events(self, events: Iterable[Event]) -> Event | None:
        return join_chat(events)

    def _parse_reply(self, body: bytes) -> Reply:
        return read_completion(parse_object(body, self._source, "a chat completion"), self._source)


def schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response format for answers that fit a schema, under a name that servers accept."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "answer")))[:64] or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def wrap_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as this dialect has it."""
    return dict(tool) if "function" in tool else {"type": "function", "function": dict(tool)}


def read_completion(answer: Mapping[str, Any], source: str) -> Reply:
    """Return the reply in a chat completion."""
    choice, message = _first_choice(answer, source)
    text = _content_text(message.get("content"))
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        raise ModelRefused(f"{source} refused to answer")
    check_stop(choice.get("finish_reason"), text, _STOPS, source)
    calls = read_tool_calls(message.get("tool_calls"), source)
    usage = answer.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    return reply_of(text, calls, (counted.get("prompt_tokens"), counted.get("completion_tokens")), source)


def _first_choice(answer: Mapping[str, Any], source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first choice of an answer and the message in that."""
    try:
        choice = answer["choices"][0]
        message = choice["message"]
    except (LookupError, TypeError) as error:
        raise unexpected_answer(source, "a chat completion") from error
    if not (isinstance(choice, dict) and isinstance(message, dict)):
        raise unexpected_answer(source, "a chat completion")
    return choice, message


def _content_text(content: Any) -> str:
    """Return the text of a content, which is one, or a list of parts of which some are."""
    if isinstance(content, list):
        return "".join(_content_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def read_tool_calls(value: Any, source: str) -> tuple[ToolCall, ...]:
    """Return the tool calls of a message; ``BadModelOutput`` for one that cannot be used."""
    try:
        functions = [call["function"] for call in value or ()]
        return tuple(tool_call_of(one["name"], one.get("arguments")) for one in functions)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise bad_tool_call(source, value) from error
