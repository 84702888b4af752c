"""The two faces answer alike, and the asyncio one really waits without holding the loop up."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.errors import NeedsEventLoop
from memstone.results import AddResult
from tests.faces.harness import Face, Opens

HASH = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def a_day(face: Face, opens: Opens) -> list[Any]:
    """Every verb once, with what it answered."""
    answers: list[Any] = [
        await face.store([{"role": "user", "content": "I live in Oslo"}, "I like tea"], user_id="alice"),
    ]
    first, second = (item["id"] for item in answers[0]["results"])
    answers.append(await face.store("I live in Oslo", user_id="alice"))
    answers.append(await face.add("Hello! I love tea, and I live in Oslo.", user_id="carol"))
    answers.append(await face.store_many([{"messages": "batch", "user_id": "bob"}, {"messages": "nobody"}]))
    opens.clock.advance(hours=1)
    answers.append(await face.update(first, "I live in Rome", metadata={"a": 1}))
    answers.append(await face.update_many([{"memory_id": second, "kind": "semantic"}, {"memory_id": "x", "text": "y"}]))
    answers.append(await face.search("where do I live", user_id="alice", explain=True))
    answers.append(await face.search("live", user_id="alice", as_of="2026-01-01T00:30:00Z"))
    answers.append(await face.get(first))
    answers.append(await face.get_all(user_id="alice", counts=True))
    answers.append(await face.delete(second))
    answers.append(await face.delete_many([second]))
    answers.append(await face.history(second))
    exported = await face.export(everybody=True)
    answers.append(exported)
    answers.append(await face.stats())
    answers.append(await face.admin.reindex())
    answers.append(await face.sessions.flush(everybody=True))
    answers.append(await face.delete_all(user_id="bob"))
    answers.append(await face.load(exported))
    answers.append(await face.reset())
    return answers


def without_chance(answers: list[Any]) -> str:
    """Ids are random: each is replaced by the order of its first appearance."""
    seen: dict[str, str] = {}
    return UUID.sub(lambda found: seen.setdefault(found[0], f"id-{len(seen)}"), json.dumps(answers))


@pytest.mark.req("C-49")
def test_both_faces_give_the_same_answers(store: Path | None, tmp_path: Path) -> None:
    seen = []
    for kind in ("memory", "async_memory"):
        opens = Opens(kind, tmp_path / f"{kind}.db" if store else None)

        async def scenario(opens: Opens = opens) -> None:
            seen.append(without_chance(await a_day(opens(), opens)))

        opens.run(scenario())
    assert seen[0] == seen[1]
    assert "Rome" in seen[0]


@pytest.mark.req("C-49")
def test_the_loop_goes_on_while_a_model_works() -> None:
    """The model returns only when another task of the same loop lets it."""
    released = threading.Event()

    def slow(texts: list[str]) -> list[list[float]]:
        assert released.wait(120)
        return [[1.0, 2.0] for _ in texts]

    async def scenario() -> AddResult:
        memory = AsyncMemory({"store": {"url": "memory:"}}, embedder=slow)
        adding = asyncio.create_task(memory.add("I live in Oslo", user_id="alice", infer=False))
        await asyncio.sleep(0)
        released.set()
        answer = await adding
        await memory.close()
        return answer

    assert asyncio.run(scenario())["status"] == "ok"


@pytest.mark.req("C-49", "C-2")
def test_many_tasks_that_say_the_same_store_it_once(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        async with AsyncMemory({**HASH, "store": {"url": f"sqlite:///{tmp_path}/x.db"}}) as memory:
            adds = [memory.add("I live in Oslo", user_id="alice", infer=False) for _ in range(40)]
            answers = await asyncio.gather(*adds)
            assert (await memory.stats())["memories"] == 1
        return [answer["results"][0]["event"] for answer in answers]

    assert sorted(asyncio.run(scenario())) == ["ADD"] + ["NONE"] * 39


@pytest.mark.req("C-2")
@pytest.mark.parametrize("in_memory", [True, False])
def test_many_threads_that_say_the_same_store_it_once(tmp_path: Path, *, in_memory: bool) -> None:
    url = "memory:" if in_memory else f"sqlite:///{tmp_path}/x.db"
    with Memory({**HASH, "store": {"url": url, "durable": False}}) as memory, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: memory.add(f"fact {n % 10}", user_id="alice", infer=False), range(80)))
        events = [answer["results"][0]["event"] for answer in answers]
        assert sorted(events) == ["ADD"] * 10 + ["NONE"] * 70
        stats = memory.stats()
        assert stats["memories"] == stats["vectors"] == stats["fulltext"] == stats["events"] == 10


@pytest.mark.req("X-10", "C-12")
def test_updates_at_the_same_time_all_stand_in_the_history() -> None:
    with Memory(HASH) as memory, ThreadPoolExecutor(8) as pool:
        memory_id = memory.add("start", user_id="alice", infer=False)["results"][0]["id"]
        list(pool.map(lambda n: memory.update(memory_id, f"text {n}"), range(40)))

        history = memory.history(memory_id)
        assert len(history) == 41
        for before, after in pairwise(history):
            assert after["old_value"] == before["new_value"]
        item = memory.get(memory_id)
        assert item is not None
        assert (item["version"], item["memory"]) == (41, history[-1]["new_value"])


@pytest.mark.req("C-49")
def test_a_cancelled_call_is_carried_out_whole_or_not_at_all(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AsyncMemory({**HASH, "store": {"url": f"sqlite:///{tmp_path}/x.db"}}) as memory:
            tasks = [asyncio.create_task(memory.add(f"fact {n}", user_id="alice", infer=False)) for n in range(20)]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await memory.add("after", user_id="alice", infer=False)
            stats = await memory.stats()
            assert stats["memories"] == stats["events"] == stats["fulltext"] == stats["vectors"]

    asyncio.run(scenario())


@pytest.mark.req("C-49")
def test_one_asyncio_memory_serves_one_loop_after_the_other(tmp_path: Path) -> None:
    memory = AsyncMemory({**HASH, "store": {"url": f"sqlite:///{tmp_path}/x.db"}})
    asyncio.run(memory.add("one", user_id="alice", infer=False))
    found = asyncio.run(memory.search("one", user_id="alice"))
    assert [item["memory"] for item in found["results"]] == ["one"]
    asyncio.run(memory.close())


@pytest.mark.req("C-49")
def test_the_blocking_face_works_inside_a_running_loop() -> None:
    async def notebook() -> list[str]:
        with Memory(HASH) as memory:
            memory.add("I live in Oslo", user_id="alice", infer=False)
            return [item["memory"] for item in memory.search("Oslo", user_id="alice")["results"]]

    assert asyncio.run(notebook()) == ["I live in Oslo"]


class _NeedsLoop:
    """An embedder that can only wait on a real event loop."""

    provider, model, destination = "mine", "async-only", "this machine"

    async def dimension(self) -> int:
        return 1

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return [[1.0] for _ in texts]


@pytest.mark.req("C-49")
def test_an_embedder_that_needs_a_loop_is_refused_by_the_blocking_face_only() -> None:
    config = {"store": {"url": "memory:"}}
    with Memory(config, embedder=_NeedsLoop()) as memory:
        with pytest.raises(NeedsEventLoop) as caught:
            memory.add("I live in Oslo", user_id="alice", infer=False)
        assert "AsyncMemory" in caught.value.hint
        assert memory.stats()["memories"] == 0

    async def scenario() -> None:
        async with AsyncMemory(config, embedder=_NeedsLoop()) as other:
            assert (await other.add("I live in Oslo", user_id="alice", infer=False))["status"] == "ok"

    asyncio.run(scenario())


def test_an_export_that_is_left_early_leaves_nothing_open(tmp_path: Path) -> None:
    with Memory({**HASH, "store": {"url": f"sqlite:///{tmp_path}/x.db"}}) as memory:
        memory.add("one", user_id="alice", infer=False)
        lines = memory.export(everybody=True)
        assert isinstance(lines, Iterator)
        assert next(lines)["type"] == "header"
        lines.close()  # type: ignore[attr-defined]
        memory.add("two", user_id="alice", infer=False)
