"""Questions put to memories, as what judges relevance is fitted to them: see ``fit_relevance.py``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from memstone import Memory
from memstone.drive import drive
from memstone.engine.recall import judge
from memstone.engine.recall.hits import find_hits
from memstone.engine.recall.judge import asked_of, told_of
from memstone.engine.recall.ranking import Hit
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import SearchRequest, build_search
from memstone.language.en.relevance import PROBES
from memstone.model.scope import Scope

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "tests" / "data" / "relevance"
PEOPLE: Final = "abcdepqrstuv"
FOLDS: Final = ("adqu", "bprv", "cest")
"""Who is left out together."""

DEPTH: Final = 20


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
    text: Any
    hits: Any

    def __getitem__(self, which: Any) -> Questions:
        """Return some of them."""
        return Questions(*(getattr(self, name)[which] for name in self.__slots__))


def joined(several: Sequence[Questions]) -> Questions:
    """Return all of them, one after another."""
    return Questions(*(np.concatenate([getattr(one, name) for one in several]) for name in Questions.__slots__))


def everything(stored: Path) -> Questions:
    """Return all questions put to everybody's memories."""
    if not stored.exists():
        found = joined([seen(name) for name in PEOPLE])
        stored.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(stored, **{name: getattr(found, name) for name in Questions.__slots__})
    with np.load(stored) as current:
        return Questions(*(current[name] for name in Questions.__slots__))


def lines(name: str) -> list[dict[str, Any]]:
    """Return a file of the data."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def seen(person: str) -> Questions:
    """Return all questions, put to the memories of one person."""
    memories = lines(f"memories_{person}")
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "local"}}) as memory:
        items = [{"messages": one["text"], "user_id": "u", "infer": False} for one in memories]
        stored = memory.add_many(items)["results"]
        names = {one["results"][0]["id"]: row["id"] for one, row in zip(stored, memories, strict=True)}
        places = {row["id"]: place for place, row in enumerate(memories)}
        view = _View(memory.engine.runtime, names, places, person)
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

    parts: Runtime
    names: dict[str, str]
    places: dict[str, int]
    person: str

    def of(self, text: str, kind: str, author: str) -> tuple[Any, ...]:
        """Return a question that nothing answers."""
        return self._row(text, self._hits(text), (), kind, author)

    def of_answered(self, text: str, answers: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return a question with its answers, and without them."""
        hits = self._hits(text)
        fewer = [hit for hit in hits if self.names[hit[0].record.id] not in answers]
        found = [(hits, "answered"), (fewer, "taken")]
        return [self._row(text, some, answers, kind, self.person) for some, kind in found]

    def _hits(self, text: str) -> list[Hit]:
        return drive(
            find_hits(self.parts, build_search(self.parts, SearchRequest(text, user_id="u", limit=2 * DEPTH)))
        ).found

    def _row(self, text: str, hits: list[Hit], answers: Sequence[str], kind: str, author: str) -> tuple[Any, ...]:
        hits = hits[:DEPTH]
        asked = drive(asked_of(self.parts, Scope(self.parts.tenant_id, "u"), text))
        answer = drive(told_of(self.parts, judge.SIGNATURE, hits))
        rows = judge.build_features(asked, [answer[scored.seq] for _, scored in hits])
        table, there, right = np.zeros((DEPTH, rows.shape[1]), np.float32), np.zeros(DEPTH, bool), np.zeros(DEPTH, bool)
        table[: len(rows)], there[: len(rows)] = rows, True
        right[: len(rows)] = [self.names[found.record.id] in answers for found, _ in hits]
        vector, places = np.frombuffer(asked.vector, "<f4"), np.zeros(DEPTH, np.int16)
        places[: len(rows)] = [self.places[self.names[found.record.id]] for found, _ in hits]
        return kind, author, self.person, table, there, right, vector, len(self.names), text, places


def with_fewer(asked: Questions, share: float, chance: np.random.Generator) -> Questions:
    """Return the same questions where only a share of the memories is left; an answer always is."""
    stored = asked.there & (chance.random(asked.there.shape) < share) | asked.right
    order = np.argsort(~stored, axis=1, kind="stable")
    table = np.take_along_axis(asked.table, order[..., None], axis=1)
    there, right = (np.take_along_axis(one, order, axis=1) for one in (stored, asked.right))
    return replace(asked, table=table, there=there, right=right, rows=np.maximum(1, asked.rows * share))
