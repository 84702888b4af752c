"""Plans and offers: they end nothing that holds, and the fact takes their place."""

from __future__ import annotations

import pytest

from memstone.core.changes.reconcile import Action, Decision, Known, decide
from memstone.core.changes.statement import understand


def settled(new: str, *known: str, cosine: float = 0.7) -> Decision:
    return decide(understand(new), [Known(understand(text), cosine) for text in known])


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    "text",
    [
        "User is moving to Paris next month.",
        "I'm starting at Apple in September",
        "User is going to buy a Tesla.",
        "User has an offer from Apple.",
        "User will move to Lyon.",
        "We are getting a dog next week",
        "User starts at Lidl on Monday.",
        "Aldi offered me a job",
        "User is about to leave Google.",
    ],
)
def test_what_is_not_so_yet_is_ahead(text: str) -> None:
    assert understand(text).ahead


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    "text",
    [
        "User moved to Paris last month.",
        "User started at Apple last week.",
        "User is training for a marathon in October.",
        "User is studying for an exam on Monday.",
        "User accepted an offer from Apple.",
        "I'll be honest, I live in Oslo",
        "User works at Google.",
        "User's exam is on Monday.",
    ],
)
def test_what_holds_or_has_happened_is_not_ahead(text: str) -> None:
    assert not understand(text).ahead


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User is moving to Paris next month.", "User lives in Oslo."),
        ("User is starting at Apple in September.", "User works at Google."),
        ("User is going to buy a Tesla.", "User drives a Toyota."),
        ("User has an offer from Apple.", "User works at Google."),
        ("User's brother is moving to Bonn in May.", "User's brother lives in Kiel."),
        ("User will work as a nurse.", "User works as a waiter."),
    ],
)
def test_a_plan_changes_nothing_that_holds(new: str, memory: str) -> None:
    assert settled(new, memory).action is Action.ADD


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User moved to Paris.", "User is moving to Paris next month."),
        ("User bought a Tesla.", "User is going to buy a Tesla."),
        ("User visited Rome.", "User is going to visit Rome."),
        ("User learned Spanish.", "User wants to learn Spanish."),
        ("User works at Apple.", "User is starting at Apple in September."),
        ("User moved to Paris last month.", "User lives in Oslo."),
        ("User is moving to Bonn in May.", "User is moving to Kiel in May."),
    ],
)
def test_the_fact_takes_the_place_of_the_plan(new: str, memory: str) -> None:
    assert settled(new, memory).action is Action.REVISE


@pytest.mark.req("P-17")
def test_what_holds_does_not_end_a_plan_with_another_value() -> None:
    assert settled("User drives a Toyota.", "User is going to buy a Tesla.").action is Action.ADD


@pytest.mark.req("P-17")
def test_a_plan_that_is_told_again_is_known() -> None:
    assert settled("User is going to visit Rome.", "User plans to visit Rome.").action is Action.IGNORE


@pytest.mark.req("P-17")
def test_an_old_home_ends_though_the_new_one_was_planned() -> None:
    decision = settled("User moved to Paris.", "User lives in Oslo.", "User is moving to Paris next month.")
    assert decision.action is Action.REVISE
    assert decision.target == 0


@pytest.mark.req("P-17")
def test_an_appointment_that_will_be_on_another_day_is_moved() -> None:
    assert settled("User's exam will be on Friday.", "User's exam is on Monday.").action is Action.REVISE


@pytest.mark.req("P-17")
def test_a_coarser_day_is_no_other_day() -> None:
    assert settled("User's birthday is in May.", "User's birthday is on 3 May.").action is not Action.REVISE


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory", "action"),
    [
        ("User's doctor is Dr. Jones.", "User's doctor is Dr. Smith.", Action.REVISE),
        ("User's boss is Mr. Chen.", "User's boss is Mrs. Diaz.", Action.REVISE),
        ("User's tutor is Prof. Lee.", "User's tutor is Prof. Kim.", Action.REVISE),
        ("User's doctor is Smith.", "User's doctor is Dr. Smith.", Action.IGNORE),
        ("User's doctor is Dr Smith.", "User's doctor is Dr. Smith.", Action.IGNORE),
        ("User's vet is Dr. Jones.", "User's doctor is Dr. Smith.", Action.ADD),
    ],
)
def test_a_title_is_no_name(new: str, memory: str, action: Action) -> None:
    assert settled(new, memory, cosine=0.6).action is action
