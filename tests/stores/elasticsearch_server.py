"""A real Elasticsearch server for the tests: the distribution that its own plugins are tested with, of Maven Central.

It needs Java 17 or newer. Elasticsearch refuses to run as root; where the tests do, it runs as ``nobody``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.stores.free_port import free_port

VERSION: Final = "8.19.21"
_ADDRESS: Final = (
    "https://repo1.maven.org/maven2/org/elasticsearch/distribution/integ-test-zip/elasticsearch/"
    f"{VERSION}/elasticsearch-{VERSION}.zip"
)
_SHA256: Final = "215d5f3dbf0609a149f6218a9e47b6ae2df34ebbff3c5754e35f15a5e5393c8a"
_CACHE: Final = Path(tempfile.gettempdir()) / f"memstone-tests-{os.getuid()}"
_HOME: Final = _CACHE / f"elasticsearch-{VERSION}"
_START_SECONDS: Final = 180.0


def can_run_elasticsearch() -> bool:
    """Whether this machine has what it takes."""
    return shutil.which("java") is not None


@contextmanager
def run_elasticsearch() -> Iterator[str]:
    """Start a server on free ports; gives its address."""
    _fetch_distribution()
    folder = Path(tempfile.mkdtemp(prefix="elasticsearch-"))
    port = free_port()
    _write_configuration(folder, port)
    user = "nobody" if os.getuid() == 0 else None
    if user is not None:
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, user)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own
            [str(_HOME / "bin" / "elasticsearch")],
            env=_environment(folder),
            cwd=folder,
            stdout=log,
            stderr=log,
            user=user,
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url, process, folder / "log")
            yield url
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _fetch_distribution() -> None:
    if (_HOME / "bin" / "elasticsearch").exists():
        return
    _CACHE.mkdir(parents=True, exist_ok=True)
    archive = _CACHE / "elasticsearch.zip"
    urllib.request.urlretrieve(_ADDRESS, archive)  # noqa: S310 - a constant
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != _SHA256:
        raise RuntimeError(f"{_ADDRESS} is not what it was: {found}")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(_CACHE)
    archive.unlink()
    for path in (_CACHE, *_CACHE.rglob("*")):
        path.chmod(0o755)


def _write_configuration(folder: Path, port: int) -> None:
    shutil.copytree(_HOME / "config", folder / "config")
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir()
    settings = {
        "cluster.name": "tests",
        "network.host": "127.0.0.1",
        "http.port": port,
        "transport.port": free_port(),
        "discovery.type": "single-node",
        "xpack.security.enabled": "false",
        "path.data": folder / "data",
        "path.logs": folder / "logs",
    }
    text = "".join(f"{name}: {value}\n" for name, value in settings.items())
    (folder / "config" / "elasticsearch.yml").write_text(text, "utf-8")


def _environment(folder: Path) -> dict[str, str]:
    java = Path(shutil.which("java") or "java").resolve().parent.parent
    paths = {"ES_JAVA_HOME": java, "ES_PATH_CONF": folder / "config", "ES_TMPDIR": folder / "tmp"}
    return {**os.environ, **{name: str(path) for name, path in paths.items()}, "ES_JAVA_OPTS": "-Xms1g -Xmx1g"}


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow", timeout=5):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"Elasticsearch did not start: {log.read_text('utf-8', 'replace')[-2000:]}")
