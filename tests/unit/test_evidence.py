from __future__ import annotations

import json
from typing import Any

import pytest

from memstone.core.llm.facts import Extraction, parse_extraction
from memstone.core.talk.evidence import Source
from memstone.model.message import Message


def read(*items: Any, said: str, before: tuple[str, ...] = ()) -> Extraction:
    earlier = [Message("user", text) for text in before]
    return parse_extraction(json.dumps({"facts": items}), [Message("user", said)], before=earlier)


def fact(text: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "turn": 1, "quote": quote, **more}


def test_every_place_of_a_quote_is_found() -> None:
    source = Source("tea, TEA and steak, then tea")
    assert [source.text[slice(*span)] for span in source.places("tea")] == ["tea", "TEA", "tea"]
    assert [source.text[slice(*span)] for span in source.places("tea ... tea")] == [
        "tea, TEA",
        "TEA and steak, then tea",
    ]
    assert list(source.places("")) == []
    assert list(source.places("coffee")) == []


@pytest.mark.req("R-32")
@pytest.mark.parametrize("quote", ["move to Oslo", "Should I move to Oslo", "", "Oslo"])
def test_a_question_is_no_evidence(quote: str) -> None:
    found = read(fact("User moves to Oslo.", quote), said="Should I move to Oslo?")
    assert (found.facts, found.dropped) == ([], {"question": 1})


@pytest.mark.req("R-32")
def test_what_is_asked_and_said_is_said() -> None:
    said = "Do you like tea? I like tea."
    (tea,) = read(fact("User likes tea.", "like tea"), said=said).facts
    assert said[tea.start - 2 : tea.end] == "I like tea"


@pytest.mark.req("R-32")
def test_a_statement_on_the_way_to_a_question_is_evidence() -> None:
    found = read(fact("User is vegetarian.", "I'm vegetarian"), said="I'm vegetarian, what can I cook?")
    assert [one.text for one in found.facts] == ["User is vegetarian."]


@pytest.mark.req("R-32")
@pytest.mark.parametrize("text", ["User's sister Ingrid moved to Rome.", "Ingrid moved to Rome."])
def test_a_name_comes_from_what_was_said_or_was_shown_and_from_nowhere_else(text: str) -> None:
    item = fact(text, "She moved to Rome")
    assert read(item, said="She moved to Rome.").dropped == {"no evidence": 1}
    assert read(item, said="She moved to Rome.", before=("My brother Tom is a doctor.",)).facts == []
    assert read(item, said="She moved to Rome.", before=("My sister Ingrid is a doctor.",)).facts
    assert read(item, said="She moved to Rome. Ingrid is happy.").facts


@pytest.mark.req("R-32")
def test_what_was_said_earlier_names_people_and_proves_nothing() -> None:
    item = fact("User's sister is a doctor.", "My sister is a doctor")
    assert read(item, said="Hello.", before=("My sister is a doctor.",)).dropped == {"no evidence": 1}


@pytest.mark.req("O-31")
@pytest.mark.parametrize("category", ["habit", "Habit", "pattern"])
def test_a_habit_has_the_name_the_rules_give_it(category: str) -> None:
    (found,) = read(fact("User runs every day.", "run every day", category=category), said="I run every day.").facts
    assert found.category == "pattern"
