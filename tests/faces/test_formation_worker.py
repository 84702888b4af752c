"""The worker: one thing at a time, stepping aside for calls, ending in time, and giving nothing up."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.engine.background import worker
from memstone.engine.background.claims import lease_name
from memstone.engine.layers.distill import DistillResult
from memstone.errors import BackendUnavailable, Forbidden, InvalidInput
from memstone.model.instant import datetime_from_instant, to_instant
from memstone.testing.llm import ScriptedLlm
from tests.concurrency.intact import rows
from tests.faces.formation_steps import (
    LONG,
    SESSION,
    Distiller,
    digests,
    distiller,
    episodes,
    later,
    outcomes,
    pending,
)
from tests.faces.harness import ON_DISK, Face, Opens
from tests.patience import until

__all__ = ["distiller"]

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday")


async def _talk(face: Face, days: tuple[str, ...] = _DAYS) -> None:
    for number, day in enumerate(days):
        await face.add(LONG, user_id=f"user{number}", run_id=day)


def _nap(face: Face, seconds: float) -> Any:
    return lambda: face.memory.engine.runtime.io.sleep(seconds)


@pytest.mark.req("N-21")
async def test_sessions_are_distilled_one_at_a_time_whoever_asks(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("background"))
    distiller.during = _nap(face, 0.01)
    await _talk(face)
    if opens.kind == "memory":
        others = [threading.Thread(target=face.memory.sessions.flush, kwargs={"everybody": True}) for _ in range(3)]
        for other in others:
            other.start()
        for other in others:
            other.join(120)
    else:
        await asyncio.gather(*(face.sessions.flush(everybody=True) for _ in range(3)))
    assert len(distiller.seen) == len(_DAYS)
    assert distiller.most_at_once == 1


@pytest.mark.req("N-21")
async def test_background_work_steps_aside_for_a_call(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("background", idle_seconds=600))
    await face.stats()
    runtime = face.memory.engine.runtime
    with runtime.worker_state.call():
        await face.add(LONG, **SESSION)
        await runtime.io.sleep(0.05)
        assert distiller.seen == [], "somebody is still waiting for an answer"
    await _seen(face, distiller)


@pytest.mark.req("N-21")
async def test_background_work_does_not_step_aside_for_ever(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("background", idle_seconds=0.1))
    await face.stats()
    with face.memory.engine.runtime.worker_state.call():
        await face.add(LONG, **SESSION)
        await _seen(face, distiller)


async def _seen(face: Face, distiller: Distiller) -> None:
    for _ in range(2_400):
        if distiller.seen:
            break
        await face.memory.engine.runtime.io.sleep(0.05)
    assert distiller.seen == [[LONG]]


@ON_DISK
@pytest.mark.req("N-22", "R-36", "S-13")
async def test_closing_forms_what_was_said_one_by_one(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=3600))
    distiller.during = _nap(face, 0.02)
    await _talk(face)

    await face.close()

    assert len(distiller.seen) == len(_DAYS)
    assert distiller.most_at_once == 1
    assert set(opens.rows("SELECT status FROM signals")) == {("processed",)}


@ON_DISK
@pytest.mark.req("N-22", "R-36", "P-12")
async def test_what_closing_has_no_time_for_is_done_after_the_next_start(
    opens: Opens, distiller: Distiller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_GRACE", 120.0)  # the first one is formed, however long the machine takes for it
    face = opens(digests(debounce_seconds=60, shutdown_seconds=0.2))
    distiller.during = _nap(face, 0.15)
    await _talk(face)
    await face.close()
    left = opens.rows("SELECT count(*) FROM signals WHERE status = 'pending'")[0][0]
    assert 0 < left < len(_DAYS)

    distiller.during = None
    again = opens(digests(debounce_seconds=60))
    opens.clock.advance(minutes=2)
    await again.admin.work(0)

    assert await pending(again) == (0, 0)
    formed = opens.rows("SELECT count(*) FROM jobs WHERE status = 'success' AND task = 'distill'")
    assert formed == [(len(_DAYS),)], "each of them once"


@ON_DISK
@pytest.mark.req("N-22")
async def test_closing_leaves_alone_what_other_processes_have_to_do(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=3600))
    await face.add(LONG, **SESSION)
    visitor = opens(digests(debounce_seconds=3600))
    await visitor.stats()
    await visitor.close()
    assert distiller.seen == []


@pytest.mark.req("S-14", "N-22")
async def test_by_hand_is_by_hand_at_the_end_as_well(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.close()
    assert distiller.seen == []


_EXITS = """
from memstone import Memory
memory = Memory({"store": {"url": "sqlite:///PATH", "durable": False}, "embedder": {"provider": "hash"},
                 "write": {"mode": "session_end", "debounce_seconds": 3600, "shutdown_seconds": 120}})
for day in ("monday", "tuesday"):
    memory.add(f"I live in Oslo and I love {day}.", user_id=day)
"""


@pytest.mark.req("N-22", "R-36")
def test_the_end_of_the_interpreter_is_as_good_as_closing(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    program = _EXITS.replace("PATH", str(path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)  # noqa: S603
    assert done.stderr == ""
    assert rows(path, "SELECT status FROM signals") == [("processed",), ("processed",)]
    assert [status for (status,) in rows(path, "SELECT status FROM jobs")] == ["success", "success"]


def test_a_memory_that_nobody_holds_leaves_no_thread_behind(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memstone.db'}"
    memory = Memory({"store": {"url": url}, "embedder": {"provider": "hash"}, **later("background")})
    working = memory.engine.runtime.worker_state.worker
    assert working is not None
    del memory
    until(lambda: gc.collect() >= 0 and not working.alive)  # the worker itself may hold it for a moment


@ON_DISK
@pytest.mark.req("N-19", "N-17")
async def test_a_cancelled_distillation_is_skipped_and_counts_against_nothing(
    opens: Opens, distiller: Distiller
) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    cancelled = KeyboardInterrupt() if opens.kind == "memory" else asyncio.CancelledError()
    distiller.fails = [cancelled]

    with pytest.raises(type(cancelled)):
        await face.sessions.flush(everybody=True)

    assert await outcomes(face) == ["skipped:cancelled"]
    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 0)]
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}, "and others may have it at once"


@ON_DISK
@pytest.mark.req("S-19", "N-18", "P-12")
async def test_whoever_has_lost_a_session_stores_nothing_of_it(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    runtime = face.memory.engine.runtime
    name = lease_name(runtime.scope(SESSION))

    async def stolen() -> None:
        now = "2027-01-01T00:00:00.000000Z"
        assert await runtime.ledger.write(lambda tx: tx.leases.claim("default", name, "thief", now, now))

    distiller.during = stolen
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 1}
    assert await episodes(face, user_id="alice") == []
    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 0)]
    assert opens.rows("SELECT owner FROM leases") == [("thief",)]


@ON_DISK
@pytest.mark.req("N-21", "P-12")
async def test_a_lease_is_renewed_as_long_as_a_model_takes(opens: Opens, distiller: Distiller) -> None:
    own = opens(digests("manual", lease_seconds=0.2), llm=ScriptedLlm([]))
    other = opens(digests("manual", lease_seconds=0.2))
    await own.add(LONG, **SESSION)
    seen: list[dict[str, int]] = []

    async def slow() -> None:
        """The clock goes on only when the lease was renewed: how long the machine takes for that is its own affair."""
        distiller.during = None
        runtime = own.memory.engine.runtime
        for _ in range(4):
            opens.clock.advance(seconds=0.15)
            until_then = to_instant(datetime_from_instant(runtime.now()) + timedelta(seconds=0.2))
            for _ in range(2_400):
                if opens.rows("SELECT until FROM leases WHERE name LIKE 'session:%'") == [(until_then,)]:
                    break
                await runtime.io.sleep(0.05)
        seen.append(await other.sessions.flush(everybody=True))

    distiller.during = slow
    assert await own.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert seen == [{"stored": 0, "waiting": 1}], "nobody else has taken it meanwhile"
    assert len(distiller.seen) == 1


@ON_DISK
@pytest.mark.req("P-12")
async def test_a_session_whose_worker_died_is_taken_over_when_its_lease_is_over(
    opens: Opens, distiller: Distiller
) -> None:
    face = opens(digests("background", lease_seconds=60))
    runtime = face.memory.engine.runtime
    await face.stats()
    name = lease_name(runtime.scope(SESSION))
    until = "2026-01-01T00:01:00.000000Z"
    await runtime.ledger.write(lambda tx: tx.leases.claim("default", name, "dead", runtime.now(), until))
    await face.add(LONG, **SESSION)
    await face.admin.work(0)
    assert distiller.seen == []
    opens.clock.advance(seconds=60)
    await face.admin.work(0)
    assert distiller.seen == [[LONG]]
    assert opens.rows("SELECT * FROM leases WHERE name LIKE 'session:%'") == []


@pytest.mark.req("N-22", "N-19")
async def test_an_outage_stops_the_round_and_is_over_after_a_moment(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await _talk(face)
    down = BackendUnavailable("nobody there")
    distiller.fails = [DistillResult("error:x", error=down)]
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": len(_DAYS)}
    assert len(distiller.seen) == 1, "the others would meet the same"
    assert await face.sessions.flush(everybody=True) == {"stored": len(_DAYS), "waiting": 0}


@pytest.mark.req("N-22", "S-22")
async def test_what_failed_is_due_again_five_seconds_later(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=0))
    distiller.fails = [DistillResult("error:x", error=BackendUnavailable("nobody there"))]
    answer = await face.sessions.ingest([{"user": LONG}], **SESSION)
    assert answer["status"] == "pending"
    opens.clock.advance(seconds=4)
    await face.admin.work(0)
    assert len(distiller.seen) == 1
    opens.clock.advance(seconds=1)
    await face.admin.work(0)
    assert len(distiller.seen) == 2
    assert await pending(face) == (0, 0)


async def test_a_worker_works_for_its_tenant_or_for_all(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("background"))
    await face.stats()
    face.memory.engine.runtime.worker_state.leave()  # only the one below works
    await face.memory.engine.runtime.io.finish()
    face.memory.engine.runtime.worker_state.stopping = False
    other = Face(face.memory.acting_for("acme"))
    distiller.fails = [DistillResult("error:x", error=BackendUnavailable("down")) for _ in range(9)]
    await other.sessions.ingest([{"user": LONG}], **SESSION)
    distiller.fails, distiller.seen = [], []
    opens.clock.advance(seconds=10)
    if not face.memory.engine.runtime.worker_state.touched:
        await face.admin.work(0)
        assert distiller.seen == []
    assert await face.admin.work(0, all_tenants=True) == {"sessions": 1, "outcomes": {"distilled": 1}}
    assert len(await episodes(other, user_id="alice")) == 1
    assert await episodes(face, user_id="alice") == []


@pytest.mark.parametrize("seconds", [-1, True, float("nan")])
async def test_a_worker_is_told_a_time_it_can_keep(opens: Opens, seconds: float) -> None:
    with pytest.raises(InvalidInput):
        await opens().admin.work(seconds)


async def test_a_key_that_reaches_one_user_is_no_worker(opens: Opens) -> None:
    face = opens(later("manual"))
    await face.stats()
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    with pytest.raises(Forbidden):
        await bound.admin.work(0)
