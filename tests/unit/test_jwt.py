from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.access import jwt
from memstone.core.access.jwt import Claims, issue_token, parse_token

KEY = b"k" * 32
CLAIMS = Claims("account", "tenant", "viewer", "session", 1_000, 1_000, 1_900)
TOKEN = issue_token(CLAIMS, KEY)


def part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def forged(header: dict[str, Any] | None = None, key: bytes = KEY, **claims: Any) -> str:
    """A token by somebody who knows the key, with something else in it."""
    head, body = (json.loads(base64.urlsafe_b64decode(one + "==")) for one in TOKEN.split(".")[:2])
    signed = f"{part(changed(head, header or {}))}.{part(changed(body, claims))}"
    return f"{signed}.{part(hmac.digest(key, signed.encode(), hashlib.sha256))}"


def changed(value: dict[str, Any], by: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in {**value, **by}.items() if one is not ...}


@pytest.mark.req("N-42")
def test_a_token_says_what_was_put_into_it_and_who_made_it() -> None:
    found = parse_token(TOKEN)
    assert found is not None
    assert found.claims == CLAIMS
    assert found.is_by(KEY)
    assert not found.is_by(b"x" * 32)
    assert found.kid == jwt.key_name(KEY)
    assert parse_token(forged()) is not None, "the forger of this test knows how"


@pytest.mark.req("N-42")
@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "None"},
        {"alg": "HS512"},
        {"alg": "RS256"},
        {"alg": ["HS256"]},
        {"alg": None},
        {"alg": ...},
        {"typ": "JWE"},
        {"typ": ...},
        {"kid": ...},
        {"kid": 7},
        {"crit": ["exp"]},
        {"jwk": {"kty": "oct", "k": "AAAA"}},
        {"jku": "https://example.org/keys"},
        {"zip": "DEF"},
    ],
)
def test_no_header_but_the_one_there_is_makes_a_token(header: dict[str, Any]) -> None:
    assert parse_token(forged(header)) is None


@pytest.mark.req("N-42")
@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "somebody"},
        {"iss": ...},
        {"aud": "elsewhere"},
        {"aud": ["memstone"]},
        {"sub": ...},
        {"sub": ""},
        {"sub": 7},
        {"tenant": ["a"]},
        {"exp": ...},
        {"exp": "1900"},
        {"exp": 1_900.5},
        {"exp": True},
        {"nbf": None},
        {"admin": True},
    ],
)
def test_claims_that_are_missing_wrong_or_more_make_no_token(claims: dict[str, Any]) -> None:
    assert parse_token(forged(**claims)) is None


def test_a_name_that_stands_there_twice_makes_no_token() -> None:
    head, body, signature = TOKEN.split(".")
    text = base64.urlsafe_b64decode(body + "==").decode()
    twice = text[:-1] + ',"role":"admin"}'
    assert parse_token(f"{head}.{part(twice.encode())}.{signature}") is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        TOKEN + "=",
        TOKEN + ".",
        TOKEN[:-1],
        TOKEN.replace(".", ". ", 1),
        " " + TOKEN,
        TOKEN.rpartition(".")[0] + ".",
        "\u00e4" + TOKEN,
        "A" * 5_000 + TOKEN,
        f"{part([1])}.{part({})}.{part(bytes(32))}",
        f"{part(b'[' * 3_000)}.{part({})}.",
    ],
)
def test_what_is_not_well_formed_is_no_token(token: str) -> None:
    assert parse_token(token) is None


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: f"{part(raw)}.{part(raw)}.{part(raw)}"))
def test_nothing_breaks_the_reader(token: str) -> None:
    assert parse_token(token) is None


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("ABCxyz019-_."))
def test_a_token_with_another_character_was_made_by_nobody(at: int, char: str) -> None:
    other = TOKEN[:at] + char + TOKEN[at + 1 :]
    found = parse_token(other)
    assert other == TOKEN or found is None or not found.is_by(KEY)


@pytest.mark.parametrize(
    ("claims", "now", "holds"),
    [
        (CLAIMS, 1_000, True),
        (CLAIMS, 1_899, True),
        (CLAIMS, 1_900, False),
        (CLAIMS, 970, True),
        (CLAIMS, 969, False),
        (replace(CLAIMS, nbf=1_500), 1_400, False),
        (replace(CLAIMS, exp=1_000 + jwt.MAX_SECONDS + 1), 1_100, False),
        (replace(CLAIMS, iat=1_950), 1_100, False),
    ],
)
def test_a_token_holds_from_when_it_was_made_until_it_expires(claims: Claims, now: int, *, holds: bool) -> None:
    assert claims.hold_at(now) is holds
