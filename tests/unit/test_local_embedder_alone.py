"""The built-in model in a process of its own: what it loads, leaves behind, and survives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import os, sys
from memstone.adapters.embed.local import LocalEmbedderConfig, LocalEmbedder
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
embedder = LocalEmbedder(LocalEmbedderConfig(), BlockingIo())
"""


def run_alone(script: str, home: Path) -> str:
    # A continuous-integration machine is spared the reports this looks for, so its variables are left out.
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = [sys.executable, "-W", "ignore", "-c", PRELUDE + script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    return done.stdout.strip()


@pytest.mark.req("X-38")
def test_the_runtime_reports_to_nobody(tmp_path: Path) -> None:
    out = run_alone("drive(embedder.embed(['tea'])); print(os.environ['ORT_DISABLE_TELEMETRY'])", tmp_path)

    assert out == "1"
    assert list(tmp_path.rglob("*")) == []


def test_importing_and_building_loads_neither_numpy_nor_the_runtime(tmp_path: Path) -> None:
    script = "drive(embedder.dimension()); print({'numpy', 'onnxruntime'} & set(sys.modules))"

    assert run_alone(script, tmp_path) == "set()"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_embeds_and_ends(tmp_path: Path) -> None:
    script = """
before = drive(embedder.embed(["tea"]))
child = os.fork()
if child == 0:
    same = (drive(embedder.embed(["tea"] * 40))[7] == before[0]).all()
    sys.exit(0 if same else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_alone(script, tmp_path) == "0"


MANY = "['tea with milk and sugar ' * 4] * 40"  # more than one run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_after_work_in_bulk_works_in_bulk_and_ends(tmp_path: Path) -> None:
    script = f"""
before = drive(embedder.embed({MANY}))
child = os.fork()
if child == 0:
    same = (drive(embedder.embed({MANY})) == before).all()
    sys.exit(0 if same else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (drive(embedder.embed({MANY})) == before).all())
"""
    assert run_alone(script, tmp_path) == "0 True"


def test_work_in_bulk_is_still_done_while_the_interpreter_ends(tmp_path: Path) -> None:
    script = f"""
import atexit
atexit.register(lambda: print(drive(embedder.embed({MANY})).shape))
"""
    assert run_alone(script, tmp_path) == "(40, 384)"
