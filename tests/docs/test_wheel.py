"""The package as its users get it: built, installed into an empty environment, run without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_PACKAGES, MOST_MEGABYTES = 25, 230
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(ROOT))
    run(sys.executable, "-m", "venv", str(place / "env"))
    (wheel,) = place.glob("memstone-*.whl")
    run(str(place / "env" / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel))
    return place / "env"


def run(*command: str, stdin: str = "", **environ: str) -> str:
    ran = subprocess.run(  # noqa: S603 - pip and our own program
        command,
        env={**os.environ, "PYTHONPATH": "", **environ},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.system
def test_it_is_small(environment: Path) -> None:
    listed = run(str(environment / "bin" / "python"), "-m", "pip", "list", "--format=freeze").splitlines()
    names = [line.partition("==")[0] for line in listed if not line.startswith(("pip==", "setuptools=="))]
    (packages,) = environment.glob("lib/python*/site-packages")
    files = [
        path
        for path in packages.rglob("*")
        if path.is_file() and not path.relative_to(packages).parts[0].startswith(("pip", "setuptools", "pkg_resources"))
    ]
    size = sum(path.stat().st_size for path in files) / 1_000_000
    assert len(names) <= MOST_PACKAGES, names
    assert size <= MOST_MEGABYTES, f"{size:.0f} MB"


@pytest.mark.system
def test_it_chats_and_shows_its_demonstration_without_a_network(environment: Path, tmp_path: Path) -> None:
    program = [str(environment / "bin" / "memstone")]
    alone = [shutil.which("unshare") or "false", "-n"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode == 0:  # noqa: S603
        program = [*alone, *program]  # where that is allowed, there is no network at all
    how = {"HOME": str(tmp_path), **NO_NETWORK}
    assert "learned    User lives in Oslo." in run(*program, "chat", stdin="I live in Oslo.\n", **how)
    assert "Where is home?" in run(*program, "demo", **how)
    assert "User lives in Oslo." in run(*program, "search", "Where is home?", "--user", "me", **how)
