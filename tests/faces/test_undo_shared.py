"""What several hold is taken back for those who changed it, and nobody else notices."""

from __future__ import annotations

import pytest

from memstone.errors import Conflict
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Face, Opens

LISBON = "The office is in Lisbon"


async def shared(face: Face, opens: Opens) -> str:
    """A memory of alice that bob holds as well, since the second day."""
    memory_id = await face.remember(LISBON)
    opens.clock.advance(days=1)
    await face.sharing.share(memory_id, user_id="bob")
    opens.clock.advance(days=1)
    return memory_id


async def newest(face: Face) -> str:
    """The id of what happened last."""
    event_id: str = (await face.review.events(limit=1_000, everybody=True))["results"][-1]["id"]
    return event_id


@pytest.mark.req("X-10")
async def test_sharing_is_taken_back_and_done_again(face: Face, opens: Opens) -> None:
    memory_id = await shared(face, opens)

    await face.undo(await newest(face))
    assert await face.listed(user_id="bob") == []
    assert await face.found("office", user_id="bob") == []
    assert await face.listed() == [LISBON]

    await face.undo(await newest(face))
    assert await face.found("office", user_id="bob") == [LISBON]
    assert [one["event"] for one in await face.history(memory_id)] == ["ADD", "LINK", "UNLINK", "LINK"]


@pytest.mark.req("X-10", "X-30")
async def test_what_one_deletes_of_a_shared_memory_comes_back_to_them(face: Face, opens: Opens) -> None:
    memory_id = await shared(face, opens)
    await face.update(memory_id, f"{LISBON} now")
    opens.clock.advance(days=1)
    await face.delete_all(user_id="bob")
    assert await face.listed(user_id="bob", as_of="2026-01-02T12:00:00Z") == []
    assert await face.listed() == [f"{LISBON} now"]

    await face.undo(await newest(face))

    assert await face.found("office", user_id="bob") == [f"{LISBON} now"]
    assert await face.listed(user_id="bob", as_of="2026-01-02T12:00:00Z") == [LISBON]
    await face.undo(await newest(face))
    assert await face.listed(user_id="bob") == []


@pytest.mark.req("X-10")
async def test_a_replacement_for_one_holder_is_taken_back_and_done_again(face: Face, opens: Opens) -> None:
    memory_id = await shared(face, opens)
    answer = await face.sharing.replace(memory_id, "The office is in Porto", user_id="bob")
    assert answer["id"] != memory_id
    opens.clock.advance(days=1)

    undone = await face.undo(await newest(face))

    assert await face.found("office", user_id="bob") == [LISBON]
    assert await face.listed() == [LISBON]
    assert await face.get(answer["id"]) is None
    assert await face.listed(user_id="bob", as_of="2026-01-02T12:00:00Z") == [LISBON]
    stats = await face.stats()
    assert (stats["memories"], stats["fulltext"], stats["vectors"]) == (1, 1, 1)

    assert undone["job_id"]
    await face.undo(job_id=undone["job_id"])
    assert await face.found("office", user_id="bob") == ["The office is in Porto"]
    assert await face.listed() == [LISBON]


async def test_what_was_shared_is_not_changed_back_over_the_head_of_somebody_who_split_from_it(
    face: Face, opens: Opens
) -> None:
    memory_id = await shared(face, opens)
    await face.update(memory_id, "The office is in Faro")
    updated = await newest(face)
    await face.sharing.replace(memory_id, "The office is in Porto", user_id="bob")

    with pytest.raises(Conflict, match="REPLACE"):
        await face.undo(updated)
    assert await face.listed(user_id="bob") == ["The office is in Porto"]
    assert await face.listed() == ["The office is in Faro"]


async def shared_in_talk(face: Face, opens: Opens) -> str:
    """A fact that alice told and bob holds as well, since the second day; gives its id."""
    (fact,) = (await face.add("I have a dog named Rex.", user_id="alice"))["results"]
    opens.clock.advance(days=1)
    await face.sharing.share(fact["id"], user_id="bob")
    opens.clock.advance(days=1)
    return str(fact["id"])


async def test_a_fact_that_one_holder_retracted_in_talk_comes_back_to_them_once(opens: Opens) -> None:
    known = {"op": "ADD", "memory": None, "text": "User has a dog named Rex.", "quote": "I have a dog named Rex"}
    ended = {"op": "REMOVE", "memory": 1, "text": None, "quote": "Rex died"}
    face = opens(llm=ScriptedLlm([{"operations": [{"turns": [1], **one}]} for one in (known, ended)]))
    fact_id = await shared_in_talk(face, opens)
    (gone,) = (await face.add("Rex died.", user_id="bob"))["results"]
    assert gone["event"] == "DELETE"
    assert await face.listed(user_id="bob") == []
    then = {"user_id": "bob", "as_of": "2026-01-02T12:00:00Z"}
    assert len(await face.listed(**then)) == 1, "it was true until now"

    history = await face.history(fact_id)
    assert history[-1]["event"] == "UNLINK"
    await face.undo(history[-1]["id"])

    assert len(await face.listed(user_id="bob")) == 1
    assert len(await face.listed(**then)) == 1, "and not twice"


@pytest.mark.req("X-10")
async def test_a_fact_that_one_holder_amended_in_talk_is_theirs_alone_and_taken_back(face: Face, opens: Opens) -> None:
    fact_id = await shared_in_talk(face, opens)
    (changed,) = (await face.add("Rex died.", user_id="bob"))["results"]
    assert (changed["event"], changed["id"] != fact_id) == ("REPLACE", True)
    assert changed["memory"].startswith("User has a dog named Rex. On 2026-01-03: ")
    assert await face.listed(user_id="bob") == [changed["memory"]]
    assert await face.listed() == ["User has a dog named Rex."]

    await face.undo(await newest(face))

    assert await face.listed(user_id="bob") == await face.listed() == ["User has a dog named Rex."]
