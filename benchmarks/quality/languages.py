"""Whether a question finds what was said, in languages other than English, and what was said in another language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.quality.metrics import mean
from benchmarks.quality.report import Row, Table
from memstone import Memory

FILE: Final = Path(__file__).with_name("languages.toml")
WAYS: Final[dict[str, dict[str, Any]]] = {
    "words alone": {"provider": "none"},
    "built-in model": {"provider": "local"},
    "multilingual model": {"provider": "multilingual"},
}
ENGLISH: Final = "en"
FIRST: Final = 3
_USER: Final = "somebody"

Ranks: TypeAlias = list[int]
"""For each question, at which place what answers it was found, from 1 on; 0 where it was not among the first."""


def load(path: Path = FILE) -> dict[str, dict[str, list[str]]]:
    """Return what was said and what is asked, by language."""
    return tomllib.loads(path.read_text("utf-8"))


def find_ranks(embedder: dict[str, Any], statements: Sequence[str], *questions: Sequence[str]) -> list[Ranks]:
    """Return the ranks for each list of questions, of which number N asks for number N of what was said."""
    with Memory({"store": {"url": "memory:"}, "embedder": embedder}) as memory:
        added = [memory.add(text, user_id=_USER, infer=False) for text in statements]
        ids = [one["results"][0]["id"] for one in added]
        return [[_rank(memory, text, wanted) for text, wanted in zip(some, ids, strict=True)] for some in questions]


def _rank(memory: Memory, question: str, wanted: str) -> int:
    found = [one["id"] for one in memory.search(question, user_id=_USER, limit=FIRST)["results"]]
    return found.index(wanted) + 1 if wanted in found else 0


def tables(say: Callable[[str], None]) -> list[Table]:
    """Return one table of questions in the language of the store, and one of questions in English."""
    world = load()
    own: dict[str, list[Ranks]] = {}
    across: dict[str, list[Ranks]] = {}
    for way, embedder in WAYS.items():
        say(way)
        for language in world.values():
            ranks = find_ranks(embedder, language["said"], language["asked"], world[ENGLISH]["asked"])
            own.setdefault(way, []).append(ranks[0])
            across.setdefault(way, []).append(ranks[1])
    names = list(world)
    return [_table("Asked in the same language", names, own), _table("Asked in English", names, across)]


def _table(title: str, names: Sequence[str], found: dict[str, list[Ranks]]) -> Table:
    header = "language", *(f"{way}, {text}" for way in found for text in ("first", f"first {FIRST}"))
    rows: list[Row] = []
    for at, name in enumerate(names):
        shares = [(sum(rank == 1 for rank in ways[at]), sum(map(bool, ways[at]))) for ways in found.values()]
        rows.append((name, *(f"{number} of {len(found[next(iter(found))][at])}" for pair in shares for number in pair)))
    others = [
        [rank for name, ranks in zip(names, ways, strict=True) if name != ENGLISH for rank in ranks]
        for ways in found.values()
    ]
    totals = [
        mean([float(test(rank)) for rank in ranks]) for ranks in others for test in (lambda rank: rank == 1, bool)
    ]
    return Table(title, header, [*rows, ("all but English", *map(str, totals))])
