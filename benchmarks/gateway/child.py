"""One process of the measurement: the model service behind, or the gateway with a bare route beside its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from hashlib import sha256

import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from memstone.config import Settings
from memstone.server.app import create_app
from memstone.server.gateway.upstream import headers_for_caller
from memstone.server.process import serve_app

_WORDS = "This is what a model would say to that, in about a dozen words."


def upstream() -> FastAPI:
    """Build a model that answers at once, or one word at a time.

    It hands back what it was sent, and makes vectors, slowly if told to.
    """
    app, slow = FastAPI(), {"seconds": 0.0}

    @app.post("/slow")
    async def set_slow(request: Request) -> Response:
        slow.update(await request.json())
        return Response()

    @app.post("/v1/embeddings")
    async def embed(request: Request) -> Response:
        value = (await request.json())["input"]
        await asyncio.sleep(slow["seconds"])
        rows = [{"index": at, "embedding": _vector(text)} for at, text in enumerate(value)]
        return JSONResponse({"data": rows, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        body = await request.json()
        if body.get("stream"):
            seconds = float(body.get("temperature") or 0)
            return StreamingResponse(_pieces(seconds), media_type="text/event-stream")
        message = {"role": "assistant", "content": _WORDS}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        head = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"]}
        return JSONResponse({**head, "choices": [choice], "usage": usage, "sent": body["messages"]})

    return app


def _vector(text: str) -> list[float]:
    """Return a vector of the words of a text."""
    words = {int(sha256(word.strip(".?").encode()).hexdigest(), 16) % 256 for word in text.lower().split()}
    return [1.0 if at in words else 0.0 for at in range(256)]


async def _pieces(seconds: float) -> AsyncIterator[str]:
    for word in _WORDS.split():
        choice = {"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}
        yield f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
        await asyncio.sleep(seconds)
    yield "data: [DONE]\n\n"


def gateway(settings: Settings) -> FastAPI:
    """Return the service as it is, and a route of the same server that only passes a request on."""
    app = create_app(settings)

    @app.post("/bare/chat/completions")
    async def bare(request: Request, pause: float = 0.0) -> Response:
        if pause:  # to see what any wait costs those who have nothing to do meanwhile
            await asyncio.sleep(pause)
        state, body = request.app.state.memstone, json.loads(await request.body())
        targets = state.upstreams.targets(body["model"])
        async with state.upstreams.request_first(
            targets, "/chat/completions", lambda _: body, request.headers
        ) as answer:
            return Response(await answer.aread(), answer.status_code, headers_for_caller(answer))

    return app


def main() -> None:
    """Run ``child upstream PORT`` or ``child gateway PORT CONFIG``."""
    what, port = sys.argv[1], int(sys.argv[2])
    if what == "upstream":
        uvicorn.run(upstream(), port=port, log_level="critical", access_log=False)
        return
    settings = Settings.of(json.loads(sys.argv[3]))
    serve_app(gateway(settings), settings.server.model_copy(update={"port": port}))


if __name__ == "__main__":
    main()
