"""A Neo4j server on this machine, while a block runs: its community edition, with a password, over Bolt without TLS."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import neo4j
from neo4j.exceptions import ServiceUnavailable

from scripts.fetch_neo4j import fetch_jars
from tests.stores.free_port import free_port

PASSWORD: Final = "memstone-test"  # noqa: S105 - of a server that lasts for a test
_SETTINGS: Final = """
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.bolt.tls_level=DISABLED
server.http.enabled=false
server.https.enabled=false
server.memory.pagecache.size=64m
dbms.usage_report.enabled=false
"""
_OPENED: Final = ("java.nio", "java.io", "java.lang", "java.util.concurrent", "sun.nio.ch")


@dataclass(slots=True)
class Neo4jServer:
    """A server that can be killed and started again."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"bolt://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Write its settings and its password."""
        (self.folder / "conf").mkdir()
        (self.folder / "conf" / "neo4j.conf").write_text(_SETTINGS.format(port=self.port), "utf-8")
        command = self._java("org.neo4j.cli.AdminTool", "dbms", "set-initial-password", PASSWORD)
        homes = {"NEO4J_HOME": str(self.folder), "NEO4J_CONF": str(self.folder / "conf")}
        subprocess.run(command, check=True, env={**os.environ, **homes}, stdout=subprocess.DEVNULL)  # noqa: S603 - our own

    def _java(self, *arguments: str) -> list[str]:
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
        java = shutil.which("java")
        assert java is not None
        return [java, "-Xmx512m", "-XX:+UseSerialGC", *opened, "-cp", f"{fetch_jars()}/*", *arguments]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        home, settings = f"--home-dir={self.folder}", f"--config-dir={self.folder / 'conf'}"
        command = self._java("org.neo4j.server.CommunityEntryPoint", home, settings)
        log = (self.folder / "output.log").open("ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - our own
        log.close()
        self._wait()

    def _wait(self) -> None:
        assert self.process is not None
        with neo4j.GraphDatabase.driver(self.url, auth=("neo4j", PASSWORD), max_transaction_retry_time=0) as driver:
            for _ in range(600):
                try:
                    driver.execute_query("RETURN 1")
                except (ServiceUnavailable, neo4j.exceptions.DatabaseUnavailable):
                    if self.process.poll() is not None:
                        raise RuntimeError(f"the server ended with {self.process.returncode}") from None
                    time.sleep(0.2)
                else:
                    return
        raise RuntimeError("the server did not start")

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it neither answer nor refuse anything while a block runs."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def run_neo4j() -> Iterator[Neo4jServer]:
    """Give a server of its own; it ends with the block."""
    with TemporaryDirectory() as folder:
        server = Neo4jServer(Path(folder))
        server.prepare()
        try:
            server.start()
            yield server
        finally:
            server.kill()
