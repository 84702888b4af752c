"""A statement that was learned once for each conversation, as it was before, becomes one memory again."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.engine.store.draft import dedupe_value
from memstone.model.scope import Scope
from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import keep
from tests.faces.harness import Face, Opens

_EACH_RUN = ("user_id", "agent_id", "run_id")
TEA = "User likes green tea."


async def learned(face: Face, text: str, run: str, *, user_id: str = "alice", **rest: Any) -> str:
    """Store a fact as it was stored when a conversation only knew itself."""
    scope = Scope("default", user_id, "", run)
    dedupe = dedupe_value(scope, _EACH_RUN, speaker="", key=None, text=text)
    return await keep(face, text, user_id=user_id, run_id=run, dedupe=dedupe, **rest)


@pytest.mark.req("X-40.1")
async def test_what_two_conversations_had_doubled_becomes_one_with_its_history(face: Face, opens: Opens) -> None:
    old = await learned(face, TEA, "monday")
    opens.clock.advance(days=1)
    new = await learned(face, "User likes green tea", "tuesday")
    third = await learned(face, TEA, "friday")
    bobs = await learned(face, TEA, "monday", user_id="bob")
    await steps.use(face, new, 2)

    tried = await face.admin.consolidate(everybody=True, dry_run=True)
    answer = await face.admin.consolidate(everybody=True)

    assert (tried["merged"], answer["merged"]) == (2, 2)
    assert await face.listed() == [TEA]
    assert await face.listed(user_id="bob") == [TEA]
    assert (await steps.there(face, old)).source_count == 3
    assert [await steps.status_of(face, one) for one in (new, third)] == ["superseded", "superseded"]
    assert await steps.current(face, bobs) is not None
    for run in ("monday", "tuesday", "friday"):
        assert [hit["id"] for hit in (await face.search("tea", user_id="alice", run_id=run))["results"]] == [old]
    assert {one.scope.run_id: one.use_count for one in await steps.links_of(face, old)}["tuesday"] == 2
    assert [one["event"] for one in await face.history(new)] == ["ADD", "MERGE"]
    assert await steps.indexes_hold_what_is_live(face)
    said_again = await face.add("I like green tea.", user_id="alice", run_id="sunday")
    assert [one["event"] for one in said_again["results"]] == ["NONE"]


@pytest.mark.req("X-40.1")
async def test_it_can_be_taken_back_and_then_stands(face: Face) -> None:
    ids = [await learned(face, TEA, run) for run in ("monday", "tuesday")]
    job = (await face.admin.consolidate(everybody=True))["job_id"]
    await face.undo(job_id=job)
    assert all([await steps.current(face, one) is not None for one in ids])
    assert (await face.admin.consolidate(user_id="alice"))["merged"] == 0
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0


@pytest.mark.req("X-40.1")
async def test_what_is_not_the_same_statement_of_one_user_stays_apart(face: Face) -> None:
    await learned(face, TEA, "monday")
    await learned(face, "User does not like green tea.", "tuesday")
    await learned(face, TEA, "tuesday", expires_at="2027-01-01T00:00:00.000000Z")
    await learned(face, TEA, "wednesday", metadata={"shop": "Kay"})
    await learned(face, TEA, "thursday", data={"visibility": "private"})
    for run in ("monday", "tuesday"):
        await face.store("Buy milk.", user_id="alice", run_id=run)
    await keep(face, TEA, agent_id="coach", run_id="monday")
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0


@pytest.mark.req("X-40.1")
async def test_after_one_whole_pass_only_a_pass_over_somebody_looks_again(face: Face) -> None:
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0
    for run in ("monday", "tuesday"):
        await learned(face, TEA, run)
    assert (await face.admin.consolidate(everybody=True))["merged"] == 0
    assert (await face.admin.consolidate(user_id="alice"))["merged"] == 1
