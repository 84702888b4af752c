"""A real OpenSearch server for the tests, put together from its jars on Maven Central; it needs Maven and a JDK."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.stores.free_port import free_port

SOURCE: Final = Path(__file__).parent / "opensearch"
CACHE: Final = Path.home() / ".cache" / "memstone-tests" / "opensearch-2.19.0"
_START_SECONDS: Final = 120.0


def can_run_opensearch() -> bool:
    """Whether this machine has what it takes."""
    return all(shutil.which(program) for program in ("java", "javac", "mvn"))


@contextmanager
def run_opensearch() -> Iterator[str]:
    """Start a server on free ports; gives its address."""
    folder = _fetch_jars()
    with TemporaryDirectory() as home:
        (Path(home) / "config").mkdir()
        port = free_port()
        classes = f"{folder}:{folder}/jars/*"
        command = ["java", "-Xmx1g", "-cp", classes, "StartOpenSearch", home, str(port), str(free_port())]
        with (Path(home) / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:  # noqa: S603 - our own
            try:
                url = f"http://127.0.0.1:{port}"
                _wait_until_ready(url, process, Path(home) / "log")
                yield url
            finally:
                process.kill()


def _fetch_jars() -> Path:
    """Return a folder with the jars and the class that starts them; made once."""
    if not (CACHE / "StartOpenSearch.class").exists():
        jars = CACHE / "jars"
        jars.mkdir(parents=True, exist_ok=True)
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        _run(["mvn", "-q", "-B", "-f", str(SOURCE / "pom.xml"), *copy])
        for plugin in jars.glob("*.zip"):
            with zipfile.ZipFile(plugin) as archive:
                archive.extractall(jars, [name for name in archive.namelist() if name.endswith(".jar")])
        _run(["javac", "-d", str(CACHE), "-cp", f"{jars}/*", str(SOURCE / "StartOpenSearch.java")])
    return CACHE


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, timeout=600)  # noqa: S603 - our own


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow", timeout=5):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"OpenSearch did not start: {log.read_text('utf-8', 'replace')[-2000:]}")
