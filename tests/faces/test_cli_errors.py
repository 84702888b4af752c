from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memstone.cli.run import run_command
from memstone.memory import Memory
from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["bogus"], "there is no command 'bogus'", "see `memstone --help`"),
        (["list", "--user", "a", "--limit", "x"], "'x' is not a valid integer", "see `memstone list --help`"),
        (["list", "--user", "a", "--limit", "0"], "limit must be a whole number", "to count, call get_all"),
        (["list", "--user", "a", "--limit", "10001"], "limit must be a whole number", "several pages"),
        (["list", "--user", "a", "--limit", "-1"], "limit must be a whole number", "leave it out"),
        (["list", "--user", "a", "--kind", "odd"], "'odd' is not one of", "see `memstone list --help`"),
        (["list", "--user", "a", "-f", "nonsense"], "'nonsense' is not a filter", "see `memstone list --help`"),
        (["list", "--user", "a", "-f", "size>>3"], "'size>>3' is not a filter", "see `memstone list --help`"),
        (["list", "--user", "a", "-f", "size=<3"], "'size=<3' is not a filter", "see `memstone list --help`"),
        (["list", "--user", "a", "-f", "{"], "not JSON", "see `memstone list --help`"),
        (["list", "--user", "a", "-f", '{"a": {"odd": 1}}'], "unknown operator 'odd'", "known operators"),
        (["add", "x", "--user", "a", "-m", "nonsense"], "'nonsense' is not name=value", "see `memstone add --help`"),
        (["add", "x", "--user", "a", "-m", "k=1", "-m", "k=2"], "'k' appears twice", "see `memstone add --help`"),
        (["add", "x", "--user", "a", "--at", "yesterday"], "occurred_at is not a date", "ISO 8601"),
        (["add", "x", "--user", "a b"], "user_id contains white space", "one word"),
        (["add", "  ", "--user", "a"], "content is empty", "give some text"),
        (["add", "x", "y", "--user", "a"], "unexpected extra argument", "see `memstone add --help`"),
        (["search", "x", "--user", "a", "--min-score", "7"], "min_score must be a number from 0 to 1", "leave it out"),
        (["update", "some-id"], "nothing to update", "give text"),
        (["delete"], "you did not name a memory", "give IDs, or use --all"),
        (["delete", "x", "--all", "--user", "a"], "not both", "see `memstone delete --help`"),
        (["delete", "x", "--user", "a"], "cannot be combined with an ID", "see `memstone delete --help`"),
        (["get", "x", "--user", "a"], "No such option", "see `memstone get --help`"),
        (["--user", "a", "get", "x"], "get does not take --user", "see `memstone get --help`"),
        (["import", "missing.jsonl"], "does not exist", "see `memstone import --help`"),
        (["list", "--user", "a", "--config", "missing.toml"], "No such file", "must be valid TOML"),
    ],
)
def test_a_wrong_command_is_two_lines_and_code_2(cli: Cli, args: list[str], message: str, hint: str) -> None:
    cli.added("something")
    ran = cli(*args)
    lines = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert lines[1:] == [] if not hint else hint in lines[1].removeprefix("hint: ")
    assert cli(*args, "--json").error["message"] in ran.err


@pytest.mark.parametrize("group", ["encryption", "models"])
def test_a_group_of_commands_alone_shows_its_help_as_it_is(cli: Cli, group: str) -> None:
    result = cli(group)

    assert result.code == 2
    assert result.err.startswith(f"Usage: memstone {group} [OPTIONS] COMMAND [ARGS]...\n\n")
    assert "\nCommands:\n" in result.err
    assert "error:" not in result.err


@pytest.mark.parametrize(
    "args", [["add", "x"], ["search", "x"], ["list"], ["delete", "--all", "--yes"], ["delete", "--all"]]
)
@pytest.mark.req("C-5")
def test_without_a_scope_the_fixed_sentence_and_the_options_are_said(cli: Cli, args: list[str]) -> None:
    cli.added("something")
    ran = cli(*args)
    assert ran.code == 2
    assert ran.err.splitlines() == [
        "error: At least one of user_id, agent_id, or run_id must be provided",
        "hint: say whose memory to use: --user, --agent or --run",
    ]


@pytest.mark.parametrize("args", [["get", "nope"], ["history", "nope"], ["update", "nope", "x"], ["delete", "nope"]])
def test_an_unknown_id_is_code_1(cli: Cli, args: list[str]) -> None:
    cli.added("something")
    ran = cli(*args)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: no memory nope\nhint: `memstone list` shows ids")
    assert cli(*args, "--json").error["code"] == "not_found"


@pytest.mark.parametrize("args", [["list", "--user", "a"], ["stats"], ["get", "x"], ["export"], ["reindex"]])
def test_a_store_that_is_not_there_is_not_made_by_reading(cli: Cli, args: list[str]) -> None:
    ran = cli(*args)
    assert ran.code == 1
    assert ran.err.startswith(f"error: there is no store at {cli.db}\nhint: the first `memstone add` creates it")
    assert not cli.db.exists()


def test_a_file_that_is_no_database_is_code_3(cli: Cli) -> None:
    broken = cli.home / "broken.db"
    broken.write_text("not a database, but long enough to look like something\n" * 100)
    ran = cli("list", "--user", "a", "--db", broken, "--json")
    assert (ran.code, ran.error["code"]) == (3, "corrupted")


def test_a_database_of_somebody_else_is_left_alone(cli: Cli) -> None:
    foreign = cli.home / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    ran = cli("add", "x", "--user", "a", "--db", foreign)
    assert ran.code == 3
    assert ran.err.startswith("error: this SQLite file was not made by Memstone")


def test_a_database_from_the_future_is_refused(cli: Cli) -> None:
    cli.added("x")
    with closing(sqlite3.connect(cli.db)) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert cli("list", "--user", "alice", "--json").error["code"] == "schema_too_new"


@pytest.mark.parametrize("command", [["add", "x", "--user", "a"], ["list", "--user", "a"], ["copy", "memory:"]])
def test_a_database_nobody_knows_is_refused_and_no_file_of_that_name_is_made(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(cli.home)
    ran = cli(*command, *([] if command[0] == "copy" else ["--db"]), "mysql://host/x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: store.url cannot be used: mysql://host/x\nhint: sqlite:///")
    assert not list(cli.home.glob("mysql*"))


@pytest.mark.parametrize(
    ("closed", "args", "code"),
    [
        ("stdout", ["doctor"], 0),
        ("stdout", ["doctor", "--json"], 0),
        ("stdout", ["export", "--everybody"], 0),
        ("stderr", ["get", "nope", "--json"], 1),
        ("stdin", ["add", "-", "--user", "alice"], 2),
        ("stdin", ["import", "-", "--user", "alice"], 1),
        ("stdin", ["delete", "--all", "--user", "alice"], 2),
    ],
)
def test_a_stream_that_is_closed_is_no_fault(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    closed: str,
    args: list[str],
    code: int,
) -> None:
    cli.added("something")
    monkeypatch.setattr(sys, closed, None)
    capsys.readouterr()
    assert run_command(args) == code
    getattr(sys, closed).close()  # what stood in for it
    lines = capsys.readouterr()
    assert "a bug in Memstone" not in lines.err
    assert "error" not in lines.out


def test_a_directory_is_no_store(cli: Cli) -> None:
    ran = cli("add", "x", "--user", "a", "--db", cli.home)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: ")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_store_that_cannot_be_written_says_so(cli: Cli) -> None:
    cli.added("x")
    cli.db.chmod(0o444)
    cli.db.parent.chmod(0o555)
    try:
        assert cli("add", "y", "--user", "alice", "--json").error["code"] == "storage_read_only"
    finally:
        cli.db.parent.chmod(0o755)


@pytest.mark.req("C-55")
def test_what_cannot_be_embedded_is_kept_and_code_3(cli: Cli) -> None:
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "local")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG", f'{{model_dir = "{cli.home}", model_name = "absent"}}')
    for options, problem in (
        [["--no-infer"], "queued, but not stored yet"],
        [[], "stored, but nothing was learned yet"],
    ):
        ran = cli("add", "I love tea.", "--user", "alice", *options)
        assert ran.code == 3, ran
        assert ran.err.startswith(f"error: {problem}: ")
        assert "run `memstone flush --everybody` to retry" in ran.err
    assert cli("flush", "--everybody").code == 3
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "hash")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG", "{}")
    assert cli("flush", "--everybody").out == "2 stored, 0 still waiting\n"
    assert cli.texts("list", "--user", "alice") == ["I love tea."], "told twice, known once"


def test_asking_nobody_is_a_usage_error(cli: Cli) -> None:
    cli.added("x")
    ran = cli("delete", "--all", "--user", "alice", stdin=b"")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "hint: use --yes to delete without asking"


@pytest.mark.parametrize(
    "command",
    [
        ["delete", "--all", "--user", "alice"],
        ["erase", "--user", "alice"],
        ["redact", "--apply"],
        ["rollback", "--everybody", "--since", "2020-01-01"],
        ["agents", "delete", "bot"],
    ],
)
def test_a_program_is_not_asked(cli: Cli, command: list[str]) -> None:
    cli.added("x")
    ran = cli(*command, "--json", stdin=b"y\nalice\n")
    assert (ran.code, ran.out) == (2, "")
    assert "--yes" in json.loads(ran.err.splitlines()[-1])["error"]["hint"]
    assert cli.texts("list", "--user", "alice") == ["x"]


def test_what_something_stands_in_the_way_of_is_code_1(cli: Cli) -> None:
    cli.added("I like tea")
    other = cli.added("I like coffee")
    assert cli("update", other, "I like tea", "--json").error["code"] == "conflict"
    assert cli("update", other, "I like tea").code == 1
    assert cli("reject", other).code == 1


def test_an_unexpected_error_is_a_message_and_with_verbose_a_traceback(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(memory: Memory) -> None:
        raise RuntimeError("a bolt came loose")

    cli.added("x")
    monkeypatch.setattr(Memory, "stats", broken)
    ran = cli("stats")
    assert ran.code == 3
    assert ran.err.startswith("error: RuntimeError: a bolt came loose\nhint: this is a bug in Memstone")
    assert "Traceback" not in ran.err
    assert "Traceback" in cli("stats", "--verbose").err


def test_warnings_of_the_library_reach_the_screen(cli: Cli) -> None:
    ran = cli("add", "I love tea.", "--user", "alice", "-m", "user_id=bob")
    assert ran.code == 0
    assert ran.err.startswith("warning: metadata.user_id was ignored")


def test_text_that_is_no_utf_8_is_refused(cli: Cli) -> None:
    assert cli("add", "-", "--user", "alice", stdin=b"\xff\xfe").code == 2


def test_control_characters_are_shown_and_not_obeyed(cli: Cli) -> None:
    memory_id = cli.added("red \x1b[31malert\x07 \u202etxt.exe \x9b0m")
    for command in (["list", "--user", "alice"], ["get", memory_id], ["history", memory_id]):
        out = cli(*command).out
        assert r"red \x1b[31malert\x07 \u202etxt.exe \x9b0m" in out
        assert not set(out) & {"\x1b", "\x07", "\u202e", "\x9b"}


def test_a_reader_that_goes_away_ends_the_program_quietly(cli: Cli) -> None:
    cli.added("x" * 40_000)
    program = subprocess.Popen(
        [sys.executable, "-m", "memstone.cli", "export", "--everybody"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.close()
    complaint = program.stderr.read()
    program.stderr.close()
    assert (program.wait(), complaint) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_full_disk_is_called_full(cli: Cli) -> None:
    cli.added("x")
    ran = cli("export", "--everybody", "-o", "/dev/full")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines() == ["error: No space left on device", "hint: free some space, or write somewhere else"]


def test_ctrl_c_is_code_130_and_no_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(memory: Memory) -> None:
        signal.raise_signal(signal.SIGINT)

    cli.added("x")
    monkeypatch.setattr(Memory, "stats", interrupted)
    ran = cli("stats")
    assert (ran.code, ran.err) == (130, "error: interrupted\n")


def test_ctrl_c_while_the_program_loads_is_code_130_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    from memstone.cli import main

    def interrupted(args: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("memstone.cli.run.run_command", interrupted)
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 130
