"""What is weighed where rules do not decide, and what the weights may never overrule."""

from __future__ import annotations

from importlib.resources import files

import pytest

from memstone import Memory
from memstone.core.changes.features import Said, features
from memstone.core.changes.judge import STANDS, Odds, answers, as_table, judge, verdict, weigh, weights
from memstone.core.changes.pairing import Action, Decision, Known
from memstone.core.changes.statement import understand
from memstone.testing.clock import FakeClock

ADD = Decision(Action.ADD, None, "nothing known says this or its opposite")
MOST_BYTES = 500_000
LITTLE = 0.05


def said(text: str, rule: Decision = ADD, *, adds: bool = True) -> Said:
    return Said(understand(text), text.lower(), rule, adds)


def known(text: str, cosine: float = 0.4, *, fresh: bool = False) -> Known:
    return Known(understand(text), cosine, fresh, cosine)


@pytest.mark.req("P-17")
def test_the_weights_are_small_and_ask_for_features_there_are() -> None:
    assert len(files("memstone.core.changes").joinpath("weights.npz").read_bytes()) < MOST_BYTES
    (found,) = features(said("User sold the boat"), [known("User has a boat")])
    assert {name for trees in weights().values() for name in trees.names} <= found.keys()
    assert not any(name.startswith("near") for name in weights()["far"].names)


@pytest.mark.req("P-17")
@pytest.mark.parametrize("name", ["near", "far"])
def test_the_answers_for_a_pair_sum_to_one(name: str) -> None:
    trees = weights()[name]
    found = features(said("User sold the boat"), [known("User has a boat"), known("User likes tea", 0.1)])
    rows = answers(as_table(found, trees.names), trees)
    assert rows.shape == (2, 3)
    assert rows.sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.req("P-17")
def test_weighing_changes_no_memory_that_no_rule_would_change() -> None:
    assert verdict(ADD, [Odds(1.0, 0.0), Odds(0.9, 0.1)]) is ADD


@pytest.mark.req("P-17")
def test_what_is_likely_known_is_not_stored_again() -> None:
    decided = verdict(ADD, [Odds(0.1, 0.2), Odds(0.1, 0.8)])
    assert (decided.action, decided.target) == (Action.IGNORE, 1)
    assert decided.reason == "weighed: it is known already (0.80)"


@pytest.mark.req("P-17")
def test_a_change_the_rules_see_is_theirs_unless_it_is_unlikely() -> None:
    rule = Decision(Action.REVISE, 0, "a change of what is known")
    assert verdict(rule, [Odds(STANDS, 0.0), Odds(0.9, 0.0)]) is rule
    against = verdict(rule, [Odds(STANDS - LITTLE, 0.0)])
    assert against.action is Action.ADD
    assert rule.reason in against.reason


@pytest.mark.req("P-17")
def test_what_the_rules_know_already_is_not_weighed() -> None:
    rule = Decision(Action.IGNORE, 0, "already known in other words")
    assert judge(said("User sold the boat", rule), [known("User has a boat")]) is rule


@pytest.mark.req("P-17")
def test_the_other_stance_is_never_the_same() -> None:
    likes = said("User likes rowing on the lake", Decision(Action.REVISE, 0, "the opposite of what was known"))
    (odds,) = weigh(likes, [known("User dislikes rowing on the lake", 0.9)])
    assert odds.same == 0
    assert judge(likes, [known("User dislikes rowing on the lake", 0.9)]) is likes.rule


@pytest.mark.req("P-17")
def test_what_was_said_in_the_same_breath_or_in_own_words_is_left_to_the_rules() -> None:
    memories = [known("User has a boat", 0.6, fresh=True), known("I have a boat in the harbour", 0.6)]
    assert weigh(said("User sold the boat"), memories) == [Odds(STANDS, 0.0)] * 2


@pytest.mark.req("P-17")
def test_without_the_built_in_vectors_nearness_is_not_asked() -> None:
    near, far = (Known(understand("User has a boat"), cosine) for cosine in (0.9, 0.0))
    assert weigh(said("User sold the boat to a friend"), [near]) == weigh(said("User sold the boat to a friend"), [far])


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    "again", ["And remember, I'm allergic to hazelnuts!", "I am still allergic to hazelnuts, you know"]
)
def test_saying_something_again_never_ends_it(again: str) -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        memory.add("I'm allergic to hazelnuts.", user_id="u")
        memory.add(again, user_id="u")
        assert [one["memory"] for one in memory.get_all(user_id="u")["results"]] == ["User is allergic to hazelnuts."]
