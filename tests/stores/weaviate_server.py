"""A real Weaviate server for the tests, where there is one: ``go build ./cmd/weaviate-server`` in its source makes it.

``MEMSTONE_WEAVIATE_SERVER`` names the program. It listens on all interfaces with its gRPC and cluster ports; run the
tests in a network of their own (``unshare --net``) where that matters.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.stores.free_port import free_port

KEY: Final = "wv-test-4711"
PROGRAM: Final = os.environ.get("MEMSTONE_WEAVIATE_SERVER", "")
_START_SECONDS: Final = 90.0


@contextmanager
def run_weaviate(grpc_port: int = 0) -> Iterator[str]:
    """Start a server on free ports; gives its address."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [PROGRAM, "--host", "127.0.0.1", "--port", str(port), "--scheme", "http"]
        env = _environment(folder, grpc_port)
        with (
            (Path(folder) / "log").open("wb") as log,
            subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log) as process,  # noqa: S603 - whoever runs the tests names it
        ):
            try:
                url = f"http://127.0.0.1:{port}"
                _wait_until_ready(url, process, Path(folder) / "log")
                yield url
            finally:
                process.kill()


def _environment(folder: str, grpc_port: int) -> dict[str, str]:
    ports = {name: str(free_port()) for name in ("CLUSTER_GOSSIP_BIND_PORT", "RAFT_PORT")}
    return {
        **os.environ,
        **ports,
        "GRPC_PORT": str(grpc_port or free_port()),
        "CLUSTER_DATA_BIND_PORT": str(int(ports["CLUSTER_GOSSIP_BIND_PORT"]) + 1),
        "RAFT_INTERNAL_RPC_PORT": str(int(ports["RAFT_PORT"]) + 1),
        "PERSISTENCE_DATA_PATH": f"{folder}/data",
        "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
        "AUTHENTICATION_APIKEY_ENABLED": "true",
        "AUTHENTICATION_APIKEY_ALLOWED_KEYS": KEY,
        "AUTHENTICATION_APIKEY_USERS": "tester",
        "DEFAULT_VECTORIZER_MODULE": "none",
        "CLUSTER_HOSTNAME": "node1",
        "CLUSTER_IN_LOCALHOST": "true",
        "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
        "CLUSTER_BIND_ADDR": "127.0.0.1",
        "CLUSTER_ADVERTISE_PORT": ports["CLUSTER_GOSSIP_BIND_PORT"],
        "DISABLE_TELEMETRY": "true",
        "LOG_LEVEL": "warning",
    }


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/v1/.well-known/ready", timeout=5):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"Weaviate did not start: {log.read_text('utf-8', 'replace')[-2000:]}")
