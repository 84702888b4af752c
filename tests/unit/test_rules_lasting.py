"""Facts out of a talk among people: what still says something when it is read alone, and who is meant by it."""

from __future__ import annotations

import pytest

from memstone.core.curate import EFFECT, candidates
from memstone.core.rules.definite import newly_told
from memstone.core.rules.lasting import hangs_on_talk, is_thin, without_the_one
from memstone.core.rules.plain import plain
from memstone.core.rules.requests import request_of
from memstone.core.rules.rewrite import third
from memstone.core.rules.shape import opening_behind, without_comment


def told(message: str, speaker: str = "Lena") -> list[str]:
    return [one.text for one in candidates(message, speaker=speaker) if one.category != EFFECT]


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("I used to rehearse in the studio", "which one"),
        ("I met the crowd and sang ballads", "which one"),
        ("I perfected the recipe I made", "which one"),
        ("I ate sushi afterwards", "what was before"),
        ("I was lost in Prague at first", "what was before"),
        ("I have been swimming longer", "more than what"),
        ("I have been painting more portraits", "more than what"),
        ("I kept playing through college", "what was done"),
        ("I finally won", "what was done"),
        ("I have been playing for six months now", "what was done"),
        ("we cooked ramen together", "with whom"),
        ("I found a spot with tall windows", "which place"),
        ("I will be presenting bridges and tunnels", "when"),
        ("I got allergic", "to what"),
        ("we had our first rollout last Tuesday", "first of what"),
        ("I have a photo of my lighthouse", "what is shown"),
        ("I am making my dreams come true", "a saying"),
        ("I am putting a lot of effort into my bakery", "a saying"),
    ],
)
def test_a_clause_that_hangs_on_the_talk_says_on_what(said: str, why: str) -> None:
    assert hangs_on_talk(said) == why


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "said",
    [
        "I teach at the studio on Elm Street",
        "I play the cello in the band of my town",
        "I swim longer than my brother",
        "I have been playing a lot of chess",
        "we sailed together with my cousins",
        "I will be presenting bridges in May",
        "I am allergic to kiwi",
        "we had our first child last May",
        "I bought a photo album for my aunt",
    ],
)
def test_a_clause_that_says_it_all_hangs_on_nothing(said: str) -> None:
    assert hangs_on_talk(said) == ""


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("I made soup", "event"),
        ("we went sailing", "event"),
        ("I read a book that I really enjoyed", "event"),
        ("I won a trophy", "event"),
        ("I gave a speech at work", "event"),
        ("I added some thyme for the taste", "event"),
        ("I had a tough match last week", "event"),
        ("I do not have a recipe", "possession"),
        ("I wore my Viking helmet", "possession"),
        ("we had a close call against another team last week", "family"),
        ("I loved lying in the grass", "preference"),
    ],
)
def test_what_could_be_anybodys_day_is_thin(said: str, category: str) -> None:
    assert is_thin(said, category)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("we went sailing last weekend", "event"),
        ("I made soup for two hundred guests", "event"),
        ('I read "Middlemarch"', "event"),
        ("I joined a choir", "event"),
        ("I graduated last month", "event"),
        ("I tried archery for the first time", "event"),
        ("I watch movies every Friday", "pattern"),
        ("I have written four stories", "event"),
        ("I loved fencing when I was a kid", "preference"),
        ("I love cooking", "preference"),
    ],
)
def test_what_has_a_name_a_time_or_a_telling_word_is_not_thin(said: str, category: str) -> None:
    assert not is_thin(said, category)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("Hey Omar! I won. I had fun, it was great!", []),
        ("Reading and hiking with friends! That is what I need.", []),
        ("The race turned out to be a success!", []),
        ("My favourite one to hum is a tune from a film I enjoy.", []),
        ("Guess what? I bought 'em flowers. I made 'em laugh!", []),
        ("Tonight I made this leek quiche with walnuts!", ["Lena made a leek quiche with walnuts tonight."]),
        ("I am a goalkeeper for the team and it is great!", ["Lena is a goalkeeper."]),
        ("Gardening and chess are my favorite hobbies!", ["Gardening and chess are Lena's favorite hobbies."]),
        ("Clean water matters to me.", ["Clean water matters to Lena."]),
        ("Juggling helps me unwind after surgery shifts.", ["Juggling helps Lena unwind after surgery shifts."]),
        ("I am part of the mountain rescue crew!", ["Lena is part of the mountain rescue crew."]),
        ("Next month I'm having a pottery sale - can't wait!", ["Lena is having a pottery sale next month."]),
        ("All good- we got a parrot named Kiwi!", ["Lena got a parrot named Kiwi."]),
        ("I set up a bike repair stall in my street.", ["Lena set up a bike repair stall in their street."]),
    ],
)
def test_a_talk_leaves_only_what_can_be_read_alone(message: str, facts: list[str]) -> None:
    assert told(message) == facts


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("clause", "fact"),
    [
        ("I tell people about my stamp album", "Lena tells people about Lena's stamp album."),
        ("I sang with my cousins when I was ten", "Lena sang with their cousins when Lena was ten."),
        ("I met a couple who juggle like me", "Lena met a couple who juggle like Lena."),
        ("my aunt taught me chess when I was six", "Lena's aunt taught Lena chess when Lena was six."),
        ("my boss lent me her van", "Lena's boss lent Lena her van."),
        ("my novel is about my island", "Lena's novel is about their island."),
        ("I bought hats for my sister and my uncle", "Lena bought hats for their sister and their uncle."),
        ('I read "Gone Girl" on my porch', 'Lena read "Gone Girl" on their porch.'),
        ("I went on a family trip to my village", "Lena went on a family trip to their village."),
        ("I took a class and want to take another", "Lena took a class and wants to take another."),
    ],
)
def test_the_speaker_is_named_where_they_could_mean_others(clause: str, fact: str) -> None:
    assert third(clause, "Lena", past=True) == fact


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "behind"),
    [
        ("On another note, I adopted a ferret", "I adopted a ferret"),
        ("Since we last spoke I moved to Graz", "I moved to Graz"),
        ("Last spring my town built a velodrome", "Last spring my town built a velodrome"),
        ("Last year my town built a velodrome", "my town built a velodrome last year"),
        ("After selling my boat, I rented a cabin", "I rented a cabin after selling my boat"),
        ("Last year I sailed to Elba and drew this map", "I sailed to Elba last year"),
    ],
)
def test_an_opening_goes_behind_what_stands_by_itself(said: str, behind: str) -> None:
    assert opening_behind(said) == behind


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("I joined a rowing club, and the people are lovely", "I joined a rowing club"),
        ("I sold my loom which was not great", "I sold my loom"),
        ("I have no time to sew, but after we talked I bought thread", "I have no time to sew"),
        ("I run at dawn, personally", "I run at dawn"),
        ("I came third this time around", "I came third"),
    ],
)
def test_a_comment_behind_a_fact_is_cut_off(said: str, short: str) -> None:
    assert without_comment(said) == short


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "as_new"),
    [
        ("I met this odd beekeeper", "I met an odd beekeeper"),
        ("I adopted this goat last week", "I adopted a goat last week"),
        ("I bought this", "I bought this"),
        ("I made this for you", "I made this for you"),
        ("I met this week with Ann", "I met this week with Ann"),
    ],
)
def test_this_may_bring_up_something_new(said: str, as_new: str) -> None:
    assert newly_told(said) == as_new


@pytest.mark.req("R-32")
def test_a_place_nobody_knows_is_left_out() -> None:
    assert without_the_one("I am a drummer in Ghent for the show") == "I am a drummer in Ghent"
    assert without_the_one("I carved a mask to remind myself") == "I carved a mask"


@pytest.mark.req("R-32")
def test_two_things_of_mine_are_no_two_clauses() -> None:
    assert told("I used my savings from Oslo and my pension to buy a sawmill.") == [
        "Lena used their savings from Oslo and their pension to buy a sawmill."
    ]


@pytest.mark.req("R-32")
def test_him_is_not_the_wife() -> None:
    assert told("We are expecting a child in May! My wife wants to name him Idris.") == [
        "Lena is expecting a child in May."
    ]


@pytest.mark.req("R-32")
def test_advice_to_remember_is_not_kept() -> None:
    assert request_of("remember that staying hopeful is very important", "Lena") is None
    assert request_of("remember that my locker code is 4411", "Lena") is not None


def test_words_run_together_are_read() -> None:
    assert plain("We saw eachother and I fed 'em 'cause I could") == "We saw each other and I fed them because I could"
