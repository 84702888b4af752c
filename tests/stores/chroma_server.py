"""A Chroma server on this machine, while a block runs."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.stores.free_port import free_port


@contextmanager
def run_chroma() -> Iterator[str]:
    """The address of a server of its own; it ends with the block."""
    program = Path(sys.executable).with_name("chroma")
    port = free_port()
    with TemporaryDirectory() as folder:
        command = [str(program), "run", "--host", "127.0.0.1", "--port", str(port), "--path", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/v2/heartbeat", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(url) as answer:  # noqa: S310 - an address of this machine
                answer.read()
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}") from None
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not start")
