"""SQL selects exactly what the reference evaluator selects, on random rows and random trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstone.core.checks.filters import found_fields, parse_filters
from memstone.model.memory import FoundMemory, Link, Record
from memstone.model.query import FIELDS, And, Condition, Not, Op, Or, Where, is_match
from memstone.model.scope import Scope
from tests.conformance.filter_world import EARLY, LATE, expected, select, selected, stored

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
    source_role=st.none() | st.sampled_from(["user", "a", "A", ""]),
    metadata=st.dictionaries(keys, values, max_size=4),
    data=st.dictionaries(st.sampled_from(["speaker", "category"]), texts | st.none(), max_size=2),
)
ids = st.sampled_from(["", "a", "A", "ß", "1", "*"])
links = st.builds(
    Link,
    scope=st.builds(Scope, tenant_id=ids, user_id=ids, agent_id=ids, run_id=ids),
    created_at=instants,
    use_count=st.integers(0, 2),
    last_used_at=st.none() | instants,
)


def numbered(rows: list[FoundMemory]) -> list[FoundMemory]:
    for seq, found in enumerate(rows, start=1):
        found.record.seq = seq
    return rows


tables = st.lists(st.builds(FoundMemory, records, links), max_size=5).map(numbered)
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


def stored_under(field: str, rows: Sequence[FoundMemory]) -> list[object]:
    """What the rows hold in a field, members of lists one by one, as far as it can be asked for."""
    read = [found_fields(found)(field) for found in rows]
    flat = [member for value in read for member in (value if isinstance(value, list) else [value])]
    return [
        value for value in flat if isinstance(value, (bool, str, float)) or (isinstance(value, int) and value in INT64)
    ]


def about(rows: Sequence[FoundMemory]) -> st.SearchStrategy[Condition]:
    """Conditions that have a chance: on keys that are there, often with values that are there."""
    own = {f"metadata.{key}" for found in rows for key in found.record.metadata}
    noted = st.sampled_from(["data.speaker", "data.category"])
    field = st.sampled_from(sorted(FIELDS)) | noted | st.sampled_from(sorted(own or {"metadata.k"}))

    def conditions(name: str) -> st.SearchStrategy[Condition]:
        current = stored_under(name, rows)
        return asking(name, operands | st.sampled_from(current) if current else operands)

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
def test_sql_selects_what_the_reference_evaluator_selects(question: tuple[list[FoundMemory], list[Where]]) -> None:
    rows, wheres = question
    with stored(rows) as database:
        for where in wheres:
            assert select(database, where) == expected(rows, where)


def one_row(value: object) -> list[FoundMemory]:
    record = Record("m", "t", "h", EARLY, EARLY, EARLY, EARLY, EARLY, seq=1, metadata={"k": value})
    return [FoundMemory(record, Link(Scope(), EARLY))]


@pytest.mark.slow
@pytest.mark.req("C-38")
@given(tables, st.sampled_from(sorted(set(Op) - {Op.EXISTS, Op.IN, Op.NIN})), texts)
def test_who_said_it_is_the_speaker_or_the_role(rows: list[FoundMemory], op: Op, value: str) -> None:
    where = parse_filters({"memory.actor": {op.value: value}})
    assert where is not None
    visible = [{"text": found.record.data.get("speaker"), "seq": found.record.seq} for found in rows]
    for one, found in zip(visible, rows, strict=True):
        one["text"] = found.record.source_role if one["text"] is None else one["text"]
    assert selected(rows, where) == {one["seq"] for one in visible if is_match(Condition("text", op, value), one)}


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


def grid_rows() -> list[FoundMemory]:
    current: list[Any] = ["", "a", "1", "ß", 1, 1.5, True, None, ["a", 1, "ß"], {"a": 1}]
    return [
        FoundMemory(
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
        for seq, value in enumerate(current)
    ]
