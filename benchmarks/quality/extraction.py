"""Facts that the rules learn from conversations in LoCoMo's format, beside that file's own observations.

``python -m benchmarks.quality.extraction CONVERSATIONS.json FOLDER`` writes ``pred.jsonl``, ``gold.jsonl`` and
``source.jsonl`` (one line a session: ``{"id", "facts"}`` or ``{"id", "text"}``), the form that fact-level metrics read,
and ``sample.jsonl``: facts drawn at random with their evidence, for somebody to judge.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retain.core.curate import EFFECT, candidates

SAMPLE = 100
SEED = 2026


def sessions(path: Path) -> Iterator[tuple[str, list[dict[str, Any]], list[str]]]:
    """Every session: its id, its turns, and the facts people noted about it."""
    for case in json.loads(path.read_text("utf-8")):
        for name, turns in case["conversation"].items():
            if isinstance(turns, list):
                noted = case["observation"].get(f"{name}_observation", {})
                facts = [fact for about in noted.values() for fact, *_ in about]
                yield f"{case['sample_id']}:{name}", turns, facts


def learned(turns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the rules learn from a session, with the words it comes from."""
    for turn in turns:
        for one in candidates(turn["text"], speaker=turn["speaker"]):
            if one.category != EFFECT:
                quote = turn["text"][one.start : one.end]
                yield {"fact": one.text, "evidence": quote, "turn": turn["dia_id"], "said": turn["text"]}


def main(path: str, folder: str) -> None:
    """Write the files."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    rows = [(name, list(learned(turns)), gold, turns) for name, turns, gold in sessions(Path(path))]
    _write(target / "pred.jsonl", ({"id": name, "facts": [one["fact"] for one in found]} for name, found, _, _ in rows))
    _write(target / "gold.jsonl", ({"id": name, "facts": gold} for name, _, gold, _ in rows))
    told = (
        {"id": name, "text": "\n".join(f"{t['speaker']}: {t['text']}" for t in turns)} for name, _, _, turns in rows
    )
    _write(target / "source.jsonl", told)
    everything = [{"session": name, **one} for name, found, _, _ in rows for one in found]
    chosen = random.Random(SEED).sample(everything, min(SAMPLE, len(everything)))  # noqa: S311 - a draw, not a secret
    _write(target / "sample.jsonl", iter(chosen))
    verbatim = sum(one["evidence"] in one["said"] and bool(one["evidence"]) for one in everything)
    print(f"{len(everything)} facts in {len(rows)} sessions; evidence verbatim for {verbatim}")


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
