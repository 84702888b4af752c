"""What is played, and who else speaks in a message; and states that are over with the task at hand."""

from __future__ import annotations

import pytest

from memstone.core.curate import EFFECT, candidates
from memstone.core.rules.material import is_english
from memstone.core.rules.speakers import speakers_from


def facts(message: str) -> list[str]:
    return [one.text for one in candidates(message) if one.category != EFFECT]


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "Pretend I'm a customer and I want to return shoes.",
        "I am a senior recruiter at Google. That's the role you should play.",
        "Let's role-play. I am a patient with back pain. I live in Ohio.",
        "Imagine you are a waiter. I'd like a pizza with olives.",
        "You are my interviewer and I am a nurse from Leeds.",
        "For this exercise I work at a bank. I have two kids.",
        "I live in a castle. Act as my butler.",
    ],
)
def test_what_is_played_is_no_fact(message: str) -> None:
    assert not facts(message)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "I play a doctor in a TV series.",
        "I play the role of Hamlet at our local theatre.",
        "My role at work is team lead.",
        "I am a recruiter at Google and I love role-playing games.",
        "I want to act in films. I live in Rome.",
        "I pretend to be calm in meetings.",
    ],
)
def test_who_plays_for_real_tells_of_themselves(message: str) -> None:
    assert facts(message)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "Me: hi  Her: I live in Paris",
        "Anna: I live in Paris\nBob: I live in Rome",
        "Me: where are you? Her: I moved to Lyon.",
        "Customer: I want a refund\nAgent: I work for support",
        "**Mum**: I am allergic to nuts\n**Me**: ok",
        "Interviewer: hello\nCandidate: I have ten years of experience in sales",
    ],
)
def test_what_several_people_say_is_nobodys_fact(message: str) -> None:
    assert speakers_from(message) == 0
    assert not facts(message)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "Quick intro: I live in Porto. Background: nurse.",
        "My allergies: peanuts, kiwi. My pets: two cats.",
        "I live in Rome. Note: I am vegan.",
        "Name: Ana\nCity: Rome",
        "The meeting is at 10:30, my train at 12:15.",
        "I work at Acme: sales.",
    ],
)
def test_a_list_with_colons_is_no_talk(message: str) -> None:
    assert speakers_from(message) < 0


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "I'm getting an error with npm install.",
        "We are seeing an exception in production.",
        "I have attached the file.",
        "I included two screenshots.",
        "My question is about Docker volumes.",
        "My follow-up question is about pricing.",
        "I have a question about taxes.",
        "I need a recipe for 4 people.",
        "I want a summary of this article.",
        "I would like a translation of this text.",
        "I'm going insane.",
        "I'm losing my mind with this bug.",
        "my god, that's ugly",
        "I stopped last year.",
    ],
)
def test_what_is_over_with_the_task_is_not_kept(message: str) -> None:
    assert not facts(message)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "I'm getting a dog next week.",
        "I get migraines when I drink wine.",
        "I share a flat with two friends.",
        "I sent my daughter to a boarding school.",
        "My job is about Docker volumes.",
        "I have a house in Bonn.",
        "I need insulin twice a day.",
        "I want a career in medicine.",
        "I want an answer in German every time.",
        "I'm going vegan.",
        "I quit my job three years ago.",
        "I started yoga two weeks ago.",
        "my goodness, I live in Oslo now",
    ],
)
def test_what_lasts_is_kept(message: str) -> None:
    assert facts(message)


@pytest.mark.req("R-32")
def test_half_a_sentence_is_not_kept_beside_the_other() -> None:
    assert facts("I used to smoke but I quit three years ago.") == ["User used to smoke."]
    assert facts("I used to play chess but I stopped in 2019.") == ["User used to play chess."]


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("My name is José.", "User's name is José."),
        ("I live in Zürich.", "User lives in Zürich."),
        ("I work at Ørsted", "User works at Ørsted."),
        ("My wife Hélène is from Orléans.", "User's wife Hélène is from Orléans."),
        ("I moved to Łódź. Élodie is my sister.", "User moved to Łódź."),
        ("My son is called Zoë.", "User's son is called Zoë."),
    ],
)
def test_a_name_with_accents_is_learned(message: str, fact: str) -> None:
    assert fact in facts(message)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "Ich wohne in Zürich.",
        "Je m'appelle José.",
        "Jag bor i Malmö.",
        "Me llamo José y vivo en Perú",
        "Moja siostra mieszka w Łodzi.",
        "Mein Bruder fährt ein schönes Auto",
        "Benim adım Gökçe ve İzmir'de yaşıyorum",  # noqa: RUF001 - Turkish
        "私は東京に住んでいます",
    ],
)
def test_other_languages_yield_no_rule_facts(message: str) -> None:
    assert not is_english(message)
    assert not facts(message)


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("Likes jazz", "User likes jazz."),
        ("Lives in Oslo", "User lives in Oslo."),
        ("Has two cats", "User has two cats."),
        ("Studies law", "User studies law."),
        ("Does not eat meat", "User does not eat meat."),
        ("Goes to the gym on Mondays", "User goes to the gym on Mondays."),
        ("Moved to Oslo last year", "User moved to Oslo last year."),
        ("Allergic to nuts", "User is allergic to nuts."),
        ("Prefers tea", "User prefers tea."),
    ],
)
def test_a_note_without_subject_has_its_verb_once(message: str, fact: str) -> None:
    assert facts(message) == [fact]
