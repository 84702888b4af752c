"""The blocking Io: nothing ever suspends, so ``drive`` runs a coroutine to its end on the caller's thread."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, closing, suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstone.adapters.io.fair_lock import FairLock
from memstone.adapters.io.http import (
    Body,
    Lines,
    backend_rejected_factory,
    build_request,
    client_options,
    error_from_response,
    is_success,
    translate_http_errors,
)
from memstone.drive import drive
from memstone.ports.io import HttpRequest, HttpResponse

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

CLOSE_SECONDS: Final = 5.0

_log = logging.getLogger("memstone.io")


class BlockingIo:
    """Does everything inline; with ``threads`` a ``gather`` runs side by side on that many threads.

    Safe to share between threads. After a fork the child opens its own connections and threads and
    leaves those of its parent alone. ``close`` may be called twice, and a closed Io opens again when it
    is used again.
    """

    def __init__(self, *, threads: int = 0) -> None:
        self._threads = threads
        # By process id: what a forked child finds under its parent's is not its own to use or to close.
        self._clients: dict[int, httpx2.Client] = {}
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self._turn = FairLock()
        self._spawned: dict[threading.Thread, _BackgroundThread] = {}
        self._here = threading.local()

    on_loop = False

    def from_thread(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as it is: nothing here runs on a loop."""
        return function

    async def run(self, work: Callable[[], T]) -> T:
        """Run the work here and now."""
        return work()

    async def run_long(self, work: Callable[[], T]) -> T:
        """Run the work here, and let others have the turn meanwhile."""
        if not self._turn.is_owned:
            return work()
        self._turn.give(for_long=True)
        try:
            return work()
        finally:
            self._turn.take()

    async def compute(self, work: Callable[[], T]) -> T:
        """Run the work here and now."""
        return work()

    async def together(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run it here and now, as everything."""
        return await work()

    async def gather(self, *coroutines: Coroutine[Any, Any, T]) -> list[T]:
        """Run all, results in order; the first error (in that order) is raised after all have ended."""
        # A gather within a gather stays on its thread: waiting there for the same pool could wait for ever.
        inline = not self._threads or getattr(self._here, "is_worker", False)
        ended = _one_by_one(coroutines) if inline else self._side_by_side(coroutines)
        for _, error in ended:
            if error is not None:
                raise error
        return [result for result, _ in ended]

    def _side_by_side(self, coroutines: tuple[Coroutine[Any, Any, T], ...]) -> list[tuple[Any, Exception | None]]:
        pool = self._pool()
        futures = [pool.submit(copy_context().run, _capture_outcome, coroutine) for coroutine in coroutines]
        return [future.result() for future in futures]

    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self._pools:  # a pool that loses the race below has started no thread
            fresh = ThreadPoolExecutor(self._threads, "memstone-gather", initializer=self._mark_worker)
            self._pools.setdefault(process, fresh)
        return self._pools[process]

    def _mark_worker(self) -> None:
        self._here.is_worker = True

    async def sleep(self, seconds: float) -> None:
        """Wait, blocking this thread."""
        time.sleep(seconds)  # noqa: ASYNC251 - blocking is what this Io is for

    async def http(self, request: HttpRequest) -> HttpResponse:
        """Send a request and read the whole answer."""
        with translate_http_errors(request), closing(self._send(request)) as response:
            return _read_response(request, response)

    async def http_lines(self, request: HttpRequest) -> AsyncIterator[str]:
        """Yield the lines of the answer as they come; an answer that is no success raises instead."""
        with translate_http_errors(request), closing(self._send(request)) as response:
            if not is_success(response.status_code):
                raise error_from_response(request, _read_response(request, response), backend_rejected_factory(request))
            lines = Lines(request)
            for part in response.iter_bytes():
                for line in lines.feed(part):
                    yield line
            for line in lines.end():
                yield line

    def _send(self, request: HttpRequest) -> httpx2.Response:
        return self._client().send(build_request(request), stream=True)

    def _client(self) -> httpx2.Client:
        process = os.getpid()
        known = self._clients.get(process)
        if known is not None:
            return known
        import httpx2

        fresh = httpx2.Client(**client_options())
        stored = self._clients.setdefault(process, fresh)
        if stored is not fresh:  # another thread was quicker
            fresh.close()
        return stored

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Return a new lock between threads."""
        return _ThreadLock()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return the one lock of all short work."""
        return self._turn

    def bell(self) -> _ThreadBell:
        """Return a new bell between threads."""
        return _ThreadBell()

    def spawn(
        self,
        coroutine: Coroutine[Any, Any, None],
        *,
        name: str,
        stop: Callable[[], None] | None = None,
        patience: float = CLOSE_SECONDS,
    ) -> _BackgroundThread:
        """Drive the coroutine on a daemon thread of its own; its errors are logged."""
        context = copy_context()
        thread = threading.Thread(target=context.run, args=(self._background, coroutine, name), name=name, daemon=True)
        work = self._spawned[thread] = _BackgroundThread(thread, stop, patience)
        if stop is not None:
            _AT_WORK.add(self)
        thread.start()
        return work

    def _background(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        try:
            drive(coroutine)
        except Exception:  # noqa: BLE001 - nobody waits for it: the log is where its errors go
            _log.exception("background task %s failed", name)
        finally:
            self._spawned.pop(threading.current_thread(), None)

    async def finish(self) -> None:
        """Tell threads that can be told to stop, one after the other, and wait for each."""
        for thread, work in list(self._spawned.items()):
            if work.stop is not None and thread is not threading.current_thread():
                work.stop()
                _await_end(thread, work.patience)
                self._spawned.pop(thread, None)

    async def close(self) -> None:
        """Wait for background work, five seconds at most, and close the connections."""
        await self.finish()
        deadline = time.monotonic() + CLOSE_SECONDS
        for thread in list(self._spawned):
            if thread is not threading.current_thread():
                _await_end(thread, deadline - time.monotonic())
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.shutdown(wait=False)
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()


@dataclass(frozen=True, slots=True)
class _BackgroundThread:
    """A thread in the background, and how it is told to stop."""

    thread: threading.Thread
    stop: Callable[[], None] | None
    patience: float

    @property
    def alive(self) -> bool:
        return self.thread.is_alive()  # not in a forked child, which has none of its parent's threads


def _await_end(thread: threading.Thread, seconds: float) -> None:
    thread.join(max(0.0, seconds))
    if thread.is_alive():
        _log.warning("background task %s did not finish in time", thread.name)


_AT_WORK: Final[weakref.WeakSet[BlockingIo]] = weakref.WeakSet()
"""Whose background work has to be told when the interpreter ends."""


@atexit.register
def _finish_all() -> None:
    for io in list(_AT_WORK):
        drive(io.finish())


def _read_response(request: HttpRequest, response: httpx2.Response) -> HttpResponse:
    body = Body(request)
    for part in response.iter_bytes():
        body.add(part)
    return body.response(response.status_code, response.headers)


def _capture_outcome(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, Exception | None]:
    try:
        return drive(coroutine), None
    except Exception as error:  # noqa: BLE001 - raised by gather, once all have ended
        return None, error


def _one_by_one(coroutines: tuple[Coroutine[Any, Any, T], ...]) -> list[tuple[Any, Exception | None]]:
    try:
        return [_capture_outcome(coroutine) for coroutine in coroutines]
    finally:  # after Ctrl-C those that never began are let go without a warning; closing an ended one does nothing
        for coroutine in coroutines:
            coroutine.close()


class _ThreadLock(AbstractAsyncContextManager[None]):
    """A lock between threads that a forked child does not inherit in its locked state.

    Whoever gives it back need not be who took it: slots are counted with it (``memstone.adapters.llm.breaker``).
    """

    def __init__(self) -> None:
        self._lock = self._acquired = threading.Lock()
        self._process = os.getpid()

    async def __aenter__(self) -> None:
        if self._process != os.getpid():  # the thread that may have held it does not exist here
            self._lock, self._process = threading.Lock(), os.getpid()
        lock = self._lock
        lock.acquire()
        self._acquired = lock

    async def __aexit__(self, *_: object) -> None:
        self._acquired.release()


class _ThreadBell:
    """A bell between threads; a forked child has its own.

    It may be rung and waited for wherever the interpreter happens to be: within Ctrl-C, and when an object is let go in
    the middle of another call. So it holds no lock while it works: each who waits has one, and whoever rings opens it.
    """

    def __init__(self) -> None:
        self._is_rung, self._waiting, self._process = False, list[threading.Lock](), os.getpid()

    def _forget_parent(self) -> None:
        if self._process != os.getpid():  # whoever waited for it does not exist here
            self._is_rung, self._waiting, self._process = False, [], os.getpid()

    def ring(self) -> None:
        self._forget_parent()
        self._is_rung = True
        with suppress(IndexError):  # somebody else has opened the last of them
            while self._waiting:
                self._waiting.pop().release()

    async def wait(self, seconds: float) -> bool:
        self._forget_parent()
        gate = threading.Lock()
        gate.acquire()
        try:
            self._waiting.append(gate)  # before the look: who rings after it opens the gate
            was_rung = self._is_rung or gate.acquire(timeout=min(max(0.0, seconds), threading.TIMEOUT_MAX))
        finally:
            with suppress(ValueError):  # it was opened
                self._waiting.remove(gate)
        self._is_rung = False
        return was_rung
