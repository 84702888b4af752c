"""Who a user is: overrides, what is derived, and the text about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memstone.errors import InvalidInput, NotFoundError, ScopeError, TooLarge
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Face, Opens
from tests.faces.test_distill import COMPANION, NURSE, WHO, derived, digest, held

pytestmark = pytest.mark.parametrize("store", ["in_memory"], indirect=True)


async def overrides(face: Face, user: str = "alice") -> list[str]:
    return [one["text"] for one in (await face.identity.get(user_id=user))["overrides"]]


async def narrative(face: Face) -> dict[str, Any]:
    answer = (await face.identity.get(user_id="alice"))["narrative"]
    assert answer is not None
    return dict(answer)


@pytest.mark.req("S-2", "S-3")
async def test_overrides_are_added_once_removed_by_place_and_replaced(face: Face) -> None:
    await face.identity.add_override("  Call me Al.  ", user_id="alice")
    await face.identity.add_override("CALL ME al", user_id="alice")
    answer = await face.identity.add_override("Answer in metric units", user_id="alice")
    assert [one["text"] for one in answer["overrides"]] == ["Call me Al.", "Answer in metric units"]

    first, second = answer["overrides"]
    answer = await face.identity.set_overrides(["I am vegan", "Answer in metric units", "i am VEGAN"], user_id="alice")
    assert [one["text"] for one in answer["overrides"]] == ["I am vegan", "Answer in metric units"]
    assert answer["overrides"][1]["id"] == second["id"], "what stays keeps its id"
    assert await face.get(first["id"]) is None

    await face.identity.remove_override(0, user_id="alice")
    assert await overrides(face) == ["Answer in metric units"]
    await face.identity.set_overrides([], user_id="alice")
    assert await overrides(face) == []
    await face.identity.add_override("Call me Al.", user_id="alice")
    assert await overrides(face) == ["Call me Al."]


async def test_overrides_keep_their_order(face: Face) -> None:
    await face.identity.set_overrides(["one", "two", "three"], user_id="alice")
    await face.identity.set_overrides(["three", "one", "two", "four"], user_id="alice")
    assert await overrides(face) == ["three", "one", "two", "four"]
    answer = (await face.identity.get(user_id="alice"))["overrides"]
    await face.update(answer[0]["id"], "threefold")
    assert await overrides(face) == ["threefold", "one", "two", "four"]


@pytest.mark.req("S-9")
async def test_bad_overrides_are_refused_before_anything_is_written(face: Face) -> None:
    with pytest.raises(InvalidInput):
        await face.identity.add_override("   ", user_id="alice")
    with pytest.raises(TooLarge):
        await face.identity.add_override("x" * 50_001, user_id="alice")
    with pytest.raises(InvalidInput, match="list of texts"):
        await face.identity.set_overrides("one text", user_id="alice")
    with pytest.raises(InvalidInput):
        await face.identity.set_overrides(["fine", ""], user_id="alice")
    with pytest.raises(InvalidInput, match="1,000"):
        await face.identity.set_overrides([f"text {number}" for number in range(1_001)], user_id="alice")
    for position in (-1, True, "0"):
        with pytest.raises(InvalidInput):
            await face.identity.remove_override(position, user_id="alice")
    with pytest.raises(NotFoundError):
        await face.identity.remove_override(0, user_id="alice")
    with pytest.raises(ScopeError):
        await face.identity.get(user_id=None)
    assert await overrides(face) == []


async def test_secrets_are_masked_in_what_a_user_writes(face: Face) -> None:
    answer = await face.identity.add_override("My card is 4111 1111 1111 1111", user_id="alice")

    assert "4111 1111" not in str(answer["overrides"])
    assert "masked" in answer["warnings"][0]
    answer = await face.identity.set_narrative("Alice pays with 4111 1111 1111 1111", user_id="alice")
    assert "4111 1111" not in answer["narrative"]["text"]


@pytest.mark.req("X-34")
async def test_an_identity_belongs_to_its_owner_whichever_agent_asks(opens: Opens) -> None:
    face = opens(COMPANION)
    await face.identity.add_override("Call me Al.", user_id="alice")
    await held(face, opens, "r1", NURSE)

    for agent in ("bot", "another"):
        visible = (await face.context("Who am I?", user_id="alice", agent_id=agent, run_id="new")).text
        assert "Call me Al." in visible
        assert "User's name is Alice." in visible
    assert (await face.context("Who am I?", user_id="bob", agent_id="bot")).text == ""
    assert (await face.identity.get(user_id="bob"))["overrides"] == []
    assert await derived(face, "bob") == []


@pytest.mark.req("R-14")
async def test_overrides_are_shown_whatever_the_budget_up_to_a_cap_with_a_warning(opens: Opens) -> None:
    face = opens({"context": {"override_tokens": 20}})
    await face.identity.add_override("Call me Al.", user_id="alice")
    answer = await face.identity.add_override("Answer in metric units, " * 10, user_id="alice")

    assert "a model sees only the first 20" in answer["warnings"][0]
    pack = await face.context("Tell me about cars", user_id="alice", budget=10)
    assert "Call me Al." in pack.stable
    assert "metric" not in pack.text
    assert pack.warnings


@pytest.mark.req("S-21", "R-14")
async def test_what_is_derived_is_kept_once_and_never_among_the_overrides(opens: Opens) -> None:
    who = [{"content": "User's name is Alice.", "quote": "My name is Alice"}]
    again = [{"content": "user's NAME is alice", "quote": "My name is Alice"}]
    llm = ScriptedLlm([digest(identity_facts=who), digest(identity_facts=again)])
    face = opens(COMPANION, llm=llm)
    await face.identity.add_override("Call me Al.", user_id="alice")
    await held(face, opens, "r1", NURSE)
    await held(face, opens, "r2", f"{NURSE} I told you so before, did I not?")

    assert await derived(face) == ["User's name is Alice."]
    assert await overrides(face) == ["Call me Al."]


@pytest.mark.req("R-14")
async def test_only_so_much_is_derived(opens: Opens) -> None:
    face = opens(COMPANION)
    policy = face.memory.engine.runtime.policy
    object.__setattr__(policy, "formation", replace(policy.formation, derived=2))
    await held(face, opens, "r1", f"{NURSE} I am allergic to peanuts.")

    assert len(await derived(face)) == 2
    assert "User's name is Alice." in await derived(face)
    stored = await face.get_all(user_id="alice", layers=["identity"], status="evicted")
    assert len(stored["results"]) == 2


async def test_what_is_derived_follows_its_fact(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE)
    assert "User lives in Oslo." in await derived(face)

    await held(face, opens, "r2", "I moved to Bergen, and it rains here a lot, but I like the sea and the mountains.")
    assert not any("Oslo" in text for text in await derived(face))
    assert any("Bergen" in text for text in await derived(face))

    facts = {one["content"]: one["id"] for one in (await face.profile.facts(**WHO))["results"]}
    await face.delete(facts["User's name is Alice."])
    assert not any("Alice" in text for text in await derived(face))
    assert "Alice" not in (await face.context("Who am I?", **WHO)).text


@pytest.mark.req("S-4", "D-9")
async def test_the_narrative_is_made_anew_when_what_it_is_made_of_changes(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE)
    assert (await face.identity.get(user_id="alice"))["narrative"] is None
    assert (await face.admin.consolidate(user_id="alice"))["narratives"] == 1

    first = await narrative(face)
    assert first["text"] == "User's name is Alice. User lives in Oslo. User works as a nurse at the harbour clinic."
    assert (first["version"], first["model"], first["stale"]) == (1, "rules", False)
    assert first["token_count"] > 10
    opens.clock.advance(days=2)
    assert (await face.admin.consolidate(user_id="alice"))["narratives"] == 0
    assert await narrative(face) == first

    await held(face, opens, "r2", "I moved to Bergen, and it rains here a lot, but I like the sea and the mountains.")
    assert (await narrative(face))["stale"]
    await face.admin.consolidate(user_id="alice")
    second = await narrative(face)
    assert second["version"] == 2
    assert second["generated_at"] > first["generated_at"]
    assert "Oslo" not in second["text"]
    assert "Bergen" in second["text"]


@pytest.mark.req("S-4")
async def test_a_model_words_the_narrative_from_facts_alone(opens: Opens) -> None:
    answer: dict[str, object] = {"narrative": "Alice is a nurse. She was born in Paris."}
    fact = {"content": "User works as a nurse.", "salience": 0.9, "quote": "I work as a nurse"}
    who = {"content": "User's name is Alice.", "quote": "My name is Alice"}
    llm = ScriptedLlm([digest(pinned_candidates=[fact], identity_facts=[who]), answer])
    face = opens(COMPANION, llm=llm)
    await held(face, opens, "r1", NURSE)
    await face.admin.consolidate(user_id="alice")

    made = await narrative(face)
    assert (made["text"], made["model"]) == ("Alice is a nurse.", "scripted")
    await face.admin.consolidate(user_id="alice")
    assert len(llm.prompts) == 2


@pytest.mark.req("S-4")
async def test_a_narrative_that_leaves_the_name_out_does_not_hide_it(opens: Opens) -> None:
    fact = {"content": "User works as a nurse.", "salience": 0.9, "quote": "I work as a nurse"}
    who = {"content": "User's name is Alice.", "quote": "My name is Alice"}
    llm = ScriptedLlm([digest(pinned_candidates=[fact], identity_facts=[who]), {"narrative": "User is a nurse."}])
    face = opens(COMPANION, llm=llm)
    await held(face, opens, "r1", NURSE)
    await face.admin.consolidate(user_id="alice")

    assert (await narrative(face))["text"] == "User's name is Alice. User is a nurse."
    assert "Alice" in (await face.context("What is my name?", **WHO)).text


@pytest.mark.req("S-2")
async def test_what_was_written_by_hand_is_left_alone_until_it_is_given_back(opens: Opens) -> None:
    face = opens(COMPANION)
    await face.identity.set_narrative("  Alice is the best nurse in town. ", user_id="alice")
    await held(face, opens, "r1", NURSE)
    await face.admin.consolidate(user_id="alice")

    own = await narrative(face)
    assert (own["text"], own["model"], own["version"]) == ("Alice is the best nurse in town.", "user", 1)
    assert "best nurse" in (await face.context("Who am I?", **WHO)).stable
    await face.identity.set_narrative("Alice is a nurse.", user_id="alice")
    assert (await narrative(face))["version"] == 2

    assert (await face.identity.set_narrative(None, user_id="alice"))["narrative"] is None
    opens.clock.advance(minutes=1)
    await held(face, opens, "r2", "I have a boat in Bergen harbour and I paint it blue every spring, as my father did.")
    await face.admin.consolidate(user_id="alice")
    assert (await narrative(face))["model"] == "rules"


async def test_what_was_deleted_is_not_told_by_the_narrative(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE)
    await face.admin.consolidate(user_id="alice")
    visible = (await face.context("Who am I?", **WHO)).stable
    assert "nurse" in visible

    facts = {one["content"]: one["id"] for one in (await face.profile.facts(**WHO))["results"]}
    await face.delete(facts["User works as a nurse at the harbour clinic."])
    visible = (await face.context("Who am I?", **WHO)).text
    assert "nurse" not in visible
    assert "User lives in Oslo." in visible

    assert "nurse" not in (await face.context("Who am I?", user_id="alice")).text
    for text in ("User's name is Alice.", "User lives in Oslo."):
        await face.delete(facts[text])
    assert (await face.context("Who am I?", **WHO)).text == ""
    assert (await face.context("Who am I?", user_id="alice")).text == ""
    opens.clock.advance(minutes=1)
    await face.admin.consolidate(user_id="alice")
    assert (await face.identity.get(user_id="alice"))["narrative"] is None


async def test_what_the_assistant_or_a_caller_stored_is_not_in_the_narrative(opens: Opens) -> None:
    face = opens(COMPANION)
    await face.store("I am the emperor of China", **WHO)
    await held(face, opens, "r1", NURSE, "> I remember that you work as a pilot. You decided to buy a plane.")
    await face.admin.consolidate(user_id="alice")

    answer = (await narrative(face))["text"]
    assert "pilot" not in answer
    assert "plane" not in answer
    assert "emperor" not in answer


@pytest.mark.req("S-10")
async def test_standing_instructions_are_a_surface_of_their_own(opens: Opens) -> None:
    face = opens({"context": {"gate": "heuristic"}})
    await face.add("Always answer in metric units. I live in Oslo.", user_id="alice")
    await face.add([{"role": "system", "content": "Never mention my name is Bob."}], user_id="alice")

    standing = await face.identity.instructions(user_id="alice")
    assert standing["text"].startswith("- ")
    assert "metric units" in standing["text"]
    assert "Oslo" not in standing["text"]
    assert "Bob" not in standing["text"]
    pack = await face.context("Where do I live?", user_id="alice")
    assert "Oslo" in pack.stable
    assert "metric" not in pack.stable, "nothing of it is put into the part that stays the same"
    assert (await face.identity.instructions(user_id="bob")) == {"text": "", "instructions": []}


@pytest.mark.req("S-10")
async def test_standing_instructions_are_neither_pinned_nor_part_of_who_somebody_is(opens: Opens) -> None:
    face = opens({**COMPANION, "write": {"mode": "inline"}})
    await face.add("Always answer in metric units. My name is Alva and I work as a nurse.", user_id="alice")
    await face.admin.consolidate(user_id="alice")

    assert "metric units" in (await face.identity.instructions(user_id="alice"))["text"]
    pinned = [one["content"] for one in (await face.profile.facts(user_id="alice"))["results"]]
    assert any("nurse" in one for one in pinned)
    assert not any("metric" in one for one in pinned)
    who = await face.identity.get(user_id="alice")
    assert "nurse" in who["narrative"]["text"]
    assert "metric" not in str(who)
