from __future__ import annotations

from pathlib import Path

import pytest

from memstone import Memory
from memstone.errors import Forbidden
from tests.faces import consolidate_steps as steps
from tests.faces.cli_runner import Cli
from tests.faces.harness import Face

LONG = "The plan is ready. It has four parts. The first is the garden. The second is the roof. The third is the cellar."


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    made.environ("MEMSTONE_UPKEEP__MERGE_FACTS", "0.9")
    return made


@pytest.mark.req("S-34")
def test_consolidate_tells_what_it_did_or_would_do(cli: Cli) -> None:
    cli.added("I like long walks along the coast")
    cli.added("I like long walks along the coast, yes")
    would = cli("consolidate", "--everybody", "--dry-run")
    assert would.code == 0
    assert "merged into one that says the same" in would.out
    assert would.err == "nothing was changed\n"
    did = cli("consolidate", "--user", "alice")
    assert "job " in did.err
    assert cli.texts("list", "--user", "alice") == ["I like long walks along the coast"]
    assert cli("consolidate", "--everybody").out == "nothing to do\n"
    assert cli("consolidate", "--everybody", "--json").json["merged"] == 0


@pytest.mark.req("N-28")
def test_a_memory_that_is_switched_off_is_said_to_be(cli: Cli) -> None:
    cli.added("I like tea")
    with Memory({"store": {"url": f"sqlite:///{cli.db}"}, "embedder": {"provider": "hash"}}) as memory:
        memory.settings.set({"enabled": False})
    ran = cli("consolidate", "--everybody")
    assert (ran.code, ran.out, ran.err) == (1, "", "memory is switched off\n")


@pytest.mark.req("O-74")
def test_summarize_tells_what_it_saved(cli: Cli) -> None:
    cli.added(LONG)
    options = ("summarize", "--user", "alice", "--max-tokens", "0")
    assert cli(*options, "--dry-run").out == "1 of 1 would be shortened, 12 tokens saved\n"
    assert cli(*options, "--older-than-days", "1").out == "0 of 1 shortened, 0 tokens saved\n"
    ran = cli(*options)
    assert ran.out == "1 of 1 shortened, 12 tokens saved\n"
    assert ran.err.startswith("job ")
    assert cli.texts("list", "--user", "alice") == ["The plan is ready. It has four parts. The first is the garden."]
    assert cli("summarize").code == 2


async def test_whoever_reaches_only_a_part_of_a_tenant_may_not_tidy_up(face: Face) -> None:
    await face.remember(LONG)
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    for verb in (bound.admin.consolidate, bound.admin.summarize):
        with pytest.raises(Forbidden):
            await verb(user_id="alice")
    assert (await face.admin.jobs(everybody=True))["results"] == []
    assert await steps.indexes_hold_what_is_live(face)
