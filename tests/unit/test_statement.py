from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstone.core.changes.statement import (
    SELF,
    _understood,
    content_tokens,
    dates_of,
    may_change,
    names_of,
    numbers_of,
    polarity_of,
    subject_of,
    understand,
)
from memstone.core.rules.owners import OTHERS, by_owner


@pytest.mark.req("R-3")
@pytest.mark.parametrize(
    ("clause", "polarity"),
    [
        ("i like python", 1),
        ("i do not like python", -1),
        ("user stopped smoking", -1),
        ("user never stopped smoking", 1),
        ("user is no longer afraid of dogs", 1),
        ("i can not wait for summer", 1),
        ("golf bores nobody, but it is a waste of time", -1),
        ("i used to hate golf", 1),
        ("our puppy is not rocky any more", -1),
        ("i have outgrown the peanut allergy", 1),
        ("user has high blood pressure", 1),
        ("the app was too slow", -1),
    ],
)
def test_a_clause_has_a_stance(clause: str, polarity: int) -> None:
    assert polarity_of(clause) == polarity


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("User chose tea instead of coffee", [({"tea"}, 1), ({"coffee"}, -1)]),
        ("Gave up bread in favour of rice", [({"rice"}, 1), ({"bread"}, -1)]),
        ("Switched from Slack to Teams", [({"team"}, 1), ({"slack"}, -1)]),
        ("We replaced Slack with Teams", [({"team"}, 1), ({"slack"}, -1)]),
        ("My iPad got replaced by a Kobo", [({"kobo"}, 1), ({"ipad"}, -1)]),
        ("Orange has replaced purple", [({"orang"}, 1), ({"purpl"}, -1)]),
        ("Instead of Portugal it will be Croatia", [({"croatia"}, 1), ({"portug"}, -1)]),
        ("I like tea but hate coffee", [({"tea"}, 1), ({"coffee"}, -1)]),
    ],
)
def test_what_is_set_against_each_other_has_a_stance_each(text: str, segments: list[tuple[set[str], int]]) -> None:
    found = understand(text).segments
    for tokens, stance in segments:
        assert [part.polarity for part in found if tokens <= part.tokens] == [stance]


def test_a_sentence_about_it_belongs_to_the_one_before() -> None:
    (segment,) = understand("I had a subscription to Wired. I cancelled it.").segments
    assert "wire" in segment.tokens
    assert segment.polarity == -1
    assert segment.ends


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("i moved to rome", SELF),
        ("my brother moved to rome", "brother"),
        ("user's sister is 27", "sister"),
        ("grandma died on sunday", "grandmother"),
        ("dad bought a kia", "father"),
        ("turns out my girlfriend is allergic", "partner"),
        ("my neighbour's old dog died", "neighbour's"),
        ("my brother's name is mick", "brother"),
        ("my husband and i moved", SELF),
        ("user's manager is called anita", SELF),
        ("my team ships on fridays", SELF),
        ("my dog is ill", SELF),
    ],
)
def test_a_sentence_is_about_somebody(sentence: str, subject: str) -> None:
    assert subject_of(sentence) == subject


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("my son changed schools, he is at lindenhof", ["son"]),
        ("two people on my team got laid off, luckily i am safe", [OTHERS, SELF]),
        ("i live with my cat and my wife", [SELF]),
        ("i moved to rome and my sister lives in paris", [SELF, "sister"]),
        ("a customer of ours uses oracle", [OTHERS]),
    ],
)
def test_a_sentence_is_divided_by_whom_it_is_about(sentence: str, parts: list[str]) -> None:
    assert [owner for owner, _ in by_owner(sentence)] == parts


def test_he_is_whom_the_sentence_before_was_about() -> None:
    assert by_owner("he lives in rome", "brother") == [("brother", "he lives in rome")]
    assert by_owner("he lives in rome") == [(SELF, "he lives in rome")]


def test_what_is_said_of_several_people_is_one_statement_for_each() -> None:
    both = understand("I moved to Rome and my sister lives in Paris")
    assert (both.subject, both.slots["lives_in"]) == (SELF, "rome")
    assert [(other.subject, other.slots["lives_in"]) for other in both.others] == [("sister", "paris")]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("rent is 1,400 dollars", {"money": "1400"}),
        ("i earn 65k", {"money": "65k"}),
        ("a 5k run", {}),
        ("two cats and 3 dogs", {"cat": "2", "dog": "3"}),
        ("a third baby", {"child": "3"}),
        ("i get 20 percent", {"percent": "20"}),
        ("up at 5 am", {"clock": "5am"}),
        ("twenty-eight books", {"book": "28"}),
        ("one cat or two cats", {}),
        ("nothing to count", {}),
    ],
)
def test_numbers_are_known_by_what_they_count(text: str, numbers: dict[str, str]) -> None:
    found = numbers_of(text)
    assert {unit: found.get(unit) for unit in numbers} == numbers
    assert found.keys() <= numbers.keys() | {"bare"}


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on may 12", {"may 12"}),
        ("the 12th of may", {"may 12"}),
        ("standup is on mondays", {"monday"}),
        ("the wedding is in june", {"jun"}),
        ("born in 1991", {"1991"}),
        ("on 2024-05-12", {"2024-05-12"}),
        ("maybe some day", set()),
    ],
)
def test_days_and_months_are_found(text: str, dates: set[str]) -> None:
    assert dates_of(text) == dates


def test_a_day_that_is_denied_is_not_the_day() -> None:
    assert understand("Standup is on Wednesdays now, Mondays were a mess").dates == {"wednesday"}


def test_the_day_noted_beside_a_word_is_no_part_of_what_is_said() -> None:
    plain, noted = "User starts a course next month", "User starts a course next month (June 2027)"
    assert understand(noted).segments == understand(plain).segments
    assert understand(noted).numbers == {}


@pytest.mark.parametrize(
    ("flag", "said", "not_said"),
    [
        ("temporary", "I have a rental Opel until Friday", "I have an Opel"),
        ("temporary", "The kids are at my mother's for the holidays", "The kids live at my mother's"),
        ("additional", "We also have Prime now", "We have Prime now"),
        ("confirms", "I live in Rome, as you know", "I live in Rome"),
        ("confirms", "Peru is still happening", "Peru is happening"),
        ("planned", "User plans to visit Rome", "User visited Rome"),
        ("wished", "I applied for a job at IKEA", "I got a job at IKEA"),
        ("turned", "Firefox is my browser now", "Firefox is my browser"),
        ("once", "spent 80 on shoes today", "I spend 80 on shoes"),
        ("feeling", "User loves dogs", "User has dogs"),
    ],
)
def test_a_statement_says_how_it_is_meant(flag: str, said: str, not_said: str) -> None:
    assert getattr(understand(said), flag) is True
    assert getattr(understand(not_said), flag) is False


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("User wants short answers", "length", "short"),
        ("go into detail please", "length", "long"),
        ("User has the premium plan on Hulu", "plan", "premium"),
        ("User's rabbit is male", "sex", "male"),
        ("User works night shifts", "shift", "nightshift"),
        ("therapy is every other week", "frequency", "fortnightly"),
    ],
)
def test_values_of_which_there_is_one_are_classed(text: str, kind: str, value: str) -> None:
    assert understand(text).values[kind] == value


def test_a_family_is_no_plan() -> None:
    assert "plan" not in understand("User visits family in Rome").values


def test_names_are_not_the_first_word_of_a_sentence() -> None:
    assert names_of("Sold the Corolla. Bought an iPhone") == {"corolla", "iphon"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the movie", "films"),
        ("bought a house", "buy a house"),
        ("mathematics", "maths"),
        ("my daily run", "I ran daily"),
    ],
)
def test_words_of_the_same_meaning_are_one_token(one: str, other: str) -> None:
    assert content_tokens(one.lower()) == content_tokens(other.lower())


def test_what_is_ended_stays_a_word_of_its_own() -> None:
    assert {"duolingo", "italian"} <= content_tokens("swapped duolingo italian out")


@pytest.mark.parametrize(
    ("sentence", "may"),
    [
        ("i quit smoking", True),
        ("i have 3 cats", True),
        ("as i said, tea", True),
        ("the divorce papers are signed", True),
        ("the sky is blue", False),
    ],
)
def test_a_sentence_may_change_something(sentence: str, *, may: bool) -> None:
    assert may_change(sentence) is may


def test_a_tag_makes_no_question_and_a_question_lends_its_words() -> None:
    assert "golf" in understand("used to hate golf, right?").tokens
    asked = understand("Have you tried any Korean restaurants? I tried four different ones.")
    assert "korean" in asked.tokens
    assert asked.numbers == {"of them": "4"}


@given(st.text(max_size=200))
@example("")
@example("?")
@example("my brother's")
@example("... , - ; :")
@example("instead of it")
def test_any_text_is_understood_and_always_alike(text: str) -> None:
    first = understand(text)
    _understood.cache_clear()
    assert understand(text) == first
    assert first.text == text
