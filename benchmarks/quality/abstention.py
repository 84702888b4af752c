"""Whether nothing is shown to questions that memory cannot answer, and what that costs those it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.cases import lines, reading
from benchmarks.quality.metrics import mean
from benchmarks.quality.report import Row, Table
from memstone import Memory
from memstone.compose import EmbedderLike
from memstone.core.ranking.abstain import RATE
from memstone.drive import drive
from memstone.engine.recall.hits import find_hits
from memstone.engine.recall.judge import judge_relevance
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest, build_search

RATES: Final = (0.01, RATE, 0.1, 0.2)
"""Which share of unrelated questions may be shown something; the second is what the engine takes by default."""

LIMIT: Final = 10
USER: Final = "somebody"


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The ids of what a search found, and of what is left of it at each rate."""

    found: frozenset[str]
    remaining_by_rate: dict[float, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Files:
    """Memories, questions with the ids of those that answer them, and questions that none of them answers."""

    memories: Path
    answerable: Path
    unrelated: Path


def table(files: Files, embedder: EmbedderLike) -> Table:
    """Return a line for each rate."""
    with Memory({"store": {"url": "memory:"}}, embedder=embedder) as memory:
        names = store(memory, lines(files.memories))
        runtime = memory.engine.runtime
        with reading(files.answerable, "text, answers"):
            asked = [
                (ask_question(runtime, row["text"], names), set(row["answers"])) for row in lines(files.answerable)
            ]
        with reading(files.unrelated, "text"):
            others = [ask_question(runtime, row["text"], names) for row in lines(files.unrelated)]
    header = ("rate", "unrelated: shown something", "answerable: shown something", "answer shown", "answer found")
    return Table(f"{len(asked)} answerable, {len(others)} unrelated", header, [_row(r, asked, others) for r in RATES])


def store(memory: Memory, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Remember all, and say which of the store's ids stands for which of the file's."""
    items = [{"messages": row["text"], "user_id": USER, "infer": False} for row in rows]
    stored = memory.add_many(items)["results"]
    return {one["results"][0]["id"]: row["id"] for one, row in zip(stored, rows, strict=True)}


def ask_question(runtime: Runtime, question: str, names: dict[str, str]) -> SearchOutcome:
    """Ask, and leave out what has nothing to do with the question."""
    wanted = build_search(runtime, SearchRequest(question, user_id=USER, limit=LIMIT))
    hits = drive(find_hits(runtime, wanted)).found
    stored = {rate: drive(judge_relevance(runtime, wanted.scope, question, hits, rate)).relevant for rate in RATES}
    return SearchOutcome(_ids(hits, names), {rate: _ids(some, names) for rate, some in stored.items()})


def _ids(hits: Sequence[Any], names: dict[str, str]) -> frozenset[str]:
    return frozenset(names[found.record.id] for found, _ in hits)


def _row(rate: float, asked: Sequence[tuple[SearchOutcome, set[str]]], others: Sequence[SearchOutcome]) -> Row:
    columns = (
        [bool(one.remaining_by_rate[rate]) for one in others],
        [bool(one.remaining_by_rate[rate]) for one, _ in asked],
        [bool(one.remaining_by_rate[rate] & answers) for one, answers in asked],
        [bool(one.found & answers) for one, answers in asked],
    )
    return f"{rate:.0%}", *(str(mean([float(value) for value in column])) for column in columns)
