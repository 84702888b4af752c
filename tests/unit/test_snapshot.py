from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.engine.store.draft import ended_state, is_live, links_of, record_of, state_of
from memstone.model.memory import Kind, Layer, Link, Origin, Record, Status
from memstone.model.scope import Scope

NOW = "2026-05-07T09:30:00.000000Z"
names = st.text(max_size=8)
instants = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
bags = st.dictionaries(names, st.one_of(st.integers(), names, st.lists(st.booleans(), max_size=3)), max_size=3)
records = st.builds(
    Record,
    id=st.just("m1"),
    text=st.just("what it says"),
    hash=st.just("h"),
    occurred_at=instants,
    created_at=instants,
    updated_at=instants,
    valid_from=instants,
    anchor_at=instants,
    seq=st.integers(1, 99),
    version=st.integers(1, 9),
    expires_at=st.none() | instants,
    origin=st.sampled_from([str(one) for one in Origin]),
    trust=st.floats(0, 1),
    layer=st.sampled_from([str(one) for one in Layer]),
    kind=st.sampled_from([str(one) for one in Kind]),
    key=st.none() | names,
    data=bags,
    metadata=bags,
    salience=st.floats(0, 1),
    source_count=st.integers(0, 9),
    status=st.sampled_from(["active", "disabled", "quarantined", "evicted"]),
    source=st.sampled_from(["manual", "pattern", "import"]),
    source_role=st.none() | names,
    model=st.none() | names,
    origin_id=st.none() | names,
)
links = st.lists(
    st.builds(
        Link,
        scope=st.builds(Scope, st.just("t"), names, names, names),
        created_at=instants,
        dedupe=st.none() | st.text("abcdef0123456789", min_size=1, max_size=8),
        origin=st.sampled_from(["direct", "shared", "mirror"]),
        use_count=st.integers(0, 5),
        last_used_at=st.none() | instants,
    ),
    max_size=3,
)


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    """What a column of the history makes of it."""
    back: dict[str, Any] = json.loads(json.dumps(state))
    return back


@pytest.mark.req("X-10")
@given(records, links, records)
def test_a_state_tells_everything_about_a_version_but_its_words(
    record: Record, seen_by: list[Link], later: Record
) -> None:
    state = through_json(state_of(record, seen_by))

    row = replace(later, version=record.version, status="superseded", valid_to=NOW)
    answer = record_of(state, row)

    assert replace(answer, seq=record.seq, valid_to=None) == record
    assert links_of(state, "t") == seen_by
    assert "what it says" not in json.dumps(state)


def test_a_state_says_whether_the_memory_was_there() -> None:
    there = Record("m", "x", "h", NOW, NOW, NOW, NOW, NOW)
    assert is_live(state_of(there, []))
    assert not is_live(None)
    assert not is_live({})
    for status in (Status.DELETED, Status.SUPERSEDED):
        assert not is_live(ended_state(3, status, suppressed=False))
    assert ended_state(3, Status.DELETED, suppressed=True)["suppressed"] is True


def test_a_new_field_of_a_record_is_part_of_its_state_unless_the_row_has_it() -> None:
    changed = Record("m", "x", "h", NOW, NOW, NOW, NOW, NOW)
    for item in fields(Record):
        value = getattr(changed, item.name)
        other = {str: f"{value}~", int: 7, float: 0.25, dict: {"a": 1}, type(None): "given"}[
            str if isinstance(value, str) else type(value)
        ]
        setattr(changed, item.name, other)
    rest = {"id", "text", "hash", "tokens", "seq", "tenant_id", "valid_to"}
    assert state_of(changed, []).keys() - {"links"} == {item.name for item in fields(Record)} - rest


def test_a_short_state_leaves_the_row_as_it_is() -> None:
    row = Record("m", "x", "h", NOW, NOW, NOW, NOW, NOW, data={"a": 1}, salience=0.9, status="superseded")
    record = record_of({"status": "active", "version": 1, "kind": "factual", "layer": "fact"}, row)
    assert (record.data, record.salience, record.status) == ({"a": 1}, 0.9, "active")
    assert links_of({"status": "active"}, "t") is None
