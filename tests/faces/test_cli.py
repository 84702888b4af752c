from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memstone.cli.run import memstone
from tests.faces.cli_runner import ROOT, Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("args", [["--help"], ["--version"], [], ["search", "--help"]])
def test_help_and_version_load_nothing_heavy(args: list[str]) -> None:
    code = (
        "import sys; from memstone.cli.run import run_command; code = run_command(sys.argv[1:]);"
        "print(sorted({'numpy', 'pydantic', 'httpx2', 'onnxruntime', 'sqlite3', 'asyncio'} & set(sys.modules)), code)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stdout.splitlines()[-1] == "[] 0"


def test_reading_by_id_or_in_order_computes_nothing(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo")
    code = (
        "import sys; from memstone.cli.run import run_command; code = run_command(sys.argv[1:]);"
        "print(sorted({'numpy', 'httpx2', 'onnxruntime', 'asyncio'} & set(sys.modules)), code)"
    )
    for args in (["get", memory_id], ["list", "--user", "alice"], ["history", memory_id]):
        ran = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)  # noqa: S603
        assert ran.stdout.splitlines()[-1] == "[] 0", ran


def test_it_is_also_a_module() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "memstone.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "memstone 0.2.0\n"


@pytest.mark.req("N-16.1")
def test_the_way_from_add_to_search_is_short(cli: Cli) -> None:
    added = cli("add", "I live in Oslo", "--user", "alice")
    assert added.code == 0
    assert added.out.split()[:4] == ["EVENT", "ID", "MEMORY", "ADD"]
    found = cli("search", "Oslo", "--user", "alice")
    assert found.code == 0
    assert "User lives in Oslo." in found.out
    assert cli("list", "--user", "alice").out.endswith("\n1 in all (1 factual)\n")


def test_add_says_so_where_only_a_model_reads_the_language(cli: Cli) -> None:
    answer = cli("add", "私は東京に住んでいます", "--user", "alice")
    assert answer.code == 0
    assert "only a language model reads this language" in answer.err


def test_add_learns_and_shows_what_became_of_each_fact(cli: Cli) -> None:
    lines = [cli("add", f"I live in {city}.", "--user", "alice", "--infer").out for city in ("Oslo", "Rome", "Rome")]
    assert [[line.split(maxsplit=2)[::2] for line in out.splitlines()[1:]] for out in lines] == [
        [["ADD", "User lives in Oslo."]],
        [["UPDATE", "User lives in Rome."]],
        [["NONE", "User lives in Rome."]],
    ]


def test_text_without_facts_is_a_success_and_says_where_it_is(cli: Cli) -> None:
    ran = cli("add", "Good morning!", "--user", "alice")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("nothing to learn\nhint: it is stored as a turn")
    assert cli.texts("list", "--user", "alice", "--layer", "turn") == ["Good morning!"]
    assert cli("add", "Good morning!", "--user", "alice", "--json").json == {"results": [], "status": "ok"}


@pytest.mark.req("N-39")
@pytest.mark.parametrize("option", ["--no-infer", "--verbatim"])
def test_text_may_be_stored_as_it_is(cli: Cli, option: str) -> None:
    assert cli("add", "Good morning!", option, "--user", "alice").code == 0
    assert cli.texts("list", "--user", "alice") == ["Good morning!"]
    assert cli.texts("list", "--user", "alice", "--layer", "turn") == []


@pytest.mark.parametrize("options", [["--key", "home"], ["--kind", "semantic"]])
def test_what_describes_one_memory_needs_text_that_is_stored_as_it_is(cli: Cli, options: list[str]) -> None:
    ran = cli("add", "I live in Oslo", "--user", "alice", *options)
    assert ran.code == 2
    assert ran.err.splitlines()[1] == (
        "hint: use --no-infer to store TEXT itself as one memory, or --agent and --kind procedural"
    )
    assert not cli.db.exists()


@pytest.mark.req("N-39.1")
def test_what_an_agent_did_is_kept_as_one_memory(cli: Cli) -> None:
    ran = cli("add", "I ran make deploy", "--agent", "ops", "--kind", "procedural", "--json")
    (one,) = ran.json["results"]
    assert (one["event"], one["memory"]) == ("ADD", "user: I ran make deploy")
    assert cli("get", one["id"], "--json").json["kind"] == "procedural"


def test_the_same_text_again_is_reported_and_not_stored(cli: Cli) -> None:
    cli.added("I live in Oslo")
    assert "NONE" in cli("add", "I live in Oslo", "--no-infer", "--user", "alice").out
    assert cli("stats", "--json").json["memories"] == 1


def test_shared_options_may_stand_before_or_after_the_command_and_after_wins(cli: Cli) -> None:
    store = ["--db", str(cli.home / "own.db")]
    assert cli(*store, "--user", "alice", "--json", "add", "one", "--verbatim").json["status"] == "ok"
    assert cli.texts("list", *store, "--user", "alice") == ["one"]
    assert cli.texts("--user", "bob", *store, "list", "--user", "alice") == ["one"]
    assert not cli.db.exists()


def test_the_store_and_settings_come_from_options_then_environment_then_file(cli: Cli) -> None:
    (cli.home / "memstone.toml").write_text(f'[store]\nurl = "sqlite:///{cli.home}/file.db"\n[history]\n')
    cli.environ("MEMSTONE_CONFIG", str(cli.home / "memstone.toml"))
    cli.added("from the file")
    cli.environ("MEMSTONE_STORE__URL", f"sqlite:///{cli.home}/environment.db")
    cli.added("from the environment")
    cli.added("from the option", "--db", cli.home / "option.db")
    assert {path.name for path in cli.home.glob("*.db")} == {"file.db", "environment.db", "option.db"}


def test_db_wins_over_any_other_place_the_settings_name(cli: Cli) -> None:
    cli.environ("MEMSTONE_HISTORY__DB_PATH", str(cli.home / "history.db"))
    cli.added("here", "--db", cli.home / "here.db")
    assert [path.name for path in cli.home.glob("*.db")] == ["here.db"]


def test_a_store_in_memory_is_gone_afterwards(cli: Cli) -> None:
    assert cli("add", "x", "--user", "alice", "--db", "memory:").code == 0
    assert cli("list", "--user", "alice", "--db", "memory:").code == 1


def test_add_keeps_everything_it_is_told(cli: Cli) -> None:
    options = ["--kind", "procedural", "--key", "standup", "--at", "2026-03-02T09:00:00Z", "--expires", "2099-01-01"]
    metadata = ["-m", "project=harbour", "-m", "size=3", "-m", "open=true", "-m", 'tags=["a"]', "-m", "zip=0150"]
    memory_id = cli.added("Standup is at 9", *options, *metadata, "--role", "assistant", "--name", "Iris")
    stored = cli("get", memory_id, "--json").json
    assert stored["metadata"] == {"project": "harbour", "size": 3, "open": True, "tags": ["a"], "zip": "0150"}
    assert (stored["kind"], stored["key"], stored["role"], stored["actor"]) == (
        "procedural",
        "standup",
        "assistant",
        "Iris",
    )
    assert stored["occurred_at"] == "2026-03-02T09:00:00.000000Z"
    assert stored["expires_at"] == "2099-01-01T00:00:00.000000Z"


def test_metadata_may_be_a_json_object(cli: Cli) -> None:
    memory_id = cli.added("x", "--metadata", '{"a": {"b": 1}}', "--metadata", "c=NaN")
    assert cli("get", memory_id, "--json").json["metadata"] == {"a": {"b": 1}, "c": "NaN"}


def test_a_dash_reads_standard_input(cli: Cli) -> None:
    text = "first line\nsecond line, with ä and 日本"
    cli("add", "-", "--no-infer", "--user", "alice", stdin=f"{text}\n".encode())
    assert cli.texts("list", "--user", "alice") == [text]
    assert cli("search", "-", "--user", "alice", "--strategy", "text", stdin=b"second").code == 0


def test_a_key_revises_and_history_tells(cli: Cli) -> None:
    first = cli.added("Standup is at 9:30", "--key", "standup")
    assert cli.added("Standup is at 10:15", "--key", "standup") == first
    answer = cli("history", first)
    assert [line.split()[2] for line in answer.out.splitlines()[1:]] == ["ADD", "UPDATE"]
    assert "same key, new content" in answer.out


@pytest.mark.req("N-37")
def test_explain_shows_the_parts_of_a_score_as_columns(cli: Cli) -> None:
    cli.added("I live in Oslo")
    plain = cli("search", "Oslo", "--user", "alice").out
    explained = cli("search", "Oslo", "--user", "alice", "--explain").out
    assert plain.split()[:2] == ["SCORE", "ID"]
    assert explained.split()[:5] == ["SCORE", "KEYWORD", "SEMANTIC", "ENTITY", "ID"]
    assert explained.splitlines()[1].split()[1] == "1.000"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("city=Oslo", ["in Oslo"]),
        ("city == Oslo", ["in Oslo"]),
        ("city!=Oslo", ["no city", "in Bergen"]),
        ("size>=3", ["in Oslo"]),
        ("size > 1", ["in Oslo"]),
        ("size<3", ["in Bergen"]),
        ("size<=3", ["in Bergen", "in Oslo"]),
        ("city=*", ["in Bergen", "in Oslo"]),
        ('{"city": {"in": ["Oslo", "Rome"]}}', ["in Oslo"]),
        ("memory.text=in Oslo", ["in Oslo"]),
    ],
)
@pytest.mark.req("C-38")
def test_filters_are_written_shortly_or_as_json(cli: Cli, condition: str, expected: list[str]) -> None:
    cli.added("in Oslo", "-m", "city=Oslo", "-m", "size=3")
    cli.added("in Bergen", "-m", "city=Bergen", "-m", "size=1")
    cli.added("no city")
    assert cli.texts("list", "--user", "alice", "--filter", condition) == expected
    assert sorted(cli.texts("search", "in", "--user", "alice", "--filter", condition)) == sorted(expected)


def test_several_filters_must_all_hold(cli: Cli) -> None:
    cli.added("in Oslo", "-m", "city=Oslo", "-m", "size=3")
    assert cli("list", "--user", "alice", "-f", "city=Oslo", "-f", "size>3").code == 1


def test_search_takes_limit_min_score_strategy_and_layer(cli: Cli) -> None:
    for number in range(3):
        cli.added(f"harbour number {number}")
    assert len(cli.texts("search", "harbour", "--user", "alice", "--limit", 2)) == 2
    assert cli("search", "elephants", "--user", "alice", "--strategy", "text").code == 1
    assert cli("search", "elephants", "--user", "alice", "--min-score", 0.9).code == 1
    assert cli("search", "harbour", "--user", "alice", "--layer", "turn").code == 1


@pytest.mark.req("N-38", "X-10")
def test_as_of_and_expired_look_past_what_is_seen_now(cli: Cli) -> None:
    cli.added("Standup is at 9:30", "--key", "standup", "--at", "2026-03-02")
    cli.added("Standup is at 10:15", "--key", "standup", "--at", "2026-03-05")
    cli.added("The code is 4711", "--expires", "2026-03-04", "--at", "2026-03-01")
    assert cli.texts("list", "--user", "alice") == ["Standup is at 10:15"]
    assert cli.texts("search", "standup", "--user", "alice", "--as-of", "2026-03-03", "-n", 1) == ["Standup is at 9:30"]
    assert "Standup is at 9:30" in cli.texts("list", "--user", "alice", "--as-of", "2026-03-03")
    assert "The code is 4711" in cli.texts("list", "--user", "alice", "--expired")
    assert "The code is 4711" in cli.texts("search", "code", "--user", "alice", "--expired")


@pytest.mark.req("O-13", "N-16.1")
def test_list_pages_and_counts(cli: Cli) -> None:
    for number in range(5):
        cli.added(f"note {number}", "--kind", "episodic" if number else "factual")
    assert cli.texts("list", "--user", "alice", "--limit", 2, "--page", 2) == ["note 2", "note 1"]
    assert cli.texts("list", "--user", "alice", "--limit", 2, "--offset", 4) == ["note 0"]
    assert cli.texts("list", "--user", "alice", "--kind", "factual") == ["note 0"]
    assert cli.texts("list", "--user", "alice", "--q", "TE 3") == ["note 3"]
    assert cli("list", "--user", "alice", "--status", "disabled").code == 1
    last = cli("list", "--user", "alice", "--limit", 2, "--page", 2).out.splitlines()[-1]
    assert last == "3 to 4 of 5; 4 episodic, 1 factual"


def test_update_changes_what_is_named_and_nothing_else(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo", "-m", "city=Oslo", "--key", "home", "--expires", "2099-01-01")
    changed = cli("update", memory_id, "I live in Bergen", "--json").json
    assert (changed["memory"], changed["version"], changed["metadata"]) == ("I live in Bergen", 2, {"city": "Oslo"})
    changed = cli("update", memory_id, "-m", "city=Bergen", "--key", "", "--expires", "never", "--json").json
    assert (changed["memory"], changed["metadata"]) == ("I live in Bergen", {"city": "Bergen"})
    assert (changed["key"], changed["expires_at"]) == (None, None)
    assert cli("update", memory_id, "-", stdin=b"I live in Rome").out.splitlines()[1] == "memory       I live in Rome"


@pytest.mark.req("N-16.1")
def test_delete_takes_one_id_or_several_and_keeps_the_history(cli: Cli) -> None:
    one, two, three = (cli.added(text) for text in ("one", "two", "three"))
    assert cli("delete", one).code == 0
    ran = cli("delete", two, "missing", three)
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.splitlines()] == ["EVENT", "DELETE", "NONE", "DELETE"]
    assert cli("list", "--user", "alice").code == 1
    assert "DELETE" in cli("history", one).out


@pytest.mark.req("R-7", "N-16.1")
def test_delete_all_asks_first_and_takes_only_the_scope(cli: Cli) -> None:
    cli.added("one", "-m", "a=1")
    cli.added("two")
    cli("add", "bob's", "--no-infer", "--user", "bob")
    assert cli("delete", "--all", "--user", "alice", stdin=b"n\n").code == 1
    assert len(cli.texts("list", "--user", "alice")) == 2
    assert cli("delete", "--all", "--user", "alice", "--filter", "a=1", "--yes", "--json").json == {"deleted": 1}
    assert cli("delete", "--all", "--user", "alice", stdin=b"y\n").out == "1 deleted\n"
    assert cli.texts("list", "--user", "bob") == ["bob's"]


@pytest.mark.req("N-16.1")
def test_get_shows_a_text_with_its_own_lines(cli: Cli) -> None:
    memory_id = cli.added("first\nsecond", "-m", "n=[1]")
    assert cli("get", memory_id).out.splitlines()[1:4] == [
        "memory       first",
        "             second",
        "metadata     n=[1]",
    ]


def test_every_command_answers_with_exactly_one_json_document(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo")
    (cli.home / "lines.jsonl").write_text('{"text": "x", "user_id": "alice"}\n')
    commands: list[list[object]] = [
        ["add", "another", "--user", "alice"],
        ["search", "Oslo", "--user", "alice", "--explain"],
        ["list", "--user", "alice"],
        ["get", memory_id],
        ["history", memory_id],
        ["stats"],
        ["update", memory_id, "I live in Bergen"],
        ["reindex"],
        ["flush", "--everybody"],
        ["doctor"],
        ["export", "--everybody", "--output", cli.home / "out.jsonl"],
        ["import", cli.home / "lines.jsonl"],
        ["delete", memory_id],
        ["delete", "--all", "--yes", "--user", "alice"],
    ]
    for command in commands:
        ran = cli(*command, "--json")
        assert (ran.code, ran.err) == (0, ""), ran
        assert isinstance(ran.json, dict | list)


def test_reindex_moves_to_another_embedder(cli: Cli) -> None:
    cli.added("I live in Oslo")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG__DIM", "64")
    warned = cli("search", "Oslo", "--user", "alice")
    assert warned.err.startswith("warning: searched without dense vectors")
    assert cli("reindex").out == "1 vectors built for hash:bow-v1:64, 1 others dropped\n"
    assert cli("search", "Oslo", "--user", "alice").err == ""


def test_the_reference_says_what_the_program_says() -> None:
    script = str(ROOT / "scripts" / "cli_reference.py")
    ran = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)  # noqa: S603
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_reference_notices_a_new_option_and_a_new_command() -> None:
    from scripts.cli_reference import filled, missing

    @click.command()
    @click.option("--secret", help="Nobody knows.")
    def hidden(secret: str) -> None:
        """Do something."""

    group = click.Group(commands={"hidden": hidden})
    assert missing("# nothing", group) == ["docs/cli.md has no place for memstone hidden"]
    assert "`--secret TEXT` | Nobody knows." in filled("<!-- memstone hidden -->\nold\n<!-- end -->", group)


def _summaries(group: click.Group) -> Iterator[str]:
    """What ``--help`` of a group shows of its commands on a terminal of 80 columns, and what theirs show."""
    output = group.get_help(click.Context(group, terminal_width=80))
    _, _, listed = output.partition("--help " if group is memstone else "\nCommands:\n")
    lines = [line for line in listed.partition("\n  Examples:\n")[0].splitlines()[group is memstone :] if line]
    yield from (line for line in lines if line.startswith(" "))
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _summaries(command)


def test_every_summary_of_a_command_fits_into_80_columns() -> None:
    lines = list(_summaries(memstone))
    assert len(lines) > 70
    assert [line for line in lines if line.endswith("...") or not line.endswith(".") or line.startswith(" " * 4)] == []


def test_json_in_a_pipe_is_one_line_and_not_escaped(cli: Cli) -> None:
    cli.added("Käse")
    out = cli("list", "--user", "alice", "--json").out
    assert out.count("\n") == 1
    assert "Käse" in out
    assert json.loads(out)["total"] == 1


def test_an_expired_memory_says_so_and_is_shown_when_asked_for(cli: Cli) -> None:
    memory_id = cli.added("I am on holiday")
    cli("update", memory_id, "--expires", "2020-01-01")

    ran = cli("get", memory_id)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        f"error: memory {memory_id} expired on 2020-01-01 00:00\nhint: use --expired to show it, or "
    )
    assert cli("get", memory_id, "--expired", "--json").json["memory"] == "I am on holiday"
    cli("update", memory_id, "--expires", "never")
    assert cli("get", memory_id).code == 0
    cli("delete", memory_id)
    assert cli("get", memory_id, "--expired").err.startswith(f"error: no memory {memory_id}\n")


def test_a_history_names_the_fields_that_changed_where_the_text_did_not(cli: Cli) -> None:
    memory_id = cli.added("Home: Oslo", "--key", "home")
    cli("update", memory_id, "--expires", "2090-01-01")
    cli("update", memory_id, "--key", "", "-m", "city=Oslo")
    cli("update", memory_id, "Home: Bergen")

    lines = cli("history", memory_id).out.splitlines()
    assert "expires_at: none" in lines[2]
    assert "expires_at: 2090-01-01 00:00" in lines[2]
    assert "key: home, metadata: none" in lines[3]
    assert 'key: none, metadata: {"city": "Oslo"}' in lines[3]
    assert "Home: Oslo" in lines[4]
    assert "Home: Bergen" in lines[4]
