from __future__ import annotations

import pytest

from memstone.errors import InvalidInput, ScopeError
from tests.faces import consolidate_steps as steps
from tests.faces.harness import Face, Opens

LONG = "The plan is ready. It has four parts. The first is the garden. The second is the roof. The third is the cellar."
SHORT = "The plan is ready. It has four parts. The first is the garden."


@pytest.mark.req("O-74", "R-20", "R-18")
async def test_what_does_not_fit_is_left_with_its_first_three_sentences(face: Face, opens: Opens) -> None:
    old = await face.remember(LONG)
    opens.clock.advance(days=1)
    await face.remember(LONG.replace("plan", "list"))
    answer = await face.admin.summarize(user_id="alice", max_tokens=30)
    assert answer.pop("job_id")
    assert answer == {"originalCount": 2, "summarizedCount": 1, "tokensSaved": 12}
    assert sorted(await face.listed()) == sorted([LONG.replace("plan", "list"), SHORT])
    assert await face.get(old) is None
    assert await steps.indexes_hold_what_is_live(face)
    assert await face.admin.summarize(user_id="alice", max_tokens=30) == {
        "originalCount": 2,
        "summarizedCount": 0,
        "tokensSaved": 0,
    }


@pytest.mark.req("O-74")
async def test_nothing_to_shorten_is_all_zeros(face: Face) -> None:
    nothing = {"originalCount": 0, "summarizedCount": 0, "tokensSaved": 0}
    assert await face.admin.summarize(user_id="alice") == nothing
    await face.remember(LONG)
    assert await face.admin.summarize(user_id="alice") == {**nothing, "originalCount": 1}
    await face.remember(SHORT, user_id="bob")
    assert await face.admin.summarize(user_id="bob", max_tokens=0) == {**nothing, "originalCount": 1}


@pytest.mark.req("O-74", "R-20")
async def test_other_owners_and_sessions_are_left_alone_and_each_has_the_budget_for_itself(face: Face) -> None:
    await face.remember(LONG, user_id="alice", run_id="one")
    await face.remember(LONG, user_id="alice", run_id="two")
    await face.remember(LONG, user_id="bob", run_id="one")
    assert (await face.admin.summarize(user_id="alice", run_id="one", max_tokens=0))["summarizedCount"] == 1
    assert await face.listed(user_id="alice", run_id="two") == [LONG]
    assert await face.listed(user_id="bob") == [LONG]
    for user in ("carol", "dave"):
        await face.remember(LONG, user_id=user, agent_id="cook")
    assert (await face.admin.summarize(agent_id="cook", max_tokens=30))["summarizedCount"] == 0


@pytest.mark.req("R-20")
async def test_what_somebody_else_sees_as_well_is_not_shortened(face: Face) -> None:
    shared = await face.remember(LONG)
    await face.sharing.share(shared, user_id="bob")
    assert (await face.admin.summarize(user_id="alice", max_tokens=0))["summarizedCount"] == 0
    assert await face.listed(user_id="bob") == [LONG]


@pytest.mark.req("R-20")
async def test_a_summary_is_a_memory_of_its_own_that_names_its_source(face: Face, opens: Opens) -> None:
    answer = {"metadata": {"project": "house"}, "key": "plan", "kind": "procedural"}
    old = (await face.store({"role": "assistant", "content": LONG}, user_id="alice", **answer))["results"][0]["id"]
    before = await steps.there(face, old)
    opens.clock.advance(days=3)
    await face.admin.summarize(user_id="alice", max_tokens=0)
    (item,) = (await face.get_all(user_id="alice"))["results"]
    new = await steps.there(face, item["id"])
    assert new.id != old
    assert (new.source, new.origin, new.trust, new.version) == ("summary", "derived", before.trust, 1)
    assert (new.kind, new.key, new.metadata) == ("procedural", "plan", {"project": "house"})
    assert (new.created_at, new.occurred_at) == (before.created_at, before.occurred_at)
    assert new.data["derived_from"] == [old]
    assert [event["event"] for event in await face.history(old)] == ["ADD", "SUMMARIZE"]
    (told_of,) = await face.history(new.id)
    assert (told_of["event"], told_of["new_value"], old in told_of["reason"]) == ("SUMMARIZE", SHORT, True)
    again = await face.store(LONG, user_id="alice", **answer)
    assert again["results"][0]["event"] == "UPDATE", "it still goes by its key"
    assert again["results"][0]["id"] == new.id


@pytest.mark.req("R-20", "O-75")
async def test_the_original_is_there_in_the_past_and_can_be_brought_back(face: Face, opens: Opens) -> None:
    old = await face.remember(LONG)
    opens.clock.advance(days=3)
    job = (await face.admin.summarize(user_id="alice", max_tokens=0))["job_id"]
    opens.clock.advance(days=1)
    assert await face.listed(as_of="2026-01-02") == [LONG]
    assert await face.listed(as_of="2026-01-05") == [SHORT]
    assert (await face.undo(job_id=job))["undone"] == 2
    assert await face.listed() == [LONG]
    assert await face.found("roof cellar") == [LONG]
    assert (await steps.there(face, old)).status == "active"
    assert await steps.indexes_hold_what_is_live(face)


@pytest.mark.req("O-74")
async def test_what_is_young_enough_stays_as_it_is(face: Face, opens: Opens) -> None:
    await face.remember(LONG)
    opens.clock.advance(days=10)
    await face.remember(LONG.replace("plan", "list"))
    opens.clock.advance(days=1)
    only = {"user_id": "alice", "max_tokens": 0}
    assert (await face.admin.summarize(**only, older_than_days=12))["summarizedCount"] == 0
    assert (await face.admin.summarize(**only, older_than_days=5, dry_run=True))["summarizedCount"] == 1
    assert (await face.admin.summarize(**only, older_than_days=5))["summarizedCount"] == 1
    assert sorted(await face.listed()) == sorted([LONG.replace("plan", "list"), SHORT])


@pytest.mark.req("O-75", "D-5", "D-6")
async def test_a_pass_shortens_only_where_that_is_wanted(opens: Opens) -> None:
    face = opens()
    old = await face.remember(LONG)
    assert (await face.admin.consolidate(everybody=True))["summarized"] == 0
    await steps.with_upkeep(face, auto_summarize=True, summarize_tokens=10)
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["summarized"] == 1
    job = await face.admin.consolidate(everybody=True)
    assert job["summarized"] == 1
    assert await face.listed() == [SHORT]
    await face.undo(job_id=job["job_id"])
    assert (await face.admin.consolidate(everybody=True))["summarized"] == 0, "what somebody brought back stays"
    assert (await steps.there(face, old)).text == LONG
    assert (await face.admin.summarize(user_id="alice", max_tokens=10))["summarizedCount"] == 1, (
        "unless it is asked for"
    )


@pytest.mark.req("R-20")
async def test_what_a_person_told_us_to_keep_in_mind_is_not_shortened(face: Face) -> None:
    await face.identity.add_override(LONG, user_id="alice")
    await steps.keep(face, LONG, layer="turn")
    assert (await face.admin.summarize(user_id="alice", max_tokens=0))["originalCount"] == 0


async def test_bad_input_is_refused_before_anything_is_changed(face: Face) -> None:
    await face.remember(LONG)
    for wrong in (
        {"max_tokens": -1},
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"older_than_days": -1},
        {"older_than_days": "x"},
    ):
        with pytest.raises(InvalidInput):
            await face.admin.summarize(user_id="alice", **{"max_tokens": 0, **wrong})
    with pytest.raises(ScopeError):
        await face.admin.summarize(max_tokens=0)
    assert await face.listed() == [LONG]
