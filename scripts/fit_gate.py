"""Fit the weights of the gate's evidence to labelled messages, and say how well it does on messages held back.

Reads scripts/gate_sentences.tsv (written for this) and tests/data/gate/messages_open.jsonl; writes
src/memstone/language/models/gate.tsv. Each fifth of the messages is judged by weights fitted to the other four, so what
is printed is about messages the weights have not seen.

    python -m scripts.fit_gate
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from memstone.core import gate
from memstone.language.en.english import English
from memstone.language.en.gate import rules
from memstone.language.en.gate.phrases import own_words_of
from memstone.model.context_gate import Route
from scripts.weights import record

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = ROOT / "scripts" / "gate_sentences.tsv"
OPEN = ROOT / "tests" / "data" / "gate" / "messages_open.jsonl"
WEIGHTS = ROOT / "src" / "memstone" / "language" / "models" / "gate.tsv"
PENALTY, SELDOM, STEPS, LEAST, FOLDS = 1.5, 3, 400, 6, 5

Labelled: TypeAlias = tuple[str, bool, str]
"""A message, whether it needs memory, and where it comes from."""


def main() -> None:
    """Print the judgement of each source, then write the weights fitted to everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="only print")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    labelled = read()
    judge(labelled, wanted.seed)
    if not wanted.dry:
        WEIGHTS.write_text(as_table(fit(labelled)), encoding="utf-8")
        record("gate")


def read() -> list[Labelled]:
    """Return all messages with their labels."""
    rows = (line.split("\t", 1) for line in SENTENCES.read_text(encoding="utf-8").splitlines())
    written = [(text.replace("\\n", "\n"), label == "memory", "written") for label, text in rows]
    opened = (json.loads(line) for line in OPEN.read_text(encoding="utf-8").splitlines())
    return [*written, *((row["text"], row["needs_memory"], "open") for row in opened)]


def fit(labelled: Sequence[Labelled]) -> dict[str, int]:
    """Return weights in hundredths, by logistic regression with a penalty on large ones."""
    found = [rules.extract_features(own_words_of(text)) for text, _, _ in labelled]
    seen = Counter(feature for each in found for feature in each)
    columns = {feature: at for at, feature in enumerate(sorted(one for one, n in seen.items() if n >= SELDOM))}
    table = np.zeros((len(found), len(columns) + 1))
    table[:, -1] = 1
    for row, each in enumerate(found):
        table[row, [columns[feature] for feature in each if feature in columns]] = 1
    solved = descend(table, np.array([needs for _, needs, _ in labelled], float))
    hundredths = {feature: round(100 * float(solved[at])) for feature, at in columns.items()}
    stored = {feature: weight for feature, weight in hundredths.items() if abs(weight) >= LEAST}
    return {rules.BIAS: round(100 * float(solved[-1])), **stored}


def descend(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the minimum of the penalised loss, by accelerated gradient descent."""
    step = 1 / (0.25 * np.linalg.norm(table, 2) ** 2 + PENALTY)
    penalty = np.full(table.shape[1], PENALTY)
    penalty[-1] = 0
    now = ahead = np.zeros(table.shape[1])
    for turn in range(STEPS):
        slope = table.T @ (1 / (1 + np.exp(-table @ ahead)) - wanted) + penalty * ahead
        then = ahead - step * slope
        ahead = then + turn / (turn + 3) * (then - now)
        now = then
    return now


def judge(labelled: Sequence[Labelled], seed: int) -> None:
    """Print precision and recall of the gate for each source; the weights do not know the message they judge."""
    shuffled = random.Random(seed).sample(labelled, len(labelled))  # noqa: S311 - not a secret
    table, language = rules.weight_table(), English()
    outcomes: Counter[tuple[str, bool, bool]] = Counter()
    for fold in range(FOLDS):
        table.clear()
        rest = [row for at, row in enumerate(shuffled) if at % FOLDS != fold]
        table.update({feature: weight / 100 for feature, weight in fit(rest).items()})
        for text, needs, source in shuffled[fold::FOLDS]:
            outcomes[source, needs, gate.decide_route(text, language).route is not Route.NONE] += 1
    for source in ("written", "open"):
        right, wrong, missed = (outcomes[source, *which] for which in ((True, True), (False, True), (True, False)))
        print(f"{source}: precision {right / (right + wrong):.3f}, recall {right / (right + missed):.3f}")


def as_table(weights: dict[str, int]) -> str:
    """Return the file that holds the weights."""
    return "".join(f"{feature}\t{weight}\n" for feature, weight in sorted(weights.items()))


if __name__ == "__main__":
    main()
