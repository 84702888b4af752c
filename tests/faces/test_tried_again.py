"""What an embedder that was down has put off: who says something next lets it be tried again, without a ``flush``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faces.fragile import Fragile
from tests.faces.harness import ON_DISK, Face, Opens, texts


@pytest.fixture
def model() -> Fragile:
    return Fragile()


@pytest.fixture
def face(opens: Opens, model: Fragile) -> Face:
    return opens({"embedding_cache": {"entries": 0}}, embedder=model)


async def pending(face: Face) -> int:
    waiting: int = (await face.stats())["pending"]
    return waiting


@pytest.mark.req("C-55", "X-25")
async def test_the_next_add_learns_what_an_outage_has_put_off_by_rules_too(face: Face, model: Fragile) -> None:
    model.down = True
    assert (await face.add("I live in Rome.", user_id="alice"))["status"] == "deferred"
    model.down = False

    await face.add("I have two cats.", user_id="alice")

    assert await face.listed() == ["User has two cats.", "User lives in Rome."]
    assert await pending(face) == 0


@pytest.mark.req("C-55")
@pytest.mark.parametrize("infer", [True, False])
async def test_what_was_to_be_stored_as_it_is_is_tried_again_as_well(
    face: Face, model: Fragile, *, infer: bool
) -> None:
    model.down = True
    assert (await face.store("the code is 4711", user_id="alice"))["status"] == "deferred"
    model.down = False

    await face.add("I live in Rome.", user_id="alice", infer=infer)

    assert "the code is 4711" in await face.listed()
    assert await pending(face) == 0


@pytest.mark.req("C-55", "N-49")
async def test_a_batch_tries_again_too(face: Face, model: Fragile) -> None:
    model.down = True
    await face.store_many([{"messages": "one", "user_id": "alice"}, {"messages": "two", "user_id": "bob"}])
    model.down = False

    await face.store_many([{"messages": "three", "user_id": "alice"}, {"messages": "four", "user_id": "bob"}])

    assert (await face.listed(), await face.listed(user_id="bob")) == (["three", "one"], ["four", "two"])
    assert await pending(face) == 0


@ON_DISK
@pytest.mark.req("C-55")
async def test_a_store_that_was_opened_again_learns_with_the_next_add(face: Face, model: Fragile, opens: Opens) -> None:
    model.down = True
    await face.add("I live in Rome.", user_id="alice")
    await face.store("the code is 4711", user_id="alice")
    await face.close()
    model.down = False

    again = opens(embedder=model)
    await again.store("hello", user_id="alice")

    assert sorted(await again.listed()) == ["User lives in Rome.", "hello", "the code is 4711"]
    assert await pending(again) == 0


@pytest.mark.req("C-55")
async def test_only_who_speaks_waits_for_what_was_put_off(face: Face, model: Fragile) -> None:
    model.down = True
    await face.add("I live in Rome.", user_id="alice")
    model.down = False

    await face.add("I have two cats.", user_id="bob")

    assert await pending(face) == 1
    assert await face.listed(user_id="bob") == ["User has two cats."]


@pytest.mark.req("C-55")
async def test_what_fails_again_is_left_alone_for_a_while(
    face: Face, model: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstone.engine.runtime._REST", 600.0)  # longer than the machine may take for the rest
    model.bad = {"bad"}
    await face.store("bad", user_id="alice")
    await face.store("one", user_id="alice")
    calls = model.calls

    for text in ("two", "three", "four"):
        await face.store(text, user_id="alice")

    assert model.calls == calls + 3, "nobody who speaks waits for the same failure each time"
    assert await pending(face) == 1


@pytest.mark.req("C-55")
async def test_nothing_is_asked_of_the_inbox_while_nothing_waits(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    from memstone.adapters.sql.work import SignalsTable

    asked: list[str] = []
    pending_, session = SignalsTable.list_pending, SignalsTable.session

    async def counted_pending(self: SignalsTable, *args: Any) -> Any:
        asked.append("pending")
        return await pending_(self, *args)

    async def counted_session(self: SignalsTable, *args: Any) -> Any:
        asked.append("session")
        return await session(self, *args)

    monkeypatch.setattr(SignalsTable, "list_pending", counted_pending)
    monkeypatch.setattr(SignalsTable, "session", counted_session)

    for number in range(3):
        await face.store(f"fact {number}", user_id="alice")
        await face.add(f"I have {number + 2} cats.", user_id="alice")

    assert asked == ["pending"], "one look after the store was opened"


@pytest.mark.req("C-55", "X-25")
async def test_an_add_does_not_ask_an_embedder_again_that_has_just_failed(face: Face, model: Fragile) -> None:
    await face.store("one", user_id="alice")
    model.down, model.calls = True, 0

    answer = await face.add("What a day!", user_id="alice")

    assert (answer["status"], model.calls) == ("deferred", 1)
    assert texts(await face.get_all(user_id="alice", layers=["turn"])) == ["What a day!"]
