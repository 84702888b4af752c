"""Whether what a person told an assistant reaches the prompt later: chats, then questions, beside simpler ways.

A file holds one person: ``@@ id | 2026-03-02 19:40`` begins a chat, ``U[a]:`` and ``A:`` are turns, ``G a: fact ~
pattern`` is worth knowing (``G a >c3`` until chat c3), ``N why: fact ~ pattern`` must not be a current fact, ``Q kind:
question = a ~ pattern`` is asked after the last chat, ``X:`` and ``XH:`` are messages that call for nothing, the second
near in words. Patterns are joined by ``&``; an answer must match all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from benchmarks.quality.metrics import mean
from benchmarks.quality.peers import Peer
from benchmarks.quality.report import Table
from memstone import Memory
from memstone.language.text.tokens import document_terms, query_terms
from memstone.literals import LayerName
from memstone.results import SearchHit

TOP: Final = 5
SIMPLE: Final = 0.30
"""The simplest thing that serves: all that is known, and up to five turns of the user at this cosine or nearer."""

WAYS: Final[dict[str, list[LayerName] | None]] = {
    "search": None,
    "search among facts": ["fact"],
    "search among turns": ["turn"],
}
HALF: Final = 0.5
CURVE: Final = (0.20, 0.24, 0.28, 0.32, 0.36, 0.40, 0.43, 0.45, 0.50)
_K1, _B = 1.2, 0.75


@dataclass(slots=True)
class Chat:
    """One chat, and what it is judged by."""

    name: str
    start: datetime
    turns: list[dict[str, str]] = field(default_factory=list)
    facts: list[tuple[str, list[str]]] = field(default_factory=list)
    """The later chat in which it ends, or '', and the patterns of what is worth knowing."""

    wrong: list[list[str]] = field(default_factory=list)
    questions: list[tuple[str, str, list[str]]] = field(default_factory=list)
    idle: list[tuple[bool, str]] = field(default_factory=list)

    def exchanges(self) -> Iterator[list[dict[str, str]]]:
        """Yield the turns in the pieces in which an application sends them: a user's turn with the answer to it."""
        starts = [at for at, turn in enumerate(self.turns) if turn["role"] == "user" or at == 0]
        for begin, end in pairwise([*starts, len(self.turns)]):
            yield self.turns[begin:end]


def read_person(path: Path) -> list[Chat]:
    """Read the chats of one person, oldest first."""
    chats: list[Chat] = []
    last: dict[str, str] | None = None
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("@@"):
            name, start = (one.strip() for one in line.removeprefix("@@").split("|"))
            chats.append(Chat(name, datetime.strptime(start, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)))
            last = None
        elif found := re.match(r"([UA])(?:\[[a-z,]*\])?: ?(.*)", line):
            last = {"role": "user" if found[1] == "U" else "assistant", "content": found[2]}
            chats[-1].turns.append(last)
        elif found := re.match(r"(G|N|Q|XH|X)\b([^:]*): ?(.*)", line):
            _judged(chats[-1], found[1], found[2].strip(), found[3])
            last = None
        elif line.strip() and last is not None:
            last["content"] += "\n" + line
    return chats


def _judged(chat: Chat, mark: str, about: str, text: str) -> None:
    if mark.startswith("X"):
        chat.idle.append((mark == "XH", text))
        return
    sentence, _, value = text.rpartition(" ~ ")
    patterns = [one.strip() for one in value.split(" & ")]
    if mark == "G":
        chat.facts.append((about.partition(">")[2].strip(), patterns))
    elif mark == "N":
        chat.wrong.append(patterns)
    else:
        chat.questions.append((about, sentence.rpartition(" = ")[0], patterns))


def holds(patterns: Iterable[str], texts: Sequence[str]) -> bool:
    """Return whether each pattern is found in one of the texts."""
    return all(any(re.search(one, text, re.IGNORECASE | re.DOTALL) for text in texts) for one in patterns)


@dataclass(slots=True)
class Scores:
    """Observations by what was measured, 1 for yes."""

    by_name: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        """Add an observation."""
        self.by_name.setdefault(name, []).append(float(value))

    def table(self, title: str) -> Table:
        """Return all of it with intervals; shares of 0 and 1, and tokens."""
        rows = [(name, f"{len(values):,}", str(mean(values))) for name, values in self.by_name.items()]
        return Table(title, ("measured", "n", "mean"), rows)


def tables(
    paths: Sequence[Path], peer: Callable[[], Peer] | None, say: Callable[[str], None], embedder: str = "local"
) -> list[Table]:
    """Measure each person alone, all of them as one person, and the curve."""
    people = [read_person(path) for path in paths]
    with TemporaryDirectory() as folder:
        alone, curve = _measured(
            Path(folder) / "alone", {f"p{at}": one for at, one in enumerate(people)}, peer, say, embedder
        )
        every = sorted((chat for one in people for chat in one), key=lambda chat: chat.start)
        pooled, _ = _measured(Path(folder) / "pooled", {"all": every}, None, say, embedder)
    return [alone.table("Each person alone"), curve, pooled.table("All of them as one person")]


def _measured(
    folder: Path,
    people: dict[str, list[Chat]],
    peer: Callable[[], Peer] | None,
    say: Callable[[str], None],
    embedder: str,
) -> tuple[Scores, Table]:
    folder.mkdir()
    scores, turns = Scores(), dict[str, list[str]]()
    with _opened(folder, embedder) as memory:
        for user, chats in people.items():
            turns[user] = _replay_chats(memory, user, chats)
            say(f"{user}: {len(turns[user])} turns of the user")
        other = _asked_peer(peer, people, turns)
        for user, chats in people.items():
            _ask(memory, user, chats, turns[user], other, scores)
        users = list(people)
        for user, another in zip(users, [*users[1:], users[0]] if len(users) > 1 else (), strict=False):
            _ask_of_another(memory, user, people[another], scores)
        rows = [] if len(people) == 1 else [_at(folder, people, least, embedder) for least in CURVE]
    header = ("context.recall_score", "answer in the block", "idle messages with recalled lines")
    return scores, Table("What is kept, and what is recalled for nothing", header, rows)


@contextmanager
def _opened(folder: Path, embedder: str, **context: Any) -> Iterator[Memory]:
    settings = {"store": {"url": f"sqlite:///{folder}/m.db"}, "embedder": {"provider": embedder}, "context": context}
    with Memory(settings) as memory:
        yield memory


def _replay_chats(memory: Memory, user: str, chats: Sequence[Chat]) -> list[str]:
    texts: list[str] = []
    for chat in chats:
        at = chat.start
        for piece in chat.exchanges():
            memory.add(piece, user_id=user, occurred_at=at.isoformat())
            at += timedelta(minutes=len(piece))
            texts += [turn["content"] for turn in piece if turn["role"] == "user"]
    return texts


def _asked_peer(
    peer: Callable[[], Peer] | None, people: dict[str, list[Chat]], turns: dict[str, list[str]]
) -> dict[tuple[str, str], list[str]]:
    if peer is None:
        return {}
    asked = [(user, question) for user, chats in people.items() for chat in chats for _, question, _ in chat.questions]
    return dict(zip(asked, peer()(turns, asked), strict=True))


def _ask(
    memory: Memory,
    user: str,
    chats: Sequence[Chat],
    turns: list[str],
    other: dict[tuple[str, str], list[str]],
    scores: Scores,
) -> None:
    stored = memory.get_all(user_id=user, limit=1_000)["results"]
    known, began = [one["memory"] for one in stored], {chat.name: chat.start for chat in chats}
    near = Nearest(turns)
    for chat in chats:
        for ends, patterns in chat.facts:
            says = [one for one in stored if all(re.search(each, one["memory"], re.IGNORECASE) for each in patterns)]
            if not ends:
                scores.note("facts that are known", bool(says))
                continue
            # What was said when it ended, or put behind it then, tells of the end.
            old = [one for one in says if datetime.fromisoformat(one["occurred_at"]) < began[ends]]
            scores.note("outdated facts that are still current", bool(old))
        for patterns in chat.wrong:
            found = any(all(re.search(one, text, re.IGNORECASE) for one in patterns) for text in known)
            scores.note("what must not be a fact, and is", found)
        for kind, question, patterns in chat.questions:
            pack = memory.context(question, user_id=user)
            scores.note("answer in the block", is_held := holds(patterns, [pack.text]))
            if kind.startswith("dep"):
                scores.note("of these, questions that share no word with it", is_held)
            scores.note("tokens of a block", pack.tokens)
            best = near.of(question)
            simple = [*known, *(turns[at] for at, cosine in best[:TOP] if cosine >= SIMPLE)]
            scores.note("all that is known and near turns, in its place", holds(patterns, simple))
            for name, layers in WAYS.items():
                hits = memory.search(question, user_id=user, limit=TOP, layers=layers)["results"]
                scores.note(f"{name}, first {TOP}", holds(patterns, [one["memory"] for one in hits]))
                if layers is None and hits and holds(patterns, [hits[0]["memory"]]):
                    scores.note("best hits that answer, above one half", hits[0]["score"] > HALF)
            scores.note(
                f"cosine over the user's turns, first {TOP}", holds(patterns, [turns[at] for at, _ in best[:TOP]])
            )
            scores.note(f"BM25 over them, first {TOP}", holds(patterns, [turns[at] for at in near.by_words(question)]))
            if other:
                scores.note(f"mem0 without a model, first {TOP}", holds(patterns, other[user, question][:TOP]))
        _send_idle_messages(memory, user, chat, scores)


def _send_idle_messages(memory: Memory, user: str, chat: Chat, scores: Scores) -> None:
    for hard, message in chat.idle:
        name = "near in words" if hard else "plain"
        pack = memory.context(message, user_id=user)
        scores.note(f"idle messages with recalled lines, {name}", bool(pack.volatile))
        hits = memory.search(message, user_id=user, limit=1)["results"]
        scores.note(f"idle messages whose best hit is above one half, {name}", _is_above_half(hits))


def _ask_of_another(memory: Memory, user: str, chats: Sequence[Chat], scores: Scores) -> None:
    """Ask somebody what was written for another person: most of it has nothing to do with them."""
    for chat in chats:
        for _, question, _ in chat.questions:
            hits = memory.search(question, user_id=user, limit=1)["results"]
            scores.note("questions to another person whose best hit is above one half", _is_above_half(hits))


def _is_above_half(hits: Sequence[SearchHit]) -> bool:
    return bool(hits) and hits[0]["score"] > HALF


def _at(folder: Path, people: dict[str, list[Chat]], least: float, embedder: str) -> tuple[str, str, str]:
    remaining, idle = list[float](), list[float]()
    with _opened(folder, embedder, recall_score=least) as memory:
        for user, chats in people.items():
            for chat in chats:
                asked = [(memory.context(one, user_id=user).text, patterns) for _, one, patterns in chat.questions]
                remaining += [float(holds(patterns, [text])) for text, patterns in asked]
                idle += [float(bool(memory.context(one, user_id=user).volatile)) for _, one in chat.idle]
    return f"{least:.2f}", str(mean(remaining)), str(mean(idle))


class Nearest:
    """Turns by cosine, with the model that is installed, and by BM25."""

    def __init__(self, turns: Sequence[str]) -> None:
        from benchmarks.quality.embedding import local
        from memstone.drive import drive

        self._drive: Any = drive
        self._model = local()
        self._vectors = self._embed(turns)
        self._words = [document_terms(turn) for turn in turns]

    def _embed(self, texts: Sequence[str]) -> Any:
        return np.asarray(self._drive(self._model.embed(list(texts))))

    def of(self, question: str) -> list[tuple[int, float]]:
        """Return all turns, the nearest first, with their cosines."""
        cosines = self._vectors @ self._embed([question])[0]
        return [(int(at), float(cosines[at])) for at in np.argsort(-cosines)]

    def by_words(self, question: str) -> list[int]:
        """Return the first few by BM25."""
        lengths = np.array([len(words) for words in self._words], dtype=float)
        total = np.zeros(len(self._words))
        for word in query_terms(question):
            counts = np.array([words.count(word) for words in self._words], dtype=float)
            holding = np.count_nonzero(counts)
            rarity = np.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
            total += rarity * counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * lengths / lengths.mean()))
        return [int(at) for at in np.argsort(-total)[:TOP] if total[at] > 0]
