from __future__ import annotations

from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def remembered(cli: Cli, text: str, user: str = "alice") -> str:
    """Store a text as it is; gives its id."""
    answer = cli("add", text, "--user", user, "--no-infer", "--json").json
    memory_id: str = answer["results"][0]["id"]
    return memory_id


def test_what_happened_is_listed_and_taken_back(cli: Cli) -> None:
    memory_id = remembered(cli, "Alice lives in Oslo")
    cli("update", memory_id, "Alice lives in Bergen")
    visible = cli("events", "--everybody")
    assert visible.out.split()[:6] == ["CURSOR", "WHEN", "EVENT", "ID", "WHO", "MEMORY"]
    event = cli("events", "--everybody", "--json").json["results"][-1]
    assert event["id"] in visible.out

    undone = cli("undo", event["id"])

    assert undone.code == 0
    assert "UPDATE" in undone.out
    assert "Alice lives in Oslo" in undone.out
    assert "Alice lives in Oslo" in cli("get", memory_id).out
    again = cli("undo", event["id"])
    assert again.code == 1
    assert "already undone" in again.err
    assert cli("undo").code == 2
    assert cli("undo", "nothing").code == 1
    assert cli("events", "--user", "bob").code == 1


def test_a_deleted_memory_is_restored(cli: Cli) -> None:
    memory_id = remembered(cli, "Alice lives in Oslo")
    cli("update", memory_id, "Alice lives in Bergen")
    cli("delete", memory_id)
    assert "Alice lives in Bergen" in cli("restore-memory", memory_id).out
    assert cli("restore-memory", memory_id, "--version", "1", "--json").json["memory"] == "Alice lives in Oslo"


def test_memories_are_put_aside_and_looked_through(cli: Cli) -> None:
    memory_id = remembered(cli, "Alice's mail is alice@example.org")
    assert cli("disable", memory_id, "--reason", "private").out == f"{memory_id} is disabled\n"
    assert cli("disable", memory_id).out == "nothing to do\n"
    assert cli("search", "mail", "--user", "alice").code == 1
    visible = cli("inspect", "mail", "--user", "alice")
    assert "[redacted:email]" in visible.out
    assert "disabled" in visible.out
    assert cli("inspect", "--everybody", "--status", "active").code == 1
    cli("enable", memory_id)
    cli("quarantine", memory_id)
    assert cli("inspect", "--everybody", "--status", "quarantined", "--json").json["results"][0]["id"] == memory_id
    assert cli("approve", memory_id).out == f"{memory_id} is active\n"
    cli("quarantine", memory_id)
    assert cli("reject", memory_id).out == f"{memory_id} is deleted\n"


def test_a_rollback_asks_says_what_it_did_and_is_taken_back(cli: Cli) -> None:
    remembered(cli, "Alice lives in Oslo")
    remembered(cli, "Bob lives in Bergen", "bob")
    since = ("--since", "2020-01-01", "--user", "alice")

    tried = cli("rollback", *since, "--dry-run")
    assert tried.out == "1 change of 1 memory would be undone (1 ADD)\n"
    asked = cli("rollback", *since, stdin=b"n\n")
    assert asked.code == 1
    assert asked.err.startswith("1 change of 1 memory would be undone (1 ADD)\nUndo all of this?")
    assert cli("list", "--user", "alice").code == 0

    done = cli("rollback", *since, "--yes")
    assert done.out == "1 change of 1 memory undone (1 ADD)\n"
    job = done.err.split("--job ")[1].split("`")[0]
    assert cli("list", "--user", "alice").code == 1
    assert cli("list", "--user", "bob").code == 0
    assert cli("undo", "--job", job).code == 0
    assert cli("list", "--user", "alice").code == 0
    assert cli("rollback", "--everybody", "--yes").code == 2


@pytest.mark.parametrize("wrong", [[], ["--since", "yesterday"], ["--since", "2026-13-45"], ["--source", " "]])
def test_nobody_is_asked_about_a_rollback_that_cannot_be(cli: Cli, wrong: list[str]) -> None:
    remembered(cli, "Alice lives in Oslo")
    ran = cli("rollback", "--everybody", *wrong, stdin=b"y\n")
    assert ran.code == 2
    assert "Undo all of this?" not in ran.err


def test_a_rollback_of_nothing_asks_nothing(cli: Cli) -> None:
    remembered(cli, "Alice lives in Oslo")
    ran = cli("rollback", "--everybody", "--since", "2999-01-01", stdin=b"y\n")
    assert (ran.code, "Undo all of this?" in ran.err) == (1, False)
    assert ran.err.endswith("nothing was undone\n")
