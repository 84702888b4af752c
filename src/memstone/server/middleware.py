"""Middleware for every request: id, size, origin, and headers of the answer.

Written against ASGI itself, so that streams pass through untouched and a request costs microseconds here.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstone.sections_service import ConnectionSettings, ServerSettings
from memstone.server.errors import handle_unexpected_error, problem_response

_MODELS: Final = re.compile(
    r"(/v1)?/chat/completions|/v1/(messages(/count_tokens)?|responses|embeddings)|/agents/.+/run"
)
_LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1", "testserver"})
_FORM: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SLOW: Final = "too_slow"
KEYLESS_BODIES: Final = frozenset({"/v1/auth/login", "/v1/auth/refresh"})
"""Routes that read a body before they know who asks: a small one, for anybody may send it."""

_KEYLESS_BYTES: Final = 65_536
SAFETY_HEADERS: Final = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}


class RequestIdMiddleware:
    """Gives every request an id and every answer its safety headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope["path"]) > 1 and scope["path"].endswith("/"):  # the same thing with and without a slash
            scope["path"] = scope["path"].rstrip("/") or "/"
        text = Headers(scope=scope).get("x-request-id", "")
        request_id = text if _FORM.fullmatch(text) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_headersd_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in SAFETY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, send_with_headersd_send)


class ErrorMiddleware:
    """Answers for what nobody foresaw, within the others: it has its id, its headers and its line in the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what breaks in an answer that has begun can only break it off."""
        begun = False

        async def send_with_headersd_send(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_with_headersd_send)
        except _RefusedRequest:
            raise
        except Exception as error:
            if begun or scope["type"] != "http":
                raise
            await (await handle_unexpected_error(Request(scope), error))(scope, receive, send)


class RequestLimitsMiddleware:
    """Refuses names we do not answer to (rebinding), pages that may not ask (forgery), and bodies too large.

    What goes on to a model may be larger than what is ours: it holds pictures.
    """

    def __init__(self, app: ASGIApp, *, server: ServerSettings, model_bytes: int) -> None:
        self._app = app
        self._hosts = _LOCAL | {host.lower() for host in server.hosts}
        self._any_host = "*" in server.hosts
        self._origins = frozenset(origin.rstrip("/").lower() for origin in server.origins)
        self._ours = _Size(server.body_bytes, "server.body_bytes")
        self._models = _Size(model_bytes, "gateway.body_bytes")
        self._keyless = _Size(min(server.body_bytes, _KEYLESS_BYTES))
        self._pace = server.connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless something is wrong with it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size = self._size(scope)
        refused = self._find_refusal(Headers(scope=scope), size)
        if refused is None:
            refused = await self._forward_request(scope, _LimitedBody(receive, size, self._pace), send)
        if refused is not None:
            await self._refusal_response(scope, refused)(scope, receive, send)

    async def _forward_request(self, scope: Scope, counted: _LimitedBody, send: Send) -> _RefusedRequest | None:
        """Return what was found to be wrong with a body as it came in, while there is still time to answer so."""
        begun = False

        async def send_unless_refused(message: Message) -> None:
            nonlocal begun
            if counted.wrong is not None and not begun:  # whatever the route makes of it, this is what was wrong
                raise counted.wrong
            begun = True
            await send(message)

        try:
            await self._app(scope, counted, send_unless_refused)
        except _RefusedRequest as refused:
            return None if begun else refused
        return None

    def _refusal_response(self, scope: Scope, refused: _RefusedRequest) -> Response:
        """Return the answer; a page that may ask may also read it."""
        origin = Headers(scope=scope).get("origin", "").rstrip("/").lower()
        headers = {"access-control-allow-origin": origin, "vary": "Origin"} if origin in self._origins else {}
        if refused.code == _SLOW:
            headers["connection"] = "close"  # what still comes would be read as the next request
        return problem_response(
            Request(scope), refused.status, refused.message, code=refused.code, hint=refused.hint, headers=headers
        )

    def _size(self, scope: Scope) -> _Size:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if path in KEYLESS_BODIES:
            return self._keyless
        return self._models if _MODELS.fullmatch(path) else self._ours

    def _find_refusal(self, headers: Headers, size: _Size) -> _RefusedRequest | None:
        host = _host_name(headers.get("host", ""))
        if host is None or (not self._any_host and host not in self._hosts):
            return _RefusedRequest(
                400, "this service does not accept that host name", "unknown_host", "add it to server.hosts"
            )
        origin = headers.get("origin", "").rstrip("/").lower()
        if origin and origin not in self._origins and not _is_same_origin(origin, headers.get("host", "")):
            return _RefusedRequest(
                403, "requests from that origin are not allowed", "unknown_origin", "add it to server.origins"
            )
        length = headers.get("content-length", "")
        if length and not _is_within(length, size.most):
            return size.make_refusal()
        return None


@dataclass(frozen=True, slots=True)
class _Size:
    """How large a request may be, and what says so."""

    most: int
    setting: str = ""

    def make_refusal(self) -> _RefusedRequest:
        hint = f"at most {self.most:,} bytes" + (f"; {self.setting} changes that" if self.setting else "")
        return _RefusedRequest(413, "the request is too large", "too_large", hint)


def cors_options(origins: Sequence[str]) -> dict[str, Any]:
    """Return what browsers are told about pages of these origins: they may ask with a key, and never with a cookie.

    Any header may come along, for clients in a page send some of their own.
    """
    return {
        "allow_origins": [origin.rstrip("/").lower() for origin in origins],
        "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": ["*"],
        "expose_headers": [
            "request-id",
            "retry-after",
            "retry-after-ms",
            "x-request-id",
            "x-memstone-receipt",
            "x-should-retry",
            "x-upstream-request-id",
        ],
    }


@dataclass(eq=False)
class _RefusedRequest(Exception):
    """A request that goes no further, and what is answered."""

    status: int
    message: str
    code: str
    hint: str = ""


class _LimitedBody:
    """The body as it comes in, up to a limit, and not slower than a pace.

    Only the time counts for which the caller is waited for: a service that is busy does not make anybody late.
    """

    def __init__(self, receive: Receive, size: _Size, pace: ConnectionSettings) -> None:
        self._receive, self._size, self._left = receive, size, size.most
        self._seconds, self._bytes_per_second = pace.body_seconds, pace.bytes_per_second
        self._is_whole = False
        self.wrong: _RefusedRequest | None = None

    async def __call__(self) -> Message:
        message: dict[str, Any] = dict(await (self._receive() if self._is_whole else self._next()))
        self._is_whole = not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._left -= size
        self._seconds += size / self._bytes_per_second
        if self._left < 0:
            self.wrong = self._size.make_refusal()
            raise self.wrong
        return message

    async def _next(self) -> Message:
        """Return the next piece; who only waits for the caller to leave, after the last, may wait for long."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._receive()
        except TimeoutError:
            self.wrong = _RefusedRequest(408, "The rest of the request did not arrive in time.", _SLOW)
            raise self.wrong from None
        finally:
            self._seconds -= time.monotonic() - began


def _host_name(host: str) -> str | None:
    """Return the name in a Host header, without its port; None when it can be none."""
    try:
        return (urlsplit(f"//{host}").hostname or "") if host else ""
    except ValueError:
        return None


def _is_same_origin(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc == host.lower()
    except ValueError:
        return False


def _is_within(length: str, most: int) -> bool:
    """Return whether a declared length is one, and small enough; no number that fits has more digits than the limit."""
    return length.isascii() and length.isdigit() and len(length.lstrip("0")) <= len(str(most)) and int(length) <= most
