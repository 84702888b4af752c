"""Which combinations of ways and cases run in ``make test``; with ``--whole`` all of them do.

A way is one of two I/O modes of an adapter, or one of two pairs of an interface and a store. Both ways run the same
engine. So a test with a table of cases goes both ways, and each of its cases one of them, by turns. A test with hardly
any cases runs each of them both ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import Final, TypeAlias

import pytest

PARAMETERS_OF_WAYS: Final = frozenset({"mode", "kind", "store"})
FOLDERS: Final = ("tests/conformance/", "tests/faces/", "tests/stores/")
LEAST_CASES: Final = 3

Key: TypeAlias = tuple[tuple[str, object], ...]


def find_other_combinations(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests whose case goes the other way."""
    by_function: dict[str, dict[Key, dict[Key, pytest.Item]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.nodeid.startswith(FOLDERS):
            by_function[item.nodeid.partition("[")[0]][_case_of(item)][_way_of(item)] = item
    return {other for cases in by_function.values() for other in _others([*cases.values()])}


def _way_of(item: pytest.Function) -> Key:
    return tuple((name, str(value)) for name, value in _parameters(item) if name in PARAMETERS_OF_WAYS)


def _case_of(item: pytest.Function) -> Key:
    """Return what tells the cases of one test apart: a table may hold anything, but holds each value once."""
    return tuple((name, id(value)) for name, value in _parameters(item) if name not in PARAMETERS_OF_WAYS)


def _parameters(item: pytest.Function) -> list[tuple[str, object]]:
    return sorted(item.callspec.params.items(), key=itemgetter(0))


def _others(cases: list[dict[Key, pytest.Item]]) -> list[pytest.Item]:
    two_ways = sorted((ways for ways in cases if len(ways) == 2), key=_name_of)
    if len(two_ways) < LEAST_CASES:
        return []
    return [ways[max(ways) if number % 2 else min(ways)] for number, ways in enumerate(two_ways)]


def _name_of(ways: dict[Key, pytest.Item]) -> str:
    return min(item.name for item in ways.values())
