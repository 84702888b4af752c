from __future__ import annotations

from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A command line with a home of its own."""
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.req("O-64")
def test_settings_are_shown_set_and_removed(cli: Cli) -> None:
    assert cli("settings", "set", "context.budget=500", "timezone=Europe/Oslo", "--user", "alice").code == 0
    assert cli("settings", "set", 'upkeep.retain_days={"turn": 30}', "--json").json["set"] == {
        "upkeep.retain_days": {"turn": 30}
    }
    visible = cli("settings", "--user", "alice").out.splitlines()
    assert [line.split() for line in visible if "alice" in line or "user" in line] == [
        ["context.budget", "500", "user"],
        ["extract.timezone", '"Europe/Oslo"', "user"],
    ]
    assert any("upkeep.retain_days" in line and "tenant" in line for line in visible)
    got = cli("settings", "get", "context.budget", "--user", "alice", "--json").json
    assert (got["settings"], got["sources"]) == ({"context.budget": 500}, {"context.budget": "user"})
    assert cli("settings", "get", "--names", "gateway", "--all", "--json").json["settings"]["memoryMaxTokens"] == 1_400
    assert cli("settings", "unset", "context.budget", "--user", "alice").out == "1 removed\n"
    assert cli("settings", "unset", "--all", "--user", "alice").out == "1 removed\n"
    assert cli("settings", "unset", "--all", "--user", "alice").code == 1


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("settings", "set", "context.budgt=1"), "did you mean context.budget?"),
        (("settings", "set", "context.budget=-1"), "a whole number"),
        (("settings", "set", "budget"), "is not name=value"),
        (("settings", "set", "context.budget=1", "--run", "r"), "a session has none"),
        (("settings", "unset"), "name the settings, or use --all"),
        (("pause",), "At least one of"),
        (("--user", "alice", "agents"), "does not take --user"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, args: tuple[str, ...], complaint: str) -> None:
    cli("add", "I live in Oslo", "--user", "alice")
    ran = cli(*args)
    assert ran.code == 2
    assert complaint in ran.err


def test_a_setting_nobody_knows_is_not_found(cli: Cli) -> None:
    cli("add", "I live in Oslo", "--user", "alice")
    ran = cli("settings", "get", "colour")
    assert ran.code == 1
    assert "unknown setting colour" in ran.err


@pytest.mark.req("N-47")
def test_memory_is_paused_and_resumed(cli: Cli) -> None:
    assert cli("pause", "--user", "alice", "--until", "2099-01-01").out == "paused until 2099-01-01 00:00: user alice\n"
    ran = cli("add", "I live in Oslo", "--user", "alice")
    assert ran.code == 1
    assert "not stored: memory is paused for this user until 2099" in ran.err
    assert cli("resume", "--user", "alice").out == "resumed: user alice\n"
    assert cli("add", "I live in Oslo", "--user", "alice").code == 0
    assert cli("resume", "--user", "alice").code == 1


@pytest.mark.req("S-67")
def test_agents_are_listed_changed_and_deleted(cli: Cli) -> None:
    cli("add", "I live in Oslo", "--user", "alice", "--agent", "bot")
    assert "bot" in cli("agents").out
    saved = cli("agents", "save", "bot", "--name", "Bot", "--prompt", "-", "--json", stdin=b"Be kind.\n").json
    assert (saved["name"], saved["system_prompt"]) == ("Bot", "Be kind.")
    assert "Be kind." in cli("agents", "show", "bot").out
    assert cli("agents", "show", "nobody").code == 1
    assert cli("agents", "delete", "bot").code == 2
    assert cli("agents", "delete", "bot", stdin=b"n\n").code == 1
    assert cli("agents", "delete", "bot", "--yes").out == "bot was deleted, with 1 memories and turns\n"
    assert cli("agents").code == 1
    assert "Oslo" in cli("list", "--user", "alice").out, "where the user lives is the user's to keep"
