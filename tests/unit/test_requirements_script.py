from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import requirements

REQUIREMENTS = """
A-1 = { line = "the first thing" }
A-2 = { line = "the second thing", planned = true }
"A-3.1" = { line = "a row of the third thing" }
"""
ALL_DUE_CITED = '@pytest.mark.req("A-1", "A-3.1")\ndef test_it(): ...\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "requirements.toml").write_text(REQUIREMENTS)
    return tmp_path


def run(tree: Path, test_code: str) -> int:
    (tree / "tests" / "unit" / "test_it.py").write_text(test_code)
    return requirements.main(["--file", str(tree / "requirements.toml"), "--tests", str(tree / "tests")])


def test_all_is_well_when_every_due_requirement_is_named(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, ALL_DUE_CITED) == 0
    assert capsys.readouterr().out == (
        "requirements: 3 in all, 2 due, 1 planned; 2 named by tests, in 2 places\n"  # nothing after the summary
    )


def test_a_due_requirement_that_no_test_names_is_an_error(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, '@pytest.mark.req("A-1")\ndef test_it(): ...\n') == 1
    assert "A-3.1 is named by no test: a row of the third thing" in capsys.readouterr().out


def test_a_planned_requirement_that_a_test_names_is_an_error(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, ALL_DUE_CITED + '@pytest.mark.req("A-2")\ndef test_more(): ...\n') == 1
    assert "A-2 is planned but a test names it: work has begun, drop planned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('pytest.mark.req("A-4")', "tests/unit/test_it.py:3: unknown requirement A-4"),
        ('pytest.mark.req("A-1..A-3")', "unknown requirement A-1..A-3 (ranges are not read: name each id)"),
        ('pytest.mark.req("A-3")', "unknown requirement A-3 (name the row: A-3.1 ...)"),
        ("pytest.mark.req(IDS)", "tests/unit/test_it.py:3: write each id out as a string"),
        ("pytest.mark.req(*IDS)", "write each id out as a string"),
        ("pytest.mark.req(1)", "write each id out as a string"),
        ("pytest.mark.req()", "write each id out as a string"),
        ('pytest.mark.req(id="A-1")', "write each id out as a string"),
    ],
)
def test_a_citation_that_names_no_requirement_is_an_error(
    tree: Path, capsys: pytest.CaptureFixture[str], mark: str, message: str
) -> None:
    assert run(tree, ALL_DUE_CITED + f"@{mark}\ndef test_more(): ...\n") == 1
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    "test_code",
    [
        pytest.param('pytestmark = pytest.mark.req("A-1", "A-3.1")', id="module"),
        pytest.param('pytestmark = [pytest.mark.slow, pytest.mark.req("A-1"), pytest.mark.req("A-3.1")]', id="list"),
        pytest.param('x = pytest.param(1, marks=pytest.mark.req("A-1", "A-3.1"))', id="parameter"),
        pytest.param('from pytest import mark\n@mark.req("A-1", "A-3.1")\nclass TestIt: ...', id="class"),
        pytest.param(
            'class TestIt:\n    @pytest.mark.req("A-1", "A-3.1")\n    async def test_it(self): ...', id="method"
        ),
    ],
)
def test_a_citation_is_found_wherever_a_mark_may_stand(tree: Path, test_code: str) -> None:
    assert run(tree, test_code) == 0


@pytest.mark.parametrize(
    "test_code",
    [
        pytest.param('"""Says pytest.mark.req("A-1", "A-3.1")."""\n', id="docstring"),
        pytest.param('# @pytest.mark.req("A-1", "A-3.1")\n', id="comment"),
        pytest.param('@pytest.mark.other("A-1", "A-3.1")\ndef test_it(): ...\n', id="another mark"),
    ],
)
def test_what_is_no_mark_proves_nothing(tree: Path, test_code: str) -> None:
    assert run(tree, test_code) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('A-1 = "the first thing"', "A-1: write it as"),
        ('A-1 = { line = " " }', "A-1: write it as"),
        ('A-1 = { line = "x", planed = true }', "A-1: unknown field planed"),
        ('A-1 = { line = "x", planned = false }', "A-1: planned is true or is left out"),
        ('A-1 = { line = "x" }\nA-1 = { line = "y" }', "cannot be used"),
    ],
)
def test_a_faulty_requirements_file_is_reported(
    tree: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    (tree / "requirements.toml").write_text(line)
    assert run(tree, ALL_DUE_CITED) == 1
    assert message in capsys.readouterr().out


def test_the_projects_file_has_every_id_once_and_short_lines() -> None:
    counts = {"O": 98, "S": 68, "P": 27, "C": 59, "X": 43, "N": 51, "R": 38, "D": 23}
    expected = {f"{letter}-{number}" for letter, count in counts.items() for number in range(1, count + 1)}
    expected = (expected - {"C-58"}) | {f"C-58.{row}" for row in range(1, 43)}  # the rows stand for C-58
    loaded = requirements.load(requirements.ROOT / "tests" / "requirements.toml")
    all_items = {entry for entry in loaded if entry in expected or "." not in entry}
    assert all_items == expected
    # A row of which one part is not proven yet may have that part as a row of its own, beside it.
    assert {entry.partition(".")[0] for entry in set(loaded) - all_items} <= expected
    assert [entry.id for entry in loaded.values() if len(re.findall(r"\S+", entry.line)) > 12] == []
