"""Put the jars of a Neo4j server into a folder, for the tests; it needs ``mvn`` and fetches 120 MB once.

No registry has a package of the whole server. Its parts are on Maven Central, though, and a Java virtual machine runs
them. The licence (GPL 3) allows that, and nothing of it becomes part of Memstone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

VERSION: Final = "5.26.30"
"""The newest of a line that Java 17 runs."""

_POM: Final = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>neo4j</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""


def fetch_jars() -> Path:
    """Return the folder of the jars; they are fetched unless they are there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memstone"
    folder = cache / f"neo4j-{VERSION}"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None or shutil.which("java") is None:
        raise SystemExit("a Neo4j server needs `java` (17) and `mvn`: apt-get install default-jre-headless maven")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        (Path(work) / "pom.xml").write_text(_POM, "utf-8")
        command = [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
        subprocess.run(command, cwd=work, check=True, stdout=sys.stderr)
        if not folder.is_dir():
            (Path(work) / "jars").rename(folder)
    return folder


if __name__ == "__main__":
    print(fetch_jars())
