"""``memstone worker`` and ``memstone jobs``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memstone import Memory
from tests.faces.cli_runner import ROOT, Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def _left_behind(path: Path) -> None:
    """What an application has put off, because its model failed."""

    def broken(_: list[dict[str, str]]) -> str:
        raise RuntimeError("down")

    store = {"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}
    with Memory(store, llm=broken) as memory:
        for user in ("ann", "bob"):
            assert memory.add("I live in Oslo.", user_id=user, run_id="monday")["status"] == "deferred"


@pytest.mark.req("S-57", "N-22")
def test_a_worker_does_what_is_due_and_the_log_shows_it(cli: Cli) -> None:
    cli("add", "hello", "--no-infer", "--user", "zoe")
    _left_behind(cli.db)

    ran = cli("worker", "--once")

    assert (ran.code, ran.out) == (0, "2 sessions, 2 distilled\n")
    assert cli("worker", "--once", "--json").json == {"sessions": 0, "outcomes": {}}
    assert cli.texts("list", "--user", "ann") == ["User lives in Oslo."]
    visible = cli("jobs", "--everybody")
    assert visible.code == 0
    assert visible.out.split("\n")[0].split() == ["TIME", "TASK", "USER", "AGENT", "RUN", "OUTCOME", "MODEL", "MS"]
    assert [line.split()[2:6] for line in visible.out.splitlines()[1:]] == [
        ["facts", user, "monday", "distilled"] for user in ("bob", "ann")
    ]
    (job,) = cli("jobs", "--user", "ann", "--json").json["results"]
    assert (job["user_id"], job["status"]) == ("ann", "success")
    assert cli("jobs", "--everybody", "--status", "error").err == "there are no jobs\n"
    assert cli("jobs", "--everybody", "--status", "good").code == 2


@pytest.mark.req("S-11", "S-14")
def test_what_is_kept_for_later_is_said_to_be_and_flush_forms_it(cli: Cli) -> None:
    cli.environ("MEMSTONE_WRITE__MODE", "manual")
    stored = cli("add", "I live in Oslo.", "--user", "ann", "--run", "monday")
    assert (stored.code, stored.out) == (0, "stored; Memstone will learn from it in the background\n")
    assert "`memstone flush --everybody`" in stored.err
    assert cli("list", "--user", "ann").code == 1

    assert cli("flush", "--everybody").out == "1 stored, 0 still waiting\n"
    assert cli.texts("list", "--user", "ann") == ["User lives in Oslo."]


@pytest.mark.req("S-57")
def test_every_job_shows_how_it_ended(cli: Cli) -> None:
    cli("add", "I live in Oslo.", "--user", "ann")
    cli("consolidate", "--everybody")
    assert cli("jobs", "--everybody").out.splitlines()[1].split()[2:4] == ["consolidate", "success"]


@pytest.mark.req("N-47")
def test_a_pause_is_ended_with_a_command_of_this_program(cli: Cli) -> None:
    cli("add", "I live in Oslo.", "--user", "ann")
    cli("pause", "--user", "ann")
    ran = cli("add", "I love tea.", "--user", "ann")
    assert (ran.code, "use `memstone resume` to end it" in ran.err) == (1, True)


@pytest.mark.slow
@pytest.mark.req("N-22")
def test_a_worker_ends_when_it_is_told_to(cli: Cli) -> None:
    environment = {**os.environ, "HOME": str(cli.home), "MEMSTONE_EMBEDDER__PROVIDER": "hash"}
    worker = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "memstone.cli", "worker"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stderr is not None
    assert worker.stderr.readline() == "working; Ctrl-C ends it\n"
    worker.send_signal(signal.SIGTERM)
    out, problems = worker.communicate(timeout=120)
    assert (worker.returncode, out, problems) == (0, "0 sessions\n", "")
