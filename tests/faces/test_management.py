"""What a management view shows, through both faces."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from memstone.errors import InvalidInput, ScopeError
from tests.faces.harness import Opens


@pytest.mark.req("S-66", "N-42")
async def test_scopes_are_listed_by_how_much_they_hold(opens: Opens) -> None:
    face = opens()
    await face.remember("I like tea", user_id="alice", agent_id="coach")
    await face.remember("I like chess", user_id="alice")
    gone = await face.remember("I like rain", user_id="bob")
    await face.remember("I like snow", user_id="bob")
    await face.delete(gone)
    users = await face.admin.list_scopes()
    assert [(one["id"], one["memories"]) for one in users["results"]] == [("alice", 2), ("bob", 1)]
    assert all(one["last_at"].endswith("Z") for one in users["results"])
    assert [one["id"] for one in (await face.admin.list_scopes(limit=1, offset=1))["results"]] == ["bob"]
    assert [one["id"] for one in (await face.admin.list_scopes("agent"))["results"]] == ["coach"]
    assert (await face.admin.list_scopes("run"))["results"] == []
    with pytest.raises(InvalidInput):
        await face.admin.list_scopes("tenant")


@pytest.mark.req("S-66")
async def test_the_dashboard_counts_layers_and_background_work(opens: Opens) -> None:
    face = opens()
    await face.remember("I like tea")
    await face.ingest([{"role": "user", "content": "hello there"}], user_id="alice")
    await face.admin.consolidate(everybody=True)
    own = await face.admin.dashboard(user_id="alice")
    assert own["counts"] == {"identity": 0, "fact": 1, "episode": 0, "turn": 1}
    assert [one["content"] for one in own["facts"]] == ["I like tea"]
    everybody = await face.admin.dashboard(everybody=True)
    assert everybody["processing"]["by_task"]["consolidate"]["calls"] == 1
    assert everybody["waiting"] == {"pending": 0, "dead": 0}
    assert everybody["last_consolidation"]["status"] == "success"


@pytest.mark.req("S-63")
async def test_a_transcript_is_in_order_and_by_page(opens: Opens) -> None:
    face = opens()
    turns = [{"role": "user", "content": f"This is line {number}"} for number in range(5)]
    await face.ingest(turns, user_id="alice", run_id="r")
    page = await face.sessions.transcript(run_id="r", limit=2, offset=2)
    assert [(one["index"], one["content"]) for one in page["results"]] == [(2, "This is line 2"), (3, "This is line 3")]
    assert (page["total"], page["results"][0]["token_count"]) == (5, 3)
    with pytest.raises(ScopeError):
        await face.sessions.transcript()


@pytest.mark.req("S-64", "S-66")
async def test_agents_are_counted_by_what_they_have_now(opens: Opens) -> None:
    face = opens()
    stored_text = await face.remember("I like tea", agent_id="coach")
    aside = await face.remember("I like rain", agent_id="coach")
    await face.remember("I like snow", agent_id="coach", expires_at=opens.clock.now() + timedelta(days=1))
    await face.ingest([{"role": "user", "content": "hello there"}], user_id="alice", agent_id="coach")
    await face.remember("I like chess", agent_id="guide")

    async def counted() -> dict[str, Any]:
        return {one["id"]: one for one in (await face.agents.list())["agents"]}

    before = (await counted())["coach"]
    assert (before["memory_entry_count"], before["memory_counts"]["turn"], before["memory_counts"]["fact"]) == (3, 1, 3)
    await face.review.disable(aside)
    opens.clock.advance(days=2)
    after = await counted()
    assert (after["coach"]["memory_entry_count"], after["guide"]["memory_entry_count"]) == (1, 1)
    await face.delete(stored_text)
    last = await face.agents.get("coach")
    assert (last["memory_entry_count"], last["memory_counts"]) == (
        0,
        {"identity": 0, "fact": 0, "episode": 0, "turn": 1},
    )


@pytest.mark.req("S-66", "S-7")
async def test_what_is_left_of_the_salience_of_a_fact_is_shown_beside_it(opens: Opens) -> None:
    face = opens({"preset": "companion"})
    await face.remember("I like tea", user_id="alice", agent_id="coach")
    (fresh,) = (await face.profile.facts(user_id="alice", agent_id="coach"))["results"]
    assert fresh["effective_salience"] == pytest.approx(fresh["salience"])
    opens.clock.advance(days=30)
    (faded,) = (await face.admin.dashboard(user_id="alice"))["facts"]
    assert faded["salience"] == fresh["salience"]
    assert faded["effective_salience"] == pytest.approx(fresh["salience"] / math.e, abs=1e-3)
    await face.settings.set({"recall.decay_days": None}, user_id="alice")
    (same,) = (await face.profile.facts(user_id="alice"))["results"]
    assert same["effective_salience"] == same["salience"], "where nothing fades"
