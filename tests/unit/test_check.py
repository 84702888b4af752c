from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.checks.arguments import checked_key, checked_kind, checked_metadata, checked_text
from memstone.errors import InvalidInput, TooLarge, UsageError
from memstone.model.policy import Limits

LIMITS = Limits(key_chars=5, metadata_bytes=30)


def test_text_is_kept_as_it_is() -> None:
    for text in (" a ", "\u6771\u4eac", "a\r\nb", "\U0001f600"):
        assert checked_text(text, "text", 10) == text


@pytest.mark.parametrize("wrong", [None, 7, b"a", "", " \n", "a\0b", "\ud83d"])
def test_text_that_cannot_be_stored_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="note"):
        checked_text(wrong, "note", 10)


def test_a_limit_that_can_be_raised_is_named() -> None:
    with pytest.raises(TooLarge, match="11 characters, the limit is 10") as caught:
        checked_text("x" * 11, "text", 10, "limits.text_chars")
    assert "limits.text_chars" in caught.value.hint
    with pytest.raises(TooLarge) as caught:
        checked_text("x" * 11, "query", 10)
    assert "limits." not in caught.value.hint


@given(st.text())
def test_accepted_text_can_be_encoded(text: str) -> None:
    try:
        checked_text(text, "text", 1000)
    except UsageError:
        return
    assert "\0" not in text
    text.encode()


@pytest.mark.req("O-9")
def test_a_blank_key_is_no_key() -> None:
    assert [checked_key(key, LIMITS) for key in (None, "", "  ", " k ")] == [None, None, None, "k"]
    with pytest.raises(TooLarge) as caught:
        checked_key("x" * 6, LIMITS)
    assert "limits.key_chars" in caught.value.hint


@pytest.mark.req("O-25", "X-13")
def test_four_kinds_and_no_other() -> None:
    assert [checked_kind(kind) for kind in (None, "factual", "episodic", "procedural", "semantic")] == [
        "factual",
        "factual",
        "episodic",
        "procedural",
        "semantic",
    ]
    for wrong in ("override", "derived", "narrative", "Factual", "", 7):
        with pytest.raises(InvalidInput) as caught:
            checked_kind(wrong)  # type: ignore[arg-type]
        assert "procedural" in caught.value.hint


@pytest.mark.req("R-10")
@pytest.mark.parametrize("name", ["tenant_id", "user_id", "agent_id", "run_id"])
def test_identity_is_taken_out_of_metadata_with_a_warning(name: str) -> None:
    stored, warnings = checked_metadata({name: "eve", "a": 1, "deep": {name: 2}}, Limits())
    assert stored == {"a": 1, "deep": {name: 2}}
    assert len(warnings) == 1
    assert name in warnings[0]


@pytest.mark.req("R-30")
def test_metadata_is_a_copy_in_the_form_in_which_it_is_stored() -> None:
    given_metadata: dict[str, Any] = {"list": [1, {"a": (2, 3)}]}
    stored, warnings = checked_metadata(given_metadata, Limits())
    assert (stored, warnings) == ({"list": [1, {"a": [2, 3]}]}, [])
    stored["list"].append(4)
    assert given_metadata == {"list": [1, {"a": (2, 3)}]}
    assert checked_metadata(None, Limits()) == ({}, [])


def test_metadata_is_measured_in_bytes() -> None:
    checked_metadata({"a": "x" * 21}, LIMITS)
    for wrong in ({"a": "x" * 23}, {"a": "\u6771" * 8}):
        with pytest.raises(TooLarge) as caught:
            checked_metadata(wrong, LIMITS)
        assert "limits.metadata_bytes" in caught.value.hint


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_metadata_is_stored_exactly_or_refused(value: dict[str, Any]) -> None:
    try:
        stored, warnings = checked_metadata(value, Limits())
    except UsageError:
        return
    assert json.loads(json.dumps(stored, allow_nan=False).encode()) == stored
    if not warnings:
        assert stored == value
