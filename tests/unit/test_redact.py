from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.redact import RedactedText, RedactionAction, RedactPolicy, Sensitive, redact_preview, redact_text
from memstone.errors import ConfigError
from tests.patience import at_most

KEY = "a1B2c3D4e5F6g7H8i9J0"  # put together below, so that no scanner takes an example for a leak

# What must go, and the text around it that must stay.
SECRETS = [
    ("api_key", "my key is {} ok", "sk-" + KEY),
    ("api_key", "use {} for the model", "sk-proj-" + KEY + "_" + KEY),
    ("api_key", "{}", "ghp_" + KEY + KEY),
    ("api_key", "push with {}.", "github_pat_" + KEY),
    ("api_key", "AWS id {} here", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("api_key", "slack {} works", "xoxb-" + "1234567890-" + KEY),
    ("api_key", "maps: {}", "AIza" + KEY + KEY),
    ("api_key", "stripe {}", "sk_live_" + KEY),
    ("api_key", "hub {}", "hf_" + KEY + KEY),
    ("api_key", "session {} ends", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmN"),
    ("api_key", "Authorization: Bearer {}", KEY),
    ("api_key", "authorization: basic {}", "dXNlcjpwYXNz" + "MQ=="),
    ("api_key", "api_key={}", "abc123"),
    ("api_key", "API-KEY: {}", "zz91kk23"),
    ("api_key", "https://example.org/?api_key={}&user=jane", "abc123def"),
    ("api_key", "client_secret='{}'", "quoted value 1"),
    ("api_key", '{{"token": "{}", "n": 1}}', "abcd1234"),
    ("api_key", "secret={} and more", "hunting"),
    ("api_key", "aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG"),
    ("api_key", "the api key is {} by the way", "zz91kk23mm45"),
    ("password", "my password is {}", "hunter2"),
    ("password", "My password is {}.", "hunter2"),
    ("password", "my password is now {} since May", "Tr0ub4dor&3"),
    ("password", "my password is {}", "swordfish"),
    ("password", "my password for the bank is {}, do not tell", "s3same"),
    ("password", 'the password is "{}"', "correct horse battery staple"),
    ("password", "password: {}", "hunter2"),
    ("password", "PASSWORD={}", "opensesame"),
    ("password", '{{"password": "{}"}}', "hunter2"),
    ("password", "DB_PASS={}", "x9y8"),
    ("password", "my PIN is {} for the card", "4821"),
    ("password", "postgres://bob:{}@db:5432/app", "s3cr3t"),
    ("password", "redis://:{}@cache", "pw"),
    ("card", "card {} exp 12/27", "4111 1111 1111 1111"),
    ("card", "pay with {}", "4111111111111111"),
    ("card", "{} 123", "5555-5555-5555-4444"),
    ("card", "1234 {}", "4111 1111 1111 1111"),
    ("card", "amex {}", "378282246310005"),
    ("card", "amex {}", "3782 822463 10005"),
    ("card", "short {}", "4222222222222"),
    ("card", "new mastercard {}", "2223003122003222"),
    ("card", "long {}", "6304000000000000000"),
    ("iban", "send it to {} please", "DE89 3704 0044 0532 0130 00"),
    ("iban", "{}", "GB82WEST12345698765432"),
    ("iban", "{} THIS WEEK", "BE68 5390 0754 7034"),
    ("iban", "{}.", "NO9386011117947"),
    ("ssn", "it is {}", "123-45-6789"),
    ("ssn", "my SSN: {}", "123456789"),
    ("ssn", "social security number is {}", "123 45 6789"),
    ("private_key", "here: {} done", "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nx\n-----END RSA PRIVATE KEY-----"),
    ("private_key", "{}\nis cut", "-----BEGIN PRIVATE KEY-----\n" + KEY + KEY + "\n" + KEY + "\nab=="),
]

ORDINARY = [
    "I moved to Oslo on 2023-05-07 and started at 10:30.",
    "My order number is 1234567890123456, it shipped from 94107-1234.",
    "Order 100-2345678-9012345 arrived.",
    "The time was 1700000000000 in milliseconds and 1700000000000000 in microseconds.",
    "In 2019 2020 2021 2022 we lived in Rome.",
    "Call me on +1 415 555 2671 or 020 7946 0958.",
    "Write to jane.doe@example.org or see https://example.org/a?b=c.",
    "Version 3.11.7 beats 2.0.0-rc.1; Python 3.12 is out.",
    "The commit is 3f786850e387550fdab836ed7e6dc881de23001b.",
    "id 123e4567-e89b-12d3-a456-426614174000 and 12345678-1234-1234-1234-123456789012",
    "ISBN 978-3-16-148410-0 is on my desk.",
    "Pi is 3.14159265358979 and e is 2.718281828459045.",
    "My password is too weak.",
    "My password was stolen yesterday.",
    "The password is required.",
    "I forgot my password again",
    "Password: must have eight characters",
    "password = get_password()",
    "PASSWORD=${DB_PASSWORD}",
    "api_key = os.environ['KEY']",
    "My secret: I love pizza.",
    "The secret is patience.",
    "The token is base64 encoded text.",
    "max_tokens=4096 and token: 5000 per day",
    "sk-learn-classification-pipeline is a nice name",
    "The bearer of this letter is authentic-and-true-beyond-doubt.",
    "The pin is bent.",
    "My flight is AB12 3456 from gate DE89 to Rome.",
    "000-12-3456 and 666-12-3456 and 987-65-4321 are no numbers of that kind",
    "4111 1111 1111 1112 does not add up",
    "A keyboard, a monkey and a token of love",
    "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    "My son is 7, my daughter 10; we pay $1,234,567.89 for 12,345,678,901,234 things.",
]


@pytest.mark.parametrize(("kind", "frame", "secret"), SECRETS)
def test_a_secret_is_masked_and_the_text_around_it_stays(kind: str, frame: str, secret: str) -> None:
    result = redact_text(frame.format(secret))
    assert result == RedactedText(frame.format(f"[redacted:{kind}]"), (Sensitive(kind),))


@pytest.mark.parametrize(("kind", "frame", "secret"), SECRETS)
def test_masking_twice_changes_nothing_more(kind: str, frame: str, secret: str) -> None:
    once = redact_text(frame.format(secret)).text
    assert redact_text(once) == RedactedText(once)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_touched(text: str) -> None:
    assert redact_text(text) == RedactedText(text)


@pytest.mark.parametrize(("kind", "frame", "secret"), SECRETS)
def test_a_kind_that_is_off_is_left_alone(kind: str, frame: str, secret: str) -> None:
    assert Sensitive(kind) not in redact_text(frame.format(secret), RedactPolicy(**{kind: RedactionAction.OFF})).found


@pytest.mark.parametrize("kind", ["api_key", "card", "ssn"])
def test_a_kind_to_be_dropped_refuses_the_whole_message(kind: str) -> None:
    frame, secret = next((frame, secret) for known, frame, secret in SECRETS if known == kind)
    result = redact_text(f"Hello. {frame.format(secret)} Bye.", RedactPolicy(**{kind: RedactionAction.DROP}))
    assert result == RedactedText("", (Sensitive(kind),), dropped=True)


def test_a_drop_policy_keeps_messages_without_that_kind() -> None:
    policy = RedactPolicy(card=RedactionAction.DROP)
    assert redact_text("my password is hunter2", policy) == RedactedText(
        "my password is [redacted:password]", (Sensitive.PASSWORD,)
    )


def test_several_secrets_are_all_masked_and_each_kind_is_named_once() -> None:
    result = redact_text("4111 1111 1111 1111 5555 5555 5555 4444, password: hunter2, SSN 123-45-6789")
    assert result.text == "[redacted:card] [redacted:card], password: [redacted:password], SSN [redacted:ssn]"
    assert result.found == (Sensitive.PASSWORD, Sensitive.CARD, Sensitive.SSN)


def test_addresses_links_and_phones_can_be_chosen() -> None:
    policy = RedactPolicy(email=RedactionAction.MASK, phone=RedactionAction.MASK, url=RedactionAction.MASK)
    text = "Ask jane.doe@example.org, (415) 555-2671, +44 20 7946 0958 or https://example.org/a?b=c."
    assert redact_text(text, policy).text == (
        "Ask [redacted:email], [redacted:phone], [redacted:phone] or [redacted:url]."
    )


def test_a_preview_hides_addresses_links_phones_and_long_numbers_too() -> None:
    text = "jane@example.org 415-555-2671 www.example.org/x account 1234567890123 key sk-" + KEY
    assert redact_preview(text) == (
        "[redacted:email] [redacted:phone] [redacted:url] account [redacted:account] key [redacted:api_key]"
    )


def test_a_preview_of_a_connection_string_shows_nothing_of_it() -> None:
    assert redact_preview("use postgres://bob:s3cr3t@db:5432/app now") == "use [redacted:url] now"


@pytest.mark.parametrize("text", ["I met Ann on 2023-05-07.", "Python 3.11.7", "Room 12, 10:30", "192.168.1.100"])
def test_a_preview_leaves_ordinary_text_alone(text: str) -> None:
    assert redact_preview(text) == text


def test_a_policy_takes_plain_words_and_refuses_unknown_ones() -> None:
    assert redact_text("4111111111111111", RedactPolicy(card="off")).text == "4111111111111111"  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="card"):
        RedactPolicy(card="hide")  # type: ignore[arg-type]


PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([frame.format(secret) for _, frame, secret in SECRETS] + [secret for _, _, secret in SECRETS]),
    st.sampled_from(ORDINARY),
    st.sampled_from([" ", "", "\n", "password: ", "token=", "my password is ", "&x=", "@", "://", "'", '"', ".", "]"]),
    st.sampled_from(["[redacted:card]", "[redacted:", "1234", "4111 1111 1111 1111 ", "-----BEGIN PRIVATE KEY-----"]),
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_any_text_is_masked_once_and_for_all(text: str) -> None:
    everything = RedactPolicy(
        email=RedactionAction.MASK, url=RedactionAction.MASK, phone=RedactionAction.MASK, account=RedactionAction.MASK
    )
    for policy in (RedactPolicy(), everything):
        once = redact_text(text, policy)
        assert redact_text(once.text, policy).text == once.text
        assert bool(once.found) == (once.text != text)


HOSTILE = [
    *("a", "1", "1 ", "1-", "4111 ", "sk-", "eyJ", "eyJa.", "eyJaaaaaaaaa.", "AA11 ", "+1 ", "(", " ", "\n", "\\n"),
    *("password", "password ", "password: ", "password for ", "password is ", "token=", "token=&", 'token="', "&a"),
    *("://", "a://", "://a:", "://:", "@", "a@a.", "www.", "http://.", "bearer ", "ssn ", "pin is ", "\u0660"),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n "),
    *("[redacted:", "[redacted:card]", "my password is [redacted:x]"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_hostile_text_takes_no_unreasonable_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    with at_most(20):  # linear work takes well under a second, quadratic work on this much text more than this
        assert redact_text(text + "!").dropped is False
        assert isinstance(redact_preview(text), str)
