"""From a message to candidate facts: what is found, how it is told, and where it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.curate import (
    EFFECT,
    INPUT_CHARS,
    MAX_CHARS,
    MAX_FACTS,
    MIN_CHARS,
    Candidate,
    Rules,
    candidates,
    fact_key,
)
from memstone.core.rules.families import Family
from memstone.core.rules.plain import plain
from memstone.model.memory import Kind

CHATS = Path(__file__).parents[1] / "data" / "curation" / "chats.jsonl"


def kept(message: str, *, speaker: str = "", topic: str = "") -> list[Candidate]:
    return [one for one in candidates(message, speaker=speaker, topic=topic) if one.category != EFFECT]


def only(message: str, *, speaker: str = "", topic: str = "") -> Candidate:
    found = kept(message, speaker=speaker, topic=topic)
    assert len(found) == 1, [one.text for one in found]
    return found[0]


# --- triggers ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("O-29")
@pytest.mark.parametrize(
    ("said", "polarity"),
    [
        ("I prefer green tea", 1),
        ("I really prefer green tea", 1),
        ("i like green tea", 1),
        ("I really like green tea", 1),
        ("My favorite tea is green tea", 1),
        ("My favourite teas are green tea and mate", 1),
        ("I enjoy green tea", 1),
        ("I LOVE green tea", 1),
        ("I don't like green tea", -1),
        ("I do not like green tea", -1),
        ("I hate green tea", -1),
        ("I dislike green tea", -1),
        ("I avoid green tea", -1),
    ],
)
def test_phrases_of_liking_and_disliking_become_preferences(said: str, polarity: int) -> None:
    fact = only(said)
    assert (fact.category, fact.kind, fact.polarity) == ("preference", Kind.FACTUAL, polarity)
    assert "green tea" in fact.text


@pytest.mark.req("O-30")
@pytest.mark.parametrize(
    "said",
    [
        "I'll use Postgres for the shop",
        "I will use Postgres for the shop",
        "I chose Postgres for the shop",
        "I decided to use Postgres for the shop",
        "I have decided on Postgres for the shop",
        "I'm going to use Postgres for the shop",
        "I'm going with Postgres for the shop",
        "I am going to adopt Postgres for the shop",
        "I selected Postgres for the shop",
        "We picked Postgres for the shop",
        "we went with Postgres for the shop",
    ],
)
def test_phrases_of_choosing_become_decisions(said: str) -> None:
    fact = only(said)
    assert (fact.category, fact.kind) == ("decision", Kind.EPISODIC)
    assert "Postgres" in fact.text


@pytest.mark.req("O-31")
@pytest.mark.parametrize(
    ("said", "polarity"),
    [
        ("I usually take the early train", 1),
        ("I always take the early train", 1),
        ("I never take the early train", -1),
        ("I typically take the early train", 1),
        ("I tend to take the early train", 1),
        ("I often take the early train", 1),
        ("I frequently take the early train", 1),
        ("I regularly take the early train", 1),
    ],
)
def test_phrases_of_routine_become_patterns(said: str, polarity: int) -> None:
    fact = only(said)
    assert (fact.category, fact.kind, fact.polarity) == ("pattern", Kind.FACTUAL, polarity)
    assert fact.key.startswith("pattern:")


@pytest.mark.req("O-29", "O-31")
def test_a_liking_comes_before_a_routine() -> None:
    assert only("I usually prefer window seats").category == "preference"


@pytest.mark.req("D-4")
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("To deploy, run make ship, then tag the commit", ("deploy", "make ship", "tag")),
        ("Our release process is: branch, bump the version, merge", ("release process", "bump")),
        ("How I make my bread: mix at 7, bake at 250 degrees", ("makes", "bread", "250")),
        ("When a customer asks for a refund we check the order id first", ("refund", "order id")),
    ],
)
def test_procedures_are_extracted(said: str, words: tuple[str, ...]) -> None:
    fact = only(said)
    assert (fact.category, fact.kind) == ("procedural", Kind.PROCEDURAL)
    assert all(word in fact.text for word in words)


# --- form -------------------------------------------------------------------------------------------------------------


@pytest.mark.req("R-3")
def test_negation_survives_in_text_and_key() -> None:
    liked, disliked = only("I like Python"), only("I don't like Python")
    assert (liked.text, disliked.text) == ("User likes Python.", "User does not like Python.")
    assert liked.key != disliked.key
    assert disliked.key.startswith("preference:not:")


@pytest.mark.parametrize(
    ("said", "polarity"),
    [
        ("I'm allergic to bee stings", 1),
        ("I'm lactose intolerant", 1),
        ("My doctor diagnosed me with high blood pressure", 1),
        ("fyi im left handed", 1),
        ("I plan to retire at 60", 1),
        ("My flight to Muscat leaves on May 22", 1),
        ("I work at Brightwell, not Brightwood", 1),
        ("my son can't eat gluten", -1),
        ("I can't run anymore because of my knees", -1),
        ("I quit my job at the city council", -1),
    ],
)
def test_stance_is_about_the_meaning(said: str, polarity: int) -> None:
    assert only(said).polarity == polarity


@pytest.mark.req("O-32")
@pytest.mark.parametrize(
    ("said", "texts"),
    [
        ("I like tea. The sky is grey.", ["User likes tea."]),
        ("I like tea\nand the sky is grey", ["User likes tea."]),
        ("I like tea, but my sister prefers cocoa", ["User likes tea.", "User's sister prefers cocoa."]),
        ("I like tea, which is nice", ["User likes tea."]),
        ("I like tea, cocoa and mate", ["User likes tea, cocoa and mate."]),
    ],
)
def test_what_is_said_ends_with_its_clause(said: str, texts: list[str]) -> None:
    assert [one.text for one in kept(said)] == texts


@pytest.mark.parametrize("said", ["I   like \t green\u00a0 tea  ", "\n\n I like green tea \n"])
def test_text_is_trimmed_and_its_white_space_collapsed(said: str) -> None:
    assert only(said).text == "User likes green tea."


@pytest.mark.parametrize("word", ["a" * 600, "b" * 490, "c" * 10])
def test_a_fact_has_at_most_500_characters(word: str) -> None:
    assert all(MIN_CHARS <= len(one.text) <= MAX_CHARS for one in candidates(f"I like {word}"))


@pytest.mark.req("O-34")
@pytest.mark.parametrize(
    ("category", "text", "polarity", "key"),
    [
        ("preference", "User likes Green Tea!", 1, "preference:likes_green_tea"),
        ("preference", "User does not like C++.", -1, "preference:not:does_not_like_c"),
        ("family", "User's sister is a vet.", 1, "family:sister_is_a_vet"),
        (
            "event",
            "User " + "walked to the very end of the long long road",
            1,
            "event:walked_to_the_very_end_of_the_long_long",
        ),
    ],
)
def test_a_key_is_category_and_slug(category: str, text: str, polarity: int, key: str) -> None:
    assert fact_key(category, text, polarity) == key


@pytest.mark.req("O-34")
def test_the_same_fact_twice_in_a_message_is_one() -> None:
    assert [one.text for one in kept("I like tea. Really, I like tea!")] == ["User likes tea."]


def test_of_a_very_long_message_the_end_is_read() -> None:
    filler = "It was a grey day.\n" * (INPUT_CHARS // 19 + 10)
    message = f"I live in Oslo.\n{filler}I live in Bergen."
    found = kept(message)
    assert [one.text for one in found] == ["User lives in Bergen."]
    assert message[found[0].start : found[0].end] == "I live in Bergen."


@pytest.mark.parametrize("said", ["", " ", "\n", "...", "🙂", "ok", "What is 2 + 2?", "The sky is blue."])
def test_empty_or_unrelated_text_states_nothing(said: str) -> None:
    assert kept(said) == []


@pytest.mark.req("O-39")
def test_text_to_facts_is_a_pure_function() -> None:
    said = "Hi, I'm Alice. I work at Acme Corp. My sister is vegan and I don't like olives."
    assert candidates(said) == candidates(said)
    assert [one.text for one in candidates(said)] == [
        "User's name is Alice.",
        "User works at Acme Corp.",
        "User's sister is vegan.",
        "User does not like olives.",
    ]


def test_one_message_gives_only_so_many_facts() -> None:
    assert len(candidates("\n".join(f"I like fruit number {number}." for number in range(100)))) == MAX_FACTS


# --- who and what -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("the gym costs me 39 a month", "The gym costs User 39 a month."),
        ("my grandad hit 90 last weekend!", "User's grandad hit 90 last weekend."),
        ("favourite dessert? tiramisu, every time", "User's favourite dessert is tiramisu, every time."),
        ("at work everyone calls me Doc, no idea why", "User is called Doc."),
        (
            "Turns out my girlfriend is allergic to penicillin, good to know",
            "User's girlfriend is allergic to penicillin.",
        ),
        ("two people on my team got laid off today, luckily I'm safe", "Two people on User's team got laid off today."),
        ("Grandma turned 90", "User's grandma turned 90."),
        ("Antwerp, that's where I live", "User lives in Antwerp."),
        ("Mateo and I got married on Saturday!!", "User and Mateo got married on Saturday."),
        ("There are six people on my team", "There are six people on User's team."),
        ("The lease on our flat runs out on 31 August", "The lease on User's flat runs out on 31 August."),
        ("Languages I speak: Dutch and Farsi", "Languages User speaks: Dutch and Farsi."),
        ("On Fridays we order pizza", "User orders pizza on Fridays."),
        ("As you know, listening to podcasts is something I like.", "User likes listening to podcasts."),
    ],
)
def test_everyday_statements_are_told_about_the_user(said: str, text: str) -> None:
    assert only(said).text == text


@pytest.mark.parametrize(
    "said",
    [
        "Toured an old brewery that still bottles by hand, loving the smell.",
        "Felt reluctant to sign up for more night shifts after last month.",
        "Opt instead for quiet walks along the canal.",
        "Chose to avoid open-air concerts from now on as they are too loud.",
        "Tried knitting socks but found the heel far too fiddly.",
    ],
)
def test_a_note_without_subject_is_kept_whole(said: str) -> None:
    fact = only(said)
    assert fact.text == f"User {said[0].lower()}{said[1:]}" or fact.text.startswith("User opts")
    assert said[fact.start : fact.end] == said


def test_a_note_in_the_third_person_keeps_its_words() -> None:
    assert (
        only("Kanoa starts using guided imagery before concerts.").text
        == "Kanoa starts using guided imagery before concerts."
    )
    assert only("The user is a vet and runs her own clinic.").text == "User is a vet and runs her own clinic."


def test_she_is_the_person_spoken_of_just_before() -> None:
    found = kept("My sister left Siemens, she works at Bosch now")
    assert [one.text for one in found] == ["User's sister left Siemens.", "User's sister works at Bosch now."]
    assert found[0].subject == found[1].subject != "self"


def test_he_is_never_said_of_a_woman() -> None:
    found = kept("Mum turned out to have a brother nobody had heard of, he lives in Chile")
    assert not any("lives in Chile" in one.text for one in found)


def test_a_speaker_is_called_by_name() -> None:
    assert only("I play the harp.", speaker="Ines").text == "Ines plays the harp."
    assert only("I play the harp.", speaker="user").text == "User plays the harp."


def test_the_topic_before_completes_an_answer() -> None:
    assert only("Mostly NLP and search", topic="work").text == "User works mostly on NLP and search."
    assert kept("Mostly NLP and search") == []


def test_what_only_changes_something_is_an_effect() -> None:
    found = candidates("so much for Iceland... we scrapped it")
    assert {one.category for one in found} == {EFFECT}


def test_a_configuration_adds_families_of_its_own() -> None:
    rules = Rules((Family("rank", re.compile(r"^I hold the rank of", re.IGNORECASE), salience=0.9),))
    fact = candidates("I hold the rank of captain", rules=rules)[0]
    assert (fact.category, fact.salience) == ("rank", 0.9)


# --- evidence ---------------------------------------------------------------------------------------------------------


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{3,}", plain(text).lower()))


def _messages() -> list[str]:
    rows = (json.loads(line) for line in CHATS.read_text(encoding="utf-8").splitlines())
    return [message["content"] for row in rows for message in row["messages"] if message["role"] == "user"]


_ADDED = _words(
    "User's User name wants assistant works lives called sober been has was were are for the "
    "they their them theirs themselves always never its not goes does how"
)


def test_every_fact_stands_on_words_of_its_evidence() -> None:
    seen = 0
    for message in _messages():
        for fact in candidates(message):
            evidence = message[fact.start : fact.end]
            assert evidence
            assert evidence == evidence.strip()
            said = {word[:3] for word in _words(evidence)}
            strange = {word for word in _words(fact.text) - _ADDED if word[:3] not in said}
            assert not strange, (fact.text, evidence)
            seen += 1
    assert seen > 300


_PIECES = st.sampled_from(
    [
        *"I my we our it she User favourite is am was like never been remember call me to the home 7 Oslo".split(),
        *[",", ".", ":", ";", "-", "'", '"', "?", "!", "\u2026", "\u2014", "\n", "\u0130", "\u00df", "\U0001f642"],
    ]
)


@given(st.lists(_PIECES, max_size=20).map(" ".join) | st.text(max_size=80))
def test_no_text_breaks_the_reading(message: str) -> None:
    for fact in candidates(message):
        assert message[fact.start : fact.end].strip() == message[fact.start : fact.end] != ""
        assert MIN_CHARS <= len(fact.text) <= MAX_CHARS
        assert fact.polarity in (-1, 1)
        assert fact.key.startswith(f"{fact.category}:")
