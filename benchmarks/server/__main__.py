"""``python -m benchmarks.server``: measure, print, and keep the result."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.server import measure
from benchmarks.server.service import running

_RESULTS: Final = Path(__file__).resolve().parents[1] / "results"
ADDED_MS: Final = 2.0


@click.command()
@click.option("--memories", default=2_000, show_default=True, help="How many are stored before.")
@click.option("--calls", default=1_000, show_default=True, help="Searches for the cost of a request.")
@click.option("--clients", default=200, show_default=True, help="Clients at once.")
@click.option("--seconds", default=60.0, show_default=True, help="How long they ask.")
@click.option("--quick", is_flag=True, help="300 searches and ten seconds.")
@click.option("--dry", is_flag=True, help="Print only, keep no results file.")
def main(*, memories: int, calls: int, clients: int, seconds: float, quick: bool, dry: bool) -> None:
    """Measure what the service costs over the library, and how it bears many clients at once."""
    if quick:
        calls, seconds = min(calls, 300), min(seconds, 10.0)
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder) / "bench.db", memories, calls, clients, seconds)
    text = as_table(found)
    click.echo(text)
    if not dry:
        name = f"server-{datetime.now(UTC):%Y-%m-%d}-{commit()}"
        (_RESULTS / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n")
        (_RESULTS / f"{name}.md").write_text(text + "\n")


def measured(place: Path, memories: int, calls: int, clients: int, seconds: float) -> dict[str, Any]:
    """Measure everything, one after the other."""
    key = measure.stocked(place, memories)
    library = asyncio.run(measure.library_cpu(place, calls))
    with running(place) as service:
        start = service.start_cpu
        rest = asyncio.run(measure.service_cpu(service, key, calls))
        load = asyncio.run(measure.load(service, key, clients, seconds))
    return {
        "commit": commit(),
        "memories": memories,
        "calls": calls,
        "clients": clients,
        "seconds": seconds,
        "load_average": [round(one, 1) for one in os.getloadavg()],
        "start_cpu_seconds": round(start, 2),
        "library_ms": round(library, 3),
        "service_ms": round(rest, 3),
        "added_ms": round(rest - library, 3),
        "load": load,
    }


def as_table(found: dict[str, Any]) -> str:
    """Return the result for people."""
    load = found["load"]
    rows = [
        ("start until ready, processor seconds", f"{found['start_cpu_seconds']}", "2"),
        ("search through the library, CPU ms", f"{found['library_ms']}", ""),
        ("search through the service, CPU ms", f"{found['service_ms']}", ""),
        ("added by the service, CPU ms", f"{found['added_ms']}", f"{ADDED_MS}"),
        (f"{found['clients']} clients for {found['seconds']:.0f} s: requests", f"{load['requests']}", ""),
        ("requests a second", f"{load['per_second']}", ""),
        ("errors", f"{load['errors']}", "0"),
        ("p50 / p99, ms", f"{load['p50_ms']} / {load['p99_ms']}", ""),
        ("memory at the beginning / most, MB", f"{load['megabytes'][0]} / {max(load['megabytes'])}", ""),
    ]
    lines = [f"# Service, {found['commit']}, {found['memories']:,} memories", ""]
    lines += ["| what | measured | at most |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", f"Load average of the machine when it was measured: {found['load_average']}."])


def commit() -> str:
    """Return the commit that is measured, and whether anything was changed since."""
    root = Path(__file__).resolve().parents[2]

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S603, S607
        return done.stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "uncommitted") + (
        "-dirty" if git("status", "--porcelain", "--", ".", ":!benchmarks/results") else ""
    )


if __name__ == "__main__":
    main()
