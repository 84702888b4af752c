"""``/mcp``: MCP over HTTP, with keys.

Streamable HTTP stands at ``/mcp``. Older clients speak SSE: they listen at ``/mcp/sse`` and send to ``/mcp/messages``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memstone.errors import AccessError, Forbidden, MemstoneError, MissingExtra, install_hint
from memstone.model.access import Verb
from memstone.server.access import Caller
from memstone.server.connections import is_local
from memstone.server.errors import handle_memstone_error, problem_response
from memstone.server.state import ServiceState

STREAM_SECONDS: Final = 3_600.0
"""How long somebody may listen; whoever wants to go on comes back."""

CHECK_SECONDS: Final = 1.0
"""So often it is asked whether the key of somebody who listens is still valid."""

_TICK: Final = 0.25

Handle: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class McpMount:
    """The protocol as a few ASGI applications. It is loaded when it is first asked for: starting stays quick."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self._manager: asyncio.Future[Any] | None = None
        self._sse: Any = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def routes(self) -> list[Route]:
        """Where it is reached, and by which method."""
        # At /mcp nothing is ever sent unasked: a stream to listen to would only stay open.
        handles = (
            ("/mcp", "POST", self._streamable),
            ("/mcp/sse", "GET", self._listen),
            ("/mcp/messages", "POST", self._message),
        )
        return [
            Route(path, _Endpoint(self._state, method, handle), include_in_schema=False)
            for path, method, handle in handles
        ]

    async def _streamable(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            manager = _new_manager(self._state)
            self._manager = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(manager, self._manager))
        manager = await asyncio.shield(self._manager)
        await manager.handle_request(scope, receive, send)

    async def _run(self, manager: Any, ready: asyncio.Future[Any]) -> None:
        """Hold the sessions in a task of their own: what is begun in one must end in it."""
        async with manager.run():
            ready.set_result(manager)
            await self._stop.wait()

    def _transport(self) -> tuple[Any, Any]:
        if self._sse is None:
            self._sse = _new_sse(self._state)
        transport: tuple[Any, Any] = self._sse
        return transport

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what a session answers, until the caller leaves, the service ends or the key does."""
        transport, server = self._transport()
        scope["user"] = _session_principal(scope)
        async with transport.connect_sse(scope, receive, send) as (incoming, outgoing):
            answering = asyncio.ensure_future(server.run(incoming, outgoing, server.create_initialization_options()))
            ending = asyncio.ensure_future(self._over(Request(scope)))
            try:
                await asyncio.wait({answering, ending}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                answering.cancel()
                ending.cancel()
                await asyncio.gather(answering, ending, return_exceptions=True)
                await outgoing.aclose()

    async def _over(self, request: Request) -> None:
        """Return when nobody should listen any more."""
        began = checked = time.monotonic()
        while self._state.ready and time.monotonic() - began < STREAM_SECONDS:
            await asyncio.sleep(_TICK)
            if time.monotonic() - checked < CHECK_SECONDS:
                continue
            checked = time.monotonic()
            try:
                _check_reach(self._state, request, await self._state.doorkeeper.admit_anew(request))
            except AccessError:
                return

    async def _message(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport, _ = self._transport()
        scope["user"] = _session_principal(scope)
        await transport.handle_post_message(scope, receive, send)

    async def close(self) -> None:
        """End what was started."""
        self._stop.set()
        if self._task is not None:
            await self._task


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One address: who has no key, or may not come from where they are, gets no further."""

    state: ServiceState
    method: str
    handle: Handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if scope["method"] != self.method:
                allow = {"Allow": self.method}
                refused = problem_response(request, 405, "Method Not Allowed", code="method_not_allowed", headers=allow)
                await refused(scope, receive, send)
                return
            _check_reach(self.state, request, await self.state.admit(request))
            await self.handle(scope, receive, send)
        except MemstoneError as error:
            await (await handle_memstone_error(request, error))(scope, receive, send)


def _check_reach(state: ServiceState, request: Request, caller: Caller) -> None:
    """Raise ``Forbidden`` for a key without the permission admin that is used from another machine."""
    if state.settings.server.mcp_remote or Verb.ADMIN in caller.key.verbs or is_local(request):
        return
    hint = "call it from the same machine, use a key with `admin`, or set server.mcp_remote"
    raise Forbidden("This key does not have the `admin` permission, which /mcp needs from another machine", hint=hint)


def _session_principal(scope: Scope) -> Any:
    """Return whom a session of SSE belongs to: nobody else may send into it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    caller: Caller = scope["state"]["caller"]
    return AuthenticatedUser(AccessToken(token="", client_id=caller.key.id, scopes=[]))


def _new_manager(state: ServiceState) -> Any:
    try:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from memstone.server.mcp.server import keyed_server
    except ModuleNotFoundError as error:
        raise _missing_extra_error() from error
    server = keyed_server(state.admit_by_name, state.settings.server.tool_prefix)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


def _new_sse(state: ServiceState) -> tuple[Any, Any]:
    try:
        from mcp.server.sse import SseServerTransport

        from memstone.server.mcp.server import keyed_server
    except ModuleNotFoundError as error:
        raise _missing_extra_error() from error
    transport = SseServerTransport("/mcp/messages", max_request_body_size=state.settings.server.body_bytes)
    return transport, keyed_server(state.admit_by_name, state.settings.server.tool_prefix)


def _missing_extra_error() -> MissingExtra:
    return MissingExtra("/mcp needs the extra 'mcp'", hint=install_hint("mcp,server"))
