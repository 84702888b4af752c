from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.errors import InvalidInput
from memstone.model.instant import datetime_from_instant, parse_when, to_instant

NOON = "2026-05-07T12:00:00.000000Z"
moments = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.timezones())  # noqa: DTZ001 - hypothesis adds the zone


@pytest.mark.parametrize(
    "given_time",
    [
        datetime(2026, 5, 7, 12, tzinfo=UTC),
        datetime(2026, 5, 7, 12),  # noqa: DTZ001 - without a time zone it means UTC
        datetime(2026, 5, 7, 14, tzinfo=timezone(timedelta(hours=2))),
        "2026-05-07T12:00:00Z",
        "2026-05-07T12:00:00",
        " 2026-05-07 12:00 ",
        "2026-05-07T14:00:00+02:00",
        NOON,
    ],
)
def test_whatever_way_a_time_is_written_it_is_stored_one_way(given_time: datetime | str) -> None:
    assert parse_when(given_time) == NOON


def test_a_day_is_its_beginning() -> None:
    assert parse_when(date(2026, 5, 7)) == parse_when("2026-05-07") == "2026-05-07T00:00:00.000000Z"


@pytest.mark.parametrize("wrong", ["", "soon", "2026-02-30", 7, None, True, [], "0001-01-01T00:00:00+14:00"])
def test_what_is_no_time_is_refused_with_an_example(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="as_of") as caught:
        parse_when(wrong, "as_of")  # type: ignore[arg-type]
    assert "2026-05-07T09:30:00Z" in caught.value.hint


def test_a_time_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidInput):
        parse_when(datetime.min.replace(tzinfo=timezone(timedelta(hours=14))))


@given(moments, moments)
def test_the_order_of_texts_is_the_order_of_times(one: datetime, other: datetime) -> None:
    left, right = to_instant(one), to_instant(other)
    assert len(left) == len(right) == 27
    assert (left < right) == (one.astimezone(UTC) < other.astimezone(UTC))


@given(moments)
def test_a_text_reads_back_as_the_same_moment(one: datetime) -> None:
    assert datetime_from_instant(to_instant(one)) == one.astimezone(UTC)
    assert parse_when(to_instant(one)) == to_instant(one)
