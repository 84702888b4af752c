"""Compare the requirements with what the tests say they prove.

Reads ``tests/requirements.toml`` and the ids that tests name with ``pytest.mark.req("<id>", ...)``. The tests
are parsed, not run. It is an error when a requirement that is due is named by no test, when a planned one is named
already, and when a test names an id that does not exist.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIELDS = {"line", "planned"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of the requirements file."""

    id: str
    line: str
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """One place where a test names an id; the id is empty when it is not written out."""

    id: str
    place: str


@dataclass(slots=True)
class Report:
    """What was found, ready to print."""

    summary: str
    errors: list[str] = field(default_factory=list)


class RequirementsError(Exception):
    """The requirements file itself is wrong."""


def load(path: Path) -> dict[str, Requirement]:
    """Return the requirements by id, in the order of the file."""
    with path.open("rb") as file:
        table = tomllib.load(file)
    return {id_: _requirement(id_, entry) for id_, entry in table.items()}


def _requirement(id_: str, entry: object) -> Requirement:
    if not isinstance(entry, dict) or not isinstance(entry.get("line"), str) or not entry["line"].strip():
        raise RequirementsError(f'{id_}: write it as {{ line = "what it asks for" }}')
    if unknown := entry.keys() - FIELDS:
        raise RequirementsError(f"{id_}: unknown field {', '.join(sorted(unknown))}")
    if entry.get("planned", True) is not True:
        raise RequirementsError(f"{id_}: planned is true or is left out")
    return Requirement(id_, entry["line"], planned="planned" in entry)


def citations(tests: Path) -> list[Citation]:
    """Return every id named by a test below a directory."""
    return [found for path in sorted(tests.rglob("*.py")) for found in _in_file(path, tests)]


def _in_file(path: Path, tests: Path) -> Iterator[Citation]:
    name = (Path(tests.name) / path.relative_to(tests)).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Call) and _is_req_mark(node.func):
            yield from _in_call(node, f"{name}:{node.lineno}")


def _is_req_mark(function: ast.expr) -> bool:
    """Return whether an expression is ``pytest.mark.req``, or ``mark.req`` after ``from pytest import mark``."""
    return ast.unparse(function) in {"pytest.mark.req", "mark.req"}


def _in_call(call: ast.Call, place: str) -> Iterator[Citation]:
    if not call.args or call.keywords:
        yield Citation("", place)
    for argument in call.args:
        written_out = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        yield Citation(ast.literal_eval(argument) if written_out else "", place)


def compare(requirements: dict[str, Requirement], cited: list[Citation]) -> Report:
    """Return what is proved, what is not, and where file and tests contradict one another."""
    known = {citation.id for citation in cited} & requirements.keys()
    planned = sum(requirement.planned for requirement in requirements.values())
    report = Report(
        f"requirements: {len(requirements)} in all, {len(requirements) - planned} due, {planned} planned; "
        f"{len(known)} named by tests, in {len(cited)} places"
    )
    report.errors += [_wrong_citation(citation, requirements) for citation in cited if citation.id not in requirements]
    for requirement in requirements.values():
        if requirement.planned and requirement.id in known:
            report.errors.append(f"{requirement.id} is planned but a test names it: work has begun, drop planned")
        if not requirement.planned and requirement.id not in known:
            report.errors.append(f"{requirement.id} is named by no test: {requirement.line}")
    return report


def _wrong_citation(citation: Citation, requirements: dict[str, Requirement]) -> str:
    if not citation.id:
        return f"{citation.place}: write each id out as a string"
    hint = " (ranges are not read: name each id)" if ".." in citation.id else ""
    rows = [id_ for id_ in requirements if id_.startswith(f"{citation.id}.")]
    hint = f" (name the row: {rows[0]} ...)" if rows else hint
    return f"{citation.place}: unknown requirement {citation.id}{hint}"


def main(arguments: list[str] | None = None) -> int:
    """Print the report; the exit code is 1 when something is wrong."""
    parser = argparse.ArgumentParser(description="Compare the requirements with what the tests name.")
    parser.add_argument("--file", type=Path, default=ROOT / "tests" / "requirements.toml")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests")
    options = parser.parse_args(arguments)
    try:
        report = compare(load(options.file), citations(options.tests))
    except (RequirementsError, tomllib.TOMLDecodeError) as error:
        report = Report(f"requirements: {options.file.name} cannot be used", [str(error)])
    print(report.summary)
    for line in report.errors:
        print(f"  {line}")
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
