"""From numbers to Markdown, with what one must know to believe them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

Row: TypeAlias = tuple[str, ...]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
RESULTS: Final = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; a title where there is more than one table."""

    title: str
    header: Row
    rows: Sequence[Row]

    def lines(self) -> list[str]:
        """Return the table in Markdown."""
        every = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*every, strict=True)]
        grid = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in every]
        rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
        return [*([f"### {self.title}", ""] if self.title else []), grid[0], rule, *grid[1:], ""]


@dataclass(frozen=True, slots=True)
class Section:
    """What one measurement has to say; ``facts`` are about what was measured."""

    title: str
    facts: Mapping[str, str]
    tables: Sequence[Table]

    def markdown(self) -> str:
        """Return the section, from its heading on."""
        lines = [f"## {self.title}", "", *(f"- {name}: {value}" for name, value in self.facts.items()), ""]
        return "\n".join([*lines, *(line for table in self.tables for line in table.lines())])


@dataclass(frozen=True, slots=True)
class Origin:
    """Which code was measured, and when."""

    commit: str
    is_clean: bool
    date: str

    @classmethod
    def now(cls, root: Path = ROOT) -> Origin:
        """Return this checkout, today. A file that git does not know yet counts as a change."""
        commit = _git(root, "rev-parse", "--short", "HEAD") or "uncommitted"
        return cls(commit, not _git(root, "status", "--porcelain"), datetime.now(UTC).date().isoformat())

    @property
    def name(self) -> str:
        """What a results file is called."""
        return f"quality-{self.date}-{self.commit}{'' if self.is_clean else '-dirty'}"

    def facts(self) -> dict[str, str]:
        """Return the facts for the head of a section."""
        state = "clean" if self.is_clean else "dirty: there are changes that are not committed"
        return {"commit": f"{self.commit} ({state})", "date": self.date}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    return done.stdout.strip() if done.returncode == 0 else ""


def save(section: Section, name: str, folder: Path = RESULTS) -> Path:
    """Put a section into the file of that name; it takes the place of one with the same heading."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    before = path.read_text("utf-8") if path.exists() else f"# Quality of Memstone, {name.removeprefix('quality-')}\n\n"
    head, *known = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    remaining = [one for one in known if not one.startswith(f"## {section.title}\n")]
    path.write_text("\n".join(part.rstrip() + "\n" for part in (head, *remaining, section.markdown())), "utf-8")
    return path
