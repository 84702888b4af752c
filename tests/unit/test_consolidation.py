from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.consolidation import (
    Pieces,
    can_merge,
    days_before,
    find_merges,
    find_promotions,
    find_similar_pairs,
    is_faint,
    is_overdue,
    is_similar,
    merge_links,
    merge_records,
    over_budget,
    shorten_text,
    text_pieces,
    times_of,
)
from memstone.model.age import MemoryAge
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Layer, Link, Record
from memstone.model.policy import Upkeep
from memstone.model.scope import Scope
from tests.english import ENGLISH

NOW = "2026-03-01T00:00:00.000000Z"
POLICY = Upkeep(evict=True)


def memory(text: str = "User likes tea", *, days: float = 0, layer: str = Layer.FACT, **rest: object) -> Record:
    """A memory that was stored so many days before now."""
    at = days_before(NOW, days)
    base = Record(
        id=f"id of {text} {days}", text=text, hash="", occurred_at=at, created_at=at, updated_at=at, valid_from=at,
        anchor_at=at, layer=layer,
    )  # fmt: skip
    return replace(base, **rest)  # type: ignore[arg-type]


def episode(text: str, *, days: float = 0, **data: object) -> Record:
    return memory(text, days=days, layer=Layer.EPISODE, kind=Kind.EPISODIC, data=dict(data))


# --- pieces -----------------------------------------------------------------------------------------------------------


def test_a_text_is_the_four_character_runs_of_its_words() -> None:
    assert text_pieces("My Garden, my") == {"my", "gard", "arde", "rden"}
    assert text_pieces("!?") == {"!?"}
    assert text_pieces("") == frozenset()


def jaccard(one: Pieces, other: Pieces) -> float:
    """The share of common pieces, as it is defined."""
    return len(one & other) / len(one | other) if one & other else 0.0


def test_likeness_is_the_share_of_common_pieces() -> None:
    one, other = text_pieces("abcd efgh"), text_pieces("abcd ijkl")
    assert is_similar(one, other, 1 / 3)
    assert not is_similar(one, other, 0.34)
    assert is_similar(text_pieces("tea"), text_pieces("tea"), 1.0)
    assert not is_similar(text_pieces("tea"), frozenset(), 0.1)


@given(
    st.lists(st.frozensets(st.sampled_from("abcdefghij"), max_size=8), max_size=14),
    st.sampled_from([0.3, 0.5, 2 / 3, 0.75, 0.9, 1.0]),
)
def test_twins_are_those_a_comparison_of_all_pairs_finds(sets: list[frozenset[str]], threshold: float) -> None:
    remaining: list[int] = []
    expected = []
    for place, one in enumerate(sets):
        like = next((other for other in remaining if jaccard(sets[other], one) + 1e-9 >= threshold), None)
        if like is None:
            remaining.append(place)
        else:
            expected.append((like, place))
    assert list(find_similar_pairs(sets, threshold)) == expected


def test_a_pair_that_may_not_be_twins_is_passed_over() -> None:
    sets = [text_pieces("the same"), text_pieces("the same"), text_pieces("the same")]
    assert list(find_similar_pairs(sets, 0.9, lambda older, _: older != 0)) == [(1, 2)]


# --- becoming one -----------------------------------------------------------------------------------------------------

WALK = "Talked about the long walk along the coast and which boots to buy for it"


@pytest.mark.req("S-36")
def test_the_older_of_two_nearly_identical_episodes_is_kept() -> None:
    old, new = episode(WALK, days=9, topics=["walking"]), episode(f"{WALK}.", days=2, topics=["Walking"])
    (found,) = find_merges([new, old], 0.9, ENGLISH)
    assert (found.survivor, found.dropped) == (old, new)


@pytest.mark.req("S-36")
def test_topics_count_as_much_as_the_summary() -> None:
    old = episode("Short talk", days=9, topics=["holidays", "mountains"])
    assert not find_merges([old, episode("Short talk", days=2, topics=["taxes", "insurance"])], 0.9, ENGLISH)
    assert find_merges([old, episode("Short talk", days=2, topics=["holidays", "mountains"])], 0.9, ENGLISH)


@pytest.mark.req("N-31")
def test_how_alike_two_must_be_is_a_setting_and_0_is_never() -> None:
    facts = [memory("User likes green tea in the morning, with milk", days=2), memory("User likes green tea with milk")]
    assert find_merges(facts, 0.5, ENGLISH)
    assert not find_merges(facts, 0.9, ENGLISH)
    assert not find_merges([memory("User likes tea", days=2), memory("User likes tea")], 0, ENGLISH)


LONG = "User wants the weekly report on revenue, costs and open questions sent to the whole team every Monday morning"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (LONG, LONG.replace("wants", "does not want")),
        (f"{LONG} at 9", f"{LONG} at 10"),
        ("User likes tea, not coffee", "User likes coffee, not tea"),
        ("Anna is taller than Bob", "Bob is taller than Anna"),
        ("User's flight to Lisbon on 12 May is booked", "User's flight to Lisbon on 13 May is booked"),
        ("User likes green tea in the morning", "User likes green tea in the evening"),
        ("User likes green tea", "User likes green tea with milk"),
    ],
    ids=["denied", "another number", "the other way round", "another order", "another day", "another time", "more"],
)
@pytest.mark.req("N-31")
def test_facts_that_say_something_else_in_nearly_the_same_words_stay_apart(older: str, newer: str) -> None:
    assert jaccard(text_pieces(older), text_pieces(newer)) > 0.5
    assert not find_merges([memory(older, days=1), memory(newer)], 0.5, ENGLISH)


@pytest.mark.parametrize(
    "differing",
    [
        {"kind": Kind.PROCEDURAL},
        {"trust": 1.0},
        {"expires_at": NOW},
        {"key": "tea", "data": {"verbatim": True}},
        {"metadata": {"project": "kitchen"}},
    ],
    ids=str,
)
@pytest.mark.req("S-36", "R-20")
def test_what_a_caller_or_its_source_tells_apart_stays_apart(differing: dict[str, object]) -> None:
    old = memory(days=3, trust=0.5)
    assert can_merge(old, memory(trust=0.5), ENGLISH)
    assert not can_merge(old, replace(memory(trust=0.5), **differing), ENGLISH)  # type: ignore[arg-type]


def test_overrides_never_become_one() -> None:
    assert not can_merge(memory(days=3, kind=Kind.OVERRIDE), memory(kind=Kind.OVERRIDE), ENGLISH)


@pytest.mark.req("S-36")
def test_what_is_kept_was_said_as_often_as_both_and_when_last() -> None:
    old = replace(episode(WALK, days=9, facts=["a"]), source_count=2, salience=0.4)
    new = replace(episode(WALK, days=2, facts=["a", "b"]), source_count=3, salience=0.6)
    grown = merge_records(old, new)
    assert (grown.source_count, grown.salience, grown.anchor_at) == (5, 0.6, new.anchor_at)
    assert (grown.text, grown.occurred_at, grown.data["facts"]) == (old.text, old.occurred_at, ["a", "b"])
    assert times_of(grown) == [old.occurred_at, new.occurred_at]


def test_whoever_saw_one_of_two_sees_what_is_left_and_uses_are_added_up() -> None:
    both, scope = Scope(user_id="alice", run_id="1"), Scope(user_id="alice", run_id="2")
    links = merge_links(
        [Link(both, NOW, "a", use_count=2, last_used_at="2026-01-01")],
        [Link(both, NOW, "b", use_count=3, last_used_at="2026-02-01"), Link(scope, NOW, "c", use_count=1)],
    )
    assert links == [
        Link(both, NOW, "a", use_count=5, last_used_at="2026-02-01"),
        Link(scope, NOW, None, use_count=1),
    ]


# --- what keeps being spoken of ---------------------------------------------------------------------------------------


def spoken(fact: str, *texts: str, since: Instant = "") -> int:
    """How often a fact has earned its boost by these episodes, one a day."""
    episodes = [episode(text, days=days) for days, text in enumerate(texts)]
    return sum(one.steps(POLICY) for one in find_promotions([memory(fact, days=30)], episodes, POLICY, since))


@pytest.mark.req("S-37")
def test_a_fact_earns_its_boost_by_three_episodes_that_speak_of_it() -> None:
    text = "We talked about plans. User plays the violin in an orchestra. Then it rained."
    assert spoken("User plays the violin in an orchestra", text, text) == 0
    assert spoken("User plays the violin in an orchestra", text, text, text) == 1
    assert spoken("User plays the violin in an orchestra", text, text, text, text, text, text) == 2
    assert spoken("User plays the violin in an orchestra", "Taxes.", text, "Bread.", text) == 0
    assert spoken("User plays the violin in an orchestra", text, text, text, since=days_before(NOW, 1)) == 0


@pytest.mark.req("S-37")
def test_topics_and_entities_and_facts_that_an_episode_names_speak_of_a_fact() -> None:
    fact = memory("Violin orchestra", days=30)
    by_topic = [episode("Talk", days=day, topics=["violin"], entities=["orchestra"]) for day in range(3)]
    by_name = [episode("Something else altogether", days=day, facts=[fact.id]) for day in range(3)]
    assert find_promotions([fact], by_topic, POLICY, "")
    assert find_promotions([fact], by_name, POLICY, "")
    assert not find_promotions([fact], [episode("Something else altogether", days=day) for day in range(3)], POLICY, "")


@pytest.mark.req("S-37", "X-16")
def test_a_boost_is_as_of_the_episode_that_earned_it_and_never_beyond_1() -> None:
    fact = memory("User plays the violin", days=40, salience=0.5)
    episodes = [episode("User plays the violin", days=day) for day in (9, 7, 5, 3)]
    (found,) = find_promotions([fact], episodes, POLICY, "")
    after = found.strengthen_fact(0, POLICY)
    assert after.salience == pytest.approx(0.55)
    assert after.anchor_at == days_before(NOW, 5)
    assert replace(found, fact=replace(fact, salience=0.99)).strengthen_fact(0, POLICY).salience == 1.0


# --- what is no longer needed -----------------------------------------------------------------------------------------


@pytest.mark.req("S-38", "S-35")
def test_a_fact_is_faint_only_when_it_is_weak_and_idle() -> None:
    weak = 30 * math.log(0.5 / 0.2)  # days after which half a salience has faded to the floor
    assert not is_faint(MemoryAge(memory(days=weak - 0.01, salience=0.5)), NOW, replace(POLICY, idle_days=1), 30)
    assert is_faint(MemoryAge(memory(days=weak + 0.01, salience=0.5)), NOW, replace(POLICY, idle_days=1), 30)
    assert not is_faint(MemoryAge(memory(days=29, salience=0.1)), NOW, POLICY, 30)
    assert is_faint(MemoryAge(memory(days=30, salience=0.1)), NOW, POLICY, 30)
    assert not is_faint(MemoryAge(memory(days=300), last_used_at=days_before(NOW, 29)), NOW, POLICY, 30)
    assert not is_faint(MemoryAge(memory(days=300, kind=Kind.OVERRIDE, salience=0)), NOW, POLICY, 30)


@pytest.mark.req("N-12")
def test_only_named_kinds_that_were_hardly_used_and_not_lately_are_overdue() -> None:
    policy = replace(POLICY, ttl=(("episodic", 30),))
    old = memory(days=40, kind=Kind.EPISODIC)
    assert is_overdue(MemoryAge(old), NOW, policy)
    assert is_overdue(MemoryAge(old, days_before(NOW, 30), uses=2), NOW, policy)
    assert not is_overdue(MemoryAge(old, days_before(NOW, 29), uses=2), NOW, policy)
    assert not is_overdue(MemoryAge(old, days_before(NOW, 35), uses=3), NOW, policy)
    assert not is_overdue(MemoryAge(memory(days=400)), NOW, policy)
    assert not is_overdue(MemoryAge(old), NOW, POLICY)


def test_a_moment_before_all_time_is_the_beginning_of_it() -> None:
    assert days_before(NOW, 1e9) == ""
    assert days_before(NOW, 1) == "2026-02-28T00:00:00.000000Z"


# --- shorter ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("O-74")
def test_a_long_text_keeps_its_first_three_sentences() -> None:
    assert shorten_text("One. Two! Three? Four. Five.") == "One. Two. Three."
    assert shorten_text("One. Two! Three?") is None
    assert shorten_text("No end at all") is None
    assert shorten_text("") is None
    assert (
        shorten_text("It is 3.5 km to example.org. Second. Third. Fourth.")
        == "It is 3.5 km to example.org. Second. Third."
    )
    assert shorten_text("一。二。三。四。") is None  # three of four such sentences are no shorter
    assert shorten_text("第一句话。第二句话。第三句话。第四句话很长很长。") == "第一句话. 第二句话. 第三句话."


@pytest.mark.req("O-74")
def test_what_still_fits_into_the_budget_stays() -> None:
    assert over_budget([5, 4, 3, 2], 9) == [2, 3]
    assert over_budget([5, 4, 3, 1], 6) == [1, 2]
    assert over_budget([5, 4], 0) == [0, 1]
    assert over_budget([], 10) == []
