"""``memstone share``, ``unshare``, ``replace``, ``updates``, ``reassign``, ``feedback`` and ``metrics``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    made.environ("MEMSTONE_CONTEXT__GATE", "always")
    made.environ("MEMSTONE_CONTEXT__FALSE_INJECTION", "0")
    return made


def held(cli: Cli, user: str) -> list[str]:
    return [one["memory"] for one in cli("list", "--user", user, "--json").json["results"]]


@pytest.mark.req("P-3", "P-16", "P-4")
def test_a_memory_is_shared_replaced_for_one_and_taken_away(cli: Cli) -> None:
    memory_id = cli.added("The office is in Lisbon")
    assert cli("share", memory_id, "--user", "bob", "--reason", "same team").out == f"shared {memory_id}\n"
    assert cli("share", memory_id, "--user", "bob").out.startswith("nothing to do: already shared")

    ran = cli("replace", memory_id, "The office is in Porto", "--user", "bob", "--reason", "moved")
    assert re.fullmatch(r"replaced by [0-9a-f-]{36}: The office is in Porto\n", ran.out)
    assert (held(cli, "alice"), held(cli, "bob")) == (["The office is in Lisbon"], ["The office is in Porto"])
    listed = cli("updates", "--user", "bob")
    assert listed.code == 0
    assert "The office is in Lisbon  The office is in Porto  moved" in listed.out
    nothing = cli("updates", "--user", "alice")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "nothing was replaced\n")

    assert cli("share", memory_id, "--user", "carol").code == 0
    assert cli("unshare", memory_id, "--user", "carol").out == f"unshared {memory_id}\n"
    assert cli("unshare", memory_id, "--user", "alice").out == f"deleted {memory_id}: nobody else shared it\n"
    assert cli("unshare", memory_id, "--user", "alice", "--json").error["code"] == "not_found"


@pytest.mark.req("N-44")
def test_a_user_is_renamed_and_the_job_is_named(cli: Cli) -> None:
    cli.added("The office is in Lisbon")
    ran = cli("reassign", "--from-user", "alice", "--to-user", "anna")
    assert (ran.code, ran.out) == (0, "1 moved, 0 of them merged\n")
    job = re.fullmatch(r"job ([0-9a-f-]{36})\n", ran.err)
    assert job
    assert held(cli, "anna") == ["The office is in Lisbon"]
    assert cli("undo", "--job", job[1]).code == 0
    assert held(cli, "alice") == ["The office is in Lisbon"]
    assert cli("reassign", "--from-user", "nobody", "--to-user", "anna").code == 1
    assert cli("reassign", "--to-user", "anna").code == 2
    assert cli("reassign", "--from-user", "alice", "--to-user", "alice").code == 2


@pytest.mark.req("P-24", "D-18")
def test_feedback_is_noted_and_figures_are_shown(cli: Cli) -> None:
    memory_id = cli.added("The office is in Lisbon")
    assert cli("feedback", memory_id, "--useful", "--user", "alice", "--note", "good").out == "noted for 1 memory\n"
    assert cli("feedback", memory_id).code == 2
    receipt = cli("context", "office in Lisbon", "--user", "alice", "--json").json["receipt_id"]
    assert cli("feedback", receipt, "--receipt", "--useless").out == "noted for 1 memory\n"

    output = cli("metrics", "--user", "alice").out
    assert re.search(r"memory_total_count +1\n", output)
    assert re.search(r"retrieval_hit_rate +-\n", output)
    assert "useful 1  useless 1" in output
    figures = cli("metrics", "--everybody", "--json").json
    assert (figures["memory_total_count"], figures["memory_dedup_rate"]) == (1, 0.0)
    assert cli("metrics", "--everybody", "--since", "2999-01-01", "--json").json["counts"]["added"] == 0
    assert cli("metrics", "--agent", "x").code == 2
