"""``memstone accounts`` and ``memstone instructions``."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from memstone.config import Settings
from memstone.core.access import passwords
from memstone.core.access.passwords import Cost
from tests.faces.cli_runner import Cli

SENTENCE = "a long sentence of mine"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setattr(passwords, "COST", Cost(4, 8, 1))
    return Cli(tmp_path, monkeypatch, capsys)


def add(cli: Cli, *more: str, password: str = SENTENCE) -> int:
    return cli("accounts", "add", *more, "--password-stdin", stdin=f"{password}\n".encode()).code


@pytest.mark.req("N-42")
def test_an_account_lives_from_the_command_line(cli: Cli) -> None:
    assert add(cli, "Ada@Example.org", "--name", "Ada", "--role", "editor", "--for-user", "alice") == 0
    visible = cli("accounts", "list")
    assert "ada@example.org  editor" in visible.out
    assert "alice" in visible.out
    assert cli("accounts", "set", "ada@example.org", "--role", "admin", "--for-user", "").code == 0
    assert cli("accounts", "disable", "ada@example.org").out == "ada@example.org can no longer log in\n"
    (found,) = cli("accounts", "list", "--json").json["results"]
    assert (found["role"], found["user_id"], found["disabled"]) == ("admin", None, True)
    assert cli("accounts", "enable", found["id"]).code == 0
    assert cli("accounts", "passwd", "ada@example.org", "--password-stdin", stdin=b"another sentence\n").code == 0
    assert cli("accounts", "rotate-key", "--at-once").code == 0
    assert cli("accounts", "remove", "ada@example.org").code == 0
    assert cli("accounts", "list").code == 1


@pytest.mark.req("N-42")
def test_what_is_wrong_is_told_and_the_password_is_not(cli: Cli) -> None:
    ran = cli("accounts", "add", "ada", "--password-stdin", "--json", stdin=b"too-short\n")
    assert (ran.code, ran.error["code"]) == (2, "invalid_input")
    assert "too-short" not in ran.err
    asked = cli("accounts", "add", "ada")
    assert (asked.code, "--password-stdin" in asked.err) == (2, True)
    assert add(cli, "ada") == 0
    assert cli("accounts", "add", "ADA", "--password-stdin", stdin=SENTENCE.encode()).code != 0
    assert cli("accounts", "disable", "nobody").code != 0
    assert SENTENCE not in cli("accounts", "list", "--json").out


@pytest.mark.req("N-42")
def test_instructions_are_printed_as_settings_and_no_store_is_made(cli: Cli) -> None:
    ran = cli("instructions", 'a cooking coach for "hungry" people \\ families')
    settings = Settings.of(tomllib.loads(ran.out))
    assert 'a cooking coach for "hungry" people \\ families' in settings.extract.instructions
    assert "diet" in settings.extract.categories
    assert "cooking" in ran.err
    assert not cli.db.exists()
    found = cli("instructions", "a cooking coach", "--json").json
    assert (found["source"], found["domains"]) == ("rules", ["cooking"])
    assert cli("instructions", "?").code == 2
