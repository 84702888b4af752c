from __future__ import annotations

import uuid
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.errors import ScopeError
from memstone.model.ids import MAX_ID_CHARS, clean_id, new_id
from memstone.model.scope import NO_SCOPE, Scope

UUID = uuid.UUID("8e9d7c5a-1b2c-4d3e-9f00-abcdefabcdef")


@pytest.mark.req("C-1", "X-21")
def test_new_ids_are_uuids_of_version_four_and_all_different() -> None:
    made = {new_id() for _ in range(2000)}
    assert len(made) == 2000
    for text in made:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant, str(parsed)) == (4, uuid.RFC_4122, text)


def test_a_thousand_ids_in_a_row_begin_alike_and_the_next_thousand_do_not() -> None:
    beginnings = [new_id()[:4] for _ in range(20 * 1024)]
    runs = [key for key, _ in groupby(beginnings)]

    assert 15 <= len(runs) <= 21  # two neighbours may be alike by chance


@pytest.mark.req("N-37", "R-34")
@pytest.mark.parametrize(
    ("given_id", "stored"),
    [(None, ""), ("a", "a"), (" a ", "a"), (7, "7"), (-1, "-1"), ("a&b=c", "a&b=c"), (UUID, str(UUID))],
)
def test_ids_are_trimmed_text(given_id: object, stored: str) -> None:
    assert clean_id(given_id, "user_id") == stored


@pytest.mark.req("N-37", "R-34")
@pytest.mark.parametrize(
    "wrong", ["", " ", "a b", "a\u00a0b", "\x00", "a\x7f", "\ud800", "a\u2028b", True, 1.0, b"a", [], "x" * 257]
)
def test_what_is_no_id_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(ScopeError, match="agent_id"):
        clean_id(wrong, "agent_id")


@pytest.mark.req("R-34")
@given(st.text(max_size=MAX_ID_CHARS))
def test_an_accepted_id_is_stable_and_free_of_white_space(text: str) -> None:
    try:
        once = clean_id(text, "run_id")
    except ScopeError:
        return
    assert clean_id(once, "run_id") == once
    assert not any(char.isspace() for char in once)
    once.encode()


@pytest.mark.req("C-5")
def test_a_scope_must_name_somebody() -> None:
    with pytest.raises(ScopeError) as caught:
        Scope.of().require_owner()
    assert str(caught.value) == NO_SCOPE == "At least one of user_id, agent_id, or run_id must be provided"
    for name in ("user_id", "agent_id", "run_id"):
        scope = Scope.of(**{name: "x"})
        assert scope.require_owner() is scope
    assert Scope.of(tenant_id="t").is_open
