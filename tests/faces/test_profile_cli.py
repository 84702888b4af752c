"""``memstone profile`` and ``memstone visibility``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The program over a store of its own."""
    return Cli(tmp_path, monkeypatch, capsys)


def rows_of(out: str, title: str) -> list[str]:
    """The rows of a table below its title and its heads."""
    lines = out.split(f"{title}\n")[1].split("\n\n", maxsplit=1)[0].splitlines()
    return lines[1:]


@pytest.mark.req("X-4")
def test_a_profile_is_shown_with_what_is_left_out(cli: Cli) -> None:
    cli("identity", "add", "Answer in French.", "--user", "alice")
    for text in ("I love jazz.", "I am allergic to nuts."):
        cli("add", text, "--user", "alice")
    secret = cli.added("The door code of the gym is 4711", "--user", "alice")

    ran = cli("profile", "--user", "alice")

    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in rows_of(ran.out, "Always shown")] == ["instruction", "health", "preference"]
    (left,) = rows_of(ran.out, "Left out")
    assert left.startswith(f"may hold a secret  {secret}")
    assert "tokens  " in ran.out
    assert " of 1,000" in ran.out
    few = cli("profile", "--user", "alice", "--tokens", 8)
    assert "and more is known" in few.out
    full = cli("profile", "--user", "alice", "--json").json
    assert [one["about"] for one in full["facts"]] == ["health", "preference"]


def test_nothing_known_is_said_and_nobody_is_an_error(cli: Cli) -> None:
    cli.added("I live in Oslo")
    ran = cli("profile", "--user", "bob")
    assert (ran.code, ran.err) == (1, "nothing is known about this user\n")
    wrong = cli("profile")
    assert (wrong.code, "use --user" in wrong.err) == (2, True)
    assert cli("profile", "--user", "alice", "--tokens", -1).code == 2


def test_a_memory_is_pinned_hidden_made_private_and_taken_back(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo")
    assert cli("visibility", memory_id, "pinned").out == f"{memory_id} is pinned\n"
    assert cli("visibility", memory_id, "pinned").out == "nothing to do\n"
    assert cli("profile", "--user", "alice", "--json").json["facts"][0]["about"] == "pinned"
    for wanted, reason in (("hidden", "hidden by the user"), ("private", "marked private")):
        assert cli("visibility", memory_id, wanted).code == 0
        ran = cli("profile", "--user", "alice")
        assert rows_of(ran.out, "Left out")[0].startswith(reason)
    assert cli("visibility", memory_id, "default", "--json").json["visibility"] == "default"
    assert cli("profile", "--user", "alice").code == 0
    assert cli("visibility", memory_id, "secret").code == 2
    assert cli("visibility", "nobody", "pinned").code != 0
