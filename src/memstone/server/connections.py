"""Limits on connections: how many, how slow, and which one is closed.

A connection is *waiting* while the caller still owes bytes (a head or a body) and *busy* while a whole request is being
answered. A waiting connection costs its caller nothing, so it has a deadline, and the one that has waited longest ends
when room is needed, those first on which no key was recognised. A busy one is never ended for others, however long its
answer streams.

uvicorn bounds none of this: its keep-alive timer stops at the first byte of a head, and its ``limit_concurrency``
counts those who only wait and then turns away those who ask.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import h11
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memstone.sections_service import ConnectionSettings
from memstone.server import metrics
from memstone.server.errors import problem_response
from memstone.server.middleware import SAFETY_HEADERS
from memstone.server.observe import log

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState


# --- connections ------------------------------------------------------------------------------------------------------


HEALTH_PATHS: Final = frozenset({"/healthz", "/readyz"})
ACCEPTS: Final = 128
"""So many connections are accepted before any of them is looked at, so they need descriptors beyond the limit."""

RESERVE: Final = 64
"""So many more connections than the limit have their heads read: among them are those that ask how the service is."""

_OWN_DESCRIPTORS: Final = 256
"""The store, its readers, the log, and connections to databases and models that are kept open."""

_FEWEST: Final = 16
_STALL_SECONDS: Final = 30.0


class Connections:
    """The open connections of one service."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self.settings = settings
        self._open: set[BoundedProtocol] = set()
        self._waiting: dict[BoundedProtocol, None] = {}  # a set in the order in which they began to wait

    @property
    def is_full(self) -> bool:
        """Whether as many requests are being answered as may be."""
        return len(self._open) - len(self._waiting) > self.settings.limit

    def add(self, connection: BoundedProtocol) -> None:
        """Take a connection in; if that is one too many, the one that has waited longest ends."""
        self._open.add(connection)
        self._waiting[connection] = None
        metrics.CONNECTIONS.inc()
        if len(self._open) > self.settings.limit + RESERVE:
            strangers = (one for one in self._waiting if not one.is_known)
            oldest = next(strangers)  # there is one: the new connection itself
            self.remove(oldest)
            oldest.drop("crowded_out")

    def remove(self, connection: BoundedProtocol) -> None:
        """Forget a connection that has ended; one that is not known is left alone."""
        if connection in self._open:
            self._open.discard(connection)
            self._waiting.pop(connection, None)
            metrics.CONNECTIONS.dec()

    def mark_waiting(self, connection: BoundedProtocol) -> None:
        """Note that the caller owes bytes; one that waits already keeps its place."""
        if connection in self._open:
            self._waiting.setdefault(connection)

    def mark_busy(self, connection: BoundedProtocol) -> None:
        """Note that a whole request has come."""
        self._waiting.pop(connection, None)

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; if too many requests are under way, only about its health."""
        if self.is_full and scope["path"].rstrip("/") not in HEALTH_PATHS:
            metrics.CONNECTIONS_CLOSED.labels("too_many_requests").inc()
            log.warning("connection.refused", reason="too_many_requests", limit=self.settings.limit)
            headers = {**SAFETY_HEADERS, "retry-after": "1", "connection": "close"}
            refusal = problem_response(
                Request(scope),
                503,
                "The service is handling as many requests as it can.",
                code="overloaded",
                hint="Try again in a moment; server.connections.limit sets the maximum.",
                retryable=True,
                headers=headers,
            )
            await refusal(scope, receive, send)
            return
        await app(scope, receive, send)


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with deadlines: for heads, for answers that nobody reads, and for what follows an early answer.

    Bodies are timed where they are read, see ``memstone.server.middleware``.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.app = partial(connections.answer, self.app)
        self._connections = connections
        self._wait_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._has_begun = False
        """Whether anything came since this connection began to wait."""

    @property
    def is_known(self) -> bool:
        """Whether the last request on this connection came with a key that was recognised."""
        return self.scope is not None and "caller" in self.scope.get("state", {})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._connections.add(self)
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._connections.remove(self)
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, and see whether a request is whole now."""
        self._has_begun = True
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next head, unless the connection closes."""
        self._stop_waiting()
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_writes()
        else:
            self._follow()

    def _follow(self) -> None:
        """Note whose turn it is: the caller's while bytes are missing, ours when a request is whole."""
        if self.cycle is None or self.cycle.response_complete:
            self._connections.mark_waiting(self)
            if self._wait_timer is None:
                seconds = self._connections.settings.head_seconds
                self._wait_timer = self.loop.call_later(seconds, self._end_wait)
            return
        self._stop_waiting()
        if self.cycle.more_body:
            self._connections.mark_waiting(self)
        else:
            self._connections.mark_busy(self)

    def _stop_waiting(self) -> None:
        self._has_begun = False
        if self._wait_timer is not None:
            self._wait_timer.cancel()
            self._wait_timer = None

    def _end_wait(self) -> None:
        """Close: no head came in time. Who has begun one is told so."""
        self._wait_timer = None
        if self.transport.is_closing():
            return
        if self._has_begun and self.conn.our_state is h11.IDLE:
            self._note_end("slow_head")
            seconds = self._connections.settings.head_seconds
            self._write_problem(
                408, "too_slow", f"The headers of the request did not arrive within {seconds:g} seconds."
            )
        else:
            metrics.CONNECTIONS_CLOSED.labels("idle").inc()
        self._close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP as every other error is answered."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._write_problem(400, "invalid_http", msg)
            self._close()
        else:  # an answer is under way, and nothing can be said in the middle of it
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which nothing more was asked."""
        super().timeout_keep_alive_handler()
        self._watch_writes()

    def pause_writing(self) -> None:
        """Watch that the caller reads at all: they read more slowly than the answer is made."""
        super().pause_writing()
        self._watch_writes()

    def resume_writing(self) -> None:
        """Note that the caller has read."""
        if not self.transport.is_closing():
            self._stop_watching()
        super().resume_writing()

    def _write_problem(self, status: int, code: str, message: str) -> None:
        """Answer a caller of whom no request is known."""
        answer = problem_response(Request({"type": "http"}), status, message, code=code)
        headers = [*answer.raw_headers, *((name.encode(), value.encode()) for name, value in SAFETY_HEADERS.items())]
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), b"connection: close"]
        lines += [name + b": " + value for name, value in headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))

    def _close(self) -> None:
        """Close once what was written has gone out, if it does."""
        self.transport.close()
        self._watch_writes()

    def _watch_writes(self) -> None:
        if self._write_timer is None and self.transport.get_write_buffer_size():
            unsent = self.transport.get_write_buffer_size()
            self._write_timer = self.loop.call_later(_STALL_SECONDS, self._check_writes, unsent)

    def _check_writes(self, unsent: int) -> None:
        """End a connection whose caller reads less than the least pace."""
        self._write_timer = None
        left = self.transport.get_write_buffer_size()
        if left and unsent - left < self._connections.settings.bytes_per_second * _STALL_SECONDS:
            self.drop("slow_reader")
        else:
            self._watch_writes()

    def _stop_watching(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def drop(self, reason: str) -> None:
        """End the connection at once, whatever is under way."""
        self._note_end(reason)
        self.transport.abort()

    def _note_end(self, reason: str) -> None:
        metrics.CONNECTIONS_CLOSED.labels(reason).inc()
        log.warning("connection.closed", reason=reason)


def within_descriptors(settings: ConnectionSettings) -> ConnectionSettings:
    """Return the settings with as many connections as this process may open.

    The limit of open files is raised if possible.

    Every request may need a second descriptor, to the service that runs the model.
    """
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows bounds sockets in another way
        return settings
    wanted = 2 * settings.limit + RESERVE + ACCEPTS + _OWN_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return settings
    fewer = max(_FEWEST, (soft - RESERVE - ACCEPTS - _OWN_DESCRIPTORS) // 2)
    log.warning("connections.fewer", wanted=settings.limit, limit=fewer, descriptors=soft)
    return settings.model_copy(update={"limit": min(settings.limit, fewer)})


# --- whose address a request comes from -------------------------------------------------------------------------------


Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED_HEADERS: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""Where proxies write whom they ask for; one of them is read, and only where a proxy wrote it."""

_PROXY_MARKS: Final = FORWARDED_HEADERS | {"via", "x-forwarded-host", "x-forwarded-proto"}
_MOST_HOPS: Final = 50


class ProxyAddresses:
    """Puts the address of the caller in place of a proxy's, for every request of a trusted proxy."""

    def __init__(self, app: ASGIApp, *, proxies: Sequence[str], header: str) -> None:
        self._app, self._header = app, header
        self._networks = [ipaddress.ip_network(one) for one in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with the address it comes from."""
        if scope["type"] == "http" and scope.get("client") is not None:
            headers = Headers(scope=scope)
            if self._is_proxy(parse_address(scope["client"][0])):
                scope["client"] = self._client_of(headers, scope["client"])
            elif not FORWARDED_HEADERS.isdisjoint(headers):
                log.warning("proxy.not_trusted", hint="if you run a proxy, list it in server.proxies")
        await self._app(scope, receive, send)

    def _client_of(self, headers: Headers, proxy: tuple[str, int]) -> tuple[str, int]:
        """Return the last address that no trusted proxy has.

        What cannot be read is nobody's, and leaves the proxy's own.
        """
        client = proxy
        for text in list(_forwarded_addresses(headers.getlist(self._header), self._header))[-_MOST_HOPS:][::-1]:
            address = parse_address(text)
            if address is None:
                return client
            client = (str(address), 0)
            if not self._is_proxy(address):
                return client
        return client

    def _is_proxy(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _forwarded_addresses(values: Sequence[str], header: str) -> Iterator[str]:
    """Yield the addresses in a header, in the order in which proxies have added them."""
    for part in ",".join(values).split(","):
        if header != "forwarded":
            yield part.strip()
            continue
        pairs = (pair.partition("=") for pair in part.split(";"))
        named = {name.strip().lower(): value.strip() for name, _, value in pairs}
        yield named.get("for", "").strip('"')


def parse_address(text: str) -> Address | None:
    """Return an address as a peer or a header has it, perhaps with a port; None if it is none."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_local(request: HTTPConnection) -> bool:
    """Return whether a request was made on this machine, and not passed on by a proxy that runs here."""
    if request.client is None or not _PROXY_MARKS.isdisjoint(request.headers):
        return False
    address = parse_address(request.client.host)
    return address is not None and address.is_loopback
