"""The cheap look before the closer one, and places that move along with masks."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from memstone.core.redact import (
    _FINDERS,
    RedactionAction,
    RedactPolicy,
    Sensitive,
    possible_kinds,
    redact_moving,
    redact_text,
)

DATA = Path(__file__).resolve().parents[1] / "data"
ALL = RedactPolicy(**{field.name: RedactionAction.MASK for field in fields(RedactPolicy)})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END PRIVATE KEY-----", Sensitive.PRIVATE_KEY),
        ("AKIAABCDEFGHIJKLMN12", Sensitive.API_KEY),
        ("Bearer abcdefghijk1", Sensitive.API_KEY),
        ("Authorization: Basic abcdefgh", Sensitive.API_KEY),
        ("the TOKEN=abcdefgh", Sensitive.API_KEY),
        ("Credentials: ab12cd34", Sensitive.API_KEY),
        ("PIN 1234 is my pin: 123", Sensitive.PASSWORD),
        ("PGPASS DB_PASS=hunter2", Sensitive.PASSWORD),
        ("https://bob:hunter@example.org", Sensitive.PASSWORD),
        ("passphrase is 'open sesame'", Sensitive.PASSWORD),
        ("4111111111111111", Sensitive.CARD),
        ("GB82 WEST 1234 5698 7654 32", Sensitive.IBAN),
        ("078-05-1120", Sensitive.SSN),
        ("ann@example.org", Sensitive.EMAIL),
        ("www.example.org", Sensitive.URL),
        ("+49 30 1234567", Sensitive.PHONE),
        ("1234567890123", Sensitive.ACCOUNT),
    ],
)
@pytest.mark.req("R-38")
def test_whatever_is_found_was_suspected(text: str, kind: Sensitive) -> None:
    finder = dict(_FINDERS)[kind]
    assert list(finder(text)), "the example is none"
    assert kind in possible_kinds(text)
    assert kind in redact_text(text, ALL).found


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.jsonl")), ids=lambda path: str(path.relative_to(DATA)))
def test_no_real_message_holds_what_was_not_suspected(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        kinds = possible_kinds(line)
        missed = [kind for kind, finder in _FINDERS if kind not in kinds and list(finder(line))]
        assert not missed, line


def test_plain_words_are_not_suspected_of_anything() -> None:
    assert possible_kinds("Yesterday we walked along the river and talked about painting it green.") == frozenset()


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("token: abcdef123456 and tea", "and tea", "and tea"),
        ("tea, token: abcdef123456", "tea,", "tea,"),
        ("my token: abcdef123456 here", "token: abcdef123456", "token: [redacted:api_key]"),
        ("my token: abcdef123456 here", "abcdef", "[redacted:api_key]"),
        ("my token: abcdef123456 here", "123456 here", "[redacted:api_key] here"),
        ("password: x1!, token: abcdef123456, tea", "tea", "tea"),
        ("password: x1!, token: abcdef123456, tea", "token: abcdef123456, tea", "token: [redacted:api_key], tea"),
    ],
)
@pytest.mark.req("R-32")
def test_places_move_along_with_the_masks(text: str, quote: str, expected: str) -> None:
    start = text.index(quote)
    found, [(begin, end)] = redact_moving(text, RedactPolicy(), [(start, start + len(quote))])
    assert found.text[begin:end] == expected


def test_a_place_at_the_end_of_a_mask_stays_behind_it() -> None:
    text = "token: abcdef123456"
    found, moved = redact_moving(text, RedactPolicy(), [(len(text), len(text)), (0, 0)])
    assert moved == [(len(found.text), len(found.text)), (0, 0)]
