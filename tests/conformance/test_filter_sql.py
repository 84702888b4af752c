"""SQL selects exactly what the reference evaluator selects."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retain.adapters.ledger.where import compile_where
from retain.core.evaluate import found_fields, matches
from retain.core.filters import MAX_DEPTH, MAX_LIST, MAX_NODES, MAX_VALUES, parse_filters
from retain.errors import InvalidFilter
from retain.model.memory import Found, Link, Record
from retain.model.query import FIELDS, LINK_FIELDS, RECORD_FIELDS, And, Condition, Not, Op, Or, Where
from retain.model.scope import Scope

TYPES = {"text": "TEXT", "instant": "TEXT", "number": "NUMERIC"}
SELECT = "SELECT m.seq FROM links l JOIN memories m ON m.seq = l.memory_seq WHERE "
EARLY, LATE = "2025-01-01T00:00:00.000000Z", "2026-05-07T12:00:00.000000Z"


def columns(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name} {TYPES[kind]}" for name, kind in fields.items())


def casefold(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


@contextmanager
def stored(rows: Sequence[Found]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("casefold", 1, casefold, deterministic=True)
        database.execute(f"CREATE TABLE memories ({columns(dict(RECORD_FIELDS))}, metadata TEXT)")
        database.execute(f"CREATE TABLE links ({columns(dict(LINK_FIELDS))}, memory_seq INTEGER)")
        database.execute("CREATE INDEX links_by_user ON links (tenant_id, user_id)")
        for found in rows:
            read = found_fields(found)
            insert(database, "memories", [*map(read, RECORD_FIELDS), json.dumps(found.record.metadata)])
            insert(database, "links", [*(link_column(found, name) for name in LINK_FIELDS), found.record.seq])
        yield database


def link_column(found: Found, name: str) -> object:
    return getattr(found.link.scope, name) if name.endswith("_id") else getattr(found.link, name)


def insert(database: sqlite3.Connection, table: str, values: Sequence[object]) -> None:
    marks = ", ".join("?" * len(values))
    database.execute(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - our own table


def select(database: sqlite3.Connection, where: Where) -> set[int]:
    condition, params = compile_where(where)
    assert condition.count("?") == len(params)
    return {seq for (seq,) in database.execute(SELECT + condition, params)}


def selected(rows: Sequence[Found], where: Where) -> set[int]:
    with stored(rows) as database:
        return select(database, where)


def expected(rows: Sequence[Found], where: Where) -> set[int]:
    return {found.record.seq for found in rows if matches(where, found_fields(found))}


# --- random rows and trees --------------------------------------------------------------------------------------------

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
words = st.sampled_from(
    ["", "a", "A", "ab", "ß", "SS", "%", "_", "a%", "*", "1", "true", "é", "😀", '"', "'", "\\", "]"]
)
texts = words | storable
keys = (
    st.sampled_from(["k", "K", "a.b", "a", 'q"uote', "it's", "ключ", "$", "[0]", "\\", "😀", " ", "user_id"]) | storable
)
operand_numbers = st.sampled_from([0, 1, -1, 1.0, -0.0, 0.5, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2.0**63])
operand_numbers |= st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
numbers = operand_numbers | st.sampled_from([2**63, 2**64, -(2**64), 10**30, 10**400])
scalars = st.none() | st.booleans() | numbers | texts
values = (
    scalars | st.lists(scalars | st.lists(scalars, max_size=2), max_size=3) | st.dictionaries(keys, scalars, max_size=2)
)
instants = st.sampled_from([EARLY, LATE])
column_numbers = st.sampled_from([0, 1, 2, 0.5, 2**53])

records = st.builds(
    Record,
    id=texts,
    text=texts,
    hash=texts,
    occurred_at=instants,
    created_at=instants,
    updated_at=instants,
    valid_from=instants,
    anchor_at=instants,
    valid_to=st.none() | instants,
    expires_at=st.none() | instants,
    key=st.none() | texts,
    origin_id=st.none() | texts,
    salience=column_numbers,
    trust=column_numbers,
    metadata=st.dictionaries(keys, values, max_size=4),
)
ids = st.sampled_from(["", "a", "A", "ß", "1", "*"])
links = st.builds(
    Link,
    scope=st.builds(Scope, tenant_id=ids, user_id=ids, agent_id=ids, run_id=ids),
    created_at=instants,
    use_count=st.integers(0, 2),
    last_used_at=st.none() | instants,
)


def numbered(rows: list[Found]) -> list[Found]:
    for seq, found in enumerate(rows, start=1):
        found.record.seq = seq
    return rows


tables = st.lists(st.builds(Found, records, links), max_size=5).map(numbered)
operands = st.none() | st.booleans() | operand_numbers | texts | instants
INT64 = range(-(2**63), 2**63)
VALUED = sorted(set(Op) - {Op.IN, Op.NIN, Op.EXISTS})


def asking(field: str, operands: st.SearchStrategy[Any]) -> st.SearchStrategy[Condition]:
    """Any condition on a field."""
    name = st.just(field)
    return st.one_of(
        st.builds(Condition, name, st.sampled_from(VALUED), operands),
        st.builds(Condition, name, st.sampled_from([Op.IN, Op.NIN]), st.lists(operands, max_size=4).map(tuple)),
        st.builds(Condition, name, st.just(Op.EXISTS), st.booleans()),
    )


def stored_under(field: str, rows: Sequence[Found]) -> list[object]:
    """What the rows hold in a field, members of lists one by one, as far as it can be asked for."""
    read = [found_fields(found)(field) for found in rows]
    flat = [member for value in read for member in (value if isinstance(value, list) else [value])]
    return [
        value for value in flat if isinstance(value, (bool, str, float)) or (isinstance(value, int) and value in INT64)
    ]


def about(rows: Sequence[Found]) -> st.SearchStrategy[Condition]:
    """Conditions that have a chance: on keys that are there, often with values that are there."""
    own = {f"metadata.{key}" for found in rows for key in found.record.metadata}
    field = st.sampled_from(sorted(FIELDS)) | st.sampled_from(sorted(own or {"metadata.k"}))

    def conditions(name: str) -> st.SearchStrategy[Condition]:
        held = stored_under(name, rows)
        return asking(name, operands | st.sampled_from(held) if held else operands)

    return field.flatmap(conditions)


def trees(leaves: st.SearchStrategy[Condition]) -> st.SearchStrategy[Where]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(Not, inner)
            | st.builds(And, st.lists(inner, max_size=3).map(tuple))
            | st.builds(Or, st.lists(inner, max_size=3).map(tuple))
        ),
        max_leaves=6,
    )


questions = tables.flatmap(lambda rows: st.tuples(st.just(rows), st.lists(trees(about(rows)), min_size=1, max_size=8)))


@pytest.mark.slow
@pytest.mark.req("C-38", "R-26")
@given(questions)
def test_sql_selects_what_the_reference_evaluator_selects(question: tuple[list[Found], list[Where]]) -> None:
    rows, wheres = question
    with stored(rows) as database:
        for where in wheres:
            assert select(database, where) == expected(rows, where)


def one_row(value: object) -> list[Found]:
    record = Record("m", "t", "h", EARLY, EARLY, EARLY, EARLY, EARLY, seq=1, metadata={"k": value})
    return [Found(record, Link(Scope(), EARLY))]


@pytest.mark.slow
@pytest.mark.req("C-38")
@given(values, operands)
@example(2**53 + 1, 2.0**53)
@example(2**63, 2.0**63)
@example(value=True, operand=1)
@example("a", None)
@example(["A"], "a")
@example('["a"]', "a")
def test_every_stored_value_against_every_operand(value: object, operand: object) -> None:
    rows = one_row(value)
    with stored(rows) as database:
        for op in Op:
            given_value = (operand,) if op in {Op.IN, Op.NIN} else operand is None if op is Op.EXISTS else operand
            for where in (Condition("metadata.k", op, given_value), Not(Condition("metadata.k", op, given_value))):
                assert select(database, where) == expected(rows, where), op


@pytest.mark.req("C-38")
@given(operands.filter(lambda value: value is not None))
@example(7.73170151951147)  # versions of SQLite read this from JSON as its neighbour,
@example(6.840770978232318e-90)  # others this
def test_a_stored_value_is_found_again_alone_and_in_a_list(value: object) -> None:
    assert selected(one_row(value), Condition("metadata.k", Op.EQ, value)) == {1}
    assert selected(one_row(["other", value]), Condition("metadata.k", Op.CONTAINS, value)) == {1}


GRID_OPERANDS = ["", "a", "A", "1", "ss", 1, 1.0, 0.5, 2**53, True, False, None, EARLY, LATE]


@pytest.mark.req("C-38", "R-26")
@pytest.mark.parametrize("field", [*FIELDS, "metadata.k", "metadata.absent"])
def test_every_field_with_every_operator_and_operands_of_every_type(field: str) -> None:
    rows = grid_rows()
    with stored(rows) as database:
        for op in Op:
            for operand in GRID_OPERANDS:
                value = (operand, "x") if op in {Op.IN, Op.NIN} else bool(operand) if op is Op.EXISTS else operand
                for where in (Condition(field, op, value), Not(Condition(field, op, value))):
                    assert select(database, where) == expected(rows, where), where


def grid_rows() -> list[Found]:
    held: list[Any] = ["", "a", "1", "ß", 1, 1.5, True, None, ["a", 1, "ß"], {"a": 1}]
    return [
        Found(
            Record(
                id=f"{seq}",
                text=["a", "A", "1", "", "Straße"][seq % 5],
                hash="1",
                occurred_at=EARLY,
                created_at=LATE,
                updated_at=LATE,
                valid_from=EARLY,
                anchor_at=EARLY,
                seq=seq,
                valid_to=[None, LATE][seq % 2],
                key=[None, "", "a"][seq % 3],
                trust=[0.5, 1][seq % 2],
                metadata={"k": value},
            ),
            Link(Scope("a", ["", "a", "1"][seq % 3], "ß" * (seq % 2)), EARLY, last_used_at=[None, LATE][seq % 2]),
        )
        for seq, value in enumerate(held)
    ]


# --- examples ---------------------------------------------------------------------------------------------------------


def memory(seq: int, text: str, *, user_id: str = "ann", agent_id: str = "", **metadata: Any) -> Found:
    at = EARLY if seq == 1 else LATE
    record = Record(f"m{seq}", text, f"h{seq}", at, at, at, at, at, seq=seq, metadata=metadata)
    return Found(record, Link(Scope("acme", user_id, agent_id), at))


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
        ({"text": {"contains": "%"}}, {1}),
        ({"text": {"contains": "_"}}, {2}),
        ({"text": {"icontains": "LIKES"}}, {1, 2}),
        ({"text": {"icontains": "STRASSE"}}, {3}),
        ({"text": {"contains": ""}}, {1, 2, 3, 4}),
        ({"text": ""}, {4}),
        ({"user_id": "ann", "size": {"gt": 1}}, {2}),
        ({"user_id": "o'hara"}, {4}),
        ({"agent_id": "*"}, {2}),
        ({"agent_id": None}, {1, 3, 4}),
        ({"agent_id": {"ne": "bot"}}, {1, 3, 4}),
        ({"agent_id": {"gte": ""}}, {2}),
        ({"created_at": {"lt": "2026-01-01"}}, {1}),
        ({"expires_at": None, "seq": {"in": [1, 3]}}, {1, 3}),
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
        assert find_in(rows, {"text": {op: attack}}) == {2}
    assert find_in(rows, {"k": {"in": [attack, "other"]}}) == {2}
    assert find_in(rows, {"user_id": {"contains": attack}}) == set()
    condition, _ = compile_where(Condition(f"metadata.{attack}", Op.EQ, attack))
    assert len(attack) == 1 or attack not in condition


def find_in(rows: Sequence[Found], filters: Any) -> set[int]:
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


def comb(levels: int, breadth: int) -> dict[str, Any]:
    """AND and OR by turns, each with other conditions on both sides of the deeper level."""
    filters: dict[str, Any] = HEAVY
    for level in range(levels):
        word, neutral = ("AND", {"seq": {"gt": 0}}) if level % 2 else ("OR", {"tags": {"icontains": "absent"}})
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
        bush(8),
        tailed(4, MAX_DEPTH - 5),
        {"AND": [HEAVY] * (MAX_NODES - 1)},
        {"OR": [HEAVY] * (MAX_NODES - 1)},
        {"OR": [comb(MAX_DEPTH - 1, 4), {"AND": [HEAVY] * 600}]},
        {"size": {"in": list(range(MAX_LIST))}, "tags": {"icontains": "sale"}},
        {"OR": [{"colour": {"in": ["red"] * MAX_LIST}}] * (MAX_VALUES // MAX_LIST)},
        {"OR": [{"colour": {"in": ["red"] * 10}}] * (MAX_NODES - 1)},
    ],
    ids=[f"{number}" for number in range(11)],
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
