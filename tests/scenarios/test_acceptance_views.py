"""One store, looked at in four ways: a gateway's entries, a companion's layers, shared vectors, facts with history."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.literals import LayerName
from memstone.results import ReplacementItem
from memstone.testing.clock import FakeClock

USERS: Final = ("alice", "bob", "carol")
NURSE: Final = "My name is Alice and I live in Oslo. I work as a nurse at the harbour clinic. I love green tea."
CONFIG: Final = {"preset": "companion", "embedder": {"provider": "hash", "config": {"dim": 16}}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memstone.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    """A memory with a life behind it: sessions, keys, sharing, replacements, deletions and things put aside."""
    clock = FakeClock()
    store = {"url": f"sqlite:///{path}", "durable": False}
    with Memory({**CONFIG, "store": store, "write": {"mode": "manual"}}, clock=clock) as memory:

        def current(sentence: str, run: str) -> None:
            clock.advance(minutes=5)
            memory.add([{"role": "user", "content": sentence}], user_id="alice", agent_id="bot", run_id=run)
            memory.sessions.end(user_id="alice")

        def stored(text: str, user: str = "bob", **more: Any) -> str:
            clock.advance(minutes=5)
            answer = memory.add(text, user_id=user, infer=False, **more)
            return str(answer["results"][0]["id"])

        current(NURSE, "monday")
        current(
            "I moved to Bergen. We decided to use Postgres for the rota app of the clinic in the spring.", "tuesday"
        )
        memory.identity.add_override("Call me Countess.", user_id="alice")
        office = stored("The office is in Lisbon", kind="semantic", run_id="r1")
        memory.sharing.share(office, user_id="carol")
        memory.sharing.share(office, user_id="alice")
        memory.sharing.replace(office, "The office is in Porto", user_id="carol", reason="she moved")
        memory.sharing.unshare(office, user_id="alice", reason="not hers")
        stored("Deploy on Fridays", key="rule:deploy", kind="procedural")
        stored("Deploy on Mondays", key="rule:deploy", kind="procedural")
        memory.delete(stored("A thing to forget"))
        memory.review.disable(stored("A thing to hide"))
        memory.review.quarantine(stored("A thing to doubt"))
        memory.update(stored("The cat is called Mia"), "The cat is called Mimi")
        yield memory


def read(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def facts(memory: Memory, user: str) -> dict[str, str]:
    """What the facts of a user say, by id."""
    return {one["id"]: one["memory"] for one in memory.get_all(user_id=user)["results"]}


def layer(memory: Memory, user: str, *layers: LayerName) -> dict[str, str]:
    found = memory.get_all(user_id=user, layers=list(layers), limit=1_000)["results"]
    return {one["id"]: one["memory"] for one in found}


@pytest.mark.req("S-1", "S-5", "S-7", "X-13")
def test_a_companion_s_layers_are_the_rows_that_lists_show(memory: Memory) -> None:
    for user in USERS:
        pinned = {one["id"]: one["content"] for one in memory.profile.facts(user_id=user)["results"]}
        rules = {one["id"]: one["text"] for one in memory.identity.instructions(user_id=user)["instructions"]}
        assert {**pinned, **rules} == facts(memory, user) == layer(memory, user, "fact")
        assert pinned.keys().isdisjoint(rules), "standing instructions are a surface of their own"
        episodes = {one["id"]: one["summary"] for one in memory.sessions.episodes(user_id=user)["results"]}
        assert episodes == layer(memory, user, "episode")
        who = memory.identity.get(user_id=user)
        answer = {one["id"]: one["text"] for one in [*who["overrides"], *who["derived"]]}
        assert answer == layer(memory, user, "identity")
    assert [len(layer(memory, "alice", name)) for name in ("episode", "turn")] == [2, 2]
    assert len(layer(memory, "alice", "fact")) > len(layer(memory, "alice", "episode"))
    assert "Call me Countess." in layer(memory, "alice", "identity").values()


@pytest.mark.req("P-2", "P-3", "P-16")
def test_shared_vectors_and_who_holds_them_are_the_same_facts(memory: Memory, path: Path) -> None:
    holders = read(path, "SELECT user_id, vector_id FROM users_vectors")
    vectors = {
        id_: (values, json.loads(about))
        for id_, values, about in read(path, 'SELECT id, "values", metadata FROM shared_vectors')
    }
    seen = {user: facts(memory, user) for user in USERS}

    assert sorted(holders) == sorted((user, id_) for user in USERS for id_ in seen[user])
    assert vectors.keys() == {id_ for _, id_ in holders}
    for user in USERS:
        for one in memory.get_all(user_id=user)["results"]:
            values, about = vectors[one["id"]]
            assert about == {"content": one["memory"], "type": "memory", "created_at": one["created_at"]}
            assert len(struct.unpack("<16f", values)) == 16
    assert "The office is in Lisbon" in seen["bob"].values()
    assert list(seen["carol"].values()) == ["The office is in Porto"]


def vector_ids(one: ReplacementItem) -> tuple[str, str | None]:
    """The ids as the view has them: a version that ended has its number behind the id."""
    revised = one["old_id"] == one["new_id"]
    return f"{one['old_id']}#{one['old_version']}" if revised else one["old_id"], one["new_id"]


def why_and_when(one: ReplacementItem) -> tuple[str | None, str]:
    return one["reason"], one["created_at"]


@pytest.mark.req("P-4", "X-26", "D-16")
def test_what_replaced_what_is_the_same_in_the_view_and_in_the_verb(memory: Memory, path: Path) -> None:
    columns = "id, user_id, old_vector_id, new_vector_id, old_version, new_version, reason, created_at"
    view = {row[0]: row[1:] for row in read(path, f"SELECT {columns} FROM memory_updates")}  # noqa: S608 - our own names
    answer = {
        one["id"]: (one["user_id"], *vector_ids(one), one["old_version"], one["new_version"], *why_and_when(one))
        for user in USERS
        for one in memory.review.replacements(user_id=user, limit=1_000)["results"]
    }
    assert answer == view
    replaced = [one for one in memory.review.replacements(user_id="carol")["results"] if one["event"] == "REPLACE"]
    assert [one["reason"] for one in replaced] == ["she moved"]
    assert facts(memory, "bob").keys() >= {replaced[0]["old_id"]}
    assert facts(memory, "carol").keys() == {replaced[0]["new_id"]}


@pytest.mark.req("C-30", "X-26")
def test_the_history_of_a_fact_ends_in_what_every_view_shows(memory: Memory, path: Path) -> None:
    columns = "memory_id, event, old_value, new_value, timestamp, is_deleted"
    view: dict[str, list[tuple[Any, ...]]] = {}
    for memory_id, *rest in read(path, f"SELECT {columns} FROM memory_history"):  # noqa: S608 - as above
        view.setdefault(memory_id, []).append(tuple(rest))
    known = {id_: text for user in USERS for id_, text in facts(memory, user).items()}

    for memory_id, rows in view.items():
        lines = memory.history(memory_id)
        kinds = {"ADD", "UPDATE", "DELETE"}
        same = [one for one in lines if one["event"] in kinds]
        assert [(one["event"], one["old_value"], one["new_value"]) for one in same] == [row[:3] for row in rows]
    for memory_id, text in known.items():
        assert memory.history(memory_id)[-1]["new_value"] == text
        found = memory.get(memory_id)
        assert found is not None
        assert found["memory"] == text
    gone = [rows[-1] for rows in view.values() if rows[-1][-1]]
    assert ("DELETE", "A thing to forget") in [row[:2] for row in gone]


@pytest.mark.req("O-7", "O-13", "X-13", "X-28")
def test_a_gateway_s_entries_are_facts_and_episodes_with_kind_and_session(memory: Memory) -> None:
    for user in USERS:
        page = memory.get_all(user_id=user, layers=["fact", "episode"], limit=1_000, counts=True)
        entries = page["results"]
        assert {one["id"]: one["memory"] for one in entries} == {
            **facts(memory, user),
            **layer(memory, user, "episode"),
        }
        assert page["total"] == len(entries) == sum(page["by_kind"].values())
        assert {one["kind"] for one in entries} == set(page["by_kind"])
        assert all(one["kind"] == "episodic" for one in entries if one["layer"] == "episode")
    by_text = {one["memory"]: one for one in memory.get_all(user_id="bob")["results"]}
    assert (by_text["The office is in Lisbon"]["kind"], by_text["The office is in Lisbon"]["run_id"]) == (
        "semantic",
        "r1",
    )
    assert (by_text["Deploy on Mondays"]["key"], by_text["Deploy on Mondays"]["kind"]) == ("rule:deploy", "procedural")
    sessions = [str(one["run_id"]) for one in memory.sessions.episodes(user_id="alice")["results"]]
    assert sorted(sessions) == ["monday", "tuesday"]


@pytest.mark.req("R-4", "X-30")
def test_no_view_shows_what_was_put_aside_or_deleted(memory: Memory, path: Path) -> None:
    hidden = {"A thing to forget", "A thing to hide", "A thing to doubt"}
    visible = {json.loads(row[0])["content"] for row in read(path, "SELECT metadata FROM shared_vectors")}
    visible |= set(layer(memory, "bob", "fact", "episode", "identity").values())
    visible |= {one["content"] for one in memory.profile.facts(user_id="bob")["results"]}
    visible |= {one["memory"] for one in memory.search("a thing to", user_id="bob")["results"]}
    assert not visible & hidden
    assert [one["memory"] for one in memory.get_all(user_id="bob", status="disabled")["results"]] == ["A thing to hide"]
    quarantined = memory.get_all(user_id="bob", status="quarantined")["results"]
    assert [one["memory"] for one in quarantined] == ["A thing to doubt"]
