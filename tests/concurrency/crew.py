"""Processes that start their work at the same moment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_SECONDS: Final = 45
_PYTHON: Final = (sys.executable, "-X", "faulthandler", "-W", "ignore", "-m")
_ROOT: Final = Path(__file__).resolve().parents[2]


def run_crew(role: str, orders: Sequence[dict[str, Any]], module: str = "workers") -> list[Any]:
    """One process of a module per order; all are let go once all are ready. Gives what each reported."""
    crew = [
        subprocess.Popen(  # noqa: S603 - our own script
            [*_PYTHON, f"tests.concurrency.{module}", role, json.dumps(order)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for order in orders
    ]
    try:
        for worker in crew:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in crew:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [_report(worker) for worker in crew]
    finally:
        for worker in crew:
            worker.kill()
            worker.communicate()


def _report(worker: subprocess.Popen[str]) -> Any:
    out, problems = worker.communicate(timeout=_SECONDS)
    assert worker.returncode == 0, f"exit code {worker.returncode}\n{problems}"
    return json.loads(out)
