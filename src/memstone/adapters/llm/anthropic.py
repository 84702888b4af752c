"""Answers from Claude, by the Messages API of Anthropic or of a server that speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from memstone.adapters.llm.remote import (
    ADDRESS,
    Manner,
    RemoteLlm,
    RemoteLlmConfig,
    StopReasons,
    bad_tool_call,
    check_stop,
    parse_object,
    reply_of,
    split_system,
    tool_call_of,
    tool_function,
    unexpected_answer,
)
from memstone.adapters.llm.streams import Event, join_message
from memstone.adapters.vendors import VENDORS, environment_reader
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.ports.models import Prompt, Reply, ToolCall

VERSION: Final = "2023-06-01"
ANSWER_TOOL: Final = "answer"
"""The tool whose arguments are the answer, where JSON is asked for in that way."""

_STOPS: Final = StopReasons(
    cut_off=frozenset({"max_tokens", "model_context_window_exceeded"}), refused=frozenset({"refusal"})
)


class AnthropicLlmConfig(RemoteLlmConfig):
    """``json_mode``: by a ``schema`` (the server enforces it), as the arguments of a ``tool``, by the words of the
    prompt alone (``none``), or ``auto``: the strictest way that the model has not refused.
    """  # noqa: D205 - one sentence

    base_url: str = Field(default=VENDORS["anthropic"].base_url, pattern=ADDRESS)
    # Newer models, and the API from 2026-10-21 on, refuse it at any value.
    send_temperature: bool = False
    version: str = Field(default=VERSION, min_length=1)
    json_mode: Literal["schema", "tool", "none", "auto"] = "auto"


class AnthropicLlm(RemoteLlm):
    """``POST {base_url}/v1/messages``."""

    Config: ClassVar = AnthropicLlmConfig
    read_environment = staticmethod(environment_reader("anthropic"))
    _config: AnthropicLlmConfig

    def __init__(self, config: AnthropicLlmConfig, io: Io) -> None:
        super().__init__(config, io, Manner("schema" if config.json_mode == "auto" else config.json_mode))

    def _request(self, prompt: Prompt, manner: Manner) -> HttpRequest:
        system, messages = split_system(prompt)
        if not messages:  # there has to be somebody who asks
            system, messages = "", [{"role": "user", "content": system}]
        payload: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self._max_tokens(prompt),
            "messages": messages,
            **({"system": system} if system else {}),
        }
        if self._config.send_temperature and manner.with_temperature:
            payload["temperature"] = min(self._temperature(prompt), 1.0)
        if prompt.tools:
            payload["tools"] = [_as_tool(tool_function(tool)) for tool in prompt.tools]
        if prompt.response_format == "json" and prompt.schema is not None:
            payload.update(_json_request(prompt.schema, manner))
        if self._config.stream:
            payload["stream"] = True
        return self._post("/v1/messages", payload, self._headers())

    def _headers(self) -> dict[str, str]:
        key = {"x-api-key": self._config.key} if self._config.key else {}
        return {"anthropic-version": self._config.version, **key}

    def _change_manner(self, manner: Manner, sent: dict[str, Any], response: HttpResponse) -> Manner | None:
        text = response.body.decode("utf-8", "replace")
        names_format = "output_config" in text or "output format" in text or "schema" in text
        if self._config.json_mode == "auto" and "output_config" in sent and names_format:
            return manner._replace(json_way="tool")
        if self._config.json_mode == "auto" and "tool_choice" in sent and "tool" in text:
            return manner._replace(json_way="none")
        if "temperature" in text and "temperature" in sent:
            return manner._replace(with_temperature=False)
        return None

    def _join_events(self, events: Iterable[Event]) -> Event | None:
        return join_message(events)

    def _parse_reply(self, body: bytes) -> Reply:
        answer = parse_object(body, self._source, "a message")
        content = answer.get("content")
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise unexpected_answer(self._source, "a message")
        calls = _tool_calls(content, self._source)
        answers = [json.dumps(call.arguments, ensure_ascii=False) for call in calls if call.name == ANSWER_TOOL]
        text = answers[0] if answers else "".join(_block_text(block) for block in content)
        check_stop(answer.get("stop_reason"), text, _STOPS, self._source)
        usage = answer.get("usage")
        tokens = _count_tokens(usage if isinstance(usage, dict) else {})
        return reply_of(text, tuple(call for call in calls if call.name != ANSWER_TOOL), tokens, self._source)


def _as_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    described = {name: function[name] for name in ("name", "description") if name in function}
    return {**described, "input_schema": schema}


def _json_request(schema: dict[str, Any], manner: Manner) -> dict[str, Any]:
    """Return what is added to a request whose answer has to fit a schema."""
    if manner.json_way == "schema":
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    if manner.json_way == "tool":
        tool = {"name": ANSWER_TOOL, "description": "Give the answer.", "input_schema": schema}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_TOOL}}
    return {}


def _block_text(block: Mapping[str, Any]) -> str:
    text = block.get("text") if block.get("type") == "text" else ""
    return text if isinstance(text, str) else ""


def _tool_calls(content: list[dict[str, Any]], source: str) -> tuple[ToolCall, ...]:
    used = [block for block in content if block.get("type") == "tool_use"]
    try:
        return tuple(tool_call_of(block["name"], block.get("input")) for block in used)
    except (LookupError, TypeError, ValueError) as error:
        raise bad_tool_call(source, used) from error


def _count_tokens(usage: Mapping[str, Any]) -> tuple[int, Any]:
    """Return those read, from a cache or not, and those written."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read = [usage.get(name) for name in names]
    return sum(value for value in read if isinstance(value, int)), usage.get("output_tokens")
