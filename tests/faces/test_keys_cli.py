"""``memstone keys``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.req("X-24", "X-39")
@pytest.mark.parametrize(
    ("options", "reach"),
    [
        ([], "read, write for its own pools"),
        (["--may-assert-user"], "read, write for every person it names"),
        (["--verb", "admin"], "read, write, admin for the whole tenant"),
        (["--for-user", "alice"], "read, write for alice"),
        (["--for-agent", "helper"], "read, write for its own pools, with agent helper"),
        (["--for-agent", "helper", "--may-assert-user"], "read, write for every person it names, with agent helper"),
    ],
)
def test_a_list_says_what_each_key_reaches(cli: Cli, options: list[str], reach: str) -> None:
    made = cli("keys", "create", "app", *options)
    assert made.out.startswith("rt_")
    assert cli("keys", "list").out.rstrip().endswith(f"app: {reach}")


@pytest.mark.req("X-24", "X-39")
def test_a_key_is_given_more_and_less_from_the_command_line(cli: Cli) -> None:
    made = cli("keys", "create", "app", "--json").json
    changed = cli("keys", "set", made["id"], "--may-assert-user", "--name", "shop")
    assert changed.out == f"rt_{made['id']}  shop: read, write for every person it names\n"
    assert cli("keys", "set", made["id"], "--verb", "read", "--no-may-assert-user").code == 0
    (found,) = cli("keys", "list", "--json").json["results"]
    assert (found["name"], found["verbs"], found["may_assert_user"]) == ("shop", ["read"], False)
    assert cli("keys", "set", "nothing", "--name", "x").code != 0
    assert "key" not in found, "the secret stays what it was, and is nowhere"
