"""What must come out alike, whichever way a memory is asked.

Each scenario is a coroutine over a ``Face`` whose methods are awaited, and is told nothing about what stands behind it.
Those marked ``tools`` use only what the tools of a model cover.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

from memstone.errors import Conflict, InvalidFilter, InvalidInput, NotFoundError, ScopeError, TooLarge
from memstone.model.instant import to_instant
from memstone.testing.clock import FakeClock
from tests.faces.harness import Face, ids, texts

Run = Callable[[Face, FakeClock], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """One thing people do; with ``tools`` it can also be done by the tools of a model."""

    run: Run
    tools: bool = False
    whole: bool = False
    """Whether it takes somebody who reaches the whole tenant."""

    @property
    def title(self) -> str:
        """Its name, as a sentence."""
        return str(getattr(self.run, "__name__", "")).removeprefix("_")


SCENARIOS: Final[list[Scenario]] = []


def scenario(*, tools: bool = False, is_complete: bool = False) -> Callable[[Run], Run]:
    """Put a coroutine on the list."""

    def listed(run: Run) -> Run:
        SCENARIOS.append(Scenario(run, tools=tools, whole=is_complete))
        return run

    return listed


async def events_of(face: Face, text: str, user: str = "alice") -> list[tuple[str, str]]:
    """What became of something that was said."""
    answer = await face.add(text, user_id=user)
    return [(one["event"], one["memory"]) for one in answer["results"]]


@scenario(tools=True)
async def _a_fact_is_learned_in_the_third_person_and_found_by_meaning(face: Face, clock: FakeClock) -> None:
    assert await events_of(face, "I live in Oslo") == [("ADD", "User lives in Oslo.")]
    assert (await face.found("Where does the user live? Oslo?"))[0] == "User lives in Oslo."


@scenario(tools=True)
async def _a_greeting_is_nothing_to_remember(face: Face, clock: FakeClock) -> None:
    assert await events_of(face, "Hello there!") == []


@scenario(tools=True)
async def _no_more_is_found_than_was_asked_for(face: Face, clock: FakeClock) -> None:
    for place in ("Oslo", "Rome", "Bergen"):
        await face.add(f"I have a friend in {place}.", user_id="alice")
    assert len(await face.found("friend", limit=2)) == 2


@scenario()
async def _a_memory_is_got_by_its_id_and_an_unknown_id_gives_nothing(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("tea is on the shelf", metadata={"room": "kitchen"})
    item = await face.get(memory_id)
    assert (item["memory"], item["metadata"], item["version"]) == ("tea is on the shelf", {"room": "kitchen"}, 1)
    assert await face.get("no-such-id") is None


@scenario()
async def _all_are_listed_newest_first(face: Face, clock: FakeClock) -> None:
    for text in ("one", "two", "three"):
        await face.remember(text)
        clock.advance(seconds=1)
    assert await face.listed() == ["three", "two", "one"]
    assert await face.listed(limit=1, offset=1) == ["two"]
    assert await face.listed(q="thr") == ["three"]


@scenario()
async def _an_update_overwrites_and_changes_the_hash(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("I live in Oslo", key="home")
    before = await face.get(memory_id)
    after = await face.update(memory_id, "I live in Rome")
    assert (after["memory"], after["version"], after["key"]) == ("I live in Rome", 2, "home")
    assert after["hash"] != before["hash"]
    assert (await face.update(memory_id, key=None))["key"] is None
    with pytest.raises(NotFoundError):
        await face.update("no-such-id", "text")


@scenario()
async def _what_is_deleted_is_gone_and_its_history_says_so(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("tea is on the shelf")
    await face.delete(memory_id)
    assert await face.get(memory_id) is None
    assert await face.found("tea") == []
    last = (await face.history(memory_id))[-1]
    assert (last["event"], last["is_deleted"]) == ("DELETE", True)
    with pytest.raises(NotFoundError) as caught:
        await face.delete(memory_id)
    assert caught.value.hint


@scenario()
async def _what_a_person_deleted_is_not_taken_back_from_a_transcript(face: Face, clock: FakeClock) -> None:
    turn = {"role": "user", "content": "I hid the key under the mat", "timestamp": "2025-12-01T09:00:00Z"}
    await face.ingest([turn], user_id="alice")
    (found,) = (await face.search("key under the mat", user_id="alice", layers=["turn"]))["results"]
    await face.delete(found["id"])
    again = await face.ingest([turn], user_id="alice")
    assert (again["stored"], again["deleted"]) == (0, 1)
    assert await face.found("key under the mat", layers=["turn"]) == []


@scenario(tools=True)
async def _a_scope_is_emptied_and_the_others_are_not(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo", user_id="alice")
    await face.add("I live in Rome", user_id="bob")
    gone = await face.delete_all(user_id="alice")
    assert gone["deleted"] >= 1
    assert await face.found("live") == []
    assert await face.found("live", user_id="bob") == ["User lives in Rome."]


@scenario(is_complete=True)
async def _a_reset_empties_everything(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("one")
    await face.remember("two", user_id="bob")
    await face.reset()
    assert await face.listed() == await face.listed(user_id="bob") == []
    assert await face.history(memory_id) == []


@scenario(tools=True)
async def _the_same_fact_twice_is_stored_once(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo", user_id="alice")
    assert await events_of(face, "I live in Oslo") == [("NONE", "User lives in Oslo.")]


@scenario(tools=True)
async def _a_contradiction_revises_what_was_known(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo", user_id="alice")
    clock.advance(days=1)
    ((event, text),) = await events_of(face, "I moved to Berlin.")
    assert event == "UPDATE"
    assert "Berlin" in text
    assert await face.found("Where does the user live?", limit=3) == [text]


@scenario()
async def _a_profile_shows_what_matters_and_what_a_person_decided(face: Face, clock: FakeClock) -> None:
    for text in ("I love jazz.", "I am allergic to nuts.", "I live in Oslo."):
        await face.add(text, user_id="alice")
    known = await face.profile.get(user_id="alice")
    assert [one["about"] for one in known["facts"]] == ["health", "home", "preference"]
    nuts, home, jazz = (one["id"] for one in known["facts"])

    assert (await face.profile.set_visibility(jazz, "pinned"))["event"] == "UPDATE"
    assert (await face.profile.set_visibility(home, "hidden"))["visibility"] == "hidden"
    await face.profile.set_visibility(nuts, "private")

    known = await face.profile.get(user_id="alice", tokens=100)
    assert [(one["id"], one["about"]) for one in known["facts"]] == [(jazz, "pinned")]
    assert {one["id"]: one["reason"] for one in known["left_out"]} == {
        home: "hidden by the user",
        nuts: "marked private",
    }
    assert known["profile_tokens"] == 100
    text = (await face.context("What is the capital of Peru?", user_id="alice")).text
    assert "jazz" in text
    assert "Oslo" not in text
    assert "nuts" not in text
    assert (await face.profile.get(user_id="bob"))["facts"] == []
    assert (await face.get(nuts))["visibility"] == "private"
    with pytest.raises(InvalidInput):
        await face.profile.set_visibility(nuts, "secret")
    with pytest.raises(InvalidInput):
        await face.profile.get(user_id="alice", tokens=-1)
    with pytest.raises(NotFoundError):
        await face.profile.set_visibility("nobody", "pinned")


@scenario(tools=True)
async def _what_is_taken_back_is_deleted(face: Face, clock: FakeClock) -> None:
    await face.add("I love tea.", user_id="alice")
    clock.advance(days=1)
    assert await events_of(face, "Forget that I love tea.") == [("DELETE", "User loves tea.")]
    assert await face.found("tea") == []


@scenario()
async def _one_message_may_do_several_things(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo. I love tea.", user_id="alice")
    clock.advance(days=1)
    found = dict(await events_of(face, "I have two cats. I love tea. I moved to Berlin."))
    assert set(found) == {"ADD", "NONE", "UPDATE"}
    assert "cats" in found["ADD"]


@scenario(tools=True)
async def _nobody_finds_what_another_user_said(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo", user_id="alice")
    assert await face.found("Oslo", user_id="bob") == []


@scenario()
async def _a_memory_of_user_and_agent_is_found_by_either_or_both(face: Face, clock: FakeClock) -> None:
    await face.remember("tea", user_id="alice", agent_id="guide")
    for scope in ({"user_id": "alice"}, {"agent_id": "guide"}, {"user_id": "alice", "agent_id": "guide"}):
        assert await face.listed(**scope) == ["tea"], scope
    assert await face.listed(user_id="alice", agent_id="other") == []


@scenario()
async def _who_names_nobody_is_told_so(face: Face, clock: FakeClock) -> None:
    calls = (face.add("I live in Oslo"), face.search("Oslo"), face.get_all(), face.delete_all(), face.context("Oslo?"))
    for call in calls:
        with pytest.raises(ScopeError, match="user_id, agent_id, or run_id"):
            await call


@scenario()
async def _runs_are_apart_and_their_user_sees_them_all(face: Face, clock: FakeClock) -> None:
    await face.remember("tea", user_id="alice", run_id="r1")
    assert await face.listed(user_id="alice", run_id="r2") == []
    assert await face.listed(run_id="r1") == await face.listed() == ["tea"]


@scenario()
async def _a_history_tells_everything_in_order(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("one")
    clock.advance(hours=1)
    await face.update(memory_id, "two")
    lines = [(line["event"], line["old_value"], line["new_value"]) for line in await face.history(memory_id)]
    assert lines == [("ADD", None, "one"), ("UPDATE", "one", "two")]
    times = [line["timestamp"] for line in await face.history(memory_id)]
    assert times == sorted(times)


FILTERS: Final[list[tuple[dict[str, Any], list[str]]]] = [
    ({"room": "kitchen"}, ["cup"]),
    ({"field": "room", "operator": "in", "value": ["kitchen", "hall"]}, ["cup", "hat"]),
    ({"AND": [{"room": "kitchen"}, {"count": {"gte": 2}}]}, ["cup"]),
    ({"OR": [{"room": "hall"}, {"count": {"gte": 9}}]}, ["bed", "hat"]),
    ({"NOT": [{"room": "kitchen"}]}, ["bed", "hat"]),
    ({"field": "room", "operator": "contains", "value": "room"}, ["bed"]),
]


@scenario()
async def _filters_keep_what_fits_and_are_never_ignored(face: Face, clock: FakeClock) -> None:
    for text, room, count in (("cup", "kitchen", 3), ("hat", "hall", 1), ("bed", "bedroom", 9)):
        await face.remember(text, metadata={"room": room, "count": count})
    for filters, wanted in FILTERS:
        found = await face.search("cup hat bed", user_id="alice", filters=filters)
        assert sorted(texts(found)) == wanted, filters
    with pytest.raises(InvalidFilter):
        await face.search("cup", user_id="alice", filters={"field": "room", "operator": "resembles", "value": "x"})


@scenario()
async def _people_and_where_they_work_are_known(face: Face, clock: FakeClock) -> None:
    await face.add("My sister Anna works at Contoso.", user_id="alice")
    types = {one["name"]: one["type"] for one in (await face.graph.entities(user_id="alice"))["results"]}
    assert (types["Anna"], types["Contoso"]) == ("person", "organization")
    edges = (await face.graph.relations(user_id="alice"))["results"]
    assert ("Anna", "works_at", "Contoso") in [(one["source"], one["relation"], one["target"]) for one in edges]


@scenario()
async def _a_change_can_be_taken_back(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("I live in Oslo")
    await face.update(memory_id, "I live in Rome")
    (line,) = [one for one in await face.history(memory_id) if one["event"] == "UPDATE"]
    undone = await face.undo(line["id"])
    assert undone["undone"] == 1
    assert (await face.get(memory_id))["memory"] == "I live in Oslo"


@scenario()
async def _a_search_may_ask_what_was_known_at_a_time(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("I live in Oslo")
    then = to_instant(clock.advance(hours=1))
    clock.advance(hours=1)
    await face.update(memory_id, "I live in Rome")
    assert await face.found("live", as_of=then) == ["I live in Oslo"]
    assert await face.listed(as_of=then) == ["I live in Oslo"]
    assert await face.found("live") == ["I live in Rome"]


@scenario()
async def _a_memory_may_be_held_by_several(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("the door code is 4711")
    shared = await face.sharing.share(memory_id, user_id="bob")
    assert shared["event"] != "NONE"
    assert await face.listed(user_id="bob") == ["the door code is 4711"]
    await face.sharing.unshare(memory_id, user_id="bob")
    assert await face.listed(user_id="bob") == []
    assert await face.listed() == ["the door code is 4711"]


@scenario()
async def _what_a_user_wrote_about_themselves_is_in_every_context(face: Face, clock: FakeClock) -> None:
    identity = await face.identity.add_override("Always answer in metric units", user_id="alice")
    assert [one["text"] for one in identity["overrides"]] == ["Always answer in metric units"]
    await face.remember("the shelf is 30 inches wide")
    pack = await face.context("How wide is the shelf?", user_id="alice")
    assert "metric units" in pack.text
    assert (await face.identity.remove_override(0, user_id="alice"))["overrides"] == []


@scenario()
async def _a_batch_is_carried_out_once(face: Face, clock: FakeClock) -> None:
    items = [{"messages": "one", "user_id": "alice"}, {"messages": "nobody"}]
    first = await face.store_many(items, idempotency_key="k1")
    again = await face.store_many(items, idempotency_key="k1")
    assert again == {**first, "replayed": True}
    assert first["results"][1]["error"]["code"] == "scope"
    assert await face.listed() == ["one"]
    with pytest.raises(Conflict) as caught:
        await face.store_many([{"messages": "two", "user_id": "alice"}], idempotency_key="k1")
    assert caught.value.hint
    (memory_id,) = ids(first["results"][0])
    changed = await face.update_many([{"memory_id": memory_id, "text": "uno"}, {"memory_id": "x", "text": "y"}])
    assert changed["results"][1]["error"]["code"] == "not_found"
    assert await face.listed() == ["uno"]
    await face.delete_many([memory_id])
    assert await face.listed() == []


@scenario()
async def _what_has_expired_is_no_longer_seen(face: Face, clock: FakeClock) -> None:
    end = to_instant(clock.now().replace(microsecond=0)).replace("Z", "+00:00")
    clock.advance(days=-1)
    memory_id = await face.remember("the code is 4711", expires_at=end)
    assert await face.found("code") == ["the code is 4711"]
    clock.advance(days=1, seconds=1)
    assert await face.found("code") == await face.listed() == []
    assert await face.listed(show_expired=True) == ["the code is 4711"]
    assert (await face.update(memory_id, expires_at=None))["expires_at"] is None
    assert await face.listed() == ["the code is 4711"]


@scenario()
async def _a_context_says_where_it_comes_from(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo", user_id="alice")
    pack = await face.context("Where do I live?", user_id="alice")
    assert "User lives in Oslo." in pack.text
    assert pack.citations[0].line in pack.text
    receipt = await face.receipt(pack.receipt_id)
    assert [one["id"] for one in receipt["chosen"]] == [pack.citations[0].memory_id]
    assert await face.receipt("no-such-id") is None
    assert not (await face.context("Where do I live?", user_id="bob")).text


@scenario(tools=True)
async def _a_context_is_text_for_a_prompt(face: Face, clock: FakeClock) -> None:
    await face.add("I live in Oslo", user_id="alice")
    assert "User lives in Oslo." in (await face.context("Where do I live?", user_id="alice")).text


@scenario()
async def _while_paused_nothing_is_stored(face: Face, clock: FakeClock) -> None:
    await face.settings.pause(user_id="alice")
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "paused"
    assert len((await face.settings.pauses(user_id="alice"))["paused"]) == 1
    await face.settings.resume(user_id="alice")
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "ok"


@scenario()
async def _a_memory_can_be_put_aside(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("tea is on the shelf")
    await face.review.disable(memory_id)
    assert await face.found("tea") == []
    assert await face.listed(status="disabled") == ["tea is on the shelf"]
    await face.review.enable(memory_id)
    assert await face.found("tea") == ["tea is on the shelf"]


@scenario(is_complete=True)
async def _an_export_can_be_put_back(face: Face, clock: FakeClock) -> None:
    memory_id = await face.remember("one")
    await face.update(memory_id, "two")
    lines = await face.export(user_id="alice")
    await face.reset()
    counts = await face.load(lines)
    assert (counts["memories"], counts["already_there"]) == (2, 0)
    assert await face.listed() == ["two"]
    assert [one["event"] for one in await face.history(memory_id)] == ["ADD", "UPDATE"]


@scenario()
async def _what_cannot_be_is_refused_and_nothing_is_written(face: Face, clock: FakeClock) -> None:
    with pytest.raises(InvalidInput):
        await face.add([], user_id="alice")
    with pytest.raises(InvalidInput):
        await face.add("text", user_id="alice", infer=False, occurred_at="some day")
    with pytest.raises(InvalidInput):
        await face.search("text", user_id="alice", limit=0)
    with pytest.raises(TooLarge):
        await face.add("x" * 2_000_000, user_id="alice")
    assert await face.listed() == []
