"""What a judgement does to the strength of a memory."""

from __future__ import annotations

from typing import Final

from memstone.core.ranking.decay import Strength, reinforced
from memstone.model.instant import Instant

BOOST: Final = 0.1
"""What one judgement of a person moves the strength by."""

USED: Final = 0.02
"""What it gains when an answer used it: uses are many, and nobody has said that they were right."""


def judged(strength: Strength, now: Instant, *, useful: bool) -> Strength:
    """After somebody said whether a memory was useful. A bad one is weaker, and fades from where it stood."""
    if useful:
        return reinforced(strength, now, BOOST)
    return Strength(max(0.0, min(1.0, strength.base) - BOOST), strength.anchor)


def used(strength: Strength, now: Instant) -> Strength:
    """After a memory was shown and an answer held what it says."""
    return reinforced(strength, now, USED)
