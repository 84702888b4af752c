from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.checks.filters import (
    BARE_FIELDS,
    FIELD_NAMES,
    MAX_DEPTH,
    MAX_LIST,
    MAX_NODES,
    MAX_VALUES,
    found_fields,
    parse_filters,
    read_filters,
    split_scope,
    write_filters,
)
from memstone.errors import InvalidFilter
from memstone.model.memory import FoundMemory, Link, Record, Status
from memstone.model.query import FIELDS, And, Condition, Not, Op, Or, Where, is_match
from memstone.model.scope import Scope

NOON = "2026-05-07T12:00:00.000000Z"

CITY = Condition("metadata.city", Op.EQ, "Oslo")
ADULT = Condition("metadata.age", Op.GTE, 18)


def metadata(key: str, op: Op, value: object) -> Condition:
    return Condition(f"metadata.{key}", op, value)


@pytest.mark.req("C-37")
@pytest.mark.parametrize(
    ("written", "tree"),
    [
        ({"field": "city", "operator": "eq", "value": "Oslo"}, CITY),
        ({"field": "city", "op": "eq", "value": "Oslo"}, CITY),
        ({"city": "Oslo"}, CITY),
        ({"city": {"eq": "Oslo"}}, CITY),
        ({"city": {"$eq": "Oslo"}}, CITY),
        ({"city": {"=": "Oslo"}}, CITY),
        ({"metadata.city": "Oslo"}, CITY),
        ([{"city": "Oslo"}], CITY),
        ({"city": None}, metadata("city", Op.EQ, None)),
        ({"city": "*"}, metadata("city", Op.EXISTS, value=True)),
        ({"city": {"eq": "*"}}, metadata("city", Op.EQ, "*")),
        ({"city": {"exists": False}}, metadata("city", Op.EXISTS, value=False)),
        ({"city": {"in": ["Oslo", 7]}}, metadata("city", Op.IN, ("Oslo", 7))),
        ({"city": {"nin": ("Oslo",)}}, metadata("city", Op.NIN, ("Oslo",))),
        ({"city": {"in": []}}, metadata("city", Op.IN, ())),
        ({"city": {"contains": "sl"}}, metadata("city", Op.CONTAINS, "sl")),
        ({"city": {"icontains": "SL"}}, metadata("city", Op.ICONTAINS, "SL")),
        ({"tags": {"contains": 3}}, metadata("tags", Op.CONTAINS, 3)),
        ({"age": {">": 1}}, metadata("age", Op.GT, 1)),
        ({"age": {">=": 1}}, metadata("age", Op.GTE, 1)),
        ({"age": {"<": 1.5}}, metadata("age", Op.LT, 1.5)),
        ({"age": {"<=": 1}}, metadata("age", Op.LTE, 1)),
        ({"age": {"!=": 1}}, metadata("age", Op.NE, 1)),
        ({"AND": [{"city": "Oslo"}, {"age": {"gte": 18}}]}, And((CITY, ADULT))),
        ({"and": [{"city": "Oslo"}, {"age": {"gte": 18}}]}, And((CITY, ADULT))),
        ({"$or": [{"city": "Oslo"}, {"age": {"gte": 18}}]}, Or((CITY, ADULT))),
        ({"NOT": {"city": "Oslo"}}, Not(CITY)),
        ({"not": [{"city": "Oslo"}, {"age": {"gte": 18}}]}, Not(Or((CITY, ADULT)))),
        ({"NOT": {"city": "Oslo", "age": {"gte": 18}}}, Not(And((CITY, ADULT)))),
        ({"city": "Oslo", "age": {"gte": 18}}, And((CITY, ADULT))),
        ([{"city": "Oslo"}, {"age": {"gte": 18}}], And((CITY, ADULT))),
        ({"city": "Oslo", "OR": [{"age": {"gte": 18}}]}, And((CITY, Or((ADULT,))))),
        (
            {"age": {"gte": 18, "lt": 65}},
            And((ADULT, metadata("age", Op.LT, 65))),
        ),
    ],
)
def test_every_written_form_becomes_its_tree(written: Any, tree: Where) -> None:
    assert parse_filters(written) == tree


@pytest.mark.parametrize("nothing", [None, {}, [], ()])
def test_asking_for_nothing_is_no_condition(nothing: Any) -> None:
    assert parse_filters(nothing) is None


def test_a_tree_that_is_already_parsed_stays_as_it_is() -> None:
    assert parse_filters(CITY) is CITY


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("memory.text", "text"),
        ("memory.memory", "text"),
        ("memory.content", "text"),
        ("memory.type", "kind"),
        ("memory.role", "source_role"),
        ("memory.category", "data.category"),
        ("memory.session_id", "run_id"),
        ("memory.conversation_id", "run_id"),
        ("memory.user_id", "user_id"),
        ("user_id", "user_id"),
        ("status", "metadata.status"),
        ("memory", "metadata.memory"),
        ("session_id", "metadata.session_id"),
        ("category", "metadata.category"),
        ("metadata.memory.status", "metadata.memory.status"),
        ("colour", "metadata.colour"),
        ("metadata.colour", "metadata.colour"),
        ("metadata.user_id", "metadata.user_id"),
        ("metadata.tenant_id", "metadata.tenant_id"),
        ("metadata.a.b", "metadata.a.b"),
        ("a.b", "metadata.a.b"),
        ("metadata.$set", "metadata.$set"),
        ("x' OR '1'='1", "metadata.x' OR '1'='1"),
    ],
)
@pytest.mark.req("X-41")
def test_a_bare_name_is_a_metadata_key_and_a_field_is_named_by_memory(name: str, field: str) -> None:
    assert parse_filters({name: "a"}) == Condition(field, Op.EQ, "a")


@pytest.mark.req("X-41")
@pytest.mark.parametrize("name", sorted(FIELD_NAMES))
def test_only_bare_names_that_are_also_fields_are_reported(name: str) -> None:
    reported = set() if name in BARE_FIELDS else {name}
    text = "2026-01-01" if FIELDS.get(name) == "instant" else "a"
    assert read_filters({"NOT": [{"AND": [{name: text}]}]}).bare_fields == reported
    assert read_filters({"field": name, "op": "in", "value": [text]}).bare_fields == reported
    for written in (f"metadata.{name}", f"memory.{name}"):
        assert read_filters({written: {"exists": True}}).bare_fields == frozenset()


@pytest.mark.parametrize(
    "when",
    [
        NOON,
        "2026-05-07T12:00:00+00:00",
        "2026-05-07T14:00+02:00",
        datetime(2026, 5, 7, 12, tzinfo=UTC),
        datetime(2026, 5, 7, 7, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_date_field_is_compared_in_canonical_form(when: object) -> None:
    assert parse_filters({"created_at": {"gte": when}}) == Condition("created_at", Op.GTE, NOON)


def test_a_day_means_its_beginning_also_for_a_metadata_key() -> None:
    day = date(2026, 5, 7)
    assert parse_filters({"due": {"lt": day}}) == metadata("due", Op.LT, "2026-05-07T00:00:00.000000Z")


@pytest.mark.req("N-37")
@pytest.mark.parametrize("same", [7, "7", " 7 "])
def test_scope_ids_are_trimmed_and_made_text(same: object) -> None:
    assert parse_filters({"user_id": same}) == Condition("user_id", Op.EQ, "7")
    assert parse_filters({"user_id": {"in": [same]}}) == Condition("user_id", Op.IN, ("7",))


def test_values_lose_their_subclass() -> None:
    tree = parse_filters({"memory.status": Status.ACTIVE})
    assert isinstance(tree, Condition)
    assert type(tree.value) is str
    assert tree.value == "active"


@pytest.mark.req("C-37", "R-26")
@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("city", "must be a mapping"),
        (b"city", "must be a mapping"),
        (7, "must be a mapping"),
        (["city"], "must be a mapping"),
        ([["city"]], "must be a mapping"),
        ({7: "a"}, "field name must be text"),
        ({"": "a"}, "is not a field"),
        ({"metadata.": "a"}, "is not a field"),
        ({"metadata": {"city": "Oslo"}}, "unknown operator 'city'"),
        ({"metadata": "a"}, "is not a field"),
        ({"$where": "1"}, "unknown operator"),
        ({"$nor": [{"a": 1}]}, "compared with a list"),
        ({"tenant_id": "other"}, "you cannot filter by tenant_id"),
        ({"NOT": {"OR": [{"field": "tenant_id", "op": "eq", "value": "x"}]}}, "you cannot filter by tenant_id"),
        ({"bad\0name": 1}, "NUL"),
        ({"bad\ud800name": 1}, "surrogate"),
        ({"city": "a\0b"}, "NUL"),
        ({"city": {"in": ["\udfff"]}}, "surrogate"),
        ({"memory.text": {"contains": "\0"}}, "NUL"),
        ({"city": {"like": "O%"}}, "unknown operator 'like'"),
        ({"city": {"EQ": "O"}}, "unknown operator 'EQ'"),
        ({"city": {7: "O"}}, "unknown operator 7"),
        ({"field": "city", "operator": None, "value": "O"}, "unknown operator None"),
        ({"city": {}}, "no operator"),
        ({"city": ["a", "b"]}, "compared with a list"),
        ({"city": {"in": "Oslo"}}, "needs a list"),
        ({"city": {"nin": {"a": 1}}}, "needs a list"),
        ({"city": {"in": 7}}, "needs a list"),
        ({"city": {"in": [["nested"]]}}, "cannot take list"),
        ({"city": {"eq": {"a": 1}}}, "cannot take dict"),
        ({"city": {"eq": b"raw"}}, "cannot take bytes"),
        ({"city": object()}, "cannot take object"),
        ({"city": {"exists": 1}}, "true or false"),
        ({"city": {"exists": None}}, "true or false"),
        ({"age": {"gt": True}}, "cannot take bool"),
        ({"age": {"gt": None}}, "cannot take NoneType"),
        ({"age": math.nan}, "cannot be stored"),
        ({"age": {"lt": math.inf}}, "cannot be stored"),
        ({"age": {"in": [-math.inf]}}, "cannot be stored"),
        ({"age": 2**63}, "64 bits"),
        ({"age": -(2**63) - 1}, "64 bits"),
        ({"memory.salience": "high"}, "memory.salience needs a value of type number"),
        ({"memory.salience": True}, "type number"),
        ({"memory.salience": {"contains": "1"}}, "works on text"),
        ({"memory.colour": "red"}, "a memory has no field 'colour'"),
        ({"memory.": "red"}, "is not a field"),
        ({"memory.tenant_id": "other"}, "you cannot filter by tenant_id"),
        ({"memory.category": 7}, "memory.category needs a value of type text"),
        ({"memory.actor": 7}, "type text"),
        ({"created_at": {"icontains": "2026"}}, "works on text"),
        ({"created_at": {"gt": "yesterday"}}, "not a date"),
        ({"created_at": 1_700_000_000}, "not a date"),
        ({"created_at": {"gt": None}}, "not a date"),
        ({"memory.text": 7}, "type text"),
        ({"memory.text": {"contains": None}}, "type text"),
        ({"memory.text": {"gt": date(2026, 5, 7)}}, "type text"),
        ({"field": ["city"], "operator": "eq", "value": "Oslo"}, "field name must be text"),
        ({"user_id": {"contains": 7}}, "type text"),
        ({"user_id": ""}, "blank"),
        ({"user_id": "a b"}, "white space"),
        ({"user_id": True}, "user_id must be"),
        ({"AND": {"a": 1}}, "needs a list"),
        ({"OR": "a"}, "needs a list"),
        ({"NOT": "a"}, "needs a list"),
        ({"NOT": None}, "needs a list"),
        ({"field": "city", "operator": "eq"}, "field, operator and value"),
        ({"field": "city", "value": "Oslo"}, "field, operator and value"),
        ({"field": "city", "operator": "eq", "op": "eq", "value": "Oslo"}, "field, operator and value"),
        ({"field": "city", "operator": "eq", "value": "Oslo", "age": 3}, "field, operator and value"),
        ({"field": {"eq": 1}, "value": 3, "op": "eq"}, "field name must be text"),
    ],
)
def test_what_cannot_be_honoured_is_an_error_that_says_why(written: Any, says: str) -> None:
    with pytest.raises(InvalidFilter, match=says):
        parse_filters(written)


def test_an_unknown_operator_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidFilter) as caught:
        parse_filters({"city": {"like": "O%"}})
    assert all(op in caught.value.hint for op in Op)


def test_a_metadata_key_called_field_can_be_asked_for() -> None:
    assert parse_filters({"field": "x"}) == metadata("field", Op.EQ, "x")
    assert parse_filters({"metadata.field": "x", "metadata.value": 1}) == And(
        (metadata("field", Op.EQ, "x"), metadata("value", Op.EQ, 1))
    )


def nested(levels: int) -> dict[str, Any]:
    written: dict[str, Any] = {"city": "Oslo"}
    for _ in range(levels):
        written = {"NOT": written}
    return written


@pytest.mark.req("R-26")
def test_depth_parts_and_values_are_limited() -> None:
    parse_filters(nested(MAX_DEPTH))
    parse_filters([{"a": 1}] * (MAX_NODES - 1))
    parse_filters({"a": {"in": list(range(MAX_LIST))}})
    full = {"a": {"in": ["x"] * MAX_LIST}}
    parse_filters([full] * (MAX_VALUES // MAX_LIST))
    too_much: list[Any] = [
        nested(MAX_DEPTH + 1),
        nested(100_000),
        [{"a": 1}] * MAX_NODES,
        [{}] * 2_000,
        {"a": {"in": list(range(MAX_LIST + 1))}},
        [full] * (MAX_VALUES // MAX_LIST + 1),
    ]
    for beyond in too_much:
        with pytest.raises(InvalidFilter):
            parse_filters(beyond)


def test_a_filter_that_holds_itself_is_an_error() -> None:
    endless: dict[str, Any] = {}
    endless["AND"] = [endless]
    with pytest.raises(InvalidFilter, match="deeper"):
        parse_filters(endless)


@pytest.mark.req("C-6")
@pytest.mark.parametrize(
    ("written", "scope", "rest"),
    [
        (None, {}, None),
        ({"user_id": "ann"}, {"user_id": "ann"}, None),
        ({"user_id": 7, "agent_id": " bot "}, {"user_id": "7", "agent_id": "bot"}, None),
        ({"memory.session_id": "s", "city": "Oslo"}, {"run_id": "s"}, CITY),
        ({"AND": [{"user_id": "ann"}, {"city": "Oslo"}]}, {"user_id": "ann"}, CITY),
        ([{"user_id": "ann"}, {"run_id": {"eq": "r"}}], {"user_id": "ann", "run_id": "r"}, None),
        ({"field": "user_id", "operator": "eq", "value": "ann"}, {"user_id": "ann"}, None),
        ({"city": "Oslo", "AND": [{"user_id": "ann"}, {"age": {"gte": 18}}]}, {"user_id": "ann"}, And((CITY, ADULT))),
        ([{"user_id": "ann"}, {"user_id": "ann"}], {"user_id": "ann"}, None),
        ([{"user_id": "ann"}, {"user_id": "bob"}], {"user_id": "ann"}, Condition("user_id", Op.EQ, "bob")),
        ({"OR": [{"user_id": "ann"}, {"city": "Oslo"}]}, {}, Or((Condition("user_id", Op.EQ, "ann"), CITY))),
        ({"NOT": {"user_id": "ann"}}, {}, Not(Condition("user_id", Op.EQ, "ann"))),
        ({"user_id": "*"}, {}, Condition("user_id", Op.EXISTS, value=True)),
        ({"user_id": None}, {}, Condition("user_id", Op.EQ, None)),
        ({"user_id": {"in": ["ann"]}}, {"user_id": "ann"}, None),
        ({"user_id": {"in": ["ann", "bob"]}}, {}, Condition("user_id", Op.IN, ("ann", "bob"))),
        ({"user_id": {"in": [None]}}, {}, Condition("user_id", Op.IN, (None,))),
        ({"user_id": {"nin": ["ann"]}}, {}, Condition("user_id", Op.NIN, ("ann",))),
        ({"metadata.user_id": "ann"}, {}, Condition("metadata.user_id", Op.EQ, "ann")),
    ],
)
def test_scope_inside_filters_is_taken_out_only_where_it_pins_an_id(
    written: Any, scope: dict[str, str], rest: Where | None
) -> None:
    assert split_scope(written) == (scope, rest)


def test_neither_parsing_nor_splitting_changes_what_the_caller_passed() -> None:
    written = {"user_id": "ann", "AND": [{"agent_id": "bot"}, {"city": {"in": ["Oslo"]}}]}
    split_scope(written)
    assert written == {"user_id": "ann", "AND": [{"agent_id": "bot"}, {"city": {"in": ["Oslo"]}}]}


names = st.sampled_from(
    [
        "AND",
        "or",
        "$not",
        "eq",
        "in",
        "exists",
        "field",
        "op",
        "value",
        "user_id",
        "text",
        "memory.text",
        "memory.actor",
    ]
) | st.text(max_size=4)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(names, json_like, max_size=4) | st.lists(json_like, max_size=3))
def test_anything_is_either_parsed_or_refused_with_the_typed_error(written: Any) -> None:
    try:
        tree = parse_filters(written)
    except InvalidFilter:
        return
    assert tree is None or isinstance(is_match(tree, {}), bool)


def seen() -> FoundMemory:
    record = Record(
        id="m1",
        text="Straße nach Oslo",
        hash="h",
        occurred_at=NOON,
        created_at=NOON,
        updated_at=NOON,
        valid_from=NOON,
        anchor_at=NOON,
        metadata={"n": 1, "yes": True, "nil": None, "tags": ["A", 2, None, "ß"], "user_id": "other", "empty": ""},
    )
    return FoundMemory(record, Link(Scope(user_id="ann"), NOON, use_count=3))


@pytest.mark.req("C-37")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"memory.text": {"contains": "nach"}}, True),
        ({"memory.text": {"contains": "Nach"}}, False),
        ({"memory.text": {"icontains": "STRASSE"}}, True),
        ({"text": "*"}, False),
        ({"n": 1.0}, True),
        ({"n": True}, False),
        ({"yes": 1}, False),
        ({"yes": True}, True),
        ({"n": "1"}, False),
        ({"n": {"gt": "0"}}, False),
        ({"nil": None}, True),
        ({"gone": None}, True),
        ({"gone": {"ne": "x"}}, True),
        ({"gone": {"nin": ["x"]}}, True),
        ({"gone": {"in": [None, "x"]}}, True),
        ({"gone": {"lt": 5}}, False),
        ({"nil": "*"}, False),
        ({"empty": "*"}, True),
        ({"tags": "A"}, False),
        ({"tags": {"contains": "A"}}, True),
        ({"tags": {"contains": "a"}}, False),
        ({"tags": {"icontains": "SS"}}, True),
        ({"tags": {"contains": 2}}, True),
        ({"tags": {"icontains": 2}}, True),
        ({"tags": {"contains": None}}, True),
        ({"tags": {"contains": True}}, False),
        ({"user_id": "ann"}, True),
        ({"metadata.user_id": "other"}, True),
        ({"agent_id": "*"}, False),
        ({"agent_id": None}, True),
        ({"agent_id": {"contains": ""}}, False),
        ({"memory.use_count": {"gte": 3}}, True),
        ({"expires_at": None}, True),
        ({"created_at": {"lt": "2026-05-08"}}, True),
        ({"OR": []}, False),
        ({"AND": []}, True),
        ({"NOT": []}, True),
        ({"NOT": [{"n": 1}, {"n": 2}]}, False),
        ({"NOT": [{"n": 3}, {"n": 2}]}, True),
    ],
)
def test_the_meaning_of_conditions(written: Any, expected: bool) -> None:  # noqa: FBT001 - a table of answers
    tree = parse_filters(written)
    assert tree is not None
    assert is_match(tree, found_fields(seen())) is expected


def test_an_unknown_field_in_a_tree_is_an_error() -> None:
    with pytest.raises(InvalidFilter):
        is_match(Condition("colour", Op.EQ, "red"), {"colour": "red"})


@pytest.mark.parametrize(
    "written",
    [
        {"city": "Oslo", "memory.kind": {"in": ["factual", None]}},
        {"OR": [{"NOT": {"created_at": {"lt": "2026-01-01"}}}, {"memory.actor": "Bob"}, {"memory.category": "work"}]},
        {"user_id": {"exists": True}, "metadata.memory.x": {"contains": "a"}, "AND": []},
    ],
)
def test_a_tree_that_is_written_is_read_as_the_same_tree(written: Any) -> None:
    tree = parse_filters(written)
    assert tree is not None
    assert parse_filters(json.loads(json.dumps(write_filters(tree)))) == tree
