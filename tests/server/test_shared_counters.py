"""What is counted or kept for all tenants together tells nobody what somebody else has said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memstone import AsyncMemory
from memstone.server.app import create_app
from tests.server.calls import call_verb
from tests.server.conftest import CONFIG
from tests.server.world import World

ALL = ["read", "write", "admin"]
SAID = "the merger is on Friday"
KEYS: list[tuple[str, dict[str, Any]]] = [
    ("neighbour", {"verbs": ALL}),
    ("neighbour", {"verbs": ["read"]}),
    ("default", {"verbs": ["read"]}),
    ("default", {"verbs": ["read", "write"], "may_assert_user": True}),
    ("default", {"verbs": ALL, "user_id": "bob"}),
    ("default", {"verbs": ALL, "agent_id": "helper"}),
]


@pytest.mark.req("N-42", "O-76", "N-3")
@pytest.mark.parametrize(("tenant", "key"), KEYS)
def test_counters_of_the_process_are_the_operators(world: World, tenant: str, key: dict[str, Any]) -> None:
    other = world.as_key(tenant, **key)
    world.client.post("/v1/memories", json={"messages": SAID, "user_id": "alice", "infer": False})
    asked = {"user_id": "bob"}
    page = other.get("/api/memory", params={"apiKeyId": "bob"})
    if page.status_code == 200:
        assert page.json()["stats"]["cacheStats"] == {"hits": 0, "misses": 0}
    for answer in (
        other.get("/api/memory/engine-status"),
        call_verb(other, "admin.status", {}),
        other.get("/v1/stats"),
        call_verb(other, "stats", {}),
        other.get("/v1/console/dashboard", params=asked),
        other.get("/v1/console/health"),
        other.get("/metrics"),
    ):
        for figure in ("max_size", "maxSize", "attempts", "last_error", "memstone_request_seconds", "receipts_lost"):
            assert figure not in answer.text, answer.request.url
        assert '"hits":0' in answer.text or "hits" not in answer.text
    operator = world.client
    assert operator.get("/api/memory/engine-status").json()["embedding"]["cache"]["maxSize"] == 1_000
    assert operator.get("/v1/stats").json()["formation"]["attempts"] == 0
    assert operator.get("/api/memory").json()["stats"]["cacheStats"]["misses"] > 0


class Embedder:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors that depend on the length of a text."""
        self.asked += texts
        return [[float(len(text)), 1.0, 2.0] for text in texts]


@pytest.mark.req("N-3", "P-19")
def test_what_others_had_embedded_is_embedded_again_so_that_nobody_can_time_it() -> None:
    embedder = Embedder()
    with World.over(create_app(CONFIG, memory=AsyncMemory(CONFIG, embedder=embedder.embed))) as world:
        world.client.post("/v1/memories", json={"messages": SAID, "user_id": "alice", "infer": False})
        assert embedder.asked.count(SAID) == 1
        question = {"query": SAID, "user_id": "alice"}
        world.client.post("/v1/memories/search", json=question)
        assert embedder.asked.count(SAID) == 1, "one's own is at hand"
        guessing = [
            world.as_key("neighbour", verbs=ALL),
            world.as_key(),
            world.as_key(),
            world.as_key(user_id="alice"),
        ]
        for number, other in enumerate(guessing, 2):
            for _ in range(2):
                assert other.post("/v1/memories/search", json=question).status_code == 200
            assert embedder.asked.count(SAID) == number


@pytest.mark.req("P-19")
def test_what_others_asked_a_model_is_asked_again() -> None:
    asked: list[Any] = []

    def model(prompt: Any) -> str:
        asked.append(prompt)
        return '{"facts": []}'

    texts = {"messages": SAID, "user_id": "alice"}
    with World.over(create_app(CONFIG, memory=AsyncMemory(CONFIG, llm=model))) as world:
        spent = []
        for client in (world.client, world.as_key(), world.as_key(), world.as_key("neighbour", verbs=ALL)):
            assert client.post("/v1/memories", json=texts).status_code == 200
            spent.append(len(asked))
        assert len(set(spent)) == 4, spent
