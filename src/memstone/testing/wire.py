"""A loopback HTTP server that records what it is sent and answers what it is told.

It proves what really goes over the wire::

    with WireServer() as server:
        server.script(WireReply(json={"ok": True}))
        ...                                   # talk to server.url
        assert server.requests[0].json == {...}
"""

from __future__ import annotations

import json as jsonlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias

_JOIN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as it arrived; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return jsonlib.loads(self.body)


@dataclass(frozen=True, slots=True)
class WireReply:
    """An answer: ``json``, or raw ``body``, or ``chunks`` sent one by one as they come.

    ``delay`` seconds pass before it, unless the server ends before; with ``hang_up`` the connection is closed without
    a word.
    """

    status: int = 200
    json: Any = None
    body: bytes = b""
    chunks: Iterable[bytes] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang_up: bool = False

    def payload(self) -> bytes:
        """The bytes of the body."""
        return self.body if self.json is None else jsonlib.dumps(self.json).encode()


Handler: TypeAlias = Callable[[WireRequest], WireReply]


class WireServer:
    """Listens on a free port of 127.0.0.1 while its ``with`` block runs.

    Answers come from the script first, then from ``handler``; without either the answer is a 500 that
    says so.
    """

    def __init__(self, handler: Handler | None = None) -> None:
        self.requests: list[WireRequest] = []
        self.handler = handler
        self._script: deque[WireReply] = deque()
        self._server = _Listener(self._answer)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address without a path: ``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def script(self, *replies: WireReply) -> None:
        """Answers for the next requests, in order."""
        self._script.extend(replies)

    def _answer(self, request: WireRequest) -> WireReply:
        self.requests.append(request)
        with suppress(IndexError):
            return self._script.popleft()
        if self.handler is None:
            return WireReply(500, body=b"the script has no further answer")
        try:
            return self.handler(request)
        except Exception as error:  # noqa: BLE001 - on this thread nobody would see it; as an answer the test does
            return WireReply(500, body=f"the handler failed: {error!r}".encode())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.over.set()
        self._server.shutdown()
        self._thread.join(_JOIN_SECONDS)
        self._server.hang_up_all()
        self._server.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Handler) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answer = answer
        self.over = threading.Event()
        self._connections: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.append(connection)
        return connection, address

    def hang_up_all(self) -> None:
        """End connections that clients keep open, and with them their threads."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that went away; what it sees is what a test checks."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one packet, at once: otherwise every exchange waits 40 ms for a delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Listener

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self._send(self.server.answer(self._received()))
        self.wfile.flush()

    def _received(self) -> WireRequest:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return WireRequest(self.command, self.path, headers, body)

    def _send(self, reply: WireReply) -> None:
        if reply.hang_up or (reply.delay and self.server.over.wait(reply.delay)):
            self.close_connection = True
        elif reply.chunks is not None:
            self._send_chunks(reply, reply.chunks)
        else:
            payload = reply.payload()
            self._send_head(reply, {"content-length": str(len(payload))})
            self.wfile.write(payload)

    def _send_head(self, reply: WireReply, framing: dict[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **framing, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_chunks(self, reply: WireReply, chunks: Iterable[bytes]) -> None:
        self._send_head(reply, {"transfer-encoding": "chunked"})
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Stay quiet."""
