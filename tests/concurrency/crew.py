"""Processes that start their work at the same moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_SECONDS: Final = 150
_PYTHON: Final = (sys.executable, "-X", "faulthandler", "-W", "ignore", "-m")
_ROOT: Final = Path(__file__).resolve().parents[2]


def run_crew(role: str, orders: Sequence[dict[str, Any]], module: str = "workers") -> list[Any]:
    """One process of a module for each order; all are let go once all are ready. Gives what each reported."""
    command = [*_PYTHON, f"tests.concurrency.{module}", role, json.dumps(orders)]
    pipe = subprocess.PIPE
    crew = subprocess.Popen(  # noqa: S603 - our own script
        command, cwd=_ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    try:
        assert crew.stdout is not None
        assert crew.stdout.readline() == "ready\n", crew.communicate()
        out, problems = crew.communicate("go\n", timeout=_SECONDS)
        assert crew.returncode == 0, f"exit code {crew.returncode}\n{problems}"
        reports: list[Any] = json.loads(out)
        return reports
    finally:
        with suppress(ProcessLookupError):
            os.killpg(crew.pid, signal.SIGKILL)
        crew.communicate()
