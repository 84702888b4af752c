"""Environments for what cannot be installed beside the developer's tools: one for each group of ``pyproject.toml``.

They are made when a system test first wants them, in ``.environments``, and made again when the group changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("MEMSTONE_ENVIRONMENTS", ROOT / ".environments"))


def environment_python(group: str, *extras: str) -> Path:
    """Return the Python of an environment with a group and, if extras are named, with Memstone itself."""
    wanted = json.dumps([_group_packages(group), sorted(extras), sys.version_info[:2]])
    folder = FOLDER / group
    python, mark = folder / "bin" / "python", folder / "installed"
    digest = hashlib.sha256(wanted.encode()).hexdigest()
    if mark.exists() and mark.read_text() == digest:
        return python
    venv.create(folder, clear=True, with_pip=True)
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--retries", "10"]
    own = ["--editable", f"{ROOT}[{','.join(extras)}]"] if extras else []
    subprocess.run([*install, *own, "--group", f"{ROOT / 'pyproject.toml'}:{group}"], check=True)  # noqa: S603
    mark.write_text(digest)
    return python


def _group_packages(group: str) -> list[str]:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    return [str(one) for one in groups[group]]


def run_module(python: Path, *arguments: str, seconds: int = 600) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests in an environment, from the root of the repository."""
    return run_script(python, "-m", *arguments, path=ROOT, folder=ROOT, seconds=seconds)


def run_script(
    python: Path, *arguments: str, path: Path, folder: Path, seconds: int = 600
) -> subprocess.CompletedProcess[str]:
    """Run something in an environment, with our sources and ``path`` to import from."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    env = {**keep, "PYTHONPATH": f"{ROOT / 'src'}:{path}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603


def unpack_source(requirement: str, folder: Path) -> Path:
    """Fetch the source distribution of a package and unpack it; return the folder in it."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*fetch, "--dest", str(folder), requirement], check=True)  # noqa: S603
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")
