"""The fitted weights, and what they look at."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.ranking.abstain import ASKED_FOR, word_weights
from memstone.engine.recall import judge
from memstone.language.en.relevance import CUES, FORMS, is_judged, memory_forms, question_cues
from memstone.language.text.bm25 import UNHEARD
from tests.english import ENGLISH

HEARD = {UNHEARD: 6.0, "wren": 3.0, "fiddl": 4.0}


def words(*directions: int) -> bytes:
    """Word vectors, each along one direction."""
    table = np.zeros((len(directions), judge.WIDTH), np.int8)
    table[range(len(directions)), directions] = 127
    return table.tobytes()


def asked(text: str, *directions: int) -> judge.JudgedQuestion:
    vector = np.zeros(len(judge.load_weights().meaning), "<f4").tobytes()
    return judge.JudgedQuestion(text, vector, text.split(), words(*directions), HEARD, ENGLISH.relevance)


@given(st.floats(0.0001, 0.9999), st.booleans())
def test_the_share_that_exceeds_what_a_rate_needs_is_that_rate(rate: float, read: bool) -> None:  # noqa: FBT001
    levels = judge.load_weights().levels_read if read else None
    assert judge.judge_chance(judge.value_for_rate(rate, levels), levels) == pytest.approx(rate, rel=0.01, abs=1e-4)


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e3))
def test_a_higher_value_is_less_likely_to_be_chance(value: float, more: float) -> None:
    assert 0 <= judge.judge_chance(value + more) <= judge.judge_chance(value) <= 1


# --- what is read -----------------------------------------------------------------------------------------------------


def test_the_best_hit_is_read_where_it_is_open() -> None:
    low, high = judge.load_weights().doubt
    middle = (low + high) / 2
    assert judge.to_read(np.array([low - 9, middle - 0.2, low, middle]), {}) == 3
    assert judge.to_read(np.array([middle]), {}) == 0
    assert judge.to_read(np.array([low - 0.1, low - 1]), {}) is None
    assert judge.to_read(np.array([high + 0.1, middle]), {}) is None


def test_others_are_read_until_one_is_enough() -> None:
    found = np.array([-1.2, -1.0, -1.6, -1.4])
    assert judge.to_read(found, {1: 9.0}) is None
    assert judge.to_read(found, {1: -9.0}) == 0
    assert judge.to_read(found, {1: -9.0, 0: -9.0}) == 3
    assert judge.to_read(found, {1: -9.0, 0: -9.0, 3: -9.0}) is None
    assert judge.to_read(found[:1], {0: -9.0}) is None


def test_what_was_read_counts_and_what_was_not_is_guessed() -> None:
    by = judge.load_weights()
    start, slope = by.guess
    found = np.array([1.0, -1.0, -2.0])
    values = judge.with_read(found, {1: 7.0})
    assert values.tolist() == pytest.approx(
        [
            value + by.share * answer
            for value, answer in zip(found, (start + slope, 7.0, start - 2 * slope), strict=True)
        ],
        abs=1e-5,
    )
    assert found.tolist() == [1.0, -1.0, -2.0]
    assert slope > 0 < by.share


def test_the_weights_fit_what_is_looked_at() -> None:
    table = judge.build_features(
        asked("fiddle where", 3, 4), [judge.JudgedMemory("The fiddle is in Cork", 0.5, words(3, 7))]
    )
    by = judge.load_weights()
    assert table.shape == (1, len(by.middle)) == (1, 9 + FORMS + ASKED_FOR * FORMS + CUES)
    assert len(by.linear) == len(by.inner) == len(by.spread)
    assert by.inner.shape[1] == len(by.outer) == len(by.inner_bias)
    assert list(by.levels) == sorted(by.levels)
    assert list(by.levels_read) == sorted(by.levels_read)
    assert len(by.levels) == len(by.levels_read) == len(by.shares)
    assert list(by.shares) == sorted(by.shares, reverse=True)


def test_nearer_is_more_relevant_and_a_larger_store_asks_for_more() -> None:
    question = asked("my fiddle insurance", 0, 3, 4)
    near, far = (
        judge.JudgedMemory("My fiddle is insured", 0.7, words(0, 3, 4)),
        judge.JudgedMemory("Tea at noon", 0.1, words(90, 91)),
    )
    values = judge.score_memories(question, [near, far], 300)
    assert values[0] > values[1]
    assert judge.score_memories(question, [near], 3_000)[0] < values[0]


def test_each_memory_is_judged_by_itself() -> None:
    question = asked("my fiddle insurance", 0, 3, 4)
    memories = [
        judge.JudgedMemory("My fiddle is insured", 0.7, words(0, 3, 4)),
        judge.JudgedMemory("Tea at noon", 0.1, words(90)),
    ]
    together = judge.score_memories(question, memories, 300)
    alone = [float(judge.score_memories(question, [one], 300)[0]) for one in memories]
    assert together.tolist() == pytest.approx(alone, abs=1e-4)


def test_the_size_of_a_store_counts_within_what_was_learned() -> None:
    assert judge.size_of(300) == 0
    assert judge.size_of(0) == judge.size_of(1) == judge.size_of(50) < judge.size_of(100)
    assert judge.size_of(10_000) == judge.size_of(10_000_000) == 3.5 > judge.size_of(5_000)


def test_a_name_that_was_heard_and_one_that_was_not() -> None:
    assert question_cues("When did Wren start school?", HEARD)[-2:] == [1.0, 0.0]
    assert question_cues("When did Rosalind start school?", HEARD)[-2:] == [0.0, 1.0]
    assert question_cues("When did she start school?", HEARD)[-2:] == [0.0, 0.0]
    assert len(question_cues("", {})) == CUES


@pytest.mark.parametrize(
    ("question", "kind"),
    [("When is the fair?", 0), ("How much is my rent?", 1), ("Who's my vet?", 2), ("Where do I park?", 3)],
)
def test_what_is_asked_for(question: str, kind: int) -> None:
    assert question_cues(question, HEARD)[:ASKED_FOR][kind] == 1.0


def test_what_a_memory_has() -> None:
    assert memory_forms("I drink tea") == [0.0, 0.0, 0.0]
    assert memory_forms("My rent of 900 is due on Friday, says Dimitri") == [1.0, 1.0, 1.0]


def test_little_words_count_only_where_there_are_no_others() -> None:
    weights = word_weights(["where", "is", "wren", "?"], HEARD)
    assert weights == [0.0, 0.0, 0.5, 0.0]
    assert word_weights(["who", "am", "i"], HEARD) == [0.1] * 3
    assert not any(
        math.isnan(value)
        for value in judge.build_features(asked("who am i", 1, 2, 3), [judge.JudgedMemory("", 0.0, words(1))])[0]
    )


def test_only_english_is_judged() -> None:
    assert is_judged("Where did I leave my umbrella?")
    assert not is_judged("Wo habe ich meinen Regenschirm gelassen?")
