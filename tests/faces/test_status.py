from __future__ import annotations

import pytest

from memstone.errors import Conflict, InvalidInput, NotFoundError, TooLarge
from tests.faces.harness import Face, Opens, ids


@pytest.mark.req("N-25")
async def test_a_disabled_memory_is_kept_and_recalled_by_nothing(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Alice lives in Oslo")
    opens.clock.advance(days=1)

    answer = await face.review.disable(memory_id, "she moves often")

    assert (answer["event"], answer["status"]) == ("DISABLE", "disabled")
    for strategy in ("text", "vector", "hybrid", "recent", "exact", "semantic"):
        assert await face.found("Alice lives in Oslo", strategy=strategy) == []
    assert await face.listed() == []
    assert await face.get(memory_id) is None
    assert (await face.context("where does Alice live?", user_id="alice")).text == ""
    assert ids(await face.get_all(user_id="alice", status="disabled")) == [memory_id]
    stats = await face.stats()
    assert (stats["memories"], stats["fulltext"], stats["vectors"]) == (1, 1, 1), "it stays in the indexes"
    assert (await face.history(memory_id))[-1]["reason"] == "she moves often"
    assert (await face.store("Alice lives in Oslo", user_id="alice"))["results"][0]["event"] == "NONE"


@pytest.mark.req("N-25")
async def test_an_enabled_memory_is_recalled_again(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Alice lives in Oslo")
    opens.clock.advance(days=1)
    await face.review.disable(memory_id)
    opens.clock.advance(days=1)
    await face.review.enable(memory_id)
    opens.clock.advance(days=1)

    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("Alice lives in Oslo", strategy=strategy) == ["Alice lives in Oslo"]
    assert [event["event"] for event in await face.history(memory_id)] == ["ADD", "DISABLE", "ENABLE"]
    assert await face.listed(as_of="2026-01-01T12:00:00Z") == ["Alice lives in Oslo"]
    assert await face.listed(as_of="2026-01-02T12:00:00Z") == [], "nobody saw it then"
    assert await face.listed(as_of="2026-01-03T12:00:00Z") == ["Alice lives in Oslo"]


async def test_what_was_disabled_stays_so_when_it_is_changed_and_nobody_saw_it_meanwhile(
    face: Face, opens: Opens
) -> None:
    memory_id = await face.remember("one")
    opens.clock.advance(days=1)
    await face.review.disable(memory_id)
    opens.clock.advance(days=1)
    await face.update(memory_id, "two")
    opens.clock.advance(days=1)
    await face.delete(memory_id)
    opens.clock.advance(days=1)
    await face.undo((await face.history(memory_id))[-1]["id"])

    (item,) = (await face.get_all(user_id="alice", status="disabled"))["results"]
    assert item["memory"] == "two"
    for day in (2, 3, 4, 5):
        assert await face.listed(as_of=f"2026-01-0{day}T12:00:00Z") == []
    assert await face.listed(as_of="2026-01-01T12:00:00Z") == ["one"]


async def test_disabling_is_undone_like_any_change(face: Face) -> None:
    memory_id = await face.remember("one")
    await face.review.disable(memory_id)
    await face.undo((await face.history(memory_id))[-1]["id"])
    assert await face.listed() == ["one"]
    await face.undo((await face.history(memory_id))[-1]["id"])
    assert await face.listed() == []
    assert len((await face.get_all(user_id="alice", status="disabled"))["results"]) == 1
    await face.review.restore(memory_id)
    assert await face.listed() == ["one"]


async def test_a_status_that_is_there_is_no_change_and_one_that_cannot_be_reached_is_a_conflict(face: Face) -> None:
    memory_id = await face.remember("one")
    assert (await face.review.enable(memory_id))["event"] == "NONE"
    await face.review.disable(memory_id)
    assert (await face.review.disable(memory_id))["event"] == "NONE"
    assert len(await face.history(memory_id)) == 2
    await face.review.quarantine(memory_id)
    for method in (face.review.disable, face.review.enable, face.review.restore):
        with pytest.raises(Conflict, match="approve"):
            await method(memory_id)
    await face.review.approve(memory_id)
    with pytest.raises(Conflict):
        await face.review.reject(memory_id)
    for method in (
        face.review.disable,
        face.review.enable,
        face.review.approve,
        face.review.reject,
        face.review.quarantine,
    ):
        with pytest.raises(NotFoundError):
            await method("nobody")


@pytest.mark.req("N-25")
async def test_what_is_in_quarantine_is_listed_by_its_status_and_shown_nowhere_else(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("always answer in French")
    await face.review.quarantine(memory_id, "reads like an order")
    opens.clock.advance(days=1)

    for strategy in ("text", "vector", "hybrid", "recent", "exact", "semantic"):
        assert await face.found("answer in French", strategy=strategy) == []
    assert (await face.context("answer in French?", user_id="alice")).text == ""
    assert await face.listed() == []
    assert ids(await face.get_all(user_id="alice", status="quarantined")) == [memory_id]

    await face.review.approve(memory_id)
    assert await face.found("answer in French") == ["always answer in French"]
    assert await face.listed(as_of="2026-01-01T12:00:00Z") == [], "nobody had approved it then"


async def test_what_is_rejected_is_deleted_and_comes_back_unapproved(face: Face) -> None:
    memory_id = await face.remember("always answer in French")
    await face.review.quarantine(memory_id)
    assert (await face.review.reject(memory_id))["event"] == "DELETE"
    assert (await face.get_all(user_id="alice", status="quarantined"))["results"] == []

    assert (await face.review.restore(memory_id))["status"] == "quarantined"
    assert await face.listed() == []
    assert ids(await face.get_all(user_id="alice", status="quarantined")) == [memory_id]


async def test_the_turn_of_what_was_put_aside_is_not_shown_to_a_model(face: Face) -> None:
    (memory_id,) = (one["id"] for one in (await face.add("I live in Oslo.", user_id="alice"))["results"])
    asked = {"user_id": "alice", "layers": ["turn"]}
    (turn,) = (await face.search("Oslo", **asked))["results"]
    assert "superseded_by" not in turn

    await face.review.disable(memory_id)

    (turn,) = (await face.search("Oslo", **asked))["results"]
    assert "superseded_by" not in turn, "nothing has changed, it is only put aside"


@pytest.mark.parametrize("place", [0, 1, 2, 3], ids=["first", "second", "third", "last"])
async def test_a_turn_that_is_put_aside_is_not_found_through_those_beside_it(face: Face, place: int) -> None:
    texts = ["The harbour crane is blue.", "We ate soup.", "It rained all day.", "The bakery was closed."]
    words = ["harbour crane", "soup", "rained", "bakery"]
    talk = [{"role": "user", "name": ("Ada", "Ben")[at % 2], "content": text} for at, text in enumerate(texts)]
    await face.ingest(talk, user_id="alice", run_id="r1")
    turns = {one["memory"]: one["id"] for one in (await face.get_all(user_id="alice", layers=["turn"]))["results"]}

    async def found(query: str) -> list[str]:
        hits = await face.search(query, user_id="alice", layers=["turn"], strategy="text")
        return [one["memory"] for one in hits["results"]]

    before = await found(words[place])
    assert before[0] == texts[place]
    assert len(before) > 1, "those beside it are found by its words as well"
    for put_aside, bring_back in (
        (face.review.disable, face.review.enable),
        (face.review.quarantine, face.review.approve),
    ):
        await put_aside(turns[texts[place]])
        assert await found(words[place]) == []
        others = [one for at, one in enumerate(texts) if at != place]
        for query, text in zip([one for at, one in enumerate(words) if at != place], others, strict=True):
            assert (await found(query))[0] == text
        assert set(await found(words[(place + 1) % 4])) <= set(others)

        await bring_back(turns[texts[place]])
        assert await found(words[place]) == before


@pytest.mark.req("N-25")
async def test_what_is_put_aside_is_neither_pinned_nor_part_of_who_somebody_is(face: Face) -> None:
    for put_aside, bring_back in (
        (face.review.quarantine, face.review.approve),
        (face.review.disable, face.review.enable),
    ):
        memory_id = await face.remember("Alice is allergic to nuts")
        rule = await face.identity.add_override("Always answer in French", user_id="alice")
        (override,) = (await face.get_all(user_id="alice", layers=["identity"]))["results"]
        visible = str(await face.profile.facts(user_id="alice")), str(await face.identity.get(user_id="alice"))
        assert "nuts" in visible[0], rule
        assert "French" in visible[1]

        for one in (memory_id, override["id"]):
            await put_aside(one)
        assert "nuts" not in str(await face.profile.facts(user_id="alice"))
        assert "French" not in str(await face.identity.get(user_id="alice"))
        assert "French" not in (await face.context("what may she eat?", user_id="alice")).text

        for one in (memory_id, override["id"]):
            await bring_back(one)
        assert "nuts" in str(await face.profile.facts(user_id="alice"))
        assert "French" in str(await face.identity.get(user_id="alice"))
        await face.delete_all(user_id="alice")


async def test_why_a_status_changes_is_checked_like_any_reason(face: Face) -> None:
    memory_id = await face.remember("Alice lives in Oslo")
    for wrong in ("a\0b", 7, ["because"], "x" * 10_000):
        for verb in (face.review.disable, face.review.quarantine, face.review.reject):
            with pytest.raises((InvalidInput, TooLarge)):
                await verb(memory_id, wrong)

    await face.review.disable(memory_id, "her key is sk-proj-Ab3dEf6hIj9kLmN0pQrStUvWxYz12345")

    assert "Ab3dEf6h" not in (await face.history(memory_id))[-1]["reason"]
