"""Sixteen databases hold the tenants, and a small router picks one: no statement needs another tenant's rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import pytest

from examples.tenant_router import TenantRouter, choose_database, moves, tenant_of
from memstone import Memory
from memstone.cli.run import run_command
from tests.postgres.server import APP, Server

_DATABASES: Final = 16
_EACH: Final = 3
_CONFIG: Final[dict[str, Any]] = {"embedder": {"provider": "hash"}, "store": {"durable": False, "pool_size": 1}}


@pytest.fixture(scope="module")
def databases(postgres: Server) -> list[str]:
    names = [postgres.database(postgres.pattern) for _ in range(_DATABASES)]
    return [postgres.url(name, APP) for name in names]


def _open(url: str, tenant: str) -> Memory:
    return Memory({**_CONFIG, "store": {**_CONFIG["store"], "url": url}, "tenant": tenant})


@asynccontextmanager
async def _client(router: TenantRouter) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a router that has started."""
    incoming: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    life = asyncio.create_task(router({"type": "lifespan"}, incoming.get, outgoing.put))
    await incoming.put({"type": "lifespan.startup"})
    assert (await outgoing.get())["type"] == "lifespan.startup.complete"
    transport = httpx2.ASGITransport(app=router)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client
    await incoming.put({"type": "lifespan.shutdown"})
    await life


def test_the_router_is_small() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "tenant_router.py"
    assert len(path.read_text("utf-8").splitlines()) <= 150


def test_one_more_database_takes_from_all_and_moves_nothing_else() -> None:
    tenants = [f"t{number}" for number in range(2_000)]
    before = [f"postgresql://node/db{number}" for number in range(_DATABASES)]
    after = [*before, "postgresql://node/db-new"]
    changed = moves(tenants, before, after)
    assert {place[1] for place in changed.values()} == {after[-1]}
    assert 0.03 < len(changed) / len(tenants) < 0.09
    assert {place[0] for place in changed.values()} == set(before)


@pytest.mark.req("N-42")
@pytest.mark.system
def test_sixteen_databases_hold_the_tenants(postgres: Server, databases: list[str]) -> None:
    router, tenants = TenantRouter(databases, _CONFIG), _spread_tenants(databases)
    keys = {}
    for tenant in tenants:
        with _open(router.database_of(tenant), tenant) as memory:
            keys[tenant] = memory.admin.keys.create("app", verbs=["read", "write"], may_assert_user=True)["key"]

    async def story() -> None:
        async with _client(router) as client:
            await asyncio.gather(*(_use(client, tenant, keys[tenant]) for tenant in tenants))
            assert (await client.get("/readyz")).status_code == 200
            assert (await client.post("/v1/memories", json={"messages": "x"})).status_code == 400
            await _refuse_others(client, router, keys)

    asyncio.run(story())
    for url in databases:
        own = {tenant for tenant in tenants if router.database_of(tenant) == url}
        assert own <= _tenants_in(postgres, url) <= own | {"default"}


def _spread_tenants(databases: list[str]) -> list[str]:
    """As many names of tenants for each database."""
    places: dict[str, list[str]] = {url: [] for url in databases}
    for number in count():
        place = places[choose_database(f"tenant{number}", databases)]
        if len(place) < _EACH:
            place.append(f"tenant{number}")
        if all(len(names) == _EACH for names in places.values()):
            return [name for names in places.values() for name in names]
    raise AssertionError


async def _use(client: httpx2.AsyncClient, tenant: str, key: str) -> None:
    headers = {"authorization": f"Bearer {key}", "x-tenant": tenant}
    for number in range(3):
        body = {"messages": f"Fact {number} of {tenant} about a lighthouse", "user_id": "alice", "infer": False}
        answer = await client.post("/v1/memories", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
    learned = {"messages": f"I live in {tenant.title()}ville.", "user_id": "bob", "run_id": "r"}
    assert (await client.post("/v1/memories", json=learned, headers=headers)).status_code == 200
    asked = {"query": "Which lighthouse?", "user_id": "alice"}
    found = (await client.post("/v1/memories/search", json=asked, headers=headers)).json()["results"]
    assert len(found) == 3
    assert all(f"of {tenant} " in one["memory"] for one in found)


async def _refuse_others(client: httpx2.AsyncClient, router: TenantRouter, keys: dict[str, str]) -> None:
    """Whoever names another tenant gets nowhere, or into their own tenant."""
    (own, key), *others = keys.items()
    asked = {"query": "Which lighthouse?", "user_id": "alice"}
    for other, _ in others:
        headers = {"authorization": f"Bearer {key}", "x-tenant": other}
        answer = await client.post("/v1/memories/search", json=asked, headers=headers)
        if router.database_of(other) == router.database_of(own):
            assert all(f"of {own} " in one["memory"] for one in answer.json()["results"])
        else:
            assert answer.status_code in (401, 429)


def _tenants_in(postgres: Server, url: str) -> set[str]:
    """Every tenant that any row of any table of a database names."""
    name = urlsplit(url).path.strip("/")
    found: set[str] = set()
    with postgres.superuser(name) as connection:
        tables = connection.execute(
            "SELECT table_name::text FROM information_schema.columns "
            "WHERE table_schema = 'memstone' AND column_name = 'tenant_id'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f'SELECT DISTINCT tenant_id FROM memstone."{table}"'.encode()).fetchall()
            found |= {row[0] for row in rows}
    return found


@pytest.mark.system
def test_a_tenant_moves_to_another_database_with_everything(postgres: Server, databases: list[str]) -> None:
    source, target = databases[0], databases[1]
    with _open(source, "mover") as memory:
        memory.add("The lighthouse is painted red", user_id="alice", infer=False)
        key = memory.admin.keys.create("app")["id"]
    names = [urlsplit(url).path.strip("/") for url in (source, target)]
    assert run_command(["copy", postgres.url(names[0]), postgres.url(names[1]), "--tenant", "mover"]) == 0
    router = TenantRouter(databases, _CONFIG, places={"mover": target})
    assert router.database_of("mover") == target
    with _open(target, "mover") as memory:
        assert [one["memory"] for one in memory.get_all(user_id="alice")["results"]] == [
            "The lighthouse is painted red"
        ]
        assert [one["id"] for one in memory.admin.keys.list()] == [key]
    assert choose_database("mover", databases) in databases


@pytest.mark.parametrize(
    ("headers", "tenant"),
    [
        ([(b"host", b"acme.memory.example.com")], "acme"),
        ([(b"host", b"acme.memory.example.com:443"), (b"x-tenant", b"other")], "other"),
        ([(b"host", b"example.com")], ""),
        ([(b"host", b"127.0.0.1:8420")], ""),
        ([], ""),
    ],
)
def test_the_host_or_a_header_names_the_tenant(headers: list[tuple[bytes, bytes]], tenant: str) -> None:
    assert tenant_of({"type": "http", "headers": headers}) == tenant
