"""What ``add(infer=True)`` learns by rules: the facts, and what later words do to them."""

from __future__ import annotations

import hashlib
import uuid

import pytest

from memstone import ScopeError
from tests.faces.harness import Face, Opens, ids
from tests.faces.infer_steps import LOCAL, kept, told, turns


@pytest.fixture
def real(opens: Opens) -> Face:
    return opens(LOCAL)


# --- the example everybody starts with --------------------------------------------------------------------------------


@pytest.mark.req("C-58.2", "C-58.15", "C-25")
async def test_a_first_conversation_and_a_new_job(real: Face, opens: Opens) -> None:
    first = await told(
        real,
        [
            {"role": "user", "content": "Hi, I'm Alice. I work at Acme Corp as a data scientist."},
            {"role": "assistant", "content": "Nice to meet you, Alice! What kind of problems do you work on?"},
            {"role": "user", "content": "Mostly NLP and recommendation systems. I prefer PyTorch over TensorFlow."},
        ],
        opens,
    )

    assert [event for event, _ in first] == ["ADD"] * 4
    name, work, field, tool = (memory for _, memory in first)
    assert "Alice" in name
    assert work == "User works at Acme Corp as a data scientist."
    assert "NLP" in field
    assert "recommendation systems" in field
    assert tool == "User prefers PyTorch over TensorFlow."
    before = {item["memory"]: item for item in (await real.get_all(user_id="alice"))["results"]}

    opens.clock.advance(days=30)
    second = await real.add("I just switched jobs. I'm now at BigTech Inc.", user_id="alice", infer=True)

    told_as_well, change = second["results"]
    assert (told_as_well["event"], told_as_well["memory"]) == ("ADD", "User just switched jobs.")
    amended = f'{work} On 2026-01-31: "I\'m now at BigTech Inc.".'
    assert (change["event"], change["memory"]) == ("UPDATE", amended), "the trade is not lost with the employer"
    assert (change["id"], change["old_memory"]) == (before[work]["id"], work)
    assert sorted(await real.listed()) == sorted([name, change["memory"], told_as_well["memory"], field, tool])
    now = await real.get(change["id"])
    assert now["version"] == 2
    assert now["created_at"] == before[work]["created_at"] < now["updated_at"]
    assert now["hash"] != before[work]["hash"]
    past = await real.history(change["id"])
    assert [(one["event"], one["old_value"], one["new_value"]) for one in past] == [
        ("ADD", None, work),
        ("UPDATE", work, change["memory"]),
    ]
    found = await real.search("BigTech Inc", user_id="alice", strategy="vector", layers=["fact"])
    assert found["results"][0]["id"] == change["id"]


# --- one fact ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("C-58.1", "C-24")
async def test_one_fact_becomes_one_memory_in_the_third_person(face: Face, opens: Opens) -> None:
    answer = await face.add("I live in Oslo.", user_id="alice", agent_id="guide", metadata={"via": "app"}, infer=True)

    (added,) = answer["results"]
    assert (added["event"], added["memory"], added["old_memory"]) == ("ADD", "User lives in Oslo.", None)
    assert answer["status"] == "ok"
    assert str(uuid.UUID(added["id"])) == added["id"]
    item = await face.get(added["id"])
    assert item["hash"] == hashlib.md5(b"User lives in Oslo.", usedforsecurity=False).hexdigest()
    assert (item["user_id"], item["agent_id"], item["metadata"]) == ("alice", "guide", {"via": "app"})
    assert (item["layer"], item["version"], item["role"]) == ("fact", 1, "user")
    (event,) = await face.history(added["id"])
    assert (event["event"], event["old_value"], event["new_value"]) == ("ADD", None, "User lives in Oslo.")
    stats = await face.stats()
    assert stats["memories"] == stats["vectors"] == stats["fulltext"] == 2, "the fact and the turn"
    (hit,) = (await face.search("User lives in Oslo.", user_id="alice", strategy="vector"))["results"]
    assert (hit["id"], hit["score"]) == (added["id"], pytest.approx(1.0))


@pytest.mark.req("C-58.3", "X-25")
@pytest.mark.parametrize("said", ["Hello there!", "hi", "Good morning :)", "Thanks, bye!", "How are you?"])
async def test_a_greeting_teaches_nothing_and_that_is_no_failure(face: Face, said: str) -> None:
    answer = await face.add(said, user_id="alice", infer=True)

    assert answer == {"results": [], "status": "ok"}
    assert await face.listed() == []
    assert [turn["memory"] for turn in await turns(face)] == [said]
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("C-58.14", "C-27", "R-31", "P-14")
@pytest.mark.parametrize("again", ["I love tea.", "I love tea!", "I really love tea."])
async def test_the_same_again_changes_nothing_and_is_said_so(real: Face, opens: Opens, again: str) -> None:
    ((_, text),) = await told(real, "I love tea.", opens, agent_id="guide", run_id="monday")
    (before,) = (await real.get_all(user_id="alice"))["results"]
    events = (await real.stats())["events"]

    opens.clock.advance(days=1)
    answer = await real.add(again, user_id="alice", agent_id="guide", run_id="monday", metadata={"n": 2}, infer=True)

    (none,) = answer["results"]
    assert (none["event"], none["id"], none["memory"]) == ("NONE", before["id"], text)
    assert none["reason"]
    assert (await real.get_all(user_id="alice"))["results"] == [before], "not moved, not touched"
    assert (await real.stats())["events"] == events
    assert len(await real.history(before["id"])) == 1


@pytest.mark.req("R-31", "X-40")
async def test_what_is_repeated_in_another_run_is_one_memory_that_both_runs_find(face: Face, opens: Opens) -> None:
    await told(face, "I love tea.", opens, run_id="one")
    (before,) = (await face.get_all(user_id="alice"))["results"]

    assert await told(face, "I love tea.", opens, run_id="two") == [("NONE", "User loves tea.")]

    for where in ({}, {"run_id": "one"}, {"run_id": "two"}):
        (after,) = (await face.get_all(user_id="alice", **where))["results"]
        assert {**after, "run_id": None} == {**before, "run_id": None}, "nothing is written but the link"
    assert (await face.get_all(user_id="alice", run_id="three"))["results"] == []


@pytest.mark.req("X-40")
async def test_what_is_changed_in_another_run_shows_its_new_version_in_both(real: Face, opens: Opens) -> None:
    await told(real, "I live in New York City.", opens, run_id="one")
    ((event, text),) = await told(real, "I moved to San Francisco.", opens, run_id="two")

    assert event == "UPDATE"
    for where in ({}, {"run_id": "one"}, {"run_id": "two"}):
        assert [one["memory"] for one in (await real.get_all(user_id="alice", **where))["results"]] == [text]


# --- what changes -----------------------------------------------------------------------------------------------------


@pytest.mark.req("C-58.15", "C-25")
async def test_a_move_revises_where_one_lives(real: Face, opens: Opens) -> None:
    memory_id = (await real.add("I live in New York City.", user_id="alice", infer=True))["results"][0]["id"]

    ((event, text),) = await told(real, "I moved to San Francisco.", opens)

    assert event == "UPDATE"
    assert "San Francisco" in text
    assert await real.listed() == [text]
    assert (await real.get(memory_id))["version"] == 2


@pytest.mark.req("C-58.17")
@pytest.mark.parametrize(
    ("was", "now", "gone"),
    [
        ("I work at Acme.", "I don't work at Acme anymore.", "works at Acme"),
        ("I have a dog.", "I no longer have a dog.", "User has a dog"),
    ],
)
async def test_a_negation_revises_or_ends_what_it_denies(
    real: Face, opens: Opens, was: str, now: str, gone: str
) -> None:
    ((_, old),) = await told(real, was, opens)
    assert gone in old

    ((event, _),) = await told(real, now, opens)

    assert event in ("UPDATE", "DELETE")
    assert old not in await real.listed()
    assert not any(gone in text and now not in text for text in await real.listed())


@pytest.mark.req("C-58.16")
async def test_a_refinement_is_merged_into_what_it_refines(real: Face, opens: Opens) -> None:
    await told(real, "I have a dog.", opens)
    (before,) = (await real.get_all(user_id="alice"))["results"]

    assert await told(real, "I have a dog named Rex.", opens) == [("UPDATE", "User has a dog named Rex.")]

    (after,) = (await real.get_all(user_id="alice"))["results"]
    assert (after["id"], after["version"]) == (before["id"], 2)


@pytest.mark.req("P-14")
async def test_less_than_is_known_is_nothing_new(real: Face, opens: Opens) -> None:
    await told(real, "I have a dog named Rex.", opens)

    assert await told(real, "I have a dog.", opens) == [("NONE", "User has a dog named Rex.")]


@pytest.mark.req("C-26")
async def test_what_is_to_be_forgotten_is_deleted_and_its_history_stays(face: Face, opens: Opens) -> None:
    await told(face, "I love tea. I live in Oslo.", opens)
    tea = next(item for item in (await face.get_all(user_id="alice"))["results"] if "tea" in item["memory"])

    ((event, text),) = await told(face, "Forget that I love tea.", opens)

    assert (event, text) == ("DELETE", "User loves tea.")
    assert await face.listed() == ["User lives in Oslo."]
    assert await face.get(tea["id"]) is None
    assert tea["id"] not in ids(await face.search("tea", user_id="alice"))
    last = (await face.history(tea["id"]))[-1]
    assert (last["event"], last["old_value"], last["new_value"]) == ("DELETE", "User loves tea.", None)
    assert last["is_deleted"] is True


@pytest.mark.req("C-58.18")
async def test_one_message_may_add_revise_repeat_and_delete(real: Face, opens: Opens) -> None:
    await told(real, "I live in Oslo. I love tea. I play the cello.", opens)

    found = await told(real, "I have two cats. I love tea. I moved to Berlin. Forget that I play the cello.", opens)

    assert sorted(event for event, _ in found) == ["ADD", "DELETE", "NONE", "UPDATE"]
    by_event = dict(found)
    assert "cats" in by_event["ADD"]
    assert "tea" in by_event["NONE"]
    assert "Berlin" in by_event["UPDATE"]
    assert "cello" in by_event["DELETE"]
    assert sorted(await real.listed()) == sorted([by_event["ADD"], by_event["NONE"], by_event["UPDATE"]])


@pytest.mark.req("P-19", "C-58.19")
async def test_nobody_changes_what_another_user_said(face: Face, opens: Opens) -> None:
    await told(face, "I love tea.", opens)

    assert await told(face, "I love tea.", opens, user_id="bob") == [("ADD", "User loves tea.")]
    assert (await told(face, "I hate tea.", opens, user_id="bob"))[0][0] == "UPDATE"

    assert await face.listed() == ["User loves tea."]
    assert await face.found("tea") == ["User loves tea."]
    assert await face.found("tea", user_id="bob") == ["User hates tea."]
    assert [turn["memory"] for turn in await turns(face, user_id="bob")] == ["I love tea.", "I hate tea."]


async def test_somebody_has_to_be_named(face: Face) -> None:
    with pytest.raises(ScopeError):
        await face.add("I love tea.", infer=True)
    assert (await face.stats())["memories"] == 0


# --- back and forth ---------------------------------------------------------------------------------------------------


@pytest.mark.req("D-13", "P-21")
async def test_of_two_stances_the_later_one_lives_and_the_history_shows_all(face: Face, opens: Opens) -> None:
    texts = ["I love tea.", "I hate tea.", "I love tea.", "I hate tea."]
    events = [(await told(face, one, opens))[0] for one in texts]

    assert [event for event, _ in events] == ["ADD", "UPDATE", "UPDATE", "UPDATE"]
    (live,) = (await face.get_all(user_id="alice"))["results"]
    assert (live["memory"], live["version"]) == ("User hates tea.", 4)
    past = await face.history(live["id"])
    assert [one["new_value"] for one in past] == ["User loves tea.", "User hates tea."] * 2
    assert [turn["memory"] for turn in await turns(face)] == texts


@pytest.mark.req("D-13", "P-21")
async def test_what_was_said_before_never_replaces_what_was_said_after(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo. I love tea.", opens, occurred_at="2025-06-01")
    before = await kept(face)

    older = await told(face, "I live in Bergen. I hate tea.", opens, occurred_at="2024-06-01")

    assert older == [("ADD", "User lives in Bergen."), ("ADD", "User hates tea.")]  # as it was then
    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]
    facts = [line for line in await kept(face) if line["layer"] == "fact" and line["valid_to"] is None]
    assert facts == [line for line in before if line["layer"] == "fact"]
    then = await face.search("Where does she live?", user_id="alice", as_of="2024-12-01", layers=["fact"])
    assert sorted(one["memory"] for one in then["results"]) == ["User hates tea.", "User lives in Bergen."]
    newer = await told(face, "I live in Bergen. I hate tea.", opens, occurred_at="2025-06-02")
    assert [event for event, _ in newer] == ["UPDATE", "UPDATE"]


@pytest.mark.req("P-21")
async def test_what_several_later_memories_contradict_is_stored_once_as_it_was_then(face: Face, opens: Opens) -> None:
    said = "I live in {0} and on day {1} I told you that I work as a gardener in {0} Park, as always."
    for day in range(2):
        await told(face, said.format("Oslo", day), opens, occurred_at=f"2025-06-0{1 + day}")
    older = await told(face, said.format("Rome", 0), opens, occurred_at="2024-06-01")
    assert "User lives in Rome and on day 0." in [text for _, text in older]
    facts = [line for line in await kept(face) if line["layer"] == "fact" and "lives in Rome" in line["text"]]
    assert [line["text"] for line in facts] == ["User lives in Rome and on day 0."]
    assert facts[0]["valid_to"] is not None


@pytest.mark.req("P-21")
async def test_what_an_old_message_says_of_something_else_is_still_learned(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo.", opens, occurred_at="2025-06-01")
    assert await told(face, "I have two cats.", opens, occurred_at="2024-06-01") == [("ADD", "User has two cats.")]
