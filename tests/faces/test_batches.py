from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from memstone.errors import Conflict, InvalidInput, TooLarge
from tests.faces.harness import ON_DISK, Face, Opens, texts

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.mark.req("N-49")
async def test_a_batch_of_adds_has_a_result_for_each_item(face: Face) -> None:
    answer = await face.store_many(
        [
            {"messages": "one", "user_id": "alice", "metadata": {"run_id": "x"}},
            {"messages": ["two", "three"], "agent_id": "guide"},
            {"messages": "nobody"},
            {"messages": "one", "user_id": "alice"},
            {"messages": "", "user_id": "alice"},
            {"messages": "four", "user_id": "alice", "colour": "red"},
            "five",
            MappingProxyType({"messages": "six", "user_id": "alice"}),
        ]
    )

    results = answer["results"]
    assert [result["status"] for result in results] == ["ok", "ok", "error", "ok", "error", "error", "error", "ok"]
    assert [[item["event"] for item in result["results"]] for result in results] == [
        ["ADD"],
        ["ADD", "ADD"],
        [],
        ["NONE"],
        [],
        [],
        [],
        ["ADD"],
    ]
    assert len(results[0]["warnings"]) == 1
    assert [results[at]["error"]["code"] for at in (2, 4, 5, 6)] == ["scope"] + ["invalid_input"] * 3
    assert "colour" in results[5]["error"]["message"]
    assert await face.listed() == ["six", "one"]
    assert await face.listed(agent_id="guide") == ["three", "two"]


@pytest.mark.req("N-49", "O-11")
async def test_a_batch_of_updates_has_a_result_for_each_item(face: Face) -> None:
    one, two = await face.remember("one"), await face.remember("two")

    answer = await face.update_many(
        [
            {"memory_id": one, "text": "uno", "metadata": {"a": 1}},
            {"memory_id": UNKNOWN, "text": "nothing"},
            {"memory_id": two, "text": "UNO."},
            {"memory_id": two},
            {"memory_id": two, "text": "dos", "colour": "red"},
            {"text": "no id"},
            7,
            {"memory_id": one, "kind": "semantic"},
        ]
    )

    results = answer["results"]
    assert [result["event"] for result in results] == ["UPDATE"] + ["ERROR"] * 6 + ["UPDATE"]
    codes = [result["error"]["code"] for result in results[1:7]]
    assert codes == ["not_found", "conflict", "invalid_input", "invalid_input", "invalid_input", "invalid_input"]
    item = await face.get(one)
    assert (item["memory"], item["metadata"], item["kind"], item["version"]) == ("uno", {"a": 1}, "semantic", 3)
    assert (await face.get(two))["version"] == 1


@pytest.mark.req("N-49", "O-12")
async def test_a_batch_of_deletes_has_a_result_for_each_item(face: Face) -> None:
    one, two = await face.remember("one"), await face.remember("two")

    answer = await face.delete_many([one, UNKNOWN, two, one, "", 7])

    assert [result["event"] for result in answer["results"]] == ["DELETE", "ERROR", "DELETE", "ERROR", "ERROR", "ERROR"]
    assert [result["error"]["code"] for result in answer["results"] if "error" in result] == [
        "not_found",
        "not_found",
        "invalid_input",
        "invalid_input",
    ]
    assert await face.listed() == []


@pytest.mark.req("N-49")
async def test_an_item_that_is_wrong_is_told_what_is_allowed_and_nothing_of_the_inside(face: Face) -> None:
    wrong_adds = [
        {"messages": "x", "user_id": "alice", "tags": [1]},
        {"text": "x", "user_id": "alice"},
        {"user_id": "u"},
    ]
    wrong_updates = [{"memory_id": "x", "user_id": "alice"}, {"text": "x"}, 7]

    added, updated = await face.add_many(wrong_adds), await face.update_many(wrong_updates)

    problems = [one["error"]["message"] for one in [*added["results"], *updated["results"]]]
    assert problems == [
        "unknown in a batch item: tags",
        "unknown in a batch item: text",
        "messages is missing in a batch item",
        "unknown in a batch item: user_id",
        "memory_id is missing in a batch item",
        "a batch item must be a mapping, not int",
    ]
    assert all("allowed: messages, user_id, " in one["error"]["hint"] for one in added["results"])
    assert all("allowed: memory_id, text, " in one["error"]["hint"] for one in updated["results"])


@pytest.mark.req("N-49")
async def test_an_item_may_call_the_id_as_answers_do(face: Face) -> None:
    one, two = await face.remember("one"), await face.remember("two")

    changed = await face.update_many([{"id": one, "text": "uno"}])
    assert (changed["results"][0]["id"], changed["results"][0]["memory"]) == (one, "uno")
    gone = await face.delete_many([{"id": one}, {"memory_id": two}, {"name": "x"}])
    assert [(each["id"], each["event"]) for each in gone["results"]] == [
        (one, "DELETE"),
        (two, "DELETE"),
        (None, "ERROR"),
    ]


@pytest.mark.req("N-49")
async def test_a_thousand_go_at_once_and_one_more_does_not(face: Face) -> None:
    items = [{"messages": f"fact {number}", "user_id": "alice"} for number in range(1001)]

    with pytest.raises(TooLarge) as caught:
        await face.store_many(items)
    assert caught.value.hint
    assert await face.listed() == []
    await face.store_many(items[:1000])
    assert (await face.stats())["memories"] == 1000
    for call in (face.update_many([{}] * 1001), face.delete_many(["x"] * 1001)):
        with pytest.raises(TooLarge):
            await call


@pytest.mark.req("N-49")
async def test_the_same_key_carries_a_batch_out_once(face: Face) -> None:
    items = [{"messages": "one", "user_id": "alice"}, {"messages": "nobody"}]

    first = await face.store_many(items, idempotency_key="k1")
    again = await face.store_many(items, idempotency_key="k1")

    assert again == {**first, "replayed": True}
    assert len(await face.history(first["results"][0]["results"][0]["id"])) == 1
    memory_id = first["results"][0]["results"][0]["id"]
    wrong: Any = [b"no id", {1, 2}]
    refused = await face.delete_many(wrong, idempotency_key="k0")
    assert [one["event"] for one in refused["results"]] == ["ERROR", "ERROR"]
    assert (await face.delete_many(wrong, idempotency_key="k0"))["replayed"]
    deleted = await face.delete_many([memory_id], idempotency_key="k2")
    assert await face.delete_many([memory_id], idempotency_key="k2") == {**deleted, "replayed": True}
    updated = await face.update_many([{"memory_id": memory_id, "text": "x"}], idempotency_key="k3")
    assert updated["results"][0]["error"]["code"] == "not_found"


@pytest.mark.req("N-49")
async def test_a_key_that_was_used_for_something_else_is_refused(face: Face) -> None:
    await face.store_many([{"messages": "one", "user_id": "alice"}], idempotency_key="k1")

    for call in (
        face.store_many([{"messages": "two", "user_id": "alice"}], idempotency_key="k1"),
        face.delete_many(["x"], idempotency_key="k1"),
    ):
        with pytest.raises(Conflict) as caught:
            await call
        assert caught.value.hint
    assert await face.listed() == ["one"]


@pytest.mark.req("N-49")
async def test_a_key_is_kept_for_a_day(face: Face, opens: Opens) -> None:
    items = [{"messages": "one", "user_id": "alice"}]
    await face.store_many(items, idempotency_key="k1")
    opens.clock.advance(hours=23)
    assert (await face.store_many(items, idempotency_key="k1"))["replayed"]

    opens.clock.advance(hours=2)
    await face.store_many([], idempotency_key="k2")
    later = await face.store_many(items, idempotency_key="k1")
    assert later["results"][0]["results"][0]["event"] == "NONE"


@pytest.mark.req("N-49")
@pytest.mark.parametrize("wrong", ["one", b"one", 7, None, {"messages": "one"}])
async def test_what_is_no_list_is_no_batch(face: Face, wrong: Any) -> None:
    for call in (face.store_many(wrong), face.update_many(wrong), face.delete_many(wrong)):
        with pytest.raises(InvalidInput, match="must be a list"):
            await call


@pytest.mark.req("N-49")
async def test_a_batch_that_cannot_be_recognised_again_is_refused(face: Face) -> None:
    circular: dict[str, Any] = {"messages": "one", "user_id": "alice"}
    circular["metadata"] = circular
    for items in ([circular], [{("a", "b"): 1}], [{1: "a", "b": 2}]):
        with pytest.raises(InvalidInput, match="idempotency"):
            await face.store_many(items, idempotency_key="k1")
    for key in ("", " ", 7, "x" * 257):
        with pytest.raises((InvalidInput, TooLarge), match="idempotency_key"):
            await face.store_many([], idempotency_key=key)


@ON_DISK
@pytest.mark.req("N-49", "C-56")
async def test_a_batch_is_one_transaction(opens: Opens) -> None:
    face = opens()
    stored_text = await face.remember("kept")
    with opens.sql() as database:
        database.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.new_text = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )

    for call in (
        face.store_many([{"messages": "good", "user_id": "alice"}, {"messages": "bad", "user_id": "alice"}]),
        face.update_many([{"memory_id": stored_text, "text": "changed"}, {"memory_id": stored_text, "text": "bad"}]),
    ):
        with pytest.raises(Exception, match="no"):
            await call
    assert await face.listed() == ["kept"]
    assert len(await face.history(stored_text)) == 1
    assert texts(await face.search("good", user_id="alice", strategy="text")) == []
