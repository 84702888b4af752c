from __future__ import annotations

import asyncio

import pytest

from memstone.compat import mem0
from memstone.errors import InvalidInput

HASH = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.mark.req("N-37")
def test_arguments_may_have_the_names_of_mem0() -> None:
    with mem0.Memory(HASH) as memory:
        for text in ("apple pie", "apple juice", "apple tree"):
            memory.add(text, user_id="alice", infer=False)
        assert len(memory.search("apple", user_id="alice", top_k=2)["results"]) == 2
        best = memory.search("apple pie", user_id="alice")["results"][0]["score"]
        near = memory.search("apple pie", user_id="alice", threshold=best)["results"]
        assert near == memory.search("apple pie", user_id="alice", min_score=best)["results"]
        assert len(memory.get_all(user_id="alice", top_k=1)["results"]) == 1


@pytest.mark.req("N-37")
def test_one_thing_under_two_names_is_an_error() -> None:
    with mem0.Memory(HASH) as memory:
        for options in ({"limit": 5, "top_k": 5}, {"min_score": 0.1, "threshold": 0.2}):
            with pytest.raises(InvalidInput, match="two names for the same argument"):
                memory.search("Oslo", user_id="alice", **options)


@pytest.mark.req("N-37")
def test_the_names_hold_for_asyncio_too() -> None:
    async def steps() -> int:
        async with mem0.AsyncMemory(HASH) as memory:
            await memory.add("apple pie", user_id="alice", infer=False)
            await memory.add("apple tree", user_id="alice", infer=False)
            assert len((await memory.search("apple", user_id="alice", top_k=1))["results"]) == 1
            return len((await memory.get_all(user_id="alice", top_k=1))["results"])

    assert asyncio.run(steps()) == 1
