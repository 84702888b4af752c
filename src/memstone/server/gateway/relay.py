"""Pass an answer on byte for byte, while memory reads it."""

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

from memstone.core.dialects.base import OwnEvent, ParsedAnswer
from memstone.errors import BackendUnavailable, MemstoneError
from memstone.server.gateway.chat import GatewayChat, Tasks
from memstone.server.gateway.counts import CUT
from memstone.server.gateway.rounds import RoundRefused, Rounds
from memstone.server.gateway.sse import SseEvent, encode_event
from memstone.server.gateway.upstream import headers_for_caller
from memstone.server.observe import log

# --- the answer on its way back ---------------------------------------------------------------------------------------


_OK: Final = 200
_REFUSED_KEY: Final = (401, 403)

About: TypeAlias = Callable[[GatewayChat], dict[str, str]]
"""What headers say about a chat, once it is known: a service may refuse in a later round what memory has added."""


class RelayedStream(Response):
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
    exchange: GatewayChat, rounds: Rounds, response: httpx2.Response, tasks: Tasks, about: About
) -> Response:
    """Return an answer that comes in one piece."""
    try:
        response, changed = await rounds.read_reply(response)
        body = await response.aread()
    except httpx2.HTTPError as error:
        raise BackendUnavailable("the upstream ended its response early", kind="upstream", name="") from error
    finally:
        await response.aclose()
    headers = {**headers_for_caller(response), **about(exchange)}
    reply = changed or (_parse_object(body) if response.status_code == _OK else None)
    if reply is None:
        return Response(_explain_refused_key(response, body), response.status_code, headers)
    answer = _read_reply(exchange, reply)
    exchange.cache_block(answer.id)
    await exchange.store_answer(answer.full_text, tasks)
    if _wants_memories(exchange):
        reply, changed = {**reply, "memories": exchange.memories()}, reply
    # in ASCII, in which everything can be written that could be read: half a character, and what is no number
    return Response(body if changed is None else json.dumps(reply), response.status_code, headers)


def _explain_refused_key(response: httpx2.Response, body: bytes) -> bytes:
    """Return the body of a refusal.

    If the upstream refused the key it was sent, the message says so, and that the caller's key is valid.
    """
    refusal = _parse_object(body) if response.status_code in _REFUSED_KEY else None
    error = refusal.get("error") if refusal else None
    if refusal is None or not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return body
    whose = f"the upstream {response.request.url.host} refused the key it was sent; the key of this service is valid"
    return json.dumps({**refusal, "error": {**error, "message": f"{error['message']} ({whose})"}}).encode()


async def relay_stream(
    exchange: GatewayChat, rounds: Rounds, response: httpx2.Response, tasks: Tasks, about: About
) -> Response:
    """Return an answer in pieces.

    While a model may search first, it has not begun, and may still be refused as a whole.
    """
    pieces, first = stream_answer(exchange, rounds, response, tasks), b""
    if exchange.tool is not None:
        try:
            first = await anext(pieces, b"")
        except RoundRefused as refused:
            return Response(refused.body, refused.status, {**refused.headers, **about(exchange)})
    return RelayedStream(pieces, response, {**headers_for_caller(response), **about(exchange)}, first)


async def stream_answer(
    exchange: GatewayChat, rounds: Rounds, response: httpx2.Response, tasks: Tasks
) -> AsyncGenerator[bytes]:
    """Yield the pieces of an answer. Whoever ends it, what was said until then is kept."""
    hearing, is_known = _StreamListener(exchange, tasks), not _wants_memories(exchange)
    events, begun = rounds.stream(response), False
    try:
        async for event in events:
            begun, found = True, event.json() or {}
            name = event.name or str(found.get("type") or "")  # some leave it to the data
            _read_piece(exchange, hearing.answer, found)
            if not is_known and exchange.dialect.closes(name, event.data):
                is_known = True
                yield _encode_dialect_event(exchange.dialect.make_memories_event(exchange.memories(), found))
            if exchange.dialect.ends(name, event.data):
                await hearing.keep()
            yield event.raw
        if not hearing.is_stored and not hearing.answer.finished:  # it closed its connection as if that were the end
            await hearing.keep(cut_by="upstream")
            yield _format_interruption(exchange, "no end")
        elif not is_known:  # nor did it say where it ends
            yield _encode_dialect_event(exchange.dialect.make_memories_event(exchange.memories(), {}))
        await hearing.keep()
    except RoundRefused as refused:
        if not begun:
            hearing.is_stored = True  # there is nothing to keep
            raise
        await hearing.keep(cut_by="upstream")
        yield _encode_dialect_event(exchange.dialect.make_error_event(str(refused), refused.error))
    except (httpx2.HTTPError, MemstoneError) as error:
        await hearing.keep(cut_by="upstream")
        yield _format_interruption(exchange, type(error).__name__)
    finally:
        await _close_events(events)
        hearing.close()


@dataclass(slots=True)
class _StreamListener:
    """What is said in a stream; it is kept once, and before anybody is told that it has ended."""

    exchange: GatewayChat
    tasks: Tasks
    answer: ParsedAnswer = field(default_factory=ParsedAnswer)
    is_stored: bool = False

    async def keep(self, cut_by: str = "") -> None:
        """Keep it, unless it is kept."""
        if self.is_stored:
            return
        self.is_stored = True
        if cut_by:
            CUT.labels(cut_by).inc()
        self.exchange.cache_block(self.answer.id)
        await self.exchange.store_answer(self.answer.full_text, self.tasks)

    def close(self) -> None:
        """End the stream: if nothing was kept the caller has gone, and nobody waits any more."""
        if not self.is_stored:
            self.is_stored = True
            CUT.labels("caller").inc()
            self.exchange.note_use(self.answer.full_text)
            self.tasks.start(self.exchange.form(self.answer.full_text))


async def _close_events(events: AsyncIterator[SseEvent]) -> None:
    """Let go of the upstream."""
    if isinstance(events, AsyncGenerator):
        await events.aclose()


def _read_piece(exchange: GatewayChat, answer: ParsedAnswer, found: dict[str, Any]) -> None:
    try:
        exchange.dialect.piece(answer, found)
    except Exception as error:  # noqa: BLE001 - what is not understood here is the caller's
        exchange.record_unreadable(error)


def _read_reply(exchange: GatewayChat, reply: dict[str, Any]) -> ParsedAnswer:
    try:
        return exchange.dialect.parse_reply(reply)
    except Exception as error:  # noqa: BLE001 - what is not understood here is the caller's
        exchange.record_unreadable(error)
        return ParsedAnswer()


def _format_interruption(exchange: GatewayChat, how: str) -> bytes:
    """Return an upstream that stops in the middle: the client is told, not left to guess."""
    return _encode_dialect_event(
        exchange.dialect.make_error_event(f"the upstream ended its response early ({how})", {})
    )


def _encode_dialect_event(own_event: OwnEvent) -> bytes:
    name, holds = own_event
    return encode_event(json.dumps(holds), name)


def _wants_memories(exchange: GatewayChat) -> bool:
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
            finally:  # nothing is waited for from here on: an answer that is there is passed on, or it stays open
                leaving.cancel()
    except TimeoutError:
        if not stay.expired():
            raise
        return Response(status_code=_LEFT)


async def _cancel_on_disconnect(request: Request, stay: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stay.reschedule(asyncio.get_running_loop().time())
