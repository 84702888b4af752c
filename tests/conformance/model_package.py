"""A copy of a package with a model, whose files a test may change, and a process that uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def copy_package(module: str, folder: Path) -> Path:
    """Copy an installed package into a folder."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(shutil.copytree(Path(spec.origin).parent, folder / module))


def append_line(file: Path) -> None:
    """Change a file so that it still reads the same."""
    with file.open("ab") as opened:
        opened.write(b"\n")


def add_in_process(settings: dict[str, Any], folder: Path) -> str:
    """Return the answer of an ``add`` in a process that imports from this folder first."""
    script = f"""
from memstone import Memory
with Memory({settings!r}) as memory:
    print(memory.add('tea', user_id='a', infer=False))
"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    return done.stdout
