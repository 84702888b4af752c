"""Ports for programs that are told theirs."""

from __future__ import annotations

import os
import socket
from itertools import count
from typing import Final

# Below those which the system gives away by itself, and different ones in every process of a test run: a port that is
# free when it is looked for is still free when a program has started and takes it.
_NEXT: Final = count(10_240 + os.getpid() % 1_000 * 20)


def free_port() -> int:
    """A port of this machine that nobody has."""
    for port in _NEXT:
        with socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("there is always another")
