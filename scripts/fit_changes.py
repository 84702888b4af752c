"""Fit the weights of the change judge to labelled changes, and say how well it does on authors it has not seen.

Reads the cases of tests/data/curation/fit and changes_open.jsonl beside it, and writes
src/memstone/core/changes/weights.npz. A memory learns every case by its rules, and what it holds against each other is
what the weights are fitted to: small trees, grown one after the other (gradient boosting). What is printed for an
author comes from weights fitted to the other ones, so it is about cases they have not seen.

    python -m scripts.fit_changes
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np

from memstone import Memory
from memstone.core.changes.features import Features, Said, features
from memstone.core.changes.judge import Trees, as_table, odds_of, verdict
from memstone.core.changes.pairing import Action, Decision, Known
from memstone.core.changes.reconcile import decide
from memstone.core.changes.statement import understand
from memstone.engine.learning import settle
from memstone.engine.learning.relate import Fact, Neighbour
from memstone.testing.clock import FakeClock
from scripts.weights import record

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "curation"
WEIGHTS = ROOT / "src" / "memstone" / "core" / "changes" / "weights.npz"

IN_VIEW: Final = {"open": 0.5, "seen_a": 0.4, "seen_b": 0.4}
"""The rules were written with these cases in view and look better on them than they are, so they count for less."""

ROUNDS, DEPTH, RATE, SHARE_OF_FEATURES, SHARE_OF_ROWS = 110, 3, 0.08, 0.4, 0.8
RIDGE, LEAST_IN_LEAF, BINS, SEEDS = 3.0, 8.0, 24, 3
NEITHER, REPLACED, SAME = range(3)


@dataclass
class Held:
    """One statement held against memories: what is known of each pair, and what is right."""

    rows: list[Features]
    ids: list[str]
    rule: Decision
    adds: bool
    whole: bool


@dataclass
class Case:
    """A labelled change and the statements its message makes."""

    author: str
    label: str
    right: str | None
    held: list[Held] = field(default_factory=list)


def main() -> None:
    """Print how each author is judged by weights fitted to the others, then write those fitted to all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="only print")
    parser.add_argument("--only", nargs="*", default=[], help="authors to print; all if none is named")
    parser.add_argument("--quick", action="store_true", help="fit without judging any author")
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="further files, judged and never fitted to")
    wanted = parser.parse_args()
    stored: dict[str, Any] = {}
    for name in ("near", "far"):
        cases = read(name, sources())
        print(f"{name}: {len(cases)} cases")
        for author in [] if wanted.quick else wanted.only or sorted({case.author for case in cases}):
            rest = [case for case in cases if case.author != author]
            report(author, [case for case in cases if case.author == author], fit(rest, name))
        trees = fit(cases, name)
        for path in wanted.more:
            report(path.stem, read(name, {path.stem: path}), trees)
        stored |= {f"{name}_{part}": value for part, value in _packed(trees).items()}
    if not wanted.dry:
        np.savez_compressed(WEIGHTS, **stored)
        record("changes")


def sources() -> dict[str, Path]:
    """The files of cases by who wrote them."""
    return {"open": DATA / "changes_open.jsonl"} | {path.stem: path for path in sorted((DATA / "fit").glob("*.jsonl"))}


def read(name: str, files: dict[str, Path]) -> list[Case]:
    """All cases with what a memory holds against each other when it hears them; without an embedder for ``far``."""
    settings: dict[str, Any] = {"store": {"url": "memory:"}}
    if name == "far":
        settings["embedder"] = {"provider": "none"}
    with Memory(settings, clock=FakeClock()) as memory:
        return [
            _heard(memory, author, json.loads(line), f"{author}-{number}")
            for author, path in files.items()
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
        ]


def _heard(memory: Memory, author: str, told: dict[str, Any], user: str) -> Case:
    case = Case(author, told["label"], told.get("target") or told.get("known"))
    ids = {}
    for known in told["existing"]:
        (stored,) = memory.add(known["text"], user_id=user, infer=False)["results"]
        ids[stored["id"]] = known["id"]

    def look(fact: Fact, near: Sequence[Neighbour]) -> list[Decision]:
        case.held += _held(fact, near, ids)
        return [Decision(Action.IGNORE, None, "only looked at")]

    with mock.patch.object(settle, "decided", look):
        memory.add(told["new"], user_id=user, infer=True)
    return case


def _held(fact: Fact, near: Sequence[Neighbour], ids: dict[str, str]) -> Iterator[Held]:
    known: list[Known] = [one.known for one in near]
    statement = understand(fact.draft.text, fact.own, fact.who)
    rule = decide(statement, known)
    said = Said(statement, fact.turn.text.lower(), rule, fact.adds)
    names = [ids[one.found.record.id] for one in near]
    yield Held(features(said, known) if known else [], names, rule, fact.adds, fact.candidate.whole)


def fit(cases: Sequence[Case], name: str) -> Trees:
    """Trees for each answer, from several draws of rows and features."""
    rows, labels, counts = _examples(cases)
    names = [one for one in sorted(rows[0]) if name == "near" or not one.startswith("near")]
    table = as_table(rows, names)
    grown = [_boosted(table, np.array(labels), np.array(counts), np.random.default_rng(seed)) for seed in range(SEEDS)]
    asked, above, leaves = (np.concatenate([one[part] for one in grown]) for part in range(3))
    return Trees(tuple(names), asked, above, (leaves / SEEDS).astype(np.float32))


def _examples(cases: Sequence[Case]) -> tuple[list[Features], list[int], list[float]]:
    rows: list[Features] = []
    labels: list[int] = []
    counts: list[float] = []
    for case in cases:
        held = [one for one in case.held if one.rows and (case.label == "ADD" or case.right in one.ids)]
        if case.label == "SUPERSEDE":  # of several statements one tells of the change
            held = sorted(held, key=lambda one: -_near(one, case.right))[:1]
        right = REPLACED if case.label == "SUPERSEDE" else SAME
        for one in held:
            rows += one.rows
            labels += [right if name == case.right else NEITHER for name in one.ids]
            counts += [IN_VIEW.get(case.author, 1.0) / len(held)] * len(one.ids)
    return rows, labels, counts


def _near(held: Held, name: str | None) -> float:
    row = held.rows[held.ids.index(str(name))]
    return row["near"] + row["covered"]


def _boosted(table: Any, labels: Any, counts: Any, draw: np.random.Generator) -> tuple[Any, Any, Any]:
    """Trees of one depth, each fitted to what those before it leave to explain."""
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in table.T]
    binned = np.stack([np.searchsorted(one, column) for one, column in zip(edges, table.T, strict=True)], axis=1)
    votes = np.zeros((len(table), 3))
    trees: list[tuple[Any, Any, Any]] = []
    for _ in range(ROUNDS):
        odds = np.exp(votes - votes.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        taken = counts * (draw.random(len(table)) < SHARE_OF_ROWS)
        for answer in range(3):
            slope = taken * ((labels == answer) - odds[:, answer])
            bend = taken * odds[:, answer] * (1 - odds[:, answer])
            columns = draw.permutation(table.shape[1])[: int(SHARE_OF_FEATURES * table.shape[1])]
            asked, above, leaves, place = _tree(binned, edges, slope, bend, columns)
            votes[:, answer] += leaves[place]
            wide = np.zeros((len(leaves), 3), dtype=np.float32)
            wide[:, answer] = leaves
            trees.append((asked, above, wide))
    return tuple(np.stack(part) for part in zip(*trees, strict=True))  # type: ignore[return-value]


def _tree(binned: Any, edges: Any, slope: Any, bend: Any, columns: Any) -> tuple[Any, Any, Any, Any]:
    """One tree: at each node the question that explains most; where nothing does, everything goes to the left."""
    asked, above = np.zeros(2**DEPTH - 1, dtype=np.int16), np.full(2**DEPTH - 1, np.inf, dtype=np.float32)
    node = np.zeros(len(binned), dtype=np.intp)
    for at in range(2**DEPTH - 1):
        mine = np.flatnonzero(node == at)
        found = _best(binned[mine], slope[mine], bend[mine], columns) if len(mine) else None
        right = np.zeros(len(mine), dtype=np.intp)
        if found is not None:
            asked[at], place = found
            above[at] = edges[asked[at]][place]
            right = (binned[mine, asked[at]] > place).astype(np.intp)
        node[mine] = 2 * at + 1 + right
    place = node - (2**DEPTH - 1)
    pull, weight = (np.bincount(place, one, minlength=2**DEPTH) for one in (slope, bend))
    return asked, above, RATE * pull / (weight + RIDGE), place


def _best(binned: Any, slope: Any, bend: Any, columns: Any) -> tuple[int, int] | None:
    best, found = 1e-3, None
    for column in columns:
        pull, weight, many = (
            np.cumsum(np.bincount(binned[:, column], one, minlength=BINS))
            for one in (slope, bend, np.ones(len(binned)))
        )
        left, right = (
            pull[:-1] ** 2 / (weight[:-1] + RIDGE),
            (pull[-1] - pull[:-1]) ** 2 / (weight[-1] - weight[:-1] + RIDGE),
        )
        gain = left + right - pull[-1] ** 2 / (weight[-1] + RIDGE)
        gain[(many[:-1] < LEAST_IN_LEAF) | (many[-1] - many[:-1] < LEAST_IN_LEAF)] = 0
        place = int(gain.argmax())
        if gain[place] > best:
            best, found = float(gain[place]), (int(column), place)
    return found


def _packed(trees: Trees) -> dict[str, Any]:
    return {
        "names": np.array("\n".join(trees.names)),
        "asked": trees.asked.astype(np.int16),
        "above": trees.above.astype(np.float32),
        "leaves": trees.leaves.astype(np.float16),
    }


def report(author: str, cases: Sequence[Case], trees: Trees) -> None:
    """How many of each label came out right, by rules alone and with the judge."""
    total = Counter(case.label for case in cases)
    for who, judged in (("rules", False), ("judge", True)):
        right: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for case in cases:
            label, target = _happened(case, trees if judged else None)
            if label == case.label and (label != "SUPERSEDE" or target == case.right):
                right[case.label] += 1
            else:
                wrong[f"{case.label[0]}>{label[0]}"] += 1
        shares = "  ".join(f"{label} {right[label] / total[label]:.2f}" for label in sorted(total))
        print(f"  {author:10} {who}  {shares}  {dict(wrong)}", flush=True)


def _happened(case: Case, trees: Trees | None) -> tuple[str, str | None]:
    changed: list[str] = []
    added = False
    for one in case.held:
        if one.whole and changed:
            continue
        action, at = _action(one, trees)
        if action is Action.REVISE and at is not None:
            changed += [] if changed and trees else [one.ids[at]]
        elif action is Action.ADD and one.adds:
            added = True
    if changed:
        return "SUPERSEDE", changed[0] if len(set(changed)) == 1 else None
    return ("ADD" if added else "NONE"), None


def _action(one: Held, trees: Trees | None) -> tuple[Action, int | None]:
    rule = Action.REVISE if one.rule.action is Action.RETRACT else one.rule.action
    if trees is None or not one.rows or (rule is Action.IGNORE and one.adds):
        return rule, one.rule.target
    decided = verdict(one.rule, odds_of(one.rows, trees))
    return Action.REVISE if decided.action is Action.RETRACT else decided.action, decided.target


if __name__ == "__main__":
    main()
