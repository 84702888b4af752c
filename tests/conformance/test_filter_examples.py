"""What each written filter finds in SQL, attacks, and the largest filters that are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memstone.adapters.sql.where import compile_where
from memstone.core.checks.filters import MAX_DEPTH, MAX_LIST, MAX_NODES, MAX_VALUES, parse_filters
from memstone.errors import InvalidFilter
from memstone.model.memory import FoundMemory, Link, Record
from memstone.model.query import And, Condition, Op, Or
from memstone.model.scope import Scope
from tests.conformance.filter_world import (
    EARLY,
    LATE,
    SELECT,
    expected,
    select,
    selected,
    stored,
)

# --- examples ---------------------------------------------------------------------------------------------------------


def memory(seq: int, text: str, *, user_id: str = "ann", agent_id: str = "", **metadata: Any) -> FoundMemory:
    at = EARLY if seq == 1 else LATE
    record = Record(f"m{seq}", text, f"h{seq}", at, at, at, at, at, seq=seq, metadata=metadata)
    return FoundMemory(record, Link(Scope("acme", user_id, agent_id), at))


ODD: dict[str, Any] = {"a.b": {"c": 1}, 'q"': "x", "tags": []}
MEMORIES = [
    memory(1, "Likes 100% cotton", colour="red", size=1, tags=["new", "sale"], sold=True),
    memory(2, "likes under_score", agent_id="bot", colour="Red", size=2.0, tags=[1, None], sold=False),
    memory(3, "Straße", user_id="bob", colour=None, size="2", tags="new stock", sold=1),
    memory(4, "", user_id="o'hara", **ODD),
]


def find(filters: Any) -> set[int]:
    where = parse_filters(filters)
    assert where is not None
    found = selected(MEMORIES, where)
    assert found == expected(MEMORIES, where)
    return found


@pytest.mark.req("C-37", "C-38", "C-58.27", "C-58.28", "C-58.29", "C-58.30", "C-58.31", "C-58.32", "R-26")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"field": "colour", "operator": "eq", "value": "red"}, {1}),
        ({"colour": {"ne": "red"}}, {2, 3, 4}),
        ({"colour": {"in": ["red", "Red"]}}, {1, 2}),
        ({"colour": {"in": []}}, set()),
        ({"colour": {"nin": ["red", "Red"]}}, {3, 4}),
        ({"colour": {"in": ["red", None]}}, {1, 3, 4}),
        ({"colour": {"nin": ["red", None]}}, {2}),
        ({"colour": None}, {3, 4}),
        ({"colour": "*"}, {1, 2}),
        ({"colour": {"exists": False}}, {3, 4}),
        ({"colour": {"icontains": "RED"}}, {1, 2}),
        ({"colour": {"contains": "ed"}}, {1, 2}),
        ({"colour": {"contains": "R"}}, {2}),
        ({"size": 2}, {2}),
        ({"size": {"gt": 1}}, {2}),
        ({"size": {"gte": 1, "lt": 2}}, {1}),
        ({"size": {"lte": "2"}}, {3}),
        ({"tags": {"contains": "new"}}, {1, 3}),
        ({"tags": {"icontains": "SALE"}}, {1}),
        ({"tags": {"contains": 1}}, {2}),
        ({"tags": {"contains": None}}, {2}),
        ({"tags": {"contains": ""}}, {3}),
        ({"sold": True}, {1}),
        ({"sold": False}, {2}),
        ({"sold": 1}, {3}),
        ({"sold": {"in": [True, 1]}}, {1, 3}),
        ({"a.b": "*"}, {4}),
        ({"a.b.c": 1}, set()),
        ({'q"': "x"}, {4}),
        ({"memory.text": {"contains": "%"}}, {1}),
        ({"memory.text": {"contains": "_"}}, {2}),
        ({"memory.text": {"icontains": "LIKES"}}, {1, 2}),
        ({"memory.text": {"icontains": "STRASSE"}}, {3}),
        ({"memory.text": {"contains": ""}}, {1, 2, 3, 4}),
        ({"memory.text": ""}, {4}),
        ({"user_id": "ann", "size": {"gt": 1}}, {2}),
        ({"user_id": "o'hara"}, {4}),
        ({"agent_id": "*"}, {2}),
        ({"agent_id": None}, {1, 3, 4}),
        ({"agent_id": {"ne": "bot"}}, {1, 3, 4}),
        ({"agent_id": {"gte": ""}}, {2}),
        ({"created_at": {"lt": "2026-01-01"}}, {1}),
        ({"expires_at": None, "memory.seq": {"in": [1, 3]}}, {1, 3}),
        ({"NOT": {"expires_at": {"gt": LATE}}}, {1, 2, 3, 4}),
        ({"AND": [{"user_id": "ann"}, {"colour": "red"}]}, {1}),
        ({"OR": [{"user_id": "bob"}, {"colour": "red"}]}, {1, 3}),
        ({"NOT": {"OR": [{"user_id": "bob"}, {"colour": "red"}]}}, {2, 4}),
        ({"NOT": [{"user_id": "bob"}, {"colour": "red"}]}, {2, 4}),
        ({"AND": []}, {1, 2, 3, 4}),
        ({"OR": []}, set()),
    ],
)
def test_what_each_filter_finds(filters: Any, found: set[int]) -> None:
    assert find(filters) == found


ATTACKS = [
    "x' OR '1'='1",
    "x') OR 1=1 --",
    "'; DROP TABLE memories; --",
    'x" OR ""="',
    "$.a') OR json_valid('{}",
    "m.text = m.text OR 1",
    "?",
    "%",
    "_",
    "*/ OR 1=1 /*",
]


@pytest.mark.req("R-26")
@pytest.mark.parametrize("attack", ATTACKS)
def test_sql_in_names_and_values_is_only_text(attack: str) -> None:
    rows = [memory(1, "plain", k="plain"), memory(2, attack, k=attack, **{attack: "there"})]
    assert find_in(rows, {f"metadata.{attack}": "there"}) == {2}
    assert find_in(rows, {f"metadata.{attack}": "*"}) == {2}
    for op in ("eq", "contains", "icontains"):
        assert find_in(rows, {"k": {op: attack}}) == {2}
        assert find_in(rows, {"memory.text": {op: attack}}) == {2}
    assert find_in(rows, {"k": {"in": [attack, "other"]}}) == {2}
    assert find_in(rows, {"user_id": {"contains": attack}}) == set()
    condition, _ = compile_where(Condition(f"metadata.{attack}", Op.EQ, attack))
    assert len(attack) == 1 or attack not in condition


def find_in(rows: Sequence[FoundMemory], filters: Any) -> set[int]:
    where = parse_filters(filters)
    assert where is not None
    return selected(rows, where)


@pytest.mark.req("R-26")
@pytest.mark.parametrize("name", ["colour", "m.text", "rowid", "text; --", "data"])
def test_a_tree_with_an_unknown_column_is_refused(name: str) -> None:
    with pytest.raises(InvalidFilter):
        compile_where(Condition(name, Op.EQ, "x"))


# --- limits of the database -------------------------------------------------------------------------------------------

HEAVY = {"tags": {"icontains": "sale"}}
"""The longest leaf; memory 1 has it."""
SAID = {"memory.actor": {"nin": ["ann", "bob"]}}
"""One that looks in two places; true of memory 1."""


def comb(levels: int, breadth: int, leaf: dict[str, Any] = HEAVY) -> dict[str, Any]:
    """AND and OR by turns, each with other conditions on both sides of the deeper level."""
    filters = leaf
    for level in range(levels):
        word, neutral = ("AND", {"memory.seq": {"gt": 0}}) if level % 2 else ("OR", {"tags": {"icontains": "absent"}})
        filters = {word: [neutral] * (breadth // 2) + [filters] + [neutral] * (breadth - breadth // 2)}
    return filters


def bush(levels: int) -> dict[str, Any]:
    """Two equally deep halves at each level."""
    if not levels:
        return HEAVY
    return {"AND" if levels % 2 else "OR": [bush(levels - 1), bush(levels - 1)]}


def tailed(levels: int, tail: int) -> dict[str, Any]:
    """A bush whose ends hang on long chains of NOT and AND."""
    if levels:
        return {"AND" if levels % 2 else "OR": [tailed(levels - 1, tail), tailed(levels - 1, tail)]}
    filters: dict[str, Any] = HEAVY
    for level in range(tail):
        filters = {"AND" if level % 2 else "OR": [filters]}
    return filters


@pytest.mark.req("R-26")
@pytest.mark.parametrize(
    "filters",
    [
        comb(MAX_DEPTH, 1),
        comb(MAX_DEPTH, 7),
        comb(MAX_DEPTH - 1, 8),
        comb(MAX_DEPTH, 7, SAID),
        {"OR": [SAID] * ((MAX_NODES - 1) // 7)},
        bush(8),
        tailed(4, MAX_DEPTH - 5),
        {"AND": [HEAVY] * (MAX_NODES - 1)},
        {"OR": [HEAVY] * (MAX_NODES - 1)},
        {"OR": [comb(MAX_DEPTH - 1, 4), {"AND": [HEAVY] * 600}]},
        {"size": {"in": list(range(MAX_LIST))}, "tags": {"icontains": "sale"}},
        {"OR": [{"colour": {"in": ["red"] * MAX_LIST}}] * (MAX_VALUES // MAX_LIST)},
        {"OR": [{"colour": {"in": ["red"] * 10}}] * (MAX_NODES - 1)},
    ],
    ids=[f"{number}" for number in range(13)],
)
def test_the_largest_filters_that_are_accepted_still_run(filters: Any) -> None:
    assert 1 in find(filters)


@pytest.mark.req("C-6")
def test_conditions_on_columns_stay_plain_so_that_an_index_serves_them() -> None:
    where = And(
        (
            Condition("tenant_id", Op.EQ, "acme"),
            And((Condition("user_id", Op.EQ, "ann"), Condition("status", Op.EQ, "active"))),
            Condition("valid_to", Op.EQ, None),
            Or((Condition("expires_at", Op.EQ, None), Condition("expires_at", Op.GT, LATE))),
            Condition("layer", Op.IN, ("fact", "turn")),
            Condition("metadata.colour", Op.NE, "red"),
        )
    )
    condition, params = compile_where(where)
    for plain in ("l.user_id = ?", "m.status = ?", "m.valid_to IS NULL", "m.expires_at > ?", "m.layer IN (?, ?)"):
        assert f"({plain})" in condition
    with stored(MEMORIES) as database:
        plan = database.execute("EXPLAIN QUERY PLAN " + SELECT + condition, params).fetchall()
        assert any("links_by_user (tenant_id=? AND user_id=?)" in step[-1] for step in plan)
        assert select(database, where) == {2}


def test_a_missing_metadata_document_has_no_keys() -> None:
    with stored(MEMORIES[:1]) as database:
        database.execute("UPDATE memories SET metadata = NULL")
        assert select(database, Condition("metadata.colour", Op.EQ, None)) == {1}
        assert select(database, Condition("metadata.colour", Op.EQ, "red")) == set()
