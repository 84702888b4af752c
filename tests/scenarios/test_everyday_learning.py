"""What everyday sentences leave in a memory that learns without a model: whole facts, right dates, nothing made up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock

NOVEMBER: Final = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock(NOVEMBER)) as opened:
        yield opened


def known(memory: Memory, *text: str) -> set[str]:
    """All that is known after these messages; every call is another user's."""
    user = "-".join(text).replace(" ", "-")[:120]
    for one in text:
        memory.add(one, user_id=user)
    return {one["memory"] for one in memory.get_all(user_id=user)["results"]}


@pytest.mark.req("P-17", "X-11")
@pytest.mark.parametrize(
    ("said", "left"),
    [
        (("I am allergic to nuts.", "I'm not allergic to nuts."), {"User is not allergic to nuts."}),
        (("I have a Tesla.", "I sold my Tesla."), {"User sold their Tesla."}),
        (("I work at Acme", "I left Acme"), {"User left Acme."}),
        (("I'm single.", "I got married in May!"), {"User got married in May (May 2026)."}),
        (
            ("We have a cat called Miso.", "Miso died last night."),
            {'User has a cat called Miso. On 2026-11-16: "Miso died last night.".'},
        ),
    ],
)
def test_what_contradicts_does_not_stand_beside_it(memory: Memory, said: tuple[str, ...], left: set[str]) -> None:
    assert known(memory, *said) == left


@pytest.mark.req("X-11")
@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("My flight to Tokyo is on Dec 12 at 9am", "the flight got moved to the 14th", "Tokyo Dec 12 9am 14th"),
        ("I finally got the job at Stripe, starting in March", "I quit Stripe", "Stripe March quit"),
        ("I live in Oslo with my sister Ida.", "I moved to Bergen last weekend.", "Oslo Ida Bergen"),
        ("I have 14k in savings.", "My insurance costs 14k a year.", "savings insurance"),
    ],
)
def test_no_word_of_a_memory_is_lost_to_a_change(memory: Memory, first: str, second: str, words: str) -> None:
    text = " ".join(known(memory, first, second))
    assert [word for word in words.split() if word not in text] == []


@pytest.mark.req("O-29")
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("I bank with Intesa.", "Intesa"),
        ("we adopted a puppy, we called him Biscuit", "puppy Biscuit"),
        ("I'm back with Maya!", "Maya"),
        ("I will use Postgres for this.", "Postgres"),
        ("I'm allergic to peanuts lol", "allergic peanuts"),
        ("I'm diabetic 😂", "diabetic"),
        ("what pan is best for eggs? i'm allergic to nuts btw", "allergic nuts"),
        ("I'm moving on the 3rd. My sister Ida helps me. I start at Equinor on Monday. I can't eat gluten.",
         "3rd Ida Equinor gluten"),
        ("We have a cat called Miso. He is allergic to chicken.", "Miso allergic chicken"),
    ],
)  # fmt: skip
def test_plain_statements_are_known_whatever_their_tone(memory: Memory, said: str, words: str) -> None:
    text = " ".join(known(memory, said))
    assert [word for word in words.split() if word not in text] == []


@pytest.mark.parametrize(
    "said", ["lol my boss would kill me if he knew", "I'm SO relieved!", "I could eat a horse lol", "ugh, so tired"]
)
def test_jokes_and_moods_are_nothing_to_know(memory: Memory, said: str) -> None:
    assert known(memory, said) == set()


def test_what_is_true_of_all_of_them_is_not_told_of_one(memory: Memory) -> None:
    assert known(memory, "we're 13 now") == {'User said: "we\'re 13 now"'}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "I decided to learn Spanish this winter.",
            "User decided to learn Spanish this winter (December 2026 to February 2027).",
        ),
        ("I have choir practice every Tuesday at 3pm.", "User has choir practice every Tuesday at 3pm."),
        ("I start at Equinor on Monday.", "User starts at Equinor on Monday (23 November 2026)."),
    ],
)
def test_days_without_a_year_lie_ahead_and_those_of_every_week_have_no_date(
    memory: Memory, said: str, told: str
) -> None:
    assert known(memory, said) == {told}


@pytest.mark.req("R-38")
def test_a_password_is_masked_whatever_it_belongs_to(memory: Memory) -> None:
    answer = memory.add("remember that the wifi password at the office is hunter2", user_id="wifi")
    assert answer["results"] == []
    assert "masked" in answer["warnings"][0]
    assert "hunter2" not in str(memory.search("wifi password", user_id="wifi"))
