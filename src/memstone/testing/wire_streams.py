"""Answers of chat servers, cut into the events that their vendors stream.

Each function takes a whole answer as the vendor sends it. Texts come in pieces of three characters, so that words and
JSON are cut in the middle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from memstone.testing.wire import WireReply

_PIECE_CHARS: Final = 3


def stream_reply(events: Iterable[bytes], count: int | None = None, media_type: str = "text/event-stream") -> WireReply:
    """Return a stream of events, or of the first ``count``."""
    return WireReply(chunks=list(events)[:count], headers={"content-type": media_type})


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS))


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def chat_events(answer: dict[str, Any], *, with_usage: bool, with_whole_calls: bool = False) -> Iterator[bytes]:
    """Yield a completion in OpenAI's dialect, with its usage where it is wanted, and calls in pieces or not."""
    (choice,) = answer["choices"]
    head = {
        "id": answer["id"],
        "object": "chat.completion.chunk",
        "created": answer["created"],
        "model": answer["model"],
    }

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None})

    yield chunk({"role": "assistant", "content": ""})
    message = choice["message"]
    yield from (chunk({"content": piece}) for piece in _pieces(message["content"] or ""))
    for at, call in enumerate(message.get("tool_calls", ())):
        if with_whole_calls:
            yield chunk({"tool_calls": [{"index": at, **call}]})
            continue
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": function}]})
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if with_usage:
        yield _event({**head, "choices": [], "usage": answer["usage"]})
    yield b"data: [DONE]\n\n"


def message_events(answer: dict[str, Any]) -> Iterator[bytes]:
    """Yield a message in Anthropic's dialect."""
    usage = answer["usage"]
    begun = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event({"type": "message_start", "message": begun}, "message_start")
    yield _event({"type": "ping"}, "ping")
    for at, block in enumerate(answer["content"]):
        empty, deltas = _split_block(block)
        start = {"type": "content_block_start", "index": at, "content_block": empty}
        yield _event(start, "content_block_start")
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": at, "delta": delta}, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": at}, "content_block_stop")
    stop = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    counted = {"output_tokens": usage["output_tokens"]}
    yield _event({"type": "message_delta", "delta": stop, "usage": counted}, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _split_block(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, str]]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    if block["type"] == "tool_use":
        written = _pieces(json.dumps(block["input"]))
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in written]
    thought = {"type": "thinking_delta", "thinking": block["thinking"]}
    return {**block, "thinking": "", "signature": ""}, [
        thought,
        {"type": "signature_delta", "signature": block["signature"]},
    ]


def content_events(answer: dict[str, Any]) -> Iterator[bytes]:
    """Yield generated content in Gemini's dialect: its parts in answers of their own, the last of which says why."""
    (candidate,) = answer["candidates"]
    parts = [piece for part in candidate["content"]["parts"] for piece in _split_part(part)] or [{"text": ""}]
    for at, part in enumerate(parts, start=1):
        event: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
        if at == len(parts):
            event["finishReason"] = candidate["finishReason"]
        yield _event({**answer, "candidates": [event]})


def _split_part(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**part, "text": piece} for piece in _pieces(part["text"])] if "text" in part else [part]


def line_events(answer: dict[str, Any]) -> Iterator[bytes]:
    """Yield a message in Ollama's dialect: a line for each piece, the last of which counts."""
    message = answer["message"]
    head = {"model": answer["model"], "created_at": answer["created_at"]}
    said: list[dict[str, Any]] = [{"content": piece} for piece in _pieces(message["content"])]
    called = [{"content": "", "tool_calls": [call]} for call in message.get("tool_calls", ())]
    for piece in (*said, *called):
        yield _line({**head, "message": {"role": "assistant", **piece}, "done": False})
    yield _line({**answer, "message": {"role": "assistant", "content": ""}})


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"
