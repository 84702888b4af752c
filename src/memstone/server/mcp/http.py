"""``/mcp``: the protocol over streamable HTTP, behind the same keys as everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from memstone.errors import MemstoneError, MissingExtra
from memstone.server.access import Caller
from memstone.server.errors import failed, problem


class McpMount:
    """The protocol as an ASGI application. It is loaded when it is first asked: starting stays quick."""

    def __init__(self, admit: Callable[[Request], Awaitable[Caller]], prefix: str) -> None:
        self._admit, self._prefix = admit, prefix
        self._ready: asyncio.Future[Any] | None = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; who has no key gets no further."""
        request = Request(scope, receive)
        if scope["method"] != "POST":  # nothing is ever sent unasked: a stream to listen to would only stay open
            refused = problem(request, 405, "Method Not Allowed", code="method_not_allowed", headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        try:
            await self._admit(request)
            manager = await self._managing()
        except MemstoneError as error:
            await (await failed(request, error))(scope, receive, send)
            return
        await manager.handle_request(scope, receive, send)

    async def _managing(self) -> Any:
        if self._ready is None:
            manager = _manager(self._admit, self._prefix)
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(manager, self._ready))
        return await asyncio.shield(self._ready)

    async def _run(self, manager: Any, ready: asyncio.Future[Any]) -> None:
        """The sessions live in a task of their own: what is begun in one must end in it."""
        async with manager.run():
            ready.set_result(manager)
            await self._stop.wait()

    async def close(self) -> None:
        """End what was started."""
        self._stop.set()
        if self._task is not None:
            await self._task


def _manager(admit: Callable[[Request], Awaitable[Caller]], prefix: str) -> Any:
    """What speaks the protocol; ``MissingExtra`` where it is not installed."""
    try:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from memstone.server.mcp.server import keyed_server
    except ModuleNotFoundError as error:
        raise MissingExtra("/mcp needs the extra 'mcp'", hint="pip install 'memstone[mcp,server]'") from error
    return StreamableHTTPSessionManager(keyed_server(admit, prefix), json_response=True, stateless=True)
