"""What a reading of a message with the memories near it may do, and what it may never do."""

from __future__ import annotations

import pytest

from memstone.core.changes.judge import Odds
from memstone.core.changes.pairing import Action, Decision
from memstone.core.changes.reader import KNOWN, STANDS, SURE, Read, is_read, of_a_message, reading, replaced, verdict
from memstone.core.rules.guarded import may_end

ADD = Decision(Action.ADD, None, "nothing known says this or its opposite")
LITTLE = 0.05


def read(*odds: tuple[float, float], message: str = "Something happened") -> Read:
    return Read(message, {seq: Odds(*one) for seq, one in enumerate(odds, 1)})


@pytest.mark.req("P-17")
def test_the_odds_of_all_that_can_happen_sum_to_one() -> None:
    found = reading("I sold the boat", {7: "User has a boat.", 9: "User sails."}, [[2.0, -1.0], [-3.0, 0.5]])
    total = sum(one.replaces + one.same for one in found.odds.values())
    assert 0 < total < 1
    assert found.odds[7].replaces == max(value for one in found.odds.values() for value in one)
    assert reading("I sold the boat", {7: "User has a boat."}, [[0.0, 0.0]]).odds[7] == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.req("P-17")
def test_a_memory_is_replaced_only_where_the_model_is_sure() -> None:
    assert replaced(read((0.1, 0.0), (SURE, 0.0))) == 2
    assert replaced(read((0.1, 0.0), (SURE - LITTLE, 0.0))) is None
    assert replaced(read()) is None


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("memory", "said", "ends"),
    [
        ("User is allergic to hazelnuts.", "the hazelnut allergy is acting up again", False),
        ("User is allergic to hazelnuts.", "the clinic says i have outgrown the hazelnut thing", True),
        ("User is allergic to hazelnuts.", "turns out it was never the hazelnuts", True),
        ("User takes 20 mg of lisinopril.", "picked up my lisinopril from the chemist", False),
        ("User takes 20 mg of lisinopril.", "doctor put me on 40 mg of lisinopril", True),
        ("User has type 1 diabetes.", "my cousin got a sensor for diabetes", False),
        ("User's dog is called Biscuit.", "took the dog to the vet", False),
        ("User lives in Ghent.", "waking up to the harbour in ostend", True),
    ],
)
def test_health_and_names_need_words_that_end_or_exchange_them(memory: str, said: str, *, ends: bool) -> None:
    assert may_end(said, memory) is ends
    assert (replaced(Read(said, {1: Odds(0.99, 0.0)}, {1: memory})) == 1) is ends


@pytest.mark.req("P-17")
def test_what_is_surely_replaced_says_so_with_its_odds() -> None:
    decided = verdict(ADD, read((0.1, 0.0), (0.93, 0.0)), [1, 2], 2)
    assert (decided.action, decided.target) == (Action.REVISE, 1)
    assert decided.reason == "read: it takes the place of what was known (0.93)"
    assert decided.linked


@pytest.mark.req("P-17")
def test_a_change_that_rules_see_as_well_is_theirs_to_explain() -> None:
    rule = Decision(Action.REVISE, 0, "lives_in: 'ghent' becomes 'ostend'")
    assert verdict(rule, read((0.95, 0.0)), [1], 1) is rule


@pytest.mark.req("P-17")
def test_a_version_that_is_gone_by_now_is_not_replaced() -> None:
    assert verdict(ADD, read((0.95, 0.0)), [4], 1) is ADD


@pytest.mark.req("P-17")
def test_what_is_read_as_known_is_not_stored_again() -> None:
    decided = verdict(ADD, read((0.0, 0.05), (0.0, KNOWN)), [2, 1], None)
    assert (decided.action, decided.target) == (Action.IGNORE, 0)
    assert decided.reason.startswith("read: it is known already")
    assert verdict(ADD, read((0.0, KNOWN - LITTLE)), [1], None) is ADD


@pytest.mark.req("P-17")
def test_what_rules_know_already_stays_known() -> None:
    rule = Decision(Action.IGNORE, 0, "already known in other words")
    assert verdict(rule, read((0.3, 0.0)), [1], None) is rule


@pytest.mark.req("P-17")
def test_a_change_that_rules_see_does_not_happen_when_it_is_unlikely() -> None:
    rule = Decision(Action.REVISE, 0, "a change of what is known")
    assert verdict(rule, read((STANDS, 0.0)), [1], None) is rule
    against = verdict(rule, read((STANDS - LITTLE, 0.0)), [1], None)
    assert against.action is Action.ADD
    assert rule.reason in against.reason


@pytest.mark.req("P-17")
def test_tastes_are_left_to_the_rules_which_know_one_stance_from_the_other() -> None:
    rule = Decision(Action.REVISE, 0, "the opposite of what was known")
    tasted = Read("I can't stand cheese tasting", {1: Odds(0.02, 0.95)}, {1: "User likes cheese tasting"})
    assert verdict(rule, tasted, [1], None) is rule
    assert verdict(ADD, tasted, [1], None) is ADD


@pytest.mark.req("P-17")
def test_a_message_without_a_fact_counts_by_its_reading_alone() -> None:
    revised = Decision(Action.REVISE, 0, "read: it takes the place of what was known (0.93)")
    assert of_a_message(revised, read((0.93, 0.0)), 1) is revised
    assert of_a_message(ADD, read((0.01, 0.01)), None).action is Action.ADD
    assert of_a_message(ADD, read((0.3, 0.1)), None).action is Action.IGNORE
    assert of_a_message(revised, None, None).action is Action.IGNORE


@pytest.mark.req("P-17")
def test_another_value_of_what_somebody_has_one_of_is_certain() -> None:
    rule = Decision(Action.REVISE, 0, "lives_in: 'ghent' becomes 'ostend'", certain=True)
    assert verdict(rule, read((0.0, 0.9)), [1], None) is rule
    assert verdict(rule, read((0.0, 0.0), (0.99, 0.0)), [1, 2], 2) is rule


@pytest.mark.req("P-17")
def test_of_a_memory_it_has_not_read_the_model_says_nothing() -> None:
    rule = Decision(Action.REVISE, 1, "a change of what is known")
    assert verdict(rule, read((0.0, 0.0)), [1, 8], None) is rule
    assert not is_read("I have a boat in the harbour")
    assert is_read("User has a boat in the harbour.")
