from __future__ import annotations

import math

import pytest

from memstone.core.ranking.strength import Strength, current_strength
from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import episode, keep
from tests.faces.harness import Face, Opens

FACT = "User plays the violin in an orchestra"
SAID = f"We talked about the weekend. {FACT}."
TALK = ("boats", "bread", "taxes", "trains", "gardens", "chess", "winter", "paint")


async def speak(face: Face, opens: Opens, *topics: str, **rest: str) -> None:
    """A session a day that speaks of the fact, and of something else each time."""
    for topic in topics:
        opens.clock.advance(days=1)
        await episode(face, f"{FACT}. Then we spoke of {topic}, and whether {topic} are worth it.", **rest)


@pytest.mark.req("S-37")
async def test_a_fact_that_three_recent_sessions_speak_of_gains_weight(face: Face, opens: Opens) -> None:
    fact, other = await keep(face, FACT, salience=0.5), await keep(face, "User has a dog", salience=0.5)
    await speak(face, opens, *TALK[:2])
    assert (await face.admin.consolidate(everybody=True))["promoted"] == 0
    await speak(face, opens, TALK[2])
    assert (await face.admin.consolidate(everybody=True))["promoted"] == 1
    promoted = await steps.there(face, fact)
    assert promoted.salience == pytest.approx(0.55)
    assert promoted.anchor_at == (await steps.parts_of(face)).now()
    assert (await steps.there(face, other)).salience == 0.5
    event = (await face.history(fact))[-1]
    assert (event["event"], event["actor"], event["user_id"]) == ("PROMOTE", "consolidator", "alice")


@pytest.mark.req("S-37", "X-16")
async def test_the_same_sessions_earn_the_boost_once_and_three_more_earn_another(face: Face, opens: Opens) -> None:
    fact = await keep(face, FACT, salience=0.5)
    await speak(face, opens, *TALK[:5])
    assert [(await face.admin.consolidate(everybody=True))["promoted"] for _ in range(3)] == [1, 0, 0]
    await speak(face, opens, TALK[5])
    assert (await face.admin.consolidate(everybody=True))["promoted"] == 1
    assert (await steps.there(face, fact)).salience == pytest.approx(0.6)


@pytest.mark.req("S-37")
async def test_sessions_of_others_and_of_long_ago_do_not_count(face: Face, opens: Opens) -> None:
    await keep(face, FACT, user_id="alice", agent_id="coach")
    await speak(face, opens, *TALK[:3], user_id="bob", agent_id="coach")
    await speak(face, opens, *TALK[:3], user_id="alice", agent_id="cook")
    await speak(face, opens, *TALK[:2], user_id="alice", agent_id="coach")
    opens.clock.advance(days=59)
    await speak(face, opens, TALK[2], user_id="alice", agent_id="coach")
    assert (await face.admin.consolidate(everybody=True))["promoted"] == 0


@pytest.mark.req("S-37")
async def test_sessions_that_became_one_count_as_many(face: Face, opens: Opens) -> None:
    fact = await keep(face, FACT, salience=0.5)
    for run in range(3):
        opens.clock.advance(days=1)
        await episode(face, SAID, run_id=f"run {run}")
        assert (await face.admin.consolidate(everybody=True))["promoted"] == (run == 2)
    assert (await steps.there(face, fact)).salience == pytest.approx(0.55)


async def test_a_promotion_that_was_taken_back_stays_so(face: Face, opens: Opens) -> None:
    fact = await keep(face, FACT, salience=0.5)
    await speak(face, opens, *TALK[:3])
    job = (await face.admin.consolidate(everybody=True))["job_id"]
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["promoted"] == 0
    await face.undo(job_id=job)
    assert (await steps.there(face, fact)).salience == 0.5
    assert (await face.admin.consolidate(everybody=True))["promoted"] == 0


@pytest.mark.req("X-16", "R-13", "D-17", "S-35")
async def test_what_is_left_of_a_memory_does_not_depend_on_how_often_a_pass_runs(opens: Opens) -> None:
    strengths = {}
    for hours in (1, 24, 24 * 40):
        face = opens({"store": {"url": "memory:"}, "recall": {"decay_days": 30}})
        await steps.with_upkeep(face, evict=False)
        start = opens.clock.now()
        ids = [await keep(face, FACT, salience=0.7), await keep(face, "User has a dog", salience=0.9)]
        for hour in range(0, 24 * 40, 12):
            if hour in (120, 240, 360, 480):
                await episode(face, f"{FACT}. Then we spoke of {TALK[hour // 120]}.")
            if hour == 24 * 10:
                await steps.use(face, ids[1])
            for _ in range(12):
                opens.clock.advance(hours=1)
                passed = (opens.clock.now() - start).total_seconds() / 3600
                if passed % hours == 0 and (hours > 1 or passed % 40 == 0 or passed < 30):
                    await face.admin.consolidate(everybody=True)
        strengths[hours] = [await left(face, one) for one in ids]
        opens.clock.set(start)
    dog = 0.9 * math.exp(-30 / 30)
    fact = 0.75 * math.exp(-(40 - 15) / 30)
    for found in strengths.values():
        assert found == pytest.approx([fact, dog], abs=1e-9)


async def left(face: Face, memory_id: str) -> float:
    """How strong a memory is now."""
    record, (link, *_) = await steps.there(face, memory_id), await steps.links_of(face, memory_id)
    strength = Strength(record.salience, max(record.anchor_at, link.last_used_at or ""))
    return current_strength(strength, (await steps.parts_of(face)).now(), 30)
