"""Answers from OpenAI, or from any server that speaks its chat dialect (Mistral, vLLM, llama.cpp, ...)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.io.http import error_from_response, host_of, is_success
from memstone.adapters.openai_account import read_environment
from memstone.adapters.retry import with_retry
from memstone.errors import AnswerCutOff, BadModelOutput, LLMError, MemstoneError, ModelRefused
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.ports.models import Prompt, Reply, ToolCall

JsonMode: TypeAlias = Literal["schema", "object", "none", "auto"]

MAX_ANSWER_BYTES: Final = 2 * 1024 * 1024
MAX_TIMEOUT_SECONDS: Final = 600
_WRONG_REQUEST: Final = (400, 422)
_DEFAULTS: Final = Prompt(())


class OpenAiLlmConfig(BaseModel):
    """``temperature`` and ``max_tokens`` hold for every prompt that does not ask for something else.

    ``json_mode`` is how JSON is asked for: by ``schema`` (the server enforces it), as any ``object``, by the words of
    the prompt alone (``none``), or ``auto``: the strictest way that the server has not refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="gpt-4o-mini", min_length=1)
    api_key: SecretStr | None = None
    base_url: str = Field(default="https://api.openai.com/v1", pattern=r"^https?://[^/]")
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=2000, ge=1)
    timeout: float = Field(default=60.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=3, ge=0, le=10)
    json_mode: JsonMode = "auto"


class _Manner(NamedTuple):
    """How a server wants to be asked, as far as it has told by refusing."""

    json_mode: Literal["schema", "object", "none"] = "schema"
    limit_name: str = "max_tokens"
    with_temperature: bool = True


class OpenAiLlm:
    """``POST {base_url}/chat/completions``.

    What a server refuses (a response format; ``max_tokens`` under its old name; a temperature) is asked for in another
    way at once, and never again in the refused way.
    """

    Config: ClassVar = OpenAiLlmConfig
    read_environment = staticmethod(read_environment)

    def __init__(self, config: OpenAiLlmConfig, io: Io) -> None:
        self._config = config
        self._io = io
        self._base_url = config.base_url.rstrip("/")
        self._manner = _Manner("schema" if config.json_mode == "auto" else config.json_mode)

    @property
    def model(self) -> str:
        return self._config.model

    @property
    def destination(self) -> str:
        """The host that text is sent to."""
        return host_of(self._base_url)

    async def generate(self, prompt: Prompt) -> Reply:
        body = await with_retry(self._io, lambda: self._ask(prompt), retries=self._config.retries)
        return _parse_reply(body, f"model {self.model} at {self.destination}")

    async def _ask(self, prompt: Prompt) -> bytes:
        """Return the body of a successful answer, after as many changes of manner as the server wants."""
        # The manner is this call's own while it asks: what a call beside it has learned must not count twice.
        manner = self._manner
        while True:  # each change is made once, so there are few
            request = self._request(prompt, manner)
            response = await self._io.http(request)
            if is_success(response.status):
                self._manner = manner
                return response.body
            other = _other_manner(manner, request.json, response, auto=self._config.json_mode == "auto")
            if other is None:
                raise _error_from_response(request, response)
            manner = other

    def _request(self, prompt: Prompt, manner: _Manner) -> HttpRequest:
        payload: dict[str, Any] = {"model": self.model, "messages": [dict(message) for message in prompt.messages]}
        payload[manner.limit_name] = _choose_setting(prompt.max_tokens, _DEFAULTS.max_tokens, self._config.max_tokens)
        if manner.with_temperature:
            payload["temperature"] = _choose_setting(
                prompt.temperature, _DEFAULTS.temperature, self._config.temperature
            )
        if prompt.tools:
            payload["tools"] = [_wrap_tool(tool) for tool in prompt.tools]
        response_format = _response_format(prompt, manner)
        if response_format is not None:
            payload["response_format"] = response_format
        url = f"{self._base_url}/chat/completions"
        return HttpRequest("POST", url, payload, self._headers(), timeout=self._config.timeout)

    def _headers(self) -> dict[str, str]:
        key = self._config.api_key.get_secret_value().strip() if self._config.api_key else ""
        return {"authorization": f"Bearer {key}"} if key else {}


def _choose_setting(by_prompt: float, by_default: float, by_config: float) -> float:
    """What the prompt asks for; one that says nothing has the port's default, and then the configuration counts."""
    return by_config if by_prompt == by_default else by_prompt


def _wrap_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return dict(tool) if "function" in tool else {"type": "function", "function": dict(tool)}


def _response_format(prompt: Prompt, manner: _Manner) -> dict[str, Any] | None:
    if prompt.response_format != "json" or manner.json_mode == "none":
        return None
    if prompt.schema is None or manner.json_mode == "object":
        return {"type": "json_object"}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(prompt.schema.get("title", "answer")))[:64] or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": prompt.schema, "strict": True}}


def _other_manner(manner: _Manner, sent: dict[str, Any], response: HttpResponse, *, auto: bool) -> _Manner | None:
    """How to ask instead, when the refusal names something we sent; None when it is about something else."""
    if response.status not in _WRONG_REQUEST:
        return None
    text = response.body.decode("utf-8", "replace")
    if auto and "response_format" in text and "response_format" in sent:
        by_schema = sent["response_format"]["type"] == "json_schema"
        return manner._replace(json_mode="object" if by_schema else "none")
    if "max_completion_tokens" in text and "max_tokens" in sent:
        return manner._replace(limit_name="max_completion_tokens")
    if "temperature" in text and "temperature" in sent:
        return manner._replace(with_temperature=False)
    return None


def _error_from_response(request: HttpRequest, response: HttpResponse) -> MemstoneError:
    if response.status in _WRONG_REQUEST and b"content_filter" in response.body:
        return ModelRefused(f"{host_of(request.url)} rejected these messages: content filter")
    hint = None
    if b"context_length" in response.body or b"context length" in response.body:
        hint = "the messages are too long for this model; send fewer at once"
    return error_from_response(request, response, lambda message: LLMError(message, hint=hint))


def _parse_reply(body: bytes, source: str) -> Reply:
    if len(body) > MAX_ANSWER_BYTES:
        problem = f"{source} returned {len(body)} bytes, the limit is {MAX_ANSWER_BYTES}"
        raise BadModelOutput(problem, hint="lower max_tokens for this model")
    answer, choice, message = _parse_completion(body, source)
    text = _content_text(message.get("content"))
    why = choice.get("finish_reason")
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        raise ModelRefused(f"{source} refused to answer")
    if why == "content_filter":
        raise ModelRefused(f"{source} stopped: content filter")
    if why == "length":
        raise AnswerCutOff(f"the response from {source} was cut off", raw=text)
    calls = _tool_calls(message.get("tool_calls"), source)
    if not text.strip() and not calls:
        raise BadModelOutput(f"the response from {source} is empty", hint="try again, or try another model")
    usage = answer.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    return Reply(
        text, calls, _token_count(counted.get("prompt_tokens")), _token_count(counted.get("completion_tokens"))
    )


def _parse_completion(body: bytes, source: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the answer, its first choice and the message in that."""
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = choice["message"]
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise BadModelOutput(f"{source} did not return a chat completion", hint="check base_url") from error
    if not (isinstance(choice, dict) and isinstance(message, dict)):
        raise BadModelOutput(f"{source} did not return a chat completion", hint="check base_url")
    return answer, choice, message


def _content_text(content: Any) -> str:
    """Content is text, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(_content_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _tool_calls(value: Any, source: str) -> tuple[ToolCall, ...]:
    try:
        return tuple(_tool_call(call["function"]) for call in value or ())
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise BadModelOutput(f"{source} returned a tool call that cannot be parsed", raw=str(value)) from error


def _tool_call(function: Mapping[str, Any]) -> ToolCall:
    arguments = function.get("arguments") or "{}"
    parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(parsed, dict) or not isinstance(function["name"], str):
        raise TypeError("expected a tool name and named arguments")
    return ToolCall(function["name"], parsed)


def _token_count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
