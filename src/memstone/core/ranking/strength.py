"""Compute the strength of a memory from its age, its use and feedback."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from memstone.errors import ConfigError
from memstone.model.instant import Instant, datetime_from_instant

# --- how memories fade ------------------------------------------------------------------------------------------------


TIME_CONSTANT_DAYS: Final = 30.0
"""After so many days a memory has 1/e of its strength; half of it is left after 20.8."""

_DAY_SECONDS: Final = 86_400.0


class Strength(NamedTuple):
    """What is stored of a memory's strength: how much, from 0 to 1, and since when it fades."""

    base: float
    anchor: Instant


def time_constant(time_constant_days: float | None = None, half_life_days: float | None = None) -> float:
    """Return the time constant in days from whichever of the two is set; 30 when neither is."""
    if time_constant_days is not None and half_life_days is not None:
        raise ConfigError(
            "time_constant_days and half_life_days set the same thing",
            hint="set one of them: the half-life is 0.693 times the time constant",
        )
    if half_life_days is not None:
        return _validate_days(half_life_days, "half_life_days") / math.log(2)
    return _validate_days(
        TIME_CONSTANT_DAYS if time_constant_days is None else time_constant_days, "time_constant_days"
    )


def remaining_share(anchor: Instant, now: Instant, days: float | None = TIME_CONSTANT_DAYS) -> float:
    """Return which part is left of what was whole at ``anchor``: from 1 down towards 0.

    ``days`` is the time constant; None means that nothing fades. What is anchored in the future has not begun to.
    """
    if days is None or anchor >= now:
        return 1.0
    age = (datetime_from_instant(now) - datetime_from_instant(anchor)).total_seconds() / _DAY_SECONDS
    return math.exp(-age / days)


def current_strength(strength: Strength, now: Instant, days: float | None = TIME_CONSTANT_DAYS) -> float:
    """Return how strong a memory is now, from 0 to 1."""
    return _clamp_unit(strength.base) * remaining_share(strength.anchor, now, days)


def reinforce_strength(strength: Strength, now: Instant, boost: float = 0.0) -> Strength:
    """Return it after use, or after being told again: as strong as it ever was, and more by ``boost``.

    The anchor never moves back, so that uses which are recorded late, or twice, change nothing.
    """
    return Strength(_clamp_unit(_clamp_unit(strength.base) + boost), max(strength.anchor, now))


def _clamp_unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def _validate_days(days: float, name: str) -> float:
    if not (math.isfinite(days) and days > 0):
        raise ConfigError(f"{name} must be a number of days above 0, not {days!r}")
    return float(days)


# --- what a judgement does to the strength of a memory ----------------------------------------------------------------


BOOST: Final = 0.1
"""What one judgement of a person moves the strength by."""

USED: Final = 0.02
"""What it gains when an answer used it: uses are many, and nobody has said that they were right."""


def apply_judgement(strength: Strength, now: Instant, *, useful: bool) -> Strength:
    """Return it after somebody said whether a memory was useful. A bad one is weaker, and fades from where it stood."""
    if useful:
        return reinforce_strength(strength, now, BOOST)
    return Strength(max(0.0, min(1.0, strength.base) - BOOST), strength.anchor)


def apply_use(strength: Strength, now: Instant) -> Strength:
    """Return it after a memory was shown and an answer held what it says."""
    return reinforce_strength(strength, now, USED)
