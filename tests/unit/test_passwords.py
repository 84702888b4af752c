from __future__ import annotations

import pytest

from memstone.core.access import passwords
from memstone.core.access.passwords import (
    COST,
    Cost,
    checked_password,
    decoy_hash,
    hash_password,
    is_correct_password,
    is_outdated,
)
from memstone.errors import InvalidInput

CHEAP = Cost(4, 8, 1)
SALT = b"0123456789abcdef"


@pytest.mark.req("N-42")
def test_a_password_is_recognised_by_what_is_kept_of_it_and_no_other_is() -> None:
    stored_text = hash_password("a long sentence", SALT, CHEAP)
    assert "sentence" not in stored_text
    assert stored_text.startswith("$scrypt$ln=4,r=8,p=1$")
    assert is_correct_password("a long sentence", stored_text)
    assert not is_correct_password("a long sentenc", stored_text)
    assert not is_correct_password("", stored_text)
    assert hash_password("a long sentence", SALT[::-1], CHEAP) != stored_text


def test_the_usual_cost_is_as_much_work_as_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "COST", COST)  # what it was before the tests made it cheap
    assert (COST.ln, COST.r, COST.p) == (14, 8, 5)
    assert is_outdated(hash_password("a long sentence", SALT, CHEAP))
    assert is_correct_password("a long sentence", hash_password("a long sentence", SALT))
    assert not is_outdated(decoy_hash())


def test_nobody_has_the_decoys_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "COST", CHEAP)
    assert decoy_hash().startswith("$scrypt$ln=4,")
    assert not is_correct_password("", decoy_hash())
    assert not is_correct_password("anything", decoy_hash())


def test_a_password_typed_on_another_keyboard_is_the_same() -> None:
    assert is_correct_password("cafe\u0301 au lait", hash_password("caf\u00e9 au lait", SALT, CHEAP))


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "plain",
        "$scrypt$ln=4,r=8,p=1$AAAA$AAAA",
        "$scrypt$ln=40,r=8,p=1$" + "A" * 22 + "$" + "A" * 43,
        "$scrypt$ln=0,r=8,p=1$" + "A" * 22 + "$" + "A" * 43,
        "$scrypt$ln=4,r=0,p=1$" + "A" * 22 + "$" + "A" * 43,
    ],
)
def test_what_was_not_kept_by_us_matches_nothing(stored: str) -> None:
    assert not is_correct_password("", stored)


@pytest.mark.parametrize(
    "password", ["", "short", "x" * 1_025, "1234567890", "Password123", "aaaaaaaaaaaa", "ada@example.org", None, 7]
)
def test_a_password_that_is_easy_to_guess_is_refused_without_being_repeated(password: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_password(password, "ada@example.org")
    assert not isinstance(password, str) or not password or password not in str(refused.value)


@pytest.mark.parametrize(
    "password", ["a long sentence", "\u044f \u043b\u044e\u0431\u043b\u044e \u0447\u0430\u0439", "x7#Kq9!mPz"]
)
def test_length_is_what_counts(password: str) -> None:
    assert checked_password(password, "ada") == password
