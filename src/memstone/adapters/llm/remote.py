"""Common parts of remote language models: options, retries, and ways to request JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.io.http import error_from_response, host_of, is_success
from memstone.adapters.llm.streams import Event, StreamError, join_stream
from memstone.adapters.retry import with_retry
from memstone.adapters.vendors import JsonWay, key_variables, needs_key
from memstone.errors import AnswerCutOff, AuthenticationFailed, BadModelOutput, LLMError, MemstoneError, ModelRefused
from memstone.ports.io import HttpRequest, HttpResponse, Io, is_hurried, seconds_left
from memstone.ports.models import Prompt, Reply, ToolCall

JsonMode: TypeAlias = Literal["schema", "object", "none", "auto"]

MAX_ANSWER_BYTES: Final = 2 * 1024 * 1024
MAX_TIMEOUT_SECONDS: Final = 600
WRONG_REQUEST: Final = (400, 422)
ADDRESS: Final = r"^https?://[^/]"
_DEFAULTS: Final = Prompt(())


class RemoteLlmConfig(BaseModel):
    """``temperature`` and ``max_tokens`` hold for every prompt that does not ask for something else.

    ``extra_body`` holds parameters of the vendor's own, which are sent as they are; ``headers`` are sent besides. With
    ``stream`` the answer comes piece by piece, and ``timeout`` is the longest silence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    api_key: SecretStr | None = None
    base_url: str = Field(pattern=ADDRESS)
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=2000, ge=1)
    timeout: float = Field(default=60.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=3, ge=0, le=10)
    stream: bool = False
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """Return the key as it is sent; '' where there is none."""
        return self.api_key.get_secret_value().strip() if self.api_key else ""


class Manner(NamedTuple):
    """How a server wants to be asked, as far as it has told by refusing."""

    json_way: JsonWay
    limit_name: str = "max_tokens"
    with_temperature: bool = True
    with_usage: bool = True


class RemoteLlm:
    """A language model behind HTTP.

    A subclass says what a request looks like, what an answer means, and which errors refuse it.

    What a server refuses (a way to ask for JSON; a temperature) is asked for in another way at once, and never again
    in the refused way.
    """

    _config: RemoteLlmConfig
    _has_marks = True

    def __init__(self, config: RemoteLlmConfig, io: Io, manner: Manner) -> None:
        self._config = config
        self._io = io
        self._base_url = config.base_url.rstrip("/")
        self._manner = manner

    @property
    def model(self) -> str:
        return self._config.model

    @property
    def destination(self) -> str:
        """Return the host that text is sent to."""
        return host_of(self._base_url)

    async def generate(self, prompt: Prompt) -> Reply:
        self._refuse_without_key()
        body = await with_retry(
            self._io, lambda: self._ask(prompt), retries=0 if is_hurried() else self._config.retries
        )
        if len(body) > MAX_ANSWER_BYTES:
            problem = f"{self._source} returned {len(body)} bytes, the limit is {MAX_ANSWER_BYTES}"
            raise BadModelOutput(problem, hint="lower max_tokens for this model")
        return self._parse_reply(body)

    def _refuse_without_key(self) -> None:
        """Say it here, not there: no text is sent in vain."""
        if needs_key(self._base_url) and not self._config.key:
            hint = f"set the api_key of this language model, or {key_variables(self._base_url)[0]}"
            raise AuthenticationFailed(f"{self.destination} needs a key", hint=hint)

    async def _ask(self, prompt: Prompt) -> bytes:
        """Return the body of a successful answer, after as many changes of manner as the server wants."""
        # The manner is this call's own while it asks: what a call beside it has learned must not count twice.
        manner = self._manner
        while True:  # each change is made once, so there are few
            request = self._request(prompt, manner)
            response = self._read_response(await self._io.http(request))
            if is_success(response.status):
                self._manner = manner
                return self._read_stream(request, response) if self._config.stream else response.body
            other = self._change_manner(manner, request.json, response) if _is_wrong(response) else None
            if other is None:
                raise _error_from_response(request, response)
            manner = other

    def _read_stream(self, request: HttpRequest, response: HttpResponse) -> bytes:
        """Return the body of an answer that came in pieces."""
        try:
            return join_stream(response.body, self._join_events, self.destination, has_marks=self._has_marks)
        except StreamError as error:
            failed = HttpResponse(error.status, {}, error.body)
            raise _error_from_response(request, self._read_response(failed)) from error

    def _post(self, path: str, payload: dict[str, Any], headers: Mapping[str, str]) -> HttpRequest:
        return HttpRequest(
            "POST",
            f"{self._base_url}{path}",
            {**payload, **self._config.extra_body},
            {**headers, **self._config.headers},
            timeout=seconds_left(self._config.timeout),
            in_pieces=self._config.stream,
        )

    @property
    def _source(self) -> str:
        return f"model {self.model} at {self.destination}"

    def _max_tokens(self, prompt: Prompt) -> int:
        return int(_choose_setting(prompt.max_tokens, _DEFAULTS.max_tokens, self._config.max_tokens))

    def _temperature(self, prompt: Prompt) -> float:
        return _choose_setting(prompt.temperature, _DEFAULTS.temperature, self._config.temperature)

    def _read_response(self, response: HttpResponse) -> HttpResponse:
        """Return the response in the usual terms, for vendors that put a refused key or a pause in other places."""
        return response

    def _request(self, prompt: Prompt, manner: Manner) -> HttpRequest:
        """Return what is sent for a prompt."""
        raise NotImplementedError

    def _change_manner(self, manner: Manner, sent: dict[str, Any], response: HttpResponse) -> Manner | None:
        """Return how to ask instead, when the refusal names something we sent; None when it is about something else."""
        raise NotImplementedError

    def _join_events(self, events: Iterable[Event]) -> Event | None:
        """Return the whole answer that the events of a stream make; None when the last of them is missing."""
        raise NotImplementedError

    def _parse_reply(self, body: bytes) -> Reply:
        """Return what a successful answer says."""
        raise NotImplementedError


def _is_wrong(response: HttpResponse) -> bool:
    return response.status in WRONG_REQUEST


def _choose_setting(by_prompt: float, by_default: float, by_config: float) -> float:
    """Return what the prompt asks for.

    One that says nothing has the port's default, and then the configuration counts.
    """
    return by_config if by_prompt == by_default else by_prompt


_TOO_LONG: Final = (
    b"context_length",
    b"context length",
    b"prompt is too long",
    b"exceeds the maximum number of tokens",
)


def _error_from_response(request: HttpRequest, response: HttpResponse) -> MemstoneError:
    if response.status in WRONG_REQUEST and b"content_filter" in response.body:
        return ModelRefused(f"{host_of(request.url)} rejected these messages: content filter")
    hint = None
    if any(words in response.body for words in _TOO_LONG):
        hint = "the messages are too long for this model; send fewer at once"
    return error_from_response(request, response, lambda message: LLMError(message, hint=hint))


# --- what answers have in common --------------------------------------------------------------------------------------


def parse_object(body: bytes, source: str, what: str) -> dict[str, Any]:
    """Return the JSON object in a body; ``what`` is what it should have been."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise unexpected_answer(source, what) from error
    if not isinstance(answer, dict):
        raise unexpected_answer(source, what)
    return answer


def unexpected_answer(source: str, what: str) -> BadModelOutput:
    """Return the error for an answer in another form than the dialect's."""
    return BadModelOutput(f"{source} did not return {what}", hint="check base_url")


class StopReasons(NamedTuple):
    """Why an answer is over, in the words of the vendor: which of them mean that it is no whole answer."""

    cut_off: frozenset[str]
    refused: frozenset[str]


def check_stop(why: object, text: str, stops: StopReasons, source: str) -> None:
    """Raise if the model stopped before it was done."""
    if why in stops.refused:
        raise ModelRefused(f"{source} stopped: {str(why).replace('_', ' ').lower()}")
    if why in stops.cut_off:
        raise AnswerCutOff(f"the response from {source} was cut off", raw=text)


def reply_of(text: str, calls: tuple[ToolCall, ...], tokens: tuple[Any, Any], source: str) -> Reply:
    """Return a reply that says something.

    ``tokens`` are those read and those written, where the server counted them.
    """
    if not text.strip() and not calls:
        raise BadModelOutput(f"the response from {source} is empty", hint="try again, or try another model")
    return Reply(text, calls, token_count(tokens[0]), token_count(tokens[1]))


def tool_call_of(name: object, arguments: object) -> ToolCall:
    """Return a call of a tool; raise ``ValueError`` or its like for anything else.

    ``arguments`` are JSON text or an object.
    """
    parsed = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments or {}
    if not isinstance(parsed, dict) or not isinstance(name, str):
        raise TypeError("expected a tool name and named arguments")
    return ToolCall(name, parsed)


def bad_tool_call(source: str, raw: object) -> BadModelOutput:
    """Return the error for a tool call that cannot be used."""
    return BadModelOutput(f"{source} returned a tool call that cannot be parsed", raw=str(raw))


def token_count(value: Any) -> int:
    """Return a number of tokens; 0 where there is none."""
    return value if isinstance(value, int) and value > 0 else 0


def tool_function(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, description and parameters of a tool, however it is wrapped."""
    return dict(tool["function"]) if "function" in tool else dict(tool)


def split_system(prompt: Prompt) -> tuple[str, list[dict[str, str]]]:
    """Return the instructions of a prompt, and the messages without them, for vendors that want them apart."""
    system = [one["content"] for one in prompt.messages if one["role"] in ("system", "developer")]
    return "\n\n".join(system), [dict(one) for one in prompt.messages if one["role"] not in ("system", "developer")]
