"""Fit the network that reads what people say, and say how it does on authors it has not seen.

It learns two things at once: what of a message is worth remembering (the labelled messages of
benchmarks/quality/messages), and what a message does to each of the memories near it (the labelled changes of
tests/data/curation/fit and changes_open.jsonl). It writes the deltas that ``memstone.adapters.embed.curator`` reads.
With ``--without`` the named authors are not fitted to. It needs torch, which nothing else here does:

    pip install torch==2.13.0
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from memstone.adapters.embed.curator import AGREE, FILE, LENGTH, lay_out, list_ids
from memstone.core.changes.words import bare_words
from memstone.core.reading.pieces import ABOUT, FIRST_KIND, KINDS, OUTPUTS, WHYS
from memstone.core.rules.verbs import lemma
from scripts.pair_net import PairNet, _normed, tokenizer
from scripts.weights import record

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "benchmarks" / "quality" / "messages"
CHANGES = ROOT / "tests" / "data" / "curation"

RANK, HIDDEN, LIST_HIDDEN, DROP = 16, 96, 64, 0.1
EPOCHS, AT_ONCE, RATE, WARM_UP = 9, 32, 8e-4, 0.08
SHORTEST: Final = 3
UNPOINTED, FORGOTTEN, GARBLED, NOTED, CONTRACTED = 0.15, 0.3, 0.03, 0.25, 0.5
"""How often a message is shown without its punctuation, without the words before it, a word without a letter,
and how often a fact by itself is told in the third person."""

FEWER, LOST, STRANGERS, THINNED, SMOOTHED = 0.35, 0.12, 0.35, 0.08, 0.05
"""How often memories are left out of a case, the right one is, others are put in, words of the message left out."""

MOST_MEMORIES: Final = 7
QUOTED: Final = 0.25
"""So many memories are in the words of whoever said them."""

STARTS: Final = 2.0
"""So much more it counts where a piece begins, which is one word in ten."""

CHANGING: Final = ("author_v",)
_LIGHT: Final = frozenset(
    "user user's the a an is are has have in of to and for at on with he she they his her their from by as".split()
)
_MASKED: Final = -1e4
_WORD: Final = re.compile(r"\S+")


@dataclass
class Piece:
    """A contiguous part of a message by its words, and what it is."""

    start: int
    end: int
    keep: bool
    kind: int
    about: int
    leans: bool = False
    """Whether the fact it states has words that stand elsewhere in the message."""

    answers: bool = False
    """Whether it has words of what was said before."""


@dataclass
class Message:
    """A labelled message: its words, and the pieces it falls into."""

    author: str
    before: str
    words: list[str]
    pieces: list[Piece] = field(default_factory=list)


class CuratorNet(PairNet):
    """Reads a message behind what was said before it, word by word, or beside memories, one by one."""

    def __init__(self) -> None:
        super().__init__(OUTPUTS, rank=RANK, hidden=HIDDEN, drop=DROP)
        self.types.data[1] = self.types.data[0]
        width = self.words.shape[1]
        del self.direct, self.inner, self.outer
        self.word_inner, self.word_outer = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)
        self.list_inner, self.list_outer = nn.Linear(4 * width, LIST_HIDDEN), nn.Linear(LIST_HIDDEN, 2)
        self.nothing = nn.Parameter(torch.zeros(1))

    def read_words(self, shown: Sequence[tuple[str, list[str]]], by: Any) -> list[torch.Tensor]:
        """For each message a row of numbers for each of its words."""
        laid = [lay_out(before, words, by.encode) for before, words in shown]
        states = self._states([(one.ids, one.parts) for one in laid])
        inner = functional.gelu(self.word_inner(self._dropped(states)), approximate="tanh")
        found = self.word_outer(self._dropped(inner))
        return [found[row, torch.tensor(one.places, device=found.device)] for row, one in enumerate(laid)]

    def read_lists(self, shown: Sequence[tuple[list[int], list[list[int]]]]) -> list[torch.Tensor]:
        """For each message the log odds: replaced and the same for each memory, and last that nothing is."""
        laid = [list_ids(message, memories) for message, memories in shown]
        states = self._states([(ids, [0] * ends[0] + [1] * (len(ids) - ends[0])) for ids, ends in laid])
        scored = [self._scored(rows, ends) for rows, (_, ends) in zip(states, laid, strict=True)]
        return [torch.log_softmax(torch.cat([one.reshape(-1), self.nothing]), 0) for one in scored]

    def _states(self, laid: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
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

    def _scored(self, rows: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
        pools = [rows[start:end].mean(0) for start, end in zip([0, *ends], ends, strict=False)]
        means = functional.normalize(torch.stack(pools), dim=1) * LENGTH
        own, others = means[:1].expand(len(pools) - 1, -1), means[1:]
        both = torch.cat([own, others, own * others * AGREE, (own - others).abs()], dim=1)
        return self.list_outer(self._dropped(functional.gelu(self.list_inner(both), approximate="tanh")))

    def _dropped(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.dropout(rows, self.drop, self.training)

    def write(self, path: Path) -> None:
        """The deltas and the heads as 16-bit numbers; that nothing happens counts zero."""
        found = {name.replace("layers.", "").replace("parts.", ""): value for name, value in self.named_parameters()}
        found["list_outer.bias"] = found["list_outer.bias"] - found.pop("nothing")
        kept = {name: value.detach().float().cpu().numpy().astype(np.float16) for name, value in found.items()}
        np.savez_compressed(path, **kept)


def shorten(messages: Sequence[dict[str, Any]], author: str, draw: random.Random) -> Iterator[Message]:
    """What people also say all by itself: a fact in a plain sentence, as a note, or something that is none."""
    for told in messages:
        for one in told["facts"]:
            text = one["fact"]
            if text.startswith("User") and '"' not in text:
                said = text if draw.random() < NOTED else first_person(text, draw)
                said = said.rstrip(".") if draw.random() < UNPOINTED else said
                words = (said.lower() if draw.random() < UNPOINTED else said).split()
                piece = Piece(0, len(words), keep=True, kind=KINDS.index(one["kind"]), about=ABOUT.index(one["about"]))
                yield Message(author, "", words, [piece])
        for one in told["rest"]:
            words = one["quote"].split()
            if len(words) > 1:
                yield Message(
                    author, "", words, [Piece(0, len(words), keep=False, kind=WHYS.index(one["why"]), about=0)]
                )


def first_person(fact: str, draw: random.Random) -> str:
    """A sentence about the user as they would say it."""
    first, _, rest = fact.partition(" ")
    if first == "User's":
        return _of_own(f"My {rest}")
    verb, _, more = rest.partition(" ")
    said = {"is": "am", "has": "have", "does": "do", "was": "was"}.get(
        verb, lemma(verb) if verb.endswith("s") else verb
    )
    told = _of_own(f"I {said} {more}")
    if draw.random() < CONTRACTED:
        told = told.replace("I am ", "I'm ", 1).replace("do not ", "don't ", 1).replace("I have been", "I've been", 1)
    return told


def _of_own(text: str) -> str:
    return text.replace("User's", "my").replace("User", "me").replace(" their ", " my ")


def read_messages(paths: Sequence[Path]) -> Iterator[Message]:
    """All labelled messages of some files, each in words and pieces."""
    for path in paths:
        author = path.stem
        told = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        yield from (_message(author, one) for one in told)
        yield from shorten(told, f"{author} short", random.Random(0))  # noqa: S311 - no secret


def _message(author: str, told: dict[str, Any]) -> Message:
    text = told["message"]
    spans = [match.span() for match in _WORD.finditer(text)]
    found = Message(author, told.get("before", ""), [text[start:end] for start, end in spans])
    pieces, taken = [], 0
    marked = [
        (one["quote"], (True, KINDS.index(one["kind"]), ABOUT.index(one["about"]), *_taken_from(told, one)))
        for one in told["facts"]
    ]
    marked += [(one["quote"], (False, WHYS.index(one["why"]), 0, False, False)) for one in told["rest"]]
    for quote, labels in marked:
        at = text.find(quote)
        inside = [place for place, (start, end) in enumerate(spans) if start < at + len(quote) and end > at]
        if at >= 0 and inside:
            pieces.append(Piece(inside[0], inside[-1] + 1, *labels))
    for piece in sorted(pieces, key=lambda one: one.start):
        if piece.start >= taken:
            found.pieces.append(piece)
            taken = piece.end
    return found


def _taken_from(told: dict[str, Any], one: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a fact has words that are not in its quote but elsewhere in the message, or in what was said before."""
    missing = {word for word in bare_words(one["fact"]) - bare_words(one["quote"]) if not word[0].isdigit()}
    leans = bool(missing & bare_words(told["message"]))
    return leans, not leans and bool(missing & bare_words(told.get("before", "")))


def fit(net: CuratorNet, messages: list[Message], cases: list[Case], epochs: int, draw: random.Random, by: Any) -> None:
    """Show every message and every case once an epoch, each time a little differently."""
    learned = net.learned()
    steps = epochs * (len(messages) // AT_ONCE + len(cases) // AT_ONCE + 2)
    best = torch.optim.AdamW(learned, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    pace = torch.optim.lr_scheduler.LambdaLR(
        best, lambda at: min(1.0, (at + 1) / (WARM_UP * steps)) * max(0.02, 1 - at / steps)
    )
    strangers = [pair for case in cases for pair in zip(case.memories, case.words, strict=True)]
    net.train()
    for epoch in range(epochs):
        batches: list[tuple[bool, list[Any]]] = [(True, one) for one in _batches(messages, draw)]
        batches += [(False, one) for one in _batches([show_case(case, strangers, draw) for case in cases], draw)]
        draw.shuffle(batches)
        losses: dict[bool, list[float]] = {True: [], False: []}
        for is_message, batch in batches:
            off = _miss_messages(net, batch, draw, by) if is_message else miss_cases(net, batch)
            best.zero_grad()
            off.backward()
            nn.utils.clip_grad_norm_(learned, 1.0)
            best.step()
            pace.step()
            losses[is_message].append(off.item())
        means = [sum(one) / max(1, len(one)) for one in losses.values()]
        print(f"epoch {epoch + 1}: {means[0]:.3f} {means[1]:.3f}", flush=True)


def _batches(shown: list[Any], draw: random.Random) -> list[list[Any]]:
    """A few at once, of like length."""
    draw.shuffle(shown)
    found: list[list[Any]] = []
    for start in range(0, len(shown), 8 * AT_ONCE):
        near = sorted(shown[start : start + 8 * AT_ONCE], key=_length)
        found += [near[at : at + AT_ONCE] for at in range(0, len(near), AT_ONCE)]
    return found


def _length(one: Any) -> int:
    return len(one.words) if isinstance(one, Message) else len(one.message) + sum(map(len, one.memories))


def _miss_messages(net: CuratorNet, batch: list[Message], draw: random.Random, by: Any) -> torch.Tensor:
    return _off(net.read_words([_shown(one, draw) for one in batch], by), batch)


def _shown(one: Message, draw: random.Random) -> tuple[str, list[str]]:
    words = one.words
    if draw.random() < UNPOINTED:
        words = [word.strip(".,;:!?") or word for word in words]
    words = [_garbled(word, draw) if draw.random() < GARBLED else word for word in words]
    return "" if draw.random() < FORGOTTEN else one.before, words


def _garbled(word: str, draw: random.Random) -> str:
    at = draw.randrange(len(word))
    return word[:at] + word[at + 1 :] if len(word) > SHORTEST else word


def _off(found: list[torch.Tensor], batch: list[Message]) -> torch.Tensor:
    """How far off the numbers are: where pieces begin, whether they are kept, of which kind they are."""
    starts, begun, kept, keep, kinds, kind, abouts, about, needed, needs = ([] for _ in range(10))
    for rows, one in zip(found, batch, strict=True):
        first = {piece.start for piece in one.pieces}
        starts.append(rows[:, 0])
        begun += [float(at in first) for at in range(len(rows))]
        for piece in one.pieces:
            if piece.start >= len(rows):
                continue
            mean = rows[piece.start : piece.end].mean(0)
            kept.append(mean[1])
            keep.append(float(piece.keep))
            kinds.append(mean[FIRST_KIND:][: len(KINDS) + len(WHYS)])
            kind.append(piece.kind if piece.keep else len(KINDS) + piece.kind)
            if piece.keep:
                abouts.append(mean[-len(ABOUT) :])
                about.append(piece.about)
                needed.append(mean[2:FIRST_KIND])
                needs.append([float(piece.leans), float(piece.answers)])
    device = found[0].device
    often = torch.tensor(STARTS, device=device)
    off = STARTS * functional.binary_cross_entropy_with_logits(
        torch.cat(starts), torch.tensor(begun, device=device), pos_weight=often
    )
    off = off + functional.binary_cross_entropy_with_logits(torch.stack(kept), torch.tensor(keep, device=device))
    off = off + 0.3 * functional.cross_entropy(torch.stack(kinds), torch.tensor(kind, device=device))
    if abouts:
        off = off + 0.2 * functional.cross_entropy(torch.stack(abouts), torch.tensor(about, device=device))
        wanted = torch.tensor(needs, device=device)
        off = off + 0.5 * functional.binary_cross_entropy_with_logits(torch.stack(needed), wanted)
    return off


def report(author: str, net: CuratorNet, messages: Sequence[Message], by: Any) -> None:
    """How many pieces are judged right, and where they begin."""
    net.eval()
    with torch.no_grad():
        found = [net.read_words([(one.before, one.words)], by)[0].cpu() for one in messages]
    pairs = [
        (rows[p.start : p.end].mean(0), p)
        for rows, one in zip(found, messages, strict=True)
        for p in one.pieces
        if p.start < len(rows)
    ]
    line = [author]
    for least in (0.3, 0.5, 0.7, 0.85):
        said = [(torch.sigmoid(mean[1]).item() >= least, piece.keep) for mean, piece in pairs]
        right = sum(a and b for a, b in said)
        line.append(
            f"{least}: P {right / max(1, sum(a for a, _ in said)):.3f} R {right / max(1, sum(b for _, b in said)):.3f}"
        )
    kinds = [(int(mean[FIRST_KIND:][: len(KINDS)].argmax()) == piece.kind) for mean, piece in pairs if piece.keep]
    line.append(f"kind {sum(kinds) / len(kinds):.3f}")
    about = [(int(mean[-len(ABOUT) :].argmax()) == piece.about) for mean, piece in pairs if piece.keep]
    line.append(f"about {sum(about) / len(about):.3f}")
    for name, at in (("leans", 2), ("answers", 3)):
        told = [(mean[at].item() > 0, getattr(piece, name)) for mean, piece in pairs if piece.keep]
        right = sum(a and b for a, b in told)
        line.append(
            f"{name} P {right / max(1, sum(a for a, _ in told)):.2f} R {right / max(1, sum(b for _, b in told)):.2f}"
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
class Case:
    """A labelled change: the message, the memories, and what is right."""

    author: str
    label: str
    right: str | None
    message: list[int]
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


def read_cases(by: Any) -> list[Case]:
    """All labelled changes, in the numbers the model reads."""
    files = {"open": CHANGES / "changes_open.jsonl"} | {
        one.stem: one for one in sorted((CHANGES / "fit").glob("*.jsonl"))
    }
    lines = ((author, line) for author, path in files.items() for line in path.read_text("utf-8").splitlines())
    return [_case(author, json.loads(line), by) for author, line in lines]


def quiet_cases(paths: Sequence[Path], by: Any, draw: random.Random) -> Iterator[Case]:
    """Messages that change nothing, beside other things that the same person has told: most messages are so.

    Left out are people who tell of changes all the time, and whose changes nobody has labelled.
    """
    for path in paths:
        author = path.stem
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if author not in CHANGING else []
        facts = [(one["person"], at, fact) for at, one in enumerate(rows) for fact in one["facts"]]
        for at, one in enumerate(rows):
            own = [fact for person, place, fact in facts if person == one["person"] and place != at]
            other = [fact for person, _, fact in facts if person != one["person"]]
            memories = draw.sample(own, min(len(own), 4)) + draw.sample(other, draw.choice([0, 1, 2, 3]))
            texts = [_remembered(fact, draw) for fact in memories]
            if texts:
                ids, words = [by.encode(text) for text in texts], [_words(text) for text in texts]
                names = [str(number) for number in range(len(texts))]
                said = one["message"]
                yield Case(f"{author} quiet", "ADD", None, by.encode(said), names, ids, words, _words(said))


def series_cases(paths: Sequence[Path], by: Any, draw: random.Random) -> Iterator[Case]:
    """Messages of people over time, beside what is known of them: what each changes or repeats is labelled."""
    for path in paths:
        known: dict[str, dict[str, dict[str, Any]]] = {}
        for line in path.read_text("utf-8").splitlines():
            one = json.loads(line)
            own = known.setdefault(one["person"], {})
            yield from _case_of_series(path.stem, one, own, by, draw)
            for change in one.get("changes", ()):
                own.pop(change["fact"], None)
            own |= {fact["id"]: fact for fact in one["facts"]}


def _case_of_series(
    author: str, one: dict[str, Any], own: dict[str, dict[str, Any]], by: Any, draw: random.Random
) -> Iterator[Case]:
    marked = [("SUPERSEDE", change) for change in one.get("changes", ())] + [
        ("NONE", again) for again in one.get("repeats", ())
    ]
    marked = [(label, mark) for label, mark in marked if mark["fact"] in own]
    taken = {mark["fact"] for _, mark in marked}
    free = [name for name in own if name not in taken]
    for label, right, said in [
        *((label, mark["fact"], one["message"]) for label, mark in marked),
        *((label, mark["fact"], mark["quote"]) for label, mark in marked),
        *([] if marked else [("ADD", None, one["message"])]),
    ]:
        names = _drawn(said, own, free, draw) + ([right] if right else [])
        draw.shuffle(names)
        texts = [_remembered(own[name], draw) for name in names]
        if texts:
            ids, words = [by.encode(text) for text in texts], [_words(text) for text in texts]
            yield Case(author, label, right, by.encode(said), names, ids, words, _words(said))


def _drawn(said: str, own: dict[str, dict[str, Any]], free: list[str], draw: random.Random) -> list[str]:
    """Memories that stay as they are: some of those nearest in words, which are the hardest, and some others."""
    words = _words(said)
    near = sorted(free, key=lambda name: -len(words & _words(own[name]["fact"])))[: draw.choice([1, 2, 3])]
    others = [name for name in free if name not in near]
    return near + draw.sample(others, min(len(others), draw.choice([1, 2, 3])))


def _remembered(fact: dict[str, Any], draw: random.Random) -> str:
    return f'User said: "{fact["quote"]}"' if draw.random() < QUOTED else str(fact["fact"])


def _case(author: str, told: dict[str, Any], by: Any) -> Case:
    texts = [one["text"] for one in told["existing"]]
    return Case(
        author,
        told["label"],
        told.get("target") or told.get("known"),
        by.encode(told["new"]),
        [one["id"] for one in told["existing"]],
        [by.encode(text) for text in texts],
        [_words(text) for text in texts],
        _words(told["new"]),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9']+", text.lower())) - _LIGHT


def show_case(case: Case, strangers: Sequence[tuple[list[int], frozenset[str]]], draw: random.Random) -> Example:
    """A case with fewer memories, with others that have nothing to do with it, or with words left out."""
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
    message = case.message
    if draw.random() < THINNED:
        message = [message[0], *(one for one in message[1:-1] if draw.random() > THINNED), message[-1]]
    return Example(message, [one for _, one in memories], outcome)


def _others(case: Case, strangers: Sequence[tuple[list[int], frozenset[str]]], draw: random.Random) -> list[list[int]]:
    """One to three memories of other cases that have no word in common with this one."""
    near = frozenset().union(*case.words, case.said)
    drawn = (draw.choice(strangers) for _ in range(40))
    return [ids for ids, words in drawn if not words & near][: draw.choice([1, 1, 2, 3])]


def miss_cases(net: CuratorNet, shown: Sequence[Example]) -> torch.Tensor:
    """How far off the odds of what happens are."""
    odds = net.read_lists([(one.message, one.memories) for one in shown])
    off = [-(1 - SMOOTHED) * one[case.outcome] - SMOOTHED * one.mean() for one, case in zip(odds, shown, strict=True)]
    return torch.stack(off).mean()


def report_cases(author: str, net: CuratorNet, cases: Sequence[Case]) -> None:
    """How many of each label are read right, and how sure a change has to be to be one."""
    net.eval()
    with torch.no_grad():
        odds = [net.read_lists([(one.message, one.memories)])[0].exp().cpu().numpy() for one in cases]
    right: Counter[str] = Counter(one.label for one, found in zip(cases, odds, strict=True) if _is_right(one, found))
    total = Counter(one.label for one in cases)
    line = [f"{author:10}", *(f"{label} {right[label] / total[label]:.2f}" for label in sorted(total))]
    for least in (0.5, 0.7, 0.8, 0.9, 0.95, 0.98):
        taken = [
            (one, int(found[0:-1:2].argmax()))
            for one, found in zip(cases, odds, strict=True)
            if found[0:-1:2].max() >= least
        ]
        good = sum(one.label == "SUPERSEDE" and one.ids[at] == one.right for one, at in taken)
        line.append(
            f"{least}: P {good / max(1, len(taken)):.2f} R {good / max(1, total['SUPERSEDE']):.2f} of {len(taken)}"
        )
    print("  ".join(line), flush=True)


def _is_right(case: Case, odds: Any) -> bool:
    best = int(odds.argmax())
    if best == 2 * len(case.ids):
        return case.label == "ADD"
    label = ("SUPERSEDE", "NONE")[best % 2]
    return label == case.label and (label == "NONE" or case.ids[best // 2] == case.right)


def main() -> None:
    """Fit to all authors but those left out, say how these come out, and write the deltas."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], help="authors to judge, and not to fit to")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, default=FILE, help="where the deltas go")
    wanted = parser.parse_args()
    torch.manual_seed(wanted.seed)
    by = tokenizer()
    files, series = sorted(DATA.glob("author_*.jsonl")), sorted(DATA.glob("series_*.jsonl"))
    messages, cases = list(read_messages([*files, *series])), read_cases(by)
    draw = random.Random(wanted.seed)  # noqa: S311 - no secret
    cases += [*quiet_cases(files, by, draw), *series_cases(series, by, draw)]
    net = CuratorNet().to("cuda" if torch.cuda.is_available() else "cpu")
    left_out = {f"{one}{more}" for one in wanted.without for more in ("", " short", " quiet")}
    fit(
        net,
        [one for one in messages if one.author not in left_out],
        [one for one in cases if one.author not in left_out],
        wanted.epochs,
        random.Random(wanted.seed),  # noqa: S311 - no secret
        by,
    )
    for author in sorted(left_out):
        if told := [one for one in messages if one.author == author]:
            report(author, net, told, by)
        if changes := [one for one in cases if one.author == author]:
            report_cases(author, net, changes)
    net.write(wanted.to)
    if wanted.to == FILE:
        record("curator")


if __name__ == "__main__":
    main()
