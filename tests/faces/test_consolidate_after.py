"""What a pass leaves behind: the text about a user and the blocks a model is shown follow it."""

from __future__ import annotations

import pytest

from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import keep
from tests.faces.harness import Face, Opens


@pytest.mark.req("S-34")
async def test_the_text_about_a_user_follows_what_is_known_of_them(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face)
    await keep(face, "User works as a nurse in Oslo", salience=0.9)
    await keep(face, "User collects old maps", salience=0.7, user_id="bob")
    assert (await face.admin.consolidate(everybody=True))["narratives"] == 2
    reply = await face.identity.get(user_id="alice")
    assert "nurse" in reply["narrative"]["text"]
    assert (await face.admin.consolidate(everybody=True))["narratives"] == 0, "nothing has changed since"
    opens.clock.advance(days=60)
    answer = await face.admin.consolidate(everybody=True)
    assert (answer["evicted"], answer["narratives"]) == (0, 0), "what it tells is shown, and so it stays"
    await face.delete_all(user_id="alice", filters={"memory.layer": "fact"})
    assert (await face.admin.consolidate(everybody=True))["narratives"] == 1
    assert (await face.identity.get(user_id="alice"))["narrative"] is None


@pytest.mark.req("S-34", "S-38")
async def test_no_block_from_before_a_pass_is_shown_after_it(opens: Opens) -> None:
    face = opens({"context": {"gate": "always", "false_injection": 0, "cache_seconds": 1_000}})
    await steps.with_upkeep(face, idle_days=0, salience_floor=1.0)
    await keep(face, "User collects stamps", salience=0.2)
    opens.clock.advance(days=1)
    asked = {"query": "Do I collect stamps?", "user_id": "alice"}
    runtime = await steps.parts_of(face)
    assert "stamps" in (await face.context(**asked)).text
    opens.clock.advance(seconds=5)
    assert (await face.admin.consolidate(everybody=True))["evicted"] == 1
    assert "stamps" not in (await face.context(**asked)).text
    assert runtime.policy.retrieval.cache_seconds == 1_000
