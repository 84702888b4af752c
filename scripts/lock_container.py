"""Write which files of which packages the container installs: exact versions, each with the hashes of its wheels.

pip chooses, for Linux on both kinds of processors, as if it installed into the image; nothing is installed. Run it with
the Python of the image, which the Dockerfile names: pip judges conditions by the Python that runs it. ::

    python3.13 scripts/lock_container.py

``container/requirements.txt`` is what the service needs, ``container/build-requirements.txt`` what builds its wheel.
They name packages and hashes and no place: where pip looks for them is decided where the image is built.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
EXTRAS: Final = ("server", "mcp", "postgres")
"""What the Dockerfile installs beside the core."""

PROCESSORS: Final = ("x86_64", "aarch64")
_GLIBCS: Final = range(17, 42)  # Debian 13 has 2.41
_HEAD: Final = "# Written by scripts/lock_container.py for Python {version}; do not edit.\n"
_VERSION: Final = re.compile(r"^FROM python:(\d+\.\d+)\.", re.MULTILINE)


def wanted() -> dict[str, list[str]]:
    """Return what to choose from, by the name of the file that is written."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    optional = project["project"]["optional-dependencies"]
    runs = [*project["project"]["dependencies"], *(one for extra in EXTRAS for one in optional[extra])]
    return {"requirements.txt": runs, "build-requirements.txt": project["build-system"]["requires"]}


def python_version() -> str:
    """Return the Python of the image."""
    found = _VERSION.search((ROOT / "Dockerfile").read_text("utf-8"))
    assert found is not None, "the Dockerfile names its Python"  # noqa: S101 - it is our own file
    return found[1]


def chosen(requirements: Sequence[str], processor: str, version: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and SHA-256 of everything that pip would install."""
    platforms = [f"manylinux_2_{minor}_{processor}" for minor in _GLIBCS] + [f"manylinux2014_{processor}"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--disable-pip-version-check", "--report", str(report), "--target", str(Path(folder) / "target")]
        command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", version]
        command += [part for platform in platforms for part in ("--platform", platform)]
        subprocess.run([*command, *requirements], check=True)
        found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    for one in found["install"]:
        about = one["metadata"]
        yield about["name"], about["version"], one["download_info"]["archive_info"]["hashes"]["sha256"]


def locked(requirements: Sequence[str], version: str) -> str:
    """Return the text of a file of requirements, the same for all processors."""
    hashes: dict[str, set[str]] = {}
    for processor in PROCESSORS:
        for name, number, digest in chosen(requirements, processor, version):
            hashes.setdefault(f"{re.sub(r'[-_.]+', '-', name).lower()}=={number}", set()).add(digest)
    names = [line.partition("==")[0] for line in hashes]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"other versions on other processors: {', '.join(sorted(twice))}")
    lines = [
        " \\\n    ".join([line, *(f"--hash=sha256:{digest}" for digest in sorted(hashes[line]))])
        for line in sorted(hashes)
    ]
    return _HEAD.format(version=version) + "\n".join(lines) + "\n"


def main() -> None:
    """Write both files."""
    version = python_version()
    if ".".join(map(str, sys.version_info[:2])) != version:
        raise SystemExit(f"run this with Python {version}, which the image has")
    for name, requirements in wanted().items():
        (ROOT / "container" / name).write_text(locked(requirements, version), "utf-8")
        print(f"container/{name} written")


if __name__ == "__main__":
    main()
