"""A short answer and the question before it are one statement of the user's; where there is a doubt, they are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from memstone.core.curate import answer
from memstone.core.rules.answers import answered, is_played
from memstone.core.rules.replies import may_answer

DATA: Final = Path(__file__).parents[1] / "data" / "curation" / "answers.jsonl"
CASES: Final = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


@pytest.mark.req("R-32")
@pytest.mark.parametrize("case", [one for one in CASES if "must" in one], ids=lambda case: case["id"])
def test_a_short_answer_tells_with_its_question_what_it_tells(case: dict[str, Any]) -> None:
    found = answer(case["question"], case["answer"])
    told = " ".join(one.text for one in found).lower()
    assert all(word in told for word in case["must"]), told
    assert {case["answer"].strip()[one.start : one.end] for one in found} == {case["answer"].strip()}


@pytest.mark.req("R-32")
@pytest.mark.parametrize("case", [one for one in CASES if "nothing" in one], ids=lambda case: case["id"])
def test_what_is_answered_to_anything_else_is_no_fact(case: dict[str, Any]) -> None:
    assert answer(case["question"], case["answer"]) == []


STATEMENTS: Final = [
    ("What's your dog's name?", "Rex.", "My dog's name is Rex."),
    ("What's your dog's name?", "his name is rex", "My dog's name is Rex."),
    ("What's your dog's name?", "Rex 🐶", "My dog's name is Rex."),
    ("What are your cats called?", "Tom and Jerry", "My cats are called Tom and Jerry."),
    ("Where do you live?", "In Lisbon.", "I live in Lisbon."),
    ("Where do you live?", "lisbon", "I live in Lisbon."),
    ("Where do you live?", "the Netherlands", "I live in the Netherlands."),
    ("Where do you live?", "With my parents", "I live with my parents."),
    ("Which editor do you use?", "Neovim.", "I use Neovim as my editor."),
    ("Are you allergic to anything?", "Peanuts.", "I am allergic to peanuts."),
    ("Are you allergic to anything?", "Yes, peanuts and kiwi", "I am allergic to peanuts and kiwi."),
    ("How old is your daughter?", "Seven.", "My daughter is seven years old."),
    ("How old is your son?", "6 months", "My son is 6 months old."),
    ("When is your birthday?", "May 3rd.", "My birthday is May 3rd."),
    ("When is your birthday?", "It's in october", "My birthday is in October."),
    ("Do you have any pets?", "Two cats.", "I have two cats."),
    ("Do you have kids?", "Two.", "I have two kids."),
    ("How many children do you have?", "One", "I have one child."),
    ("What do you do?", "Nurse", "I am a nurse."),
    ("What do you do for work?", "Marketing", "I work in marketing."),
    ("What does your wife do?", "She's an engineer at Siemens", "My wife is an engineer at Siemens."),
    ("Where do you work?", "Siemens", "I work at Siemens."),
    ("What's your favourite colour?", "Blue!", "My favourite colour is blue."),
    ("What's your favourite band?", "Radiohead", "My favourite band is Radiohead."),
    ("What's your favourite book?", "Dune", "My favourite book is Dune."),
    ("What's your favourite cuisine?", "Ethiopian", "My favourite cuisine is Ethiopian."),
    ("What kind of music do you like?", "Jazz and blues", "I like jazz and blues."),
    ("What music do you listen to?", "Mostly Radiohead", "I like Radiohead."),
    ("Do you like coffee or tea?", "Tea", "I prefer tea."),
    ("Do you live in Berlin?", "Yes.", "I live in Berlin."),
    ("Are you married?", "yep", "I am married."),
    ("You're vegetarian, right?", "That's right", "I am vegetarian."),
    ("Is your name Anna?", "Yes", "My name is Anna."),
    ("Do you still live in Berlin?", "No.", "I no longer live in Berlin."),
    ("Are you still vegetarian?", "Not anymore", "I am no longer vegetarian."),
    ("Do you prefer tea or coffee?", "Coffee", "I prefer coffee."),
    ("Are you a cat or a dog person?", "Dog", "I am a dog person."),
]


@pytest.mark.parametrize(("question", "reply", "statement"), STATEMENTS)
def test_the_statement_is_in_the_first_person(question: str, reply: str, statement: str) -> None:
    assert answered(question, reply) == statement


@pytest.mark.parametrize(
    "reply",
    [
        "Not sure",
        "I'd rather not say",
        "none of your business",
        "why do you ask",
        "Why?",
        "guess",
        "later",
        "maybe Rex",
        "It depends",
        "haha no",
        "Rex lol",
        "the usual",
        "Rex. Now write me a poem about him, two stanzas, and make it rhyme.",
        "print(name)",
        "rex_the_dog",
        "https://example.com",
        "a@example.com",
        "",
        "   ",
        "?",
    ],
)
def test_who_evades_or_says_something_else_tells_nothing(reply: str) -> None:
    assert not answered("What's your dog's name?", reply)


@pytest.mark.parametrize(
    ("asked", "is_asked"),
    [
        ("He sounds lovely! What's your dog's name?", True),
        ("Before I order the tag, what's your dog's name?", True),
        ("Quick question: what is your dog's name? 🙂", True),
        ("**What's your dog's name?**", True),
        ("What's your dog's name? I will put it on the tag.", False),
        ("Does he bark? What's your dog's name?", False),
        ("In this story, what's your dog's name?", False),
        ("If you had a dog, what's your dog's name?", False),
        ("She asked him: \"What's your dog's name?\"", False),
        ("Wie heißt dein Hund?", False),
        ("What's my dog's name?", False),
        ("", False),
    ],
)
def test_only_a_question_that_a_message_ends_with_is_answered(asked: str, *, is_asked: bool) -> None:
    assert bool(answered(asked, "Rex")) == is_asked


def test_a_game_is_recognised_by_what_was_said_before() -> None:
    assert is_played(["Let's do a role-play, you are the innkeeper", "Welcome!"])
    assert not is_played(["Hi, can you help me with my garden?", "Of course."])


@pytest.mark.parametrize(
    ("text", "may"),
    [("Rex.", True), ("Yes", True), ("not anymore", True), ("thanks!", False), ("Hello there", False), ("Why?", False)],
)
def test_most_messages_are_no_answers(text: str, *, may: bool) -> None:
    assert may_answer(text) == may


def test_a_long_message_is_read_in_no_time() -> None:
    assert not may_answer("Rex " * 50_000)
    assert not answered("What's your dog's name? " * 20_000, "Rex")
    assert answered("a " * 200_000 + "\n\nWhat's your dog's name?", "Rex")
