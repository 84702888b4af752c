"""Compute how long to wait before a request is repeated."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

MAX_WAIT_SECONDS: Final = 60.0
"""Nobody waits longer; a service that asks for more is not asked again."""

JITTER: Final = 0.2
"""The share by which a pause may be longer, so that those who failed together do not come back together."""


def retry_pause(attempt: int, *, base: float, asked: float | None = None, most: float = MAX_WAIT_SECONDS) -> float:
    """Return the seconds to wait after the attempt of this number, of which 0 is the first.

    ``base`` is doubled with every attempt, and the pause is never shorter than the service ``asked`` for. At most
    ``most``, and up to a fifth longer than it would have to be.
    """
    least = min(most, max(base * 2.0**attempt, asked or 0.0))
    return min(most, least * random.uniform(1.0, 1.0 + JITTER))  # noqa: S311 - jitter, not a secret


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a service asks us to wait, where it says so in a form we know.

    The names of ``headers`` are in lower case. ``retry-after-ms`` is what some services of models send besides.
    """
    milliseconds = _parse_seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1_000
    text = headers.get("retry-after", "").strip()
    seconds = _parse_seconds(text)
    return _seconds_until(text) if seconds is None else seconds


def _parse_seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
