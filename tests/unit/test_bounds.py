"""What a caller reaches: names, pools, and the one condition that every look at the ledger carries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.checks.filters import where_in_bounds
from memstone.errors import Forbidden, ScopeError
from memstone.model.access import Bounds, Users
from memstone.model.ids import MAX_ID_CHARS, POOLS, PoolId, clean_id, pool_id
from memstone.model.query import is_match
from memstone.model.scope import Scope

OWN, OTHER = "0123456789abcdef", "fedcba9876543210"
PLAIN = Bounds(users=Users.POOLS, key_id=OWN)
IN_GATEWAY = Bounds(users=Users.POOLS, key_id=OWN, unnamed=pool_id(OWN))
TRUSTED = Bounds(users=Users.PEOPLE, key_id=OWN)
ADMIN = Bounds(key_id=OWN)

letters = st.sampled_from([*"ab:k*#0", "key:", OWN, OTHER, "ü"])
names = st.lists(letters, min_size=1, max_size=12).map("".join)
keys = st.sampled_from([OWN, OTHER])


def is_beyond(bounds: Bounds, user: Any) -> bool:
    try:
        bounds.narrow(Scope.of(user_id=user))
    except (Forbidden, ScopeError):
        return True
    return False


@pytest.mark.req("X-39", "R-34")
@given(st.lists(st.tuples(keys, names), min_size=2, max_size=2, unique=True))
def test_two_pairs_of_key_and_name_never_share_a_pool(pairs: list[tuple[str, str]]) -> None:
    assert len({pool_id(*pair) for pair in pairs}) == 2
    assert all(pool_id(*pair) not in (pool_id(OWN), pool_id(OTHER)) for pair in pairs)


@pytest.mark.req("X-39")
def test_the_pool_of_a_long_name_has_an_id_that_can_be_stored_and_named() -> None:
    long = [pool_id(OWN, "x" * many) for many in (230, 235, 236, 256)]
    assert len(set(long)) == 4
    assert all(len(one) <= MAX_ID_CHARS and clean_id(str(one), "user_id") == one for one in long)
    digest = pool_id(OWN, "x" * 256).removeprefix(f"{POOLS}{OWN}:")
    assert pool_id(OWN, digest) != pool_id(OWN, "x" * 256), "nobody takes a name over by spelling its hash"


@pytest.mark.req("X-39", "X-1")
@given(names)
def test_a_plain_key_means_its_own_pool_by_any_name_or_is_refused(name: str) -> None:
    if name == "*" or name.startswith(POOLS):
        assert is_beyond(PLAIN, name)
        assert is_beyond(TRUSTED, name)
        return
    narrowed = PLAIN.narrow(Scope.of(user_id=name))
    assert narrowed.user_id == pool_id(OWN, name)
    assert PLAIN.holds(narrowed)
    assert not Bounds(users=Users.POOLS, key_id=OTHER).holds(narrowed)
    assert not TRUSTED.holds(Scope(user_id=pool_id(OTHER, name)))
    assert PLAIN.narrow(narrowed) == narrowed, "a scope that was narrowed may be handed on"
    assert PLAIN.name_of(narrowed.user_id) == name or name.startswith(":")


@pytest.mark.req("X-1", "C-5")
def test_naming_nobody_is_an_error_or_the_keys_own_pool_and_never_everybody() -> None:
    with pytest.raises(ScopeError):
        PLAIN.narrow(Scope())
    with pytest.raises(ScopeError):
        TRUSTED.narrow(Scope())
    assert IN_GATEWAY.narrow(Scope()).user_id == pool_id(OWN)
    assert PLAIN.narrow(Scope(run_id="r")).user_id == PLAIN.narrow(Scope(agent_id="a")).user_id == pool_id(OWN)
    assert TRUSTED.narrow(Scope(agent_id="a")) == Scope(agent_id="a")
    assert ADMIN.narrow(Scope()) == Scope()


@pytest.mark.req("X-39")
def test_text_is_never_a_pool_and_a_pool_is_only_its_own_keys() -> None:
    for bounds in (PLAIN, IN_GATEWAY, TRUSTED):
        for text in (str(pool_id(OWN)), str(pool_id(OTHER)), str(pool_id(OWN, "ann"))):
            assert is_beyond(bounds, text), text
        assert bounds.narrow(Scope.of(user_id=pool_id(OWN, "ann"))).user_id == f"key:{OWN}:ann"
        assert is_beyond(bounds, pool_id(OTHER, "ann"))
        assert is_beyond(bounds, PoolId(POOLS + OWN + "0"))
    assert ADMIN.narrow(Scope.of(user_id=f"key:{OTHER}:ann")).user_id == f"key:{OTHER}:ann"


@pytest.mark.req("X-39", "P-7")
def test_a_request_in_the_name_of_somebody_is_about_nobody_else() -> None:
    ann = PLAIN.for_user("ann")
    assert ann.narrow(Scope()).user_id == ann.narrow(Scope(user_id="ann")).user_id == pool_id(OWN, "ann")
    assert not ann.holds(Scope(user_id=pool_id(OWN)))
    for bounds in (ann, TRUSTED.for_user("ann"), ADMIN.for_user("ann")):
        assert is_beyond(bounds, "bob")
        with pytest.raises(Forbidden):
            bounds.for_user("bob")
        assert bounds.for_user("ann") == bounds
    for reserved in ("*", "key:", f"key:{OWN}", f"key:{OWN}:ann"):
        for bounds in (PLAIN, TRUSTED, ADMIN):
            with pytest.raises(Forbidden):
                bounds.for_user(reserved)


bounds_of_all_kinds = st.builds(
    Bounds,
    user_id=st.sampled_from(["", "ann", str(pool_id(OWN, "ann"))]),
    agent_id=st.sampled_from(["", "a"]),
    users=st.sampled_from(Users),
    key_id=keys,
)
held = st.one_of(names, st.builds(pool_id, keys), st.builds(pool_id, keys, names), st.sampled_from(["", "ann", "*"]))


@pytest.mark.req("R-4", "X-39")
@given(bounds_of_all_kinds, held, st.sampled_from(["", "a", "b"]))
def test_the_condition_for_the_ledger_holds_what_the_bounds_hold(bounds: Bounds, user: str, agent: str) -> None:
    fields = {"tenant_id": "default", "user_id": str(user), "agent_id": agent, "run_id": ""}
    assert is_match(where_in_bounds(bounds), fields) == bounds.holds(Scope(user_id=str(user), agent_id=agent))
