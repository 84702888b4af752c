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
        """Return the processor seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def megabytes(self) -> float:
        """Return the resident memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE / 1_048_576


def config_of(place: Path) -> dict[str, Any]:
    """Return the settings of the library and of the service alike."""
    return {"store": {"url": f"sqlite:///{place}"}, "embedder": {"provider": "hash"}}


@contextmanager
def running(place: Path, *, log: Path | None = None, descriptors: int = 0, **settings: str) -> Iterator[Service]:
    """Start a service over a store; it is ended afterwards.

    ``log`` is where its log goes, ``descriptors`` how many files it may have open, 0 for as many as this process.
    ``settings`` are variables of its environment.
    """
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    program = [sys.executable, "-m", "memstone.cli", "--db", str(place), "serve", "--port", str(port)]
    if descriptors:
        program = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *program]
    # One key asks all the time here; what it may ask in a minute is not what is measured.
    ours = {"EMBEDDER__PROVIDER": "hash", "SERVER__LOG": "json", "SERVER__RATE__PER_MINUTE": "0", **settings}
    environment = {**os.environ, **{f"MEMSTONE_{name}": value for name, value in ours.items()}}
    with (
        (log or Path(os.devnull)).open("wb") as written,
        subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL, stderr=written) as process,  # noqa: S603 - our own command
    ):
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
