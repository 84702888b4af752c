"""Fit the model that reads a message together with the memories it may change, and say how it does on other authors.

Reads the cases of tests/data/curation/fit and changes_open.jsonl beside it, and writes the deltas that
``memstone.adapters.embed.lists`` reads (src/memstone/adapters/embed/data/lists_changes.npz). With ``--without`` the
named authors are not fitted to: what is printed for them is about cases the model has not seen, and the bounds of
``memstone.core.changes.reader`` are taken from there. It needs torch, which nothing else here does:

    pip install torch==2.13.0
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from memstone.adapters.embed.lists import AGREE, LENGTH, file_of, list_ids
from memstone.core.curate import EFFECT, candidates
from scripts.pair_net import PairNet, _normed, tokenizer
from scripts.weights import record

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "curation"

RANK, HIDDEN, DROP = 16, 64, 0.1
EPOCHS, AT_ONCE, RATE, WARM_UP, SMOOTHED = 5, 16, 8e-4, 0.08, 0.05
IN_VIEW: Final = {"seen_a": 0.7, "seen_b": 0.7}
"""Cases that the rules were developed with are told in fewer ways, and count for less."""

FEWER, LOST, STRANGERS, RETOLD, GARBLED = 0.35, 0.12, 0.35, 0.25, 0.08
"""How often memories are left out of a case, the right one is, others are put in, the message is retold or garbled."""

MOST_MEMORIES: Final = 7
SHARES: Final = (0.02, 0.05, 0.1)
_MASKED: Final = -1e4
_LIGHT: Final = frozenset(
    "user user's the a an is are has have in of to and for at on with he she they his her their from by as".split()
)


@dataclass
class Case:
    """A labelled change: the message in one or two wordings, the memories, and what is right."""

    author: str
    label: str
    right: str | None
    wordings: list[list[int]]
    ids: list[str]
    memories: list[list[int]]
    words: list[frozenset[str]]
    said: frozenset[str] = field(default_factory=frozenset)


@dataclass
class Example:
    """One way to show a case: a message, memories, and the place of what happens among the outcomes."""

    message: list[int]
    memories: list[list[int]]
    outcome: int
    count: float


class ListNet(PairNet):
    """Reads ``[CLS] message [SEP] memory [SEP] memory [SEP] ...`` and gives the log odds of what can happen."""

    def __init__(self) -> None:
        super().__init__(2, rank=RANK, hidden=HIDDEN, drop=DROP)
        self.types.data[1] = self.types.data[0]
        del self.direct
        self.inner = nn.Linear(4 * self.words.shape[1], HIDDEN)
        self.nothing = nn.Parameter(torch.zeros(1))

    def outcomes(self, shown: Sequence[Example]) -> list[torch.Tensor]:
        """For each example the log odds: replaced and the same for each memory, and last that nothing is."""
        laid = [list_ids(one.message, one.memories) for one in shown]
        width = max(len(ids) for ids, _ in laid)
        ids, part = torch.zeros(len(laid), width, dtype=torch.long), torch.full((len(laid), width), -1)
        for row, (tokens, ends) in enumerate(laid):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            part[row, : len(tokens)] = 1
            part[row, : ends[0]] = 0
        with torch.autocast("cpu", torch.bfloat16):
            states = self._states(ids, part)
        scored = [self._scored(rows, ends) for rows, (_, ends) in zip(states.float(), laid, strict=True)]
        return [torch.log_softmax(torch.cat([one.reshape(-1), self.nothing]), 0) for one in scored]

    def _states(self, ids: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        second = (part > 0).float()[..., None]
        rows = self.words[ids] + self.places[: ids.shape[1]] + self.types[0] * (1 - second) + self.types[1] * second
        rows = _normed(rows, self.first)
        mask = torch.where(part >= 0, 0.0, _MASKED)[:, None, None, :]
        for layer in self.layers:
            rows = layer(rows, mask, self.drop)
        return rows

    def _scored(self, rows: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
        pools = [rows[start:end].mean(0) for start, end in zip([0, *ends], ends, strict=False)]
        means = functional.normalize(torch.stack(pools), dim=1) * LENGTH
        own, others = means[:1].expand(len(pools) - 1, -1), means[1:]
        both = torch.cat([own, others, own * others * AGREE, (own - others).abs()], dim=1)
        inner = functional.gelu(self.inner(both), approximate="tanh")
        return self.outer(functional.dropout(inner, self.drop, self.training))

    def write(self, path: Path) -> None:
        """The deltas and the head as 16-bit numbers; that nothing happens counts zero."""
        found = {name.replace("layers.", "").replace("parts.", ""): value for name, value in self.named_parameters()}
        found["outer.bias"] = found["outer.bias"] - found.pop("nothing")
        np.savez_compressed(path, **{name: value.detach().numpy().astype(np.float16) for name, value in found.items()})


def main() -> None:
    """Fit to all authors but those left out, say how these come out, and write the deltas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], help="authors to judge, and not to fit to")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--to", type=Path, default=file_of("changes"), help="where the deltas go")
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    cases = read(sources())
    net = ListNet()
    fit(net, [case for case in cases if case.author not in wanted.without], wanted.epochs, random.Random(0))  # noqa: S311 - no secret
    for author in wanted.without:
        report(author, net, [case for case in cases if case.author == author])
    net.write(wanted.to)
    if wanted.to == file_of("changes"):
        record("change_reader")


def sources() -> dict[str, Path]:
    """The files of cases by who wrote them."""
    return {"open": DATA / "changes_open.jsonl"} | {path.stem: path for path in sorted((DATA / "fit").glob("*.jsonl"))}


def read(files: dict[str, Path]) -> list[Case]:
    """All cases, in the numbers the model reads."""
    by = tokenizer()
    lines = ((author, line) for author, path in files.items() for line in path.read_text("utf-8").splitlines())
    return [_case(author, json.loads(line), by) for author, line in lines]


def _case(author: str, told: dict[str, Any], by: Any) -> Case:
    """A case; where one fact holds most of the message, that is another wording of it."""
    found = candidates(told["new"])
    long = [one.text for one in found if one.category != EFFECT and one.end - one.start >= 0.7 * len(told["new"])]
    texts = [one["text"] for one in told["existing"]]
    return Case(
        author,
        told["label"],
        told.get("target") or told.get("known"),
        [by.encode(text) for text in [told["new"], *long[:1]]],
        [one["id"] for one in told["existing"]],
        [by.encode(text) for text in texts],
        [_words(text) for text in texts],
        _words(told["new"]),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9']+", text.lower())) - _LIGHT


def fit(net: ListNet, cases: list[Case], epochs: int, draw: random.Random) -> None:
    """Show every case once an epoch, each time in another way."""
    learned = net.learned()
    steps = epochs * (len(cases) // AT_ONCE + 1)
    best = torch.optim.AdamW(learned, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    pace = torch.optim.lr_scheduler.LambdaLR(
        best, lambda at: min(1.0, (at + 1) / (WARM_UP * steps)) * max(0.02, 1 - at / steps)
    )
    strangers = [pair for case in cases for pair in zip(case.memories, case.words, strict=True)]
    net.train()
    for epoch in range(epochs):
        shown = [_shown(case, strangers, draw) for case in cases]
        loss = 0.0
        for batch in _batches(shown, draw):
            off = sum(map(_off, net.outcomes(batch), batch), torch.zeros(())) / len(batch)
            best.zero_grad()
            off.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            best.step()
            pace.step()
            loss += off.item() * len(batch) / len(shown)
        print(f"epoch {epoch + 1}: {loss:.3f}", flush=True)


def _off(odds: torch.Tensor, shown: Example) -> torch.Tensor:
    return -shown.count * ((1 - SMOOTHED) * odds[shown.outcome] + SMOOTHED * odds.mean())


def _batches(shown: list[Example], draw: random.Random) -> list[list[Example]]:
    """Examples of like length together."""
    draw.shuffle(shown)
    batches: list[list[Example]] = []
    for start in range(0, len(shown), 8 * AT_ONCE):
        near = sorted(
            shown[start : start + 8 * AT_ONCE], key=lambda one: len(one.message) + sum(map(len, one.memories))
        )
        batches += [near[at : at + AT_ONCE] for at in range(0, len(near), AT_ONCE)]
    draw.shuffle(batches)
    return batches


def _shown(case: Case, strangers: Sequence[tuple[list[int], frozenset[str]]], draw: random.Random) -> Example:
    """A case with fewer memories, with others that have nothing to do with it, or in other words."""
    right = case.right if case.label != "ADD" else None
    memories = list(zip(case.ids, case.memories, strict=True))
    if draw.random() < FEWER:
        memories = [one for one in memories if one[0] == right or draw.random() > FEWER]
    if right and len(memories) > 1 and draw.random() < LOST:  # what it replaces is not known here
        memories, right = [one for one in memories if one[0] != right], None
    if not memories or draw.random() < STRANGERS:
        memories += [("", one) for one in _others(case, strangers, draw)]
    draw.shuffle(memories)
    memories = sorted(memories, key=lambda one: one[0] != right)[:MOST_MEMORIES]
    draw.shuffle(memories)
    outcome = 2 * len(memories)
    if right:
        outcome = 2 * [name for name, _ in memories].index(right) + (case.label == "NONE")
    return Example(_wording(case, draw), [one for _, one in memories], outcome, IN_VIEW.get(case.author, 1.0))


def _others(case: Case, strangers: Sequence[tuple[list[int], frozenset[str]]], draw: random.Random) -> list[list[int]]:
    """One to three memories of other cases that have no word in common with this one."""
    near = frozenset().union(*case.words, case.said)
    drawn = (draw.choice(strangers) for _ in range(40))
    return [ids for ids, words in drawn if not words & near][: draw.choice([1, 1, 2, 3])]


def _wording(case: Case, draw: random.Random) -> list[int]:
    wording = case.wordings[-1] if draw.random() < RETOLD else case.wordings[0]
    if draw.random() >= GARBLED:
        return wording
    return [wording[0], *(one for one in wording[1:-1] if draw.random() > GARBLED), wording[-1]]


def report(author: str, net: ListNet, cases: Sequence[Case]) -> None:
    """How many of each label are read right, and how many changes are found where few others are taken for one."""
    net.eval()
    with torch.no_grad():
        odds = [net.outcomes([Example(one.wordings[0], one.memories, 0, 1.0)])[0].exp().numpy() for one in cases]
    right: Counter[str] = Counter(one.label for one, found in zip(cases, odds, strict=True) if _is_right(one, found))
    total = Counter(one.label for one in cases)
    most = [(float(found[0:-1:2].max()), one) for one, found in zip(cases, odds, strict=True)]
    wrong = sorted((value for value, one in most if one.label != "SUPERSEDE"), reverse=True)
    shares = "  ".join(f"{label} {right[label] / total[label]:.2f}" for label in sorted(total))
    print(f"  {author:10} {shares}", *(f"{share:.0%}: over {wrong[int(share * len(wrong))]:.2f}" for share in SHARES))


def _is_right(case: Case, odds: Any) -> bool:
    best = int(odds.argmax())
    if best == 2 * len(case.ids):
        return case.label == "ADD"
    label = ("SUPERSEDE", "NONE")[best % 2]
    return label == case.label and (label == "NONE" or case.ids[best // 2] == case.right)


if __name__ == "__main__":
    main()
