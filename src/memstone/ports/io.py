"""Waiting, time and observers: what differs between blocking and asyncio."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Any, Final, Protocol, TypeVar

# --- the only seam that knows whether we block or await ---------------------------------------------------------------


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request with a JSON or bytes body. Headers may contain secrets and are never logged.

    ``timeout`` is for the whole answer, or with ``in_pieces`` for the silence between two pieces of it.
    """

    method: str
    url: str
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    in_pieces: bool = False


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes


class Bell(Protocol):
    """Wakes waiting code in this process."""

    def ring(self) -> None:
        """Wake all waiters, or the next one. Any thread may call this."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait for a ring, so long at most; return whether there was one."""
        ...


class BackgroundHandle(Protocol):
    """A handle for background work."""

    @property
    def alive(self) -> bool:
        """Whether the work is still running in this process."""
        ...


class Io(Protocol):
    """Everything that the engine and the adapters may wait for.

    With the blocking implementation no coroutine ever suspends, so ``drive`` runs it to the end
    without an event loop; with the asyncio implementation the same coroutine runs on the caller's.
    """

    @property
    def on_loop(self) -> bool:
        """Whether an event loop runs the coroutines, so that they may await the caller's."""
        ...

    def from_thread(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that work on a thread may call: one that is async runs on the loop and is waited for."""
        ...

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work: inline, or as one unit on a small pool."""
        ...

    async def run_long(self, work: Callable[[], T]) -> T:
        """Run work that keeps a processor busy for a while, mostly without the interpreter.

        Whoever holds the turn gives it up meanwhile.
        """
        ...

    async def compute(self, work: Callable[[], T]) -> T:
        """Run CPU-bound work, such as reading a text with rules.

        Inline, or on one thread for all such work: an event loop goes on meanwhile, whoever waits for a database does
        not wait for it, and one long text is not read by several threads against each other.
        """
        ...

    async def together(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine that needs nothing outside this process as one unit.

        On an event loop this spares a change of threads for each of its steps.
        """
        ...

    async def gather(self, *coroutines: Coroutine[Any, Any, T]) -> list[T]:
        """Run all and return results in order; after all have ended, raise the first error."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def http(self, request: HttpRequest) -> HttpResponse:
        """Send a request; raise ``BackendTimeout`` or ``BackendUnavailable`` if there is no answer."""
        ...

    def http_lines(self, request: HttpRequest) -> AsyncIterator[str]:
        """Send a request and yield the lines of the answer; raise ``BackendRejected`` unless it is a 2xx."""
        ...

    def lock(self) -> AbstractAsyncContextManager[Any]:
        """Return a new mutual-exclusion lock."""
        ...

    def turn(self) -> AbstractAsyncContextManager[Any]:
        """Return a lock for short work that needs nothing outside this process.

        Threads that do such work at once only hand the interpreter to and fro: one after the other is faster. On an
        event loop nothing is held.
        """
        ...

    def bell(self) -> Bell:
        """Return a new bell."""
        ...

    def spawn(
        self,
        coroutine: Coroutine[Any, Any, None],
        *,
        name: str,
        stop: Callable[[], None] | None = None,
        patience: float = 5.0,
    ) -> BackgroundHandle:
        """Start background work; ``close`` waits for it within its budget.

        Work that goes on until it is told to ``stop`` is told so by ``finish``, which waits ``patience`` seconds. Where
        nobody closes, the end of the interpreter is told to it in the same way, one after the other.
        """
        ...

    async def finish(self) -> None:
        """Ask background work to stop, and wait for it as long as it takes."""
        ...

    async def close(self) -> None:
        """Give everything back."""
        ...


# --- the time, injected so that tests and imports can set it ----------------------------------------------------------


class Clock(Protocol):
    """The current time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


# --- somebody waits for an answer that can be given without a model ---------------------------------------------------


_deadline: Final[ContextVar[float | None]] = ContextVar("memstone_deadline", default=None)


@contextmanager
def limit_model_calls(seconds: float = inf) -> Iterator[None]:
    """Allow one attempt and limited time for model calls inside this block."""
    token = _deadline.set(min(_deadline.get() or inf, time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def is_hurried() -> bool:
    """Return whether model calls have only one attempt."""
    return _deadline.get() is not None


def seconds_left(usual: float) -> float:
    """Return the time limit for a request that usually has this one."""
    deadline = _deadline.get()
    return usual if deadline is None else max(0.01, min(usual, deadline - time.monotonic()))


# --- somebody who watches an engine at work ---------------------------------------------------------------------------


class Observer(Protocol):
    """Receives durations and decisions, never content. It must be quick and never raise."""

    def took(self, step: str, seconds: float) -> None:
        """Record that a step has ended: ``search.retrieve``, ``context.plan``, ``learn.settle`` and so on."""
        ...

    def record_gate(self, route: str) -> None:
        """Record which part of the memory the gate chose, or none."""
        ...
