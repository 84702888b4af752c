"""Run the service until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

import uvicorn
from fastapi import FastAPI

from memstone.errors import ConfigError, MemstoneError, StorageBusy
from memstone.sections_service import ServerSettings
from memstone.server.connections import ACCEPTS, BoundedProtocol, Connections, within_descriptors
from memstone.server.gateway.chat import Tasks
from memstone.server.observe import Repeats, log

# --- the process that serves an application, until somebody ends it ---------------------------------------------------


_PATIENCE: Final = 5
_NOT_STARTED: Final = 3
_SUM_TICKS: Final = 100
"""Ten seconds, in steps of uvicorn's loop."""

_QUEUE: Final = 2_048
"""So many connections the system holds until they are accepted; it may have a lower limit of its own."""


class Service(uvicorn.Server):
    """Says on which port it listens, and that it stops before it waits.

    A stream would go on for hours.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        listening: Callable[[int], None] | None = None,
        repeats: Repeats | None = None,
    ) -> None:
        super().__init__(config)
        self._listening, self._repeats = listening, repeats

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the application, listen, and say so; raise ``ConfigError`` where it cannot listen."""
        try:
            await super().startup(sockets)
        except SystemExit as leaving:
            if isinstance(leaving.__context__, OSError):
                raise _not_listening(self.config, leaving.__context__) from leaving
            raise
        if not self.started:
            return
        for one in (one for server in self.servers for one in server.sockets):
            _lengthen_queue(one)
        if self._listening is not None:
            self._listening(self.servers[0].sockets[0].getsockname()[1])

    async def on_tick(self, counter: int) -> bool:
        """Write, now and then, what the log has summed up."""
        if counter % _SUM_TICKS == 0 and self._repeats is not None:
            self._repeats.write_sums()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, requests finish, and the application close."""
        app = self.config.app
        if isinstance(app, FastAPI):
            app.state.memstone.ready = False
        await super().shutdown(sockets)
        if self._repeats is not None:
            self._repeats.write_sums(at_once=True)


def _not_listening(config: uvicorn.Config, error: OSError) -> ConfigError:
    """Return what is told when a service cannot listen where it should."""
    place = f"{config.host}:{config.port}"
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"the port {config.port} on {config.host} is in use",
            hint="stop the program that uses it, or choose another port: --port 8421, or --port 0 for any free port",
        )
    reason = (os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)).lower()
    return ConfigError(f"cannot listen on {place}: {reason}", hint="choose another address with --host and --port")


def _lengthen_queue(listener: Any) -> None:
    """Let the system queue more connections than are accepted at once, which the event loop takes for one number."""
    with socket.fromfd(listener.fileno(), listener.family, listener.type) as same:
        same.listen(_QUEUE)


def server_config(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    """Return how uvicorn runs an application: with our limits, and never believing a caller about its address."""
    connections = Connections(within_descriptors(settings.connections))
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=cast("type[asyncio.Protocol]", partial(BoundedProtocol, connections=connections)),
        ws="none",  # nothing here speaks it, and whoever switches to it is no longer counted
        backlog=ACCEPTS,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # see memstone.server.connections
        timeout_graceful_shutdown=_PATIENCE,
    )


def serve_app(
    app: FastAPI,
    settings: ServerSettings,
    listening: Callable[[int], None] | None = None,
    repeats: Repeats | None = None,
) -> None:
    """Serve until a signal comes; what was begun may take a few seconds more. ``listening`` is told the port."""
    server = Service(server_config(app, settings), listening, repeats)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    if not server.started:  # the log says why
        raise SystemExit(_NOT_STARTED)


# --- whether the store can be written ---------------------------------------------------------------------------------


_EVERY: Final = 10.0
_READINESS_PATIENCE: Final = 2.0
_LONG: Final = 60.0
"""So long others may hold the store: a backup or an erasure of much takes its time, and is no outage."""


class WriteCheck:
    """Knows why the store cannot be written, as of the last try; None while it can."""

    def __init__(
        self, attempt: Callable[[], Awaitable[None]], tasks: Tasks, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._attempt, self._tasks, self._now = attempt, tasks, now
        self._trying: asyncio.Task[str | None] | None = None
        self._next = now()
        self._waits_since: float | None = None
        self._reason: str | None = None

    async def reason(self) -> str | None:
        """Return the reason, after another try where the last is a while ago.

        The caller waits for it, but not for long.
        """
        if self._trying is None and self._now() >= self._next:
            self._trying = self._tasks.start(failure_of(self._attempt()))
            self._waits_since = self._now() if self._waits_since is None else self._waits_since
        if self._trying is not None:
            await asyncio.wait([self._trying], timeout=_READINESS_PATIENCE)
            self._take_result()
        if self._waits_since is not None and self._now() - self._waits_since > _LONG:
            return StorageBusy.code
        return self._reason

    def _take_result(self) -> None:
        if self._trying is None or not self._trying.done():
            return
        reason = "store" if self._trying.cancelled() else self._trying.result()
        self._trying, self._next = None, self._now() + _EVERY
        if reason != StorageBusy.code:
            self._reason, self._waits_since = reason, None


async def failure_of(attempt: Awaitable[Any]) -> str | None:
    """Return why an attempt failed, in a word; None if it did not."""
    try:
        await attempt
    except TimeoutError:
        return "store_timeout"
    except MemstoneError as error:
        return error.code
    except Exception as error:  # noqa: BLE001 - whatever it is, the store does not answer
        log.warning("ready.failed", kind=type(error).__name__)
        return "store"
    return None
