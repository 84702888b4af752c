"""Whether a real model answers with what was said in another session: with Memstone, without a memory, and with mem0.

People tell their chats in one session. In another, a week later, a small model on this machine is asked one question a
request, and the patterns of the question judge its answer. The three ways differ in nothing but what stands before the
question: the block of ``memory.context``, nothing, or the first hits of mem0 with the same vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2

from benchmarks.quality.chats import TOP, Chat, holds, read_person
from benchmarks.quality.local_model import PATIENCE_SECONDS, RealModel
from benchmarks.quality.metrics import difference, mean
from benchmarks.quality.peers import Peer
from benchmarks.quality.report import Table
from memstone import Memory
from memstone.testing.clock import FakeClock

PEOPLE: Final = Path(__file__).with_name("chats") / "answers"
MOST_TOKENS: Final = 60
LATER: Final = timedelta(days=7)

MEMSTONE, NOTHING, MEM0 = "Memstone's context", "no memory", f"mem0 without a model, first {TOP}"
WAYS: Final = (MEMSTONE, NOTHING, MEM0)
_INSTRUCTION: Final = "You are the user's assistant. Answer the user's question in one short sentence."


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks in the later session; the answer must match every pattern."""

    user: str
    kind: str
    text: str
    patterns: Sequence[str]

    def is_in(self, text: str) -> bool:
        """Return whether the answer is in a text; what must not be said may stand there too."""
        return holds([one for one in self.patterns if not one.startswith("^(?!")], [text])


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, and what it had been given."""

    text: str
    is_right: bool
    was_given: bool
    """Whether the answer stood before the question, perhaps beside one that no longer holds."""

    tokens_read: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """All answers, by way, in the order of the questions."""

    questions: Sequence[Question]
    answers: Mapping[str, Sequence[Answer]]

    def right(self, way: str) -> int:
        """Return how many answers are right."""
        return sum(one.is_right for one in self.answers[way])

    def tables(self) -> list[Table]:
        """Return the shares, what a way brings against another, the kinds, and every answer."""
        return [self._shares(), self._changes(), self._kinds(), self._every()]

    def _marks(self, way: str) -> list[float]:
        return [float(one.is_right) for one in self.answers[way]]

    def _shares(self) -> Table:
        header = ("before the question", "n", "right", "share right", "answer was given", "tokens read", "s an answer")
        return Table("Answers that are right", header, [self._share(way) for way in WAYS])

    def _share(self, way: str) -> tuple[str, ...]:
        items = self.answers[way]
        return (
            way,
            str(len(items)),
            str(self.right(way)),
            str(mean(self._marks(way))),
            str(mean([float(one.was_given) for one in items])),
            f"{sum(one.tokens_read for one in items) / len(items):.0f}",
            f"{sum(one.seconds for one in items) / len(items):.1f}",
        )

    def _changes(self) -> Table:
        rows = [
            (other, str(len(self.questions)), difference(self._marks(MEMSTONE), self._marks(other)).signed())
            for other in (NOTHING, MEM0)
        ]
        return Table("Memstone's context against", ("", "n", "share right, change"), rows)

    def _kinds(self) -> Table:
        rows = []
        for kind in sorted({one.kind for one in self.questions}):
            places = [at for at, one in enumerate(self.questions) if one.kind == kind]
            right = [str(sum(self.answers[way][at].is_right for at in places)) for way in WAYS]
            rows.append((kind, str(len(places)), *right))
        return Table("Right by kind of question", ("kind", "n", *WAYS), rows)

    def _every(self) -> Table:
        rows = [
            (question.text, *(_cell(self.answers[way][at]) for way in WAYS))
            for at, question in enumerate(self.questions)
        ]
        return Table("Every answer", ("question", *WAYS), rows)


def _cell(answer: Answer) -> str:
    words = " ".join(answer.text.split()).replace("|", "\\|")
    return f"{'right' if answer.is_right else 'wrong'}: {words}"


def measure(model: RealModel, paths: Sequence[Path], peer: Peer, say: Callable[[str], None]) -> Outcome:
    """Tell the chats of every person, and have the model answer every question in each of the three ways."""
    people = {path.stem: read_person(path) for path in paths}
    questions = [
        Question(user, kind, text, patterns)
        for user, chats in people.items()
        for chat in chats
        for kind, text, patterns in chat.questions
    ]
    say(f"{len(people)} people, {sum(map(len, people.values()))} chats, {len(questions)} questions")
    values = {
        MEMSTONE: _contexts(people, questions),
        NOTHING: [""] * len(questions),
        MEM0: _hits(people, questions, peer),
    }
    return Outcome(questions, {way: _answers(model, way, questions, values[way], say) for way in WAYS})


def _contexts(people: Mapping[str, Sequence[Chat]], questions: Sequence[Question]) -> list[str]:
    """Return the block for each question, with default settings, in a session that is not the one of the chats."""
    clock = FakeClock(max(chat.start for chats in people.values() for chat in chats) + LATER)
    with TemporaryDirectory() as folder, Memory({"store": {"url": f"sqlite:///{folder}/m.db"}}, clock=clock) as memory:
        for user, chats in people.items():
            _tell(memory, user, chats)
        return [memory.context(one.text, user_id=one.user, run_id="later").text for one in questions]


def _tell(memory: Memory, user: str, chats: Sequence[Chat]) -> None:
    for chat in chats:
        at = chat.start
        for piece in chat.exchanges():
            memory.add(piece, user_id=user, run_id="earlier", occurred_at=at.isoformat())
            at += timedelta(minutes=len(piece))


def _hits(people: Mapping[str, Sequence[Chat]], questions: Sequence[Question], peer: Peer) -> list[str]:
    turns = {
        user: [turn["content"] for chat in chats for turn in chat.turns if turn["role"] == "user"]
        for user, chats in people.items()
    }
    found = peer(turns, [(one.user, one.text) for one in questions])
    return ["\n".join(["Memories of the user:", *(f"- {text}" for text in hits[:TOP])]) for hits in found]


def _answers(
    model: RealModel, way: str, questions: Sequence[Question], items: Sequence[str], say: Callable[[str], None]
) -> list[Answer]:
    answers: list[Answer] = []
    for question, before in zip(questions, items, strict=True):
        answers.append(_answer(model, question, before))
        right = sum(one.is_right for one in answers)
        say(f"{way}: {len(answers)} of {len(questions)}, {right} right, {answers[-1].seconds:.1f} s")
    return answers


def _answer(model: RealModel, question: Question, before: str) -> Answer:
    body: dict[str, Any] = {
        "model": model.name,
        "temperature": 0,
        "max_tokens": MOST_TOKENS,
        "messages": [
            {"role": "system", "content": f"{_INSTRUCTION}\n\n{before}".strip()},
            {"role": "user", "content": question.text},
        ],
    }
    httpx2.post(f"{model.url}/v1/chat/completions", json=body, timeout=PATIENCE_SECONDS).raise_for_status()
    exchange = model.exchanges[-1]
    text = exchange.text.strip()
    return Answer(
        text,
        holds(question.patterns, [text]),
        question.is_in(before),
        int(exchange.answer["usage"]["prompt_tokens"]),
        exchange.seconds,
    )
