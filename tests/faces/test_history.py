from __future__ import annotations

import sqlite3

import pytest

from tests.faces.harness import ON_DISK, Face, Opens

FIELDS = ("event", "old_value", "new_value", "is_deleted")


@pytest.mark.req("C-15", "C-17", "C-58.23", "C-58.24", "C-58.25", "C-58.26")
async def test_history_tells_everything_in_order(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("one", run_id="r1")
    opens.clock.advance(minutes=1)
    await face.update(memory_id, "two")
    opens.clock.advance(minutes=1)
    await face.delete(memory_id)

    events = await face.history(memory_id)

    assert [tuple(event[name] for name in FIELDS) for event in events] == [
        ("ADD", None, "one", False),
        ("UPDATE", "one", "two", False),
        ("DELETE", "two", None, True),
    ]
    assert [event["timestamp"][14:16] for event in events] == ["00", "01", "02"]
    assert {(event["memory_id"], event["run_id"]) for event in events} == {(memory_id, "r1")}
    assert len({event["id"] for event in events}) == 3


@pytest.mark.req("C-15", "C-58.26")
async def test_events_of_the_same_moment_keep_their_order(face: Face) -> None:
    memory_id = await face.remember("text 0")
    for number in range(1, 20):
        await face.update(memory_id, f"text {number}")

    values = [event["new_value"] for event in await face.history(memory_id)]
    assert values == [f"text {number}" for number in range(20)]


@pytest.mark.req("C-15")
async def test_history_shows_what_changed_besides_the_text_and_why(face: Face) -> None:
    memory_id = await face.remember("one", key="k", metadata={"a": 1})
    await face.store("two", user_id="alice", key="k", metadata={"b": 2})

    added, updated = await face.history(memory_id)
    assert added["after"]["metadata"] == updated["before"]["metadata"] == {"a": 1}
    assert updated["after"]["metadata"] == {"a": 1, "b": 2}
    assert updated["reason"]
    assert await face.history("unknown") == []


@ON_DISK
@pytest.mark.req("C-30", "X-26", "C-17")
async def test_the_view_memory_history_has_the_promised_shape(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("one", agent_id="guide")
    await face.update(memory_id, "two")
    await face.delete(memory_id)

    columns = [row[1] for row in opens.rows("PRAGMA table_info(memory_history)")]
    wanted = ["id", "memory_id", "event", "old_value", "new_value", "timestamp", "is_deleted"]
    assert columns[:7] == wanted
    assert {"user_id", "agent_id", "run_id"} <= set(columns)
    rows = opens.rows(
        "SELECT event, old_value, new_value, is_deleted, user_id, agent_id FROM memory_history WHERE memory_id = ?",
        [memory_id],
    )
    assert rows == [
        ("ADD", None, "one", 0, "", "guide"),
        ("UPDATE", "one", "two", 0, "", "guide"),
        ("DELETE", "two", None, 1, "", "guide"),
    ]
    same = opens.rows("SELECT id FROM memory_history WHERE memory_id = ?", [memory_id])
    assert [event["id"] for event in await face.history(memory_id)] == [row[0] for row in same]


@ON_DISK
@pytest.mark.req("X-26")
async def test_the_view_memory_updates_shows_who_lost_sight_of_what(face: Face, opens: Opens) -> None:
    """A memory shared with bob: alice forgets it, and only her link goes."""
    memory_id = await face.remember("shared")
    await face.update(memory_id, metadata={"a": 1})
    opens.clock.advance(days=1)
    await face.update(memory_id, metadata={"b": 2})
    await face.remember("bobs own", user_id="bob")
    with opens.sql() as database:
        database.execute(
            "INSERT INTO links (tenant_id, memory_seq, user_id, created_at, origin) "
            "SELECT tenant_id, seq, 'bob', created_at, 'shared' FROM memories WHERE id = ?",
            [memory_id],
        )

    assert await face.delete_all(user_id="alice") == {"deleted": 1}

    assert await face.listed() == []
    assert await face.found("shared") == await face.listed(as_of="2026-01-01T12:00:00Z") == []
    assert await face.listed(user_id="bob", as_of="2026-01-01T12:00:00Z") == ["shared"]
    assert sorted(await face.listed(user_id="bob")) == ["bobs own", "shared"]
    assert (await face.found("shared", user_id="bob", strategy="vector"))[0] == "shared"
    assert opens.rows("SELECT user_id, old_vector_id, new_vector_id FROM memory_updates") == [
        ("alice", memory_id, None)
    ]
    assert [event["event"] for event in await face.history(memory_id)] == ["ADD", "UPDATE", "UPDATE", "UNLINK"]


@ON_DISK
@pytest.mark.req("C-30", "O-8")
async def test_history_and_lists_are_read_through_indexes(face: Face, opens: Opens) -> None:
    await face.remember("one")
    for query in (
        "SELECT * FROM memory_history WHERE tenant_id = 'default' AND memory_id = 'x'",
        "SELECT * FROM memory_history WHERE tenant_id = 'default' AND timestamp > '2026'",
        "SELECT * FROM links WHERE tenant_id = 'default' AND user_id = 'alice'",
        "SELECT * FROM links WHERE tenant_id = 'default' AND run_id = 'r1' AND run_id <> ''",
        "SELECT * FROM memories WHERE tenant_id = 'default' AND layer = 'fact' AND kind = 'factual'",
        "SELECT * FROM memories WHERE tenant_id = 'default' AND expires_at < '2026'",
    ):
        plan = " ".join(row[3] for row in opens.rows(f"EXPLAIN QUERY PLAN {query}"))
        assert "USING INDEX" in plan or "USING PRIMARY KEY" in plan, (query, plan)


@ON_DISK
@pytest.mark.req("X-10", "X-21", "O-16")
async def test_versions_are_rows_under_one_id(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("one")
    opens.clock.advance(minutes=1)
    await face.update(memory_id, "two")

    rows = opens.rows("SELECT seq, id, version, text, status, valid_from, valid_to FROM memories ORDER BY seq")
    assert [row[1:5] for row in rows] == [(memory_id, 1, "one", "superseded"), (memory_id, 2, "two", "active")]
    assert rows[0][6] == rows[1][5], "one version ends where the next begins"
    assert rows[1][6] is None
    assert isinstance(rows[0][0], int)
    with opens.sql() as database, pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        database.execute("UPDATE memories SET valid_to = NULL")


@ON_DISK
@pytest.mark.req("O-7", "C-56")
async def test_the_schema_itself_refuses_what_must_not_be(face: Face, opens: Opens) -> None:
    await face.remember("one")
    with opens.sql() as database:
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            database.execute(
                "INSERT INTO links (tenant_id, memory_seq, user_id, created_at) VALUES ('t', 99, 'eve', '')"
            )
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            database.execute(
                "INSERT INTO vectors (tenant_id, memory_seq, signature, vector) VALUES ('t', 99, 's', x'')"
            )
        for column, value in (("kind", "fact"), ("layer", "memory"), ("status", "gone"), ("origin", "caller")):
            with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
                database.execute(f"UPDATE memories SET {column} = ?", [value])  # noqa: S608 - names from above


@ON_DISK
@pytest.mark.req("O-7", "R-4")
async def test_a_link_of_another_tenant_shows_nothing_even_if_somebody_writes_one(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("the safe is behind the mirror")
    other = opens({"tenant": "other"})
    await other.remember("theirs", user_id="eve")
    link = "INSERT INTO links (tenant_id, memory_seq, user_id, created_at) SELECT 'other', seq, 'eve', '' FROM memories"
    with opens.sql() as database:
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            database.execute(f"{link} WHERE id = ?", [memory_id])
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(f"{link} WHERE id = ?", [memory_id])
    assert await other.found("safe behind the mirror", user_id="eve") == ["theirs"]
    assert await other.listed(user_id="eve") == ["theirs"]
