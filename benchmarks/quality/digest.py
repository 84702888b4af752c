"""``python -m benchmarks.quality.digest --data FILE``: digests that rules make of sessions, beside written summaries.

The file is in LoCoMo's format, with ``session_summary``. A digest is its summary, topics and entities. Measured is how
many of the names in the written summary are in it, and whether it holds a name or a word that nobody said.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.quality.cases import reading
from benchmarks.quality.metrics import mean
from benchmarks.quality.report import Origin, Section, Table, save
from memstone.adapters.embed.curator import LocalCurator
from memstone.errors import MemstoneError
from memstone.language.en.digest import build_extractive_digest
from memstone.language.en.entities import entities_from_spotted, find_names
from memstone.language.en.facts import read_message
from memstone.language.en.names import names_in
from memstone.language.text.tokens import document_terms
from memstone.model.digest import Digest, SessionFact
from memstone.model.message import Message

_WORD = re.compile(r"[^\W_]+")
_CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)

CURATOR: Final = LocalCurator()


@dataclass(frozen=True, slots=True)
class DigestedSession:
    """A session, what somebody wrote about it, and what the rules make of it."""

    turns: Sequence[Message]
    written: str
    digest: Digest

    @property
    def text(self) -> str:
        """All of the digest that names are looked for in."""
        return "\n".join([self.digest.summary, *self.digest.topics, *self.digest.entities])

    @property
    def transcript(self) -> str:
        """All that was said, and by whom."""
        return "\n".join(f"{turn.name} {turn.text}" for turn in self.turns)

    def find_names(self, names: Sequence[str]) -> list[float]:
        """Return for each name whether all its words are in the digest."""
        existing = set(document_terms(self.text))
        return [float(set(document_terms(name)) <= existing) for name in names]

    @property
    def invented(self) -> list[str]:
        """The words of the digest, of every part of it, that were not said."""
        words = {word.lower() for word in _WORD.findall(self.transcript)}
        text = "\n".join([self.text, *self.digest.decisions, *self.digest.action_items])
        return [word for word in _WORD.findall(text) if word.lower() not in words]


def named(text: str) -> list[str]:
    """Return names as Memstone finds them: what has a capital letter of its own."""
    return [one.name for one in entities_from_spotted(find_names(text).names) if one.name != one.name.lower()]


def capitals(text: str) -> list[str]:
    """Return names as anybody would count them: words with a capital inside a sentence, each once, but for dates."""
    return sorted({name for name in names_in(text) if name.lower() not in _CALENDAR and not name.isdigit()})


def sessions(path: Path) -> Iterator[DigestedSession]:
    """Yield every session of a file about which somebody wrote a summary."""
    for case in json.loads(path.read_text("utf-8")):
        for name, written in case["session_summary"].items():
            talk = case["conversation"].get(name.removesuffix("_summary"))
            if talk:
                turns = [Message("user", turn["text"], turn["speaker"]) for turn in talk]
                yield DigestedSession(turns, written, digest(turns))


def digest(turns: Sequence[Message]) -> Digest:
    """Return what the rules make of a session."""
    stated = [
        SessionFact(at, one.start, one.end, one.category, one.salience)
        for at, turn in enumerate(turns)
        for one in read_message(turn.text, CURATOR, speaker=turn.name).facts
    ]
    return build_extractive_digest(turns, stated, CURATOR) or Digest("")


def table(path: Path) -> Table:
    """Return how much of what is named comes through, and how much is made up."""
    with reading(path, "locomo, with session summaries"):
        every = list(sessions(path))
    by_finder = [stored_count for one in every for stored_count in one.find_names(named(one.written))]
    by_capitals = [stored_count for one in every for stored_count in one.find_names(capitals(one.written))]
    length = sum(len(one.digest.summary) for one in every) / sum(len(one.transcript) for one in every)
    header = ("sessions", "named entities kept", "words with a capital kept", "words nobody said", "length")
    visible = (len(every), mean(by_finder), mean(by_capitals), sum(len(one.invented) for one in every), f"{length:.1%}")
    return Table("", header, [tuple(map(str, visible))])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the result when that is asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.quality.digest", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="conversations in LoCoMo's format")
    parser.add_argument("--save", action="store_true", help="keep the result under benchmarks/results")
    options = parser.parse_args(arguments)
    origin = Origin.now()
    try:
        measured = table(options.data)
    except (MemstoneError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    facts = origin.facts() | {"data": options.data.name, "distilled by": "rules, no model"}
    section = Section(f"Digests: {options.data.name}", facts, [measured])
    sys.stdout.write(section.markdown())
    if options.save:
        save(section, origin.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
