"""A service with something of everything, and what its routes are asked with, read off their description."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.server.world import World

_NUMBERS: Final = count(1)
_VOLATILE: Final = frozenset({"api_keys", "receipts", "changes", "leases", "counters", "jobs"})
"""Tables that change by themselves, or by looking."""


@dataclass
class Stocked:
    """A running service over a file, and what the parameters of its paths can stand for."""

    world: World
    path: Path
    names: dict[str, str] = field(default_factory=dict)

    def real(self, path: str) -> str:
        """A path that names what is there."""
        return re.sub(r"{(\w+)}", lambda found: self.names.get(found[1], "none"), path)

    def restock(self) -> None:
        """Put something of everything there."""
        client = self.world.client
        answer = {"messages": "I live in Oslo. I like tea. My sister Anna lives in Rome.", "agent_id": "helper"}
        for user, run in (("alice", "r1"), ("alice", "r2"), ("bob", "r1")):
            scope = {"user_id": user, "run_id": run}
            assert client.post("/v1/memories", json={**answer, **scope}).is_success
            for _ in range(2):  # new words each time: what was deleted is not learned again
                texts = {"messages": f"I own book {next(_NUMBERS)}.", "infer": False}
                assert client.post("/v1/memories", json={**answer, **scope, **texts}).is_success
        vector = {"id": "fact-1", "values": [0.1, 0.7, 0.2], "metadata": {"content": "likes tea"}}
        assert client.post("/insert", json={"userId": "alice", "vectors": [vector]}).status_code == 200
        assert client.post("/memory/identity/overrides", json={"text": "Call me Al", "user_id": "alice"}).is_success
        assert client.put("/v1/settings?user_id=alice", json={"values": {"context.budget": 800}}).is_success
        assert client.put("/v1/settings", json={"values": {"context.budget": 900}}).is_success
        assert client.post("/v1/pause", json={"user_id": "carol"}).is_success
        key = client.post("/v1/keys", json={"name": "spare"}).json()["id"]
        login = {"login": f"{key}@example.org", "password": "a long sentence of mine"}
        account = client.post("/v1/accounts", json=login).json()["id"]
        found = client.get("/v1/memories?user_id=alice").json()["results"]
        assert client.post(f"/v1/console/memories/{found[-1]['id']}/quarantine").is_success
        self.names = {
            "memory_id": found[0]["id"],
            "quarantined_id": found[-1]["id"],
            "key_id": key,
            "account": account,
            "agent_id": "helper",
            "position": "0",
            "act": "disable",
            "name": "Anna",
        }


@contextmanager
def stock(config: Mapping[str, Any], path: Path) -> Iterator[Stocked]:
    """Start a service over a file and stock it."""
    with World.of({**config, "store": {"url": f"sqlite:///{path}"}}) as world:
        made = Stocked(world, path)
        made.restock()
        yield made


def dump(path: Path, *, keys: bool = False) -> dict[str, list[Any]]:
    """Return every row that only a request can change, by table; of keys, which of them are valid."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        tables = [name for (name,) in found if name not in _VOLATILE and not name.startswith(("sqlite_", "fulltext_"))]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}  # noqa: S608
        if keys:
            rows["api_keys"] = connection.execute("SELECT id, revoked_at FROM api_keys").fetchall()
        return rows


def example_of(world: World, method: str, path: str) -> Any:
    """Return the body that the description shows for an operation; None when it has none."""
    described = world.app.openapi()
    operation = described["paths"].get(path, {}).get(method.lower(), {})
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        schema = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
        if "$ref" in schema:
            schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema["examples"][0]
    return None


def list_parameters(described: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters of an operation; those that several have are described elsewhere."""
    shared = described["components"]["parameters"]
    return [shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in operation.get("parameters", ())]
