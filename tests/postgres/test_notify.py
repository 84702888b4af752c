"""Whoever queues work wakes those who work, in whatever process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.postgres import notify
from memstone.adapters.postgres.notify import Listener, build_notify_payloads, tenant_key
from memstone.drive import drive
from memstone.engine.background import worker
from memstone.model.event import Signal
from memstone.model.instant import to_instant
from memstone.model.scope import Scope
from tests.patience import until
from tests.postgres.server import Server

_WAIT = 120.0
_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memstone-listener'"


class Bell:
    """Counts rings."""

    def __init__(self) -> None:
        self.rung = threading.Semaphore(0)

    def ring(self) -> None:
        """Ring."""
        self.rung.release()

    def heard(self, seconds: float = _WAIT) -> bool:
        """Wait for a ring that was not waited for yet."""
        return self.rung.acquire(timeout=seconds)


def _memory(url: str, **rest: Any) -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}, **rest})


@contextmanager
def _listening(url: str, *tenants: str) -> Iterator[tuple[Bell, Listener]]:
    bell = Bell()
    listener = Listener(url, bell.ring, (lambda: tenants) if tenants else None)
    try:
        assert bell.heard(), "it rings when it begins to hear"
        assert listener.hears
        yield bell, listener
    finally:
        listener.stop()


def _queue(memory: Memory, due_at: str | None, tenant: str = "default") -> None:
    now = to_instant(datetime.now(UTC))
    signal = Signal(f"s{now}", Scope(tenant, "alice"), "I live in Oslo", now, now, due_at=due_at)
    drive(memory.engine.runtime.ledger.write(lambda tx: tx.signals.put([signal])))


def test_what_is_due_at_once_rings_at_once(postgres: Server) -> None:
    url = postgres.fresh()
    with _memory(url) as memory, _listening(url, "default") as (bell, _):
        _queue(memory, "")

        assert bell.heard()


def test_what_is_due_later_rings_then(postgres: Server) -> None:
    url = postgres.fresh()
    with _memory(url) as memory, _listening(url) as (bell, _):
        due = datetime.now(UTC) + timedelta(seconds=0.8)
        _queue(memory, to_instant(due))

        assert bell.heard()
        assert datetime.now(UTC) >= due


def test_what_nobody_is_to_do_by_itself_does_not_ring_and_neither_do_other_tenants(postgres: Server) -> None:
    url = postgres.fresh()
    with _memory(url) as memory, _memory(url, tenant="b") as other, _listening(url, "default") as (bell, _):
        _queue(memory, None)
        _queue(other, "", "b")

        assert not bell.heard(0.5)


def test_a_transaction_that_is_rolled_back_calls_nobody(postgres: Server) -> None:
    url = postgres.fresh()
    now = to_instant(datetime.now(UTC))
    with _memory(url) as memory, _listening(url) as (bell, _):

        async def unit(tx: Any) -> None:
            await tx.signals.put([Signal("s", Scope("default", "alice"), "hello", now, now, due_at="")])
            raise LookupError

        with pytest.raises(LookupError):
            drive(memory.engine.runtime.ledger.write(unit))

        assert not bell.heard(0.5)


def test_a_lost_connection_rings_and_the_next_one_hears_again(postgres: Server) -> None:
    url = postgres.fresh()
    with _memory(url) as memory, _listening(url) as (bell, _):
        with postgres.superuser(postgres.name) as connection:
            connection.execute(_CUT)
        assert bell.heard(), "whoever works has to look now"
        assert bell.heard(), "and may wait again when calls get through"
        _queue(memory, "")

        assert bell.heard()


def test_what_does_not_get_through_is_noticed(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler in transaction mode takes LISTEN and passes no call on."""
    monkeypatch.setattr(notify, "_TEST_SECONDS", 0.2)
    monkeypatch.setattr(Listener, "_test", lambda _: None)
    bell = Bell()
    listener = Listener(postgres.fresh(), bell.ring, None)

    assert not bell.heard(0.6)
    assert not listener.hears
    assert worker._poll_seconds(listener) == worker.POLL_SECONDS
    listener.stop()


def test_a_call_names_no_tenant_and_a_thousand_times_are_two_calls() -> None:
    times = [f"2026-01-01T00:00:{number % 60:02}.000000Z" for number in range(1000)]

    texts = build_notify_payloads("acme", [*times, None])

    assert texts == [f"{tenant_key('acme')} {times[0]}", f"{tenant_key('acme')} {times[59]}"]
    assert not any("acme" in one for one in texts)


def test_a_worker_of_another_process_wakes_long_before_it_would_look(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LISTENING_SECONDS", 600.0)
    url = postgres.fresh()
    with (
        _memory(url, write={"mode": "background"}) as working,
        _memory(url, write={"mode": "background"}) as talking,
    ):
        talking.engine.runtime.worker_state.stopping = True  # whoever talks does not work
        done = threading.Thread(target=lambda: working.admin.work(600), daemon=True)
        before = _ears(postgres)  # those of other tests may still be on their way out
        done.start()
        until(lambda: _ears(postgres) - before)
        assert talking.add("I live in Oslo", user_id="alice")["status"] == "queued"

        until(
            lambda: (
                drive(talking.engine.runtime.ledger.read(lambda tx: tx.signals.count_pending(Scope("default")))) == 0
            )
        )
        working.engine.runtime.worker_state.leave()
        done.join(_WAIT)
        assert not done.is_alive()
    until(lambda: not _ears(postgres) - before)


def _ears(postgres: Server) -> set[int]:
    with postgres.superuser(postgres.name) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'memstone-listener'"
        return {pid for (pid,) in connection.execute(query)}
