"""``/mcp``: the protocol over streamable HTTP, behind the same keys as everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from retain.errors import RetainError
from retain.server.access import Caller
from retain.server.errors import told


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
        try:
            await self._admit(request)
        except RetainError as error:
            await told(request, error)(scope, receive, send)
            return
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._ready))
        manager = await asyncio.shield(self._ready)
        await manager.handle_request(scope, receive, send)

    async def _run(self, ready: asyncio.Future[Any]) -> None:
        """The sessions live in a task of their own: what is begun in one must end in it."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from retain.server.mcp.server import keyed_server

        server = keyed_server(self._admit, self._prefix)
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            ready.set_result(manager)
            await self._stop.wait()

    async def close(self) -> None:
        """End what was started."""
        self._stop.set()
        if self._task is not None:
            await self._task
