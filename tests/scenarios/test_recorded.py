"""Chats with a strong model's recorded answers: what of them is stored, in which words, and what that costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.replay import Played, play_all, read_recording


@pytest.fixture(scope="module")
def played() -> list[Played]:
    return play_all()


@pytest.mark.req("R-32", "X-11")
def test_what_is_worth_knowing_is_stored_and_nothing_is_garbled(played: list[Played]) -> None:
    assert sum(one.stored for one in played) >= 0.95 * sum(one.worth for one in played)
    assert {one.name: one.garbled for one in played if one.garbled} == {}


@pytest.mark.req("R-32")
def test_other_numbers_opposites_and_strangers_illnesses_are_doubted(played: list[Played]) -> None:
    """What the conversation contradicts in its words; whom a model takes for the user, no check of words can tell."""
    first = [one for one in played if one.name in ("dev-ravi", "haruka", "joachim", "marit")]
    assert {one.name: one.let_through + one.wrongly_known for one in first} == {one.name: [] for one in first}


@pytest.mark.req("R-32")
def test_a_strong_models_right_answers_are_neither_dropped_nor_doubted(played: list[Played]) -> None:
    operations = sum(len(one.memories) for one in played)
    assert sum(len(one.rejected) for one in played) <= 0.05 * operations, [one.rejected for one in played]
    assert {one.name: one.not_shown for one in played if one.not_shown} == {}, "what is meant is among what is shown"


@pytest.mark.req("N-33", "C-22")
def test_an_add_costs_one_question_whose_beginning_never_changes(played: list[Played]) -> None:
    adds, calls = sum(one.adds for one in played), sum(one.calls for one in played)
    assert calls <= 1.1 * adds
    assert sum(one.tokens_in for one in played) <= 1_800 * adds
    assert sum(one.tokens_fixed for one in played) >= 1_024 * calls


def test_a_recording_that_cannot_be_read_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.rec"
    path.write_text("@@ c1 | 2026-01-01 10:00\nU: hello\nOP {not json}\n")
    with pytest.raises(ValueError, match=r"bad\.rec:3"):
        read_recording(path)
