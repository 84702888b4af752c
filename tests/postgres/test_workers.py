"""Any number of workers take sessions, each another one, and wait for nobody who writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memstone import Memory
from memstone.drive import drive
from memstone.engine.background.claims import Claim, claim_session, lease_name
from memstone.engine.runtime import Runtime
from memstone.model.event import Signal
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from tests.postgres.server import Server

_SESSIONS = [Scope("default", "alice", "", f"run{number:02}") for number in range(40)]


@pytest.fixture
def parts(postgres: Server) -> Iterator[Runtime]:
    url = postgres.fresh()
    with Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}}) as memory:
        runtime: Runtime = memory.engine.runtime
        now = runtime.now()
        signals = [
            Signal(f"{scope.run_id}-{n}", scope, "I live in Oslo", now, now, due_at="")
            for scope in _SESSIONS
            for n in range(3)
        ]
        drive(runtime.ledger.write(lambda tx: tx.signals.put(signals)))
        yield runtime


def _claimed(runtime: Runtime, sessions: list[Scope]) -> Claim | None:
    return drive(claim_session(runtime, sessions))


def test_many_who_claim_at_once_get_each_another_session_with_all_that_waits_in_it(parts: Runtime) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: _claimed(parts, _SESSIONS), range(40)))

    taken = [one for one in found if one is not None]
    assert len({one.scope for one in taken}) == len(taken) >= 33, "somebody may have passed over one that was let go"
    assert all(len(one.signals) == 3 for one in taken)


def test_the_oldest_free_session_comes_first(parts: Runtime) -> None:
    first, second = _claimed(parts, _SESSIONS), _claimed(parts, _SESSIONS)

    assert first is not None
    assert second is not None
    assert [first.scope, second.scope] == _SESSIONS[:2]
    assert _claimed(parts, _SESSIONS[:2]) is None


def test_a_session_that_somebody_is_taking_right_now_is_passed_over(parts: Runtime) -> None:
    looking, goes_on = threading.Event(), threading.Event()

    async def slow(tx: Tx) -> int | None:
        place = await tx.signals.free([(_SESSIONS[0], lease_name(_SESSIONS[0]))], parts.now())
        looking.set()
        goes_on.wait(120)
        return place

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: drive(parts.ledger.aside(slow)))
        assert looking.wait(120)
        claim = _claimed(parts, _SESSIONS)
        goes_on.set()

        assert other.result(120) == 0
    assert claim is not None
    assert claim.scope == _SESSIONS[1]


def test_a_lease_that_is_over_is_taken_over(parts: Runtime) -> None:
    name, past = lease_name(_SESSIONS[0]), "2020-01-01T00:00:00.000000Z"
    drive(parts.ledger.aside(lambda tx: tx.leases.claim("default", name, "dead", past, past)))

    claim = _claimed(parts, _SESSIONS)

    assert claim is not None
    assert claim.scope == _SESSIONS[0]


def test_whoever_takes_work_does_not_wait_for_those_who_write(parts: Runtime) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    async def slow(tx: Tx) -> None:
        await tx.agents.meet("default", "slow", "")
        begun.set()
        goes_on.wait(120)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(lambda: drive(parts.ledger.write(slow)))
        assert begun.wait(120)
        claim = _claimed(parts, _SESSIONS)  # comes back although the tenant's turn is taken
        goes_on.set()
        writer.result(120)

    assert claim is not None
