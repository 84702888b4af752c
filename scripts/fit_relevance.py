"""Fit the weights that judge whether a question is about something in memory.

Reads tests/data/relevance (twelve invented people with their memories, questions that these answer and questions that
they do not) and the questions of ``memstone.core.ranking.abstain``; writes src/memstone/language/models/relevance.json.
Four people at a time are judged by weights fitted to the others and to their questions only: what is printed is about
questions the weights have not seen. The distribution of unrelated questions is made of their values, each put to the
memories it was written for: that nothing in those answers it was seen to, and among those of others there may be
something. The questions of tests/data/gate are not looked at.

What the search finds for each question is kept in a file, because that takes longest. ``--readers`` is where
``scripts/fit_pairs.py`` has left the readers fitted without each four people; it comes first.

    python -m scripts.fit_relevance --kept build/relevance.npz --readers build/readers
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from memstone.adapters.embed.local import MODEL_SHA256, _installed_model
from memstone.adapters.embed.minilm import Network
from memstone.adapters.embed.onnx_model import DATA as DATA_OF_MODEL
from memstone.adapters.embed.onnx_model import WordPiece
from memstone.adapters.embed.pairs import PairModel, deltas_in
from memstone.adapters.embed.verified_file import read_verified_file
from memstone.engine.recall import judge
from scripts.relevance_data import FOLDS, PEOPLE, ROOT, Questions, everything, joined, lines, with_fewer
from scripts.weights import record

WEIGHTS: Final = ROOT / "src" / "memstone" / "language" / "models" / "relevance.json"
HIDDEN, STEPS, BATCH, NETS = 12, 5_000, 64, 4
RATE, DECAY, LEFT_OUT, OF_PAIRS, LOUDNESS = 3e-3, 1e-2, 0.2, 0.1, 5.0
COUNTS: Final = {"answered": 1.0, "unrelated": 1.0, "stranger": 0.3, "probe": 0.5, "taken": 0.3}
"""How much each kind of question counts. ``stranger``: an unrelated one that was written for somebody else; ``taken``:
one whose answers were taken out of the store."""
UNSEEN: Final = 0.632
SHARE, DOUBT, ENOUGH, GUESS = 0.75, (-4.0, 1.5), 0.0, (0.2, 1.25)
"""How much counts what is read; between which values of the best hit it is, because beyond hardly a judgement changes;
with which value no other need be; and what reading gives on average for a value, start and slope."""
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


def main() -> None:
    """Say how well people are judged by weights that do not know them, then write the weights fitted to all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kept", type=Path, required=True, help="what the search finds; written when it is not there")
    parser.add_argument("--readers", type=Path, required=True, help="where scripts/fit_pairs.py has left its readers")
    parser.add_argument("--dry", action="store_true", help="only print")
    wanted = parser.parse_args()
    every = everything(wanted.kept)
    judged = [_Judged.without(every, fold, wanted.readers / f"without_{fold}.npz") for fold in FOLDS]
    for one in judged:
        one.report()
    by = fitted(every)
    levels = levels_of([one.alone() for one in judged], by, every)
    read = np.quantile(np.concatenate([one.read()[unrelated(one.asked)] for one in judged]), [1 - at for at in SHARES])
    if not wanted.dry:
        write(replace(by, shares=np.array(SHARES), levels=levels, levels_read=read))


@dataclass(frozen=True, slots=True)
class _Judged:
    """The questions of some people, judged by weights and a reader that know neither them nor these."""

    asked: Questions
    by: judge.JudgeWeights
    found: Any
    of_read: Any

    @classmethod
    def without(cls, every: Questions, fold: str, deltas: Path) -> _Judged:
        """Fit to all but these, and read what is doubtful."""
        others = every
        for name in fold:
            others = without(others, name)
        by, asked = fitted(others), every[np.isin(every.author, list(fold))]
        found = values(asked, by)
        return cls(asked, by, found, _read(asked, found, by, deltas))

    def alone(self) -> Any:
        """Return the value of each question without reading."""
        return self.found.max(axis=1)

    def read(self) -> Any:
        """Return the same with it."""
        known = (dict(_known(row)) for row in self.of_read)
        return np.array(
            [judge.with_read(row, some, self.by).max() for row, some in zip(self.found, known, strict=True)]
        )

    def report(self) -> None:
        """Print what is kept of the answers that were found, for each of these people."""
        alone, read = self.alone(), self.read()
        for name in sorted(set(self.asked.author.tolist())):
            own = self.asked.author == name
            print(f"{name}: {kept_of(alone[own], self.asked[own])}; reading: {kept_of(read[own], self.asked[own])}")


def _read(asked: Questions, found: Any, by: judge.JudgeWeights, deltas: Path) -> Any:
    """Return what a reader says about each hit that is read; not a number for the others."""
    network = Network(read_verified_file(_installed_model(), MODEL_SHA256).content)
    tokenizer = WordPiece.from_text((DATA_OF_MODEL / "vocab.txt").read_text("utf-8"))
    reader = PairModel(network, deltas_in(deltas.read_bytes()), tokenizer, threads=2)
    answer = {name: [line["text"] for line in lines(f"memories_{name}")] for name in PEOPLE}
    result = np.full(found.shape, np.nan)
    while where := list(_to_read(found, result, by)):
        pairs = [(str(asked.text[row]), answer[str(asked.person[row])][asked.hits[row, place]]) for row, place in where]
        result[tuple(np.array(where).T)] = reader.read(pairs)[:, 0]
    return result


def _to_read(found: Any, read: Any, by: judge.JudgeWeights) -> Iterator[tuple[int, int]]:
    """Yield of each question the hit that comes next."""
    for row, (some, known) in enumerate(zip(found, map(_known, read), strict=True)):
        place = judge.to_read(some, known, by)
        if place is not None:
            yield row, place


def _known(row: Any) -> dict[int, float]:
    return {place: float(value) for place, value in enumerate(row) if not np.isnan(value)}


def unrelated(asked: Questions) -> Any:
    """Return which of them nothing answers, as far as their authors could see."""
    return asked.kind == "unrelated"


def levels_of(unseen: Sequence[Any], by: judge.JudgeWeights, every: Questions) -> Any:
    """Return what each share of unrelated questions exceeds without reading, between two estimates.

    Weights fitted to some people judge another worse than weights fitted to all will; those fitted to a question judge
    it better. The rule of the .632 bootstrap weighs the two. A reader learns by heart what it is fitted to, so for
    reading there is only the first.
    """
    before = np.concatenate(unseen)[unrelated(joined([every[np.isin(every.author, list(fold))] for fold in FOLDS]))]
    both = [np.quantile(found, [1 - at for at in SHARES]) for found in (before, best(every, by)[unrelated(every)])]
    return UNSEEN * both[0] + (1 - UNSEEN) * both[1]


def without(every: Questions, name: str) -> Questions:
    """Return what has nothing to do with a person: neither their memories nor the questions written for them."""
    return every[(every.author != name) & (every.person != name)]


def kept_of(values: Any, asked: Questions) -> str:
    """Return what is kept of the answers that were found."""
    found = (asked.kind == "answered") & asked.right[:, : judge.LOOKED_AT].any(axis=1)
    nothing, answered = values[asked.kind == "unrelated"], values[found]
    rates = (0.01, 0.02, 0.05, 0.1)
    return ", ".join(f"{(answered > np.quantile(nothing, 1 - rate)).mean():.3f} at {rate:.0%}" for rate in rates)


# --- the network ------------------------------------------------------------------------------------------------------


def best(asked: Questions, by: judge.JudgeWeights) -> Any:
    """Return the value of each question: that of its best hit."""
    return values(asked, by).max(axis=1)


def values(asked: Questions, by: judge.JudgeWeights) -> Any:
    """Return the value of each hit."""
    value = (asked.table[:, : judge.LOOKED_AT] - by.middle) / by.spread
    hidden = np.maximum(value @ by.inner + by.inner_bias, 0)
    own = asked.vector @ by.meaning + by.bias + by.size * sizes(asked)
    found = value @ by.linear + hidden @ by.outer + own[:, None]
    return np.where(asked.there[:, : judge.LOOKED_AT], found, -30.0)


def sizes(asked: Questions) -> Any:
    """Return the size of the store each question was put to."""
    return np.array([judge.size_of(int(rows)) for rows in asked.rows], np.float32)


def fitted(every: Questions) -> judge.JudgeWeights:
    """Return several networks, each from another start, as one: a value is the mean of theirs."""
    rows = every.table[every.there]
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 0.05
    nets = [_Net(every, middle, spread, seed).fitted() for seed in range(NETS)]
    mean = {name: sum(net[name] for net in nets) / NETS for name in ("linear", "bias", "meaning", "size")}
    return judge.JudgeWeights(
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
        levels_read=None,
        share=SHARE,
        guess=GUESS,
        doubt=DOUBT,
        enough=ENOUGH,
    )


class _Net:
    """One network, fitted by Adam: a question that is answered wants a right hit to be high, others all to be low."""

    def __init__(self, every: Questions, middle: Any, spread: Any, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.stores = [self._store(every, share, middle, spread) for _, share in STORES]
        count, draw = len(middle), self.chance.uniform
        edge, small = count**-0.5, HIDDEN**-0.5
        self.weights: dict[str, Any] = {
            "linear": draw(-edge, edge, count),
            "bias": np.zeros(()),
            "inner": draw(-edge, edge, (count, HIDDEN)),
            "inner_bias": draw(-edge, edge, HIDDEN),
            "outer": draw(-small, small, HIDDEN),
            "meaning": np.zeros(every.vector.shape[1]),
            "size": np.array(-0.3),
        }
        self.first = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.second = {name: np.zeros_like(value) for name, value in self.weights.items()}

    def _store(self, every: Questions, share: float, middle: Any, spread: Any) -> Questions:
        asked = every if share == 1 else with_fewer(every, share, self.chance)
        asked = asked[(asked.kind != "answered") | asked.right[:, : judge.LOOKED_AT].any(axis=1)]
        asked = replace(asked, table=((asked.table - middle) / spread)[:, : judge.LOOKED_AT])
        return replace(asked, there=asked.there[:, : judge.LOOKED_AT], right=asked.right[:, : judge.LOOKED_AT])

    def fitted(self) -> dict[str, Any]:
        """Return the weights after all steps."""
        shares = [often for often, _ in STORES]
        for step in range(1, STEPS + 1):
            store = self.stores[self.chance.choice(len(STORES), p=shares)]
            some = store[self.chance.choice(len(store.kind), BATCH, replace=False)]
            self._step(self._slopes(some), step)
        return self.weights

    def _step(self, slopes: dict[str, Any], step: int) -> None:
        rate = RATE * (1 - 0.8 * step / STEPS)
        for name, slope in slopes.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * slope
            self.second[name] = 0.999 * self.second[name] + 0.001 * slope**2
            one, two = self.first[name] / (1 - 0.9**step), self.second[name] / (1 - 0.999**step)
            self.weights[name] = self.weights[name] * (1 - rate * DECAY) - rate * one / (np.sqrt(two) + 1e-8)

    def _slopes(self, asked: Questions) -> dict[str, Any]:
        own, table, size = self.weights, asked.table, sizes(asked)
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
    """Return how the loss changes with each value."""
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


def write(by: judge.JudgeWeights) -> None:
    """Write the weights with four digits."""
    body = {name: _rounded(getattr(by, name)) for name in judge.JudgeWeights.__slots__}
    WEIGHTS.write_text(json.dumps(body, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    record("relevance")
    print(f"{WEIGHTS.relative_to(ROOT)}: {WEIGHTS.stat().st_size:,} bytes")


def _rounded(value: Any) -> Any:
    return np.round(np.asarray(value, np.float64), 4).tolist()


if __name__ == "__main__":
    main()
