"""What is set for a user or an agent holds when everything is tidied up, too."""

from __future__ import annotations

import pytest

from memstone.model.policy import Upkeep
from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import episode, keep
from tests.faces.harness import Face, Opens

BOATS = "Talked about the long walk along the coast and which boots to buy for it"


def kept_for(days: int) -> dict[str, object]:
    """A setting: facts are kept for so many days."""
    return {"upkeep.retain_days": {"fact": days}}


@pytest.mark.req("S-39", "X-15")
async def test_who_keeps_for_longer_loses_nothing_when_everything_is_tidied_up(opens: Opens) -> None:
    face = opens({"upkeep": {"retain_days": {"fact": 1}}})
    await face.settings.set(kept_for(3_650), user_id="alice")
    await face.settings.set(kept_for(3_650), agent_id="archive")
    for whom in ({"user_id": "alice"}, {"user_id": "bob"}, {"user_id": "bob", "agent_id": "archive"}):
        await face.remember(f"I like tea {len(whom)}", **whom)
    opens.clock.advance(days=30)
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["pruned"] == 1
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1
    assert await face.listed() == ["I like tea 1"]
    assert await face.listed(user_id="bob") == ["I like tea 2"], "what the agent keeps is there"


@pytest.mark.req("S-39", "X-15")
async def test_who_keeps_for_less_long_is_tidied_up_sooner(face: Face, opens: Opens) -> None:
    await face.settings.set(kept_for(1), user_id="alice")
    await face.settings.set(kept_for(2), agent_id="helper")
    await face.remember("I like tea")
    await face.remember("I like tea", user_id="bob", agent_id="helper")
    await face.remember("I like tea", user_id="bob")
    opens.clock.advance(days=1, minutes=1)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1
    assert await face.listed() == []
    opens.clock.advance(days=1)
    assert (await face.admin.consolidate(user_id="carol"))["pruned"] == 0
    assert (await face.admin.consolidate(user_id="bob"))["pruned"] == 1
    assert await face.listed(user_id="bob") == ["I like tea"]
    assert await steps.indexes_hold_what_is_live(face)


@pytest.mark.req("S-39", "P-3")
async def test_what_several_hold_goes_when_it_is_over_for_all_of_them(face: Face, opens: Opens) -> None:
    await face.settings.set(kept_for(1), user_id="alice")
    office = await face.remember("The office is in Lisbon")
    await face.sharing.share(office, user_id="bob")
    opens.clock.advance(days=30)
    for whom in ({"everybody": True}, {"user_id": "alice"}):
        assert (await face.admin.consolidate(**whom))["pruned"] == 0, "bob keeps his for ever"
    await face.settings.set(kept_for(20), user_id="bob")
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1


@pytest.mark.req("S-38")
async def test_the_settings_of_a_user_and_of_their_agent_add_up(face: Face, opens: Opens) -> None:
    """The user says that what faded is put aside, the agent when something has faded."""
    await steps.with_upkeep(face, Upkeep())
    await face.settings.set({"upkeep.evict": True}, user_id="alice")
    await face.settings.set({"upkeep.idle_days": 1, "upkeep.salience_floor": 1}, agent_id="helper")
    both = await keep(face, "Alice likes tea", user_id="alice", agent_id="helper", salience=0.4)
    alone = await keep(face, "Alice likes coffee", user_id="alice", salience=0.4)
    other = await keep(face, "Bob likes tea", user_id="bob", agent_id="helper", salience=0.4)
    opens.clock.advance(days=2)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 1
    assert [await steps.status_of(face, one) for one in (both, alone, other)] == ["evicted", "active", "active"]


async def test_a_kind_is_kept_while_it_is_used_as_its_owner_wants_it(face: Face, opens: Opens) -> None:
    await face.settings.set({"upkeep.ttl": {"factual": 10}})
    await face.settings.set({"upkeep.ttl": {"factual": 100}}, user_id="alice")
    await face.settings.set({"upkeep.ttl": {}}, user_id="carol")
    for user in ("alice", "bob", "carol"):
        await keep(face, f"{user} likes tea", user_id=user, kind="factual")
    opens.clock.advance(days=11)
    assert (await face.admin.consolidate(everybody=True))["expired"] == 1
    opens.clock.advance(days=100)
    assert (await face.admin.consolidate(everybody=True))["expired"] == 1
    assert await face.listed(user_id="carol") == ["carol likes tea"]


@pytest.mark.req("S-36")
async def test_who_merges_nothing_keeps_what_is_alike(face: Face) -> None:
    await face.settings.set({"upkeep.merge_episodes": 0.0}, user_id="alice")
    for user in ("alice", "bob"):
        for run in ("one", "two"):
            await episode(face, BOATS, user_id=user, run_id=run)
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["merged"] == 1
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1
    assert (await face.admin.consolidate(user_id="alice"))["merged"] == 0
    await face.settings.unset(user_id="alice")
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1


@pytest.mark.req("O-75")
async def test_who_wants_it_short_gets_it_short(face: Face) -> None:
    long = "I sail on Sundays with my sister. " * 30
    await face.settings.set({"upkeep.auto_summarize": True, "upkeep.summarize_tokens": 10}, user_id="alice")
    for user in ("alice", "bob"):
        for number in range(2):
            await keep(face, f"{number} {long}", user_id=user)
    assert (await face.admin.consolidate(everybody=True))["summarized"] >= 1
    assert all(len(text) > 900 for text in await face.listed(user_id="bob"))
    assert any(len(text) < 900 for text in await face.listed())
