"""One fact that changes several memories: everything the model decides about it is done, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.testing.wire import WireReply, WireRequest, WireServer
from tests.faces.harness import ON_DISK, Face, Opens
from tests.faces.infer_model import Model, configured

_OLD: Final = {
    "live in Oslo": "User lives in Oslo.",
    "work in Oslo": "User works in Oslo for the city.",
    "keep a boat in Oslo": "User keeps a boat in Oslo.",
    "coach football in Oslo": "User coaches football in Oslo.",
    "sing opera in Oslo": "User sings opera in Oslo.",
}
_MOVED: Final = "User lives in Rome, no longer in Oslo."
_NOW: Final = "User lives in Rome, before in Oslo."
_ENDED: Final = ("lives in Oslo", "works in", "a boat")
_ADD: Final = {"operation": "ADD"}
_REVISED: Final = {"operation": "UPDATE", "target": "lives in", "text": _NOW}


def deleted(piece: str) -> dict[str, Any]:
    return {"operation": "DELETE", "target": piece}


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[WireServer]:
    with WireServer(model) as running:
        yield running


@pytest.fixture
def face(opens: Opens, server: WireServer) -> Face:
    return opens(configured(server.url))


async def moved(
    face: Face, model: Model, opens: Opens, *decides: dict[str, Any], count: int = 3
) -> list[tuple[str, str]]:
    """Say the first things, then that one has moved; gives what the second call did."""
    model.knows = dict(list(_OLD.items())[:count])
    await face.add([f"I {words}." for words in model.knows], user_id="alice", infer=True)
    model.knows, model.decides = {"live in Rome, no longer in Oslo": _MOVED}, {_MOVED: list(decides)}
    opens.clock.advance(days=1)
    answer = await face.add("I live in Rome, no longer in Oslo.", user_id="alice", infer=True)
    assert (answer["status"], model.asked[-1]) == ("ok", "operations")
    return [(one["event"], one["memory"]) for one in answer["results"]]


@pytest.mark.req("C-23", "X-14")
async def test_an_update_of_one_memory_and_a_delete_of_another_are_both_done(
    face: Face, model: Model, opens: Opens
) -> None:
    found = await moved(face, model, opens, _REVISED, deleted("a boat"))

    assert found == [("UPDATE", _NOW), ("DELETE", "User keeps a boat in Oslo.")]
    assert sorted(await face.listed()) == [_NOW, "User works in Oslo for the city."]
    stats = await face.stats()
    assert stats["events"] == 5, "three additions, and one event for each of the two changes"


@pytest.mark.req("C-23", "X-14")
async def test_what_is_added_while_another_memory_is_deleted_is_added(face: Face, model: Model, opens: Opens) -> None:
    found = await moved(face, model, opens, deleted("lives in"), {"operation": "ADD"})

    assert sorted(found) == [("ADD", _MOVED), ("DELETE", "User lives in Oslo.")]
    assert _MOVED in await face.listed()
    assert "User lives in Oslo." not in await face.listed()


@pytest.mark.req("C-23", "X-14")
@pytest.mark.parametrize("kept", [{"operation": "ADD"}, _REVISED], ids=["added", "revised"])
async def test_what_ended_names_what_took_its_place(
    face: Face, model: Model, opens: Opens, kept: dict[str, Any]
) -> None:
    gone = [deleted("works in"), deleted("a boat")] if kept is _REVISED else [deleted(one) for one in _ENDED]

    found = await moved(face, model, opens, *gone, kept)

    ended = {text for event, text in found if event == "DELETE"}
    assert len(ended) == len(gone)
    ((new_event, new_text),) = [one for one in found if one[0] != "DELETE"]
    (now,) = [one for one in (await face.get_all(user_id="alice"))["results"] if one["memory"] == new_text]
    feed = (await face.review.events(user_id="alice"))["results"]
    for one in (line for line in feed if line["event"] == "DELETE"):
        last = (await face.history(one["memory_id"]))[-1]
        assert (last["is_deleted"], last["new_id"], one["new_id"]) == (True, now["id"], now["id"])
        assert await face.get(one["memory_id"]) is None
    answer = (await face.review.replacements(user_id="alice"))["results"]
    assert {one["old_memory"]: (one["new_id"], one["new_memory"]) for one in answer if one["event"] == "DELETE"} == (
        dict.fromkeys(ended, (now["id"], new_text))
    )
    turns = (await face.search("Oslo", user_id="alice", layers=["turn"]))["results"]
    overtaken = [one["superseded_by"] for one in turns if "superseded_by" in one]
    assert overtaken == [[{"id": now["id"], "memory": new_text}]] * 3
    assert new_event == ("UPDATE" if kept is _REVISED else "ADD")


@pytest.mark.req("X-14")
async def test_an_answer_tells_all_that_a_statement_replaced(face: Face, model: Model, opens: Opens) -> None:
    model.knows = dict(list(_OLD.items())[:3])
    await face.add([f"I {words}." for words in model.knows], user_id="alice", infer=True)
    model.knows = {"live in Lima": "User lives in Lima."}
    model.decides = {"User lives in Lima.": [*map(deleted, _ENDED), {"operation": "ADD"}]}
    opens.clock.advance(days=1)

    results = (await face.add("I live in Lima.", user_id="alice", infer=True))["results"]

    (added,) = [one for one in results if one["event"] == "ADD"]
    ended = [(one["old_memory"], one["new_id"]) for one in results if one["event"] == "DELETE"]
    assert sorted(ended) == sorted((_OLD[text], added["id"]) for text in list(_OLD)[:3])


@pytest.mark.req("X-14")
async def test_of_two_decisions_about_one_memory_the_last_counts(face: Face, model: Model, opens: Opens) -> None:
    found = await moved(face, model, opens, deleted("lives in"), deleted("a boat"), _REVISED)

    assert sorted(event for event, _ in found) == ["DELETE", "UPDATE"]
    assert _NOW in await face.listed()


@pytest.mark.req("X-14")
async def test_an_answer_that_would_end_more_than_three_memories_is_for_somebody_to_look_at(
    face: Face, model: Model, opens: Opens
) -> None:
    model.knows = dict(_OLD)
    await face.add([f"I {words}." for words in _OLD], user_id="alice")
    model.knows = {"live in Rome, no longer in Oslo": _MOVED}
    model.decides = {_MOVED: [*(deleted(piece) for piece in ("lives in", "works in", "a boat", "football")), _ADD]}
    opens.clock.advance(days=1)

    answer = await face.add("I live in Rome, no longer in Oslo.", user_id="alice")

    assert [one["event"] for one in answer["results"]] == ["ADD"], "what is new is stored all the same"
    assert sorted(one["memory"] for one in answer["review"]) == sorted(list(_OLD.values())[:4])
    assert {one["operation"] for one in answer["review"]} == {"REMOVE"}
    assert len(await face.listed()) == 6
    assert all([await face.get(one["id"]) for one in answer["review"]])


@ON_DISK
@pytest.mark.req("C-23", "X-14")
async def test_when_the_memory_that_takes_a_fact_in_has_changed_meanwhile_the_fact_is_added(
    opens: Opens, server: WireServer, model: Model
) -> None:
    face = opens(configured(server.url))

    def change_it_meanwhile(request: WireRequest) -> WireReply:
        answer = model(request)
        if len(model.asked) > 1:
            with Memory({"store": {"url": opens.url}, "embedder": {"provider": "hash"}}, clock=opens.clock) as other:
                (lives,) = [one for one in other.get_all(user_id="alice")["results"] if "lives" in one["memory"]]
                other.update(lives["id"], f"User lives in Oslo near the harbour, {len(model.asked)} steps from it.")
        return answer

    server.handler = change_it_meanwhile

    found = await moved(face, model, opens, _REVISED, deleted("a boat"))

    assert sorted(found) == [("ADD", _NOW), ("DELETE", "User keeps a boat in Oslo.")]
    stored_text = "User lives in Oslo near the harbour, 3 steps from it."
    assert stored_text in await face.listed(), "somebody's change is not overwritten"


_ADDED: Final = "User no longer lives in Oslo."


@pytest.mark.req("C-23", "C-24", "X-14")
async def test_a_fact_may_change_one_memory_and_be_added_as_well(face: Face, model: Model, opens: Opens) -> None:
    found = await moved(face, model, opens, _REVISED, {"operation": "ADD", "data": _ADDED})

    assert found == [("UPDATE", _NOW), ("ADD", _ADDED)]
    assert sorted(await face.listed()) == sorted([_NOW, _ADDED, *list(_OLD.values())[1:3]])
    assert await face.found("no longer in Oslo", strategy="vector", limit=1) == [_ADDED]


@pytest.mark.req("C-23", "C-24")
@pytest.mark.parametrize("name", ["text", "data", "new_memory"])
async def test_what_is_added_is_added_in_the_words_that_the_model_chose(
    face: Face, model: Model, opens: Opens, name: str
) -> None:
    found = await moved(face, model, opens, {"operation": "ADD", name: _ADDED})

    assert found == [("ADD", _ADDED)]
    (added,) = [one for one in (await face.get_all(user_id="alice"))["results"] if one["memory"] == _ADDED]
    assert added["evidence"]["quote"] == "live in Rome, no longer in Oslo"
    assert (await face.history(added["id"]))[0]["new_value"] == _ADDED
    opens.clock.advance(days=1)
    model.knows, model.decides = {"not live in Oslo": _ADDED}, {}
    again = await face.add("I do not live in Oslo.", user_id="alice")
    assert [one["event"] for one in again["results"]] == ["NONE"], "it is known by its own words"


@pytest.mark.req("C-23", "R-32")
async def test_words_that_nothing_bears_out_are_stored_as_doubtful(face: Face, model: Model, opens: Opens) -> None:
    odd = "User lives in Tokyo with 3 cats."
    assert await moved(face, model, opens, {"operation": "ADD", "text": odd}) == [("ADD", odd)]
    (stored,) = [one for one in (await face.get_all(user_id="alice"))["results"] if one["memory"] == odd]
    assert stored["doubt"] == "it has a number that nobody said"


@pytest.mark.req("C-23", "O-33")
@pytest.mark.parametrize("text", ["", "x" * 5_000])
async def test_words_that_cannot_be_stored_are_reported(face: Face, model: Model, opens: Opens, text: str) -> None:
    model.knows = {"live in Oslo": "User lives in Oslo."}
    model.decides = {"User lives in Oslo.": {"operation": "ADD", "text": text}}
    opens.clock.advance(days=1)

    answer = await face.add("I live in Oslo.", user_id="alice")

    assert answer["results"] == []
    assert [one["text"] for one in answer["dropped"]] == [text]


@pytest.mark.req("C-27")
async def test_what_the_model_takes_for_known_is_reported_though_it_names_no_memory(
    face: Face, model: Model, opens: Opens
) -> None:
    before = await face.stats()
    assert await moved(face, model, opens, {"operation": "NONE"}) == [("NONE", _MOVED)]
    assert sorted(await face.listed()) == sorted(list(_OLD.values())[:3])
    assert (await face.stats())["events"] == before["events"] + 3


@pytest.mark.req("C-3", "C-26")
async def test_what_is_deleted_is_the_old_memory_of_its_event(face: Face, model: Model, opens: Opens) -> None:
    model.knows = {"live in Oslo": "User lives in Oslo."}
    await face.add("I live in Oslo.", user_id="alice")
    model.knows, model.decides = {"live in Rome, no longer in Oslo": _MOVED}, {_MOVED: [deleted("lives in")]}
    opens.clock.advance(days=1)

    (gone,) = (await face.add("I live in Rome, no longer in Oslo.", user_id="alice"))["results"]

    assert (gone["event"], gone["old_memory"], gone["new_memory"]) == ("DELETE", "User lives in Oslo.", None)
    (last,) = [one for one in await face.history(gone["id"]) if one["event"] == "DELETE"]
    assert (last["old_value"], last["new_value"], last["is_deleted"]) == ("User lives in Oslo.", None, True)
