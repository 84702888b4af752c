"""What a statement does to what is known: nothing is known without proof, and nothing is cut out of a memory."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstone.language.en.changes import also_changed, decide_change, is_known, parse_statement, to_forget
from memstone.language.en.fact_text import MAX_AMENDED_CHARS as MAX_CHARS
from memstone.language.en.fact_text import append_amendment
from memstone.language.neutral import Neutral
from memstone.model.fact import Decision, FactAction, KnownMemory, New
from tests.english import ENGLISH


def decided(sentence: str, *known: str, quote: str = "", odds: float = 0.0) -> Decision:
    memories = [KnownMemory(text, odds if at == 0 else 0.0) for at, text in enumerate(known)]
    return decide_change(New(sentence, quote or sentence, "2026-11-16"), memories)


# --- known already ----------------------------------------------------------------------------------------------------


@pytest.mark.req("X-11", "P-14", "X-11.1")
@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("User knows C++.", "User knows C."),
        ("User runs web02.", "User runs web01."),
        ("User uses Python 3.", "User uses Python 2."),
        ("User is on plan 2.", "User is on plan 1."),
        ("User reads book 2.", "User reads book 1."),
        ("User likes black coffee.", "User likes coffee with milk."),
        ("User goes to bed at 6.", "User wakes up at 6."),
        ("User loves walnut.", "User is allergic to nuts."),
        ("User likes thing7.", "User likes thing8."),
        ("User's son is in grade 4.", "User's son is in grade 3."),
        ("User takes 10 mg of lisinopril.", "User takes 5 mg of lisinopril."),
        ("User's sister lives in Oslo.", "User lives in Oslo."),
        ("User wants to live in Oslo.", "User lives in Oslo."),
        ("User lived in Oslo last year.", "User lives in Oslo."),
        ("Ada is taller than Ben.", "Ben is taller than Ada."),
        ("User meets Ann at 5 pm.", "User meets Ann at 3 pm."),
    ],
)
def test_what_differs_in_a_word_that_counts_is_not_known(said: str, known: str) -> None:
    assert not is_known(parse_statement(said), parse_statement(known))
    assert decided(said, known).action is not FactAction.IGNORE


@pytest.mark.req("X-11", "P-17", "C-58.16", "X-11.1")
@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("User loves tea.", "User likes tea."),
        ("User really enjoys jazz.", "User loves jazz."),
        ("User lives in Oslo.", "User lives in Oslo with two cats."),
        ("User has three cats.", "User has 3 cats."),
        ('User said: "i work nights"', "User works nights."),
        ("User still works as a nurse.", "User works as a nurse at the clinic."),
    ],
)
def test_what_has_no_new_word_is_known(said: str, known: str) -> None:
    assert decided(said, known).action is FactAction.IGNORE


_NAMES: Final = "Ann Ben Cora Dov Eli Fay Gus Hal Ivy Jon".split()
_PLACES: Final = "Oslo Lima Rome Cairo Delhi Quito Accra Dakar Perth Malmö".split()
_THINGS: Final = "tea jazz chess opera rugby pasta horses maths poetry surfing".split()
_TOOLS: Final = "C C++ C# Go Rust web01 web02 vim emacs Postgres".split()


def _statements(draw: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs of statements that differ in one thing that counts."""
    name, place, thing, tool = (draw.sample(some, 2) for some in (_NAMES, _PLACES, _THINGS, _TOOLS))
    number, version = draw.sample(range(2, 40), 2), draw.sample(["1.4", "2.0", "3.11", "3.12", "10"], 2)
    unit, month = draw.sample(["mg", "km", "kg", "hours"], 2), draw.sample(["May", "June", "July", "March"], 2)
    yield f"User's friend {name[0]} lives in {place[0]}.", f"User's friend {name[1]} lives in {place[0]}."
    yield f"User lives in {place[0]}.", f"User's friend {name[0]} lives in {place[0]}."
    yield f"{name[0]} visits {place[0]} in {month[0]}.", f"{name[0]} visits {place[0]} in {month[1]}."
    yield f"{name[0]} visits {place[0]} in {month[0]}.", f"{name[0]} visits {place[1]} in {month[0]}."
    yield f"User uses {tool[0]}.", f"User uses {tool[1]}."
    yield f"User runs version {version[0]} of {tool[0]}.", f"User runs version {version[1]} of {tool[0]}."
    yield f"User does {number[0]} {unit[0]} a day.", f"User does {number[1]} {unit[0]} a day."
    yield f"User does {number[0]} {unit[0]} a day.", f"User does {number[0]} {unit[1]} a day."
    yield f"User likes {thing[0]}.", f"User does not like {thing[0]}."
    yield f"User likes {thing[0]}.", f"User likes {thing[1]}."
    yield f"User hates {thing[0]}.", f"User loves {thing[0]}."
    yield f"User plays {thing[0]} on day {number[0]}.", f"User plays {thing[0]} on day {number[1]}."
    yield f"{name[0]} owes {name[1]} {number[0]} euros.", f"{name[1]} owes {name[0]} {number[0]} euros."
    yield f"User wants to see {place[0]}.", f"User saw {place[0]}."


@pytest.mark.req("X-11", "R-3", "X-11.1")
def test_of_thousands_of_pairs_that_differ_none_is_taken_for_known() -> None:
    draw = random.Random(7)  # noqa: S311 - no secret
    pairs = [pair for _ in range(400) for pair in _statements(draw)]
    assert len(pairs) >= 5_000
    lost = [
        pair for pair in pairs for one, other in (pair, pair[::-1]) if decided(one, other).action is FactAction.IGNORE
    ]
    assert lost == []


@given(st.lists(st.sampled_from([*_NAMES, *_THINGS, "User", "likes", "not", "3"]), min_size=1, max_size=8))
@settings(max_examples=200)
def test_the_same_words_are_known_whatever_they_are(words: list[str]) -> None:
    statement = parse_statement(" ".join(words))
    assert is_known(statement, statement)


# --- changes ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("P-15", "P-17", "X-14")
@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("User is not allergic to nuts.", "User is allergic to nuts."),
        ("User sold their Tesla.", "User has a Tesla."),
        ("User left Acme.", "User works at Acme."),
        ("User got married in May (May 2026).", "User is single."),
        ("User's cat Tom died.", "User has a cat named Tom."),
        ("User moved to Bergen.", "User lives in Oslo."),
        ("User has moved: they live in Lisbon now.", "User lives in Oslo."),
        ("User quit, and they work at Beta now.", "User works at Acme."),
        ("User lives in Lisbon.", "User lives in Porto."),
        ("User works at Beta.", "User works at Acme."),
        ("User is 41 years old.", "User is 40 years old."),
        ("User's name is Ida.", "User's name is Ada."),
        ("User no longer eats meat.", "User eats meat."),
        ("User works at Brightwell, not Brightwood.", "User works at Brightwood."),
        ("User is not going to the gym anymore.", "User goes to the gym."),
    ],
)
def test_what_cannot_hold_beside_a_memory_takes_its_place(said: str, known: str) -> None:
    found = decided(said, known)
    assert (found.action, found.target, found.text) == (FactAction.REVISE, 0, ""), found


@pytest.mark.req("P-17", "D-4")
@pytest.mark.parametrize(
    ("said", "known", "odds"),
    [
        ("The flight got moved to the 14th.", "User's flight to Tokyo is on Dec 12 at 9am.", 0.9),
        ("User quit Stripe.", "User finally got the job at Stripe, starting in March.", 0.0),
        ("User left Acme.", "User works at Acme as a welder.", 0.0),
        ("User moved to Bergen.", "User lives in Oslo with their sister Ida.", 0.0),
        ("User is not vegetarian anymore.", "User is vegetarian since new year because of a film.", 0.0),
    ],
)
def test_where_a_memory_says_more_the_new_words_are_put_behind_it(said: str, known: str, odds: float) -> None:
    found = decided(said, known, quote="so that is how it is now", odds=odds) if odds else decided(said, known)
    assert found.action is FactAction.REVISE
    assert found.text.startswith(known)
    assert ' On 2026-11-16: "' in found.text


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("User likes green tea.", "User likes coffee."),
        ("User's sister left Acme.", "User works at Beta."),
        ("User wants to move to Bergen.", "User lives in Oslo."),
        ("User does not work today.", "User works at Acme."),
        ("User's brother lives in Rome.", "User lives in Oslo."),
        ("User's parents moved, they live in Rome now.", "User lives in Oslo."),
        ("User visited Rome.", "User lives in Oslo."),
        ("User is not sure about dinner.", "User is allergic to nuts."),
        ("User plans to quit their job at the council next year (2027).", "User has a job at the council."),
        ("User is going to stop eating meat.", "User eats meat."),
        ("User's flight to Muscat leaves on May 22.", "User booked a flight to Muscat for May 22."),
    ],
)
def test_in_doubt_it_is_added(said: str, known: str) -> None:
    assert decided(said, known).action is FactAction.ADD


@pytest.mark.req("P-15")
def test_what_the_curator_is_sure_of_changes_a_memory_and_what_it_is_not_does_not() -> None:
    known = "User plays the oboe in the town band."
    assert decided("User hung up their mouthpiece.", known, odds=0.1).action is FactAction.ADD
    assert decided("User hung up their mouthpiece.", known, odds=0.8).action is FactAction.REVISE


@pytest.mark.req("P-15")
def test_every_memory_that_has_the_old_value_is_changed() -> None:
    new = New("User moved to Bergen.", "I moved to Bergen.", "2026-11-16")
    known = [
        KnownMemory("User lives in Oslo."),
        KnownMemory("User's sister lives in Oslo."),
        KnownMemory("User lives in Oslo with their sister Ida."),
        KnownMemory("User lives in Oslo.", is_others=True),
    ]
    main = decide_change(new, known)
    assert (main.action, main.target) == (FactAction.REVISE, 0)
    (other,) = also_changed(new, known, main)
    assert other.target == 2
    assert other.text == 'User lives in Oslo with their sister Ida. On 2026-11-16: "I moved to Bergen.".'


@pytest.mark.req("X-11")
def test_no_number_of_a_memory_is_lost_unless_it_is_the_one_that_changes() -> None:
    flight = "User's flight to Tokyo is on Dec 12 at 9am."
    found = decided("User's flight to Tokyo is in Dec.", flight, odds=0.95)
    assert found.action is FactAction.IGNORE or flight in found.text
    found = decided("User's flight to Tokyo is off.", flight, odds=0.95)
    assert found.text.startswith(flight)
    assert decided("User weighs 83 kg now.", "User weighs 85 kg.").text == "", "another amount replaces as a whole"


def test_a_plan_never_takes_the_place_of_what_holds_until_then() -> None:
    known = "User has a job at the council."
    found = decided("User plans to quit their job at the council.", known, odds=0.9)
    assert found.text.startswith(f"{known} On 2026-11-16: ")


def test_what_says_nothing_by_itself_is_not_added_and_may_still_change_something() -> None:
    new = New("So much for Iceland, we scrapped it.", day="2026-11-16", is_quote=True, adds=False)
    assert decide_change(new, [KnownMemory("User plans a trip to Iceland.")]).action is FactAction.IGNORE
    found = decide_change(new, [KnownMemory("User plans a trip to Iceland.", 0.8)])
    assert found.text == 'User plans a trip to Iceland. On 2026-11-16: "So much for Iceland, we scrapped it.".'
    assert decide_change(New("User got it."), []).action is FactAction.IGNORE


# --- amending and forgetting ------------------------------------------------------------------------------------------


@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=12))
@settings(max_examples=100)
def test_an_amended_memory_begins_as_it_did_and_does_not_grow_for_ever(memory: str, said: list[str]) -> None:
    text = memory
    for one in said:
        text = append_amendment(text, one, "2026-01-02")
    assert text.startswith(memory)
    assert len(text) <= max(MAX_CHARS, len(memory) + 150)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("what", "known", "meant"),
    [
        ("User loves jazz.", ["User loves jazz.", "User loves tea."], [0]),
        ("User's address.", ["User lives in Oslo.", "User loves tea."], [0]),
        ("User's job.", ["User lives in Oslo.", "User works at Acme."], [1]),
        ("User's dog.", ["User lives in Oslo.", "User's dog Rex is old."], [1]),
        ("User's yacht.", ["User lives in Oslo."], []),
    ],
)
def test_what_is_to_be_forgotten_is_found_by_its_words_or_by_what_it_names(
    what: str, known: list[str], meant: list[int]
) -> None:
    assert to_forget(what, known) == meant


class _FixedCurator:
    """Reads every list alike, and nothing else."""

    def __init__(self, *rows: Sequence[float]) -> None:
        self.rows = rows

    def read_words(self, _before: str, _words: Sequence[str]) -> Any:
        raise AssertionError("only lists are read")

    def read_list(self, _text: str, others: Sequence[str]) -> Any:
        return self.rows[: len(others)]

    def judge(self, _text: str) -> Any:
        raise AssertionError("only lists are read")


def test_several_memories_may_be_changed_by_one_message() -> None:
    curator = _FixedCurator([2.0, 0.0], [0.0, -1.0])
    odds = ENGLISH.changes.rate_changes("User moved to Bergen.", ["User lives in Oslo.", "User has a cat."], curator)
    assert odds == [pytest.approx(0.881, abs=0.001), 0.5]
    assert ENGLISH.changes.rate_changes("User moved to Bergen.", [], curator) == []


def test_a_language_that_the_curator_cannot_read_gets_no_odds_from_it() -> None:
    memories = ["Wohnt in Oslo.", "Hat eine Katze."]
    assert Neutral().changes.rate_changes("Zieht nach Bergen.", memories, _FixedCurator([9.0, 0.0])) == [0.0, 0.0]
