"""Requests to an application in this process, without a server or a client library between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

_ENDLESS = 0.02
"""So many seconds after its first words a stream is left."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    text: str

    def json(self) -> Any:
        """The body, where it is JSON."""
        return json.loads(self.text)


@dataclass(frozen=True)
class Call:
    """One request, ready to be sent; ``body`` is JSON unless it is bytes."""

    method: str
    path: str
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    body: Any = None

    @property
    def sent(self) -> str:
        """Everything that is in it, to tell what an answer only repeats."""
        return f"{self.path} {urlencode(self.query, doseq=True)} {self.query} {self.headers} {self._body().decode()}"

    def _body(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    def scope(self, app: Any) -> dict[str, Any]:
        """As a server hands it over."""
        headers = [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        if self.body is not None:
            headers += [(b"content-length", str(len(self._body())).encode())]
            if "content-type" not in {name.lower() for name in self.headers}:
                headers.append((b"content-type", b"application/json"))
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": urlencode(self.query, doseq=True).encode(),
            "headers": [(b"host", b"testserver"), *headers],
            "client": ("127.0.0.1", 50_000),
            "server": ("testserver", 80),
            "app": app,
            "state": {},
        }

    async def send_to(self, app: Any) -> Answer:
        """Send it; a stream without an end is left after its first words."""
        status, pieces, left = 0, list[bytes](), asyncio.Event()
        incoming = [{"type": "http.request", "body": self._body(), "more_body": False}]

        async def receive() -> dict[str, Any]:
            if incoming:
                return incoming.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Mapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if b"text/event-stream" in dict(message["headers"]).get(b"content-type", b""):
                    asyncio.get_running_loop().call_later(_ENDLESS, left.set)
            else:
                pieces.append(message.get("body", b""))

        await app(self.scope(app), receive, send)
        left.set()
        return Answer(status, b"".join(pieces).decode("utf-8", "replace"))
