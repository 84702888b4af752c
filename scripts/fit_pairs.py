"""Fit the reader that says how well a memory answers a question, once for each four people left out and once for all.

Reads what ``scripts/fit_relevance.py`` keeps of tests/data/relevance (and makes it when it is not there). Writes the
readers that know eight people each to a directory, from which ``fit_relevance.py`` learns what theirs is worth for the
other four, and the one that knows all twelve to src/memstone/language/models/pairs_relevance.npz. The questions of
tests/data/gate are not looked at.

It needs torch, which nothing else here does, and half an hour of one processor:

    pip install torch==2.13.0
    python -m scripts.fit_pairs --kept build/relevance.npz --readers build/readers
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from memstone.adapters.embed.pairs import file_of
from memstone.engine.recall import judge
from scripts.fit_relevance import values
from scripts.pair_net import PairNet, by_length, encoded, padded, tokenizer
from scripts.relevance_data import FOLDS, PEOPLE, Questions, everything, lines
from scripts.weights import record

RANK, FROZEN, DROP = 16, 3, 0.1
EPOCHS, AT_ONCE, RATE, DECAY, WARM_UP, OF_PAIRS = 3, 12, 1e-3, 0.05, 0.05, 0.5
COUNTS: Final = {"answered": 1.0, "unrelated": 1.0, "stranger": 0.4}
"""How much a question counts; a ``stranger`` is one that was written for somebody else."""

STRANGERS, RENAMED = 0.06, 0.5
BEST, BEST_OF_STRANGERS = 3, 2
_ALIKE_IN_LENGTH: Final = 24
_NEVER: Final = -1e9
_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]{2,}\b")
_NO_NAMES: Final = frozenset(
    "User January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday English".split()
)


@dataclass(slots=True)
class Asked:
    """A question, the memories it is read with, and whether each answers it."""

    row: int
    question: str
    memories: list[str] = field(default_factory=list)
    right: list[float] = field(default_factory=list)

    def add(self, text: str, *, right: bool) -> None:
        """Add one more."""
        self.memories.append(text)
        self.right.append(float(right))


def main() -> None:
    """Fit all readers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kept", type=Path, required=True, help="what the search finds; written when it is not there")
    parser.add_argument("--readers", type=Path, required=True, help="where the readers for four people each go")
    parser.add_argument("--threads", type=int, default=1)
    wanted = parser.parse_args()
    torch.set_num_threads(wanted.threads)
    wanted.readers.mkdir(parents=True, exist_ok=True)
    every = everything(wanted.kept)
    asked = list(_asked(every))
    states = States(asked)
    for fold in FOLDS:
        known = [one for one in asked if every.person[one.row] not in fold and every.author[one.row] not in fold]
        fitted(known, every, states).save(wanted.readers / f"without_{fold}.npz")
    fitted(asked, every, states).save(file_of(judge.TASK))
    record("relevance_reader")


# --- what there is to learn from --------------------------------------------------------------------------------------


def _asked(every: Questions) -> Iterator[Asked]:
    """Yield questions with the hits that would be read, and what is missing among those."""
    chance = random.Random(1)  # noqa: S311 - the same in every run
    answer = {name: [line["text"] for line in lines(f"memories_{name}")] for name in PEOPLE}
    answers = {(name, one["text"]): one["answers"] for name in PEOPLE for one in lines(f"answerable_{name}")}
    names = sorted({name for texts in answer.values() for text in texts for name in _NAME.findall(text)} - _NO_NAMES)
    found = values(every, judge.load_weights())
    for row, kind in enumerate(every.kind.tolist()):
        if kind not in COUNTS or (kind == "stranger" and chance.random() > STRANGERS):
            continue
        texts, best = answer[str(every.person[row])], np.argsort(-found[row])
        one = Asked(row, str(every.text[row]))
        for place in best[: BEST_OF_STRANGERS if kind == "stranger" else BEST]:
            one.add(texts[every.hits[row, place]], right=bool(every.right[row, place]))
        if kind == "answered":
            places = [int(name[1:]) - 1 for name in answers[str(every.person[row]), one.question]]
            _add_missing(one, [texts[place] for place in places], names, chance)
        yield one


def _add_missing(one: Asked, answers: Sequence[str], names: Sequence[str], chance: random.Random) -> None:
    """Add an answer that would not be read, and one that is about somebody else of another name."""
    for text in [text for text in answers if text not in one.memories][:1]:
        one.add(text, right=True)
    asked = [name for name in dict.fromkeys(_NAME.findall(one.question)) if name not in _NO_NAMES]
    shared = [(text, name) for text in answers for name in asked if re.search(rf"\b{name}\b", text)]
    if shared and chance.random() < RENAMED:
        text, name = chance.choice(shared)
        one.add(re.sub(rf"\b{name}\b", chance.choice(names), text), right=False)


class States:
    """What the frozen layers make of every pair, worked out once."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._encoded = encoded([(one.question, text) for one in asked for text in one.memories], tokenizer())
        self._first = dict(
            zip((one.row for one in asked), np.cumsum([0, *(len(one.memories) for one in asked)]), strict=False)
        )
        net = PairNet(1, rank=RANK, frozen=FROZEN)
        net.coarser()
        self._rows: list[Any] = [None] * len(self._encoded)
        with torch.no_grad():
            for places in by_length(self._encoded, 48):
                rows = net.below(*padded([self._encoded[place] for place in places])).float().numpy()
                for place, row in zip(places, rows, strict=True):
                    self._rows[place] = row[: len(self._encoded[place][0])].astype(np.float16)

    def longest(self, one: Asked) -> int:
        """Return how many tokens the longest pair of a question has."""
        return max(len(self._encoded[place][0]) for place in self._places(one))

    def of(self, some: Sequence[Asked]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows of all pairs of some questions, and which text each belongs to."""
        places = [place for one in some for place in self._places(one)]
        _, part = padded([self._encoded[place] for place in places])
        rows = np.zeros((*part.shape, self._rows[0].shape[1]), np.float32)
        for at, place in enumerate(places):
            rows[at, : len(self._rows[place])] = self._rows[place]
        return torch.from_numpy(rows), part

    def _places(self, one: Asked) -> range:
        start = int(self._first[one.row])
        return range(start, start + len(one.memories))


# --- the fit ----------------------------------------------------------------------------------------------------------


def fitted(asked: Sequence[Asked], every: Questions, states: States) -> PairNet:
    """Return a reader that was shown these questions a few times."""
    chance = random.Random(0)  # noqa: S311 - the same in every run
    torch.manual_seed(0)
    net = PairNet(1, rank=RANK, frozen=FROZEN, drop=DROP)
    net.coarser()
    net.types.requires_grad_(requires_grad=False)  # it is below what is learned
    net.train()
    by = torch.optim.AdamW(net.learned(), lr=RATE, weight_decay=DECAY)
    batches = [batch for _ in range(EPOCHS) for batch in _batches(asked, states, chance)]
    for step, batch in enumerate(batches):
        done = step / len(batches)
        by.param_groups[0]["lr"] = RATE * min(1.0, done / WARM_UP) * max(0.02, 1 - done)
        loss = _off(net.above(*states.of(batch))[:, 0], batch, every.kind)
        by.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.learned(), 1.0)
        by.step()
        if step % 50 == 0:
            print(f"{step} of {len(batches)}: {float(loss.detach()):.3f}", flush=True)
    net.eval()
    return net


def _batches(asked: Sequence[Asked], states: States, chance: random.Random) -> list[list[Asked]]:
    """Return all questions in another order, some of like length together."""
    order = chance.sample(list(asked), len(asked))
    found: list[list[Asked]] = []
    for start in range(0, len(order), AT_ONCE * _ALIKE_IN_LENGTH):
        some = sorted(order[start : start + AT_ONCE * _ALIKE_IN_LENGTH], key=states.longest)
        together = [some[at : at + AT_ONCE] for at in range(0, len(some), AT_ONCE)]
        found += chance.sample(together, len(together))
    return found


def _off(found: torch.Tensor, batch: Sequence[Asked], kinds: Any) -> torch.Tensor:
    """Return how wrong it is about each question (does anything answer it?), and about each pair."""
    own = torch.tensor([at for at, one in enumerate(batch) for _ in one.memories])
    right = torch.tensor([value for one in batch for value in one.right])
    kind = [str(kinds[one.row]) for one in batch]
    answered = torch.tensor([float(name == "answered") for name in kind])
    counts = torch.tensor([COUNTS[name] for name in kind])
    among = found + torch.where((answered[own] > 0) & (right == 0), _NEVER, 0.0)
    most = torch.full((len(batch),), _NEVER).scatter_reduce(0, own, among.detach(), "amax")
    total = most + torch.log(torch.zeros(len(batch)).index_add(0, own, torch.exp(among - most[own])) + 1e-9)
    there = most > _NEVER / 2
    wrong = functional.binary_cross_entropy_with_logits(total[there], answered[there], reduction="none")
    of_pairs = functional.binary_cross_entropy_with_logits(found, right, reduction="none") * counts[own]
    return (wrong * counts[there]).sum() / counts[there].sum() + OF_PAIRS * of_pairs.mean()


if __name__ == "__main__":
    main()
