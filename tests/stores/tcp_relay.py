"""A relay between a client and a server, whose connections a test can cut, and which can be closed for a while."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

_PIECE = 65_536


class TcpRelay:
    """Listens on a free port of 127.0.0.1 and passes every byte on, until it is told otherwise."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._is_closed = False
        self._guard = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End every connection; new ones are welcome."""
        with self._guard:
            ended, self._sockets = self._sockets, []
        for one in ended:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close_off(self) -> None:
        """End every connection, and every new one at once."""
        self._is_closed = True
        self.cut()

    def open_up(self) -> None:
        """Let connections through again."""
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.close_off()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_closed:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target), 10)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._guard:
                self._sockets += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
    source.close()
