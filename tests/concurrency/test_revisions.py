"""Several revisions of one memory at once: all stand in the history, one is current."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.errors import NotFoundError
from tests.concurrency.crew import run_crew
from tests.concurrency.intact import assert_found, assert_intact, rows
from tests.concurrency.workers import checked, in_threads, slow_embedder

FIRST = "I live in Berlin"


def _opened(path: Path) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder)


def _assert_all_stand(path: Path, memory_id: str, revisions: list[str]) -> None:
    assert assert_intact(path) == 1
    versions = rows(path, "SELECT version, text, valid_to IS NULL FROM memories WHERE id = ? ORDER BY seq", memory_id)
    assert [version for version, _, _ in versions] == list(range(1, len(revisions) + 2))
    assert [current for _, _, current in versions] == [0] * len(revisions) + [1]
    assert sorted(text for _, text, _ in versions[1:]) == sorted(revisions)
    with _opened(path) as memory:
        history = memory.history(memory_id)
        assert [event["event"] for event in history] == ["ADD"] + ["UPDATE"] * len(revisions)
        # Each revision was made on what the one before it had left.
        assert [event["old_value"] for event in history[1:]] == [event["new_value"] for event in history[:-1]]
        live = memory.get(memory_id)
        assert live is not None
        final = live["memory"]
        assert final == history[-1]["new_value"] == versions[-1][1]
        assert_found(memory, [final], user_id="u")


@pytest.mark.req("X-10", "C-30", "C-56")
@pytest.mark.parametrize("count", [2, 8])
def test_revisions_by_threads(tmp_path: Path, count: int) -> None:
    path = tmp_path / "memstone.db"
    revisions = [f"I live in city number {number}" for number in range(count)]
    with _opened(path) as memory:
        memory_id = memory.add(FIRST, user_id="u", infer=False)["results"][0]["id"]
        checked(in_threads(count, lambda number: memory.update(memory_id, revisions[number])))
    _assert_all_stand(path, memory_id, revisions)


@pytest.mark.req("X-10", "C-30")
def test_revisions_by_tasks(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    revisions = ["I live in Rome", "I live in Paris"]

    async def scenario() -> str:
        async with AsyncMemory({"store": {"url": f"sqlite:///{path}"}}, embedder=slow_embedder) as memory:
            memory_id: str = (await memory.add(FIRST, user_id="u", infer=False))["results"][0]["id"]
            await asyncio.gather(*(memory.update(memory_id, text) for text in revisions))
            return memory_id

    _assert_all_stand(path, asyncio.run(scenario()), revisions)


@pytest.mark.req("X-10", "C-30")
def test_revisions_by_processes(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with _opened(path) as memory:
        memory_id = memory.add(FIRST, user_id="u", infer=False)["results"][0]["id"]
    revisions = ["I live in Rome", "I live in Paris"]
    assert run_crew("revise", [{"path": str(path), "id": memory_id, "text": text} for text in revisions]) == revisions
    _assert_all_stand(path, memory_id, revisions)


@pytest.mark.req("X-10")
def test_metadata_and_text_changed_at_once_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with _opened(path) as memory:
        memory_id = memory.add(FIRST, user_id="u", infer=False)["results"][0]["id"]
        changes: list[dict[str, Any]] = [{"text": "I live in Rome"}, {"metadata": {"checked": True}}]
        checked(in_threads(2, lambda number: memory.update(memory_id, **changes[number])))
        final = memory.get(memory_id)
        assert final is not None
        assert (final["memory"], final["metadata"]) == ("I live in Rome", {"checked": True})
        assert_found(memory, ["I live in Rome"], user_id="u")
    assert assert_intact(path) == 1


def test_a_revision_and_a_deletion_at_once_end_in_a_deletion(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with _opened(path) as memory:
        memory_id = memory.add(FIRST, user_id="u", infer=False)["results"][0]["id"]

        def act(number: int) -> Any:
            return memory.delete(memory_id) if number else memory.update(memory_id, "I live in Rome")

        revised, deleted = in_threads(2, act)
        assert not isinstance(deleted, BaseException), deleted
        events = [event["event"] for event in memory.history(memory_id)]
        lost = isinstance(revised, NotFoundError)
        assert events == (["ADD", "DELETE"] if lost else ["ADD", "UPDATE", "DELETE"])
        assert memory.get(memory_id) is None
        assert memory.search("live", user_id="u")["results"] == []
    assert assert_intact(path) == 0


def test_eight_deletions_at_once_delete_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with _opened(path) as memory:
        memory_id = memory.add(FIRST, user_id="u", infer=False)["results"][0]["id"]
        results = in_threads(8, lambda _: memory.delete(memory_id))
        assert sum(isinstance(result, NotFoundError) for result in results) == 7
        assert sum(isinstance(result, dict) for result in results) == 1
    assert assert_intact(path) == 0


@pytest.mark.req("X-10")
def test_eight_adds_under_one_key_are_eight_versions_of_one_memory(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with _opened(path) as memory:

        def say(number: int) -> Any:  # all of one time, because what was said earlier replaces nothing
            return memory.add(
                f"I live in city {number}", user_id="u", key="home", occurred_at="2026-01-01", infer=False
            )

        events = sorted(answer["results"][0]["event"] for answer in checked(in_threads(8, say)))
        assert events == ["ADD"] + ["UPDATE"] * 7
    assert assert_intact(path) == 1
    assert rows(path, "SELECT count(*), count(DISTINCT id), max(version) FROM memories") == [(8, 1, 8)]
