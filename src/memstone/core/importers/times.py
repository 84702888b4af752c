"""Points in time as other systems write them; what cannot be read is no time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from memstone.errors import InvalidInput
from memstone.model.instant import Instant, instant, parse_when

_LATEST_SECONDS: Final = 1e11
"""The year 5138: a larger number counts smaller units."""

_NUMBER: Final = re.compile(r"-?\d{9,19}(?:\.\d{1,9})?")


def when(value: object) -> Instant | None:
    """ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970; None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _since_1970(float(value))
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        return parse_when(value.strip().removesuffix(" UTC"))
    except InvalidInput:
        return None


def first(*values: object) -> Instant | None:
    """The first of these that is a time."""
    return next((found for value in values if (found := when(value)) is not None), None)


def _since_1970(value: float) -> Instant | None:
    while abs(value) > _LATEST_SECONDS:
        value /= 1000
        if value in (float("inf"), float("-inf")):
            return None
    try:
        return instant(datetime.fromtimestamp(value, UTC))
    except (OverflowError, ValueError, OSError):
        return None
