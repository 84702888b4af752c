"""Run the table against one product: ``python -m tests.mem0.run_table mem0 [NAME...]``; one line of JSON a row."""

from __future__ import annotations

import json
import os
import sys
import tempfile


def main(product: str, names: list[str]) -> int:
    """Run every row by the blocking and by the asyncio class; return how many failed."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp())
    from tests.mem0.behaviours import subject_of
    from tests.mem0.removing import ROWS

    failed = 0
    for use_asyncio in (False, True):
        for row in ROWS.values():
            if names and row.name not in names:
                continue
            error = ""
            with subject_of(product, use_asyncio=use_asyncio) as subject:
                try:
                    row.run(subject)
                except Exception as problem:  # noqa: BLE001 - that is the outcome
                    error = f"{type(problem).__name__}: {problem}"
            failed += bool(error)
            line = {"row": row.name, "asyncio": use_asyncio, "differs": bool(row.differs), "error": error[:300]}
            sys.stdout.write(json.dumps(line) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1], sys.argv[2:]), 100))
