"""After a restart the server gives transaction numbers again that it had not written down: they prove nothing."""

from __future__ import annotations

from typing import Any

import pytest

from retain import Memory
from retain.drive import drive
from retain.errors import StorageBusy
from tests.postgres.server import Server

_LOOK = "SELECT pg_current_xact_id()::text, pg_postmaster_start_time()::text"


@pytest.fixture
def ledger(postgres: Server) -> Any:
    with Memory({"store": {"url": postgres.fresh(), "durable": False}, "embedder": {"provider": "hash"}}) as memory:
        yield memory._engine.parts.ledger


def _number(postgres: Server, end: str) -> tuple[str, str]:
    with postgres.superuser(postgres.name) as connection:
        connection.execute("BEGIN")
        row = connection.execute(_LOOK).fetchone()
        connection.execute(end.encode())
    assert row is not None
    return str(row[0]), str(row[1])


def test_on_the_same_server_the_number_of_a_transaction_tells_what_became_of_it(ledger: Any, postgres: Server) -> None:
    assert drive(ledger._fate(*_number(postgres, "COMMIT"))) is True
    assert drive(ledger._fate(*_number(postgres, "ROLLBACK"))) is False


def test_after_a_restart_what_was_rolled_back_is_run_again_and_what_seems_committed_is_left_to_the_caller(
    ledger: Any, postgres: Server
) -> None:
    before = "2020-01-01 00:00:00+00"
    number, _ = _number(postgres, "ROLLBACK")
    assert drive(ledger._fate(number, before)) is False

    number, _ = _number(postgres, "COMMIT")
    with pytest.raises(StorageBusy, match="nobody can tell") as caught:
        drive(ledger._fate(number, before))

    assert caught.value.retryable
