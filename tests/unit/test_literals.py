"""The words that type checkers know are those that the engine knows."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, get_args

import pytest

from memstone import literals
from memstone.core.checks.arguments import CALLER_KINDS, WORDS
from memstone.core.prompt.profile import Visibility
from memstone.engine.search_request import SCOPES, checked_breadth
from memstone.model.access import Role, Verb
from memstone.model.context_gate import GateMode, Route
from memstone.model.event import EventType
from memstone.model.memory import Kind, Layer, Status
from memstone.model.policy import PRESETS


@pytest.mark.parametrize(
    ("words", "enumeration"),
    [
        (literals.EventName, EventType),
        (literals.GateName, GateMode),
        (literals.KindName, Kind),
        (literals.LayerName, Layer),
        (literals.RoleName, Role),
        (literals.RouteName, Route),
        (literals.StatusName, Status),
        (literals.VerbName, Verb),
        (literals.VisibilityName, Visibility),
    ],
)
def test_the_words_are_those_of_the_enumeration(words: Any, enumeration: type[StrEnum]) -> None:
    assert sorted(get_args(words)) == sorted(enumeration)


def test_the_words_of_arguments_are_those_that_are_taken() -> None:
    assert get_args(literals.CallerKind) == tuple(map(str, CALLER_KINDS))
    assert set(get_args(literals.PresetName)) == set(PRESETS)
    assert {checked_breadth(word) for word in get_args(literals.SearchScope)} == set(SCOPES)


def test_every_word_has_a_rule() -> None:
    assert "Strategy" in WORDS
    assert set(WORDS) == {name for name in vars(literals) if name[0].isupper()} - {"Literal", "TypeAlias"}
