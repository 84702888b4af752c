"""The views for other tools show what a search would, in both databases: nothing that has expired."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock
from tests.postgres.server import Server


def tell(url: str) -> str:
    """One memory that lasts and one that had its time; gives the id of the first."""
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}, clock=FakeClock()) as memory:
        lasting: str = memory.add("tea", user_id="alice", infer=False)["results"][0]["id"]
        memory.add("coffee", user_id="alice", infer=False, expires_at="2026-01-02")
        return lasting


@pytest.mark.req("P-2", "P-3", "R-4")
def test_the_views_of_a_file_hide_what_has_expired(tmp_path: Path) -> None:
    lasting = tell(f"sqlite:///{tmp_path}/m.db")
    connection = sqlite3.connect(tmp_path / "m.db")
    try:
        assert connection.execute("SELECT id FROM shared_vectors").fetchall() == [(lasting,)]
        assert connection.execute("SELECT vector_id FROM users_vectors").fetchall() == [(lasting,)]
    finally:
        connection.close()


@pytest.mark.req("P-2", "P-3", "R-4")
def test_the_views_of_a_database_hide_what_has_expired(postgres: Server) -> None:
    lasting = tell(postgres.fresh())
    with postgres.superuser(postgres.name) as connection:
        assert connection.execute("SELECT id FROM memstone_views.vectors").fetchall() == [(lasting,)]
        assert connection.execute("SELECT vector_id FROM memstone_views.users_vectors").fetchall() == [(lasting,)]
