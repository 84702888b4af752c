"""A service over PostgreSQL is ready if the database takes what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.postgres.server import APP, Server
from tests.server.world import World


def _recheck(world: World) -> Any:
    world.app.state.memstone.writable._next = 0.0
    return world.anonymous().get("/readyz")


@pytest.mark.req("N-26", "R-33")
def test_a_database_that_takes_no_writes_is_told_and_nothing_that_was_tried_stays(postgres: Server) -> None:
    name = postgres.database(postgres.pattern)
    config = {"store": {"url": postgres.url(name, APP), "durable": False}, "embedder": {"provider": "hash"}}
    with World.of(config) as world, postgres.superuser(name) as above:
        assert _recheck(world).json() == {"status": "ok", "reason": None}
        assert above.execute("SELECT count(*) FROM memstone.counters").fetchone() == (0,)
        above.execute(f"REVOKE INSERT ON ALL TABLES IN SCHEMA memstone FROM {APP}, memstone_app")
        assert (_recheck(world).status_code, _recheck(world).json()["reason"]) == (503, "storage")
        assert world.anonymous().get("/healthz").status_code == 200
        above.execute(f"GRANT INSERT ON ALL TABLES IN SCHEMA memstone TO {APP}")
        assert _recheck(world).status_code == 200
