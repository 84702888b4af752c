"""Whether the turns that answer a question are found: every conversation is stored as it was said, and searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.quality.cases import ADVERSARIAL, Case, Turn
from benchmarks.quality.ingredients import INGREDIENTS, without
from benchmarks.quality.metrics import difference, mean, once, scores
from benchmarks.quality.report import Row, Table
from memstone import Memory
from memstone.compose import EmbedderLike
from memstone.results import SearchResults
from memstone.testing.clock import FakeClock

LIMIT: Final = 50
"""How many memories are asked for; the rank of the first right one is looked for among them."""

BATCH: Final = 500
COLUMNS: Final = ("recall@5", "recall@10", "recall@20", "any@5", "any@10", "all@10", "mrr")
ABLATION_COLUMNS: Final = ("recall@10", "any@10", "all@10", "mrr")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a question."""

    question: str
    kind: str
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is measured: which conversations, with which embedder, and whether turns or sessions should be found."""

    cases: Sequence[Case]
    embedder: EmbedderLike
    by: str = "turn"

    def answers(self) -> list[Answer]:
        """Return every question that has evidence, asked."""
        return [answer for case in self.cases for answer in self._of_case(case)]

    def _of_case(self, case: Case) -> Iterator[Answer]:
        clock = FakeClock(case.asked_at) if case.asked_at else None
        with Memory({"store": {"url": "memory:"}}, embedder=self.embedder, clock=clock) as memory:
            store(memory, case)
            sessions = {turn.id: turn.session for turn in case.turns}
            for question in case.questions:
                if wanted := question.wanted(self.by):
                    found = _turns(memory.search(question.text, user_id=case.id, limit=LIMIT))
                    ranked = found if self.by == "turn" else once(map(sessions.get, found))
                    yield Answer(question.id, question.kind, scores(ranked, wanted))


def store(memory: Memory, case: Case) -> None:
    """Remember a conversation as it was said. The name of a turn is only carried along: no search looks at it."""
    items = [_item(case, turn) for turn in case.turns if turn.text.strip()]
    for start in range(0, len(items), BATCH):
        answer = memory.add_many(items[start : start + BATCH])
        failed = [one for one in answer["results"] if one.get("error") or one.get("status", "ok") != "ok"]
        assert not failed, failed[0]


def _item(case: Case, turn: Turn) -> dict[str, Any]:
    return {
        "messages": [{"role": turn.role, "name": turn.speaker, "content": turn.text}],
        "user_id": case.id,
        "run_id": turn.session,
        "occurred_at": turn.said_at,
        "metadata": {"turn": turn.id},
        "infer": False,
    }


def _turns(answer: SearchResults) -> list[str]:
    assert "degraded" not in answer, answer["degraded"]
    return once(hit["metadata"].get("turn") for hit in answer["results"])


def table(answers: Sequence[Answer]) -> Table:
    """Return every metric by kind of question, then of all but the adversarial ones."""
    kinds = sorted({answer.kind for answer in answers}, key=lambda kind: (kind == ADVERSARIAL, kind))
    rows = [_row(kind, [answer for answer in answers if answer.kind == kind]) for kind in kinds]
    together = "all but adversarial" if ADVERSARIAL in kinds else "all"
    return Table("", ("questions", "n", *COLUMNS), [*rows, _row(together, counted(answers))])


def _row(label: str, answers: Sequence[Answer]) -> Row:
    return label, str(len(answers)), *(str(mean(_column(answers, name))) for name in COLUMNS)


def counted(answers: Sequence[Answer]) -> list[Answer]:
    """Return those that a number over all questions is about."""
    return [answer for answer in answers if answer.kind != ADVERSARIAL]


def _column(answers: Sequence[Answer], name: str) -> list[float]:
    return [answer.scores[name] for answer in answers]


def ablation(experiment: Experiment, full: Sequence[Answer], say: Callable[[str], None]) -> Table:
    """Ask the same questions with one ingredient left out at a time."""
    all_items = counted(full)
    rows: list[Row] = [("nothing", *_ablated(all_items, all_items))]
    for name in INGREDIENTS:
        say(f"without {name}")
        with without(name):
            rows.append((name, *_ablated(counted(experiment.answers()), all_items)))
    return Table("With one ingredient left out", ("left out", *ABLATION_COLUMNS, "recall@10, change"), rows)


def _ablated(answers: Sequence[Answer], all_items: Sequence[Answer]) -> Row:
    changed = difference(_column(answers, "recall@10"), _column(all_items, "recall@10"))
    change = "" if answers is all_items else changed.signed()
    return *(str(mean(_column(answers, name))) for name in ABLATION_COLUMNS), change
