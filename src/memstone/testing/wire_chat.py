"""Fake chat servers in the dialects of several vendors.

Each checks what it is sent and is accepted by the vendor's own client. What they say is the same in every dialect::

    with WireServer(FakeAnthropic(WireAnswer("Hi."))) as server: ...
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from memstone.testing.wire import KEY, FakeChat, WireReply, WireRequest, completion_reply, wrong_request
from memstone.testing.wire_streams import chat_events, content_events, line_events, message_events, stream_reply

MODEL: Final = "model-1"
"""The model that these servers have."""


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """What a model says: a text, calls of tools, why it stopped, and how many tokens it has read and written."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    stop: Literal["end", "cut", "refused"] = "end"
    usage: tuple[int, int] = (11, 7)


Answer: TypeAlias = WireAnswer | WireReply
Refusal: TypeAlias = tuple[int, str]


class ChatFake(ABC):
    """Answers in order, then with the last answer for ever.

    ``refuses`` names fields of a request that this server does not know, wherever they stand. With ``events`` a stream
    ends after so many of them, as if that were all.
    """

    fields: frozenset[str]
    """What may be in a request."""

    def __init__(
        self, *answers: Answer, refuses: Iterable[str] = (), key: str = KEY, events: int | None = None
    ) -> None:
        self._events = events
        self._answers = list(answers or (WireAnswer("ok"),))
        self._refuses = tuple(refuses)
        self._key = key

    def __call__(self, request: WireRequest) -> WireReply:
        """Check a request and answer it."""
        refused = self._refusal(request)
        if refused is not None:
            return self.refuse(*refused)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, WireReply):
            return answer
        reply = self.reply(answer, request.json)
        return self.stream(reply.json) if self.is_stream(request) else reply

    def _refusal(self, request: WireRequest) -> Refusal | None:
        if not self.has_key(request):
            return 401, "invalid key"
        if request.method != "POST" or not self.has_path(request):
            return 404, "no such route"
        asked = request.json
        unknown = sorted(asked.keys() - self.fields)
        if unknown:
            return 400, f"{unknown[0]}: Extra inputs are not permitted"
        if self.model_of(request) != MODEL:
            return 404, f"model {self.model_of(request)!r} not found"
        refused = next((name for name in self._refuses if f'"{name}"' in request.body.decode()), None)
        return (400, f"{refused} is not supported by this model") if refused else self.check(asked, request)

    def has_key(self, request: WireRequest) -> bool:
        """Return whether the key is the right one."""
        return request.headers.get("authorization") == f"Bearer {self._key}"

    def model_of(self, request: WireRequest) -> str:
        """Return which model is asked."""
        model: str = request.json.get("model", "")
        return model

    def is_stream(self, request: WireRequest) -> bool:
        """Return whether the answer is wanted in pieces."""
        return request.json.get("stream") is True

    @abstractmethod
    def stream(self, answer: dict[str, Any]) -> WireReply:
        """Return an answer in pieces."""

    @abstractmethod
    def has_path(self, request: WireRequest) -> bool:
        """Return whether this is the route for chats."""

    @abstractmethod
    def check(self, asked: dict[str, Any], request: WireRequest) -> Refusal | None:
        """Return what is wrong with a request, if anything is."""

    @abstractmethod
    def refuse(self, status: int, message: str) -> WireReply:
        """Return an error in the vendor's form."""

    @abstractmethod
    def reply(self, answer: WireAnswer, asked: dict[str, Any]) -> WireReply:
        """Return an answer in the vendor's form."""


class FakeCompatible(FakeChat):
    """OpenAI's dialect, at any path; with one model, and for what ``WireAnswer`` says."""

    is_mistral = False
    """Whether a stream ends with its usage without being asked, and has a call of a tool in one piece."""

    def __init__(
        self,
        *answers: Answer,
        path: str = "/v1/chat/completions",
        refuses: Iterable[str] = (),
        events: int | None = None,
    ) -> None:
        self._events = events
        self._counts = "stream_options" not in refuses
        replies = [one if isinstance(one, WireReply) else _as_completion(one) for one in answers]
        super().__init__(*replies, path=path, refuses=refuses, models=(MODEL,))

    def __call__(self, request: WireRequest) -> WireReply:
        """Check a request and answer it, in pieces where they are wanted."""
        reply = super().__call__(request)
        if reply.json is None or "choices" not in reply.json or request.json.get("stream") is not True:
            return reply
        options = request.json.get("stream_options")
        if options and not self._counts:
            return wrong_request("Unknown parameter: 'stream_options'", "stream_options")
        counted = self.is_mistral or bool(options and options.get("include_usage"))
        events = chat_events(reply.json, with_usage=counted, with_whole_calls=self.is_mistral)
        return stream_reply(events, self._events)


class FakeMistral(FakeCompatible):
    """The same as Mistral has it, whose streams are a little different."""

    is_mistral = True


class FakeAzure(FakeCompatible):
    """The same in a deployment of Azure OpenAI, which takes the key in a header of its own."""

    def __init__(self, *answers: Answer, refuses: Iterable[str] = (), events: int | None = None) -> None:
        path = f"/openai/deployments/{MODEL}/chat/completions?api-version=2024-10-21"
        super().__init__(*answers, path=path, refuses=refuses, events=events)

    def _has_key(self, request: WireRequest) -> bool:
        return request.headers.get("api-key") == self._key and "authorization" not in request.headers


def _as_completion(answer: WireAnswer) -> WireReply:
    reasons = {"end": "tool_calls" if answer.calls else "stop", "cut": "length", "refused": "content_filter"}
    calls = [(name, json.dumps(arguments)) for name, arguments in answer.calls]
    return completion_reply(
        answer.text or None, model=MODEL, finish_reason=reasons[answer.stop], tool_calls=calls, usage=answer.usage
    )


class FakeAnthropic(ChatFake):
    """``POST /v1/messages``."""

    fields = frozenset(
        "model messages max_tokens system temperature tools tool_choice output_config stream metadata".split()
    )

    def has_key(self, request: WireRequest) -> bool:
        bearer = request.headers.get("authorization") == f"Bearer {self._key}"
        return bearer or request.headers.get("x-api-key") == self._key

    def has_path(self, request: WireRequest) -> bool:
        return request.path == "/v1/messages"

    def check(self, asked: dict[str, Any], request: WireRequest) -> Refusal | None:
        version = request.headers.get("anthropic-version")
        if version not in ("2023-06-01", "2026-10-21"):
            return 400, "anthropic-version: header is required"
        if version == "2026-10-21" and "temperature" in asked:
            return 400, "temperature: Extra inputs are not permitted"
        if not isinstance(asked.get("max_tokens"), int):
            return 400, "max_tokens: Field required"
        if not asked.get("messages") or any(one["role"] not in ("user", "assistant") for one in asked["messages"]):
            return 400, "messages: Input should be 'user' or 'assistant'"
        wanted = asked.get("output_config", {}).get("format")
        if wanted is not None and not (wanted["type"] == "json_schema" and _is_closed(wanted["schema"])):
            return 400, "output_config.format.schema: For 'object' type, 'additionalProperties' must be set to false"
        tools = [tool for tool in asked.get("tools", ()) if tool.get("input_schema", {}).get("type") != "object"]
        return (400, "tools.0.input_schema: Field required") if tools else None

    def stream(self, answer: dict[str, Any]) -> WireReply:
        return stream_reply(message_events(answer), self._events)

    def refuse(self, status: int, message: str) -> WireReply:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
        error = {"type": kinds[status], "message": message}
        return WireReply(status, json={"type": "error", "error": error, "request_id": "req_1"})

    def reply(self, answer: WireAnswer, asked: dict[str, Any]) -> WireReply:
        choice = asked.get("tool_choice", {})
        content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]
        if choice.get("type") == "tool":
            used = [(choice["name"], json.loads(answer.text))]
        else:
            used = list(answer.calls)
            content += [{"type": "text", "text": answer.text}] if answer.text else []
        content += [{"type": "tool_use", "id": f"toolu_{at}", "name": n, "input": i} for at, (n, i) in enumerate(used)]
        stops = {"end": "tool_use" if used else "end_turn", "cut": "max_tokens", "refused": "refusal"}
        return WireReply(
            json={
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": asked["model"],
                "content": content,
                "stop_reason": stops[answer.stop],
                "stop_sequence": None,
                "usage": {
                    "input_tokens": answer.usage[0] - 1,
                    "cache_read_input_tokens": 1,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": answer.usage[1],
                },
            }
        )


def _is_closed(schema: Any) -> bool:
    """Return whether every object in a schema allows no other properties."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return not is_open and all(map(_is_closed, schema.values()))


class FakeGemini(ChatFake):
    """``POST /{version}/models/{model}:generateContent``, or ``:streamGenerateContent``; 400 for a wrong key."""

    fields = frozenset("contents systemInstruction tools toolConfig generationConfig safetySettings".split())
    _TYPES: Final = frozenset("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT".split())
    _SCHEMA: Final = frozenset(
        "type format title description nullable enum items properties required propertyOrdering anyOf minItems "
        "maxItems minLength maxLength minimum maximum pattern additional_properties property_ordering".split()
    )

    def has_key(self, request: WireRequest) -> bool:
        return request.headers.get("x-goog-api-key") == self._key

    def has_path(self, request: WireRequest) -> bool:
        calls = (":generateContent", ":streamGenerateContent?alt=sse")
        return request.path.startswith(("/v1beta/models/", "/v1/models/")) and request.path.endswith(calls)

    def model_of(self, request: WireRequest) -> str:
        return request.path.rpartition("/")[2].partition(":")[0]

    def check(self, asked: dict[str, Any], request: WireRequest) -> Refusal | None:  # noqa: ARG002 - see the base
        if not asked.get("contents") or any(one["role"] not in ("user", "model") for one in asked["contents"]):
            return 400, "Please use a valid role: user, model."
        settings = asked.get("generationConfig", {})
        schema = settings.get("responseSchema")
        if schema is not None and settings.get("responseMimeType") != "application/json":
            return 400, "response_schema needs the response_mime_type application/json"
        declared = [one for tool in asked.get("tools", ()) for one in tool["functionDeclarations"]]
        schemas = [one["parameters"] for one in declared if "parameters" in one] + ([schema] if schema else [])
        wrong = next((name for one in schemas for name in self._wrong_names(one)), None)
        return (400, f"Invalid JSON payload received. Unknown name {wrong!r} at 'response_schema'") if wrong else None

    def _wrong_names(self, schema: Mapping[str, Any]) -> Iterable[str]:
        yield from sorted(schema.keys() - self._SCHEMA)
        if "type" in schema and schema["type"] not in self._TYPES:
            yield str(schema["type"])
        items = [schema["items"]] if "items" in schema else []
        for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *items):
            yield from self._wrong_names(inner)

    def is_stream(self, request: WireRequest) -> bool:
        return ":streamGenerateContent" in request.path

    def stream(self, answer: dict[str, Any]) -> WireReply:
        return stream_reply(content_events(answer), self._events)

    def refuse(self, status: int, message: str) -> WireReply:
        if status == 401:  # noqa: PLR2004 - what others answer
            detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            problem = "API key not valid. Please pass a valid API key."
            error = {"code": 400, "message": problem, "status": "INVALID_ARGUMENT", "details": [detail]}
            return WireReply(400, json={"error": error})
        names = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND"}
        return WireReply(status, json={"error": {"code": status, "message": message, "status": names[status]}})

    def reply(self, answer: WireAnswer, asked: dict[str, Any]) -> WireReply:  # noqa: ARG002 - see the base
        parts: list[dict[str, Any]] = [{"text": "Hm.", "thought": True}]
        parts += [{"text": answer.text}] if answer.text else []
        parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in answer.calls]
        stops = {"end": "STOP", "cut": "MAX_TOKENS", "refused": "SAFETY"}
        candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": stops[answer.stop], "index": 0}
        read, written = answer.usage
        usage = {"promptTokenCount": read, "candidatesTokenCount": written - 2, "thoughtsTokenCount": 2}
        counted = {**usage, "totalTokenCount": read + written}
        return WireReply(json={"candidates": [candidate], "usageMetadata": counted, "modelVersion": MODEL})


class FakeOllama(ChatFake):
    """``POST /api/chat`` of a server that has one model; with a key, as its cloud has it."""

    fields = frozenset("model messages stream format options tools keep_alive think".split())

    def has_path(self, request: WireRequest) -> bool:
        return request.path == "/api/chat"

    def check(self, asked: dict[str, Any], request: WireRequest) -> Refusal | None:  # noqa: ARG002 - see the base
        wanted = asked.get("format")
        if wanted is not None and wanted != "json" and not isinstance(wanted, dict):
            return 400, 'invalid format: expected "json" or a JSON schema'
        wrong = [tool for tool in asked.get("tools") or () if tool.get("type") != "function"]
        return (400, "invalid tool") if wrong else None

    def stream(self, answer: dict[str, Any]) -> WireReply:
        return stream_reply(line_events(answer), self._events, "application/x-ndjson")

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"error": message})

    def reply(self, answer: WireAnswer, asked: dict[str, Any]) -> WireReply:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.calls:
            calls = [{"function": {"name": name, "arguments": arguments}} for name, arguments in answer.calls]
            message["tool_calls"] = calls
        return WireReply(
            json={
                "model": asked["model"],
                "created_at": "2026-01-01T00:00:00Z",
                "message": message,
                "done": True,
                "done_reason": "length" if answer.stop == "cut" else "stop",
                "prompt_eval_count": answer.usage[0],
                "eval_count": answer.usage[1],
            }
        )
