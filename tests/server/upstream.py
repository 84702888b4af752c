"""A loopback service that speaks the three dialects, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse


class Upstream:
    """Answers with ``reply``; ``seen`` are the requests, ``broken`` how many of the next ones fail with that status."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reply = "Noted."
        self.broken: list[int] = []
        self.delay = 0.0
        self.cut_after: int | None = None
        self.app = FastAPI()
        self.app.post("/v1/chat/completions")(self._chat)
        self.app.post("/v1/messages")(self._messages)
        self.app.post("/v1/responses")(self._responses)
        self.app.post("/v1/embeddings")(self._embeddings)
        self.app.get("/v1/models")(self._models)

    async def _take(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = await request.json()
        self.seen.append(body)
        self.headers.append(dict(request.headers))
        return body

    async def _chat(self, request: Request) -> Any:
        body = await self._take(request)
        if self.broken:
            return JSONResponse({"error": {"message": "no"}}, self.broken.pop(0))
        if body.get("stream"):
            return StreamingResponse(self._pieces(self._chat_events()), media_type="text/event-stream")
        message = {"role": "assistant", "content": self.reply}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return {**head, "choices": [choice], "usage": usage}

    def _chat_events(self) -> Iterator[str]:
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        for word in self.reply.split(" "):
            choice = {"index": 0, "delta": {"content": word + " "}, "finish_reason": None}
            yield f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"
        last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        yield f"data: {json.dumps(last)}\n\n"
        yield "data: [DONE]\n\n"

    async def _messages(self, request: Request) -> Any:
        body = await self._take(request)
        head = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn"}
        usage = {"input_tokens": 1, "output_tokens": 1}
        whole = {**head, "content": [{"type": "text", "text": self.reply}], "stop_sequence": None, "usage": usage}
        if body.get("stream"):
            return StreamingResponse(self._pieces(self._message_events(whole)), media_type="text/event-stream")
        return whole

    def _message_events(self, whole: dict[str, Any]) -> Iterator[str]:
        yield _named({"type": "message_start", "message": {**whole, "content": []}})
        yield _named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for word in self.reply.split(" "):
            delta = {"type": "text_delta", "text": word + " "}
            yield _named({"type": "content_block_delta", "index": 0, "delta": delta})
        yield _named({"type": "content_block_stop", "index": 0})
        yield _named({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}})
        yield _named({"type": "message_stop"})

    async def _responses(self, request: Request) -> Any:
        body = await self._take(request)
        text = {"type": "output_text", "text": self.reply, "annotations": []}
        item = {"type": "message", "id": "i1", "role": "assistant", "status": "completed", "content": [text]}
        whole = {
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": [item],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        if not body.get("stream"):
            return whole
        delta = {"type": "response.output_text.delta", "item_id": "i1", "output_index": 0, "content_index": 0}
        events = [
            {**delta, "delta": self.reply, "sequence_number": 1},
            {"type": "response.completed", "response": whole, "sequence_number": 2},
        ]
        return StreamingResponse(self._pieces(map(_named, events)), media_type="text/event-stream")

    async def _embeddings(self, request: Request) -> Any:
        body = await self._take(request)
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
        for number, event in enumerate(events):
            if self.cut_after is not None and number >= self.cut_after:
                raise ConnectionError
            yield event
            await asyncio.sleep(self.delay)


def _named(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


@contextmanager
def served(app: Any) -> Iterator[str]:
    """An application on a port of its own, in a thread; gives its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
