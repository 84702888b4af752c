"""The answer on its way back: byte for byte, at once, while memory listens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
from starlette.responses import JSONResponse, Response

from retain.core.dialects.base import Heard
from retain.server.gateway.hook import Exchange
from retain.server.gateway.sse import Event, Events, written
from retain.server.gateway.tasks import Tasks

_OK: Final = 200


async def whole(exchange: Exchange, response: httpx2.Response, tasks: Tasks, headers: dict[str, str]) -> Response:
    """An answer that comes in one piece."""
    body = await response.aread()
    if response.status_code != _OK:
        return Response(body, response.status_code, headers)
    reply = _object(body)
    if reply is None:
        return Response(body, response.status_code, headers)
    await formed(exchange, exchange.dialect.whole(reply).said, tasks)
    if not _wants_memories(exchange):
        return Response(body, response.status_code, headers)
    headers.pop("content-type", None)
    return JSONResponse({**reply, "memories": exchange.memories()}, response.status_code, headers)


async def stream(exchange: Exchange, response: httpx2.Response, tasks: Tasks) -> AsyncIterator[bytes]:
    """An answer in pieces. Whoever ends it, what was said until then is kept."""
    heard, events, kept = Heard(), Events(), False
    try:
        async for piece in response.aiter_raw():
            for event in events.feed(piece):
                if exchange.dialect.ends(event.name, event.data):
                    kept = True
                    _listen(exchange, heard, event)
                    await formed(exchange, heard.said, tasks)
                    for extra in _extra(exchange):
                        yield extra
                else:
                    _listen(exchange, heard, event)
                yield event.raw
        if events.rest:
            yield events.rest
    except httpx2.HTTPError as error:
        yield _broken(exchange, error)
    finally:
        if not kept and heard.said:  # the client has gone, or the upstream has: nobody waits any more
            tasks.start(exchange.form(heard.said))


async def formed(exchange: Exchange, answer: str, tasks: Tasks) -> None:
    """Put down what was said before the answer ends, where that is quick; learning itself comes later."""
    if exchange.waits_to_form:
        await exchange.form(answer)
    else:
        tasks.start(exchange.form(answer))


def _listen(exchange: Exchange, heard: Heard, event: Event) -> None:
    found = event.json()
    if found is not None:
        exchange.dialect.piece(heard, found)


def _extra(exchange: Exchange) -> list[bytes]:
    """A chunk of our own before the end, for those who want to see what was shown."""
    if not _wants_memories(exchange) or exchange.dialect.path != "/chat/completions":
        return []
    chunk = {"id": "retain", "object": "chat.completion.chunk", "choices": [], "memories": exchange.memories()}
    return [written(json.dumps(chunk, ensure_ascii=False))]


def _broken(exchange: Exchange, error: httpx2.HTTPError) -> bytes:
    """An upstream that stops in the middle: the client is told, not left to guess."""
    message = f"the upstream ended its answer early ({type(error).__name__})"
    if exchange.dialect.path == "/messages":
        return written(json.dumps({"type": "error", "error": {"type": "api_error", "message": message}}), "error")
    return written(json.dumps({"error": {"message": message, "type": "upstream_error", "code": "upstream_cut"}}))


def _wants_memories(exchange: Exchange) -> bool:
    asked = "memories" in exchange.headers.get("x-retain-include", "")
    return (asked or "memories" in exchange.policy.inject.extras) and exchange.pack is not None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
