from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memstone import Memory
from memstone.engine.runtime import Runtime
from memstone.engine.upkeep.consolidate import consolidate_scope
from memstone.engine.upkeep.passes import (
    AGAIN_SECONDS,
    FIRST_SECONDS,
    Timetable,
    consolidate_if_due,
    is_pass_due,
    last_run,
)
from memstone.errors import BackendUnavailable, Conflict
from memstone.model.instant import to_instant
from tests.faces import consolidate_steps as steps
from tests.faces.harness import ON_DISK, Face, Opens


async def _pass_status(runtime: Runtime) -> str:
    """How the pass ended that was due."""
    answer = await consolidate_if_due(runtime)
    assert answer is not None
    return answer["status"]


@pytest.mark.req("N-28", "R-25", "S-34")
async def test_a_pass_is_due_once_an_interval_whoever_ran_the_last_one(opens: Opens) -> None:
    runtime = await steps.parts_of(face := opens())
    assert await is_pass_due(runtime)
    assert await _pass_status(runtime) == "completed"
    assert await last_run(runtime) == runtime.now()
    opens.clock.advance(hours=23.9)
    assert not await is_pass_due(runtime)
    assert await consolidate_if_due(runtime) is None
    opens.clock.advance(hours=0.1)
    assert await is_pass_due(runtime)
    await face.admin.consolidate(everybody=True)
    assert not await is_pass_due(runtime), "one that was asked for counts as well"
    await face.admin.consolidate(user_id="alice")
    opens.clock.advance(hours=24)
    assert await is_pass_due(runtime), "one of a single user does not"


@ON_DISK
@pytest.mark.req("N-28", "R-25")
async def test_a_machine_that_is_started_every_morning_does_what_is_due_a_minute_later(opens: Opens) -> None:
    for _ in range(3):
        face = opens()
        runtime = await steps.parts_of(face)
        table = Timetable.of(runtime)
        assert table.seconds(runtime) == FIRST_SECONDS
        assert await table.tick(runtime) is None, "not at once"
        opens.clock.advance(seconds=FIRST_SECONDS)
        assert await table.tick(runtime, busy=True) is None, "not while there is something better to do"
        assert await table.tick(runtime) is not None
        assert table.seconds(runtime) == AGAIN_SECONDS
        opens.clock.advance(hours=8)
        assert await table.tick(runtime) is None, "it was done this morning"
        opens.clock.advance(hours=16)
    assert opens.rows("SELECT count(*) FROM jobs WHERE task = 'consolidate' AND status = 'success'") == [(3,)]


@pytest.mark.req("N-28")
async def test_a_memory_that_is_switched_off_is_left_alone(face: Face) -> None:
    runtime = await steps.parts_of(face)
    off = replace(runtime, policy=replace(runtime.policy, enabled=False))
    assert not await is_pass_due(off)
    assert await consolidate_scope(off, {}, everybody=True) == {"status": "disabled"}


@pytest.mark.req("S-34", "N-28")
async def test_while_a_pass_runs_another_one_is_told_so(face: Face, opens: Opens) -> None:
    runtime = await steps.parts_of(face)
    until = to_instant(opens.clock.now().replace(hour=0, minute=10))
    await runtime.ledger.write(lambda tx: tx.leases.claim(runtime.tenant_id, "consolidate", "me", runtime.now(), until))
    assert await face.admin.consolidate(everybody=True) == {"status": "already_running"}
    assert await face.admin.consolidate(user_id="alice") == {"status": "already_running"}
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["status"] == "completed", (
        "looking disturbs nobody"
    )
    opens.clock.advance(minutes=11)
    assert (await face.admin.consolidate(everybody=True))["status"] == "completed", "whoever held it is gone"
    assert (await face.admin.consolidate(everybody=True))["status"] == "completed", "and it was given back"


@ON_DISK
@pytest.mark.req("S-34")
async def test_passes_that_are_started_at_once_are_one_pass(kind: str, opens: Opens) -> None:
    face = opens()
    walk = "Talked about the long walk along the coast and which boots to buy for it"
    ids = [await steps.episode(face, walk, run_id=str(number)) for number in range(20)]
    if isinstance(face.memory, Memory):
        others = [opens().memory for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda one: one.admin.consolidate(everybody=True), others))
    else:
        answers = await asyncio.gather(*(opens().admin.consolidate(everybody=True) for _ in range(4)))
    assert {answer["status"] for answer in answers} <= {"completed", "already_running"}, kind
    assert sum(answer.get("merged", 0) for answer in answers) == 19
    assert (await steps.there(face, ids[0])).source_count == 20
    assert await steps.indexes_hold_what_is_live(face)


async def test_a_pass_that_lost_its_turn_stops(face: Face, opens: Opens) -> None:
    """It stood still for so long that another one began."""
    runtime = await steps.with_upkeep(face)
    await steps.episode(face, "Talked about boats")
    original, stolen = opens.clock.now, list[bool]()

    def stand_still() -> object:
        if not stolen and len(calls) > 3:
            opens.clock.advance(minutes=30)
            stolen.append(True)
        calls.append(None)
        return original()

    calls: list[None] = []
    taken = replace(runtime, clock=type("Slow", (), {"now": staticmethod(stand_still)})())

    async def steal() -> None:
        until = to_instant(opens.clock.now().replace(year=2027))
        await runtime.ledger.write(lambda tx: tx.leases.claim(runtime.tenant_id, "consolidate", "other", until, until))

    ledger = _After(runtime.ledger, steal)
    with pytest.raises(Conflict, match="taken over"):
        await consolidate_scope(replace(taken, ledger=ledger), {}, everybody=True)  # type: ignore[arg-type]
    (job,) = (await face.admin.jobs(task="consolidate", everybody=True))["results"]
    assert job["status"] == "error"


class _After:
    """A ledger beside which somebody else does something after the first read."""

    def __init__(self, ledger: object, then: object) -> None:
        self._ledger, self._then, self._done = ledger, then, False

    def __getattr__(self, name: str) -> object:
        return getattr(self._ledger, name)

    async def read(self, work: object) -> object:
        found = await self._ledger.read(work)  # type: ignore[attr-defined]
        if not self._done:
            self._done = True
            await self._then()  # type: ignore[operator]
        return found


@pytest.mark.req("N-28")
async def test_a_pass_that_fails_is_logged_and_tried_again(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = await steps.parts_of(face)

    async def broken(_: object) -> None:
        raise BackendUnavailable("the disk is on fire")

    with monkeypatch.context() as patched:
        patched.setattr("memstone.engine.upkeep.sweep.evict_faded_facts", broken)
        with pytest.raises(BackendUnavailable):
            await consolidate_if_due(runtime)
    (job,) = (await face.admin.jobs(task="consolidate", everybody=True))["results"]
    assert (job["status"], job["details"]["error"]["code"]) == ("error", "backend_unavailable")
    opens.clock.advance(seconds=AGAIN_SECONDS)
    assert await _pass_status(runtime) == "completed"


async def test_a_pass_tells_what_it_did_and_never_what_it_read(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="memstone")
    await steps.episode(face, "Talked about the secret garden")
    await face.admin.consolidate(everybody=True)
    (answer,) = [record for record in caplog.records if record.getMessage() == "memory.consolidated"]
    assert answer.__dict__["counts"]["merged"] == 0
    assert "secret garden" not in str([record.__dict__ for record in caplog.records])
