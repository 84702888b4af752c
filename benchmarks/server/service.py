"""A service in a process of its own, and what the kernel knows about it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_PATIENCE: Final = 120.0


@dataclass(frozen=True, slots=True)
class Service:
    """A running ``memstone serve``."""

    url: str
    pid: int
    start_cpu: float

    def cpu(self) -> float:
        """Processor seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def megabytes(self) -> float:
        """Resident memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE / 1_048_576


def config_of(place: Path) -> dict[str, Any]:
    """The settings of the library and of the service alike."""
    return {"store": {"url": f"sqlite:///{place}"}, "embedder": {"provider": "hash"}}


@contextmanager
def running(place: Path) -> Iterator[Service]:
    """Start a service over a store; it is ended afterwards."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    program = [sys.executable, "-m", "memstone.cli", "--db", str(place), "serve", "--port", str(port)]
    environment = {**os.environ, "MEMSTONE_EMBEDDER__PROVIDER": "hash", "MEMSTONE_SERVER__LOG": "json"}
    with subprocess.Popen(  # noqa: S603 - our own command
        program, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait(f"http://127.0.0.1:{port}", process)
            service = Service(f"http://127.0.0.1:{port}", process.pid, 0.0)
            yield Service(service.url, service.pid, service.cpu())
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx2.get(f"{url}/readyz", timeout=5).status_code == httpx2.codes.OK:
                return
        except httpx2.HTTPError:
            time.sleep(0.02)
    raise RuntimeError("the service does not answer")
