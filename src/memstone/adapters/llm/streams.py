"""Answers that came piece by piece, put together to what the same model says at once.

A stream that ends before its last word is no answer: ``BackendUnavailable``, so the question is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from memstone.errors import BackendUnavailable

Event: TypeAlias = dict[str, Any]
JoinEvents: TypeAlias = Callable[[Iterable[Event]], Event | None]
"""Makes one answer of the events of a stream; None when the last of them is missing."""

_NO_DATA: Final = ("event:", "id:", "retry:", ":")
_MARKS: Final = ("data:", *_NO_DATA)
ERROR_STATUS: Final = {"overloaded_error": 529, "rate_limit_error": 429, "timeout_error": 504}


class StreamError(Exception):
    """What a service reports in the middle of a stream, as the status and the body of an answer."""

    def __init__(self, error: Any) -> None:
        detail = error if isinstance(error, dict) else {"message": str(error)}
        code = detail.get("code")
        is_status = isinstance(code, int) and 400 <= code < 600  # noqa: PLR2004 - what says that something is wrong
        super().__init__(str(detail.get("message", "")))
        self.status: int = code if is_status else ERROR_STATUS.get(str(detail.get("type")), 500)  # type: ignore[assignment]
        self.body = json.dumps({"error": detail}).encode()


def join_stream(body: bytes, join: JoinEvents, source: str, *, has_marks: bool) -> bytes:
    """Return the whole body of a streamed answer; return others as they are.

    ``has_marks`` is whether the dialect marks its events, or has one on each line.
    """
    lines = [line.strip() for line in body.decode("utf-8", "replace").split("\n") if line.strip()]
    if has_marks and lines and not any(line.startswith(_MARKS) for line in lines):
        return body
    try:
        joined = join(_parse_events(lines))
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return body  # which is none of the dialect's, and is said so by whoever parses it
    if joined is None:
        raise BackendUnavailable(f"the response from {source} ended too early", kind="llm", name=source)
    return json.dumps(joined).encode()


def _parse_events(lines: Sequence[str]) -> Iterator[Event]:
    """Yield what stands behind ``data:``, or on the line where there is no such mark."""
    for line in lines:
        if line.startswith(_NO_DATA):
            continue
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            return
        try:
            event = json.loads(data)
        except ValueError:
            if line is lines[0]:
                raise  # no stream at all
            return  # a line that was cut
        if event.get("error"):
            raise StreamError(event["error"])
        yield event


def join_chat(chunks: Iterable[Event]) -> Event | None:
    """Join the chunks of OpenAI's dialect."""
    message: Event = {"role": "assistant", "content": ""}
    calls: dict[int, Event] = {}
    reason = usage = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            message["content"] += _content_text(delta.get("content"))
            if delta.get("refusal"):
                message["refusal"] = message.get("refusal", "") + delta["refusal"]
            for call in delta.get("tool_calls") or ():
                _extend_call(calls.setdefault(call.get("index", len(calls)), _new_call()), call)
            reason = choice.get("finish_reason") or reason
    if reason is None:
        return None
    if calls:
        message["tool_calls"] = [calls[at] for at in sorted(calls)]
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def _content_text(content: Any) -> str:
    """Return the text of a piece, which some servers cut into typed parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content or ""


def _new_call() -> Event:
    return {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}


def _extend_call(call: Event, piece: Event) -> None:
    function = piece.get("function") or {}
    call["id"] = piece.get("id") or call["id"]
    call["function"]["name"] += function.get("name") or ""
    arguments = function.get("arguments") or ""
    call["function"]["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)


def join_message(events: Iterable[Event]) -> Event | None:
    """Join the events of Anthropic's dialect."""
    message: Event | None = None
    blocks: dict[int, Event] = {}
    inputs: dict[int, str] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                _extend_block(blocks[event["index"]], inputs, event)
            case "message_delta" if message is not None:
                message |= event["delta"]
                message["usage"] = {**(message.get("usage") or {}), **(event.get("usage") or {})}
            case "message_stop" if message is not None:
                for at, text in inputs.items():
                    blocks[at]["input"] = json.loads(text or "{}")
                return {**message, "content": [blocks[at] for at in sorted(blocks)]}
    return None


def _extend_block(block: Event, inputs: dict[int, str], event: Event) -> None:
    delta = event["delta"]
    if delta["type"] == "text_delta":
        block["text"] = block.get("text", "") + delta["text"]
    elif delta["type"] == "input_json_delta":
        inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]


def join_content(events: Iterable[Event]) -> Event | None:
    """Join the events of Gemini's dialect, each of which is an answer of its own."""
    parts: list[Event] = []
    joined: Event = {}
    reason = None
    for event in events:
        joined |= {name: value for name, value in event.items() if name != "candidates"}
        for candidate in (event.get("candidates") or ())[:1]:
            parts += (candidate.get("content") or {}).get("parts") or []
            reason = candidate.get("finishReason") or reason
    if reason is None and not (joined.get("promptFeedback") or {}).get("blockReason"):
        return None
    return {**joined, "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}]}


def join_lines(events: Iterable[Event]) -> Event | None:
    """Join the lines of Ollama's dialect."""
    text = ""
    calls: list[Any] = []
    for event in events:
        message = event.get("message") or {}
        text += message.get("content") or ""
        calls += message.get("tool_calls") or []
        if event["done"]:
            return {**event, "message": {"role": "assistant", "content": text, "tool_calls": calls}}
    return None
