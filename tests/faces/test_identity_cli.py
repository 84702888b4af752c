"""``memstone identity`` and ``memstone episodes``."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstone import Memory
from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The program over a store of its own."""
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.req("S-3")
def test_overrides_are_listed_added_removed_and_replaced(cli: Cli) -> None:
    added = cli("identity", "add", "Call me Al.", "--user", "alice")
    assert added.code == 0
    assert "Standing instructions" in added.out
    cli("identity", "add", "Answer in metric units", "--user", "alice")
    assert cli("identity", "--user", "alice").out.splitlines()[2].split()[0] == "1"

    removed = cli("identity", "remove", "1", "--user", "alice", "--json").json
    assert [one["text"] for one in removed["overrides"]] == ["Answer in metric units"]
    replaced = cli("identity", "set", "One", "Two", "--user", "alice", "--json").json
    assert [one["text"] for one in replaced["overrides"]] == ["One", "Two"]
    assert cli("identity", "set", "--clear", "--user", "alice").code == 0
    assert cli("identity", "--user", "alice").code == 1


@pytest.mark.req("S-2")
def test_the_text_about_a_user_is_written_by_hand_and_given_back(cli: Cli) -> None:
    written = cli("identity", "write", "Alice is a nurse.", "--user", "alice")
    assert "Alice is a nurse." in written.out
    assert "version 1 by user" in written.out
    assert cli("identity", "write", "--back", "--user", "alice").code == 0
    assert cli("identity", "--user", "alice", "--json").json["narrative"] is None


def test_wrong_commands_say_what_is_wrong(cli: Cli) -> None:
    cli.added("I live in Oslo")
    for wrong in (["add", "x"], ["remove", "1"], ["set", "x"], []):
        ran = cli("identity", *wrong)
        assert (ran.code, "use --user" in ran.err) == (2, True), wrong
    assert cli("identity", "remove", "0", "--user", "alice").code == 2
    assert "there is no standing instruction number 1" in cli("identity", "remove", "1", "--user", "alice").err
    assert cli("identity", "set", "--user", "alice").code == 2
    assert cli("identity", "set", "x", "--clear", "--user", "alice").code == 2
    assert cli("identity", "write", "--user", "alice").code == 2


def test_a_warning_is_shown_when_overrides_are_too_many(cli: Cli) -> None:
    cli.environ("MEMSTONE_CONTEXT__OVERRIDE_TOKENS", "5")
    assert "a model sees only the first 5" in cli("identity", "add", "x " * 40, "--user", "alice").err


@pytest.mark.req("S-7")
def test_episodes_are_listed(cli: Cli) -> None:
    assert cli("episodes", "--user", "alice").code != 0
    cli.added("I live in Oslo")
    assert cli("episodes", "--user", "alice").code == 1
    text = "My name is Alice and I live in Oslo. I work as a nurse at the harbour clinic, which I like a lot."
    settings = {"preset": "companion", "write": {"mode": "manual"}, "embedder": {"provider": "hash"}}
    with Memory({**settings, "store": {"url": f"sqlite:///{cli.db}"}}) as memory:
        memory.add(text, user_id="alice", run_id="r1")
        memory.sessions.end(user_id="alice")

    ran = cli("episodes", "--user", "alice")
    assert ran.code == 0
    assert "harbour clinic" in ran.out
    assert "r1" in ran.out
    assert cli("episodes", "--user", "alice", "--since", "2999-01-01").code == 1
    assert len(cli("episodes", "--user", "alice", "--json").json["results"]) == 1
