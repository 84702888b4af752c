"""Facts that the rules learn from conversations in LoCoMo's format, beside that file's own observations.

With a folder, also what somebody needs who wants to judge for himself: ``pred.jsonl``, ``gold.jsonl`` and
``source.jsonl`` (one line a session: ``{"id", "facts"}`` or ``{"id", "text"}``), the form that fact-level metrics read,
and ``sample.jsonl``: facts drawn at random with their evidence.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.cases import reading
from benchmarks.quality.facts import agreement, precision_recall_f1
from benchmarks.quality.metrics import mean
from benchmarks.quality.report import Table
from memstone.adapters.embed.curator import LocalCurator
from memstone.language.en.facts import read_message

SAMPLE = 100
SEED = 2026

CURATOR: Final = LocalCurator()


@dataclass(frozen=True, slots=True)
class Session:
    """Its turns, the facts people noted about it, and what the rules learn from it, with the words it comes from."""

    id: str
    turns: Sequence[dict[str, Any]]
    noted: Sequence[str]
    learned: Sequence[dict[str, Any]]


def sessions(path: Path) -> Iterator[Session]:
    """Yield every session of a file."""
    for case in json.loads(path.read_text("utf-8")):
        for name, turns in case["conversation"].items():
            if isinstance(turns, list):
                about = case["observation"].get(f"{name}_observation", {})
                noted = [fact for some in about.values() for fact, *_ in some]
                yield Session(f"{case['sample_id']}:{name}", turns, noted, list(learned(turns)))


def learned(turns: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what the rules learn from turns, with the words it comes from."""
    for turn in turns:
        for one in read_message(turn["text"], CURATOR, speaker=turn["speaker"]).facts:
            if not one.forget:
                quote = turn["text"][one.start : one.end]
                yield {"fact": one.text, "evidence": quote, "turn": turn["dia_id"], "said": turn["text"]}


def table(path: Path, folder: Path | None, embedder: Any) -> Table:
    """Return how the facts agree with the observations, and whether their evidence was said in these words."""
    with reading(path, "locomo, with observations"):
        every = list(sessions(path))
    if folder is not None:
        write(every, folder)
    agreed = [agreement([one["fact"] for one in some.learned], some.noted, _names(some), embedder) for some in every]
    texts = [float(bool(one["evidence"]) and one["evidence"] in one["said"]) for some in every for one in some.learned]
    header = ("sessions", "facts learned", "facts noted", "precision", "recall", "F1", "evidence verbatim")
    counts = (len(every), len(texts), sum(one.noted for one in agreed))
    estimates = (*precision_recall_f1(agreed), mean(texts))
    return Table("", header, [tuple(map(str, (*counts, *estimates)))])


def _names(session: Session) -> set[str]:
    return {turn["speaker"] for turn in session.turns}


def write(every: Sequence[Session], folder: Path) -> None:
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "pred.jsonl", ({"id": one.id, "facts": [fact["fact"] for fact in one.learned]} for one in every))
    _write(folder / "gold.jsonl", ({"id": one.id, "facts": one.noted} for one in every))
    answer = ({"id": one.id, "text": "\n".join(f"{t['speaker']}: {t['text']}" for t in one.turns)} for one in every)
    _write(folder / "source.jsonl", answer)
    facts = [{"session": one.id, **fact} for one in every for fact in one.learned]
    chosen = random.Random(SEED).sample(facts, min(SAMPLE, len(facts)))  # noqa: S311 - a draw, not a secret
    _write(folder / "sample.jsonl", chosen)


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
