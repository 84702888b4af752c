"""What becomes of known facts when something new is said: replaced, left alone, or not even repeated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.quality.metrics import bootstrap, mean, share
from benchmarks.quality.report import Row, Table
from memstone import Memory
from memstone.compose import EmbedderLike

LABELS: Final = ("SUPERSEDE", "ADD", "NONE")
WORDINGS: Final = {"fact": "new_fact", "event": "new_event"}
"""The same news as a bare sentence, and as people put it; not every case has the second."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a case went as labelled, and whether a known memory was changed at all."""

    label: str
    is_right: bool
    touched: bool


def judge(case: dict[str, Any], events: Iterable[tuple[str, str | None]]) -> Verdict:
    """Judge a case.

    ``events`` are what happened, each with the case's own name of the memory it happened to, or None.
    """
    happened = list(events)
    touched = {name for event, name in happened if event in {"UPDATE", "DELETE"} and name}
    added = any(event == "ADD" for event, _ in happened)
    right = {
        "SUPERSEDE": touched == {case.get("target")},
        "ADD": added and not touched,
        "NONE": not added and not touched,
    }
    return Verdict(case["label"], right[case["label"]], bool(touched))


def verdicts(cases: Sequence[dict[str, Any]], wording: str, embedder: EmbedderLike) -> list[Verdict]:
    """Return every case, played by a user of its own."""
    with Memory({"store": {"url": "memory:"}}, embedder=embedder) as memory:
        return [judge(case, _played(memory, f"user-{at}", case, wording)) for at, case in enumerate(cases)]


def _played(memory: Memory, user: str, case: dict[str, Any], wording: str) -> list[tuple[str, str | None]]:
    known = {}
    for one in case["existing"]:
        stored = memory.add(one["text"], user_id=user, infer=False)["results"]
        known[stored[0]["id"]] = one["id"]
    message = case.get(WORDINGS[wording]) or case["new_fact"]
    return [(one["event"], known.get(one["id"])) for one in memory.add(message, user_id=user)["results"]]


def table(cases: Sequence[dict[str, Any]], embedder: EmbedderLike) -> Table:
    """Return both wordings: the mean of the three labels, each label, and how often an addition replaced something."""
    counts = ", ".join(f"{sum(case['label'] == label for case in cases)} {label}" for label in LABELS)
    header = ("news as", "macro", *LABELS, "false supersede on ADD")
    return Table(
        f"{len(cases)} cases: {counts}", header, [_row(one, verdicts(cases, one, embedder)) for one in WORDINGS]
    )


def _row(wording: str, found: Sequence[Verdict]) -> Row:
    right = np.array([one.is_right for one in found], dtype=float)
    labels = np.array([LABELS.index(one.label) for one in found])
    by_label = [right[labels == at].tolist() for at in range(len(LABELS))]
    macro = bootstrap(lambda drawn: _macro(right[drawn], labels[drawn]), len(right))
    touched = [float(one.touched) for one in found if one.label == "ADD"]
    return (
        wording,
        str(macro),
        *(str(mean(one)) if one else "" for one in by_label),
        str(mean(touched)) if touched else "",
    )


def _macro(right: Any, labels: Any) -> float:
    shares = [share(right[labels == at].sum(), (labels == at).sum()) for at in np.unique(labels)]
    return float(np.mean(shares))
