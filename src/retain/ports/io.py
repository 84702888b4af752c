"""The only seam that knows whether we block or await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A JSON request; headers may hold secrets and are never logged."""

    method: str
    url: str
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Io(Protocol):
    """Everything the engine and the adapters may wait for.

    With the blocking implementation no coroutine ever suspends, so ``drive`` runs it to the end
    without an event loop; with the asyncio implementation the same coroutine runs on the caller's.
    """

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work: inline, or as one unit on a small pool."""
        ...

    async def gather(self, *coroutines: Coroutine[Any, Any, T]) -> list[T]:
        """Run all, results in order; the first error is raised after all have ended."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def http(self, request: HttpRequest) -> HttpResponse:
        """Send a request; ``BackendTimeout`` or ``BackendUnavailable`` when there is no answer."""
        ...

    def http_lines(self, request: HttpRequest) -> AsyncIterator[str]:
        """Send a request and yield the lines of the answer as they come; ``BackendRejected`` unless it is a 2xx."""
        ...

    def lock(self) -> AbstractAsyncContextManager[Any]:
        """A new mutual-exclusion lock."""
        ...

    def turn(self) -> AbstractAsyncContextManager[Any]:
        """Held during short work that waits for nothing outside this process.

        Threads that do such work at once only hand the interpreter to and fro: one after the other is faster. On an
        event loop nothing is held.
        """
        ...

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> None:
        """Start background work; ``close`` waits for it within its budget."""
        ...

    async def close(self) -> None:
        """Give everything back."""
        ...
