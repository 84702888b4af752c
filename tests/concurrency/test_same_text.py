"""Many writers of one text: it is stored once, and everybody is told the truth."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memstone import AsyncMemory, Memory
from tests.concurrency.crew import run_crew
from tests.concurrency.intact import assert_counted, assert_found, assert_intact, rows
from tests.concurrency.workers import checked, in_threads, quick_embedder, slow_embedder

TEXT = "I am allergic to peanuts"


def _assert_stored_once(path: Path, events: list[str], texts: tuple[str, ...] = (TEXT,)) -> None:
    assert sorted(events) == ["ADD"] * len(texts) + ["NONE"] * (len(events) - len(texts))
    assert assert_intact(path) == len(texts)
    assert rows(path, "SELECT event, count(*) FROM events GROUP BY event") == [("ADD", len(texts))]
    with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
        assert_counted(memory, len(texts))
        assert_found(memory, texts, user_id="u")


@pytest.mark.req("C-56", "X-18")
def test_eight_threads_store_one_text_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
        answers = checked(in_threads(8, lambda _: memory.add(TEXT, user_id="u", infer=False)))
        assert len({answer["results"][0]["id"] for answer in answers}) == 1
    _assert_stored_once(path, [answer["results"][0]["event"] for answer in answers])


@pytest.mark.req("C-56")
def test_eight_tasks_store_one_text_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    async def scenario() -> list[str]:
        async with AsyncMemory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
            answers = await asyncio.gather(*(memory.add(TEXT, user_id="u", infer=False) for _ in range(8)))
            return [answer["results"][0]["event"] for answer in answers]

    _assert_stored_once(path, asyncio.run(scenario()))


@pytest.mark.req("C-56", "X-18")
def test_four_processes_store_one_text_once_in_a_file_none_of_them_has_opened_before(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    reports = run_crew("same_text", [{"path": str(path), "text": TEXT, "threads": 2}] * 4)
    _assert_stored_once(path, [event for report in reports for event in report])


@pytest.mark.slow
def test_a_new_file_is_made_once_however_often_it_is_opened_at_the_same_moment(tmp_path: Path) -> None:
    for attempt in range(2):
        path = tmp_path / f"new {attempt}" / "memstone.db"
        orders = [{"path": str(path), "name": f"process {number}", "count": 1} for number in range(4)]
        assert [len(added) for added in run_crew("distinct_adds", orders)] == [1] * 4
        assert assert_intact(path) == 4


def test_one_memory_opened_by_many_threads_at_once_makes_one_schema(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"

    def open_and_add(number: int) -> str:
        with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=quick_embedder) as memory:
            return str(memory.add(f"I am thread {number}", user_id="u", infer=False)["results"][0]["event"])

    assert checked(in_threads(8, open_and_add)) == ["ADD"] * 8
    assert assert_intact(path) == 8


def test_the_same_text_of_two_users_is_two_memories_also_when_both_say_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
        answers = checked(in_threads(8, lambda number: memory.add(TEXT, user_id=f"u{number % 2}", infer=False)))
        events = sorted(answer["results"][0]["event"] for answer in answers)
        assert events == ["ADD"] * 2 + ["NONE"] * 6
        for user in ("u0", "u1"):
            assert_found(memory, [TEXT], user_id=user)
    assert assert_intact(path) == 2


def test_a_batch_sent_eight_times_at_once_under_one_key_is_carried_out_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    items = [{"messages": f"item {number}", "user_id": "u", "infer": False} for number in range(20)]
    with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
        answers = checked(in_threads(8, lambda _: memory.add_many(items, idempotency_key="once")))
        first = [answer for answer in answers if not answer.get("replayed")]
        assert len(first) == 1
        assert all(answer["results"] == first[0]["results"] for answer in answers)
    assert assert_intact(path) == 20
