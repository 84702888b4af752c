"""From one file to PostgreSQL and on to a vector cluster: the same answers at every step, and nothing lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.cli.run import run_command
from tests.patience import until
from tests.postgres.server import Server
from tests.stores.redis_server import run_redis

_PLACES: Final = ("harbour", "orchard", "station", "library", "market", "museum")
_QUESTIONS: Final = ("Where is the red door?", "What is near the orchard?", "Which place is number 7?")


def _open(url: str, **more: Any) -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}, **more})


def _fill(memory: Memory) -> None:
    for number in range(60):
        text = f"The {_PLACES[number % 6]} number {number} has a {'red' if number % 7 == 0 else 'green'} door"
        memory.add(text, user_id=f"user{number % 3}", infer=False, metadata={"number": number})
    memory.add("I live in Bergen and I like olives", user_id="user0", run_id="r")
    changed = memory.add("The pier is closed", user_id="user1", infer=False)["results"][0]["id"]
    memory.update(changed, "The pier is open")
    memory.delete(memory.add("Nobody needs this", user_id="user1", infer=False)["results"][0]["id"])


def _answers(memory: Memory) -> list[list[str]]:
    """What searches find."""
    return [
        [one["memory"] for one in memory.search(question, user_id=f"user{number}", limit=5)["results"]]
        for question in _QUESTIONS
        for number in range(3)
    ]


def _are_alike(found: list[list[str]], wanted: list[list[str]]) -> bool:
    """Whether the first of each is the same and so are the others, whose order another index may round another way."""
    return all(one[0] == two[0] and set(one) == set(two) for one, two in zip(found, wanted, strict=True))


def _lines(memory: Memory) -> list[str]:
    return sorted(json.dumps(line, sort_keys=True) for line in memory.export(everybody=True) if "id" in line)


@pytest.mark.system
@pytest.mark.req("N-42")
def test_every_step_gives_the_same_answers(tmp_path: Path, postgres: Server) -> None:
    file = tmp_path / "people.db"
    with _open(f"sqlite:///{file}") as memory:
        _fill(memory)
        answers, lines = _answers(memory), _lines(memory)
    database = postgres.url(postgres.database(postgres.pattern))
    assert run_command(["copy", str(file), database]) == 0
    with _open(database) as memory:
        assert _lines(memory) == lines
        assert _answers(memory) == answers
    with run_redis() as address:
        cluster = {"provider": "redis", "config": {"url": address, "index": "flat"}}
        with _open(database, vector_store=cluster) as memory:
            memory.admin.reindex()
            until(lambda: _are_alike(_answers(memory), answers))
            memory.add("The boathouse has a blue door", user_id="user2", infer=False)
            found = memory.search("Which door is blue?", user_id="user2")
            assert "boathouse" in found["results"][0]["memory"]
            assert not found.get("degraded")
    with _open(database) as memory:  # the cluster can be dropped at any time: the database has everything
        assert "boathouse" in memory.search("Which door is blue?", user_id="user2")["results"][0]["memory"]
