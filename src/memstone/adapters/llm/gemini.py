"""Answers from Google's Gemini, by ``generateContent``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from pydantic import Field

from memstone.adapters.google_api import API_VERSION, google_schema, model_path, read_google_response
from memstone.adapters.llm.remote import (
    ADDRESS,
    JsonMode,
    Manner,
    RemoteLlm,
    RemoteLlmConfig,
    StopReasons,
    bad_tool_call,
    check_stop,
    parse_object,
    reply_of,
    split_system,
    token_count,
    tool_call_of,
    tool_function,
    unexpected_answer,
)
from memstone.adapters.llm.streams import Event, join_content
from memstone.adapters.vendors import VENDORS, environment_reader
from memstone.errors import ModelRefused
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.ports.models import Prompt, Reply, ToolCall

_STOPS: Final = StopReasons(
    cut_off=frozenset({"MAX_TOKENS"}),
    refused=frozenset("SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR".split()),
)


class GeminiLlmConfig(RemoteLlmConfig):
    """``json_mode``: by ``schema`` (the server enforces it), as any ``object``, by the words of the prompt alone
    (``none``), or ``auto``: the strictest way that the model has not refused.
    """  # noqa: D205 - one sentence

    base_url: str = Field(default=VENDORS["gemini"].base_url, pattern=ADDRESS)
    api_version: str = Field(default=API_VERSION, pattern=r"^v\w+$")
    json_mode: JsonMode = "auto"


class GeminiLlm(RemoteLlm):
    """``POST {base_url}/{api_version}/models/{model}:generateContent``, or ``:streamGenerateContent``."""

    Config: ClassVar = GeminiLlmConfig
    read_environment = staticmethod(environment_reader("gemini"))
    _config: GeminiLlmConfig

    def __init__(self, config: GeminiLlmConfig, io: Io) -> None:
        super().__init__(config, io, Manner("schema" if config.json_mode == "auto" else config.json_mode))

    def _request(self, prompt: Prompt, manner: Manner) -> HttpRequest:
        system, messages = split_system(prompt)
        if not messages:  # there has to be somebody who asks
            system, messages = "", [{"role": "user", "content": system}]
        settings: dict[str, Any] = {"maxOutputTokens": self._max_tokens(prompt)}
        if manner.with_temperature:
            settings["temperature"] = self._temperature(prompt)
        payload: dict[str, Any] = {"contents": [_as_content(one) for one in messages]}
        if system:
            payload["systemInstruction"] = {"parts": [{"text": system}], "role": "user"}
        if prompt.tools:
            tools = [_as_declaration(tool_function(tool)) for tool in prompt.tools]
            payload["tools"] = [{"functionDeclarations": tools}]
        payload["generationConfig"] = {**settings, **_json_settings(prompt, manner)}
        call = "streamGenerateContent?alt=sse" if self._config.stream else "generateContent"
        return self._post(f"/{self._config.api_version}/{model_path(self.model)}:{call}", payload, self._headers())

    def _headers(self) -> dict[str, str]:
        return {"x-goog-api-key": self._config.key} if self._config.key else {}

    def _read_response(self, response: HttpResponse) -> HttpResponse:
        return read_google_response(response)

    def _change_manner(self, manner: Manner, sent: dict[str, Any], response: HttpResponse) -> Manner | None:
        text = response.body.decode("utf-8", "replace").lower()
        asked = sent["generationConfig"]
        is_auto = self._config.json_mode == "auto"
        if is_auto and "responseSchema" in asked and "schema" in text:
            return manner._replace(json_way="object")
        if is_auto and "responseMimeType" in asked and ("json mode" in text or "mime" in text):
            return manner._replace(json_way="none")
        if "temperature" in text and "temperature" in asked:
            return manner._replace(with_temperature=False)
        return None

    def _join_events(self, events: Iterable[Event]) -> Event | None:
        return join_content(events)

    def _parse_reply(self, body: bytes) -> Reply:
        answer = parse_object(body, self._source, "generated content")
        feedback = answer.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            raise ModelRefused(f"{self._source} rejected these messages: {str(feedback['blockReason']).lower()}")
        candidate, parts = _parse_candidate(answer, self._source)
        text = "".join(map(_part_text, parts))
        check_stop(candidate.get("finishReason"), text, _STOPS, self._source)
        usage = answer.get("usageMetadata")
        return reply_of(text, _tool_calls(parts, self._source), _count_tokens(usage), self._source)


def _as_content(message: Mapping[str, str]) -> dict[str, Any]:
    role = "model" if message["role"] == "assistant" else "user"
    return {"parts": [{"text": message["content"]}], "role": role}


def _as_declaration(function: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: function[name] for name in ("name", "description") if name in function}
    if function.get("parameters", {}).get("properties"):  # an object without properties is refused
        made["parameters"] = google_schema(function["parameters"])
    return made


def _json_settings(prompt: Prompt, manner: Manner) -> dict[str, Any]:
    if prompt.response_format != "json" or manner.json_way == "none":
        return {}
    asked: dict[str, Any] = {"responseMimeType": "application/json"}
    if prompt.schema is not None and manner.json_way == "schema":
        asked["responseSchema"] = google_schema(prompt.schema)
    return asked


def _parse_candidate(answer: Mapping[str, Any], source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the first candidate and its parts; one that was stopped may have none."""
    try:
        candidate = answer["candidates"][0]
        parts = candidate.get("content", {}).get("parts", [])
    except (AttributeError, LookupError, TypeError) as error:
        raise unexpected_answer(source, "generated content") from error
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise unexpected_answer(source, "generated content")
    return candidate, parts


def _part_text(part: Mapping[str, Any]) -> str:
    """Return the text of a part, unless it is what the model thought before it answered."""
    text = "" if part.get("thought") else part.get("text", "")
    return text if isinstance(text, str) else ""


def _tool_calls(parts: list[dict[str, Any]], source: str) -> tuple[ToolCall, ...]:
    called = [part["functionCall"] for part in parts if "functionCall" in part]
    try:
        return tuple(tool_call_of(one["name"], one.get("args")) for one in called)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise bad_tool_call(source, called) from error


def _count_tokens(usage: Any) -> tuple[int, int]:
    """Return those read and those written; what was thought is paid for as well."""
    counted = usage if isinstance(usage, dict) else {}
    written = token_count(counted.get("candidatesTokenCount")) + token_count(counted.get("thoughtsTokenCount"))
    return token_count(counted.get("promptTokenCount")), written
