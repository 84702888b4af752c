"""Starts children and reads their answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
LONGEST_JOB_S: Final = 1800

_IMPORT_PROBE: Final = """
import json, sys, time
before = time.process_time()
{statement}
spent = (time.process_time() - before) * 1e3
print(json.dumps({{"cpu_ms": spent, "heavy": [m for m in ("numpy", "pydantic", "httpx2") if m in sys.modules]}}))
"""


class ChildFailed(Exception):
    """A child ended with an error; the message is its last words."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One system's interpreter."""

    system: str
    python: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, job: str, **value: Any) -> dict[str, Any]:
        """Run a job in a new process."""
        command = [str(self.python), "-m", "benchmarks.speed.child", self.system, job]
        answer: dict[str, Any] = json.loads(self._start(command, json.dumps(value)))
        return answer

    def imports(self, statement: str, runs: int) -> dict[str, Any]:
        """Return the quickest of a few imports, each in a new process, and which heavy modules it loads."""
        command = [str(self.python), "-c", _IMPORT_PROBE.format(statement=statement)]
        seen = [json.loads(self._start(command, "")) for _ in range(runs)]
        best: dict[str, Any] = min(seen, key=lambda one: float(one["cpu_ms"]))
        return {**best, "heavy_count": len(best["heavy"])}

    def _start(self, command: list[str], text: str) -> str:
        paths = f"{ROOT}{os.pathsep}{ROOT / 'src'}" if self.system.startswith("memstone") else str(ROOT)
        environment = {**os.environ, "PYTHONPATH": paths, **self.environment}
        done = subprocess.run(  # noqa: S603 - our own command line
            command,
            input=text,
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LONGEST_JOB_S,
            check=False,
        )
        if done.returncode:
            raise ChildFailed(last_words(done.stderr))
        return done.stdout


def last_words(stderr: str) -> str:
    """Return the last line of what a process said on standard error, without our own path."""
    lines = stderr.strip().splitlines()
    return lines[-1].replace(str(ROOT), ".") if lines else "it said nothing"


def product() -> Runner:
    """Return Memstone, in the interpreter that runs this."""
    return Runner("memstone", Path(sys.executable))


def talking() -> Runner:
    """Memstone with everything on."""
    return Runner("memstone_talk", Path(sys.executable))


def floor() -> Runner:
    """Return the floor, likewise; with one BLAS thread, because more of them get in each other's way."""
    return Runner("floor", Path(sys.executable), {"OPENBLAS_NUM_THREADS": "1"})


def peer(python: Path, home: Path) -> Runner:
    """Return the peer, silent and with a home of its own."""
    silent = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home), "HOME": str(home), "ANONYMIZED_TELEMETRY": "False"}
    return Runner("mem0", python, silent)
