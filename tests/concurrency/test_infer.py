"""Many who say the same, or the opposite, at once: one fact is live, and its history is whole.

Run as a module, this file is one of several processes that do so.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import AsyncMemory, Memory
from memstone.results import AddEvent
from tests.concurrency.crew import run_crew
from tests.concurrency.intact import assert_sound, rows
from tests.concurrency.workers import checked, in_threads, serve, settings

_WRITERS: Final = 8
_LIKES: Final = ("I love tea.", "I hate tea.")
_FACTS: Final = {"I love tea": "User loves tea.", "I hate tea": "User hates tea."}


def slow_model(messages: list[dict[str, str]]) -> str:
    """Finds the fact after a fifth of a second, long enough for everybody to be on the way; decides nothing."""
    time.sleep(0.2)
    text = messages[-1]["content"].rpartition("New turns:\n")[2]
    found = [{"op": "ADD", "text": fact, "quote": words} for words, fact in _FACTS.items() if words in text]
    return json.dumps({"operations": found})


def say(memory: Memory, text: str) -> dict[str, Any]:
    answer = memory.add(text, user_id="u", infer=True)
    assert answer["status"] == "ok", answer
    (result,) = answer["results"]
    return {"event": result["event"], "id": result["id"], "memory": result["memory"]}


def live_facts(path: Path) -> list[tuple[Any, ...]]:
    query = "SELECT id, text, version FROM memories WHERE layer = 'fact' AND valid_to IS NULL AND status = 'active'"
    return rows(path, query)


def assert_one_fact(path: Path, results: list[AddEvent]) -> None:
    """Everybody was told of the one memory there is; only one has added it."""
    ((memory_id, text, version),) = live_facts(path)
    assert sorted(result["event"] for result in results) == ["ADD"] + ["NONE"] * (len(results) - 1)
    assert {(result["id"], result["memory"]) for result in results} == {(memory_id, text)}
    assert version == 1
    assert rows(path, "SELECT event, count(*) FROM events GROUP BY event") == [("ADD", 1)]
    assert rows(path, "SELECT text FROM memories WHERE layer = 'turn'") == [(_LIKES[0],)]
    assert_sound(path)


def assert_each_once(path: Path, results: list[AddEvent]) -> None:
    """Each was asked before the others were known, so both statements stand, each once; nothing is lost or doubled."""
    live = live_facts(path)
    assert sorted(text for _, text, _ in live) == sorted(_FACTS.values())
    assert {result["id"] for result in results} == {memory_id for memory_id, _, _ in live}
    assert sorted(result["event"] for result in results) == ["ADD"] * 2 + ["NONE"] * (len(results) - 2)
    assert rows(path, "SELECT count(*) FROM memories WHERE layer = 'fact'") == [(2,)]
    assert_sound(path)


@pytest.mark.req("P-20")
def test_eight_threads_that_say_the_same_leave_one_fact(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory(settings(str(path)), llm=slow_model) as memory:
        results = checked(in_threads(_WRITERS, lambda _: say(memory, _LIKES[0])))
    assert_one_fact(path, results)


@pytest.mark.req("P-20")
def test_words_that_are_sent_again_name_the_fact_that_their_first_time_brought(tmp_path: Path) -> None:
    """Something else was said in between, so that the second time is a turn of its own; the third repeats that."""
    with Memory(settings(str(tmp_path / "memstone.db")), llm=slow_model) as memory:
        lines = [say(memory, _LIKES[at]) for at in (0, 1, 0, 0)]
    assert [one["event"] for one in lines] == ["ADD", "ADD", "NONE", "NONE"]
    assert lines[0]["id"] == lines[2]["id"] == lines[3]["id"]


def in_tasks(path: Path, texts: list[str]) -> list[AddEvent]:
    async def scenario() -> list[AddEvent]:
        async with AsyncMemory(settings(str(path)), llm=slow_model) as memory:
            answers = await asyncio.gather(*(memory.add(text, user_id="u", infer=True) for text in texts))
        assert [answer["status"] for answer in answers] == ["ok"] * len(texts)
        return [answer["results"][0] for answer in answers]

    return asyncio.run(scenario())


@pytest.mark.req("P-20")
def test_eight_tasks_that_say_the_same_leave_one_fact(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    assert_one_fact(path, in_tasks(path, [_LIKES[0]] * _WRITERS))


@pytest.mark.req("P-20")
@pytest.mark.slow
def test_four_processes_that_say_the_same_leave_one_fact(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    order = {"path": str(path), "texts": [_LIKES[0]] * 2}
    reports = run_crew("say_all", [order] * 4, module="test_infer")
    assert_one_fact(path, [result for report in reports for result in report])


@pytest.mark.req("P-20", "D-13")
def test_eight_threads_that_contradict_one_another_leave_each_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory(settings(str(path)), llm=slow_model) as memory:
        results = checked(in_threads(_WRITERS, lambda number: say(memory, _LIKES[number % 2])))
    assert_each_once(path, results)


@pytest.mark.req("P-20", "D-13")
def test_eight_tasks_that_contradict_one_another_leave_each_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    assert_each_once(path, in_tasks(path, list(_LIKES) * (_WRITERS // 2)))


@pytest.mark.req("P-20", "D-13")
@pytest.mark.slow
def test_four_processes_that_contradict_one_another_leave_each_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    reports = run_crew("say_all", [{"path": str(path), "texts": list(_LIKES)}] * 4, module="test_infer")
    assert_each_once(path, [result for report in reports for result in report])


@pytest.mark.req("P-20")
def test_rules_of_eight_threads_leave_one_fact_too(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    with Memory(settings(str(path))) as memory:
        results = checked(in_threads(_WRITERS, lambda _: say(memory, _LIKES[0])))
    assert_one_fact(path, results)


def test_different_facts_said_at_once_are_all_learned(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    cities = ("Rome", "Lima", "Oslo", "Cairo", "Delhi", "Quito", "Accra", "Dakar")

    def model(messages: list[dict[str, str]]) -> str:
        time.sleep(0.05)
        (city,) = re.findall(r"visited (\w+)\.", messages[-1]["content"].rpartition("New turns:\n")[2])
        found = {"op": "ADD", "text": f"User visited {city}.", "turns": [1], "quote": f"visited {city}"}
        return json.dumps({"operations": [found]})

    with Memory(settings(str(path)), llm=model) as memory:
        checked(in_threads(len(cities), lambda number: say(memory, f"I visited {cities[number]}.")))
    assert sorted(text for _, text, _ in live_facts(path)) == sorted(f"User visited {city}." for city in cities)
    assert_sound(path)


def say_all(order: dict[str, Any]) -> list[AddEvent]:
    """Open the file and say each text, from a thread of its own."""
    memory = Memory(settings(order["path"]), llm=slow_model)
    return checked(in_threads(len(order["texts"]), lambda number: say(memory, order["texts"][number])))


if __name__ == "__main__":
    serve({"say_all": say_all})
