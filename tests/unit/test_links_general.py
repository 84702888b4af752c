"""A change told in any words is linked to the memory it is about, and nothing else is."""

from __future__ import annotations

import pytest

from memstone import Memory
from memstone.core.changes.linking import LEAST_COSINE, MARGIN, NEAR
from memstone.core.changes.pairing import Known
from memstone.core.changes.reconcile import decide
from memstone.core.changes.statement import understand
from memstone.core.rules.signals import BEGUN, DONE, EXCHANGED, NOW, OVER, signals_of
from memstone.core.rules.topics import topics_of
from memstone.testing.clock import FakeClock

HALF = 0.5


def decided(new: str, *known: str, cosine: float = HALF) -> tuple[str, int | None]:
    decision = decide(understand(new), [Known(understand(text), cosine) for text in known])
    return str(decision.action), decision.target


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("said", "signals"),
    [
        ("axed netflix after the price hike", {OVER}),
        ("jumped ship to tidal", {OVER}),
        ("we shifted all our deploys to fly.io", {EXCHANGED}),
        ("i report to marcus as of this week", {NOW}),
        ("the billing migration shipped", {DONE}),
        ("picked up a kindle", {BEGUN}),
        ("my sister is a vet", set()),
        ("she is asleep right now", set()),
    ],
)
def test_how_a_change_is_told(said: str, signals: set[str]) -> None:
    assert signals_of(said) == signals


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("one", "other", "topic"),
    [
        ("traded the civic in for a rav4", "user drives a honda civic", "car"),
        ("handed in my notice", "user works at deloitte", "work"),
        ("never touched a cigarette again", "user smokes half a pack a day", "smoking"),
        ("the alarm goes at 4:45", "user wakes up at 6:30", "wake"),
        ("two cappuccinos a day", "user drinks coffee", "caffeine"),
        ("the divorce went through", "user is married to helen", "love"),
    ],
)
def test_two_ways_to_speak_of_one_kind_of_thing(one: str, other: str, topic: str) -> None:
    assert topic in topics_of(one) & topics_of(other)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("User axed Netflix after the latest price hike.", "User subscribes to Netflix."),
        ("User jumped ship from spotify to Tidal.", "User subscribes to Spotify Premium."),
        ("User flogged the tower on eBay.", "User has a desktop gaming PC."),
        ("User reports to Marcus as of this week.", "User's manager is Deborah."),
        ("User is on Pacific time from now on.", "User is in the Eastern time zone."),
        ("Landlord bumped User up to a higher rent.", "User's rent is low."),
        ("The billing migration finally shipped.", "User is working on the billing migration project."),
        ("Kitchen is painted, sage green.", "User plans to repaint the kitchen."),
        ("User has gone right off horror films.", "User loves horror films."),
        ("No more keto for User, bread won.", "User follows a keto diet."),
    ],
)
def test_a_change_is_linked_to_what_it_changes(new: str, known: str) -> None:
    assert decided(new, known) == ("revise", 0)


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("User treated themselves to a second guitar, a Gretsch.", "User has a Fender Stratocaster."),
        ("User added Mubi to the pile.", "User subscribes to Netflix."),
        ("User opened a Monzo account, keeping the main one as is.", "User banks with Barclays."),
        ("User started seeing a physio for their shoulder.", "User's doctor is Dr. Mensah."),
        ("User's wife went for a Volvo XC40.", "User drives a Tesla Model 3."),
        ("User has not given up on buying a house.", "User rents a flat in Hull."),
        ("User used to live in Oslo.", "User moved to Bergen."),
        ("User's grandad hit 90 last weekend.", "User's grandfather was a miner."),
        ("The Volvo's MOT is due every November.", "User drives a Volvo."),
        ("User picked up a Kindle for the train rides.", "User commutes by train."),
        ("User's sister Maisie switched schools.", "User's sister is called Maisie."),
    ],
)
def test_what_comes_beside_something_changes_nothing(new: str, known: str) -> None:
    assert decided(new, known) == ("add", None)


@pytest.mark.req("P-17")
def test_a_change_needs_one_memory_that_is_near() -> None:
    new, known = understand("User flogged the tower."), understand("User has a desktop PC.")
    assert decide(new, [Known(known, HALF)]).linked
    assert decide(new, [Known(known, LEAST_COSINE - 0.01)]).target is None
    assert decide(new, [Known(known, HALF), Known(understand("User uses a laptop."), HALF + MARGIN / 2)]).target is None
    assert decide(new, [Known(known, HALF, fresh=True)]).target is None
    assert min(NEAR, key=lambda signal: NEAR[signal]) == OVER


@pytest.mark.req("P-17")
def test_somebody_is_known_by_name_from_another_memory() -> None:
    known = ["User's daughter is called Maisie.", "User's daughter goes to kindergarten."]
    assert decided("Maisie starts at primary school as of Monday.", *known) == ("revise", 1)


@pytest.mark.req("P-17")
def test_one_message_changes_one_memory_by_nearness_alone() -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        for text in ("User is a member at Planet Fitness.", "User lifts weights."):
            memory.add(text, user_id="u", infer=False)
        found = memory.add("switched gyms btw, I'm at Gold's now", user_id="u", infer=True)["results"]
        assert [one["event"] for one in found].count("ADD") < len(found)
        assert sum(one["event"] in {"UPDATE", "DELETE"} for one in found) == 1
        assert "User lifts weights." in [one["memory"] for one in memory.get_all(user_id="u")["results"]]
