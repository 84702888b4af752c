"""``memstone import --as-new``: the facts of an export, and nothing that only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.req("X-37")
def test_turns_do_not_become_facts_and_are_counted(cli: Cli) -> None:
    cli("add", "I live in Oslo. What is the weather like?", "--user", "alice")
    cli("add", "That is all.", "--user", "alice")
    cli("disable", cli.added("a secret"))
    backup, other = cli.home / "backup.jsonl", ("--db", cli.home / "other.db")
    cli("export", "--everybody", "-o", backup)

    answer = cli("import", backup, "--as-new", "--json", *other).json

    assert (answer["added"], answer["left_out"]) == (1, {"turn": 2, "disabled": 1})
    assert cli.texts("list", "--user", "alice", *other) == ["User lives in Oslo."]


@pytest.mark.req("X-37", "C-55")
def test_what_is_kept_for_later_has_not_failed(cli: Cli) -> None:
    cli.added("I live in Oslo")
    backup, other = cli.home / "backup.jsonl", ("--db", cli.home / "other.db")
    cli("export", "--everybody", "-o", backup)
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "openai")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG__API_KEY", "")

    answer = cli("import", backup, "--as-new", "--json", *other).json

    assert (answer["deferred"], answer["failed"]) == (1, 0)


@pytest.mark.req("X-37")
def test_an_export_keeps_its_users_and_the_answer_says_so(cli: Cli) -> None:
    cli.added("I live in Oslo")
    backup, other = cli.home / "backup.jsonl", ("--db", cli.home / "other.db")
    cli("export", "--everybody", "-o", backup)

    answer = cli("import", backup, "--as-new", "--user", "zoe", "--json", *other).json
    assert (answer["added"], answer["own_scope"]) == (1, 1)
    text = cli("import", backup, "--as-new", "--user", "zoe", *other).err
    assert "1 keep the user, agent and run that the file names" in text
    assert cli.texts("list", "--user", "alice", *other) == ["I live in Oslo"]
    assert "own_scope" not in cli("import", backup, "--as-new", "--user", "alice", "--json", *other).json
