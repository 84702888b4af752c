from __future__ import annotations

from typing import Any

import pytest

from memstone import Settings
from memstone.core.checks.own_rules import MOST_RULES, PATTERN_CHARS, own_rules, runs_away
from memstone.errors import ConfigError
from memstone.language.en.changes import decide_change, parse_statement, slots_of
from memstone.language.en.facts import read_message
from memstone.language.en.own_prose import own_sentences
from memstone.language.en.slots import own_facts, own_values, shipped_slots
from memstone.model.fact import FactAction, KnownMemory, New
from memstone.model.policy import OwnRules
from tests.english import ENGLISH


def pattern(**changes: Any) -> dict[str, Any]:
    return {
        "match": r"badge (?P<value>\w+)",
        "fact": "{subject} has {value}",
        "category": "identity",
        "slot": "",
    } | changes


def slot(**changes: Any) -> dict[str, Any]:
    return {"name": "badge", "cardinality": "one", "patterns": []} | changes


@pytest.mark.parametrize(
    ("patterns", "slots", "problem", "advice"),
    [
        (
            [pattern(match="(")],
            [],
            "extract.patterns.0.match: is not a regular expression",
            "documentation of Python's re",
        ),
        ([pattern(), pattern(match="x*")], [], "extract.patterns.1.match: matches the empty text", "name the words"),
        ([pattern(match=r"a (\w+)+")], [], "extract.patterns.0.match: repeats a repetition", "{1,5}"),
        ([pattern(match="a" * (PATTERN_CHARS + 1))], [], "extract.patterns.0.match: has 1001 characters", "1000"),
        (
            [pattern(match="(?P<subject>a)")],
            [],
            "extract.patterns.0.match: a group is called 'subject'",
            "rename the group",
        ),
        ([pattern(fact="{who} has {value}")], [], "extract.patterns.0.fact: unknown field {who}", "{subject}, {value}"),
        ([pattern(fact="{value!r}")], [], "extract.patterns.0.fact: unknown field {value}", "named groups"),
        ([pattern(fact="{value.real}")], [], "extract.patterns.0.fact: unknown field {value.real}", "named groups"),
        ([pattern(fact="{}")], [], "extract.patterns.0.fact: unknown field {}", "named groups"),
        ([pattern(fact="{value")], [], "extract.patterns.0.fact: cannot be filled in", "double a brace"),
        ([pattern(fact=" ")], [], "extract.patterns.0.fact: is empty", "the sentence to store"),
        ([pattern(category="badge")], [], "extract.patterns.0.category: unknown category 'badge'", "identity, family"),
        ([pattern(slot="badge")], [], "extract.patterns.0.slot: there is no slot 'badge'", "reconcile.slots"),
        ([pattern(fact="{subject} has a badge", slot="badge")], [slot()], "does not contain the value", "{value}"),
        ([], [slot(), slot()], "reconcile.slots.1.name: 'badge' already exists", "its own name"),
        ([], [slot(name="home")], "reconcile.slots.0.name: 'home' is one of the shipped slots", "its own name"),
        ([], [slot(name="Badge number")], "reconcile.slots.0.name: 'Badge number' is not a valid name", "underscores"),
        ([], [slot(cardinality="two")], "reconcile.slots.0.cardinality: unknown cardinality 'two'", "'one' or 'many'"),
        ([], [slot(patterns=["badge"])], "reconcile.slots.0.patterns.0: has no value", "(?P<value>...)"),
        ([], [slot(patterns=["["])], "reconcile.slots.0.patterns.0: is not a regular expression", "Python's re"),
        ([pattern()] * (MOST_RULES + 1), [], "extract.patterns: has 201 entries", "200"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_by_name(
    patterns: list[dict[str, Any]], slots: list[dict[str, Any]], problem: str, advice: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.of({"extract": {"patterns": patterns}, "reconcile": {"slots": slots}})
    assert problem in caught.value.message
    assert caught.value.hint is not None
    assert advice in caught.value.hint
    assert caught.value.hint.startswith(("extract.patterns", "reconcile.slots"))


def test_without_rules_nothing_is_added() -> None:
    assert Settings().own_rules() == OwnRules() == Settings().as_policy().curation.own


def test_the_shipped_slots_are_those_that_sentences_fill() -> None:
    for text in ("User lives in Oslo.", "User works at Acme.", "User is 40 years old.", "User got married."):
        found = {one.slot for one in slots_of(parse_statement(text))}
        assert found
        assert found <= shipped_slots().keys()


@pytest.mark.parametrize(
    "repeated",
    [r"(a+)+", r"(\w+)*$", r"(?:\w+\s?)+x", r"((a+))+", r"(?:a|b+)*", r"(?:\s*\w+)+", r"(.*)+", r"(?:a{2,})+"],
)
def test_a_repetition_of_repetitions_runs_away(repeated: str) -> None:
    assert runs_away(repeated)
    assert runs_away(f"my badge is (?P<value>{repeated})")


@pytest.mark.parametrize(
    "bounded",
    [
        r"my (\w+)",
        r"(?:\w+ )+x",
        r"(?:, \w+)+",
        r"\w+(?:-\w+)*",
        r"[(+)]+",
        r"\(a+\)+",
        r"(?:\w+\s?){1,5}",
        r"(?=(a+))b+",
        r"(?:a++)+",
        r"(?#(a+)+)b",
    ],
)
def test_a_repetition_with_something_fixed_in_it_does_not(bounded: str) -> None:
    assert not runs_away(bounded)


def rules(*patterns: dict[str, Any], slots: tuple[dict[str, Any], ...] = ()) -> OwnRules:
    return own_rules(list(patterns), list(slots), ENGLISH.changes.list_known_slots())


def said(message: str, own: OwnRules, speaker: str = "") -> list[tuple[str, str]]:
    found = read_message(message, None, patterns=own.patterns, speaker=speaker)
    return [(one.text, message[one.start : one.end]) for one in found.facts]


def test_a_sentence_can_hold_a_pattern_twice() -> None:
    own = rules(pattern(match=r"badge (?P<value>[A-Z]\d)"))
    assert said("I lost badge A1 and badge B2.", own) == [("User has A1.", "badge A1"), ("User has B2.", "badge B2")]


def test_the_place_of_the_evidence_counts_from_the_start_of_a_very_long_message() -> None:
    own = rules(pattern())
    message = "It was a grey day.\n" * 4_000 + "I use badge A1."
    assert said(message, own) == [("User has A1.", "badge A1")]


def test_a_part_that_was_not_said_makes_no_fact() -> None:
    own = rules(
        pattern(match=r"badge(?: (?P<value>\d+))?(?: of (?P<team>\w+))?", fact="{subject} has {value} of {team}")
    )
    assert list(own_facts(own_sentences("I use badge 12."), own.patterns, "User")) == []
    assert said("I use badge 12 of Blue.", own) == [("User has 12 of Blue.", "badge 12 of Blue")]


def test_braces_in_what_is_said_are_only_text() -> None:
    own = rules(pattern(match=r"badge (?P<value>\S+)"))
    assert said("I use badge {subject}.", own) == [("User has {subject}.", "badge {subject}.")]


def test_one_value_of_many_replaces_nothing_and_is_nothing_new_the_second_time() -> None:
    own = rules(slots=(slot(name="key", cardinality="many", patterns=[r"key (?P<value>\w+)"]),))
    assert own_values("User has key red.", own.slots) == {"many:key": "red"}
    known = [KnownMemory("User has key red.")]
    assert decide_change(New("User has key blue.", own=own.slots), known).action is FactAction.ADD
    assert decide_change(New("User has key red.", own=own.slots), known).action is FactAction.IGNORE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("User's badge is A 1.", "a 1"),
        ("Ann Lee's badge is A 1", "a 1"),
        ("User's badge is A 1 (15 May 2026).", "a 1"),
        ("User's badge is not A 1.", ""),
        ("User's badge was A 1.", ""),
        ("So they say: User's badge is", ""),
    ],
)
def test_a_slot_is_recognised_by_the_form_of_the_kept_sentence(text: str, value: str) -> None:
    own = rules(pattern(fact="{subject}'s badge is {value}.", slot="badge"), slots=(slot(),))
    assert own_values(text, own.slots).get("badge", "") == value
