"""Fit the weights that tell whether a question is about something in memory.

Reads tests/data/relevance (twelve invented people with their memories, questions that these answer and questions that
they do not) and the questions of ``retain.core.probes``; writes src/retain/core/relevance.json. Each person is judged
by weights fitted to the others and to their questions only: what is printed is about questions the weights have not
seen. The distribution of unrelated questions is made of their values, each question put to all of them. The
questions of tests/data/gate are not looked at.

    python scripts/fit_relevance.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from retain import Memory
from retain.core.probes import PROBES
from retain.drive import drive
from retain.engine import judge
from retain.engine.parts import Parts
from retain.engine.ranking import Hit
from retain.engine.read import SearchRequest, check, hits_of
from retain.engine.relevance import asked_of, told_of
from retain.model.scope import Scope

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "tests" / "data" / "relevance"
WEIGHTS: Final = ROOT / "src" / "retain" / "core" / "relevance.json"
PEOPLE: Final = "abcdepqrstuv"
DEPTH, HIDDEN, STEPS, BATCH, NETS = 20, 12, 1_600, 64, 4
RATE, DECAY, LEFT_OUT, OF_PAIRS, LOUDNESS = 3e-3, 1e-2, 0.2, 0.1, 5.0
COUNTS: Final = {"answered": 1.0, "unrelated": 1.0, "stranger": 0.3, "probe": 0.5, "taken": 0.3}
"""How much each kind of question counts. ``stranger``: an unrelated one that was written for somebody else; ``taken``:
one whose answers were taken out of the store."""
UNSEEN: Final = 0.632
STORES: Final = ((0.5, 1.0), (0.25, 0.5), (0.25, 0.25))
"""How often a question is put to which share of the memories, so that the size of a store can be learned."""
SHARES: Final = (
    0.99,
    0.95,
    0.9,
    0.8,
    0.7,
    0.6,
    0.5,
    0.4,
    0.3,
    0.25,
    0.2,
    0.15,
    0.125,
    0.1,
    0.075,
    0.05,
    0.03,
    0.02,
    0.01,
)


@dataclass(slots=True)
class Questions:
    """What the network sees of many questions: a row for each, and in it one for each of the best hits."""

    kind: Any
    author: Any
    person: Any
    table: Any
    there: Any
    right: Any
    vector: Any
    rows: Any

    def __getitem__(self, which: Any) -> Questions:
        """Some of them."""
        return Questions(*(getattr(self, name)[which] for name in self.__slots__))


def joined(several: Sequence[Questions]) -> Questions:
    """All of them, one after another."""
    return Questions(*(np.concatenate([getattr(one, name) for one in several]) for name in Questions.__slots__))


def main() -> None:
    """Say how well each person is judged by the others, then write the weights fitted to all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dry", action="store_true", help="only print")
    wanted = parser.parse_args()
    every = joined([seen(name) for name in PEOPLE])
    unseen = []
    for name in PEOPLE:
        values = best(theirs := every[every.author == name], fitted(without(every, name)))
        report(name, values, theirs)
        unseen.append(values[unrelated(theirs)])
    by = fitted(every)
    levels = levels_of(np.concatenate(unseen), best(every, by)[unrelated(every)])
    if not wanted.dry:
        write(replace(by, shares=np.array(SHARES), levels=levels))


def unrelated(asked: Questions) -> Any:
    """Which of them nothing answers, whoever they were written for."""
    return np.isin(asked.kind, ["unrelated", "stranger"])


def levels_of(unseen: Any, seen_: Any) -> Any:
    """What each share of unrelated questions exceeds, between two estimates.

    Weights fitted to some people judge another worse than weights fitted to all will; those fitted to a question judge
    it better. The rule of the .632 bootstrap weighs the two.
    """
    quantiles = [np.quantile(values, [1 - share for share in SHARES]) for values in (unseen, seen_)]
    return UNSEEN * quantiles[0] + (1 - UNSEEN) * quantiles[1]


def without(every: Questions, name: str) -> Questions:
    """What has nothing to do with a person: neither their memories nor the questions written for them."""
    return every[(every.author != name) & (every.person != name)]


def report(name: str, values: Any, asked: Questions) -> None:
    """Print what is kept of the answers that were found."""
    found = asked.right[:, : judge.LOOKED_AT].any(axis=1)
    nothing, answered = values[asked.kind == "unrelated"], values[found]
    kept = [f"{(answered > np.quantile(nothing, 1 - rate)).mean():.3f} at {rate:.0%}" for rate in (0.02, 0.05, 0.1)]
    print(f"{name}: kept {', '.join(kept)}")


# --- what there is to learn from --------------------------------------------------------------------------------------


def lines(name: str) -> list[dict[str, Any]]:
    """A file of the data."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def seen(person: str) -> Questions:
    """All questions, put to the memories of one person."""
    memories = lines(f"memories_{person}")
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "local"}}) as memory:
        items = [{"messages": one["text"], "user_id": "u", "infer": False} for one in memories]
        stored = memory.add_many(items)["results"]
        names = {one["results"][0]["id"]: row["id"] for one, row in zip(stored, memories, strict=True)}
        view = _View(memory._engine.parts, names, person)  # noqa: SLF001 - there is no public call for it
        found = [row for one in lines(f"answerable_{person}") for row in view.of_answered(one["text"], one["answers"])]
        found += [
            view.of(one["text"], "unrelated" if author == person else "stranger", author)
            for author in PEOPLE
            for one in lines(f"unrelated_{author}")
        ]
        found += [view.of(text, "probe", "") for text in PROBES]
    return Questions(*(np.stack(column) for column in zip(*found, strict=True)))


@dataclass(slots=True)
class _View:
    """What the network sees in the store of one person."""

    parts: Parts
    names: dict[str, str]
    person: str

    def of(self, text: str, kind: str, author: str) -> tuple[Any, ...]:
        """A question that nothing answers."""
        return self._row(text, self._hits(text), (), kind, author)

    def of_answered(self, text: str, answers: Sequence[str]) -> list[tuple[Any, ...]]:
        """A question with its answers, and without them."""
        hits = self._hits(text)
        fewer = [hit for hit in hits if self.names[hit[0].record.id] not in answers]
        found = [(hits, "answered"), (fewer, "taken")]
        return [self._row(text, some, answers, kind, self.person) for some, kind in found]

    def _hits(self, text: str) -> list[Hit]:
        return drive(hits_of(self.parts, check(self.parts, SearchRequest(text, user_id="u", limit=2 * DEPTH)))).found

    def _row(self, text: str, hits: list[Hit], answers: Sequence[str], kind: str, author: str) -> tuple[Any, ...]:
        hits = hits[:DEPTH]
        asked = drive(asked_of(self.parts, Scope(self.parts.tenant_id, "u"), text))
        told = drive(told_of(self.parts, judge.SIGNATURE, hits))
        rows = judge.table(asked, [told[scored.seq] for _, scored in hits])
        table, there, right = np.zeros((DEPTH, rows.shape[1]), np.float32), np.zeros(DEPTH, bool), np.zeros(DEPTH, bool)
        table[: len(rows)], there[: len(rows)] = rows, True
        right[: len(rows)] = [self.names[found.record.id] in answers for found, _ in hits]
        vector = np.frombuffer(asked.vector, "<f4")
        return kind, author, self.person, table, there, right, vector, len(self.names)


def with_fewer(asked: Questions, share: float, chance: np.random.Generator) -> Questions:
    """The same questions where only a share of the memories is left; an answer always is."""
    kept = asked.there & (chance.random(asked.there.shape) < share) | asked.right
    order = np.argsort(~kept, axis=1, kind="stable")
    table = np.take_along_axis(asked.table, order[..., None], axis=1)
    there, right = (np.take_along_axis(one, order, axis=1) for one in (kept, asked.right))
    return replace(asked, table=table, there=there, right=right, rows=np.maximum(1, asked.rows * share))


# --- the network ------------------------------------------------------------------------------------------------------


def best(asked: Questions, by: judge.Weights) -> Any:
    """The value of each question: that of its best hit."""
    given = (asked.table[:, : judge.LOOKED_AT] - by.middle) / by.spread
    hidden = np.maximum(given @ by.inner + by.inner_bias, 0)
    own = asked.vector @ by.meaning + by.bias + by.size * sizes(asked)
    values = given @ by.linear + hidden @ by.outer + own[:, None]
    return np.where(asked.there[:, : judge.LOOKED_AT], values, -np.inf).max(axis=1)


def sizes(asked: Questions) -> Any:
    """The size of the store each question was put to."""
    return np.array([judge.size_of(int(rows)) for rows in asked.rows], np.float32)


def fitted(every: Questions) -> judge.Weights:
    """Several networks, each from another start, as one: a value is the mean of theirs."""
    rows = every.table[every.there]
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 0.05
    nets = [_Net(every, middle, spread, seed).fitted() for seed in range(NETS)]
    mean = {name: sum(net[name] for net in nets) / NETS for name in ("linear", "bias", "meaning", "size")}
    return judge.Weights(
        middle=middle,
        spread=spread,
        linear=mean["linear"],
        bias=float(mean["bias"]),
        inner=np.concatenate([net["inner"] for net in nets], axis=1),
        inner_bias=np.concatenate([net["inner_bias"] for net in nets]),
        outer=np.concatenate([net["outer"] for net in nets]) / NETS,
        meaning=mean["meaning"] * LOUDNESS,
        size=float(mean["size"]),
        shares=None,
        levels=None,
    )


class _Net:
    """One network, fitted by Adam: a question that is answered wants a right hit to be high, others all to be low."""

    def __init__(self, every: Questions, middle: Any, spread: Any, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.stores = [self._store(every, share, middle, spread) for _, share in STORES]
        count, draw = len(middle), self.chance.uniform
        edge, small = count**-0.5, HIDDEN**-0.5
        self.given: dict[str, Any] = {
            "linear": draw(-edge, edge, count),
            "bias": np.zeros(()),
            "inner": draw(-edge, edge, (count, HIDDEN)),
            "inner_bias": draw(-edge, edge, HIDDEN),
            "outer": draw(-small, small, HIDDEN),
            "meaning": np.zeros(every.vector.shape[1]),
            "size": np.array(-0.3),
        }
        self.first = {name: np.zeros_like(value) for name, value in self.given.items()}
        self.second = {name: np.zeros_like(value) for name, value in self.given.items()}

    def _store(self, every: Questions, share: float, middle: Any, spread: Any) -> Questions:
        asked = every if share == 1 else with_fewer(every, share, self.chance)
        asked = asked[(asked.kind != "answered") | asked.right[:, : judge.LOOKED_AT].any(axis=1)]
        asked = replace(asked, table=((asked.table - middle) / spread)[:, : judge.LOOKED_AT])
        return replace(asked, there=asked.there[:, : judge.LOOKED_AT], right=asked.right[:, : judge.LOOKED_AT])

    def fitted(self) -> dict[str, Any]:
        """The weights after all steps."""
        shares = [often for often, _ in STORES]
        for step in range(1, STEPS + 1):
            store = self.stores[self.chance.choice(len(STORES), p=shares)]
            some = store[self.chance.choice(len(store.kind), BATCH, replace=False)]
            self._step(self._slopes(some), step)
        return self.given

    def _step(self, slopes: dict[str, Any], step: int) -> None:
        rate = RATE * (1 - 0.8 * step / STEPS)
        for name, slope in slopes.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * slope
            self.second[name] = 0.999 * self.second[name] + 0.001 * slope**2
            one, two = self.first[name] / (1 - 0.9**step), self.second[name] / (1 - 0.999**step)
            self.given[name] = self.given[name] * (1 - rate * DECAY) - rate * one / (np.sqrt(two) + 1e-8)

    def _slopes(self, asked: Questions) -> dict[str, Any]:
        own, table, size = self.given, asked.table, sizes(asked)
        vector = asked.vector * self._some(asked.vector.shape) * LOUDNESS
        before = table @ own["inner"] + own["inner_bias"]
        open_ = (before > 0) * self._some(before.shape)
        hidden = before * open_
        alone = vector @ own["meaning"] + own["bias"] + own["size"] * size
        values = np.where(asked.there, table @ own["linear"] + hidden @ own["outer"] + alone[:, None], -30.0)
        slope = _slope(values, asked)
        back = slope[..., None] * own["outer"] * open_
        return {
            "linear": np.tensordot(slope, table, 2),
            "bias": slope.sum(),
            "inner": np.tensordot(table, back, ([0, 1], [0, 1])),
            "inner_bias": back.sum(axis=(0, 1)),
            "outer": np.tensordot(slope, hidden, 2),
            "meaning": slope.sum(axis=1) @ vector,
            "size": slope.sum(axis=1) @ size,
        }

    def _some(self, shape: tuple[int, ...]) -> Any:
        return (self.chance.random(shape) >= LEFT_OUT) / (1 - LEFT_OUT)


def _slope(values: Any, asked: Questions) -> Any:
    """How the loss changes with each value."""
    answered = asked.kind == "answered"
    among = np.where(answered[:, None], asked.right, asked.there)
    high = np.where(among, values, -1e9)
    top = high.max(axis=1, keepdims=True)
    parts = np.exp(high - top)
    total = top[:, 0] + np.log(parts.sum(axis=1))
    outer = np.where(answered, _likely(total) - 1, _likely(total)) * [COUNTS[str(kind)] for kind in asked.kind]
    pairs = OF_PAIRS * (_likely(values) - asked.right) * asked.there / max(1, asked.there.sum())
    return outer[:, None] * parts / parts.sum(axis=1, keepdims=True) / len(values) + pairs


def _likely(value: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(value, -50, 50)))


def write(by: judge.Weights) -> None:
    """Write the weights with four digits."""
    body = {name: _rounded(getattr(by, name)) for name in judge.Weights.__slots__}
    WEIGHTS.write_text(json.dumps(body, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.relative_to(ROOT)}: {WEIGHTS.stat().st_size:,} bytes")


def _rounded(value: Any) -> Any:
    return np.round(np.asarray(value, np.float64), 4).tolist()


if __name__ == "__main__":
    main()
