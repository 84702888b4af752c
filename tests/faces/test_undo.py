from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import Conflict, InvalidInput, NotFoundError
from tests.faces.harness import ON_DISK, Face, Opens


async def last_event(face: Face, memory_id: str) -> dict[str, Any]:
    """The newest line of a history."""
    event: dict[str, Any] = (await face.history(memory_id))[-1]
    return event


async def verbs(face: Face, memory_id: str) -> list[str]:
    """What happened to a memory, in order."""
    return [event["event"] for event in await face.history(memory_id)]


@pytest.mark.req("X-10")
async def test_an_update_is_taken_back_and_found_again(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Alice lives in Oslo", metadata={"a": 1})
    opens.clock.advance(days=1)
    await face.update(memory_id, "Alice lives in Bergen", metadata={"b": 2})
    opens.clock.advance(days=1)
    changed = await last_event(face, memory_id)

    answer = await face.undo(changed["id"])

    item = await face.get(memory_id)
    assert (item["memory"], item["metadata"], item["version"]) == ("Alice lives in Oslo", {"a": 1}, 3)
    assert answer["undone"] == 1
    assert [(one["event"], one["undoes"]) for one in answer["results"]] == [("UPDATE", changed["id"])]
    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("lives in Oslo", strategy=strategy) == ["Alice lives in Oslo"]
    assert await face.found("Bergen", strategy="text") == []
    assert await face.listed(as_of="2026-01-02T12:00:00Z") == ["Alice lives in Bergen"], "it was known then"
    assert (await face.stats())["vectors"] == 1


@pytest.mark.req("X-10")
async def test_an_add_is_taken_back_and_may_be_said_again(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")

    await face.undo((await last_event(face, memory_id))["id"])

    assert await face.get(memory_id) is None
    assert await face.found("Oslo") == []
    assert await face.listed(as_of="2027-01-01") == []
    again = await face.store("I live in Oslo", user_id="alice")
    assert again["results"][0]["event"] == "ADD"


@pytest.mark.req("X-30", "R-20")
async def test_a_deletion_is_taken_back_with_everything_that_went_with_it(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("one")
    opens.clock.advance(days=1)
    await face.update(memory_id, "two")
    opens.clock.advance(days=1)
    await face.delete(memory_id)
    assert await face.listed(as_of="2026-01-01T12:00:00Z") == []
    opens.clock.advance(days=1)

    await face.undo((await last_event(face, memory_id))["id"])

    assert (await face.get(memory_id))["memory"] == "two"
    assert await face.found("two") == ["two"]
    assert await face.listed(as_of="2026-01-01T12:00:00Z") == ["one"], "the past is what it was"
    assert await face.listed(as_of="2026-01-02T12:00:00Z") == ["two"]
    assert await face.listed(as_of="2026-01-03T12:00:00Z") == [], "it was gone for a day"
    assert (await face.store("two", user_id="alice"))["results"][0]["event"] == "NONE", "its words are its own again"


@pytest.mark.req("X-30")
async def test_undoing_a_deletion_lifts_the_ban_on_its_words(face: Face) -> None:
    answer = await face.add("I live in Oslo.", user_id="alice")
    (memory_id,) = (one["id"] for one in answer["results"])
    await face.delete(memory_id)
    deleted = await last_event(face, memory_id)
    assert (await face.add("I live in Oslo.", user_id="alice"))["results"] == [], "deleted stays deleted"

    restored = await face.undo(deleted["id"])
    assert (await face.add("I live in Oslo.", user_id="alice"))["results"][0]["event"] == "NONE"

    await face.undo(restored["results"][0]["event_id"])
    assert await face.get(memory_id) is None
    assert (await face.add("I live in Oslo.", user_id="alice"))["results"] == [], "and banned again"


@pytest.mark.req("X-10")
async def test_an_undo_may_itself_be_undone_as_often_as_one_likes(face: Face) -> None:
    memory_id = await face.remember("one")
    await face.update(memory_id, "two")
    expected = ["one", "two", "one", "two"]
    for text in expected:
        await face.undo((await last_event(face, memory_id))["id"])
        assert (await face.get(memory_id))["memory"] == text
    assert await verbs(face, memory_id) == ["ADD", "UPDATE", "UPDATE", "UPDATE", "UPDATE", "UPDATE"]


@pytest.mark.req("X-10")
async def test_what_was_changed_since_is_not_undone_and_the_hint_says_what_to_undo_first(face: Face) -> None:
    memory_id = await face.remember("one")
    for text in ("two", "three"):
        await face.update(memory_id, text)
    _, second, third = await face.history(memory_id)

    with pytest.raises(Conflict, match=third["id"]):
        await face.undo(second["id"])
    assert (await face.get(memory_id))["memory"] == "three"

    await face.undo(third["id"])
    await face.undo(second["id"])
    assert (await face.get(memory_id))["memory"] == "one"
    with pytest.raises(Conflict, match="already undone"):
        await face.undo(second["id"])


async def test_undo_does_not_bring_back_what_another_memory_says_by_now(face: Face) -> None:
    memory_id = await face.remember("one")
    await face.update(memory_id, "two")
    twin = await face.remember("one")

    with pytest.raises(Conflict, match=twin):
        await face.undo((await last_event(face, memory_id))["id"])
    assert (await face.get(memory_id))["memory"] == "two"


async def test_an_undo_names_an_event_or_a_job(face: Face) -> None:
    with pytest.raises(NotFoundError):
        await face.undo("00000000-0000-4000-8000-000000000000")
    with pytest.raises(NotFoundError):
        await face.undo(job_id="nightly")
    for wrong in ({}, {"event_id": "a", "job_id": "b"}, {"event_id": 7}):
        with pytest.raises(InvalidInput):
            await face.undo(**wrong)


@ON_DISK
async def test_what_was_masked_for_good_cannot_be_undone(face: Face, opens: Opens) -> None:
    unmasked = opens({"extract": {"redact": {"password": "off"}}})
    memory_id = await unmasked.remember("my password is hunter2x")
    await unmasked.update(memory_id, metadata={"a": 1})
    updated = await last_event(unmasked, memory_id)
    await face.admin.redact(dry_run=False)
    masked = await last_event(face, memory_id)
    assert masked["event"] == "REDACT"

    with pytest.raises(InvalidInput):
        await face.undo(masked["id"])
    with pytest.raises(Conflict, match="REDACT"):
        await face.undo(updated["id"])


@pytest.mark.req("R-20", "X-30")
async def test_a_deleted_memory_is_restored_by_its_id(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Alice lives in Oslo", key="home")
    opens.clock.advance(days=1)
    await face.delete(memory_id)
    opens.clock.advance(days=1)

    answer = await face.review.restore(memory_id)

    assert (answer["id"], answer["event"], answer["status"]) == (memory_id, "ADD", "active")
    item = await face.get(memory_id)
    assert (item["memory"], item["key"], item["version"]) == ("Alice lives in Oslo", "home", 2)
    assert await face.found("where does Alice live") == ["Alice lives in Oslo"]
    (again,) = (await face.store("Alice lives in Bergen", user_id="alice", key="home"))["results"]
    assert (again["event"], again["id"]) == ("UPDATE", memory_id), "its key is its own again"
    with pytest.raises(Conflict):
        await face.review.restore(memory_id)


@pytest.mark.req("R-20")
async def test_an_earlier_version_is_restored_as_the_next_one(face: Face) -> None:
    memory_id = await face.remember("one", metadata={"n": 1})
    await face.update(memory_id, "two", metadata={"n": 2})
    await face.update(memory_id, "three")

    answer = await face.review.restore(memory_id, version=1)

    assert (answer["event"], answer["memory"]) == ("UPDATE", "one")
    item = await face.get(memory_id)
    assert (item["memory"], item["metadata"], item["version"]) == ("one", {"n": 1}, 4)
    await face.undo(answer["event_id"])
    assert (await face.get(memory_id))["memory"] == "three"
    with pytest.raises(NotFoundError):
        await face.review.restore(memory_id, version=9)
    with pytest.raises(InvalidInput):
        await face.review.restore(memory_id, version=0)
    with pytest.raises(NotFoundError):
        await face.review.restore("nobody")


async def test_what_was_retracted_in_talk_can_be_restored(face: Face) -> None:
    (memory_id,) = (one["id"] for one in (await face.add("I live in Oslo.", user_id="alice"))["results"])
    gone = await face.add("Forget that I live in Oslo.", user_id="alice")
    assert [one["event"] for one in gone["results"]] == ["DELETE"]

    await face.review.restore(memory_id)

    assert (await face.get(memory_id))["memory"]
    assert len(await face.found("Oslo")) == 1


@ON_DISK
async def test_undo_and_restore_outlive_the_process(opens: Opens) -> None:
    first = opens()
    memory_id = await first.remember("one")
    await first.update(memory_id, "two")
    await first.delete(memory_id)
    await first.close()

    second = opens()
    await second.review.restore(memory_id)
    await second.undo((await second.history(memory_id))[-1]["id"])
    assert await second.get(memory_id) is None
    await second.review.restore(memory_id, version=1)
    assert (await second.get(memory_id))["memory"] == "one"
