"""The asyncio client: the methods of ``Memory``, carried out by a service.

Made from ``client.py`` by ``scripts/make_async_api.py``: do not edit, change the original.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.remote.link import ServiceConnection
from memstone.remote.methods import client_class

# For whoever reads the types a client is a set of verbs like any other; at run time each verb asks the service.
if TYPE_CHECKING:
    RemoteVerbs = AsyncMemoryVerbs
else:
    RemoteVerbs = client_class(AsyncMemoryVerbs)


class AsyncClient(RemoteVerbs):
    """A memory in a service: ``memstone serve`` at ``base_url``, used with a ``key``.

    Every method takes and returns what the same method of ``Memory`` does, and raises the same errors; these then also
    have a ``request_id`` and ``details``. Temporary failures are retried up to ``max_retries`` times, where that is
    safe. ``timeout`` is for one request, in seconds; long calls may take ten minutes.
    """

    def __init__(self, base_url: str, key: str, *, timeout: float = 30.0, max_retries: int = 2) -> None:
        self._link = ServiceConnection("asyncio", base_url, key, timeout=timeout, max_retries=max_retries)

    def __repr__(self) -> str:
        return f"<memstone.AsyncClient of {self._link.host}>"

    async def close(self) -> None:
        """Close the connections. A closed client cannot be used again."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
