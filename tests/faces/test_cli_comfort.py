"""What makes the command line pleasant: help that fits, short ids, undo, users, approval, errors that suggest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click import Context, Group

from memstone.cli.run import _GROUPS, memstone
from memstone.config import Settings
from memstone.errors import ConfigError
from memstone.memory import Memory
from memstone.setting_errors import list_setting_names
from tests.faces.cli_runner import Cli

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "imports"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


# --- help -------------------------------------------------------------------------------------------------------------


def test_every_command_is_in_exactly_one_group_and_every_summary_fits() -> None:
    grouped = [name for names in _GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(memstone.commands)
    shown = memstone.get_help(Context(memstone, info_name="memstone", terminal_width=80))
    assert [title for title in _GROUPS if f"\n{title}:\n" not in shown] == []
    groups = [(name, command) for name, command in memstone.commands.items() if isinstance(command, Group)]
    for name, command in (("memstone", memstone), *groups):
        lines = command.get_help(Context(command, info_name=name, terminal_width=80)).splitlines()
        assert max(map(len, lines)) <= 80, name
        assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == []


def test_a_misspelt_command_is_answered_with_the_right_one(cli: Cli) -> None:
    ran = cli("serach", "Oslo")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: there is no command 'serach'; did you mean 'search'?\n")
    assert "did you mean" not in cli("xyzzy").err


def test_the_package_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "memstone", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("memstone ")


# --- short ids --------------------------------------------------------------------------------------------------------


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo")
    short = memory_id[:13]
    assert cli("get", short, "--json").json["id"] == memory_id
    assert cli("get", short.upper(), "--json").json["id"] == memory_id
    assert cli("update", short, "I live in Rome").code == 0
    assert cli("history", short, "--json").json[-1]["new_value"] == "I live in Rome"
    for command in (("disable", short), ("enable", short), ("quarantine", short), ("approve", short)):
        assert cli(*command).code == 0, command
    assert cli("visibility", short, "pinned").code == 0
    assert cli("feedback", short, "--useful", "--user", "alice").code == 0
    assert cli("share", short, "--user", "bob").code == 0
    assert cli("unshare", short, "--user", "bob").code == 0
    assert cli("delete", short).code == 0
    assert cli("history", short).code == 0, "a deleted memory is found, too"
    assert cli("restore-memory", short).code == 0


def test_a_beginning_that_several_ids_have_is_refused_and_they_are_listed(cli: Cli) -> None:
    with Memory({"store": {"url": f"sqlite:///{cli.home / 'two.db'}"}, "embedder": {"provider": "hash"}}) as memory:
        ids = [memory.add(f"Note {number}", user_id="a", infer=False)["results"][0]["id"] for number in range(2)]
    begin = next(ids[0][:size] for size in range(35, 0, -1) if ids[1].startswith(ids[0][:size]))
    assert len(begin) >= 4, "ids that are made in a row begin alike"
    ran = cli("get", begin, "--db", cli.home / "two.db")
    assert (ran.code, ran.out) == (2, "")
    assert all(one in ran.err for one in ids)
    assert "give more characters" in ran.err
    assert cli("delete", begin, "--db", cli.home / "two.db").code == 2
    assert cli("get", ids[0][:3], "--db", cli.home / "two.db").code == 1, "three characters are no id"


def test_an_unknown_beginning_is_not_found(cli: Cli) -> None:
    cli.added("I live in Oslo")
    ran = cli("get", "zzzzzzzz", "--json")
    assert (ran.code, ran.error["message"]) == (1, "no memory zzzzzzzz")


# --- undo, users ------------------------------------------------------------------------------------------------------


def test_undo_last_goes_back_one_call_at_a_time(cli: Cli) -> None:
    cli("add", "I live in Oslo. I work as a nurse.", "--user", "alice")
    cli("add", "I moved to Bergen.", "--user", "alice")
    cli("add", "I like tea.", "--user", "bob")
    ran = cli("undo", "--last", "--user", "alice", "--json")
    assert (ran.code, ran.json["undone"]) == (0, 1)
    assert sorted(cli.texts("list", "--user", "alice")) == ["User lives in Oslo.", "User works as a nurse."]
    assert cli("undo", "--last", "--json").json["undone"] == 1
    assert cli.texts("list", "--user", "bob") == []
    assert cli("undo", "--last", "--json").json["undone"] == 2, "both facts of the first call"
    assert cli.texts("list", "--user", "alice") == []
    ran = cli("undo", "--last", "--json")
    assert (ran.code, ran.error["message"]) == (1, "there is no change to undo")


def test_undo_says_what_it_needs_and_takes_a_short_event_id(cli: Cli) -> None:
    cli.added("I live in Oslo")
    assert cli("undo").code == 2
    assert cli("undo", "--last", "--job", "x").code == 2
    (event,) = cli("events", "--everybody", "--json").json["results"]
    assert cli("undo", event["id"][:13]).code == 0
    assert cli.texts("list", "--user", "alice") == []


def test_users_lists_who_is_known(cli: Cli) -> None:
    cli.added("I live in Oslo")
    cli("add", "I like tea.", "--user", "bob")
    ran = cli("users")
    assert ran.out.split()[:4] == ["USER", "MEMORIES", "LAST", "CHANGE"]
    assert [one["id"] for one in cli("users", "--json").json["results"]] == ["bob", "alice"]
    assert cli("users", "--user", "bob").code == 2


def test_users_of_an_empty_store_is_no_error_but_nothing(cli: Cli) -> None:
    cli("delete", cli.added("I live in Oslo"))
    assert (cli("users").code, cli("users").err) == (1, "there are no users yet\n")


# --- an export of one's own -------------------------------------------------------------------------------------------


def test_a_second_import_as_ones_own_releases_what_waited(cli: Cli) -> None:
    first = cli("import", SAMPLES / "openwebui.json", "--user", "alice", "--json").json
    assert (first["quarantined"] > 0, first["approved"]) == (True, 0)
    again = cli("import", SAMPLES / "openwebui.json", "--user", "alice", "--mine", "--json").json
    assert (again["approved"], again["stored"], again["quarantined"]) == (first["quarantined"], 0, 0)
    assert len(cli.texts("list", "--user", "alice")) == first["quarantined"]
    third = cli("import", SAMPLES / "openwebui.json", "--user", "alice", "--mine", "--json").json
    assert (third["approved"], third["known"]) == (0, first["quarantined"])
    assert {one["event"] for one in cli("events", "--everybody", "--json").json["results"]} == {"ADD", "ENABLE"}


def test_what_somebody_disabled_is_not_released_by_an_import(cli: Cli) -> None:
    cli("import", SAMPLES / "openwebui.json", "--user", "alice", "--mine")
    memory_id = cli("list", "--user", "alice", "--json").json["results"][0]["id"]
    cli("disable", memory_id)
    cli("import", SAMPLES / "openwebui.json", "--user", "alice", "--mine")
    assert cli("list", "--user", "alice", "--status", "disabled", "--json").json["total"] == 1


def test_approve_all_releases_everything_of_a_scope(cli: Cli) -> None:
    cli("import", SAMPLES / "openwebui.json", "--user", "alice")
    cli("import", SAMPLES / "openwebui.json", "--user", "bob")
    assert cli("approve").code == 2
    assert cli("approve", "--all").code == 2, "nobody is named"
    ran = cli("approve", "--all", "--user", "alice", "--yes")
    assert (ran.code, ran.out) == (0, "2 memories approved\n")
    assert len(cli.texts("list", "--user", "alice")) == 2
    assert cli.texts("list", "--user", "bob") == []
    assert (
        cli("approve", "--all", "--user", "alice", "--yes").code,
        cli("reject", "--all", "--everybody", "-y").code,
    ) == (1, 0)
    assert cli("list", "--user", "bob", "--status", "quarantined").code == 1


def test_at_a_terminal_the_owner_is_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstone.cli.import_memories.is_terminal", lambda _: True)
    ran = cli("import", SAMPLES / "openwebui.json", "--user", "alice", stdin=b"y\n")
    assert "Is this your own data?" in ran.err
    assert len(cli.texts("list", "--user", "alice")) == 2
    ran = cli("import", SAMPLES / "openwebui.json", "--user", "bob", stdin=b"\n")
    assert cli.texts("list", "--user", "bob") == []
    assert "memstone approve --all --user" in ran.err
    assert "own data?" not in cli("import", SAMPLES / "openwebui.json", "--user", "eve", "--not-mine").err


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"store": {"ulr": "x"}}, "there is no setting store.ulr: did you mean store.url?"),
        ({"stroe": {"url": "x"}}, "there is no setting stroe: did you mean store?"),
        ({"host": "0.0.0.0"}, "there is no setting host: did you mean server.host?"),  # noqa: S104
        ({"qqqq": 1}, "there is no setting qqqq"),
        ({"limits": {"batch": "many"}}, "limits.batch: it must be a whole number"),
        ({"preset": "gatway"}, "preset: it must be 'facts', 'gateway', 'companion' or 'shared'"),
        ({"store": {"durable": "maybe"}}, "store.durable: it must be true or false"),
        ({"server": {"port": 70_000}}, "server.port: it must be at most 65535"),
        ({"server": 3}, "server: it must be a section with settings of its own, not a single value"),
        ({"llm": {"config": {}}}, "llm.provider: it is required here"),
        ({"recall": {"layers": ["facts"]}}, "recall.layers.0: it must be 'identity', 'fact', 'episode' or 'turn'"),
        (
            {"server": {"proxies": ["x"]}},
            "server.proxies: 'x' is not an address or network such as 10.0.0.2 or 10.0.0.0/8",
        ),
    ],
)
def test_a_wrong_setting_is_explained_in_plain_words(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Settings.of(config)
    assert error.value.message == f"configuration: {message}"


def test_a_misspelt_variable_is_named_with_the_setting(cli: Cli) -> None:
    cli.environ("MEMSTONE_STORE__ULR", "x")
    ran = cli("stats")
    assert ran.code == 2
    assert "there is no setting store.ulr (MEMSTONE_STORE__ULR): did you mean store.url?" in ran.err


def test_every_setting_can_be_suggested() -> None:
    names = set(list_setting_names(Settings))
    assert {"store.url", "server.rate.per_minute", "llm.provider", "gateway.upstreams", "preset"} <= names
    assert "gateway.upstreams.name" not in names, "what stands in a list has no name of its own"
