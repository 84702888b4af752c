"""``memstone erase``, ``memstone backup`` and ``memstone restore`` at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def story(cli: Cli) -> str:
    first = cli.added("I live in Oslo")
    cli("add", "I am Bob", "--no-infer", "--user", "bob")
    return first


@pytest.mark.req("X-30")
def test_a_user_is_erased_when_the_name_is_typed(cli: Cli) -> None:
    story(cli)
    file = cli.home / "report.json"
    ran = cli("erase", "--user", "alice", "--report", file, stdin=b"alice\n")
    assert ran.code == 0, ran
    assert "Type alice to erase it" in ran.err
    assert "memories" in ran.out
    assert ran.out.endswith(f"erased, and every check passed\nreport written to {file}\n")
    assert cli.texts("list", "--user", "alice") == []
    assert cli.texts("list", "--user", "bob") == ["I am Bob"]
    assert b"Oslo" not in cli.db.read_bytes()
    assert json.loads(file.read_text())["subject"] == {"user_id": "alice"}


@pytest.mark.parametrize("typed", [b"y\n", b"yes\n", b"bob\n", b"\n"])
def test_anything_else_erases_nothing(cli: Cli, typed: bytes) -> None:
    story(cli)
    ran = cli("erase", "--user", "alice", stdin=typed)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing was erased" in ran.err
    assert cli.texts("list", "--user", "alice") == ["I live in Oslo"]


def test_where_nobody_can_be_asked_yes_must_be_said_before(cli: Cli) -> None:
    story(cli)
    ran = cli("erase", "--user", "alice")
    assert ran.code == 2
    assert "use --yes to erase without asking" in ran.err
    assert cli("erase", "--user", "alice", "--yes").code == 0


def test_one_memory_is_erased_by_its_id(cli: Cli) -> None:
    first = story(cli)
    cli.added("I live in Rome")
    ran = cli("erase", "--memory", first, "--json", "--yes")
    assert ran.json["subject"] == {"memory_id": first}
    assert cli.texts("list", "--user", "alice") == ["I live in Rome"]


def test_nobody_is_erased_when_nobody_is_named(cli: Cli) -> None:
    story(cli)
    ran = cli("erase", "--yes")
    assert ran.code == 2
    assert "--user, --agent or --run" in ran.err


@pytest.mark.req("X-30")
def test_a_report_is_verified_and_a_changed_one_is_not(cli: Cli) -> None:
    story(cli)
    file = cli.home / "report.json"
    cli("erase", "--user", "alice", "--yes", "--report", file)
    ran = cli("erase", "--verify", file)
    assert (ran.code, ran.out) == (0, "the report is genuine, and nothing of user alice has come back\n")
    file.write_text(file.read_text().replace("alice", "alicia"))
    ran = cli("erase", "--verify", file)
    assert (ran.code, ran.out) == (1, "")
    assert "was changed after it was written" in ran.err
    file.write_text("{")
    assert cli("erase", "--verify", file).code == 2
    assert cli("erase", "--verify", file, "--user", "alice").code == 2
    assert cli("erase", "--verify", cli.home / "nowhere.json").code == 2


@pytest.mark.req("N-45")
def test_a_backup_is_made_checked_and_put_back(cli: Cli) -> None:
    story(cli)
    file = cli.home / "one.backup"
    ran = cli("backup", file)
    assert ran.code == 0, ran
    assert ran.out.startswith(f"written to {file}: 2 versions, 2 events, ")
    assert cli("backup", file, "--verify").out.startswith("the backup is complete and signed with the key ")
    before = cli("export", "--everybody").out
    cli.added("I live in Rome")
    assert cli("restore", file, stdin=b"n\n").code == 1
    ran = cli("restore", file, stdin=b"y\n")
    assert ran.code == 0, ran
    assert "Replace the existing 3 memories?" in ran.err
    assert ran.out.startswith("restored as of 20")
    assert cli("export", "--everybody").out == before
    other = ("--db", cli.home / "other.db")
    key = ("--key-file", cli.db.with_name("memstone.db.key"))
    assert cli("restore", file, *other, *key).code == 0, "there is nothing to ask about"
    assert cli("export", "--everybody", *other).out == before


@pytest.mark.req("N-45")
def test_what_was_erased_later_does_not_come_back(cli: Cli) -> None:
    story(cli)
    file, away = cli.home / "one.backup", cli.home / "away.backup"
    cli("backup", file)
    file.rename(away)
    ran = cli("erase", "--user", "alice", "--yes")
    assert f"backup {file} missing" in ran.err
    ran = cli("restore", away, "--yes")
    assert "1 later erasures were applied again" in ran.err
    assert cli.texts("list", "--user", "alice") == []


@pytest.mark.req("N-45")
def test_what_is_no_backup_is_refused(cli: Cli) -> None:
    story(cli)
    letter = cli.home / "letter.txt"
    letter.write_text("dear Bob")
    assert cli("backup", letter).code == 2
    assert cli("backup", cli.db).code == 2, "the store itself"
    ran = cli("restore", letter, "--yes")
    assert ran.code == 3
    assert "not a complete backup" in ran.err
    assert cli("backup", cli.home / "nowhere" / "x").code == 2
    assert cli("restore", cli.home / "nowhere", "--yes").code == 2
    assert letter.read_text() == "dear Bob"
    assert cli.texts("list", "--user", "alice") == ["I live in Oslo"]


def test_a_check_that_was_not_passed_is_told(cli: Cli) -> None:
    story(cli)
    file = cli.home / "one.backup"
    cli("backup", file)
    file.write_bytes(file.read_bytes()[:-100])
    ran = cli("erase", "--user", "alice", "--yes")
    assert ran.code == 3
    assert f"backup {file} unreachable: " in ran.err
    assert "erased, but not every check passed" in ran.out
