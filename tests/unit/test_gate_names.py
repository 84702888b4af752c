"""Names that are known open the gate, where they are meant as names."""

from __future__ import annotations

import pytest

from memstone.core.gate import decide_route
from memstone.language.en.gate.people import SHORTEST_NAME
from memstone.model.context_gate import Route
from tests.english import ENGLISH


def route(message: str, *names: str) -> Route:
    return decide_route(message, ENGLISH, names=names).route


@pytest.mark.req("S-27")
def test_a_known_name_counts_in_either_case_and_with_several_words() -> None:
    assert route("is quillfeather ready", "Quillfeather") is Route.PINNED
    assert decide_route("How big is BLUE HERON now?", ENGLISH, names=["Blue Heron"]).matched == "Blue Heron"


@pytest.mark.req("S-27")
def test_a_name_counts_as_a_word_and_not_within_another() -> None:
    assert route("What is a carpenter bee?", "Carpe") is Route.NONE


@pytest.mark.req("S-27")
def test_short_names_are_left_out() -> None:
    assert route("Define ohm", "ohm") is Route.NONE
    assert len("ohm") < SHORTEST_NAME


@pytest.mark.req("S-27")
def test_a_name_that_is_a_word_counts_only_where_it_is_written_as_a_name() -> None:
    assert route("will it rain in Norway", "Will") is Route.NONE
    assert route("Define hope", "Hope") is Route.NONE
    assert decide_route("Is it Will who called?", ENGLISH, names=["Will"]).matched == "Will"


def test_names_in_a_text_that_is_handed_over_do_not_count() -> None:
    assert route('Translate "Quillfeather sleeps" into Dutch', "Quillfeather") is Route.NONE
