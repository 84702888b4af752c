from __future__ import annotations

import pytest

from memstone.errors import Conflict
from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import episode, keep
from tests.faces.harness import ON_DISK, Face, Opens

WALK = "Talked about the long walk along the coast and which boots to buy for it"


@pytest.mark.req("S-36", "R-18")
async def test_nearly_identical_episodes_become_one_the_older(face: Face, opens: Opens) -> None:
    old = await episode(face, WALK, topics=["walking"], run_id="monday", dedupe="of monday")
    opens.clock.advance(days=1)
    new = await episode(face, f"{WALK}!", topics=["walking"], run_id="tuesday", dedupe="of tuesday")
    other = await episode(face, "Talked about taxes and where the receipts of last year are")
    await steps.use(face, new, 2)
    answer = await face.admin.consolidate(everybody=True)
    assert (answer["status"], answer["merged"]) == ("completed", 1)
    assert (await steps.there(face, old)).source_count == 2
    assert await steps.current(face, new) is None
    assert await steps.status_of(face, new) == "superseded"
    assert await steps.current(face, other) is not None
    runs = {link.scope.run_id: link.use_count for link in await steps.links_of(face, old)}
    assert runs == {"monday": 0, "tuesday": 2}
    found = await face.search("walk boots", user_id="alice", run_id="tuesday", layers=["episode"])
    assert [hit["id"] for hit in found["results"]] == [old]
    assert await steps.indexes_hold_what_is_live(face)


@pytest.mark.req("S-36", "R-20")
async def test_episodes_of_two_users_or_two_agents_are_never_mixed(face: Face) -> None:
    owners = [("alice", "cook"), ("alice", "coach"), ("bob", "cook"), ("bob", "")]
    ids = [await episode(face, WALK, user_id=user, agent_id=agent) for user, agent in owners]
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0
    assert all([await steps.current(face, one) is not None for one in ids])


async def test_what_somebody_else_sees_as_well_does_not_become_part_of_what_they_do_not_see(face: Face) -> None:
    old, new = await episode(face, WALK), await episode(face, f"{WALK} soon")
    await face.sharing.share(old, user_id="bob")
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0
    await face.sharing.share(new, user_id="bob")
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1


@pytest.mark.req("S-36", "N-31")
async def test_facts_become_one_only_where_that_is_wanted(face: Face) -> None:
    old = await keep(face, "User likes long walks along the coast")
    new = await keep(face, "User likes long walks, along the coast")
    no = await keep(face, "User does not like long walks along the coast")
    await steps.with_upkeep(face, merge_facts=0.0)
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0
    await steps.with_upkeep(face, merge_facts=0.9)
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1
    assert [await steps.current(face, one) is None for one in (old, new, no)] == [False, True, False]


async def test_a_scope_is_consolidated_by_itself(face: Face) -> None:
    for user in ("alice", "bob"):
        await episode(face, WALK, user_id=user)
        await episode(face, WALK, user_id=user)
    assert (await face.admin.consolidate(user_id="bob"))["merged"] == 1
    assert (await face.admin.consolidate(user_id="bob"))["merged"] == 0
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1


@pytest.mark.req("S-36")
async def test_a_dry_run_counts_and_changes_nothing(face: Face) -> None:
    ids = [await episode(face, WALK) for _ in range(3)]
    answer = await face.admin.consolidate(dry_run=True, everybody=True)
    assert (answer["merged"], answer["dry_run"], "job_id" in answer) == (2, True, False)
    assert all([await steps.current(face, one) is not None for one in ids])
    assert (await face.admin.jobs(task="consolidate", everybody=True))["results"] == []
    assert (await face.admin.consolidate(everybody=True))["merged"] == 2


@pytest.mark.req("S-36", "R-20")
async def test_a_merge_is_told_on_both_sides_and_can_be_taken_back(face: Face, opens: Opens) -> None:
    old = await episode(face, WALK, run_id="monday", dedupe="of monday")
    new = await episode(face, f"{WALK}.", run_id="tuesday", dedupe="of tuesday")
    was = await steps.there(face, old)
    before = [await steps.links_of(face, old), await steps.links_of(face, new)]
    job = (await face.admin.consolidate(everybody=True))["job_id"]
    for one in (old, new):
        merge = (await face.history(one))[-1]
        assert (merge["event"], merge["actor"]) == ("MERGE", "consolidator")
    opens.clock.advance(days=1)
    (answer, _) = (await face.review.events(everybody=True))["results"][-2:]
    assert answer["job_id"] == job
    assert (await face.undo(answer["id"]))["undone"] == 2
    back = await steps.there(face, old)
    assert (back.source_count, back.anchor_at, back.data) == (1, was.anchor_at, was.data)
    assert [await steps.links_of(face, old), await steps.links_of(face, new)] == before
    assert await steps.indexes_hold_what_is_live(face)
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0, (
        "what was parted again by somebody stays apart"
    )


@pytest.mark.req("S-36")
async def test_a_whole_pass_can_be_taken_back(face: Face) -> None:
    ids = [await episode(face, WALK) for _ in range(4)]
    job = (await face.admin.consolidate(everybody=True))["job_id"]
    assert [await steps.current(face, one) is not None for one in ids] == [True, False, False, False]
    await face.undo(job_id=job)
    assert all([await steps.current(face, one) is not None for one in ids])
    assert (await steps.there(face, ids[0])).source_count == 1


@ON_DISK
@pytest.mark.req("S-34", "S-36")
async def test_a_second_pass_at_the_same_moment_changes_nothing(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face, retain_days=(("episode", 100),), ttl=(("procedural", 30),), auto_summarize=True)
    facts = [await keep(face, f"User collects {thing}", salience=0.6) for thing in ("stamps", "maps", "tin toys")]
    await keep(face, "How to bake", kind="procedural")
    await face.store("One. Two. Three. Four is the last of them.", user_id="alice", expires_at="2026-01-02")
    await face.delete(await face.remember("gone"))
    for day in range(120):
        opens.clock.advance(days=1)
        if day % 3 == 0:
            await episode(face, f"{WALK}. User collects stamps.", facts=facts[:1], run_id=f"day {day}")
        if day == 12:
            await face.admin.consolidate(everybody=True)
    first = await face.admin.consolidate(everybody=True)
    assert all(first[name] for name in ("merged", "promoted", "evicted", "expired", "pruned")), first
    before = steps.content(opens)
    again = await face.admin.consolidate(everybody=True)
    assert steps.content(opens) == before
    assert not any(again[name] for name in ("merged", "promoted", "evicted", "expired", "pruned", "summarized"))
    assert not any(again["purged"].values())
    assert await steps.indexes_hold_what_is_live(face)


async def test_what_somebody_changes_at_the_same_moment_is_left_for_the_next_pass(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        await episode(face, WALK)

    async def beaten(*_: object) -> None:
        raise Conflict("changed in the meantime")

    with monkeypatch.context() as patched:
        patched.setattr("memstone.engine.upkeep.consolidate.end_version", beaten)
        assert (await face.admin.consolidate(everybody=True))["merged"] == 0
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1


async def test_the_words_that_a_merged_fact_came_from_still_hold(face: Face) -> None:
    await steps.with_upkeep(face)
    for message in ("I like long walks along the coast", "I like long walks along the coast, yes"):
        turn = await keep(face, message, layer="turn")
        await keep(face, message.replace("I like", "User likes"), origin_id=turn)
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1
    found = await face.search("long walks along the coast", user_id="alice", layers=["turn"])
    assert len(found["results"]) == 2
    assert not any("superseded_by" in hit for hit in found["results"])
