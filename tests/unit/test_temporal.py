from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.en.dates import annotate_relative_dates, date_words, note_day, query_range, resolve_dates
from memstone.language.text.dates import Grain, TimeRef
from tests.patience import at_most

SAID = datetime(2026, 5, 7, 10, tzinfo=UTC)  # a Thursday
BERLIN = ZoneInfo("Europe/Berlin")
TABLE = Path(__file__).parent.parent / "data" / "temporal" / "phrases.tsv"
ROWS = [line.split("|") for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def only(text: str, said_at: datetime = SAID, tz: timezone | ZoneInfo = UTC) -> TimeRef:
    refs = resolve_dates(text, said_at, tz)
    assert len(refs) == 1
    return refs[0]


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len({row[1].lower() for row in ROWS}) >= 120


@pytest.mark.parametrize(("text", "phrase", "first", "last", "grain", "relative"), ROWS, ids=[row[0] for row in ROWS])
def test_a_phrase_means_its_days(text: str, phrase: str, first: str, last: str, grain: str, relative: str) -> None:
    ref = only(text)
    assert (ref.phrase, str(ref.first), str(ref.last), ref.grain.value) == (phrase, first, last, grain)
    assert text[ref.start : ref.end] == phrase
    assert ref.relative == (relative == "r")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "My daughter is a 5-year-old.",
        "He is 30 years old and has been here for 3 years.",
        "In 5 years old terms",
        "You may come in. May I ask why?",
        "This may take long",
        "Only 3 may enter, and the 2nd may be late",
        "We march for peace; may 3 people come?",
        "They march 3 miles",
        "April called me and June laughed",
        "I play tennis every Monday and each Friday",
        "I go on Mondays",
        "Black Friday deals",
        "The sun sat low; we wed",
        "I finished it in three days",
        "I ran it 3 times in a week",
        "The next week was better, and the next day too",
        "The last week of school",
        "I wrote it in 2000 words",
        "Room 2019 and order 20230507",
        "Version 2023.5 at 10:30",
        "32 May, 31 June and 2023-13-45",
        "I was there 9999 years ago",
        "I fell in the mud and can spring back",
        "The last time and the last minute",
        "The Monday meeting",
        "I saw him 2-3 weeks ago, or two or three weeks ago",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert resolve_dates(text, SAID) == []
    assert annotate_relative_dates(text, SAID) == text


def test_several_times_are_found_in_order() -> None:
    refs = resolve_dates(
        "Yesterday I booked a flight for next Friday; in 2019 it was cheaper than on May 3, 2023.", SAID
    )
    assert [ref.phrase for ref in refs] == ["Yesterday", "next Friday", "2019", "May 3, 2023"]


# --- where and when it was said ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said_at", "zone", "yesterday"),
    [
        ("2026-05-07T23:30:00+02:00", "Europe/Berlin", "2026-05-06"),
        ("2026-05-07T21:30:00+00:00", "Europe/Berlin", "2026-05-06"),
        ("2026-05-07T22:30:00+00:00", "Europe/Berlin", "2026-05-07"),
        ("2026-05-07T23:30:00-07:00", "America/Los_Angeles", "2026-05-06"),
        ("2026-05-08T06:30:00+00:00", "America/Los_Angeles", "2026-05-06"),
        ("2026-05-07T12:30:00+00:00", "Pacific/Auckland", "2026-05-07"),
        ("2026-05-07T23:30:00", "UTC", "2026-05-06"),
    ],
)
def test_the_day_is_the_day_where_it_was_said(said_at: str, zone: str, yesterday: str) -> None:
    ref = only("I saw her yesterday", datetime.fromisoformat(said_at), ZoneInfo(zone))
    assert str(ref.first) == yesterday


def test_hours_are_counted_through_a_change_of_the_clocks() -> None:
    # On 29 March 2026 the clocks went from 2:00 to 3:00: three hours before 3:30 it was 23:30 the day before.
    said_at = datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN)
    assert only("I ate 3 hours ago", said_at, BERLIN).first == date(2026, 3, 28)
    assert only("I ate 2 hours ago", said_at, BERLIN).first == date(2026, 3, 29)


@pytest.mark.parametrize(
    ("said_at", "text", "first", "last"),
    [
        ("2026-03-31", "It broke a month ago", "2026-02-01", "2026-02-28"),
        ("2026-01-31", "I will move in one month", "2026-02-01", "2026-02-28"),
        ("2024-02-29", "It broke last year", "2023-01-01", "2023-12-31"),
        ("2024-02-29", "It broke a year ago today", "2023-02-28", "2023-02-28"),
        ("2024-02-29", "It broke yesterday", "2024-02-28", "2024-02-28"),
        ("2024-03-01", "It broke yesterday", "2024-02-29", "2024-02-29"),
        ("2024-03-05", "It broke last month", "2024-02-01", "2024-02-29"),
        ("2026-01-01", "It broke yesterday", "2025-12-31", "2025-12-31"),
        ("2026-01-01", "It broke last month", "2025-12-01", "2025-12-31"),
        ("2026-01-01", "It broke last week", "2025-12-22", "2025-12-28"),
        ("2025-12-31", "We leave next week", "2026-01-05", "2026-01-11"),
        ("2025-12-31", "We leave tomorrow", "2026-01-01", "2026-01-01"),
        ("2026-01-15", "We met last winter", "2024-12-01", "2025-02-28"),
        ("2026-01-15", "We met this winter", "2025-12-01", "2026-02-28"),
        ("2026-10-15", "We met last summer", "2026-06-01", "2026-08-31"),
        ("2026-05-09", "We hiked last weekend", "2026-05-02", "2026-05-03"),
        ("2026-05-10", "We hiked this weekend", "2026-05-09", "2026-05-10"),
        ("2026-05-10", "I saw her last Sunday", "2026-05-03", "2026-05-03"),
        ("2026-05-10", "I saw her this week", "2026-05-04", "2026-05-10"),
        ("2026-12-20", "I will start in January", "2027-01-01", "2027-01-31"),
        ("2026-01-20", "I started in December", "2025-12-01", "2025-12-31"),
    ],
)
def test_ends_of_weeks_months_and_years(said_at: str, text: str, first: str, last: str) -> None:
    ref = only(text, datetime.fromisoformat(said_at))
    assert (str(ref.first), str(ref.last)) == (first, last)


@pytest.mark.parametrize("year", [1, 9998, 9999])
def test_the_ends_of_time_do_no_harm(year: int) -> None:
    said_at = datetime(year, 1, 1, 12, tzinfo=UTC)
    for text in ("yesterday", "last year", "20 years ago", "in 20 years", "next summer", "last Monday", "in May"):
        annotate_relative_dates(f"I went there {text}", said_at)
        query_range(f"what happened {text}?", said_at)


# --- dates beside the words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "grounded"),
    [
        ("User moved to Oslo last week.", "User moved to Oslo last week (week of 27 April 2026)."),
        ("User met Ann yesterday.", "User met Ann yesterday (6 May 2026)."),
        ("User quit last month", "User quit last month (April 2026)"),
        ("User quit last year, in Rome", "User quit last year (2025), in Rome"),
        ("User hiked last weekend", "User hiked last weekend (weekend of 2 May 2026)"),
        ("User met Ann last summer", "User met Ann last summer (June 2025 to August 2025)"),
        ("User met Ann the other day", "User met Ann the other day (30 April 2026 to 6 May 2026)"),
        ("yesterday's talk was long", "yesterday's (6 May 2026) talk was long"),
        ("User moved in March", "User moved in March (March 2026)"),
        ("User moved on May 3", "User moved on May 3 (3 May 2026)"),
        ("User's birthday is May 3", "User's birthday is May 3"),
        ("User moved on May 3, 2023", "User moved on May 3, 2023"),
        ("User has lived there since 2019", "User has lived there since 2019"),
        ("Met Ann yesterday and Bob last year", "Met Ann yesterday (6 May 2026) and Bob last year (2025)"),
        ("They visited in 2022, during the winter", "They visited in 2022, during the winter"),
        ("I worked there from May to July 2021", "I worked there from May to July 2021"),
        ("User moved last week (week of 27 April 2026)", "User moved last week (week of 27 April 2026)"),
    ],
)  # fmt: skip
def test_relative_phrases_get_their_date(text: str, grounded: str) -> None:
    assert annotate_relative_dates(text, SAID) == grounded


def test_the_day_beside_the_words_is_the_day_of_the_place() -> None:
    late = datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
    assert annotate_relative_dates("User moved last week.", late) == "User moved last week (week of 2 March 2026)."
    assert annotate_relative_dates("User moved today.", late, BERLIN) == "User moved today (10 March 2026)."


def test_a_day_without_a_year_that_the_verb_sends_far_away_gets_no_year() -> None:
    """A verb in the past beside a day that is near ahead: nobody knows which of the two years is meant (L-28)."""
    said_at = datetime(2026, 10, 2, 9, tzinfo=UTC)
    assert annotate_relative_dates("User switched the bib to the 10k, October 18.", said_at).endswith("October 18.")
    assert "(18 September 2026)" in annotate_relative_dates("User ran the 10k on September 18.", said_at)


def test_what_holds_only_around_a_day_names_it() -> None:
    assert note_day("User is in Ostend at the moment.", SAID) == "User is in Ostend at the moment (said on 7 May 2026)."
    assert note_day("User plans to learn chess.", SAID).endswith("learn chess (said on 7 May 2026).")
    for settled in ("User plays chess.", "User is in Ostend until 25 August."):
        assert note_day(settled, SAID) == settled
    once = note_day("User is in Ostend at the moment.", SAID)
    assert note_day(once, SAID + timedelta(9)) == once


@pytest.mark.parametrize("text", [row[0] for row in ROWS])
def test_dates_are_written_once(text: str) -> None:
    once = annotate_relative_dates(text, SAID)
    assert annotate_relative_dates(once, SAID) == once
    assert (once == text) == (not only(text).relative)


@given(st.lists(st.sampled_from([row[0] for row in ROWS] + ["and", ".", "(", ")", "\n", "on", "May"]), max_size=5))
def test_dates_are_written_once_in_longer_texts(parts: list[str]) -> None:
    once = annotate_relative_dates(" ".join(parts), SAID)
    later = annotate_relative_dates(once, SAID + timedelta(40))
    assert annotate_relative_dates(later, SAID) == later


@given(st.text(), st.datetimes(timezones=st.just(UTC)))
def test_no_text_is_too_strange(text: str, said_at: datetime) -> None:
    for sentence in (text, f"last week {text} on Monday, {text} May 3", f"{text}in {text} 3 days ago{text}"):
        refs = resolve_dates(sentence, said_at)
        assert all(ref.first <= ref.last and sentence[ref.start : ref.end] == ref.phrase for ref in refs)
        annotate_relative_dates(sentence, said_at)
        query_range(sentence, said_at)


@pytest.mark.parametrize(
    "piece", ["in ", "a ", "last ", "the ", "may ", "on Monday ", "2019 ", "1", " ", "3 days ", "May 3 ", "'"]
)
def test_long_hostile_text_takes_no_unreasonable_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    with at_most(20):
        assert len(annotate_relative_dates(text, SAID)) >= len(text)


# --- words for the index, and questions -------------------------------------------------------------------------------


def test_times_are_named_for_the_full_text() -> None:
    refs = resolve_dates("I moved yesterday, not last month or in 2019; yesterday!", SAID)
    assert date_words(refs) == "6 May 2026 Wednesday 2026-05-06 April 2026 2019"
    assert date_words([]) == ""


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("what did we talk about last week?", "2026-04-27", "2026-05-04"),
        ("what happened in May 2023", "2023-05-01", "2023-06-01"),
        ("yesterday", "2026-05-06", "2026-05-07"),
        ("What did I say on Monday?", "2026-05-04", "2026-05-05"),
        ("notes from Friday", "2026-05-01", "2026-05-02"),
        ("what am I doing tomorrow?", "2026-05-08", "2026-05-09"),
        ("What will I do on Monday?", "2026-05-11", "2026-05-12"),
        ("trips in June", "2025-06-01", "2025-07-01"),
        ("everything since 2019", "2019-01-01", "2026-05-08"),
        ("what changed between May and July 2023?", "2023-05-01", "2023-08-01"),
        ("what changed between May 2023 and July 2023?", "2023-05-01", "2023-08-01"),
        ("what happened from November to February 2021?", "2020-11-01", "2021-03-01"),
        ("what did I do after March 2026?", "2026-04-01", "2026-05-07T10:00"),
        ("where did I live before 2020?", "0001-01-01", "2020-01-01"),
    ],
)
def test_a_question_asks_about_a_time(query: str, start: str, end: str) -> None:
    expected = tuple(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end))
    assert query_range(query, SAID) == expected


@pytest.mark.parametrize("query", ["", "where do I live?", "what may I eat?", "how old is my 5-year-old?"])
def test_a_question_without_a_time_has_no_range(query: str) -> None:
    assert query_range(query, SAID) is None


def test_a_day_of_a_question_is_a_day_of_the_place() -> None:
    # The 29th of March had 23 hours in Berlin.
    found = query_range("what did I do yesterday?", datetime(2026, 3, 30, 8, tzinfo=UTC), BERLIN)
    assert found == (datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC))


def test_grains_are_plain_words() -> None:
    assert only("I met her last week").grain == "week"
    assert {grain.value for grain in Grain} >= {row[4] for row in ROWS}
