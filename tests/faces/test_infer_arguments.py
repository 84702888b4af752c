"""What a caller may say besides the words when ``add`` learns: metadata, times, and what cannot be meant."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.errors import InvalidFilter, InvalidInput, StorageError
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import ON_DISK, Face, Opens, texts
from tests.faces.infer_steps import kept, told, turns


@pytest.mark.req("N-39")
async def test_text_is_what_a_user_says_and_is_learned_from(face: Face) -> None:
    answer = await face.add("I moved to Berlin", user_id="alice")

    (fact,) = answer["results"]
    assert (answer["status"], fact["event"], fact["memory"]) == ("ok", "ADD", "User moved to Berlin.")
    assert fact["evidence"]["quote"] == "I moved to Berlin"
    assert [turn["memory"] for turn in await turns(face)] == ["I moved to Berlin"]
    assert inspect.signature(Memory.add).parameters["infer"].default is True
    assert inspect.signature(AsyncMemory.add).parameters["infer"].default is True


async def test_what_states_nothing_is_kept_and_is_no_error(face: Face) -> None:
    assert await face.add("Good morning, how are you?", user_id="alice") == {"results": [], "status": "ok"}
    assert await face.listed() == []
    assert [turn["memory"] for turn in await turns(face)] == ["Good morning, how are you?"]
    assert (await face.stats())["memories"] == (await face.stats())["turns"] == 1


@pytest.mark.parametrize("option", [{"key": "home"}, {"kind": "semantic"}])
async def test_what_describes_one_memory_is_refused_before_anything_is_kept(face: Face, option: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(option))) as caught:
        await face.add("I live in Oslo.", user_id="alice", **option)
    assert "infer=False" in caught.value.hint
    assert await kept(face) == []


@pytest.mark.parametrize("option", [{"infer": "no"}, {"infer": None}, {"strict": "false"}])
async def test_yes_or_no_is_not_guessed(face: Face, option: dict[str, Any]) -> None:
    call = {"messages": "I live in Oslo.", "user_id": "alice", **option}
    with pytest.raises(InvalidInput, match=f"{next(iter(option))} must be true or false"):
        await face.add(**call)
    (result,) = (await face.add_many([call]))["results"]
    assert result["status"] == "error"
    assert await kept(face) == []


@pytest.mark.req("C-21")
async def test_instructions_that_no_model_reads_are_refused(opens: Opens) -> None:
    learns, stores = {"prompt": "Only look for drinks."}, {"prompt": "Only look for drinks.", "infer": False}
    by_rules = {"extract": {"strategies": ["pattern"]}}
    model = ScriptedLlm(lambda _: {"facts": []})
    for face, option in ((opens(), learns), (opens(), stores), (opens(by_rules, llm=model), learns)):
        with pytest.raises(InvalidInput, match="prompt") as caught:
            await face.add("I love rum.", user_id="alice", **option)
        assert caught.value.hint
        (result,) = (await face.add_many([{"messages": "I love rum.", "user_id": "alice", **option}]))["results"]
        assert result["error"]["code"] == InvalidInput.code
        assert await kept(face) == []
    assert not model.prompts


async def test_metadata_is_kept_with_facts_and_turns(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo.", opens, metadata={"via": "app", "n": 1})
    await told(face, "I live in Rome.", opens, metadata={"n": 2})

    (fact,) = (await face.get_all(user_id="alice", filters={"via": "app"}))["results"]
    assert (fact["memory"], fact["metadata"]) == ("User lives in Rome.", {"via": "app", "n": 2})
    assert [turn["metadata"] for turn in await turns(face)] == [{"via": "app", "n": 1}, {"n": 2}]


async def test_the_time_it_was_said_dates_facts_and_turns(face: Face) -> None:
    await face.add("I live in Oslo.", user_id="alice", occurred_at="2026-02-01")

    (fact,) = (await face.get_all(user_id="alice"))["results"]
    (turn,) = await turns(face)
    assert fact["occurred_at"] == turn["occurred_at"] == "2026-02-01T00:00:00.000000Z"
    earlier = await face.add("I live in Rome.", user_id="alice", occurred_at="2026-01-01")
    assert [one["reason"] for one in earlier["results"]] == ["a later statement is already known"]
    assert (await face.get_all(user_id="alice"))["results"] == [fact]


@pytest.mark.req("N-38")
async def test_after_its_end_neither_fact_nor_turn_is_seen(face: Face, opens: Opens) -> None:
    tomorrow = opens.clock.now() + timedelta(days=1)
    await told(face, "I love tea.", opens, expires_at=tomorrow)
    assert await face.listed() == ["User loves tea."]

    opens.clock.advance(days=2)
    assert (await face.listed(), await turns(face)) == ([], [])
    assert await face.listed(show_expired=True) == ["User loves tea."]


@pytest.mark.req("N-38")
async def test_what_had_ended_and_is_said_again_is_seen_again(face: Face, opens: Opens) -> None:
    tomorrow = opens.clock.now() + timedelta(days=1)
    first = await face.add("I love tea.", user_id="alice", expires_at=tomorrow)
    opens.clock.advance(days=2)

    again = await face.add("I love tea.", user_id="alice")
    assert [(one["event"], one["reason"]) for one in again["results"]] == [("UPDATE", "it had expired")]
    assert again["results"][0]["id"] == first["results"][0]["id"]
    assert await face.listed() == ["User loves tea."]
    assert (await face.get(again["results"][0]["id"]))["expires_at"] is None


async def test_what_had_ended_does_not_come_back_with_the_old_words_of_a_conversation(face: Face, opens: Opens) -> None:
    tomorrow = opens.clock.now() + timedelta(days=1)
    await face.add("I love tea.", user_id="alice", expires_at=tomorrow)
    opens.clock.advance(days=2)

    await face.add(["I love tea.", "I live in Oslo."], user_id="alice")
    assert await face.listed() == ["User lives in Oslo."]


async def test_a_revision_has_the_end_of_its_own_call(face: Face, opens: Opens) -> None:
    tomorrow = opens.clock.now() + timedelta(days=1)
    await told(face, "I live in Oslo.", opens, expires_at=tomorrow)
    await told(face, "I live in Rome.", opens)

    opens.clock.advance(days=2)
    assert await face.listed() == ["User lives in Rome."]


class _Embedder:
    up = False

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if not self.up:
            raise ConnectionError("no route to host")
        return [[float(len(one)), 1.0] for one in texts]


async def test_metadata_and_end_are_known_when_learning_was_put_off(opens: Opens) -> None:
    embedder = _Embedder()
    face = opens(embedder=embedder)
    tomorrow = opens.clock.now() + timedelta(days=1)
    answer = await face.add("I love tea.", user_id="alice", expires_at=tomorrow, metadata={"via": "app"})
    assert answer["status"] == "deferred"
    assert [turn["metadata"] for turn in await turns(face)] == [{"via": "app"}]

    embedder.up = True
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    assert (fact["memory"], fact["metadata"]) == ("User loves tea.", {"via": "app"})
    opens.clock.advance(days=2)
    assert (await face.listed(), await turns(face)) == ([], [])


@pytest.mark.req("N-49")
async def test_a_batch_is_learned_from_item_by_item(face: Face) -> None:
    items: list[dict[str, Any]] = [
        {"messages": "I live in Oslo.", "user_id": "alice", "metadata": {"n": 1}},
        {"messages": "I live in Rome.", "user_id": "alice"},
        {"messages": "Note: buy tea", "user_id": "alice", "infer": False, "key": "note"},
        {"messages": "I live in Paris.", "user_id": "alice", "key": "home"},
        {"messages": "Hello!", "user_id": "alice"},
        {"messages": "I live in Bonn."},
    ]

    first = await face.add_many(items, idempotency_key="k1")

    assert [one["status"] for one in first["results"]] == ["ok", "ok", "ok", "error", "ok", "error"]
    assert [[change["event"] for change in one["results"]] for one in first["results"]] == [
        ["ADD"],
        ["UPDATE"],
        ["ADD"],
        [],
        [],
        [],
    ]
    assert [first["results"][at]["error"]["code"] for at in (3, 5)] == ["invalid_input", "scope"]
    assert await face.listed() == ["Note: buy tea", "User lives in Rome."]
    assert await face.add_many(items, idempotency_key="k1") == {**first, "replayed": True}
    assert len(await turns(face)) == 3


@pytest.mark.req("N-49")
async def test_a_batch_that_is_sent_again_asks_no_model_again(opens: Opens) -> None:
    model = ScriptedLlm(['{"facts": []}'])
    face = opens(llm=model)
    items = [{"messages": "I love tea.", "user_id": "alice"}]
    first = await face.add_many(items, idempotency_key="k1")

    assert await face.add_many(items, idempotency_key="k1") == {**first, "replayed": True}
    assert len(model.prompts) == 1


@ON_DISK
async def test_a_store_that_fails_fails_the_batch(face: Face, opens: Opens) -> None:
    await face.add("I live in Oslo.", user_id="alice")
    with opens.sql() as database:
        database.execute("CREATE TRIGGER broken BEFORE INSERT ON memories BEGIN SELECT RAISE(ABORT, 'broken'); END")

    with pytest.raises(StorageError, match="broken"):
        await face.add_many([{"messages": "I love tea.", "user_id": "alice"}])


@pytest.mark.req("R-32")
async def test_answers_show_the_words_a_fact_comes_from(face: Face) -> None:
    (added,) = (await face.add("Hello! I love tea. Bye!", user_id="alice"))["results"]

    for visible in (
        added,
        await face.get(added["id"]),
        (await face.get_all(user_id="alice"))["results"][0],
        (await face.search("tea", user_id="alice"))["results"][0],
    ):
        turn = await face.get(visible["evidence"]["turn"])
        assert turn["memory"][visible["evidence"]["start"] : visible["evidence"]["end"]] == "I love tea."
    assert "evidence" not in await face.get(await face.remember("stored as it is"))


async def test_a_text_of_ones_own_has_no_words_it_was_learned_from(face: Face) -> None:
    (added,) = (await face.add("I live in Oslo.", user_id="alice"))["results"]

    assert "evidence" in await face.update(added["id"], metadata={"seen": True})
    changed = await face.update(added["id"], "User lives in Rome.")
    assert (changed["key"], "evidence" in changed) == (None, False)
    assert texts(await face.search("Oslo", user_id="alice", strategy="text")) == []
    named = await face.update(added["id"], key="home")
    assert (await face.update(added["id"], "User lives in Bonn."))["key"] == named["key"] == "home"
    (again,) = (await face.store("Home is Paris", user_id="alice", key="home"))["results"]
    assert (again["event"], again["id"]) == ("UPDATE", added["id"])


async def test_what_was_changed_and_deleted_does_not_come_back_with_the_old_words(face: Face) -> None:
    (added,) = (await face.add("I love tea.", user_id="alice"))["results"]
    await face.update(added["id"], metadata={"seen": True})
    await face.delete(added["id"])

    await face.add(["I love tea.", "I live in Oslo."], user_id="alice")
    assert await face.listed() == ["User lives in Oslo."]


HOME, OFFICE = {"place": "home"}, {"place": "office"}


async def _at_home(opens: Opens) -> Face:
    """Something is known at home; rules replace it by what is said anew."""
    face = opens()
    await told(face, "My favourite editor is Vim.", opens, metadata=HOME)
    assert await face.listed(filters=HOME) == await face.listed() != []
    return face


@pytest.mark.req("C-8", "C-22")
async def test_filters_choose_the_memories_that_new_facts_are_compared_with(opens: Opens) -> None:
    face = await _at_home(opens)
    found = await told(face, "My favourite editor is Emacs.", opens, filters=OFFICE, metadata=OFFICE)
    assert [event for event, _ in found] == ["ADD"], "what is known at home is not looked at"
    assert len(await face.listed()) == 2
    found = await told(face, "My favourite editor is Nano.", opens, filters=HOME, metadata=HOME)
    assert [event for event, _ in found] == ["UPDATE"]
    assert ["Nano" in one for one in await face.listed(filters=HOME)] == [True]
    assert ["Emacs" in one for one in await face.listed(filters=OFFICE)] == [True]


@ON_DISK
@pytest.mark.req("C-8", "X-25")
async def test_filters_hold_for_what_is_learned_later(opens: Opens) -> None:
    await _at_home(opens)
    later = opens({"write": {"mode": "manual"}})
    answer = await later.add("My favourite editor is Emacs.", user_id="alice", filters=OFFICE, metadata=OFFICE)
    assert answer["status"] == "queued"
    await later.sessions.flush(user_id="alice")
    assert len(await later.listed()) == 2


@pytest.mark.req("C-8", "X-41")
async def test_filters_of_add_are_held_to_the_same_rules(opens: Opens) -> None:
    face = await _at_home(opens)
    before = await kept(face)
    for wrong in ({"kind": "factual"}, {"city": {"near": 1}}):
        with pytest.raises(InvalidFilter):
            await face.add("My favourite editor is Emacs.", user_id="alice", filters=wrong)
    digests = opens({"preset": "companion"})
    for memory, option in ((face, {"infer": False}), (digests, {})):
        with pytest.raises(InvalidInput, match="filters choose"):
            await memory.add("My favourite editor is Emacs.", user_id="alice", filters=OFFICE, **option)
    assert await kept(face) == before
