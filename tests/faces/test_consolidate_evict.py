from __future__ import annotations

import pytest

from memstone.errors import Conflict
from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import keep
from tests.faces.harness import Face, Opens


@pytest.mark.req("S-38", "D-12", "R-18")
async def test_a_fact_that_has_faded_and_is_idle_is_put_aside_and_out_of_every_index(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    faint = await keep(face, "User collects stamps", salience=0.4)
    strong = await keep(face, "User plays the violin", salience=1.0)
    opens.clock.advance(days=31)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 1
    assert (await steps.there(face, faint)).status == steps.EVICTED
    assert (await steps.there(face, strong)).status == steps.ACTIVE
    assert await face.found("stamps violin") == ["User plays the violin"]
    assert await face.listed() == ["User plays the violin"]
    assert await face.listed(status="evicted") == ["User collects stamps"]
    assert await face.get(faint) is None
    assert await steps.indexes_hold_what_is_live(face)
    assert steps.happened(await face.history(faint)) == ["ADD", "EVICT"]


@pytest.mark.req("S-38")
async def test_eviction_needs_both_and_has_to_be_wanted(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face, evict=False)
    weak = await keep(face, "User collects stamps", salience=0.1)
    opens.clock.advance(days=29)
    await steps.with_upkeep(face)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0, "faint, and not idle for long enough"
    opens.clock.advance(days=1)
    await steps.with_upkeep(face, salience_floor=0.01)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0, "idle, and not faint enough"
    await steps.with_upkeep(face, evict=False)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0
    await steps.with_upkeep(face)
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["evicted"] == 1
    assert (await steps.there(face, weak)).status == steps.ACTIVE
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 1


@pytest.mark.req("S-38", "N-12")
async def test_what_was_shown_lately_is_never_put_aside(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    used = await keep(face, "User collects stamps", salience=0.1)
    shared = await keep(face, "User collects maps", salience=0.1)
    await face.sharing.share(shared, user_id="bob")
    opens.clock.advance(days=300)
    await steps.use(face, used)
    await steps.use(face, shared)
    opens.clock.advance(days=29)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0
    opens.clock.advance(days=1)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 2


@pytest.mark.req("S-38")
async def test_only_facts_are_put_aside_and_nothing_a_person_told_us_to_keep_in_mind(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    await face.identity.add_override("Answer in French", user_id="alice")
    await steps.episode(face, "Talked about boats", salience=0.1)
    await keep(face, "hello", layer="turn", salience=0.1)
    opens.clock.advance(days=300)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0


async def test_what_was_imported_from_long_ago_has_its_time_to_be_used(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    await face.store("I collect stamps", user_id="alice", occurred_at="2020-01-01")
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0
    opens.clock.advance(days=30)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 1


@pytest.mark.req("X-16", "S-35")
async def test_what_is_told_anew_begins_to_fade_anew(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    first = (await face.add("I own 3 kites.", user_id="alice"))["results"][0]["id"]
    opens.clock.advance(days=40)
    again = (await face.add("I own 4 kites now.", user_id="alice"))["results"][0]
    assert (again["event"], again["id"]) == ("UPDATE", first)
    opens.clock.advance(days=20)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0
    opens.clock.advance(days=40)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 1


@pytest.mark.req("D-12")
async def test_what_was_put_aside_can_be_brought_back_and_then_stays(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    faint = await keep(face, "User collects stamps", salience=0.1)
    opens.clock.advance(days=40)
    job = (await face.admin.consolidate(everybody=True))["job_id"]
    await face.undo(job_id=job)
    assert await face.found("stamps") == ["User collects stamps"]
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 0
    assert await steps.indexes_hold_what_is_live(face)
    assert (await steps.there(face, faint)).status == steps.ACTIVE


@pytest.mark.req("D-12")
async def test_what_was_put_aside_and_is_said_again_is_new(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    await face.remember("I collect stamps")
    opens.clock.advance(days=60)
    job = (await face.admin.consolidate(everybody=True))["job_id"]
    again = await face.store("I collect stamps", user_id="alice")
    assert [one["event"] for one in again["results"]] == ["ADD"]
    with pytest.raises(Conflict):
        await face.undo(job_id=job)


@pytest.mark.req("X-17")
async def test_how_fast_facts_fade_is_the_constant_of_recall_and_30_days_without_one(opens: Opens) -> None:
    for config, days in (
        ({}, 49),
        ({"recall": {"half_life_days": 69.3147}}, 161),
    ):  # 0.2 of 1 is left after 48.3 and 160.9
        face = opens({"store": {"url": "memory:"}, **config})
        await steps.with_upkeep(face)
        await keep(face, "User collects stamps", salience=1.0)
        opens.clock.advance(days=days - 1)
        assert (await face.admin.consolidate(everybody=True, dry_run=True))["evicted"] == 0
        opens.clock.advance(days=1)
        assert (await face.admin.consolidate(everybody=True))["evicted"] == 1
