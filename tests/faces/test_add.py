from __future__ import annotations

import hashlib
import uuid
from typing import Any

import pytest

from memstone.errors import InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens, ids, texts

OSLO = "I live in Oslo"


@pytest.mark.req("C-8", "C-3", "C-4")
async def test_a_text_is_one_user_message_and_gives_one_event(face: Face) -> None:
    added = await face.store(OSLO, user_id="alice", metadata={"city": "Oslo"})

    assert added["status"] == "ok"
    (event,) = added["results"]
    assert uuid.UUID(event["id"]).version == 4
    assert {name: event[name] for name in ("event", "memory", "old_memory", "new_memory", "metadata")} == {
        "event": "ADD",
        "memory": OSLO,
        "old_memory": None,
        "new_memory": OSLO,
        "metadata": {"city": "Oslo"},
    }


@pytest.mark.req("C-1", "X-13", "O-7", "O-10", "O-25")
async def test_an_item_shows_all_its_fields(face: Face, opens: Opens) -> None:
    memory_id = await face.remember(OSLO, agent_id="guide", run_id="r1", user_id="alice", metadata={"a": 1}, key="home")

    now = "2026-01-01T00:00:00.000000Z"
    assert await face.get(memory_id) == {
        "id": memory_id,
        "memory": OSLO,
        "hash": hashlib.md5(OSLO.encode(), usedforsecurity=False).hexdigest(),
        "metadata": {"a": 1},
        "user_id": "alice",
        "agent_id": "guide",
        "run_id": "r1",
        "layer": "fact",
        "kind": "factual",
        "key": "home",
        "status": "active",
        "version": 1,
        "occurred_at": now,
        "created_at": now,
        "updated_at": now,
        "expires_at": None,
        "role": "user",
        "actor": "user",
    }


@pytest.mark.req("C-4", "N-39")
async def test_a_conversation_is_kept_word_by_word_without_system_and_tool_text(face: Face) -> None:
    added = await face.store(
        [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "I am Ann", "name": "ann"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "{}", "tool_call_id": "1"},
            {"role": "assistant", "content": "Hello Ann"},
        ],
        user_id="alice",
    )

    assert texts(added) == ["I am Ann", "Hello Ann"]
    first, second = [await face.get(memory_id) for memory_id in ids(added)]
    assert (first["role"], first["actor"]) == ("user", "ann")
    assert (second["role"], second["actor"]) == ("assistant", "assistant")


@pytest.mark.req("N-39")
async def test_nothing_to_store_is_no_error(face: Face) -> None:
    assert await face.store([{"role": "system", "content": "Be brief."}], user_id="alice") == {
        "results": [],
        "status": "ok",
    }


@pytest.mark.req("C-4")
@pytest.mark.parametrize("nothing", ["", "  ", "x" * 60_000, "a\0b"])
async def test_tool_and_system_text_cannot_stop_what_people_said(face: Face, nothing: str) -> None:
    """Tools answer with nothing, with books and with bytes; none of it is ever stored."""
    added = await face.store(
        [
            {"role": "system", "content": nothing},
            {"role": "assistant", "content": "" if not nothing.strip() else None, "tool_calls": []},
            {"role": "tool", "content": nothing, "tool_call_id": "1"},
            {"role": "user", "content": OSLO},
        ],
        user_id="alice",
    )

    assert texts(added) == [OSLO]


@pytest.mark.req("C-4")
async def test_parts_of_a_message_are_joined_and_pictures_are_named(face: Face) -> None:
    content = [
        {"type": "text", "text": "My cat:"},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
    ]
    added = await face.store({"role": "user", "content": content}, user_id="alice")

    assert texts(added) == ["My cat:\n[image: https://example.org/cat.png]"]


@pytest.mark.req("C-2", "X-12")
@pytest.mark.parametrize("again", [OSLO, " i LIVE  in Oslo. ", "I live in Oslo!"])
async def test_the_same_fact_twice_is_stored_once(face: Face, again: str) -> None:
    memory_id = await face.remember(OSLO)

    (event,) = (await face.store(again, user_id="alice"))["results"]

    assert (event["event"], event["id"], event["memory"], event["new_memory"]) == ("NONE", memory_id, OSLO, None)
    assert await face.listed() == [OSLO]
    assert len(await face.history(memory_id)) == 1
    assert (await face.get(memory_id))["hash"] == hashlib.md5(OSLO.encode(), usedforsecurity=False).hexdigest()


@pytest.mark.req("C-2", "X-12")
async def test_another_speaker_scope_or_sign_is_another_memory(face: Face) -> None:
    await face.remember(OSLO)
    for other in (
        await face.store({"role": "assistant", "content": OSLO}, user_id="alice"),
        await face.store({"role": "user", "content": OSLO, "name": "ann"}, user_id="alice"),
        await face.store(OSLO, user_id="alice", run_id="r1"),
        await face.store(OSLO, user_id="bob"),
        await face.store(OSLO + "?", user_id="alice"),
    ):
        assert other["results"][0]["event"] == "ADD"


@pytest.mark.req("C-2")
async def test_what_was_deleted_can_be_said_again(face: Face) -> None:
    first = await face.remember(OSLO)
    await face.delete(first)

    assert await face.remember(OSLO) != first
    assert await face.listed() == [OSLO]


@pytest.mark.req("O-9")
async def test_a_known_key_updates_in_place_and_merges_metadata(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Likes tea", key="drink", metadata={"a": 1, "b": 1}, expires_at="2026-03-01")
    opens.clock.advance(days=1)

    added = await face.store("Likes coffee", user_id="alice", key=" drink ", metadata={"b": 2}, kind="procedural")

    (event,) = added["results"]
    assert (event["event"], event["id"]) == ("UPDATE", memory_id)
    assert (event["old_memory"], event["new_memory"]) == ("Likes tea", "Likes coffee")
    item = await face.get(memory_id)
    assert item["metadata"] == {"a": 1, "b": 2}
    assert (item["kind"], item["expires_at"], item["version"]) == ("procedural", None, 2)
    assert item["created_at"] < item["updated_at"]
    assert await face.listed() == ["Likes coffee"]


@pytest.mark.req("O-9")
async def test_the_same_content_under_a_key_changes_nothing(face: Face) -> None:
    metadata: dict[str, Any] = {"tags": ("a", "b"), "n": 1.0}
    memory_id = await face.remember("Likes tea", key="drink", metadata=metadata)

    (event,) = (await face.store("Likes tea", user_id="alice", key="drink", metadata=metadata))["results"]

    assert (event["event"], event["id"]) == ("NONE", memory_id)
    assert (await face.get(memory_id))["version"] == 1


@pytest.mark.req("O-9")
async def test_a_key_belongs_to_its_owner_and_a_blank_one_always_inserts(face: Face) -> None:
    await face.remember("Likes tea", key="drink")
    await face.remember("Likes milk", key="drink", user_id="bob")
    await face.remember("Likes beer", key=" ")
    await face.remember("Likes wine", key="")

    assert await face.listed() == ["Likes wine", "Likes beer", "Likes tea"]
    assert await face.listed(user_id="bob") == ["Likes milk"]


@pytest.mark.req("O-9")
async def test_a_key_names_one_memory(face: Face) -> None:
    with pytest.raises(InvalidInput, match="several messages"):
        await face.store(["one", "two"], user_id="alice", key="k")
    assert await face.listed() == []


async def test_what_was_said_earlier_does_not_replace_what_was_said_later(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Lives in Bergen", key="home", occurred_at="2025-06-01")

    (event,) = (await face.store("Lives in Oslo", user_id="alice", key="home", occurred_at="2024-06-01"))["results"]

    assert (event["event"], event["id"], event["memory"]) == ("NONE", memory_id, "Lives in Bergen")
    assert "later" in event["reason"]
    assert await face.listed() == ["Lives in Bergen"]


@ON_DISK
@pytest.mark.req("O-9")
async def test_the_speaker_of_the_new_text_answers_for_it(face: Face, opens: Opens) -> None:
    """The assistant's words never stand with the trust of the user's."""
    memory_id = await face.remember("Lives in Oslo", key="home")
    await face.store({"role": "assistant", "content": "Lives in Rome"}, user_id="alice", key="home")

    assert opens.rows("SELECT origin, source_role, trust FROM memories WHERE id = ? ORDER BY seq", [memory_id]) == [
        ("user", "user", 1.0),
        ("assistant", "assistant", 0.5),
    ]


@pytest.mark.req("O-25", "X-13")
@pytest.mark.parametrize("kind_of", ["factual", "episodic", "procedural", "semantic"])
async def test_four_kinds_of_memory(face: Face, kind_of: str) -> None:
    memory_id = await face.remember(OSLO, kind=kind_of)

    item = await face.get(memory_id)
    assert (item["kind"], item["layer"]) == (kind_of, "fact")
    assert await face.listed(kind=kind_of) == [OSLO]
    assert await face.listed(filters={"memory.type": kind_of}) == [OSLO]


@pytest.mark.req("R-10", "R-30")
async def test_metadata_cannot_say_whose_memory_it_is(face: Face) -> None:
    values = {"user_id": "bob", "tenant_id": "other", "city": "Oslo", "deep": {"list": [1]}}
    added = await face.store(OSLO, user_id="alice", metadata=values)

    assert len(added["warnings"]) == 2
    memory_id = ids(added)[0]
    item = await face.get(memory_id)
    assert (item["metadata"], item["user_id"]) == ({"city": "Oslo", "deep": {"list": [1]}}, "alice")
    assert await face.listed(user_id="bob") == []
    changed = await face.update(memory_id, metadata={"run_id": "r9", "x": 1})
    assert (changed["metadata"], changed["run_id"], len(changed["warnings"])) == ({"x": 1}, None, 1)
    assert values == {"user_id": "bob", "tenant_id": "other", "city": "Oslo", "deep": {"list": [1]}}


@pytest.mark.req("R-30")
async def test_what_is_returned_is_not_the_callers_own_data(face: Face) -> None:
    values: dict[str, Any] = {"deep": {"list": [1]}, "pair": (1, 2)}
    added = await face.store(OSLO, user_id="alice", metadata=values)

    assert added["results"][0]["metadata"] == {"deep": {"list": [1]}, "pair": [1, 2]}
    added["results"][0]["metadata"]["deep"]["list"].append(2)
    assert values == {"deep": {"list": [1]}, "pair": (1, 2)}


@pytest.mark.req("C-6", "C-8")
async def test_the_scope_may_stand_in_the_filters(face: Face) -> None:
    await face.store(OSLO, filters={"user_id": "alice", "run_id": 7})

    assert await face.listed(user_id="alice", run_id="7") == [OSLO]
    with pytest.raises(InvalidInput, match="infer=False compares with none"):
        await face.store(OSLO, filters={"user_id": "alice", "city": "Oslo"})


async def test_fields_that_no_message_has_are_left_out_with_a_warning(face: Face) -> None:
    message = {"role": "user", "content": "I live in Oslo", "created_at": 1_700_000_000, "metadata": {"a": 1}}
    for infer in (False, True):
        added = await face.add([message], user_id="alice", infer=infer)
        assert added["status"] == "ok"
        assert "messages: created_at, metadata was ignored" in added["warnings"][0]
    many = await face.add_many([{"messages": [message], "user_id": "bob", "infer": False}])
    assert "created_at, metadata was ignored" in many["results"][0]["warnings"][0]
    answer = await face.ingest([message], user_id="carol")
    assert answer["warnings"] == ["turns: metadata was ignored: a message has role, content and name"]
    (turn,) = (await face.get_all(user_id="carol", layers=["turn"]))["results"]
    assert turn["occurred_at"].startswith("2023-11-14"), "a transcript has times"
