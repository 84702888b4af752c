"""The answer on its way back: byte for byte, at once, while memory listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import httpx2
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memstone.core.dialects.base import Heard, Said
from memstone.errors import BackendUnavailable, MemstoneError
from memstone.server.gateway.chat import Exchange, Tasks
from memstone.server.gateway.counts import CUT
from memstone.server.gateway.rounds import Refused, Rounds
from memstone.server.gateway.sse import Event, encode_event
from memstone.server.gateway.upstream import headers_for_caller
from memstone.server.observe import log

# --- the answer on its way back ---------------------------------------------------------------------------------------


_OK: Final = 200

About: TypeAlias = Callable[[Exchange], dict[str, str]]
"""What headers say about a chat, once it is known: a service may refuse in a later round what memory has added."""


class Relayed(Response):
    """An answer in pieces. It ends with its last piece or with the caller, and leaves nothing running."""

    def __init__(
        self, pieces: AsyncGenerator[bytes], response: httpx2.Response, headers: Mapping[str, str], first: bytes = b""
    ) -> None:
        self._pieces, self._first, self.status_code, self.background = pieces, first, _OK, None
        self._response = response
        self.body_iterator = pieces
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the protocol's
        """Send the pieces until they end or nobody is there any more."""
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            leaving.cancel()
            ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._pieces.aclose()
            await self._response.aclose()  # what has not begun does not end what it reads from
        if isinstance(ended, Exception) and not isinstance(ended, OSError):  # a caller who is gone is no news
            log.error("gateway.stream.crashed", kind=type(ended).__name__, exc_info=ended)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._first:
            await send({"type": "http.response.body", "body": self._first, "more_body": True})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the caller is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def relay_full_answer(
    exchange: Exchange, rounds: Rounds, response: httpx2.Response, tasks: Tasks, about: About
) -> Response:
    """An answer that comes in one piece."""
    try:
        response, changed = await rounds.whole(response)
        body = await response.aread()
    except httpx2.HTTPError as error:
        raise BackendUnavailable("the upstream ended its response early", kind="upstream", name="") from error
    finally:
        await response.aclose()
    headers = {**headers_for_caller(response), **about(exchange)}
    reply = changed or (_parse_object(body) if response.status_code == _OK else None)
    if reply is None:
        return Response(body, response.status_code, headers)
    heard = _read_reply(exchange, reply)
    exchange.held(heard.id)
    await exchange.formed(heard.said, tasks)
    if _wants_memories(exchange):
        reply, changed = {**reply, "memories": exchange.memories()}, reply
    # in ASCII, in which everything can be written that could be read: half a character, and what is no number
    return Response(body if changed is None else json.dumps(reply), response.status_code, headers)


async def relay_stream(
    exchange: Exchange, rounds: Rounds, response: httpx2.Response, tasks: Tasks, about: About
) -> Response:
    """An answer in pieces. While a model may search first, it has not begun, and may still be refused as a whole."""
    pieces, first = stream_answer(exchange, rounds, response, tasks), b""
    if exchange.tool is not None:
        try:
            first = await anext(pieces, b"")
        except Refused as refused:
            return Response(refused.body, refused.status, {**refused.headers, **about(exchange)})
    return Relayed(pieces, response, {**headers_for_caller(response), **about(exchange)}, first)


async def stream_answer(
    exchange: Exchange, rounds: Rounds, response: httpx2.Response, tasks: Tasks
) -> AsyncGenerator[bytes]:
    """The pieces of an answer. Whoever ends it, what was said until then is kept."""
    hearing, told = _Hearing(exchange, tasks), not _wants_memories(exchange)
    events, begun = rounds.stream(response), False
    try:
        async for event in events:
            begun, found = True, event.json() or {}
            name = event.name or str(found.get("type") or "")  # some leave it to the data
            _read_piece(exchange, hearing.heard, found)
            if not told and exchange.dialect.closes(name, event.data):
                told = True
                yield _encode_dialect_event(exchange.dialect.shown(exchange.memories(), found))
            if exchange.dialect.ends(name, event.data):
                await hearing.keep()
            yield event.raw
        if not hearing.kept and not hearing.heard.finished:  # it closed its connection as if that were the end
            await hearing.keep(cut_by="upstream")
            yield _format_interruption(exchange, "no end")
        elif not told:  # nor did it say where it ends
            yield _encode_dialect_event(exchange.dialect.shown(exchange.memories(), {}))
        await hearing.keep()
    except Refused as refused:
        if not begun:
            hearing.kept = True  # there is nothing to keep
            raise
        await hearing.keep(cut_by="upstream")
        yield _encode_dialect_event(exchange.dialect.broken(str(refused), refused.error))
    except (httpx2.HTTPError, MemstoneError) as error:
        await hearing.keep(cut_by="upstream")
        yield _format_interruption(exchange, type(error).__name__)
    finally:
        await _close_events(events)
        hearing.left()


@dataclass(slots=True)
class _Hearing:
    """What is said in a stream; it is kept once, and before anybody is told that it has ended."""

    exchange: Exchange
    tasks: Tasks
    heard: Heard = field(default_factory=Heard)
    kept: bool = False

    async def keep(self, cut_by: str = "") -> None:
        """Keep it, unless it is kept."""
        if self.kept:
            return
        self.kept = True
        if cut_by:
            CUT.labels(cut_by).inc()
        self.exchange.held(self.heard.id)
        await self.exchange.formed(self.heard.said, self.tasks)

    def left(self) -> None:
        """The stream is over: if nothing was kept the caller has gone, and nobody waits any more."""
        if not self.kept:
            self.kept = True
            CUT.labels("caller").inc()
            self.exchange.note_use(self.heard.said)
            self.tasks.start(self.exchange.form(self.heard.said))


async def _close_events(events: AsyncIterator[Event]) -> None:
    """Let go of the upstream."""
    if isinstance(events, AsyncGenerator):
        await events.aclose()


def _read_piece(exchange: Exchange, heard: Heard, found: dict[str, Any]) -> None:
    try:
        exchange.dialect.piece(heard, found)
    except Exception as error:  # noqa: BLE001 - what is not understood here is the caller's
        exchange.unread(error)


def _read_reply(exchange: Exchange, reply: dict[str, Any]) -> Heard:
    try:
        return exchange.dialect.whole(reply)
    except Exception as error:  # noqa: BLE001 - what is not understood here is the caller's
        exchange.unread(error)
        return Heard()


def _format_interruption(exchange: Exchange, how: str) -> bytes:
    """An upstream that stops in the middle: the client is told, not left to guess."""
    return _encode_dialect_event(exchange.dialect.broken(f"the upstream ended its response early ({how})", {}))


def _encode_dialect_event(said: Said) -> bytes:
    name, holds = said
    return encode_event(json.dumps(holds), name)


def _wants_memories(exchange: Exchange) -> bool:
    asked = "memories" in exchange.headers.get("x-memstone-include", "")
    return (asked or "memories" in exchange.policy.inject.extras) and exchange.pack is not None


def _parse_object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# --- whether somebody still waits for an answer -----------------------------------------------------------------------


# The number that proxies log for it. Nobody is there to see it.
_LEFT: Final = 499


async def while_there(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """Do some work for a caller whose request has been read. If they leave before it is done, it ends there."""
    stay = asyncio.timeout(None)
    try:
        async with stay:
            leaving = asyncio.ensure_future(_cancel_on_disconnect(request, stay))
            try:
                return await work
            finally:  # nothing is waited for from here on: an answer that is there is handed over, or it stays open
                leaving.cancel()
    except TimeoutError:
        if not stay.expired():
            raise
        return Response(status_code=_LEFT)


async def _cancel_on_disconnect(request: Request, stay: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stay.reschedule(asyncio.get_running_loop().time())
