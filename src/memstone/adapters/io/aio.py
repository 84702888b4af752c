"""The asyncio Io: the same coroutines on the caller's event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

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
from memstone.errors import UsageError
from memstone.model.functions import is_async
from memstone.ports.io import HttpRequest, HttpResponse

if TYPE_CHECKING:
    import httpx2


# --- what tasks wait for on an event loop -----------------------------------------------------------------------------


T = TypeVar("T")


class CallerGone(BaseException):
    """Whoever asked for something has gone."""


@dataclass(slots=True)
class ThreadSection:
    """Several steps as one unit on a thread; between two of them it ends when nobody waits for it any more."""

    left: bool = False

    def step(self, work: Callable[[], T]) -> T:
        """Do the next step here and now."""
        if self.left:
            raise CallerGone
        return work()


def resolve_future(end: asyncio.Future[None]) -> None:
    """Wake whoever waits for a future, unless it was woken before."""
    if not end.done():
        end.set_result(None)


class LoopLock(AbstractAsyncContextManager[None]):
    """A lock between the tasks of a loop; each loop that uses it gets its own."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def _of_this_loop(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def __aenter__(self) -> None:
        await self._of_this_loop().acquire()

    async def __aexit__(self, *_: object) -> None:
        self._of_this_loop().release()


class LoopBell:
    """A bell between tasks, whichever loop they run on; may be rung from any thread."""

    def __init__(self) -> None:
        self._rung = False
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        self._rung = True
        for waiting in list(self._waiting):
            with suppress(RuntimeError):  # its loop is closed: nobody waits
                waiting.get_loop().call_soon_threadsafe(resolve_future, waiting)

    async def wait(self, seconds: float) -> bool:
        woken = asyncio.get_running_loop().create_future()
        self._waiting.add(woken)
        try:
            if not self._rung:
                await asyncio.wait([woken], timeout=max(0.0, seconds))
        finally:
            self._waiting.discard(woken)
        was_rung, self._rung = self._rung or woken.done(), False
        return was_rung


# --- the asyncio Io ---------------------------------------------------------------------------------------------------


CLOSE_SECONDS: Final = 5.0

_log = logging.getLogger("memstone.io")


class AsyncIo:
    """Awaits on the running loop and runs blocking work on ``threads`` threads of its own.

    One object may be used from one ``asyncio.run`` after the other: connections and locks belong to
    the loop that runs. ``close`` may be called twice, and a closed Io opens again when it is used again.
    """

    def __init__(self, *, threads: int = 4) -> None:
        self._threads = threads
        self._pools: dict[int, ThreadPoolExecutor] = {}  # by process id: threads do not survive a fork
        self._computers: dict[int, ThreadPoolExecutor] = {}
        self._here = threading.local()
        self._turn = FairLock()
        self._units: set[Future[Any]] = set()
        self._tasks: dict[asyncio.Task[None], _BackgroundTask] = {}
        self._clients: dict[asyncio.AbstractEventLoop, _KeptClient] = {}

    on_loop = True

    def from_thread(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, or for an async one another that runs it on this loop and waits for its end."""
        if not is_async(function):
            return function
        loop = asyncio.get_running_loop()
        return lambda *args: asyncio.run_coroutine_threadsafe(function(*args), loop).result()

    async def run(self, work: Callable[[], T]) -> T:
        """Run the work as one unit on a thread.

        A cancelled caller is let go at once, and the unit still runs to its end: half a unit of work is
        worse than one whose result nobody reads.
        """
        return await self._run_on(self._pool, work)

    async def compute(self, work: Callable[[], T]) -> T:
        """Run the work on the one thread for work of this kind.

        It changes nothing, so what has not begun when its caller is cancelled is not run.
        """
        return await self._run_on(self._computer, work, drop=True)

    async def _run_on(self, pool: Callable[[], ThreadPoolExecutor], work: Callable[[], T], *, drop: bool = False) -> T:
        if (section := self._section()) is not None:
            return section.step(work)
        unit = pool().submit(copy_context().run, work)
        self._units.add(unit)
        unit.add_done_callback(self._units.discard)
        try:
            await _end_of(unit)
        except asyncio.CancelledError:
            if not (drop and unit.cancel()):
                unit.add_done_callback(_log_unread_error)
            raise
        return unit.result()

    async def together(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine on one thread, and its work there and then; without its caller it ends at the next step."""
        if self._section() is not None:
            return await work()
        section = ThreadSection()
        try:
            return await self.run(lambda: self._as_one(section, work))
        except asyncio.CancelledError:
            section.left = True
            raise

    def _section(self) -> ThreadSection | None:
        """Return what this thread does as one unit, if it does."""
        return getattr(self._here, "section", None)

    def _as_one(self, section: ThreadSection, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._here.section = section
        try:
            return drive(work())
        finally:
            del self._here.section

    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self._pools:
            self._pools[process] = ThreadPoolExecutor(self._threads, "memstone-io")
        return self._pools[process]

    def _computer(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self._computers:
            self._computers[process] = ThreadPoolExecutor(1, "memstone-compute")
        return self._computers[process]

    async def run_long(self, work: Callable[[], T]) -> T:
        """Run the work on a thread; within a unit of several steps, others have the turn meanwhile."""
        if self._section() is None or not self._turn.is_owned:
            return await self.run(work)
        self._turn.give(for_long=True)
        try:
            return await self.run(work)
        finally:
            self._turn.take()

    async def gather(self, *coroutines: Coroutine[Any, Any, T]) -> list[T]:
        """Run all side by side, results in order; the first error (in that order) is raised after all have ended."""
        ended = await asyncio.gather(*coroutines, return_exceptions=True)
        results: list[T] = []
        for outcome in ended:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        return results

    async def sleep(self, seconds: float) -> None:
        """Wait and let others run."""
        await asyncio.sleep(seconds)

    async def http(self, request: HttpRequest) -> HttpResponse:
        """Send a request and read the whole answer."""
        with translate_http_errors(request):
            async with aclosing(await self._send(request)) as response:
                return await _read_response(request, response)

    async def http_lines(self, request: HttpRequest) -> AsyncIterator[str]:
        """Yield the lines of the answer as they come; an answer that is no success raises instead."""
        with translate_http_errors(request):
            async with aclosing(await self._send(request)) as response:
                if not is_success(response.status_code):
                    raise error_from_response(
                        request, await _read_response(request, response), backend_rejected_factory(request)
                    )
                lines = Lines(request)
                async for part in response.aiter_bytes():
                    for line in lines.feed(part):
                        yield line
                for line in lines.end():
                    yield line

    async def _send(self, request: HttpRequest) -> httpx2.Response:
        client = await self._client()
        return await client.send(build_request(request), stream=True)

    async def _client(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        stored = self._clients.get(loop)
        if stored is None or stored.client.is_closed:
            for ended in [known for known in self._clients if known.is_closed()]:
                self._clients.pop(ended, None)
            stored = self._clients[loop] = await _KeptClient.open()
        return stored.client

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Return a new lock between tasks."""
        return LoopLock()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return the one lock of all units of several steps; tasks on the loop take turns by themselves."""
        return nullcontext() if self._section() is None else self._turn

    def bell(self) -> LoopBell:
        """Return a new bell between tasks."""
        return LoopBell()

    def spawn(
        self,
        coroutine: Coroutine[Any, Any, None],
        *,
        name: str,
        stop: Callable[[], None] | None = None,
        patience: float = CLOSE_SECONDS,
    ) -> _BackgroundTask:
        """Start a task; it is held until it ends and its errors are logged.

        A loop that ends cancels it: only ``finish`` and ``close`` give it time.
        """
        try:
            task = asyncio.get_running_loop().create_task(coroutine, name=name)
        except RuntimeError as error:
            coroutine.close()
            raise UsageError(f"background task {name} needs a running event loop") from error
        work = self._tasks[task] = _BackgroundTask(task, stop, patience)
        task.add_done_callback(self._finish_task)
        return work

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("background task %s failed", task.get_name(), exc_info=error)

    async def finish(self) -> None:
        """Tell tasks that can be told to stop, one after the other; one that takes too long is cancelled."""
        for task, work in self._of_this_loop().items():
            if work.stop is not None:
                work.stop()
                await _all_within(work.patience, [task])
                await _cancel_tasks([] if task.done() else [task])

    def _of_this_loop(self) -> dict[asyncio.Task[None], _BackgroundTask]:
        loop, current = asyncio.get_running_loop(), asyncio.current_task()
        return {task: work for task, work in self._tasks.items() if task.get_loop() is loop and task is not current}

    async def close(self) -> None:
        """Wait for background work and units under way, five seconds at most; then cancel and close."""
        await self.finish()
        loop = asyncio.get_running_loop()
        tasks = list(self._of_this_loop())
        await _all_within(CLOSE_SECONDS, [*tasks, *(_end_of(unit) for unit in list(self._units))])
        await _cancel_tasks([task for task in tasks if not task.done()])
        for pools in (self._pools, self._computers):
            pool = pools.pop(os.getpid(), None)
            if pool is not None:
                pool.shutdown(wait=False)
        stored = self._clients.pop(loop, None)
        if stored is not None:
            await stored.close()


@dataclass(frozen=True, slots=True)
class _BackgroundTask:
    """A task in the background, and how it is told to stop."""

    task: asyncio.Task[None]
    stop: Callable[[], None] | None
    patience: float

    @property
    def alive(self) -> bool:
        return not self.task.done() and not self.task.get_loop().is_closed()


def _end_of(unit: Future[Any]) -> asyncio.Future[None]:
    """Return a future that is done on this loop when the unit is.

    Not ``run_in_executor``: cancelling its future takes a unit that has not begun out of the queue, and
    a unit that ends after its loop was closed fills the log.
    """
    loop = asyncio.get_running_loop()
    end = loop.create_future()

    def wake(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(resolve_future, end)

    unit.add_done_callback(wake)
    return end


def _log_unread_error(unit: Future[Any]) -> None:
    error = unit.exception()
    if error is not None and not isinstance(error, CallerGone):
        _log.error("a task failed after its caller was cancelled", exc_info=error)


async def _all_within(seconds: float, waited: Iterable[asyncio.Future[None]]) -> None:
    futures = list(waited)
    if futures:
        await asyncio.wait(futures, timeout=seconds)


async def _cancel_tasks(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        _log.warning("background task %s did not finish in time", task.get_name())
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _read_response(request: HttpRequest, response: httpx2.Response) -> HttpResponse:
    body = Body(request)
    async for part in response.aiter_bytes():
        body.add(part)
    return body.response(response.status_code, response.headers)


class _KeptClient:
    """A client that closes with its loop.

    It is held by an asynchronous generator, because those a loop closes itself when it ends
    (``asyncio.run`` does): a caller who forgets ``close`` leaves no open connection behind.
    """

    def __init__(self, client: httpx2.AsyncClient, keeper: AsyncGenerator[httpx2.AsyncClient, None]) -> None:
        self.client = client
        self._keeper = keeper

    @classmethod
    async def open(cls) -> _KeptClient:
        """Return a client of the running loop; does not suspend, so two tasks cannot open one each."""
        keeper = _keep_client()
        return cls(await anext(keeper), keeper)

    async def close(self) -> None:
        """Close the connections."""
        await self._keeper.aclose()


async def _keep_client() -> AsyncGenerator[httpx2.AsyncClient, None]:
    import httpx2

    client = httpx2.AsyncClient(**client_options())
    try:
        yield client
    finally:
        await client.aclose()
