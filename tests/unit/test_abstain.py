from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.ranking.abstain import (
    BY_MEANING,
    Null,
    familiarity_words,
    is_relevant,
    null_of,
    required_value,
    rows_told,
    score_familiarity,
    slope_of,
    unrelated_share,
    worth_showing,
)
from memstone.errors import InvalidInput
from memstone.language.en.relevance import ABOUT_ME, ABOUT_THE_WORLD, PROBES
from memstone.language.text.bm25 import UNHEARD
from tests.english import ENGLISH

GATE = Path(__file__).parents[1] / "data" / "gate"
STANDARD = Null(rows=100, middle=0.0, spread=1.0)
rates = st.floats(0.001, 0.999)


def drawn(count: int, middle: float = 4.0, spread: float = 1.0) -> list[float]:
    """What many unrelated questions might reach."""
    return [NormalDist(middle, spread).inv_cdf((at + 0.5) / count) for at in range(count)]


@pytest.mark.req("X-6")
def test_the_stated_share_of_unrelated_questions_passes() -> None:
    null = null_of(drawn(137), rows=500)
    fresh = drawn(2_000)
    for rate in (0.01, 0.05, 0.2):
        passing = sum(is_relevant(value, null, rate) for value in fresh) / len(fresh)
        assert passing == pytest.approx(rate, abs=0.01)


def test_a_few_questions_that_memory_does_answer_change_little() -> None:
    clean = required_value(null_of(drawn(137), rows=500))
    answered = required_value(null_of([*drawn(127), *(12.0 + at for at in range(10))], rows=500))
    assert abs(answered - clean) < 0.35
    assert max(drawn(137)) < 12


def test_a_distribution_without_spread_still_separates() -> None:
    null = null_of([2.0] * 10, rows=3)
    assert is_relevant(2.1, null)
    assert not is_relevant(2.0, null)


@pytest.mark.parametrize("best", [[], [1.0], [1.0, 2.0, 3.0]])
def test_too_few_questions_make_no_distribution(best: list[float]) -> None:
    with pytest.raises(InvalidInput, match="at least 4"):
        null_of(best, rows=1)


def test_in_a_larger_store_more_is_needed() -> None:
    null = Null(rows=1_000, middle=4.0, spread=1.0, slope=0.5)
    assert required_value(null, rows=10_000) == pytest.approx(required_value(null) + 0.5 * math.log(10))
    assert required_value(null, rows=1_000) == required_value(null)
    assert null.middle_at(0) < null.middle_at(1_000)


def test_what_size_does_is_read_from_a_smaller_part() -> None:
    assert slope_of([5.0, 6.0, 7.0], [4.0, 5.0, 6.0], times=4) == pytest.approx(1 / math.log(4))
    assert slope_of([5.0, 6.0], [4.0, 5.0], times=1) == 0.0


def test_a_slope_is_never_negative() -> None:
    assert null_of(drawn(20), rows=5, slope=-1.0).slope == 0.0


@given(rates, st.floats(-5, 5), st.floats(0.1, 3), st.integers(1, 100_000))
def test_chance_and_need_say_the_same(rate: float, middle: float, spread: float, rows: int) -> None:
    null = Null(rows=100, middle=middle, spread=spread, slope=0.3)
    assert unrelated_share(required_value(null, rate, rows), null, rows) == pytest.approx(rate, abs=1e-6)


@given(st.lists(st.floats(-10, 10), max_size=20), st.floats(0.001, 0.74))
def test_what_is_shown_holds_the_best_or_is_nothing(values: list[float], rate: float) -> None:
    visible = worth_showing(values, STANDARD, rate)
    assert len(visible) == len(values)
    remaining = [value for value, is_shown in zip(values, visible, strict=True) if is_shown]
    left_out = [value for value, is_shown in zip(values, visible, strict=True) if not is_shown]
    assert bool(remaining) == any(is_relevant(value, STANDARD, rate) for value in values)
    assert not remaining or (max(remaining) == max(values) and all(value < min(remaining) for value in left_out))


def test_beside_a_relevant_memory_the_farthest_are_left_out() -> None:
    assert worth_showing([3.0, 1.0, 0.0, -0.6, -0.8], STANDARD) == [True, True, True, True, False]
    assert worth_showing([1.6, 1.0, 0.0], STANDARD) == [False, False, False]


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5, True, "0.05", math.nan])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        required_value(STANDARD, rate)


def rarities(rows: int, **holding: int) -> dict[str, float]:
    """How much words tell in a store where each is held by so many."""
    found = {
        word: math.log(1 + (rows - stored_count + 0.5) / (stored_count + 0.5)) for word, stored_count in holding.items()
    }
    return {**found, UNHEARD: math.log(1 + (rows + 0.5) / 0.5)}


@given(st.integers(0, 1_000_000))
def test_the_rarity_of_an_unheard_word_tells_how_many_rows_there_are(rows: int) -> None:
    assert rows_told(rarities(rows)) == rows


def test_words_that_are_known_speak_for_a_question() -> None:
    rarity = rarities(500, tent=3, lake=5)
    known, half, none = (
        score_familiarity(question, rarity, BY_MEANING, ENGLISH.names)
        for question in ("Where is the tent by the lake?", "Where is the tent of the walrus?", "What do walruses eat?")
    )
    assert known == pytest.approx(BY_MEANING.known)
    assert known > half > none == 0.0


def test_a_question_about_strangers_only_is_held_against_it() -> None:
    rarity = rarities(500, nadia=4, work=2)
    assert score_familiarity("Where does Nadia work with Ingrid?", rarity, BY_MEANING, ENGLISH.names) > 0
    stranger = score_familiarity("Where does Ingrid work?", rarity, BY_MEANING, ENGLISH.names)
    assert stranger == pytest.approx(
        score_familiarity("Where does Ingrid work?", rarity, BY_MEANING) - BY_MEANING.stranger
    )


@pytest.mark.parametrize(
    "question",
    [
        "Where is the tent?",
        "What did I do in March?",
        "Was I away on Monday?",
        "Wo habe ich mein Fahrrad abgestellt?",
        "BUY MILK",
        "Why?",
    ],
)
def test_days_nouns_of_other_languages_and_shouting_are_no_strangers(question: str) -> None:
    rarity = rarities(500)
    strict = score_familiarity(question, rarity, BY_MEANING, ENGLISH.names)
    assert strict == score_familiarity(question, rarity, BY_MEANING)


def test_a_question_without_words_has_nothing_for_it() -> None:
    assert score_familiarity("?!", rarities(10), BY_MEANING, ENGLISH.names) == 0.0
    assert familiarity_words("?!", ENGLISH.names) == []


def test_the_vocabulary_of_a_question_holds_its_words_and_names_once() -> None:
    assert sorted(familiarity_words("Did the tents of Ingrid reach the tent?", ENGLISH.names)) == sorted(
        {"tent", "ingrid", "reach"}
    )


def test_the_questions_are_many_and_all_different() -> None:
    assert len(PROBES) >= 64
    assert len({probe.casefold() for probe in PROBES}) == len(PROBES)
    assert min(len(ABOUT_ME), len(ABOUT_THE_WORLD)) >= 60


def test_the_questions_are_none_of_those_they_are_judged_by() -> None:
    judged = {
        json.loads(line)["text"].casefold()
        for name in ("questions_unrelated", "questions_answerable", "messages_open", "messages_held")
        for line in (GATE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    }
    assert judged.isdisjoint(probe.casefold() for probe in PROBES)
