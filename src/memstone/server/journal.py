"""The requests of the last hours, for administrators: which route, by which key, how it ended. Never what was said.

It is held in memory and bounded in number and age; the log on standard error is what outlives the process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


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
        """Keep one; who watches the requests hands it over."""
        self._lines.append(line)
        while self._lines and self._lines[0].at < line.at - self._seconds:
            self._lines.popleft()

    def of(self, tenant_id: str, now: float) -> Iterator[Line]:
        """Those of a tenant's keys, newest first."""
        for line in reversed(self._lines):
            if line.tenant_id == tenant_id and line.at >= now - self._seconds:
                yield line
