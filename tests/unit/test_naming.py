from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.en.entities import rephrase_as_speaker

SPEAKERS = frozenset({"maya", "tom", "mary ann", "mary", "zoë"})


@pytest.mark.parametrize(
    ("query", "named", "text"),
    [
        ("When did Maya go to Bergen?", ("maya",), "When did I go to Bergen?"),
        ("What is Maya's favourite tea?", ("maya",), "What is my favourite tea?"),
        ("What is MAYA\u2019s job?", ("maya",), "What is my job?"),
        ("Did Tom meet Maya?", ("maya", "tom"), "Did I meet I?"),
        ("Where does Mary Ann live?", ("mary", "mary ann"), "Where does I live?"),
        ("What does Zoë play?", ("zoë",), "What does I play?"),
        ("Is tomorrow a holiday?", (), ""),
        ("Was it Mayan pottery?", (), ""),
        ("", (), ""),
    ],
)
def test_a_question_in_the_words_of_those_it_names(query: str, named: tuple[str, ...], text: str) -> None:
    found = rephrase_as_speaker(query, SPEAKERS)
    assert sorted(found.named) == sorted(named)
    assert found.text == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("When will the train leave?", ""),
        ("Will it rain?", ""),
        ("Who pays the bill?", ""),
        ("What did Will say?", "What did I say?"),
        ("Will's soup?", "my soup?"),
        ("Will Bill pay?", "Will I pay?"),
        ("What is a good plan?", ""),
        ("What did A say to Bill?", "What did I say to I?"),
    ],
)
def test_a_name_that_is_a_word_too_counts_where_it_is_written_as_a_name(query: str, text: str) -> None:
    assert rephrase_as_speaker(query, {"will", "bill", "a"}).text == text


@given(st.text(), st.frozensets(st.text(min_size=1)))
def test_any_question_and_any_names(query: str, names: frozenset[str]) -> None:
    found = rephrase_as_speaker(query, names)
    assert bool(found.named) == bool(found.text) or not query.strip()
