"""A loopback service that speaks the three dialects, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse

from tests.patience import LONG


@dataclass
class Turn:
    """What a model does: say something, call tools (each an id, a name and arguments), or both."""

    text: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)


class Upstream:
    """Answers with ``turns``, then always with ``reply``.

    ``seen`` are the requests, ``broken`` the statuses with which the next ones fail, ``open`` the streams under way.
    Without ``streams`` it answers at once, whatever it is asked for.
    With ``cut_after`` a stream breaks off after so many events, with ``stop_after`` it ends there as if that were all.
    With ``pace`` the next event of a stream is sent when somebody has released it.
    """

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reply = "Noted."
        self.turns: list[Turn] = []
        self.broken: list[int] = []
        self.delay = 0.0
        self.streams = True
        self.cut_after: int | None = None
        self.stop_after: int | None = None
        self.pace: threading.Semaphore | None = None
        self.open = 0
        self.app = FastAPI()
        self.app.post("/v1/chat/completions")(self._chat)
        self.app.post("/v1/messages")(self._messages)
        self.app.post("/v1/messages/count_tokens")(self._count)
        self.app.post("/v1/responses")(self._responses)
        self.app.post("/v1/embeddings")(self._embeddings)
        self.app.get("/v1/models")(self._models)

    async def _take(self, request: Request) -> tuple[dict[str, Any], Turn]:
        body: dict[str, Any] = await request.json()
        self.seen.append(body)
        self.headers.append(dict(request.headers))
        return body, self.turns.pop(0) if self.turns else Turn(self.reply)

    def _streamed(self, events: Iterator[str]) -> StreamingResponse:
        return StreamingResponse(self._pieces(events), media_type="text/event-stream")

    async def _chat(self, request: Request) -> Any:
        body, turn = await self._take(request)
        if self.broken:
            return JSONResponse({"error": {"message": "no"}}, self.broken.pop(0))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if body.get("stream") and self.streams:
            counted = usage if (body.get("stream_options") or {}).get("include_usage") else None
            return self._streamed(_chat_events(turn, counted))
        if self.cut_after is not None:
            return StreamingResponse(self._pieces(iter(['{"choices": '] * 9)), media_type="application/json")
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [_chat_call(call) for call in turn.calls]
        finish = "tool_calls" if turn.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        head = {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return {**head, "choices": [choice], "usage": usage}

    async def _messages(self, request: Request) -> Any:
        body, turn = await self._take(request)
        stop = "tool_use" if turn.calls else "end_turn"
        head = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": stop}
        usage = {"input_tokens": 1, "output_tokens": 1}
        full = {**head, "content": _blocks(turn), "stop_sequence": None, "usage": usage}
        return self._streamed(_message_events(full)) if body.get("stream") and self.streams else full

    async def _responses(self, request: Request) -> Any:
        body, turn = await self._take(request)
        number = 1 + len(self.turns)
        full = {
            "id": f"r{number}",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": _items(turn, number),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        }
        return self._streamed(_response_events(full)) if body.get("stream") else full

    async def _count(self, request: Request) -> Any:
        await self._take(request)
        return {"input_tokens": 7}

    async def _embeddings(self, request: Request) -> Any:
        body, _ = await self._take(request)
        data = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.5]}]
        return {
            "object": "list",
            "model": body["model"],
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }

    async def _models(self) -> Any:
        return {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "us"}]}

    async def _pieces(self, events: Iterator[str]) -> AsyncIterator[str]:
        self.open += 1
        try:
            for number, event in enumerate(events):
                if self.cut_after is not None and number >= self.cut_after:
                    raise ConnectionError
                if self.stop_after is not None and number >= self.stop_after:
                    return
                yield event
                if self.pace is not None:
                    assert await asyncio.to_thread(self.pace.acquire, timeout=LONG)
                await asyncio.sleep(self.delay)
        finally:
            self.open -= 1


def _chat_call(call: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    return {"id": call[0], "type": "function", "function": {"name": call[1], "arguments": json.dumps(call[2])}}


def _chat_events(turn: Turn, usage: dict[str, int] | None) -> Iterator[str]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[dict[str, Any]] = [{"content": word + " "} for word in turn.text.split(" ") if word]
    for number, call in enumerate(turn.calls):
        made = _chat_call(call)
        text = made["function"]["arguments"]
        begun = {**made, "index": number, "function": {"name": call[1], "arguments": ""}}
        halves = [{"index": number, "function": {"arguments": part}} for part in (text[:5], text[5:])]
        deltas += [{"tool_calls": [piece]} for piece in (begun, *halves)]
    for delta in deltas:
        yield f"data: {json.dumps({**head, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': None}]})}\n\n"
    reason = "tool_calls" if turn.calls else "stop"
    yield f"data: {json.dumps({**head, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': reason}]})}\n\n"
    if usage:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    spoken = [{"type": "text", "text": turn.text}] if turn.text else []
    return [*spoken, *({"type": "tool_use", "id": one[0], "name": one[1], "input": one[2]} for one in turn.calls)]


def _message_events(full: dict[str, Any]) -> Iterator[str]:
    yield _named({"type": "message_start", "message": {**full, "content": [], "stop_reason": None}})
    for index, block in enumerate(full["content"]):
        if block["type"] == "text":
            begun: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": word + " "} for word in block["text"].split(" ")]
        else:
            begun, text = {**block, "input": {}}, json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in (text[:5], text[5:])]
        yield _named({"type": "content_block_start", "index": index, "content_block": begun})
        for delta in deltas:
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
        yield _named({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": full["stop_reason"], "stop_sequence": None}
    yield _named({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}})
    yield _named({"type": "message_stop"})


def _items(turn: Turn, number: int) -> list[dict[str, Any]]:
    text = {"type": "output_text", "text": turn.text, "annotations": []}
    texts = {"type": "message", "id": f"i{number}", "role": "assistant", "status": "completed", "content": [text]}
    calls = [
        {"type": "function_call", "id": f"f-{call}", "call_id": call, "name": name, "arguments": json.dumps(values)}
        for call, name, values in turn.calls
    ]
    return [*([texts] if turn.text else []), *calls]


def _response_events(full: dict[str, Any]) -> Iterator[str]:
    begun = {**full, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(full["output"]):
        at = {"output_index": index}
        is_text = item["type"] == "message"
        events.append(
            {"type": "response.output_item.added", "item": {**item, "content": []} if is_text else item, **at}
        )
        if is_text:
            part, at_part = item["content"][0], {**at, "item_id": item["id"], "content_index": 0}
            events += [
                {"type": "response.content_part.added", "part": {**part, "text": ""}, **at_part},
                {"type": "response.output_text.delta", "delta": part["text"], **at_part},
                {"type": "response.output_text.done", "text": part["text"], **at_part},
                {"type": "response.content_part.done", "part": part, **at_part},
            ]
        events.append({"type": "response.output_item.done", "item": item, **at})
    events.append({"type": "response.completed", "response": full})
    for number, event in enumerate(events):
        yield _named({**event, "sequence_number": number})


def _named(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


class _PromptServer(uvicorn.Server):
    """Ends as soon as it is told to and nothing is under way; the original looks ten times a second, and then waits."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._over = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._over.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - as it is called
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - they are sets of others
            await asyncio.sleep(0.001)
        await self.lifespan.shutdown()

    def end(self) -> None:
        """May be called from any thread."""
        self._loop.call_soon_threadsafe(self._over.set)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """An application on a port of its own, in a thread; gives its address."""
    config = uvicorn.Config(app, port=0, log_level="critical", lifespan="on", timeout_keep_alive=int(LONG))
    server = _PromptServer(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.end()
        thread.join(120)
