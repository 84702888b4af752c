"""The requests of the last hours, for administrators: which route, by which key, how it ended. Never what was said.

It is held in memory and bounded in number and age; the log on standard error is what outlives the process.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FAILED: Final = 500


@dataclass(frozen=True, slots=True)
class Line:
    """One request."""

    at: float
    tenant_id: str
    key_id: str
    method: str
    route: str
    status: int
    ms: float
    request_id: str

    def as_dict(self) -> dict[str, Any]:
        """What an administrator is shown."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {
            "at": at,
            "key_id": self.key_id,
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": self.ms,
            "request_id": self.request_id,
        }


class Journal:
    """The last requests, no more than so many and none older than so many hours."""

    def __init__(self, entries: int, hours: float) -> None:
        self._lines: deque[Line] = deque(maxlen=entries)
        self._seconds = hours * 3_600

    def note(self, line: Line) -> None:
        """Keep one."""
        self._lines.append(line)
        while self._lines and self._lines[0].at < line.at - self._seconds:
            self._lines.popleft()

    def of(self, tenant_id: str, now: float) -> Iterator[Line]:
        """Those of a tenant's keys, newest first."""
        for line in reversed(self._lines):
            if line.tenant_id == tenant_id and line.at >= now - self._seconds:
                yield line


class Recorder:
    """Notes every request that reaches a route with a key."""

    def __init__(self, app: ASGIApp, journal: Journal) -> None:
        self._app, self._journal = app, journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and note how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), _FAILED

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, answered)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        state = scope.get("state", {})
        caller = state.get("caller")
        if caller is None:  # nobody's, so nobody's administrator is shown it
            return
        route = getattr(scope.get("route"), "path", "")
        told = (scope["method"], route, status, round(seconds * 1_000, 3), state.get("request_id", ""))
        self._journal.note(Line(time.time(), caller.key.tenant_id, caller.key.id, *told))


def install(app: FastAPI) -> None:
    """Let an application keep a journal, as ``app.state.journal``."""
    server = app.state.retain.settings.server
    app.state.journal = Journal(server.request_log, server.request_log_hours)
    app.add_middleware(Recorder, journal=app.state.journal)
