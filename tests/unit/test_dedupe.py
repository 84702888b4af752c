"""By what a memory is known that was stored before."""

from __future__ import annotations

from itertools import combinations

from memstone.engine.store.draft import dedupe_value
from memstone.model.scope import Scope

ALL = ("user_id", "agent_id", "run_id")


def value(scope: Scope, fields: tuple[str, ...] = ALL, *, key: str | None = None, text: str = "tea") -> str:
    return dedupe_value(scope, fields, speaker="user", key=key, text=text)


def test_every_place_key_and_text_has_a_value_of_its_own() -> None:
    values = [
        value(Scope(user_id="ab", agent_id="c")),
        value(Scope(user_id="a", agent_id="bc")),
        value(Scope(agent_id="ab", run_id="c")),
        value(Scope(user_id="ab", agent_id="c"), text="coffee"),
        value(Scope(user_id="ab", agent_id="c"), key="tea"),
        dedupe_value(Scope(user_id="ab", agent_id="c"), ALL, speaker="assistant", key=None, text="tea"),
    ]
    assert all(len(one) == 64 for one in values)
    assert all(one != other for one, other in combinations(values, 2))


def test_what_is_not_told_apart_has_one_value() -> None:
    one, other = Scope(user_id="ann", run_id="1"), Scope(user_id="ann", run_id="2")
    assert value(one, ("user_id",)) == value(other, ("user_id",))
    assert value(Scope(user_id="ann"), text="Tea.") == value(Scope(user_id="ann"))


def test_what_lives_in_one_place_begins_alike_and_elsewhere_differently() -> None:
    ann = {value(Scope(user_id="ann"), text=text)[:4] for text in ("tea", "coffee", "milk")}
    assert len(ann) == 1
    assert ann != {value(Scope(user_id="bob"))[:4]}
