"""Answers from an Ollama server, by its own API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from pydantic import Field

from memstone.adapters.llm.openai import read_tool_calls, wrap_tool
from memstone.adapters.llm.remote import (
    ADDRESS,
    MAX_TIMEOUT_SECONDS,
    JsonMode,
    Manner,
    RemoteLlm,
    RemoteLlmConfig,
    StopReasons,
    check_stop,
    parse_object,
    reply_of,
    unexpected_answer,
)
from memstone.adapters.llm.streams import Event, join_lines
from memstone.adapters.ollama_server import read_ollama_environment
from memstone.adapters.vendors import VENDORS
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.ports.models import Prompt, Reply

_STOPS: Final = StopReasons(cut_off=frozenset({"length"}), refused=frozenset())


class OllamaLlmConfig(RemoteLlmConfig):
    """The time-out is long because the first request loads the model.

    ``num_ctx`` is how many tokens the model reads and writes: Ollama cuts what goes beyond it without a word.
    ``keep_alive`` is how long the model stays loaded, such as ``10m``.
    """

    base_url: str = Field(default=VENDORS["ollama"].base_url, pattern=ADDRESS)
    timeout: float = Field(default=300.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    num_ctx: int | None = Field(default=None, ge=1)
    keep_alive: str | None = Field(default=None, min_length=1)
    json_mode: JsonMode = "auto"


class OllamaLlm(RemoteLlm):
    """``POST {base_url}/api/chat``; a schema goes into ``format``."""

    Config: ClassVar = OllamaLlmConfig
    read_environment = staticmethod(read_ollama_environment)
    _config: OllamaLlmConfig
    _has_marks = False

    def __init__(self, config: OllamaLlmConfig, io: Io) -> None:
        super().__init__(config, io, Manner("schema" if config.json_mode == "auto" else config.json_mode))

    def _request(self, prompt: Prompt, manner: Manner) -> HttpRequest:
        options: dict[str, Any] = {
            "temperature": self._temperature(prompt),
            "num_predict": self._max_tokens(prompt),
            **({} if self._config.num_ctx is None else {"num_ctx": self._config.num_ctx}),
        }
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in prompt.messages],
            "stream": self._config.stream,
            "options": options,
        }
        if prompt.tools:
            payload["tools"] = [wrap_tool(tool) for tool in prompt.tools]
        if prompt.response_format == "json" and manner.json_way != "none":
            by_schema = prompt.schema is not None and manner.json_way == "schema"
            payload["format"] = prompt.schema if by_schema else "json"
        if self._config.keep_alive is not None:
            payload["keep_alive"] = self._config.keep_alive
        return self._post("/api/chat", payload, self._headers())

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._config.key}"} if self._config.key else {}

    def _change_manner(self, manner: Manner, sent: dict[str, Any], response: HttpResponse) -> Manner | None:
        if self._config.json_mode != "auto" or b"format" not in response.body or "format" not in sent:
            return None
        return manner._replace(json_way="object" if isinstance(sent["format"], dict) else "none")

    def _join_events(self, events: Iterable[Event]) -> Event | None:
        return join_lines(events)

    def _parse_reply(self, body: bytes) -> Reply:
        answer = parse_object(body, self._source, "a chat message")
        message = answer.get("message")
        if not isinstance(message, dict):
            raise unexpected_answer(self._source, "a chat message")
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise unexpected_answer(self._source, "a chat message")
        check_stop(answer.get("done_reason"), text, _STOPS, self._source)
        tokens = answer.get("prompt_eval_count"), answer.get("eval_count")
        return reply_of(text, read_tool_calls(message.get("tool_calls"), self._source), tokens, self._source)
