from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.ranking.strength import (
    Strength,
    current_strength,
    reinforce_strength,
    remaining_share,
    time_constant,
)
from memstone.errors import ConfigError
from memstone.model.instant import Instant, to_instant

START = datetime(2026, 5, 7, 9, 30, tzinfo=UTC)

ages = st.floats(-1000, 1000)
parts = st.floats(0, 1)


def day(number: float) -> Instant:
    return to_instant(START + timedelta(days=number))


def test_a_memory_fades_by_the_exponential_of_its_age() -> None:
    fresh = Strength(0.8, day(0))
    assert current_strength(fresh, day(0)) == 0.8
    assert current_strength(fresh, day(30)) == pytest.approx(0.8 / math.e)
    assert current_strength(fresh, day(90), days=90) == pytest.approx(0.8 / math.e)
    assert current_strength(fresh, day(0.5)) == pytest.approx(0.8 * math.exp(-0.5 / 30))


def test_without_a_time_constant_nothing_fades() -> None:
    assert current_strength(Strength(0.8, day(0)), day(10_000), days=None) == 0.8


def test_what_is_anchored_in_the_future_is_whole_and_never_more() -> None:
    assert remaining_share(day(10), day(0)) == 1.0
    assert current_strength(Strength(0.4, day(10)), day(0)) == 0.4


@pytest.mark.parametrize(("stored", "meant"), [(-0.5, 0.0), (1.5, 1.0)])
def test_a_strength_out_of_range_is_cut(stored: float, meant: float) -> None:
    assert current_strength(Strength(stored, day(0)), day(0)) == meant
    assert reinforce_strength(Strength(stored, day(0)), day(0)).base == meant


def test_a_half_life_is_another_way_to_say_the_time_constant() -> None:
    days = time_constant(half_life_days=30)
    assert current_strength(Strength(0.8, day(0)), day(30), days) == pytest.approx(0.4)
    assert time_constant(time_constant_days=30) == time_constant() == 30
    assert current_strength(Strength(1.0, day(0)), day(20.8)) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("inf")])
def test_a_time_that_cannot_be_is_refused(days: float) -> None:
    with pytest.raises(ConfigError, match="time_constant_days"):
        time_constant(time_constant_days=days)
    with pytest.raises(ConfigError, match="half_life_days"):
        time_constant(half_life_days=days)


def test_two_times_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match="the same thing"):
        time_constant(time_constant_days=30, half_life_days=20)


def test_use_makes_a_memory_as_strong_as_it_was() -> None:
    used = reinforce_strength(Strength(0.6, day(0)), day(60))
    assert used == Strength(0.6, day(60))
    assert current_strength(used, day(60)) == 0.6


def test_a_use_that_is_recorded_late_moves_nothing_back() -> None:
    assert reinforce_strength(Strength(0.6, day(60)), day(10)) == Strength(0.6, day(60))


def test_being_told_again_lifts_a_memory_up_to_one() -> None:
    assert reinforce_strength(Strength(0.6, day(0)), day(1), boost=0.1).base == pytest.approx(0.7)
    assert reinforce_strength(Strength(0.95, day(0)), day(1), boost=0.1).base == 1.0


@given(parts, ages, ages, st.floats(0.1, 1000))
def test_a_memory_is_never_stronger_than_stored_and_never_grows_by_waiting(
    base: float, one: float, other: float, days: float
) -> None:
    strength = Strength(base, day(0))
    sooner, later = sorted((one, other))
    assert 0.0 <= current_strength(strength, day(later), days) <= current_strength(strength, day(sooner), days) <= base
