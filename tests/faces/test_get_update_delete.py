from __future__ import annotations

import hashlib
from typing import Any

import pytest

from memstone import NotFoundError
from memstone.errors import Conflict, InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens, texts

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.mark.req("C-10", "C-58.6", "C-58.7", "O-10", "R-30")
async def test_get_gives_the_item_or_nothing(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")

    assert (await face.get(memory_id))["memory"] == "I live in Oslo"
    assert (await face.get(f" {memory_id} "))["id"] == memory_id
    for unknown in (UNKNOWN, "", "  ", memory_id.replace("-", "")):
        assert await face.get(unknown) is None


@pytest.mark.req("N-27")
@pytest.mark.parametrize("user", ["alice", "zoe"])  # before and after the project in the order of names
async def test_get_names_whoever_said_it_and_not_the_project(face: Face, user: str) -> None:
    memory_id = await face.remember("We use Postgres", user_id=user, project_id="apollo")

    assert (await face.get(memory_id))["user_id"] == user


@pytest.mark.req("C-11", "C-58.8", "O-13")
async def test_get_all_gives_everything_newest_first(face: Face) -> None:
    for text in ("one", "two", "three"):
        await face.remember(text)

    assert await face.listed() == ["three", "two", "one"]
    assert await face.listed(user_id="bob") == []


@pytest.mark.req("O-13", "C-11", "R-7")
async def test_a_list_is_paged_and_counts_all_that_match(face: Face) -> None:
    for number in range(130):
        await face.remember(f"fact {number}", kind="episodic" if number < 20 else "factual")

    assert len(await face.listed()) == 100
    first = await face.get_all(user_id="alice", limit=50, counts=True)
    assert (first["total"], first["by_kind"]) == (130, {"episodic": 20, "factual": 110})
    assert (texts(first)[0], first["page"]) == ("fact 129", 1)
    third = await face.get_all(user_id="alice", limit=50, page=3, counts=True)
    assert (len(third["results"]), third["offset"], third["total"]) == (30, 100, 130)
    assert texts(third)[-1] == "fact 0"
    wins = await face.get_all(user_id="alice", limit=10, page=9, offset=129, counts=True)
    assert (texts(wins), wins["page"]) == (["fact 0"], 13)
    assert await face.listed(limit=10, page=99) == []
    assert await face.listed(limit=1) == ["fact 129"]


@pytest.mark.req("O-13", "R-26")
async def test_a_list_is_narrowed_by_a_part_of_text_or_key(face: Face) -> None:
    await face.remember("I like MARZIPAN", kind="semantic")
    await face.remember("plain", key="sweet:marzipan")
    await face.remember("100% sure")
    await face.remember("100 percent sure")

    assert await face.listed(q="marzi") == ["plain", "I like MARZIPAN"]
    assert await face.listed(q="0%") == ["100% sure"]
    assert await face.listed(q="_") == []
    assert await face.listed(q="marzi", kind="semantic") == ["I like MARZIPAN"]
    narrowed = await face.get_all(user_id="alice", q="sure", limit=1, counts=True)
    assert (len(narrowed["results"]), narrowed["total"]) == (1, 2)


@pytest.mark.req("O-13")
@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": 10_001},
        {"limit": 1.5},
        {"page": 0},
        {"page": True},
        {"offset": -1},
        {"offset": "1"},
        {"offset": 2**60},
        {"kind": "fact"},
        {"q": ""},
        {"q": 7},
        {"status": "deleted"},
        {"status": "gone"},
        {"status": "active", "as_of": "2026-01-01"},
        {"layers": ["facts"]},
        {"as_of": "soon"},
    ],
)
async def test_a_list_that_makes_no_sense_is_refused(face: Face, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await face.get_all(user_id="alice", **wrong)


@pytest.mark.req("C-12", "C-58.9", "C-58.10", "O-11", "R-30")
async def test_update_overwrites_and_keeps_what_it_should(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("I live in Oslo", metadata={"a": 1}, key="home", kind="semantic", run_id="r1")
    before = await face.get(memory_id)
    opens.clock.advance(hours=1)

    after = await face.update(memory_id, "I live in Bergen")

    assert after == await face.get(memory_id)
    assert after["memory"] == "I live in Bergen"
    assert after["hash"] == hashlib.md5(b"I live in Bergen", usedforsecurity=False).hexdigest() != before["hash"]
    changed = {"memory", "hash", "version", "updated_at"}
    assert {name for name in before if before[name] != after[name]} == changed
    assert (after["version"], after["updated_at"]) == (2, "2026-01-01T01:00:00.000000Z")


@pytest.mark.req("C-12", "O-11")
async def test_an_updated_text_is_found_by_its_new_meaning_only(face: Face) -> None:
    memory_id = await face.remember("marzipan potatoes")
    await face.remember("something else entirely")
    await face.update(memory_id, "bicycle repair shop")

    hit = (await face.search("bicycle repair shop", user_id="alice", strategy="vector"))["results"][0]
    assert (hit["id"], hit["score"]) == (memory_id, pytest.approx(1.0, abs=1e-5))
    old = await face.search("marzipan potatoes", user_id="alice", strategy="vector")
    assert max(item["score"] for item in old["results"]) < 0.5


@pytest.mark.req("O-11", "N-38")
async def test_each_field_can_be_updated_alone(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo", metadata={"a": 1}, key="home", expires_at="2026-02-01")

    assert (await face.update(memory_id, metadata={"b": 2}))["metadata"] == {"b": 2}
    assert (await face.update(memory_id, metadata={}))["metadata"] == {}
    assert (await face.update(memory_id, kind="episodic"))["kind"] == "episodic"
    assert (await face.update(memory_id, key="address"))["key"] == "address"
    assert (await face.update(memory_id, key=None))["key"] is None
    assert (await face.update(memory_id, expires_at=None))["expires_at"] is None
    dated = await face.update(memory_id, occurred_at="2020-05-01")
    assert dated["occurred_at"] == "2020-05-01T00:00:00.000000Z"
    assert (dated["memory"], dated["version"]) == ("I live in Oslo", 8)
    assert await face.listed() == ["I live in Oslo"]
    assert await face.found("Oslo", strategy="vector") == ["I live in Oslo"]


@pytest.mark.req("O-11", "X-20")
async def test_updating_something_else_than_the_text_embeds_nothing(opens: Opens) -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[1.0, float(len(text))] for text in texts]

    face = opens(embedder=embed)
    memory_id = await face.remember("I live in Oslo")
    asked.clear()

    await face.update(memory_id, metadata={"a": 1})

    assert asked == []
    assert (await face.stats())["vectors"] == 1


@ON_DISK
@pytest.mark.req("O-11", "C-49", "X-20")
async def test_the_first_call_after_opening_may_be_an_update_of_metadata(opens: Opens) -> None:
    """No model is asked inside a transaction, where the asyncio face could not wait for it."""
    first = opens(embedder=lambda texts: [[1.0, float(len(text))] for text in texts])
    memory_id = await first.remember("I live in Oslo")
    await first.close()

    second = opens(embedder=lambda texts: [[1.0, float(len(text))] for text in texts])
    changed = await second.update(memory_id, metadata={"a": 1})

    assert changed["metadata"] == {"a": 1}
    assert (await second.stats())["vectors"] == 1


@pytest.mark.req("O-9", "C-2", "X-10")
async def test_an_update_may_not_say_what_another_memory_says(face: Face) -> None:
    oslo = await face.remember("I live in Oslo")
    rome = await face.remember("I live in Rome", key="home")

    with pytest.raises(Conflict) as caught:
        await face.update(rome, "i live in oslo.", key=None)
    assert oslo in caught.value.message
    assert caught.value.hint
    with pytest.raises(Conflict):
        await face.update(oslo, key="home")
    assert await face.listed() == ["I live in Rome", "I live in Oslo"]
    assert len(await face.history(rome)) == 1
    assert (await face.update(oslo, "I LIVE in Oslo"))["memory"] == "I LIVE in Oslo", "its own words are no conflict"


@pytest.mark.req("C-13", "C-58.11", "O-12", "X-30")
async def test_delete_removes_it_from_every_path(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")
    await face.remember("I work in Oslo")

    assert await face.delete(memory_id) == {"id": memory_id, "event": "DELETE"}

    assert await face.get(memory_id) is None
    assert await face.listed() == ["I work in Oslo"]
    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("Oslo", strategy=strategy) == ["I work in Oslo"]
    assert await face.found("Oslo", as_of="2026-01-01T00:00:00Z") == ["I work in Oslo"]
    stats = await face.stats()
    assert (stats["memories"], stats["fulltext"], stats["vectors"]) == (1, 1, 1)


@ON_DISK
@pytest.mark.req("X-30", "O-12")
async def test_a_deleted_row_keeps_its_text_for_the_history_and_nothing_in_the_indexes(
    face: Face, opens: Opens
) -> None:
    memory_id = await face.remember("I live in Oslo")
    await face.delete(memory_id)

    assert opens.rows("SELECT id, status, text, valid_to IS NOT NULL FROM memories") == [
        (memory_id, "deleted", "I live in Oslo", 1)
    ]
    assert opens.rows("SELECT count(*) FROM vectors") == [(0,)]
    assert opens.rows("SELECT count(*) FROM fulltext") == [(0,)]
    assert opens.rows("SELECT memory_id FROM suppressed") == [(memory_id,)], "a person's delete is remembered"
    await face.remember("I live in Oslo")
    assert opens.rows("SELECT count(*) FROM suppressed") == [(0,)], "until the person says it again"


@pytest.mark.req("O-11", "O-12", "C-52")
async def test_what_is_not_there_cannot_be_changed_or_deleted(face: Face) -> None:
    deleted = await face.remember("I live in Oslo")
    await face.delete(deleted)

    for unknown in (UNKNOWN, deleted):
        with pytest.raises(NotFoundError) as caught:
            await face.update(unknown, "I live in Rome")
        assert unknown in caught.value.message
        with pytest.raises(NotFoundError):
            await face.delete(unknown)
    assert len(await face.history(deleted)) == 2


@pytest.mark.req("O-11")
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"text": ""},
        {"text": 7},
        {"text": "a\0b"},
        {"text": "\ud800"},
        {"metadata": []},
        {"metadata": {"a": float("inf")}},
        {"kind": "fact"},
        {"key": 7},
        {"expires_at": "soon"},
        {"occurred_at": 7},
    ],
)
async def test_an_update_that_makes_no_sense_changes_nothing(face: Face, wrong: dict[str, Any]) -> None:
    memory_id = await face.remember("I live in Oslo")
    with pytest.raises(InvalidInput):
        await face.update(memory_id, **wrong)
    assert (await face.get(memory_id))["version"] == 1


@pytest.mark.parametrize("wrong", ["", " ", None, 7])
async def test_an_id_that_is_none_is_refused(face: Face, wrong: Any) -> None:
    for call in (face.delete(wrong), face.update(wrong, "text"), face.history(wrong)):
        with pytest.raises(InvalidInput, match="memory_id"):
            await call


@pytest.mark.req("C-14", "C-58.12")
async def test_delete_all_empties_the_scope_and_no_other(face: Face) -> None:
    own = [await face.remember(text) for text in ("one", "two")]
    await face.remember("three", user_id="alice", run_id="r1")
    await face.remember("theirs", user_id="bob")

    assert await face.delete_all(user_id="alice", run_id="r1") == {"deleted": 1}
    assert await face.delete_all(user_id="alice") == {"deleted": 2}
    assert await face.delete_all(user_id="alice") == {"deleted": 0}

    assert await face.listed() == []
    assert await face.listed(user_id="bob") == ["theirs"]
    for memory_id in own:
        assert [event["event"] for event in await face.history(memory_id)] == ["ADD", "DELETE"]


@pytest.mark.req("R-7", "C-14")
async def test_delete_all_knows_no_page_size(face: Face) -> None:
    await face.store_many([{"messages": f"fact {number}", "user_id": "alice"} for number in range(501)])
    await face.store_many([{"messages": f"more {number}", "user_id": "alice"} for number in range(600)])

    assert await face.delete_all(user_id="alice") == {"deleted": 1101}
    stats = await face.stats()
    assert (stats["memories"], stats["fulltext"], stats["vectors"], stats["events"]) == (0, 0, 0, 2202)


@pytest.mark.req("C-14", "R-4")
async def test_delete_all_takes_a_filter_and_also_finds_what_has_expired(face: Face, opens: Opens) -> None:
    await face.remember("one", metadata={"city": "Oslo"})
    await face.remember("two", metadata={"city": "Rome"}, expires_at="2026-01-02")
    opens.clock.advance(days=5)

    assert await face.delete_all(user_id="alice", filters={"city": "Rome"}) == {"deleted": 1}
    assert await face.listed(show_expired=True) == ["one"]


@pytest.mark.req("C-16", "C-58.13")
async def test_reset_empties_everything(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")
    await face.remember("theirs", user_id="bob")
    await face.found("Oslo")

    await face.reset()

    assert await face.listed() == await face.listed(user_id="bob") == await face.found("Oslo") == []
    assert await face.history(memory_id) == []
    stats = await face.stats()
    assert {stats[name] for name in ("memories", "events", "fulltext", "vectors", "pending")} == {0}
    assert stats["indexes"] == []
    await face.remember("I live in Oslo")
    assert await face.found("Oslo", strategy="vector") == ["I live in Oslo"]


@ON_DISK
@pytest.mark.req("C-16", "R-30")
async def test_reset_leaves_no_row_of_the_tenant_behind(face: Face, opens: Opens) -> None:
    gone = await face.remember("I live in Oslo")
    await face.delete(gone)
    await face.store_many([{"messages": "batch", "user_id": "alice"}], idempotency_key="k")
    other = opens({"tenant": "other"})
    await other.remember("theirs")

    await face.reset()

    tables = opens.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%tenant_id%'")
    for (table,) in tables:
        count = opens.rows(f"SELECT count(*) FROM {table} WHERE tenant_id = 'default'")  # noqa: S608 - a table's name
        assert count == [(0,)], table
    assert opens.rows("SELECT count(*) FROM fulltext") == [(1,)]
    assert await other.found("theirs") == ["theirs"]


@ON_DISK
@pytest.mark.req("O-10")
async def test_metadata_that_is_no_json_reads_as_empty(face: Face, opens: Opens) -> None:
    broken = await face.remember("I live in Oslo", metadata={"a": 1})
    await face.remember("I live in Rome", metadata={"a": 1})
    with opens.sql() as database:
        database.execute("UPDATE memories SET metadata = '{\"a\": ' WHERE id = ?", [broken])

    assert (await face.get(broken))["metadata"] == {}
    assert await face.listed() == ["I live in Rome", "I live in Oslo"]
    assert await face.found("Oslo", limit=1) == ["I live in Oslo"]


@ON_DISK
async def test_metadata_that_is_no_json_does_not_stop_a_filter(face: Face, opens: Opens) -> None:
    broken = await face.remember("I live in Oslo", metadata={"a": 1})
    await face.remember("I live in Rome", metadata={"a": 1})
    with opens.sql() as database:
        database.execute("UPDATE memories SET metadata = '{\"a\": ' WHERE id = ?", [broken])

    assert await face.listed(filters={"a": 1}) == ["I live in Rome"]


@ON_DISK
@pytest.mark.req("R-4")
@pytest.mark.parametrize("status", ["disabled", "quarantined", "evicted"])
async def test_what_is_not_active_is_seen_only_by_those_who_name_its_status(
    face: Face, opens: Opens, status: str
) -> None:
    hidden = await face.remember("I live in Oslo")
    await face.remember("I live in Rome")
    with opens.sql() as database:
        database.execute("UPDATE memories SET status = ? WHERE id = ?", [status, hidden])

    assert await face.get(hidden) is None
    assert await face.listed() == ["I live in Rome"]
    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("live in Oslo", strategy=strategy) == ["I live in Rome"]
    assert await face.found("live in Oslo", as_of="2026-01-01T00:00:00Z") == ["I live in Rome"]
    assert await face.listed(status=status) == ["I live in Oslo"]
    assert await face.delete_all(user_id="alice") == {"deleted": 2}, "what is hidden is deleted too"
