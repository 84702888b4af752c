from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.changes.slots import replaces, same_value, slots_of
from memstone.core.changes.statement import understand


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("User lives in Utrecht", "lives_in", "utrecht"),
        ("We've moved, it's Rotterdam now", "lives_in", "rotterdam"),
        ("I relocated to Braga", "lives_in", "braga"),
        ("User works at Bosch", "employer", "bosch"),
        ("First week at Siemens done!", "employer", "siemens"),
        ("Kestrel Freight is my employer", "employer", "kestrel freight"),
        ("User works as a pharmacist at Boots", "job", "pharmacist"),
        ("User works as a pharmacist at Boots", "employer", "boots"),
        ("I'm a tour guide now", "job", "tour guide"),
        ("I was let go", "work", "unemployed"),
        ("I was let go", "employer", "none"),
        ("Now I'm a pensioner!", "work", "retired"),
        ("User studies chemistry", "study", "chemistry"),
        ("User drives a 2012 Toyota Corolla", "car", "2012 toyota corolla"),
        ("The Ioniq 5 is already parked outside", "car", "ioniq 5"),
        ("we're a no-car household", "car", "none"),
        ("User's phone is a Google Pixel 7", "phone", "google pixel 7"),
        ("new phone! Galaxy S24", "phone", "galaxy s24"),
        ("User's favourite film is Amélie", "favourite:movie", "amélie"),
        ("new all-time favourite film: Past Lives", "favourite:movie", "past lives"),
        ("Khruangbin is my number one band now", "favourite:band", "khruangbin"),
        ("Autumn is the season I love most", "favourite:season", "autumn"),
        ("User's delivery address is 4 Mill Road", "address:delivery", "4 mill road"),
        ("new street address for deliveries: 18 Orchard Lane", "address:delivery", "18 orchard lane"),
        ("User's manager is Anita", "person:manager", "anita"),
        ("which makes Joel my boss", "person:manager", "joel"),
        ("User is 29 years old", "age", "29"),
        ("turned 30 today", "age", "30"),
        ("I am a forty-one year old baker", "age", "41"),
        ("User is dating Leonie", "marital", "dating"),
        ("I have a fiancée", "marital", "engaged"),
        ("I am engaged since Easter", "marital", "engaged"),
        ("The divorce papers are signed", "marital", "divorced"),
        ("there's no partner in my life", "marital", "single"),
        ("I eat meat again", "diet", "omnivore"),
        ("I am no longer vegetarian", "diet", "not vegetarian"),
        ("defended my thesis this afternoon", "studying", "finished"),
        ("User is a PhD candidate", "studying", "student"),
        ("User wants answers in Spanish", "language", "spanish"),
        ("go back to writing in Dutch to me", "language", "dutch"),
        ("Give me prices in dollars from now on", "wanted:price", "dollars"),
        ("call me Lex from now on", "name", "lex"),
    ],
)
def test_a_slot_is_filled(text: str, slot: str, value: str) -> None:
    assert understand(text).slots.get(slot) == value


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("piano lesson moved to Monday", "lives_in"),
        ("no more renting in Bristol", "lives_in"),
        ("I no longer work at Bosch", "employer"),
        ("I work at home", "employer"),
        ("our house is 120 years old", "age"),
        ("my second favourite city: Naples", "favourite:city"),
        ("passed my driving test", "car"),
        ("User's colleague is called Marta", "name"),
        ("User likes making study plans", "studying"),
        ("User is a vegetarian", "job"),
        ("User wants to be an actor", "job"),
    ],
)
def test_a_slot_stays_empty(text: str, slot: str) -> None:
    assert slot not in understand(text).slots


def test_what_he_does_fills_a_slot_of_his_only() -> None:
    assert "lives_in" not in slots_of("he lives in rome")
    assert slots_of("he lives in rome", own=False)["lives_in"] == "rome"
    (brother,) = [one for one in understand("I am 30. My brother is 27").everybody if one.subject == "brother"]
    assert brother.slots["age"] == "27"


def test_my_wife_says_that_i_am_married_and_nothing_of_her_own_marriage() -> None:
    assert understand("I went with my wife").slots["marital"] == "married"
    assert "marital" not in understand("My wife wants a Porsche").slots


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("subaru", "subaru forester", True),
        ("maths", "mathematics", True),
        ("rome", "paris", False),
        ("vegetarian", "not vegetarian", False),
    ],
)
def test_values_are_compared_by_their_words(one: str, other: str, *, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


@pytest.mark.parametrize(
    ("slot", "new", "old", "ends"),
    [
        ("lives_in", "rome", "paris", True),
        ("lives_in", "rome", "rome", False),
        ("studying", "finished", "student", True),
        ("studying", "student", "finished", False),
        ("diet", "not vegetarian", "vegetarian", True),
        ("diet", "not vegetarian", "vegan", False),
    ],
)
def test_a_value_ends_another(slot: str, new: str, old: str, *, ends: bool) -> None:
    assert replaces(slot, new, old) is ends


@given(st.text(max_size=120))
def test_any_text_has_slots_or_none(text: str) -> None:
    assert all(value for value in slots_of(text.lower()).values())
