"""The answer on its way back: byte for byte, at once, while memory listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final

import httpx2
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from retain.core.dialects.base import Heard, Said
from retain.errors import BackendUnavailable, RetainError
from retain.server.gateway.counts import CUT
from retain.server.gateway.hook import Exchange
from retain.server.gateway.rounds import Rounds
from retain.server.gateway.sse import Event, written
from retain.server.gateway.tasks import Tasks
from retain.server.observe import log

_OK: Final = 200


class Relayed(Response):
    """An answer in pieces. It ends with its last piece or with the caller, and leaves nothing running."""

    def __init__(self, pieces: AsyncGenerator[bytes], headers: Mapping[str, str]) -> None:
        self._pieces, self.status_code, self.background = pieces, _OK, None
        self.body_iterator = pieces
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the protocol's
        """Send the pieces until they end or nobody is there any more."""
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            leaving.cancel()
            ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._pieces.aclose()
        if isinstance(ended, Exception) and not isinstance(ended, OSError):  # a caller who is gone is no news
            log.error("gateway.stream.crashed", kind=type(ended).__name__, exc_info=ended)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    """Wait until the caller is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def whole(
    exchange: Exchange, rounds: Rounds, response: httpx2.Response, tasks: Tasks, headers: dict[str, str]
) -> Response:
    """An answer that comes in one piece."""
    try:
        response, changed = await rounds.whole(response)
        body = await response.aread()
    except httpx2.HTTPError as error:
        raise BackendUnavailable("the upstream ended its answer early", kind="upstream", name="") from error
    finally:
        await response.aclose()
    reply = changed or (_object(body) if response.status_code == _OK else None)
    if reply is None:
        return Response(body, response.status_code, headers)
    await exchange.formed(exchange.dialect.whole(reply).said, tasks)
    if _wants_memories(exchange):
        reply, changed = {**reply, "memories": exchange.memories()}, reply
    if changed is None:
        return Response(body, response.status_code, headers)
    return JSONResponse(reply, response.status_code, {k: v for k, v in headers.items() if k.lower() != "content-type"})


async def stream(exchange: Exchange, rounds: Rounds, response: httpx2.Response, tasks: Tasks) -> AsyncGenerator[bytes]:
    """An answer in pieces. Whoever ends it, what was said until then is kept."""
    heard, ended, by, told = Heard(), False, "caller", not _wants_memories(exchange)
    events = rounds.stream(response)
    try:
        async for event in events:
            _listen(exchange, heard, event)
            if not told and exchange.dialect.closes(event.name, event.data):
                told = True
                yield _written(exchange.dialect.shown(exchange.memories(), event.json() or {}))
            if exchange.dialect.ends(event.name, event.data):
                ended = True
                await exchange.formed(heard.said, tasks)
            yield event.raw
        by = "upstream"
        if not (ended or heard.finished):  # it closed its connection as if that were the end
            yield _broken(exchange, "no end")
    except (httpx2.HTTPError, RetainError) as error:
        by = "upstream"
        yield _broken(exchange, type(error).__name__)
    finally:
        await _closed(events)
        if not ended:  # the caller has gone, or the upstream has: nobody waits any more
            CUT.labels(by).inc()
            tasks.start(exchange.form(heard.said))


async def _closed(events: AsyncIterator[Event]) -> None:
    """Let go of the upstream."""
    if isinstance(events, AsyncGenerator):
        await events.aclose()


def _listen(exchange: Exchange, heard: Heard, event: Event) -> None:
    found = event.json()
    if found is not None:
        exchange.dialect.piece(heard, found)


def _broken(exchange: Exchange, how: str) -> bytes:
    """An upstream that stops in the middle: the client is told, not left to guess."""
    return _written(exchange.dialect.broken(f"the upstream ended its answer early ({how})"))


def _written(said: Said) -> bytes:
    name, holds = said
    return written(json.dumps(holds, ensure_ascii=False), name)


def _wants_memories(exchange: Exchange) -> bool:
    asked = "memories" in exchange.headers.get("x-retain-include", "")
    return (asked or "memories" in exchange.policy.inject.extras) and exchange.pack is not None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
