"""Plain statements in short messages, whatever their verb."""

from __future__ import annotations

import pytest

from memstone.core.curate import EFFECT, candidates


def facts(message: str, speaker: str = "") -> list[str]:
    return [one.text for one in candidates(message, speaker=speaker) if one.category != EFFECT]


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I'm more of a dog person", "User is more of a dog person."),
        ("Been dipping into Elixir on weekends", "User has been dipping into Elixir on weekends."),
        ("Can't do Wednesdays, choir night", "User can not do Wednesdays, choir night."),
        ("Had my wisdom teeth out on Monday", "User had their wisdom teeth out on Monday."),
        ("kids are with their dad every other weekend", "User's kids are with their dad every other weekend."),
        ("The twins turn six on Sunday", "User's twins turn six on Sunday."),
        ("Born and bred in Leeds", "User was born and bred in Leeds."),
        ("They roped me into the hiring committee", "They roped User into the hiring committee."),
        ("there's a banjo in the house now", "There is a banjo in the house now."),
        ("Kyle's girlfriend is a vet", "Kyle's girlfriend is a vet."),
        ("Rosie needs her insulin at 8 sharp", "Rosie needs her insulin at 8 sharp."),
        ("Jonas is coeliac, so plan your dinner around it", "Jonas is coeliac."),
        ("Thursday evenings are for band practice", "Thursday evenings are for band practice."),
        ("Baby number two is on the way, due in August", "Baby number two is on the way, due in August."),
        ("You should know I'm terrified of needles", "User is terrified of needles."),
    ],
)
def test_a_line_that_tells_something_is_kept(said: str, fact: str) -> None:
    assert facts(said) == [fact]


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "said",
    [
        "The sky is blue.",
        "Python lists are mutable, tuples aren't",
        "bro that movie was mid",
        "Lisbon trams are packed.",
        "The kids, both of them, are driving me up the wall today",
        "she's snoring on my feet right now",
        "counting down to Peru, April can't come soon enough",
        "is the Chase app down for everyone or just me",
        "Should I quit the bakery, do you think?",
        "nearly bought a boat yesterday",
        "we scrapped it",
        "This is exactly what I needed, brilliant",
        "I like that second version better",
        "No worries, forget what I asked",
        "status=sent (250 I love mail)",
        "really just can",
        "Rent's due again on the Brooklyn place, where does the month go",
    ],
)
def test_what_is_general_or_of_the_moment_or_no_statement_is_not(said: str) -> None:
    assert facts(said) == []


@pytest.mark.req("R-32")
def test_only_a_short_message_of_ones_own_is_read_so() -> None:
    said = "They roped me into the hiring committee"
    assert facts(said)
    assert facts(said, speaker="Ines") == []
    assert facts("Named the goldfish Bubbles", speaker="Ines") == ["Ines named the goldfish Bubbles."]
    assert facts("Named the goldfish Bubbles!", speaker="Ines") == []
    assert facts(f"{said}.\nmore to come") == []
    assert facts(f"{said}. Any tips?") == []
    assert facts(f"{said}. One. Two. Three.") == []


@pytest.mark.req("R-32", "P-17")
def test_a_message_is_looked_at_as_a_whole_after_its_parts() -> None:
    found = candidates("Lena's a first grader as of today, I cried at the gate obviously")
    assert [one.category for one in found if one.whole] == [EFFECT]
    assert found[-1].whole
    assert not any(one.whole for one in candidates("I live in Oslo and I work at Acme"))


def test_had_is_told_from_would() -> None:
    assert facts("I'd already bought the guidebook") == ["User had already bought the guidebook."]
