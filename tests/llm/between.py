"""Stands between a gateway and a real model, passes every byte on as it comes, and keeps what the model was sent."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse

from benchmarks.quality.local_model import PATIENCE_SECONDS, Exchange, RealModel
from tests.server.upstream import served


@contextmanager
def watched(model: RealModel) -> Iterator[str]:
    """The address of a model whose questions are kept, streamed ones too."""
    app = FastAPI()

    @app.post("/v1/{path:path}")
    async def passed(request: Request, path: str) -> StreamingResponse:
        client, asked, began = httpx2.AsyncClient(timeout=PATIENCE_SECONDS), await request.json(), time.perf_counter()
        question = client.build_request("POST", f"{model.behind}/v1/{path}", json=asked)
        answer = await client.send(question, stream=True)
        pieces = _pieces(client, answer, model, asked, began)
        return StreamingResponse(pieces, answer.status_code, media_type=answer.headers["content-type"])

    with served(app) as url:
        yield url


async def _pieces(
    client: httpx2.AsyncClient, answer: httpx2.Response, model: RealModel, asked: Any, began: float
) -> AsyncIterator[bytes]:
    message = b""
    try:
        async for piece in answer.aiter_raw():
            message += piece
            yield piece
    finally:
        seconds = time.perf_counter() - began
        model.exchanges.append(Exchange(asked, answer.status_code, message.decode("utf-8", "replace"), seconds))
        await answer.aclose()
        await client.aclose()
