"""The script that breaks code on purpose: what it changes, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

from scripts import mutation_report

SOURCE = '''
"""A module."""
LIMIT = 3


def count_few(values: list[int] = [1]) -> bool:
    """Say whether there are at most three values, and 2 words."""
    if not values and LIMIT == 3:
        return True
    return len(values) <= LIMIT
'''


def _mutants() -> dict[str, str]:
    return {f"{one.line} {one.what}": one.apply(SOURCE) for one in mutation_report.list_mutations(Path("x.py"), SOURCE)}


def test_each_mutation_changes_one_place_inside_a_function() -> None:
    assert set(_mutants()) == {
        "8 the condition is negated",
        "8 And becomes Or",
        "8 Eq becomes NotEq",
        "8 3 becomes 4",
        "9 returns None",
        "9 True becomes False",
        "10 returns None",
        "10 LtE becomes Lt",
    }


def test_a_mutant_is_the_source_with_that_change() -> None:
    assert "return len(values) < LIMIT" in _mutants()["10 LtE becomes Lt"]
    assert "return len(values) <= LIMIT" in _mutants()["8 3 becomes 4"]
    assert "LIMIT == 4" in _mutants()["8 3 becomes 4"]
