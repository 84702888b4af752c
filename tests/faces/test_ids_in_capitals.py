"""Ids as people write them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.faces.harness import Face, passed


async def test_an_id_in_capitals_names_the_same_memory(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")
    shouted = memory_id.upper()

    assert (await face.get(shouted))["id"] == memory_id
    changed = await face.update(shouted, "I live in Bergen")
    assert (changed["id"], changed["version"], "old_id" in changed) == (memory_id, 2, False)
    assert (await face.sharing.replace(shouted, "I live in Rome", user_id="alice"))["event"] == "UPDATE"
    assert (await face.review.disable(shouted))["status"] == "disabled"
    assert (await face.review.enable(shouted))["status"] == "active"
    assert [line["event"] for line in await face.history(shouted)][:2] == ["ADD", "UPDATE"]
    assert (await face.delete_many([shouted]))["results"][0]["event"] == "DELETE"
    assert await face.get(memory_id) is None
    assert (await face.review.restore(shouted))["id"] == memory_id
    assert (await face.review.restore(shouted, 1))["id"] == memory_id
    assert (await face.get(memory_id))["memory"] == "I live in Oslo"
    report = await face.admin.erase(memory_id=shouted)
    assert (report["subject"], passed(report)) == ({"memory_id": memory_id}, True)
    assert await face.get(memory_id) is None
    assert await face.history(memory_id) == []


async def test_an_id_may_be_a_uuid(face: Face) -> None:
    memory_id: Any = UUID(await face.remember("I live in Oslo"))

    assert (await face.get(memory_id))["memory"] == "I live in Oslo"
    assert (await face.update(memory_id, "I live in Bergen"))["version"] == 2
    assert (await face.delete_many([memory_id]))["results"] == [{"id": str(memory_id), "event": "DELETE"}]
    assert [line["event"] for line in await face.history(memory_id)] == ["ADD", "UPDATE", "DELETE"]


async def test_an_id_that_somebody_brought_in_capitals_is_found_as_it_is(face: Face) -> None:
    brought = "8E9D7C5A-1B2C-4D3E-9F00-ABCDEFABCDEF"
    await face.remember("I live in Oslo")
    lines = await face.export(everybody=True)
    (stored,) = [line for line in lines if line["type"] == "memory"]
    await face.reset()
    await face.load([lines[0], {**stored, "id": brought}])

    assert (await face.get(brought) or {}).get("id") == brought
