"""Four processes over one PostgreSQL: killed, restarted and upgraded, they lose, double, leak and keep nothing."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.postgres.fleet import TENANTS, Fleet, Traffic, cause_trouble, make_keys
from tests.postgres.server import running

SECONDS = float(os.environ.get("MEMSTONE_FLEET_SECONDS", "60"))


@pytest.mark.system
@pytest.mark.req("N-42")
@pytest.mark.timeout(SECONDS * 2 + 600)
def test_a_fleet_of_four_loses_doubles_and_leaks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running() as server:
        url = server.fresh()
        fleet = Fleet(server, url, tmp_path)
        traffic = Traffic(fleet, make_keys(url))
        try:
            fleet.start()
            traffic.run(SECONDS, cause_trouble(fleet, random.Random(11)))  # noqa: S311 - a game, not a secret
            assert traffic.wrong == []
            _let_worker_finish(fleet)
            rows = _read_rows(fleet)
        finally:
            fleet.close()
    live = Counter((tenant, text) for tenant, user, text, _ in rows if user == "alice")
    assert {text for _, text in live} >= set().union(*traffic.stored.values()), "something was lost"
    assert set(live.values()) == {1}, "something is there twice"
    for tenant in TENANTS:
        assert {text for owner, text in live if owner == tenant} >= traffic.stored[tenant]
        assert not [text for owner, text in live if owner == tenant and f"of {tenant} " not in text]
        learned = Counter(
            user for owner, user, text, _ in rows if owner == tenant and "Bergen" in text and user != "alice"
        )
        assert set(learned.values()) <= {1}, "something was learned twice"
        assert traffic.spoken[tenant] <= set(learned), "somebody said something that nobody learned"
    report = {"seconds": SECONDS, **fleet.ended, **traffic.counts, "stored": len(live)}
    with capsys.disabled():
        print(json.dumps(report))  # noqa: T201 - this is what the run is for
    assert traffic.counts["revoked"] >= 1
    assert fleet.ended["killed"] >= 1


def _let_worker_finish(fleet: Fleet) -> None:
    """Wait until nothing is to be learned any more; a lease of the killed has to pass first."""
    until = time.monotonic() + 240
    while time.monotonic() < until:
        if fleet.running["worker"].poll() is not None:
            fleet.start_one("worker")
        with fleet.server.superuser(fleet.server.name) as connection:
            row = connection.execute("SELECT count(*) FROM memstone.signals WHERE status = 'pending'").fetchone()
        if row == (0,):
            return
        time.sleep(0.5)
    raise AssertionError("something waits for ever")


def _read_rows(fleet: Fleet) -> list[tuple[Any, ...]]:
    query = (
        "SELECT m.tenant_id, l.user_id, m.text, m.id FROM memstone.memories m "
        "JOIN memstone.links l ON l.tenant_id = m.tenant_id AND l.memory_seq = m.seq "
        "WHERE m.valid_to IS NULL AND m.layer = 'fact'"
    )
    with fleet.server.superuser(fleet.server.name) as connection:
        return connection.execute(query).fetchall()
