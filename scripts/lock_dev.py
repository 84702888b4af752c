"""Write ``dev.lock``: the version of every package that ``make`` installs for development.

pip chooses among everything that the groups ``dev`` and ``types`` and the extras of the tests allow; nothing is
installed. ``make`` hands the file to pip as constraints, so that two developers, and the checks before a change is
taken, run the same versions. It names no hashes and no place: on another system the same version is another file. ::

    .venv/bin/python scripts/lock_dev.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = ROOT / "dev.lock"
GROUPS: Final = ("dev", "types")
EXTRAS: Final = (
    "encryption",
    "faiss",
    "falkordb",
    "keyring",
    "local-llm",
    "mcp",
    "multilingual",
    "neo4j",
    "postgres",
    "redis",
    "server",
    "static",
    "tiktoken",
)
"""What ``make test`` and ``make test-llm`` install beside the core."""

_HEAD: Final = "# Written by scripts/lock_dev.py with Python {version}; do not edit.\n"


def read_requirements(project: Mapping[str, Any]) -> list[str]:
    """Return what a developer's environment asks for, of everything that pyproject.toml names."""
    extras = project["project"]["optional-dependencies"]
    groups = project["dependency-groups"]
    return [
        *project["project"]["dependencies"],
        *(one for extra in EXTRAS for one in extras[extra]),
        *(one for group in GROUPS for one in groups[group]),
    ]


def choose_versions(requirements: Sequence[str]) -> dict[str, str]:
    """Return the version of every package that pip would install, by its normalized name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), *requirements], check=True)
        found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    about = [one["metadata"] for one in found["install"]]
    return {re.sub(r"[-_.]+", "-", one["name"]).lower(): one["version"] for one in about}


def write_lock() -> None:
    """Choose again and replace the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    versions = choose_versions(read_requirements(project))
    head = _HEAD.format(version=".".join(map(str, sys.version_info[:2])))
    LOCK.write_text(head + "".join(f"{name}=={versions[name]}\n" for name in sorted(versions)), "utf-8")
    print(f"{LOCK.name}: {len(versions)} packages")


if __name__ == "__main__":
    write_lock()
