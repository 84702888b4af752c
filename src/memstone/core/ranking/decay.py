"""How memories fade: worked out when they are read, never written back.

A memory keeps two things, its strength (``base``) and when that was last renewed (``anchor``). What is left of it at
some time is ``base * exp(-age / time constant)``. Nothing but use, new evidence and promotion moves the two, so it does
not matter how often somebody looks, or how often a background pass runs.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from memstone.errors import ConfigError
from memstone.model.instant import Instant, moment

TIME_CONSTANT_DAYS: Final = 30.0
"""After so many days a memory has 1/e of its strength; half of it is left after 20.8."""

_DAY_SECONDS: Final = 86_400.0


class Strength(NamedTuple):
    """What is stored of a memory's strength: how much, from 0 to 1, and since when it fades."""

    base: float
    anchor: Instant


def time_constant(time_constant_days: float | None = None, half_life_days: float | None = None) -> float:
    """The time constant in days from whichever of the two is set; 30 when neither is."""
    if time_constant_days is not None and half_life_days is not None:
        raise ConfigError(
            "time_constant_days and half_life_days say the same thing twice",
            hint="keep one: the half-life is 0.693 of the time constant",
        )
    if half_life_days is not None:
        return _positive(half_life_days, "half_life_days") / math.log(2)
    return _positive(TIME_CONSTANT_DAYS if time_constant_days is None else time_constant_days, "time_constant_days")


def left(anchor: Instant, now: Instant, days: float | None = TIME_CONSTANT_DAYS) -> float:
    """Which part is left of what was whole at ``anchor``: from 1 down towards 0.

    ``days`` is the time constant; None means that nothing fades. What is anchored in the future has not begun to.
    """
    if days is None or anchor >= now:
        return 1.0
    age = (moment(now) - moment(anchor)).total_seconds() / _DAY_SECONDS
    return math.exp(-age / days)


def effective(strength: Strength, now: Instant, days: float | None = TIME_CONSTANT_DAYS) -> float:
    """How strong a memory is now, from 0 to 1."""
    return _clamped(strength.base) * left(strength.anchor, now, days)


def reinforced(strength: Strength, now: Instant, boost: float = 0.0) -> Strength:
    """After use, or after being told again: as strong as it ever was, and more by ``boost``.

    The anchor never moves back, so that uses which are recorded late, or twice, change nothing.
    """
    return Strength(_clamped(_clamped(strength.base) + boost), max(strength.anchor, now))


def promoted(strength: Strength, now: Instant, boost: float, days: float | None = TIME_CONSTANT_DAYS) -> Strength:
    """Stronger by ``boost`` than it is now, without counting as used.

    With a boost of 0 this only says the same thing as of another day: from there it fades as it would have.
    """
    if strength.anchor >= now:
        return Strength(_clamped(_clamped(strength.base) + boost), strength.anchor)
    return Strength(_clamped(effective(strength, now, days) + boost), now)


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))


def _positive(days: float, name: str) -> float:
    if not (math.isfinite(days) and days > 0):
        raise ConfigError(f"{name} must be a number of days above 0, not {days!r}")
    return float(days)
