"""After a restart the server gives transaction numbers again that it had not written down: they prove nothing."""

from __future__ import annotations

from typing import Any, cast

import pytest

from memstone import Memory
from memstone.adapters.postgres.ledger import PendingCommit
from memstone.adapters.postgres.tx import Witness
from memstone.drive import drive
from memstone.errors import StorageBusy
from memstone.model.event import Event, EventType, Signal
from memstone.model.scope import Scope
from tests.postgres.server import Server

_LOOK = "SELECT pg_current_xact_id()::text, pg_postmaster_start_time()::text"

_BEFORE = "2020-01-01 00:00:00+00"
_NOW = "2026-01-01T00:00:00.000000Z"
_ALICE = Scope("default", user_id="alice")


@pytest.fixture
def ledger(postgres: Server) -> Any:
    with Memory({"store": {"url": postgres.fresh(), "durable": False}, "embedder": {"provider": "hash"}}) as memory:
        yield memory.engine.runtime.ledger


def _number(postgres: Server, end: str) -> tuple[str, str]:
    with postgres.superuser(postgres.name) as connection:
        connection.execute("BEGIN")
        row = connection.execute(_LOOK).fetchone()
        connection.execute(end.encode())
    assert row is not None
    return str(row[0]), str(row[1])


def _event(ledger: Any) -> Witness:
    """What stands for a transaction that stored a fact."""
    seen: list[Any] = []

    async def unit(tx: Any) -> None:
        await tx.events.append([Event("e1", "m1", EventType.ADD, _ALICE, _NOW)])
        seen.append(tx.witness)

    drive(ledger.write(unit))
    return cast("Witness", seen[0])


def test_on_the_same_server_the_number_of_a_transaction_tells_what_became_of_it(ledger: Any, postgres: Server) -> None:
    assert drive(ledger._fate(PendingCommit(*_number(postgres, "COMMIT")))) is True
    assert drive(ledger._fate(PendingCommit(*_number(postgres, "ROLLBACK")))) is False


def test_after_a_restart_what_was_rolled_back_is_run_again_and_what_seems_committed_is_left_to_the_caller(
    ledger: Any, postgres: Server
) -> None:
    number, _ = _number(postgres, "ROLLBACK")
    assert drive(ledger._fate(PendingCommit(number, _BEFORE))) is False

    number, _ = _number(postgres, "COMMIT")
    with pytest.raises(StorageBusy, match="outcome is unknown") as caught:
        drive(ledger._fate(PendingCommit(number, _BEFORE)))

    assert caught.value.retryable


def test_a_number_that_the_new_server_has_not_reached_again_was_never_stored(ledger: Any, postgres: Server) -> None:
    number, _ = _number(postgres, "COMMIT")

    assert drive(ledger._fate(PendingCommit(str(int(number) + 1_000_000), _BEFORE))) is False


@pytest.mark.parametrize("started", [None, _BEFORE], ids=["the same server", "a new one"])
def test_a_row_of_the_transaction_tells_more_than_its_number(
    ledger: Any, postgres: Server, started: str | None
) -> None:
    """Also where only a backend crashed: the server takes numbers back, and does not call itself a new one."""
    number, now = _number(postgres, "COMMIT")
    query, params = there = _event(ledger)
    gone = query, (*params[:-1], "another")

    assert drive(ledger._fate(PendingCommit(number, started or now, there))) is True
    assert drive(ledger._fate(PendingCommit(number, started or now, gone))) is False


def test_a_signal_stands_for_its_transaction_too(ledger: Any, postgres: Server) -> None:
    seen: list[Any] = []

    async def unit(tx: Any) -> None:
        await tx.signals.put([Signal("s1", _ALICE, "I live in Oslo", _NOW, _NOW)])
        seen.append(tx.witness)

    drive(ledger.write(unit))

    assert drive(ledger._fate(PendingCommit(_number(postgres, "COMMIT")[0], _BEFORE, seen[0]))) is True
