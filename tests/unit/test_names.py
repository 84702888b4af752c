from __future__ import annotations

import pytest

from memstone.language.en.names import names_in, unknown_names

pytestmark = pytest.mark.req("R-32")
SUBJECTS = ("user", "agent", "assistant")


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("User's sister Ingrid moved to Rome.", ["Ingrid", "Rome"]),
        ("Ingrid moved to Rome.", ["Ingrid", "Rome"]),
        ("Prefers tea over coffee.", []),
        ("The dog likes walks. It is old.", []),
        ("User said I am late.", []),
    ],
)
def test_names_are_words_with_a_capital_of_their_own(statement: str, names: list[str]) -> None:
    assert names_in(statement, SUBJECTS) == names


@pytest.mark.parametrize(
    ("statement", "said", "unknown"),
    [
        ("User's sister Ingrid moved to Rome.", "She moved to Rome", ["Ingrid"]),
        ("Ingrid moved to Rome.", "She moved to Rome", ["Ingrid"]),
        ("User is married to Tom Baker.", "I married Tom", ["Baker"]),
        ("User's dog Rex likes walks.", "my dog likes walks", ["Rex"]),
        ("User moved to Oslo in April 2026.", "We moved to Oslo", ["April"]),
        ("User is called Ann.", "call me Annabelle", ["Ann"]),
    ],
)
def test_a_name_nobody_said_is_noticed(statement: str, said: str, unknown: list[str]) -> None:
    assert unknown_names(statement, said, SUBJECTS) == unknown


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("User lives in Rome.", "i live in rome"),
        ("User moved to Oslo in April 2026.", "We moved to Oslo last month"),
        ("User works for the United Nations.", "I work for the UN"),
        ("User lives in New York City.", "I live in NYC"),
        ("User uses PostgreSQL.", "I use postgres"),
        ("User is Japanese.", "I come from Japan"),
        ("The dog likes walks.", "my dog likes walks"),
        ("Benutzer mag Schokolade.", "Ich mag Kakao"),
        ("User's name is \u00c9ric.", "my name is eric"),
    ],
)
def test_a_name_in_another_form_is_the_same_name(statement: str, said: str) -> None:
    assert unknown_names(statement, said, SUBJECTS) == []
