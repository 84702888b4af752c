"""``python -m benchmarks.tokens``: count, print the tables, and keep them under ``benchmarks/results``."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from benchmarks.speed import venvs
from benchmarks.speed.__main__ import _commit, _keep, _say
from benchmarks.tokens import embedding, plan, report
from benchmarks.tokens.script import CONVERSATIONS


def main() -> int:
    """Run; 1 when Memstone needs more tokens than the peer and ``--strict`` was given."""
    parser = argparse.ArgumentParser(prog="benchmarks.tokens", description=__doc__)
    parser.add_argument("--dry", action="store_true", help="print only, keep no results file")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 when Memstone needs more tokens than the peer"
    )
    parser.add_argument("--vectors", choices=embedding.KINDS, default=embedding.MINILM, help="what is near what")
    options = parser.parse_args()
    results = plan.run(plan.Plan(options.vectors, _say))
    facts = _facts(options.vectors)
    text = report.markdown(f"Tokens of Memstone at {facts['commit']}", facts.items(), results)
    if not options.dry:
        _keep(f"{facts['date']}-{facts['commit']}-tokens", text, {"facts": facts, "results": results})
    sys.stdout.write(text)
    return 1 if options.strict and not all(map(report.cheaper, results.values())) else 0


def _facts(vectors: str) -> dict[str, str]:
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "peer": f"{venvs.PEER} {venvs.PEER_VERSION}, embedded store, telemetry off",
        "conversations": f"{len(CONVERSATIONS)} of one user, each added and at once added again",
        "tokens": "a quarter of the characters, rounded up, of each message in and of the answer out",
        "model": "scripted, the same for both: the same facts in the same words",
        "vectors": f"{vectors}, the same for both",
    }


if __name__ == "__main__":
    sys.exit(main())
