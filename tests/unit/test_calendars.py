"""Days and months in languages besides English."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memstone.language.en.dates import asked_days
from memstone.language.text.calendars import find_named_times, looks_ahead, remove_times

TODAY = date(2026, 11, 18)


def times(text: str) -> list[list[str]]:
    return [[f"{one.first}/{one.last}" for one in named.times] for named in find_named_times(text, TODAY)]


@pytest.mark.parametrize(
    "text",
    [
        "Was war am 14. März 2025?",
        "Que s'est-il passé le 14 mars 2025 ?",
        "¿Qué pasó el 14 de marzo de 2025?",
        "Cosa è successo il 14 marzo 2025?",
        "O que aconteceu a 14 de março de 2025?",
        "Wat deed ik op 14 maart 2025?",
        "2025年3月14日に何をしましたか?",
        "二〇二五年就不说了,2025年三月十四日发生了什么?",
        "Was geschah am 14.03.2025?",
    ],
)
def test_a_day_with_its_year_is_certain(text: str) -> None:
    assert times(text) == [["2025-03-14/2025-03-14"]]


@pytest.mark.parametrize(
    "text",
    [
        "Was haben wir im März besprochen?",
        "De quoi avons-nous parlé en mars ?",
        "¿De qué hablamos en marzo?",
        "Di cosa abbiamo parlato a marzo?",
        "De que falámos em março?",
        "Wat hebben we in maart besproken?",
        "3月に何を話しましたか?",
        "三月我们聊了什么?",
    ],
)
def test_a_month_without_a_year_is_the_last_or_the_next_one(text: str) -> None:
    assert times(text) == [["2026-03-01/2026-03-31", "2027-03-01/2027-03-31"]]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Was habe ich gestern gesagt?", "2026-11-17/2026-11-17"),
        ("Qu'est-ce que j'ai dit hier ?", "2026-11-17/2026-11-17"),
        ("¿Qué dije la semana pasada?", "2026-11-09/2026-11-15"),
        ("Cosa ho detto il mese scorso?", "2026-10-01/2026-10-31"),
        ("O que disse no ano passado?", "2025-01-01/2025-12-31"),
        ("Wat zei ik afgelopen maandag?", "2026-11-16/2026-11-16"),
        ("先週の月曜日に何を言いましたか?", "2026-11-09/2026-11-09"),
        ("上周末我做了什么?", "2026-11-14/2026-11-15"),
    ],
)
def test_words_for_the_past_are_seen_from_today(text: str, days: str) -> None:
    assert times(text) == [[days]]


@pytest.mark.parametrize(
    "text",
    [
        "Was gibt es hier?",  # "hier" is French for yesterday
        "Was mache ich am Montag?",
        "What did we do in April?",
        "I ate mayo and 14 Mars bars.",
        "¿Qué pasó el 30 de febrero?",
        "13月に何をしましたか?",
        "Что было в марте?",
    ],
)
def test_what_is_no_certain_time_of_the_past_names_none(text: str) -> None:
    assert times(text) == []


def test_a_leap_day_is_the_last_or_the_next_there_is() -> None:
    assert times("Was war am 29. Februar?") == [["2024-02-29/2024-02-29", "2028-02-29/2028-02-29"]]


def test_a_question_about_what_is_to_come_is_recognised() -> None:
    assert looks_ahead("Was soll ich im Juni pflanzen?", "de")
    assert looks_ahead("三月我打算去哪里?", "ja")
    assert not looks_ahead("Was haben wir im Juni gepflanzt?", "de")


def test_the_rest_of_a_question_is_what_names_no_time() -> None:
    assert remove_times("¿Qué compré el 14 de marzo en Bilbao?").split() == "que compre el en bilbao?".split()


def test_a_search_asks_for_the_days_that_are_meant() -> None:
    now = datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert asked_days("¿Qué dije ayer?", now)[1] == ["2026-11-17"]
    rest, days = asked_days("¿Qué dije el 14 de marzo?", now)
    assert (days, "marzo" in rest) == (["2026-03-14"], True)
