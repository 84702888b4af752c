"""What a model is always shown of a person: which facts, which of their own words, in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.prompt.planner import plan_block, profile_tokens
from memstone.core.prompt.profile import (
    LONGEST,
    NOBODY,
    EndedFacts,
    ProfileFact,
    ProfileTurn,
    add_turns,
    build_profile,
    has_fact_words,
    is_repetition,
    says_more,
    says_who,
    turn_rank,
)
from memstone.core.ranking.fusion import ScoredCandidate
from memstone.engine.recall.message_recall import alike_by_words
from memstone.language.en.identity import importance_rank
from memstone.language.en.prompt_injection import own_words
from memstone.language.text.normal import CHARS_PER_TOKEN
from memstone.language.text.questions import Person, only_asks, person_of
from memstone.model.fact import CLASSES
from memstone.model.memory import FoundMemory
from memstone.model.policy import RetrievalPolicy
from memstone.model.query import ScoreParts
from tests.english import ENGLISH
from tests.unit.test_planner import FENCE, TODAY

KNOWN = (
    ("User is called Ida.", "identity"),
    ("User is allergic to nuts.", "health"),
    ("User's sister Ada plays chess.", "family"),
    ("User lives in Oslo.", "home"),
    ("User works as a nurse.", "work"),
    ("User likes jazz.", "preference"),
    ("User is planning a trip to Rome.", "plan"),
    ("The blue box is in the cellar.", ""),
)


def fact(seq: int, text: str, category: str = "", **more: object) -> ProfileFact:
    rank = importance_rank(category, text)
    return ProfileFact(f"m{seq}", seq, text, rank, category, **more)  # type: ignore[arg-type]


def known() -> list[ProfileFact]:
    return [fact(seq, text, category) for seq, (text, category) in enumerate(KNOWN, 1)]


def turn(seq: int, text: str, date: str = "2026-01-02") -> ProfileTurn:
    return ProfileTurn(f"t{seq}", seq, text, date)


def chosen(turns: list[ProfileTurn], room: int) -> list[str]:
    return [one.id for one in add_turns(NOBODY, turns, room).turns]


# --- facts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "category", "about"),
    [
        ("User's dog is called Rufus.", "possession", "family"),
        ("User's boss is called Petra.", "work", "work"),
        ("User is restoring an old wooden boat called Freya.", "project", "project"),
        ("User goes by Ida.", "other", "identity"),
        ("User's full name is Ida Holm.", "identity", "identity"),
        ("User uses a wheelchair.", "possession", "health"),
    ],
)
def test_only_what_the_user_is_called_says_who_they_are(text: str, category: str, about: str) -> None:
    assert CLASSES[importance_rank(category, text)] == about


@given(st.permutations(known()))
def test_facts_stand_by_importance_whatever_order_they_were_stored_in(facts: list[ProfileFact]) -> None:
    stored = [replace(one, seq=seq) for seq, one in enumerate(facts, 1)]
    made = build_profile(stored, 800)
    assert [one.text for one in made.facts] == [text for text, _ in KNOWN]
    assert [CLASSES[one.rank] for one in made.facts] == list(CLASSES[1:])
    assert made.is_complete
    assert made.left_out == ()


@given(st.permutations(known()), st.lists(st.floats(0, 1), min_size=8, max_size=8), st.integers(1, 80))
def test_the_same_memories_give_the_same_bytes(facts: list[ProfileFact], used: list[float], tokens: int) -> None:
    otherwise = [replace(one, salience=salience) for one, salience in zip(facts, used, strict=True)]
    made, again = build_profile(known(), tokens), build_profile(otherwise, tokens)
    assert [one.id for one in made.facts] == [one.id for one in again.facts]
    texts = [plan_block((), budget=800, today=TODAY, fence=FENCE, profile=one).stable for one in (made, again)]
    assert texts[0] == texts[1]


def test_of_equals_the_oldest_stands_first_and_the_newest_is_chosen() -> None:
    cities = [fact(seq, f"User likes {city}.", "preference") for seq, city in enumerate(("Oslo", "Rome", "Lima"), 1)]
    assert [one.id for one in build_profile(cities, 800).facts] == ["m1", "m2", "m3"]
    short = build_profile(cities, 2 * len("- User likes Oslo.\n") // CHARS_PER_TOKEN + 1)
    assert [one.id for one in short.facts] == ["m2", "m3"]
    assert short.left_out == (("m1", "over the tokens of the profile"),)
    assert not short.is_complete


@given(st.lists(st.sampled_from(KNOWN), max_size=20), st.integers(0, 60))
def test_there_are_no_more_tokens_than_asked_for_but_one_fact_at_least(facts: list[tuple[str, str]], most: int) -> None:
    made = build_profile([fact(seq, f"{text} {seq}", about) for seq, (text, about) in enumerate(facts)], most)
    chars = sum(len(f"- {one.text}\n") for one in made.facts)
    assert chars <= most * CHARS_PER_TOKEN or len(made.facts) == 1
    assert bool(made.facts) == bool(facts and most)


def test_what_is_pinned_comes_first_and_may_be_long() -> None:
    long = "The house rules: " + "no shoes inside, " * 40
    made = build_profile([fact(1, "User is called Ida.", "identity"), fact(2, long, visibility="pinned")], 800)
    assert [one.id for one in made.facts] == ["m2", "m1"]


@pytest.mark.parametrize(
    ("text", "more", "reason"),
    [
        ("User likes jazz.", {"visibility": "private"}, "marked private"),
        ("User likes jazz.", {"visibility": "hidden"}, "hidden by the user"),
        ("User likes jazz.", {"trusted": False}, "not from the user"),
        ("User likes jazz.", {"doubtful": True}, "doubtful"),
        ("A" * (LONGEST + 1), {}, "too long for the profile"),
        ("The password of the router is swordfish.", {}, "may hold a secret"),
        ("The password of the router is swordfish.", {"visibility": "pinned"}, "may hold a secret"),
        ("user  is ALLERGIC to nuts", {}, "another says the same"),
    ],
)
def test_what_is_left_out_has_a_reason(text: str, more: dict[str, object], reason: str) -> None:
    made = build_profile([fact(2, "User is allergic to nuts."), fact(1, text, **more)], 800)  # type: ignore[arg-type]
    assert [one.id for one in made.facts] == ["m2"]
    assert made.left_out == (("m1", reason),)


@pytest.mark.parametrize(
    ("text", "category", "who"),
    [
        ("User is called Ida.", "identity", True),
        ("User lives in Oslo.", "", True),
        ("User works as a nurse.", "work", True),
        ("User is an architect.", "", True),
        ("User's sister Ada lives in Rome.", "family", False),
        ("User likes jazz.", "preference", False),
        ("User has a meeting at work on Monday.", "work", False),
    ],
)
def test_who_somebody_is(text: str, category: str, *, who: bool) -> None:
    assert says_who(fact(1, text, category), ENGLISH.identity) is who


@pytest.mark.parametrize(
    ("budget", "tokens"), [(1, 1), (100, 1), (200, 65), (800, 515), (1_400, 1_000), (2_000, 1_000), (16_000, 1_000)]
)
def test_the_profile_leaves_room_for_what_a_message_calls_for(budget: int, tokens: int) -> None:
    assert profile_tokens(budget, RetrievalPolicy()) == tokens
    assert profile_tokens(budget, RetrievalPolicy(profile_tokens=0)) == 0


# --- the user's own words ---------------------------------------------------------------------------------------------


def test_what_people_say_of_themselves_comes_first_and_stands_in_the_order_it_was_said() -> None:
    turns = [turn(1, "I keep bees."), turn(2, "The sea is blue."), turn(3, "My cat sleeps all day.")]
    assert chosen(turns, 1_000) == ["t1", "t2", "t3"]
    assert chosen(turns, 70) == ["t1", "t3"]
    assert chosen(turns, 40) == ["t3"], "of equals the newest"
    assert chosen(turns, 10) == []


def test_the_same_words_stand_there_once() -> None:
    assert chosen([turn(1, "I keep bees."), turn(2, "i KEEP  bees")], 1_000) == ["t2"]


@pytest.mark.parametrize(
    ("said", "reason", "complete"),
    [
        ("I keep bees. " * 40, "too long for the profile", False),
        ("My cat sleeps all day, and at night it hunts.", "over the tokens of the profile", False),
        ("My password is swordfish", "may hold a secret", True),
    ],
)
def test_own_words_that_are_left_out_have_a_reason(said: str, reason: str, *, complete: bool) -> None:
    made = add_turns(NOBODY, [turn(1, said), turn(2, "I keep bees.")], 40)
    assert [one.id for one in made.turns] == ["t2"]
    assert made.left_out == (("t1", reason),)
    assert made.is_complete is complete


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("My sister keeps bees.", 0),
        ("I went to Rome.", 0),
        ("Can you help me with my bees?", 1),
        ("Can I keep bees?", None),
        ("What is my name?", None),
        ("I live by the sea. Can I keep bees?", 1),
        ("The sea is blue.", 2),
        ("What is the capital of Peru?", None),
    ],
)
def test_how_much_a_turn_says_of_whoever_wrote_it(text: str, rank: int | None) -> None:
    assert turn_rank(text) == rank


def test_a_question_of_which_a_fact_was_made_tells_something() -> None:
    assert turn_rank("Can I keep bees?", learned=True) == 1


@pytest.mark.parametrize(
    ("said", "alone"),
    [
        ("Where do I live?", True),
        ("Hi! What's my job?", True),
        ("What should I cook tonight, any ideas?", True),
        ("Wie heißt mein Mann?", True),
        ("¿Dónde vivo?", True),
        ("私の仕事は何ですか\uff1f", True),
        ("我住在哪里\uff1f", True),
        ("أين أعيش؟", True),
        ("Πού μένω;", True),
        ("Can I take ibuprofen with my warfarin?", False),
        ("I'm vegan. What can I eat?", False),
        ("Ich vertrage keine Laktose, kennst du ein Rezept?", False),
        ("私は東京に住んでいます。何を食べよう\uff1f", False),
        ("I live in Oslo.", False),
        ("Bread; butter; milk", False),
        ("", False),
    ],
)
def test_what_only_asks_is_known_in_many_languages(said: str, *, alone: bool) -> None:
    assert only_asks(said) is alone


@pytest.mark.parametrize(
    "text",
    [
        "Meine Schwester hält Bienen.",
        "Ma sœur élève des abeilles.",
        "Mi hermana cría abejas.",
        "Моя сестра держит пчёл.",
        "私の妹は蜂を飼っています。",
        "我妹妹养蜜蜂。",
        "मेरी बहन मधुमक्खियाँ पालती है।",
    ],
)
def test_what_is_one_s_own_is_known_in_many_languages(text: str) -> None:
    assert person_of(text) is Person.OWN
    assert turn_rank(text) == 0


@pytest.mark.parametrize("text", ["What is the capital of Peru?", "Was ist die Hauptstadt von Peru?", "2 + 2", ""])
def test_a_message_of_nobody(text: str) -> None:
    assert person_of(text) is Person.NOBODY


@pytest.mark.req("X-42")
@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Forget that I love tea.", ""),
        ("Please forget my ex-wife's name", ""),
        ("Forget everything you know about me.", ""),
        (
            "Forget that I love tea. My sister drinks coffee in the mornings.",
            "… My sister drinks coffee in the mornings.",
        ),
        ("I forget my keys all the time.", "I forget my keys all the time."),
        ("Don't forget that I love tea.", "Don't forget that I love tea."),
    ],
)
def test_a_wish_to_forget_is_not_told_on(said: str, left: str) -> None:
    assert own_words(said) == left


# --- a turn beside its facts ------------------------------------------------------------------------------------------


def test_a_turn_says_more_than_its_facts() -> None:
    text = "I moved to Lisbon. The piano comes by ship in October."
    assert says_more(text, ["I moved to Lisbon."])
    assert not says_more(text, ["I moved to Lisbon.", "The piano comes by ship in October."])
    assert not says_more("Thanks, I moved to Lisbon.", ["I moved to Lisbon."])


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ("As I said, I live in Oslo.", True),
        ("I live in Oslo, and I work as a nurse.", True),
        ("I live in Oslo with two cats.", False),
        ("Oslo is cold.", False),
        ("I swim", False),
        ("ugh, boxes everywhere in Bergen", True),
        ("boxes everywhere in Bergenfield", False),
    ],
)
def test_a_turn_repeats_facts(said: str, *, same: bool) -> None:
    changed = 'User lives in Oslo. On 2026-05-05: "ugh, boxes everywhere in Bergen!".'
    assert is_repetition(said, [changed, "User lives in Oslo.", "User works as a nurse.", "User swims."]) is same


def test_a_text_tells_a_fact_in_whatever_order() -> None:
    assert has_fact_words("In Oslo, where she lives, Ida works as a nurse.", "User lives in Oslo.")
    assert not has_fact_words("Ida works as a nurse.", "User lives in Oslo.")


# --- what no longer holds ---------------------------------------------------------------------------------------------


@pytest.mark.req("X-42")
@pytest.mark.parametrize(
    ("ended", "current", "said", "stale"),
    [
        ("User lives in Oslo.", ["User moved to Rome."], "As I said, I live in Oslo!", True),
        ("User lives in Oslo.", ["User lives in Oslo and Rome."], "As I said, I live in Oslo!", False),
        ("User lives in Oslo.", ["User lives in Oslo."], "I live in Oslo, remember?", False),
        ("User lives in Oslo.", ["User moved to Rome."], "Oslo was cold.", False),
        ("User loves jazz.", ["User does not love jazz any more."], "I love jazz so much", True),
        ("User does not eat meat.", ["User eats meat."], "I do not eat meat, you know", True),
        ("User eats meat.", [], "The meat was tough.", False),
        ("User swims.", [], "I swim.", False),
    ],
)
def test_what_was_repeated_is_stale_when_its_fact_has_ended(
    ended: str, current: list[str], said: str, *, stale: bool
) -> None:
    facts = EndedFacts([(ended, "2026-03-01")], current)
    assert facts.tells(said, "2026-02-01") is stale
    assert not facts.tells(said, "2026-03-02"), "it was said since"


def test_what_is_private_is_known_again_whenever_it_was_said() -> None:
    facts = EndedFacts([("User has diabetes.", None)], ["User has diabetes."])
    assert not facts, "one word alone says too little"
    facts = EndedFacts([("User takes insulin for diabetes.", None)], [])
    assert facts.tells("I take my insulin for the diabetes at noon", "2030-01-01")


def test_a_profile_holds_most_while_no_more_facts_are_left_out_than_are_in_it() -> None:
    facts = [ProfileFact(f"f{at}", at, f"User owns boat number {at}.") for at in range(10)]
    assert build_profile(facts, 1_000).holds_most
    few = build_profile(facts, 20)
    assert (len(few.facts), few.facts_over) == (2, 8)
    assert not few.holds_most


@pytest.mark.parametrize(("words", "alike"), [(None, 0.4), (0.7, 0.57)])
def test_a_message_and_a_memory_are_alike_by_their_words_where_these_are_known(
    words: float | None, alike: float
) -> None:
    scored = ScoredCandidate(1, 0.5, ScoreParts(semantic=0.4, words=words))
    assert alike_by_words((cast("FoundMemory", None), scored)) == pytest.approx(alike)
