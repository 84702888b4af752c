"""A chat server for ``WireServer``, as OpenAI documents it; the official client accepts it.

It checks what it is sent as the real one does: the key, the roles, tools, response formats and strict schemas::

    chat = FakeChat('{"facts": []}')
    with WireServer(chat) as server:
        ...                                   # talk to server.url + "/v1"
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final

from memstone.testing.wire import WireReply, WireRequest
from memstone.testing.wire_models import KEY

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_MAX_NAME_CHARS: Final = 64
_NUMBERS: Final = itertools.count(1)


def completion(
    content: str | None,
    *,
    model: str = "gpt-4o-mini",
    finish_reason: str = "stop",
    refusal: str | None = None,
    tool_calls: Sequence[tuple[str, str]] = (),
    usage: tuple[int, int] = (11, 7),
) -> WireReply:
    """One answer; ``tool_calls`` are names with their arguments as JSON text, ``usage`` tokens read and written."""
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
    if tool_calls:
        message["tool_calls"] = [_call(name, arguments) for name, arguments in tool_calls]
    counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
    return WireReply(
        json={
            "id": f"chatcmpl-{next(_NUMBERS)}",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": model,
            "choices": [choice],
            "usage": counted,
        }
    )


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{next(_NUMBERS)}", "type": "function", "function": {"name": name, "arguments": arguments}}


def wrong_request(message: str, param: str | None = None, code: str | None = None) -> WireReply:
    """A 400 in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return WireReply(400, json={"error": error})


class FakeChat:
    """Answers with the given texts or replies in order, then with the last one for ever.

    ``refuses`` names the response formats this server does not have; ``reasoning`` makes it refuse the parameters that
    reasoning models refuse.
    """

    def __init__(
        self, *answers: str | WireReply, refuses: Iterable[str] = (), reasoning: bool = False, key: str = KEY
    ) -> None:
        self._answers = list(answers or ("ok",))
        self._refuses = frozenset(refuses)
        self._reasoning = reasoning
        self._key = key

    def __call__(self, request: WireRequest) -> WireReply:
        """Check a request and answer it."""
        if request.headers.get("authorization") != f"Bearer {self._key}":
            return WireReply(401, json={"error": {"message": "Incorrect API key", "code": "invalid_api_key"}})
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            return WireReply(404, json={"error": {"message": "no such route"}})
        asked = request.json
        return self._wrong(asked) or self._next(asked)

    def _next(self, asked: dict[str, Any]) -> WireReply:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return completion(answer, model=asked["model"]) if isinstance(answer, str) else answer

    def _wrong(self, asked: dict[str, Any]) -> WireReply | None:
        return (
            _wrong_messages(asked.get("messages"))
            or self._wrong_parameters(asked)
            or self._wrong_format(asked)
            or _wrong_tools(asked.get("tools", ()))
        )

    def _wrong_parameters(self, asked: dict[str, Any]) -> WireReply | None:
        if not isinstance(asked.get("model"), str):
            return wrong_request("you must provide a model parameter", "model")
        if self._reasoning and "max_tokens" in asked:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model."
            return wrong_request(f"{said} Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter")
        if self._reasoning and asked.get("temperature", 1) != 1:
            return wrong_request("'temperature' does not support this value", "temperature", "unsupported_value")
        return None

    def _wrong_format(self, asked: dict[str, Any]) -> WireReply | None:
        response_format = asked.get("response_format", {"type": "text"})
        kind = response_format["type"]
        if kind in self._refuses:
            return wrong_request(f"'response_format' of type '{kind}' is not supported with this model", None)
        if kind == "json_object" and "json" not in str(asked["messages"]).lower():
            return wrong_request(
                "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'"
            )
        if kind == "json_schema":
            return _wrong_schema(response_format["json_schema"])
        return None


def _wrong_messages(messages: Any) -> WireReply | None:
    if not isinstance(messages, list) or not messages:
        return wrong_request("'messages' must not be empty", "messages")
    for at, message in enumerate(messages):
        if message.get("role") not in _ROLES or not isinstance(message.get("content"), str):
            return wrong_request(f"messages[{at}] is invalid", "messages")
    return None


def _wrong_tools(tools: Any) -> WireReply | None:
    for at, tool in enumerate(tools):
        if tool.get("type") != "function" or not tool.get("function", {}).get("name"):
            return wrong_request(f"tools[{at}] is invalid", "tools")
    return None


def _wrong_schema(given: dict[str, Any]) -> WireReply | None:
    name, schema = given.get("name", ""), given.get("schema", {})
    if not name.replace("-", "_").isidentifier() or len(name) > _MAX_NAME_CHARS:
        return wrong_request("'response_format.json_schema.name' is invalid", "response_format")
    if given.get("strict") and (schema.get("type") != "object" or not _is_strict(schema)):
        return wrong_request(f"Invalid schema for response_format '{name}': not strict", "response_format")
    return None


def _is_strict(schema: Any) -> bool:
    """Every object names all its properties as required and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(schema.get("properties", ())):
            return False
    return all(map(_is_strict, schema.values()))
