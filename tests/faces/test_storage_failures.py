"""What the disk can do to a store: every failure is typed, says what to do, and loses nothing that was acknowledged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memstone import MemstoneError, StorageError
from memstone.errors import Corrupted, SchemaTooNew, StorageFull
from tests.faces.harness import ON_DISK, Face, Opens, passed

pytestmark = [ON_DISK, pytest.mark.req("C-52")]


async def statement(face: Face, sql: str) -> list[Any]:
    """Run a statement on the connection that writes."""

    async def work(tx: Any) -> list[Any]:
        rows: list[Any] = await tx.memories._sql.rows(sql)
        return rows

    return await face.memory.engine.runtime.ledger.write(work)


@pytest.mark.req("C-56")
async def test_a_full_disk_loses_nothing_that_was_acknowledged(face: Face) -> None:
    acknowledged = [await face.remember("before")]
    ((pages,),) = await statement(face, "PRAGMA page_count")
    await statement(face, f"PRAGMA max_page_count = {pages + 12}")

    error = await until_refused(face, acknowledged)

    assert isinstance(error, StorageFull)
    assert error.hint
    assert [item["id"] for item in (await face.get_all(user_id="alice", limit=1000))["results"]] == acknowledged[::-1]
    assert all([len(await face.history(memory_id)) == 1 for memory_id in acknowledged])
    with pytest.raises(StorageFull):
        await face.update(acknowledged[0], "y" * 40_000)
    assert (await face.get(acknowledged[0]))["memory"] == "before"
    assert (await face.admin.check())["integrity"] == ["ok"]

    await statement(face, "PRAGMA max_page_count = 100000")
    acknowledged.append(await face.remember("after"))
    stats = await face.stats()
    assert stats["memories"] == stats["vectors"] == stats["fulltext"] == stats["events"] == len(acknowledged)


async def until_refused(face: Face, acknowledged: list[str]) -> MemstoneError | None:
    """Add until the store says no; gives what it said."""
    for number in range(1000):
        try:
            acknowledged.append(await face.remember(f"fact {number} " + "x" * 500))
        except MemstoneError as error:
            return error
    return None


@pytest.mark.req("C-56")
@pytest.mark.parametrize("table", ["events", "links", "vectors"])
async def test_a_memory_is_never_there_without_its_event(face: Face, opens: Opens, table: str) -> None:
    stored_text = await face.remember("kept")
    with opens.sql() as database:
        database.execute(f"CREATE TRIGGER broken BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'broken'); END")
    before = await face.export(everybody=True)

    for call in (face.store("new", user_id="alice"), face.update(stored_text, "changed")):
        with pytest.raises(StorageError, match="broken"):
            await call
    if table == "events":
        for call in (face.delete(stored_text), face.delete_all(user_id="alice")):
            with pytest.raises(StorageError, match="broken"):
                await call

    assert await face.export(everybody=True) == before
    assert (await face.stats())["fulltext"] == 1
    with opens.sql() as database:
        database.execute("DROP TRIGGER broken")
    await face.remember("new")


async def test_a_database_from_the_future_is_refused_and_left_alone(face: Face, opens: Opens) -> None:
    await face.remember("I live in Oslo")
    await face.close()
    with opens.sql() as database:
        database.execute("PRAGMA user_version = 999")

    with pytest.raises(SchemaTooNew, match="999") as caught:
        await opens().listed()
    assert "upgrade" in caught.value.hint
    assert opens.rows("PRAGMA user_version") == [(999,)]
    assert opens.rows("SELECT text FROM memories") == [("I live in Oslo",)]


async def test_somebody_elses_database_is_refused_and_left_alone(opens: Opens) -> None:
    with opens.sql() as database:
        database.execute("CREATE TABLE customers (name TEXT)")
        database.execute("INSERT INTO customers VALUES ('Ann')")

    with pytest.raises(Corrupted, match="not made by Memstone") as caught:
        await opens().remember("text")
    assert caught.value.hint
    assert opens.rows("SELECT name FROM sqlite_master") == [("customers",)]


@pytest.mark.parametrize(
    "content", [b"This is a letter, not a database. " * 200, b"SQLite format 3\0" + b"\xff" * 5000]
)
async def test_a_file_that_is_no_database_is_refused_and_left_alone(opens: Opens, content: bytes) -> None:
    assert opens.path is not None
    opens.path.write_bytes(content)

    with pytest.raises(Corrupted) as caught:
        await opens().remember("text")
    assert caught.value.hint
    assert str(opens.path) in caught.value.message
    assert opens.path.read_bytes() == content


async def test_a_damaged_page_is_noticed_and_named(face: Face, opens: Opens) -> None:
    assert opens.path is not None
    await face.store_many([{"messages": f"fact {n} " + "words " * 60, "user_id": "alice"} for n in range(300)])
    await face.close()
    with opens.sql() as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((root, size),) = database.execute(
            "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = 'memories'"
        )
    with opens.path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)

    with pytest.raises(Corrupted, match="is damaged") as caught:
        await opens().stats()
    assert "store.check" in caught.value.hint
    again = opens({"store": {"url": opens.url, "check": False}})
    with pytest.raises(Corrupted) as caught:
        await again.get_all(user_id="alice", limit=1000)
    assert "backup" in caught.value.hint
    assert [line.partition(":")[0] for line in (await again.admin.check())["integrity"]] == ["memories"]


@pytest.mark.skipif(os.name != "posix", reason="there is no such limit")
async def test_a_disk_that_fails_is_named_and_loses_nothing(face: Face, opens: Opens) -> None:
    import resource  # not everywhere

    assert opens.path is not None
    acknowledged = [await face.remember("before")]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (opens.path.with_name(opens.path.name + "-wal").stat().st_size, before[1])
    )
    try:
        error = await until_refused(face, acknowledged)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert isinstance(error, StorageError)
    assert "limit on file sizes" in error.hint
    acknowledged.append(await face.remember("after"))
    assert len((await face.get_all(user_id="alice", limit=1000))["results"]) == len(acknowledged)


async def test_a_path_that_cannot_be_is_refused(opens: Opens, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "x.db", tmp_path / "folder"):
        with pytest.raises(StorageError) as caught:
            await opens({"store": {"url": f"sqlite:///{path}"}}).listed()
        assert caught.value.hint


async def test_whoever_only_asks_waits_for_nobody_who_writes(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstone.adapters.sqlite.write_queue._NOTED_SECONDS", 0.0)
    monkeypatch.setattr("memstone.adapters.sqlite.write_queue.BUSY_SECONDS", 0.0)  # whoever waits is told so
    await face.remember("I live in Oslo")
    before = await face.context("Where do I live?", user_id="alice", gate="always")
    again = opens()
    with opens.sql() as other:
        other.execute("BEGIN IMMEDIATE")
        pack = await again.context("Where do I live now?", user_id="alice", gate="always")
    assert "Oslo" in pack.text
    assert pack.text.splitlines()[0] == before.text.splitlines()[0], "the same fence"
    assert [one["step"] for one in pack.degraded] == ["receipt"]


Call = Callable[[Face, str], Awaitable[Any]]
CONVERSATION = [{"role": "user", "content": "I like tea"}, {"role": "assistant", "content": "Good."}]
POINT = {"id": "1f0c3a3e-0000-4000-8000-000000000001", "values": [1.0, 0.0], "metadata": {"data": "likes tea"}}
GROWS: dict[str, Call] = {
    "add": lambda face, _: face.add("I live in Oslo", user_id="alice"),
    "add as it is": lambda face, _: face.add("likes tea", user_id="alice", infer=False),
    "add_many": lambda face, _: face.add_many([{"messages": "likes tea", "user_id": "alice"}]),
    "ingest": lambda face, _: face.ingest(CONVERSATION, user_id="alice", run_id="s"),
    "ingest_session": lambda face, _: face.sessions.ingest(CONVERSATION, user_id="alice", run_id="s"),
    "backfill": lambda face, _: face.sessions.backfill([{"id": "s", "turns": CONVERSATION}], user_id="alice"),
    "insert_vectors": lambda face, _: face.vectors.insert([POINT], user_id="alice"),
    "upsert_vectors": lambda face, _: face.vectors.upsert([POINT], user_id="alice"),
    "update": lambda face, known: face.update(known, "another text"),
    "update_many": lambda face, known: face.update_many([{"id": known, "text": "another text"}]),
    "replace": lambda face, known: face.sharing.replace(known, "another text", user_id="alice"),
    "add_override": lambda face, _: face.identity.add_override("Be brief.", user_id="alice"),
    "set_overrides": lambda face, _: face.identity.set_overrides(["Be brief."], user_id="alice"),
    "set_narrative": lambda face, _: face.identity.set_narrative("Alice likes tea.", user_id="alice"),
    "save_agent": lambda face, _: face.agents.save("nurse", name="Nurse"),
}


@pytest.mark.req("N-50")
@pytest.mark.parametrize("verb", GROWS)
async def test_nothing_grows_into_the_room_that_is_reserved(
    face: Face, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = await face.remember("before")
    exported = await face.export(everybody=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=63_000_000))
    before = await face.stats()
    with pytest.raises(StorageFull) as caught:
        await GROWS[verb](face, known)
    assert "store.reserve_mb" in caught.value.hint
    with pytest.raises(StorageFull):
        await face.load(exported)
    assert await face.stats() == before
    assert (await face.delete(known))["id"] == known
    assert passed(await face.admin.erase(user_id="alice"))
