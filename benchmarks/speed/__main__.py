"""``python -m benchmarks.speed``: measure, print the table, and keep it under ``benchmarks/results``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.speed import plan, report, venvs
from benchmarks.speed.runner import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def main() -> int:
    """Run; 1 when a target is missed and ``--strict`` was given."""
    options = _options()
    began = time.perf_counter()
    chosen = _plan(options)
    results = plan.run(chosen)
    table = report.rows(results, report.metrics(chosen.sizes, chosen.large))
    facts = _facts(round(time.perf_counter() - began))
    sha = facts["commit"]
    text = report.markdown(f"Speed of Memstone at {sha}", [(name, str(value)) for name, value in facts.items()], table)
    if not options.dry:
        _keep(f"{facts['date']}-{sha}", text, {"facts": facts, "results": results})
    sys.stdout.write(text)
    return 1 if options.strict and any(row[3] in report.MISSED for row in table) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("--sizes", type=_sizes, default=(1_000, 10_000, 50_000), help="memories, e.g. 1000,10000")
    parser.add_argument("--peer-sizes", type=_sizes, help="sizes for the peer, when not the same; 0 leaves it out")
    parser.add_argument("--large", type=int, default=300_000, help="memories of 1,000 users, Memstone only; 0 skips")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds for the calls of one kind")
    parser.add_argument("--quick", action="store_true", help="1,000 memories and nothing slow, in under a minute")
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(size for size in map(int, text.split(",")) if size)


def _plan(options: argparse.Namespace) -> plan.Plan:
    if options.quick:
        return plan.Plan((1_000,), (1_000,), footprint=False, budget=1.0, repeats=1, import_runs=2, say=_say)
    peer_sizes = options.sizes if options.peer_sizes is None else options.peer_sizes
    return plan.Plan(options.sizes, peer_sizes, options.large, budget=options.budget, say=_say)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _facts(seconds: int) -> dict[str, Any]:
    """Tell where the numbers come from; nothing that names a person or a path."""
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "took": f"{seconds} s",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "peer": f"{venvs.PEER} {venvs.PEER_VERSION}, embedded store, telemetry off",
        "vectors": "384 dimensions, the same for all, made before the clock starts",
        "times": "CPU per call of all threads, mean, unless they say wall",
    }


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],  # noqa: S607 - whichever git is installed
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "uncommitted"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _keep(name: str, text: str, data: dict[str, Any]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
