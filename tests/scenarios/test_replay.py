"""The events alone tell what every memory says now, and what it said at any time."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstone import Memory, NotFoundError
from memstone.errors import Conflict
from memstone.testing.clock import FakeClock

texts = st.sampled_from(["one", "two", "three", "four", "five"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("ab"), texts, st.sampled_from([None, "k"])),
        st.tuples(st.just("update"), st.integers(0, 5), texts),
        st.tuples(st.just("move"), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("delete_all"), st.sampled_from("ab")),
    ),
    max_size=25,
)


def carry_out(memory: Memory, ids: list[str], step: tuple[Any, ...]) -> None:
    match step:
        case ("add", user, text, key):
            ids.append(memory.add(text, user_id=user, key=key, infer=False)["results"][0]["id"])
        case ("update", at, text) if ids:
            memory.update(ids[at % len(ids)], text)
        case ("move", at) if ids:
            memory.update(ids[at % len(ids)], metadata={"moved": True})
        case ("delete", at) if ids:
            memory.delete(ids[at % len(ids)])
        case ("delete_all", user):
            memory.delete_all(user_id=user)


def replayed(events: list[dict[str, Any]]) -> dict[str, str]:
    """What the events say, and nothing else."""
    current: dict[str, str] = {}
    for event in events:
        if event["event"] in ("ADD", "UPDATE"):
            assert current.get(event["memory_id"]) == event["old_text"]
            current[event["memory_id"]] = event["new_text"]
        elif event["event"] == "DELETE":
            assert current.pop(event["memory_id"]) == event["old_text"]
            assert event["is_deleted"]
    return current


@pytest.mark.req("C-56", "X-26", "C-15", "X-10")
@given(steps)
def test_replaying_the_events_gives_what_is_stored(plan: list[tuple[Any, ...]]) -> None:
    clock, ids, moments = FakeClock(), list[str](), list[tuple[str, dict[str, str]]]()
    config = {"store": {"url": "memory:"}, "embedder": {"provider": "hash", "config": {"dim": 8}}}
    with Memory(config, clock=clock) as memory:
        for step in plan:
            try:
                carry_out(memory, ids, step)
            except (NotFoundError, Conflict):
                continue
            moments.append((clock.now().isoformat(), listed(memory)))
            clock.advance(minutes=1)
        lines = list(memory.export(everybody=True))
        assert replayed([line for line in lines if line["type"] == "event"]) == listed(memory)
        for memory_id, text in listed(memory).items():
            assert memory.history(memory_id)[-1]["new_value"] == text
        now = listed(memory)
        for moment, then in moments:
            assert listed(memory, as_of=moment) == only(now, then)


def only(chosen: dict[str, str], texts: dict[str, str]) -> dict[str, str]:
    """The texts of memories that have not been deleted since."""
    return {memory_id: text for memory_id, text in texts.items() if memory_id in chosen}


def listed(memory: Memory, **rest: Any) -> dict[str, str]:
    both = [memory.get_all(user_id=user, limit=1000, **rest)["results"] for user in "ab"]
    return {item["id"]: item["memory"] for items in both for item in items}


@pytest.mark.req("O-15", "O-16", "R-1", "C-56")
@settings(max_examples=15)
@given(steps)
def test_the_rows_of_the_file_agree_with_one_another(plan: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memstone.db"
        config = {"store": {"url": f"sqlite:///{path}", "durable": False}, "embedder": {"provider": "hash"}}
        ids: list[str] = []
        with Memory(config, clock=FakeClock()) as memory:
            for step in plan:
                try:
                    carry_out(memory, ids, step)
                except (NotFoundError, Conflict):
                    continue
        with closing(sqlite3.connect(path)) as database:
            check_rows(database)


def check_rows(database: sqlite3.Connection) -> None:
    def rows(query: str) -> list[tuple[Any, ...]]:
        return database.execute(query).fetchall()

    live = rows("SELECT seq FROM memories WHERE valid_to IS NULL ORDER BY seq")
    assert rows("SELECT rowid FROM fulltext ORDER BY rowid") == live
    assert rows("SELECT memory_seq FROM vectors ORDER BY memory_seq") == live
    assert rows("SELECT seq FROM memories WHERE (valid_to IS NULL) <> (status = 'active')") == []
    unlinked = "SELECT seq FROM memories m WHERE NOT EXISTS (SELECT 1 FROM links WHERE memory_seq = m.seq)"
    assert rows(unlinked) == [], "every version has somebody who may see it"
    assert rows("SELECT memory_seq FROM links WHERE dedupe IS NOT NULL ORDER BY memory_seq") == live
    changes = rows("SELECT count(*) FROM events WHERE event IN ('ADD', 'UPDATE')")
    assert changes == rows("SELECT count(*) FROM memories"), "one event for every version"
    assert rows("PRAGMA foreign_key_check") == []
    assert rows("PRAGMA integrity_check") == [("ok",)]
