"""Receipts that are written behind an answer, in a database that keeps tenants apart."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.engine import deferred_receipts
from memstone.engine.request_scope import ContextRequest
from tests.patience import LONG
from tests.postgres.server import Server

ASKED = "Where do I live?"


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written until somebody asks for it, and whoever does waits as long as it takes."""
    monkeypatch.setattr(deferred_receipts, "SOON", 3_600.0)
    monkeypatch.setattr(deferred_receipts, "PATIENCE", LONG)


def test_late_receipts_are_written_for_their_tenants_and_for_nobody_who_was_erased(postgres: Server) -> None:
    config: dict[str, Any] = {
        "store": {"url": postgres.fresh(), "durable": False},
        "embedder": {"provider": "hash"},
        "context": {"false_injection": 0.0, "min_score": 0.0},
    }

    async def steps() -> None:
        async with AsyncMemory(config) as memory:
            output: dict[tuple[str, str], str] = {}
            for tenant, user in (("a", "alice"), ("a", "bob"), ("b", "alice")):
                bound = memory.acting_for(tenant, user_id=user)
                await bound.add("I live in Oslo", user_id=user)
                pack = await bound.engine.context_for_service(ContextRequest(ASKED, user_id=user))
                assert not pack.empty
                output[tenant, user] = pack.receipt_id
            with Memory(config) as other:
                erased = await asyncio.to_thread(other.acting_for("a").admin.erase, user_id="alice")
                assert all(check["ok"] for check in erased["checks"])
            found = {owner: await memory.acting_for(owner[0]).receipt(number) for owner, number in output.items()}
            assert [owner for owner, receipt in found.items() if receipt] == [("a", "bob"), ("b", "alice")]
            assert await memory.acting_for("b").receipt(output["a", "bob"]) is None

    asyncio.run(steps())
