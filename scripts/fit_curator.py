"""Fit the network that reads what people say, and say how it does on authors it has not seen.

It learns three things at once: what of a message is worth remembering (the labelled messages of
benchmarks/quality/messages), what a message does to each of the memories near it (the changes labelled there and in
tests/data/curation), and what a reader finds of a memory by itself (benchmarks/quality/judged). It writes the deltas
that ``memstone.adapters.embed.curator`` reads. With ``--without`` the named authors are not fitted to. It needs torch,
which nothing else here does; on two processors it takes some hours, on a graphics card four minutes:

    pip install torch==2.13.0
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from memstone.adapters.embed.curator import AGREE, FILE, LENGTH, LONGEST_JUDGED, lay_out, list_ids
from memstone.language.en.pieces import ABOUT, FIRST_KIND, JUDGEMENTS, KINDS, OUTPUTS, WHYS
from scripts.curator_data import (
    CHANGED,
    DATA,
    SAME,
    SHORTEST,
    UNPOINTED,
    UNTOUCHED,
    Case,
    Memory,
    Message,
    Piece,
    labelled_judgements,
    quiet_cases,
    read_cases,
    read_judged,
    read_messages,
    series_cases,
)
from scripts.pair_net import PairNet, _normed, tokenizer
from scripts.weights import record

RANK, HIDDEN, LIST_HIDDEN, DROP = 16, 96, 64, 0.12
EPOCHS, AT_ONCE, RATE, WARM_UP = 6, 48, 9e-4, 0.08
FORGOTTEN, GARBLED = 0.3, 0.03
"""How often a message is shown without the words before it, and a word without a letter."""

FEWER, LOST, STRANGERS, THINNED, SMOOTHED = 0.35, 0.12, 0.35, 0.08, 0.05
"""How often memories are left out of a case, the right one is, others are put in, words of the message left out."""

MOST_MEMORIES: Final = 6
"""So many memories are read beside a message."""

AUTHOR_WORDING_RATE: Final = 0.4
"""How often a memory is shown as its author put it, and not as it would be stored."""

STARTS: Final = 2.0
"""So much more it counts where a piece begins, which is one word in ten."""

_MASKED: Final = -1e4


class Tokens:
    """The tokenizer, which remembers what it was asked: the same words come every epoch."""

    def __init__(self) -> None:
        self.encode = lru_cache(maxsize=None)(tokenizer().encode)


@dataclass
class TrainingData:
    """All that is fitted to."""

    messages: list[Message]
    cases: list[Case]
    judged: list[tuple[str, list[int], int]]

    def of(self, authors: set[str], *, inside: bool) -> TrainingData:
        """Return what is by these authors, or by all others."""
        return TrainingData(
            [one for one in self.messages if (one.author in authors) == inside],
            [one for one in self.cases if (one.author in authors) == inside],
            [one for one in self.judged if (one[0] in authors) == inside],
        )


class CuratorNet(PairNet):
    """Reads a message behind what was said before it, word by word, or beside memories, one by one."""

    def __init__(self, rank: int = RANK) -> None:
        super().__init__(OUTPUTS, rank=rank, hidden=HIDDEN, drop=DROP)
        self.types.data[1] = self.types.data[0]
        width = self.words.shape[1]
        del self.direct, self.inner, self.outer
        self.word_inner, self.word_outer = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)
        self.list_inner, self.list_outer = nn.Linear(4 * width, LIST_HIDDEN), nn.Linear(LIST_HIDDEN, 2)
        self.judge_inner, self.judge_outer = nn.Linear(width, LIST_HIDDEN), nn.Linear(LIST_HIDDEN, len(JUDGEMENTS))

    def read_words(self, visible: Sequence[tuple[str, list[str]]], by: Any) -> list[torch.Tensor]:
        """Return for each message a row of numbers for each of its words."""
        laid = [lay_out(before, words, by.encode) for before, words in visible]
        states = self.states([(one.ids, one.parts) for one in laid])
        places = [row * states.shape[1] + place for row, one in enumerate(laid) for place in one.places]
        rows = states.reshape(-1, states.shape[2])[torch.tensor(places, device=states.device)]
        inner = functional.gelu(self.word_inner(self._dropped(rows)), approximate="tanh")
        return list(self.word_outer(self._dropped(inner)).split([len(one.places) for one in laid]))

    def read_lists(self, visible: Sequence[tuple[list[int], list[list[int]]]]) -> list[torch.Tensor]:
        """Return for each message the log odds of each memory: that it is changed, and that it is said again."""
        laid = [list_ids(message, memories) for message, memories in visible]
        states = self.states([(ids, [0] * ends[0] + [1] * (len(ids) - ends[0])) for ids, ends in laid])
        spans = [(row, start, end) for row, (_, ends) in enumerate(laid) for start, end in pairwise([0, *ends])]
        means = functional.normalize(_means(states, spans), dim=1) * LENGTH
        firsts = [at for at, (_, start, _) in enumerate(spans) if start == 0]
        sizes = [len(ends) - 1 for _, ends in laid]
        of_message = torch.tensor(firsts, device=means.device).repeat_interleave(
            torch.tensor(sizes, device=means.device)
        )
        others = torch.tensor([at for at, (_, start, _) in enumerate(spans) if start], device=means.device)
        own, near = means[of_message], means[others]
        both = torch.cat([own, near, own * near * AGREE, (own - near).abs()], dim=1)
        found = self.list_outer(self._dropped(functional.gelu(self.list_inner(both), approximate="tanh")))
        return list(found.split(sizes))

    def judge(self, memories: Sequence[list[int]]) -> torch.Tensor:
        """Return for each memory a number for everything that may be found of it."""
        visible = [one[:LONGEST_JUDGED] for one in memories]
        states = self.states([(one, [0] * len(one)) for one in visible])
        means = functional.normalize(_means(states, [(row, 0, len(one)) for row, one in enumerate(visible)]), dim=1)
        means = means * LENGTH
        inner = functional.gelu(self.judge_inner(self._dropped(means)), approximate="tanh")
        return self.judge_outer(self._dropped(inner))

    def states(self, laid: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        """Return what the network makes of texts, token by token."""
        width, device = max(len(ids) for ids, _ in laid), self.words.device
        ids, part = torch.zeros(len(laid), width, dtype=torch.long), torch.full((len(laid), width), -1)
        for row, (tokens, parts) in enumerate(laid):
            ids[row, : len(tokens)], part[row, : len(tokens)] = torch.tensor(tokens), torch.tensor(parts)
        ids, part = ids.to(device), part.to(device)
        second = (part > 0).float()[..., None]
        rows = self.words[ids] + self.places[:width] + self.types[0] * (1 - second) + self.types[1] * second
        rows = _normed(rows, self.first)
        mask = torch.where(part >= 0, 0.0, _MASKED)[:, None, None, :]
        for layer in self.layers:
            rows = layer(rows, mask, self.drop)
        return rows.float()

    def _dropped(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.dropout(rows, self.drop, self.training)

    def write(self, path: Path) -> None:
        """Write the deltas and the heads as 16-bit numbers."""
        found = {name.replace("layers.", "").replace("parts.", ""): value for name, value in self.named_parameters()}
        stored = {name: value.detach().float().cpu().numpy().astype(np.float16) for name, value in found.items()}
        np.savez_compressed(path, **stored)


def _means(states: torch.Tensor, spans: Sequence[tuple[int, int, int]]) -> torch.Tensor:
    """Return the mean of the states between two places of a row, for each of these, in one go."""
    width = states.shape[1]
    places = [row * width + at for row, start, end in spans for at in range(start, end)]
    return _pooled(states.reshape(-1, states.shape[2]), places, [end - start for _, start, end in spans])


def _pooled(rows: torch.Tensor, places: list[int], sizes: list[int]) -> torch.Tensor:
    """Return the means of runs of rows: ``places`` are those of all runs, one after the other."""
    counts = torch.tensor(sizes, device=rows.device)
    into = torch.repeat_interleave(torch.arange(len(sizes), device=rows.device), counts)
    total = torch.zeros(len(sizes), rows.shape[1], device=rows.device, dtype=rows.dtype)
    return total.index_add(0, into, rows[torch.tensor(places, device=rows.device)]) / counts[:, None]


def fit(net: CuratorNet, training_data: TrainingData, epochs: int, draw: random.Random, by: Any, rate: float) -> None:
    """Show every message, every case and every judged memory once an epoch, each time a little differently."""
    learned = net.learned()
    every = (training_data.messages, training_data.cases, training_data.judged)
    steps = epochs * sum(len(one) // AT_ONCE + 1 for one in every)
    best = torch.optim.AdamW(learned, lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    pace = torch.optim.lr_scheduler.LambdaLR(
        best, lambda at: min(1.0, (at + 1) / (WARM_UP * steps)) * max(0.02, 1 - at / steps)
    )
    strangers = [memory for case in training_data.cases for memory in case.memories[:2] if memory.outcome == UNTOUCHED]
    net.train()
    for epoch in range(epochs):
        batches: list[tuple[int, list[Any]]] = [(0, one) for one in _batches(training_data.messages, draw)]
        batches += [
            (1, one) for one in _batches([show_case(one, strangers, draw) for one in training_data.cases], draw)
        ]
        batches += [(2, one) for one in _batches(training_data.judged, draw)]
        draw.shuffle(batches)
        losses: dict[int, list[float]] = {0: [], 1: [], 2: []}
        for which, batch in batches:
            if which == 0:
                off = _miss_messages(net, batch, draw, by)
            else:
                off = miss_cases(net, batch) if which == 1 else miss_judged(net, batch)
            best.zero_grad()
            off.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            best.step()
            pace.step()
            losses[which].append(off.item())
        print(f"epoch {epoch + 1}:", *(f"{sum(one) / max(1, len(one)):.3f}" for one in losses.values()), flush=True)


def _batches(visible: list[Any], draw: random.Random) -> list[list[Any]]:
    """Return batches of a few at once, of like length."""
    draw.shuffle(visible)
    found: list[list[Any]] = []
    for start in range(0, len(visible), 8 * AT_ONCE):
        near = sorted(visible[start : start + 8 * AT_ONCE], key=_length)
        found += [near[at : at + AT_ONCE] for at in range(0, len(near), AT_ONCE)]
    return found


def _length(one: Any) -> int:
    if isinstance(one, tuple):
        return len(one[1])
    return len(one.words) if isinstance(one, Message) else len(one.message) + sum(map(len, one.memories))


def _miss_messages(net: CuratorNet, batch: list[Message], draw: random.Random, by: Any) -> torch.Tensor:
    return _off(net.read_words([_distort_message(one, draw) for one in batch], by), batch)


def _distort_message(one: Message, draw: random.Random) -> tuple[str, list[str]]:
    words = one.words
    if draw.random() < UNPOINTED:
        words = [word.strip(".,;:!?") or word for word in words]
    words = [_garbled(word, draw) if draw.random() < GARBLED else word for word in words]
    return "" if draw.random() < FORGOTTEN else one.before, words


def _garbled(word: str, draw: random.Random) -> str:
    at = draw.randrange(len(word))
    return word[:at] + word[at + 1 :] if len(word) > SHORTEST else word


def _off(found: list[torch.Tensor], batch: list[Message]) -> torch.Tensor:
    """Return how far off the numbers are: where pieces begin, whether they are kept, of which kind they are."""
    rows, begun, visible, at = torch.cat(found), list[float](), list[tuple[Piece, int, int]](), 0
    for own, one in zip(found, batch, strict=True):
        first = {piece.start for piece in one.pieces}
        begun += [float(place in first) for place in range(len(own))]
        visible += [
            (piece, at + piece.start, at + min(piece.end, len(own))) for piece in one.pieces if piece.start < len(own)
        ]
        at += len(own)
    places = [place for _, start, end in visible for place in range(start, end)]
    means = _pooled(rows, places, [end - start for _, start, end in visible])
    pieces = [piece for piece, _, _ in visible]

    def tensor(values: list[Any]) -> torch.Tensor:
        return torch.tensor(values, device=rows.device)

    off = STARTS * functional.binary_cross_entropy_with_logits(
        rows[:, 0], tensor(begun), pos_weight=tensor([STARTS])[0]
    )
    stored = tensor([float(one.keep) * (1 - SMOOTHED) + SMOOTHED / 2 for one in pieces])
    off = off + functional.binary_cross_entropy_with_logits(means[:, 1], stored)
    kinds = tensor([one.kind if one.keep else len(KINDS) + one.kind for one in pieces])
    off = off + 0.3 * functional.cross_entropy(means[:, FIRST_KIND : FIRST_KIND + len(KINDS) + len(WHYS)], kinds)
    stated = [at for at, one in enumerate(pieces) if one.keep]
    if stated:
        answer = means[tensor(stated)]
        off = off + 0.2 * functional.cross_entropy(
            answer[:, -len(ABOUT) :], tensor([pieces[at].about for at in stated])
        )
        wanted = tensor([[float(pieces[at].leans), float(pieces[at].answers)] for at in stated])
        off = off + 0.5 * functional.binary_cross_entropy_with_logits(answer[:, 2:FIRST_KIND], wanted)
    return off


def report(author: str, net: CuratorNet, messages: Sequence[Message], by: Any) -> None:
    """Print how many pieces are judged right, and where they begin."""
    net.eval()
    with torch.no_grad():
        parts = [messages[at : at + AT_ONCE] for at in range(0, len(messages), AT_ONCE)]
        found = [rows.cpu() for part in parts for rows in net.read_words([(one.before, one.words) for one in part], by)]
    pairs = [
        (rows[p.start : p.end].mean(0), p)
        for rows, one in zip(found, messages, strict=True)
        for p in one.pieces
        if p.start < len(rows)
    ]
    line = [author]
    for least in (0.3, 0.5, 0.7, 0.85):
        hits = [(torch.sigmoid(mean[1]).item() >= least, piece.keep) for mean, piece in pairs]
        right = sum(a and b for a, b in hits)
        line.append(
            f"{least}: P {right / max(1, sum(a for a, _ in hits)):.3f} R {right / max(1, sum(b for _, b in hits)):.3f}"
        )
    kinds = [(int(mean[FIRST_KIND:][: len(KINDS)].argmax()) == piece.kind) for mean, piece in pairs if piece.keep]
    line.append(f"kind {sum(kinds) / len(kinds):.3f}")
    about = [(int(mean[-len(ABOUT) :].argmax()) == piece.about) for mean, piece in pairs if piece.keep]
    line.append(f"about {sum(about) / len(about):.3f}")
    for name, at in (("leans", 2), ("answers", 3)):
        lines = [(mean[at].item() > 0, getattr(piece, name)) for mean, piece in pairs if piece.keep]
        right = sum(a and b for a, b in lines)
        line.append(
            f"{name} P {right / max(1, sum(a for a, _ in lines)):.2f} R {right / max(1, sum(b for _, b in lines)):.2f}"
        )
    truth = [
        (float(rows[at, 0]) > 0, any(p.start == at for p in one.pieces))
        for rows, one in zip(found, messages, strict=True)
        for at in range(1, len(rows))
    ]
    right = sum(a and b for a, b in truth)
    line.append(
        f"starts P {right / max(1, sum(a for a, _ in truth)):.3f} R {right / max(1, sum(b for _, b in truth)):.3f}"
    )
    print("  ".join(line), flush=True)


# --- what a message does to memories ----------------------------------------------------------------------------------


@dataclass
class Example:
    """One way to show a case: a message, memories, and what becomes of each."""

    message: list[int]
    memories: list[list[int]]
    outcomes: list[int]


class ByMeaning:
    """How near texts are to each other, by the network before it has learned anything: the built-in model."""

    def __init__(self, net: CuratorNet, by: Any) -> None:
        self._net, self._by, self._known = net, by, dict[str, Any]()

    def learn(self, texts: Iterable[str]) -> None:
        """Compute the vectors of all these at once."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for start in range(0, len(new), 256):
            part = new[start : start + 256]
            ids = [self._by.encode(text)[:128] for text in part]
            with torch.no_grad():
                states = self._net.states([(one, [0] * len(one)) for one in ids])
                means = _means(states, [(row, 0, len(one)) for row, one in enumerate(ids)])
            self._known |= zip(part, functional.normalize(means, dim=1).cpu().numpy(), strict=True)

    def between(self, text: str, others: Sequence[str]) -> Any:
        """Return the cosines of a text and some others."""
        return np.stack([self._known[one] for one in others]) @ self._known[text]


def show_case(case: Case, strangers: Sequence[Memory], draw: random.Random) -> Example:
    """Return a case with the memories nearest to it, or fewer, with others that have nothing to do with it."""
    most = draw.choice([2, 3, 4, 5, 6, 6])
    memories = case.memories[:most]
    memories += [one for one in case.memories[most:] if one.outcome == CHANGED and draw.random() > LOST]
    if draw.random() < FEWER:
        memories = [one for one in memories if one.outcome != UNTOUCHED or draw.random() > FEWER]
    if not memories or draw.random() < STRANGERS:
        memories = [*memories, *draw.sample(strangers, draw.choice([1, 1, 2]))]
    memories = memories[: MOST_MEMORIES + 1]
    draw.shuffle(memories)
    message = case.messages[0]
    if draw.random() < THINNED:
        message = [message[0], *(one for one in message[1:-1] if draw.random() > THINNED), message[-1]]
    return Example(message, [_worded(one, draw) for one in memories], [one.outcome for one in memories])


def _worded(memory: Memory, draw: random.Random) -> list[int]:
    return memory.wordings[0] if draw.random() < AUTHOR_WORDING_RATE else draw.choice(memory.wordings)


def miss_cases(net: CuratorNet, visible: Sequence[Example]) -> torch.Tensor:
    """Return how far off the odds are that each memory is changed, and that it is said again."""
    rows = torch.cat(net.read_lists([(one.message, one.memories) for one in visible]))
    outcomes = torch.tensor([outcome for one in visible for outcome in one.outcomes], device=rows.device)
    wanted = torch.stack([outcomes == CHANGED, outcomes == SAME], dim=1).float()
    wanted = wanted * (1 - SMOOTHED) + SMOOTHED / 2
    return 2 * functional.binary_cross_entropy_with_logits(rows, wanted)


def report_cases(author: str, net: CuratorNet, cases: Sequence[Case]) -> None:
    """Print how many changes are found among the nearest memories, and how many of those found are right."""
    net.eval()
    odds, truth, missed = list[float](), list[bool](), 0
    with torch.no_grad():
        for case in cases:
            visible = case.memories[:MOST_MEMORIES]
            missed += sum(one.outcome == CHANGED for one in case.memories[MOST_MEMORIES:])
            ids = [one.wordings[min(1, len(one.wordings) - 1)] for one in visible]
            odds += torch.sigmoid(net.read_lists([(case.messages[0], ids)])[0][:, 0]).tolist()
            truth += [one.outcome == CHANGED for one in visible]
    line, every = [f"{author:12}"], sum(truth) + missed
    for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        taken = [right for odd, right in zip(odds, truth, strict=True) if odd >= least]
        line.append(f"{least}: P {sum(taken) / max(1, len(taken)):.2f} R {sum(taken) / max(1, every):.2f}")
    print("  ".join([*line, f"of {every}"]), flush=True)


# --- whether a memory can be understood and is worth keeping ----------------------------------------------------------


def miss_judged(net: CuratorNet, batch: Sequence[tuple[str, list[int], int]]) -> torch.Tensor:
    """Return how far off the judgement of memories is."""
    rows = net.judge([ids for _, ids, _ in batch])
    wanted = torch.tensor([judged for _, _, judged in batch], device=rows.device)
    return functional.cross_entropy(rows, wanted, label_smoothing=SMOOTHED)


def report_judged(author: str, net: CuratorNet, judged: Sequence[tuple[str, list[int], int]]) -> None:
    """Print how much readers find ok of what is found ok, and how much of that is found."""
    net.eval()
    with torch.no_grad():
        odds = [float(torch.softmax(net.judge([ids])[0], 0)[0]) for _, ids, _ in judged]
    line, every = [f"{author:12} judged {len(judged)}"], sum(label == 0 for _, _, label in judged)
    for least in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        taken = [label == 0 for odd, (_, _, label) in zip(odds, judged, strict=True) if odd >= least]
        line.append(f"{least}: P {sum(taken) / max(1, len(taken)):.2f} R {sum(taken) / max(1, every):.2f}")
    print("  ".join(line), flush=True)


def main() -> None:
    """Fit to all authors but those left out, say how these come out, and write the deltas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], help="authors to judge, and not to fit to")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--to", type=Path, default=FILE, help="where the deltas go")
    wanted = parser.parse_args()
    torch.manual_seed(wanted.seed)
    by, draw = Tokens(), random.Random(wanted.seed)  # noqa: S311 - no secret
    files, series = sorted(DATA.glob("author_*.jsonl")), sorted(DATA.glob("series_*.jsonl"))
    net = CuratorNet(wanted.rank).to("cuda" if torch.cuda.is_available() else "cpu")
    near = ByMeaning(net.eval(), by)
    every = TrainingData(
        list(read_messages([*files, *series])),
        [*read_cases(by), *quiet_cases(files, by, near), *series_cases(series, by, near)],
        [*read_judged(by), *labelled_judgements([*files, *series], by, draw)],
    )
    left_out = {f"{one}{more}" for one in wanted.without for more in ("", " short", " quiet", " part", " weak")}
    fit(net, every.of(left_out, inside=False), wanted.epochs, draw, by, wanted.rate)
    judged = every.of(left_out, inside=True)
    for author in sorted(left_out):
        one = judged.of({author}, inside=True)
        if one.messages:
            report(author, net, one.messages, by)
        if one.cases:
            report_cases(author, net, one.cases)
        if one.judged:
            report_judged(author, net, one.judged)
    net.write(wanted.to)
    if wanted.to == FILE:
        record("curator")


if __name__ == "__main__":
    main()
