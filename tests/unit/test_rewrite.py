"""First-person clauses told in the third person."""

from __future__ import annotations

import pytest

from memstone.language.en.fact_text import append_amendment, quote_speaker
from memstone.language.en.verbs import (
    clause_to_third_person,
    finite_at,
    is_past,
    lemmatize_verb,
    name_speaker_in_clause,
    third_person,
)


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("I work at Acme", "Sam works at Acme."),
        ("I am a nurse", "Sam is a nurse."),
        ("I do not eat pork", "Sam does not eat pork."),
        ("I have lived in Oslo", "Sam has lived in Oslo."),
        ("I no longer eat dairy", "Sam no longer eats dairy."),
        ("I usually go by bike", "Sam usually goes by bike."),
        ("I live in Oslo and work at DNB", "Sam lives in Oslo and works at DNB."),
        ("I row and lift every morning to keep fit", "Sam rows and lifts every morning to keep fit."),
        ("I watch films, hike, and have dinners", "Sam watches films, hikes, and has dinners."),
        ("I like to sing and dance at home", "Sam likes to sing and dance at home."),
        ("I do not smoke or drink at all", "Sam does not smoke or drink at all."),
        ("I moved because my wife and I wanted a garden", "Sam moved because their wife and Sam wanted a garden."),
        ("I taught myself to weld", "Sam taught themselves to weld."),
        ("I read crime novels", "Sam reads crime novels."),
        ("I read that book last week", "Sam read that book last week."),
        ("I moved to the US when I was ten", "Sam moved to the US when they were ten."),
        ("my sister is a vet", "Sam's sister is a vet."),
        ("our flat has two rooms", "Sam's flat has two rooms."),
        ("stopped eating meat", "Sam stopped eating meat."),
    ],
)
def test_only_pronouns_and_verbs_change(clause: str, told: str) -> None:
    assert clause_to_third_person(clause, "Sam") == told


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("red wine gives me migraines", "Red wine gives Sam migraines."),
        ("the lease on our flat ends in May", "The lease on Sam's flat ends in May."),
        ("the flat I live in has no lift", "The flat Sam lives in has no lift."),
        ("a friend of mine knows my boss", "A friend of Sam's knows their boss."),
        ("the deadline is May 3", "The deadline is May 3."),
    ],
)
def test_a_thing_keeps_its_place_and_the_speaker_gets_a_name(clause: str, told: str) -> None:
    assert name_speaker_in_clause(clause, "Sam") == told


def test_forms_that_look_alike_can_be_said_to_be_past() -> None:
    assert clause_to_third_person("I cut out sugar", "Sam", past=True) == "Sam cut out sugar."
    assert clause_to_third_person("I cut hair", "Sam") == "Sam cuts hair."


@pytest.mark.parametrize(
    ("verb", "form"), [("go", "goes"), ("study", "studies"), ("play", "plays"), ("have", "has"), ("watch", "watches")]
)
def test_third_person_forms(verb: str, form: str) -> None:
    assert third_person(verb) == form


@pytest.mark.parametrize(
    ("form", "verb"),
    [("taught", "teach"), ("stopped", "stop"), ("moving", "move"), ("studies", "study"), ("gave", "give")],
)
def test_forms_lead_back_to_their_verb(form: str, verb: str) -> None:
    assert lemmatize_verb(form) == verb


def test_past_forms_are_known() -> None:
    assert is_past("moved")
    assert is_past("went")
    assert not is_past("need")
    assert not is_past("hundred")


@pytest.mark.parametrize(
    ("clause", "at"),
    [
        ("my grandad hit 90", 2),
        ("our tests use pytest", 2),
        ("my work laptop is new", 3),
        ("my allergies", -1),
        ("my French class", -1),
    ],
)
def test_the_verb_of_a_clause_is_found(clause: str, at: int) -> None:
    assert finite_at(clause.split()) == at


def test_a_quotation_ends_where_its_words_end() -> None:
    assert quote_speaker("my aunt and I share the car, ", "User") == 'User said: "my aunt and I share the car"'
    assert append_amendment("User lives in Bath.", "we live in York now,", "2026-05-01") == (
        'User lives in Bath. On 2026-05-01: "we live in York now".'
    )
