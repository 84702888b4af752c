"""Virtual environments: the peer's, and clean ones to see what an install brings."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from benchmarks.speed.measure import directory_mb
from benchmarks.speed.runner import ChildFailed, last_words

PEER: Final = "mem0ai"
PEER_VERSION: Final = "2.2.1"


@dataclass(frozen=True, slots=True)
class Footprint:
    """What an install brings."""

    distributions: int
    megabytes: float


def cache_root() -> Path:
    """Return where environments are kept between runs."""
    return Path(os.environ.get("MEMSTONE_BENCH_CACHE", Path.home() / ".cache" / "memstone-bench"))


def ensure(directory: Path, requirement: str) -> Path:
    """Return the interpreter of an environment with ``requirement`` in it, made when it is not there yet.

    The environment has no pip of its own, so that what it holds is what the requirement brought.
    """
    python = directory / "bin" / "python"
    marker = directory / "installed.txt"
    if marker.exists() and marker.read_text(encoding="utf-8") == requirement:
        return python
    venv.create(directory, clear=True, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(  # noqa: S603 - our own command line
        [*pip, requirement], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ChildFailed(last_words(done.stderr))
    marker.write_text(requirement, encoding="utf-8")
    return python


def footprint(python: Path) -> Footprint:
    """Return how much the environment of an interpreter holds."""
    packages = next((python.parent.parent / "lib").glob("python*/site-packages"))
    return Footprint(len(list(distributions(path=[str(packages)]))), directory_mb(packages))
