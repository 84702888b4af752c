"""What is kept of a context for the next question is kept apart for callers who reach more or less."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.world import World

ASKED = {"query": "Where should I shop for food?", "user_id": "alice", "agent_id": "a1"}


def shows_it(client: Any, **changed: str) -> bool:
    answer = client.post("/v1/context", json={**ASKED, **changed})
    assert answer.status_code == 200
    return "allergic to nuts" in answer.json()["text"]


@pytest.mark.req("R-9")
@pytest.mark.parametrize("agent_asks_first", [True, False])
def test_a_key_of_an_agent_and_one_of_the_tenant_do_not_answer_for_each_other(
    world: World, *, agent_asks_first: bool
) -> None:
    everybody, agent = world.client, world.as_key(agent_id="a1", verbs=["read", "write"])
    answer = {"text": "I am allergic to nuts", "user_id": "alice"}
    assert everybody.post("/memory/identity/overrides", json=answer).status_code == 200

    for client in (agent, everybody) if agent_asks_first else (everybody, agent):
        assert shows_it(client) == (client is everybody)
    assert shows_it(everybody, query="What may I eat tonight?"), "nor was noted that there is nothing to show"
