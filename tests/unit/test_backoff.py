"""Pauses between attempts: they grow, differ, are as long as a service asks for, and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.backoff import JITTER, MAX_WAIT_SECONDS, parse_retry_after, retry_pause

pytestmark = pytest.mark.req("C-53")


@given(st.integers(0, 40), st.floats(0, 10), st.one_of(st.none(), st.floats(0, 10_000)), st.floats(0.1, 100))
def test_a_pause_is_long_enough_and_never_too_long(attempt: int, base: float, asked: float | None, most: float) -> None:
    pause = retry_pause(attempt, base=base, asked=asked, most=most)
    least = min(most, max(base * 2.0**attempt, asked or 0.0))
    assert least <= pause <= min(most, least * (1 + JITTER)) + 1e-9


def test_pauses_double_and_stay_within_a_minute() -> None:
    pauses = [retry_pause(attempt, base=1.0) for attempt in range(10)]
    assert [int(pause) for pause in pauses[:3]] == [1, 2, 4]
    assert max(pauses) == MAX_WAIT_SECONDS


def test_those_who_failed_together_do_not_come_back_together() -> None:
    assert len({retry_pause(0, base=1.0) for _ in range(20)}) > 10


@pytest.mark.parametrize(
    ("header", "seconds"), [("2", 2.0), ("0.5", 0.5), ("-3", 0.0), ("nan", None), ("inf", None), ("soon", None)]
)
def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": header}) == seconds


def test_retry_after_in_milliseconds_is_the_more_exact_one() -> None:
    assert parse_retry_after({"retry-after-ms": "50", "retry-after": "1"}) == 0.05
    assert parse_retry_after({"retry-after-ms": "soon", "retry-after": "1"}) == 1.0


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    asked = parse_retry_after({"retry-after": later})
    assert asked is not None
    assert 3000 < asked <= 3600
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert parse_retry_after({}) is None
