"""Whether somebody still waits for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

# The number that proxies log for it. Nobody is there to see it.
_LEFT: Final = 499


async def while_there(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """Do some work for a caller whose request has been read. If they leave before it is done, it ends there."""
    stay = asyncio.timeout(None)
    try:
        async with stay:
            leaving = asyncio.ensure_future(_watch(request, stay))
            try:
                return await work
            finally:  # nothing is waited for from here on: an answer that is there is handed over, or it stays open
                leaving.cancel()
    except TimeoutError:
        if not stay.expired():
            raise
        return Response(status_code=_LEFT)


async def _watch(request: Request, stay: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stay.reschedule(asyncio.get_running_loop().time())
