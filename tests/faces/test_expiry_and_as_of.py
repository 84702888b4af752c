from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from memstone.errors import InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens


@pytest.mark.req("N-38", "O-97", "R-4")
async def test_what_has_expired_is_hidden_on_every_path(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("the code is 4711", expires_at="2026-01-02T00:00:00Z")
    await face.remember("the code is secret")
    opens.clock.set(datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC))
    assert len(await face.listed()) == 2

    opens.clock.advance(seconds=1)

    assert await face.get(memory_id) is None
    assert await face.listed() == ["the code is secret"]
    assert (await face.get_all(user_id="alice", counts=True))["total"] == 1
    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("code", strategy=strategy) == ["the code is secret"]
    assert len(await face.found("code", show_expired=True)) == 2
    assert len(await face.listed(show_expired=True)) == 2
    assert len(await face.history(memory_id)) == 1
    assert (await face.stats())["memories"] == 2, "hidden, not deleted"


@pytest.mark.parametrize("infer", [True, False])
async def test_what_has_expired_before_it_is_stored_is_told(face: Face, opens: Opens, *, infer: bool) -> None:
    texts = {"messages": "I live in Oslo.", "user_id": "alice", "infer": infer}

    late = await face.add(**texts, expires_at=opens.clock.now())
    assert any("expires_at is in the past" in one for one in late["warnings"])
    turns = [{"role": "user", "content": "I live in Oslo."}]
    assert "warnings" in await face.ingest(turns, user_id="alice", expires_at="2020-01-01")
    assert await face.listed() == []
    assert "warnings" not in await face.add(**texts, expires_at=opens.clock.now() + timedelta(days=1))


@pytest.mark.req("N-38")
async def test_an_update_may_clear_or_move_the_expiry(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("the code is 4711", expires_at=date(2026, 1, 2))
    opens.clock.advance(days=10)
    assert await face.get(memory_id) is None

    await face.update(memory_id, expires_at=None)
    assert (await face.get(memory_id))["expires_at"] is None
    await face.update(memory_id, expires_at=date(2026, 1, 12))
    assert (await face.get(memory_id))["expires_at"] == "2026-01-12T00:00:00.000000Z"
    await face.update(memory_id, "the code is 4712")
    assert (await face.get(memory_id))["expires_at"] == "2026-01-12T00:00:00.000000Z"
    opens.clock.advance(days=1)
    assert await face.found("code") == []


@pytest.mark.req("N-38", "C-2")
async def test_what_has_expired_can_be_said_again(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("I am on holiday", expires_at="2026-01-02", metadata={"a": 1})
    opens.clock.advance(days=5)

    (event,) = (await face.store("I am on holiday", user_id="alice", metadata={"b": 2}))["results"]

    assert (event["event"], event["id"]) == ("UPDATE", memory_id)
    item = await face.get(memory_id)
    assert (item["expires_at"], item["metadata"]) == (None, {"a": 1, "b": 2})


@pytest.mark.req("X-10")
async def test_as_of_shows_what_was_known_then(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("I live in Oslo")
    opens.clock.advance(days=10)
    await face.update(memory_id, "I live in Bergen")
    opens.clock.advance(days=10)
    await face.remember("I live on a boat now")

    assert await face.listed(as_of="2025-12-31") == []
    assert await face.listed(as_of="2026-01-05") == ["I live in Oslo"]
    assert await face.listed(as_of="2026-01-11") == ["I live in Bergen"]
    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("live", as_of="2026-01-05", strategy=strategy) == ["I live in Oslo"]
        assert await face.found("live", as_of="2026-01-15", strategy=strategy) == ["I live in Bergen"]
        assert len(await face.found("live", as_of="2026-01-21", strategy=strategy)) == 2
    assert await face.found("Oslo", as_of="2026-01-15", strategy="text") == []


@pytest.mark.req("X-10")
async def test_what_was_said_long_ago_is_known_since_then(face: Face) -> None:
    await face.remember("I live in Oslo", occurred_at=datetime(2020, 5, 1, tzinfo=timezone(timedelta(hours=2))))

    item = (await face.get_all(user_id="alice"))["results"][0]
    assert item["occurred_at"] == "2020-04-30T22:00:00.000000Z"
    assert item["created_at"] == "2026-01-01T00:00:00.000000Z"
    assert await face.listed(as_of="2021-01-01") == ["I live in Oslo"]
    assert await face.listed(as_of="2020-04-30T21:59:59Z") == []


@pytest.mark.req("X-30", "N-38")
async def test_the_past_shows_neither_what_was_deleted_nor_what_had_expired(face: Face, opens: Opens) -> None:
    gone = await face.remember("gone")
    await face.remember("short", expires_at="2026-01-03")
    opens.clock.advance(days=10)
    await face.delete(gone)

    assert await face.listed(as_of="2026-01-02") == ["short"]
    assert await face.listed(as_of="2026-01-04") == []
    assert await face.listed(as_of="2026-01-04", show_expired=True) == ["short"]
    assert await face.found("gone short", as_of="2026-01-02") == ["short"]


@pytest.mark.req("X-30")
async def test_the_past_does_not_show_earlier_versions_of_what_was_deleted(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("I live in Oslo")
    opens.clock.advance(days=10)
    await face.update(memory_id, "I live in Rome")
    await face.delete(memory_id)

    assert await face.listed(as_of="2026-01-05") == []
    assert await face.found("Oslo", as_of="2026-01-05") == []


async def test_as_of_honours_scope_filters_and_limit(face: Face) -> None:
    for number in range(5):
        await face.remember(f"apple {number}", metadata={"n": number})
    await face.remember("apple foreign", user_id="bob")

    found = await face.found("apple", as_of="2026-01-01T00:00:00Z", filters={"n": {"gte": 2}}, limit=2)
    assert len(found) == 2
    assert set(found) <= {"apple 2", "apple 3", "apple 4"}


async def test_as_of_says_when_it_could_not_compare_meanings(opens: Opens) -> None:
    works = [True]

    def embed(texts: list[str]) -> list[list[float]]:
        if not works[0]:
            raise OSError("no route to host")
        return [[1.0, float(len(text))] for text in texts]

    face = opens({"embedding_cache": {"entries": 0}}, embedder=embed)
    await face.remember("I live in Oslo")
    works[0] = False

    answer = await face.search("Oslo", user_id="alice", as_of="2026-01-01T00:00:00Z")
    assert answer["results"][0]["memory"] == "I live in Oslo"
    assert answer["degraded"][0]["channel"] == "dense"


@ON_DISK
@pytest.mark.req("X-10")
async def test_only_what_holds_now_is_in_an_index(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("one")
    for number in range(5):
        await face.update(memory_id, f"text {number}")

    assert opens.rows("SELECT count(*) FROM memories") == [(6,)]
    assert opens.rows("SELECT count(*) FROM vectors") == opens.rows("SELECT count(*) FROM fulltext") == [(1,)]
    assert opens.rows("SELECT count(*) FROM links WHERE dedupe IS NOT NULL") == [(1,)]


@pytest.mark.parametrize("wrong", ["soon", "2026-13-01", "", 7, 1.5, True, [], "9999-12-31T23:59:59-12:00"])
async def test_what_is_no_date_is_refused(face: Face, wrong: Any) -> None:
    for call in (
        face.store("text", user_id="alice", occurred_at=wrong),
        face.store("text", user_id="alice", expires_at=wrong),
        face.search("text", user_id="alice", as_of=wrong),
        face.get_all(user_id="alice", as_of=wrong),
    ):
        with pytest.raises(InvalidInput) as caught:
            await call
        assert "ISO 8601" in caught.value.hint
    assert await face.listed() == []
