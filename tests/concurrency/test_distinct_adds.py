"""Many writers of many texts: none is lost, none meets an error."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memstone import AsyncMemory, Memory
from memstone.errors import MemstoneError
from tests.concurrency.crew import run_crew
from tests.concurrency.intact import assert_counted, assert_found, assert_intact, texts
from tests.concurrency.workers import checked, in_threads, settings


@pytest.mark.slow
@pytest.mark.req("C-56")
def test_eight_threads_add_150_texts_each(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    def add(thread: int) -> list[str]:
        return [memory.add(f"note t{thread}n{n}", user_id="u", infer=False)["results"][0]["memory"] for n in range(150)]

    with Memory(settings(str(path))) as memory:
        added = [text for one in checked(in_threads(8, add)) for text in one]
        assert_counted(memory, 1200)
        assert_found(memory, added[::200], user_id="u")
    assert assert_intact(path) == 1200
    assert texts(path) == sorted(added)


@pytest.mark.slow
@pytest.mark.req("C-56", "X-18")
def test_four_processes_add_150_texts_each(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    orders = [{"path": str(path), "name": f"process {number}", "count": 150} for number in range(4)]
    added = [text for report in run_crew("distinct_adds", orders) for text in report]
    assert len(added) == 600
    assert assert_intact(path) == 600
    assert texts(path) == sorted(added)


@pytest.mark.slow
@pytest.mark.req("C-56")
def test_eight_tasks_add_75_texts_each(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    async def add(memory: AsyncMemory, task: int) -> list[str]:
        return [
            (await memory.add(f"task {task} says {n}", user_id="u", infer=False))["results"][0]["memory"]
            for n in range(75)
        ]

    async def scenario() -> list[str]:
        async with AsyncMemory(settings(str(path))) as memory:
            return [text for one in await asyncio.gather(*(add(memory, n) for n in range(8))) for text in one]

    added = asyncio.run(scenario())
    assert assert_intact(path) == 600
    assert texts(path) == sorted(added)


@pytest.mark.slow
@pytest.mark.req("R-1", "C-9")
def test_sixteen_threads_read_and_write_through_one_memory(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    def use(thread: int) -> tuple[list[str], list[str]]:
        remaining, gone = list[str](), list[str]()
        for number in range(12):
            first, second = f"draft t{thread}n{number}", f"final t{thread}n{number}"
            memory_id = memory.add(first, user_id="u", infer=False)["results"][0]["id"]
            assert memory.search(first, user_id="u", limit=3)["results"][0]["memory"] == first
            memory.update(memory_id, second)
            live = memory.get(memory_id)
            assert live is not None
            assert live["memory"] == second
            if number % 3 == 0:
                memory.delete(memory_id)
                assert memory.get(memory_id) is None
            (gone if number % 3 == 0 else remaining).append(second)
            assert len(memory.history(memory_id)) == 2 + (number % 3 == 0)
            memory.get_all(user_id="u", limit=5)
        return remaining, gone

    with Memory(settings(str(path))) as memory:
        results = checked(in_threads(16, use))
        selected = [text for one in results for text in one[0]]
        assert_counted(memory, len(selected))
        assert_found(memory, selected[::16], user_id="u")
        for text in [text for one in results for text in one[1]][::16]:
            assert text not in [hit["memory"] for hit in memory.search(text, user_id="u")["results"]]
    assert assert_intact(path) == len(selected)
    assert texts(path) == sorted(selected)


def test_a_memory_that_lives_in_memory_serves_threads_as_well() -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:

        def use(thread: int) -> None:
            for number in range(20):
                memory.add(f"thread {thread} says {number}", user_id="u", infer=False)
                memory.search("thread", user_id="u", limit=3)

        checked(in_threads(8, use))
        assert_counted(memory, 160)
        assert memory.admin.check()["integrity"] == ["ok"]


@pytest.mark.slow
@pytest.mark.req("C-52")
def test_closing_a_memory_under_load_gives_typed_errors_and_loses_nothing(tmp_path: Path) -> None:
    orders = [{"path": str(tmp_path / f"{number}.db")} for number in range(4)]
    for order, report in zip(orders, run_crew("close_under_load", orders), strict=True):
        assert report["told"] == ["storage"] * 7
        path = Path(order["path"])
        assert_intact(path)
        assert set(report["added"]) <= set(texts(path))


def test_a_closed_memory_says_so_in_every_call(tmp_path: Path) -> None:
    memory = Memory(settings(str(tmp_path / "memstone.db")))
    memory_id = memory.add("hello", user_id="u", infer=False)["results"][0]["id"]
    memory.close()
    memory.close()
    calls = [
        lambda: memory.add("more", user_id="u", infer=False),
        lambda: memory.search("hello", user_id="u"),
        lambda: memory.get(memory_id),
        lambda: memory.delete(memory_id),
        memory.admin.check,
    ]
    for call in calls:
        with pytest.raises(MemstoneError, match="closed"):
            call()
