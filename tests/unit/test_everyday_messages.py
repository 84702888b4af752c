"""What the rules make of everyday messages: names in small letters, lists, jokes, tasks, quotations."""

from __future__ import annotations

import pytest

from memstone.core.curate import EFFECT, candidates


def learned(message: str) -> list[str]:
    return [one.text for one in candidates(message) if one.category != EFFECT]


@pytest.mark.req("P-13")
@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("hey, im maria, im a nurse in denver", ["User's name is Maria.", "User is a nurse in denver."]),
        ("I'm Antoine, sous-chef in Lyon.", ["User's name is Antoine.", "User is sous-chef in Lyon."]),
        ("I'm Jennifer Walsh, call me Jen", ["User's name is Jennifer Walsh.", "User wants to be called Jen."]),
        ("My name is Robert but everybody calls me Bob.", ["User's name is Robert.", "User is called Bob."]),
        ("I'm Ingrid Dahl of the University of Bergen", ["User is Ingrid Dahl of the University of Bergen."]),
        ("I AM A NURSE AT ACME", ["User is a nurse at acme."]),
        ("We're a team of 6 at Lumo.", ["User is part of a team of 6 at Lumo."]),
        ("we are 14 people now", ["User's team is 14 people now."]),
        ("We are both vegetarian", ["User is vegetarian."]),
        ("I'm not vegan, I just don't eat pork", ["User is not vegan.", "User does not eat pork."]),
        ("I prefer aisle seats and I fly with KLM", ["User prefers aisle seats.", "User flies with KLM."]),
        ("I've been to Korea twice", ["User has been to Korea twice."]),
        ("I work as a nurse and love hiking", ["User works as a nurse and loves hiking."]),
        ("my sister Lucy is visiting soon, she's vegetarian.", ["User's sister Lucy is vegetarian."]),
        ("I have a son. Liam has a peanut allergy.", ["User has a son.", "Liam has a peanut allergy."]),
        ("I'm the maid of honor, help me with a speech", ["User is the maid of honor."]),
        ("it's my son who is deaf, not my aunt", ["User's son is deaf.", "User's aunt is not deaf."]),
        ("My car is a Kia and my wife's is a Fiat.", ["User's car is a Kia.", "User's wife's car is a Fiat."]),
        ("you can use emojis again", ["User wants the assistant to use emojis."]),
        ("always use grams please", ["User wants the assistant to always use grams."]),
    ],
)
def test_what_is_told_of_oneself_is_learned(message: str, facts: list[str]) -> None:
    assert learned(message) == facts


@pytest.mark.req("P-13", "X-9")
@pytest.mark.parametrize(
    "message",
    [
        "I get error[E0382]: borrow of moved value: `cfg`.",
        "I tried AUTH_USER_MODEL = 'accounts.User' but it fails",
        "my function returns None, what am I doing wrong?",
        "I have a list of 200 names in excel and want to sort them by last name",
        "My friend asked: 'Should I move to Canada?' What should I tell him?",
        "Someone on reddit wrote: I quit my job and moved to Bali. Should I do that too?",
        "As Steve Jobs said, I want to put a ding in the universe",
        "According to my horoscope I'm going to meet someone new",
        "She told me she's pregnant and wants me to keep it secret",
        "Let's say my name is John and I want to apply for a loan.",
        "yeah right, and I'm the king of England",
        "oh great. I just LOVE meetings. /s",
        "I'm allergic to mornings lol",
        "I'm dying 😂 that was hilarious",
        "my wifi password is [redacted:password]",
        "J'adore le fromage",
        "Mi hermano se llama Pedro y vive in Madrid",
        "Character sheet\nName: Thorin\nAge: 195\nCity: Erebor",
        "no wait, I meant May 21st",
    ],
)
def test_jokes_tasks_and_what_others_say_are_no_facts(message: str) -> None:
    assert learned(message) == []


@pytest.mark.req("P-13")
def test_lines_about_oneself_are_facts_with_their_line_as_evidence() -> None:
    message = "Some things about me:\n- Name: Olga\n- Age: 29\n- Allergies: penicillin\n- Pets: none\n"
    found = {one.text: message[one.start : one.end] for one in candidates(message)}
    assert found == {
        "User's name is Olga.": "Name: Olga",
        "User is 29.": "Age: 29",
        "User is allergic to penicillin.": "Allergies: penicillin",
    }
