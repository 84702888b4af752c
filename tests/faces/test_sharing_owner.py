"""What somebody shares stays theirs: a receiver is never told it as their own, and always with whose it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faces.harness import Face, Opens
from tests.faces.infer_steps import told

NUTS = "User is allergic to nuts."
ASKED = "Who is allergic to nuts?"
GATES = ("always", "profile", "heuristic")


async def shared(face: Face, opens: Opens, **with_: Any) -> str:
    """Tom says what he is allergic to, and shares it."""
    await told(face, "I am allergic to nuts", opens, user_id="tom")
    (fact,) = (await face.get_all(user_id="tom"))["results"]
    await face.sharing.share(fact["id"], **with_)
    return str(fact["id"])


async def lines(face: Face, user: str, gate: str = "always", **rest: Any) -> list[str]:
    """What a model is shown of allergies, without the day."""
    pack = await face.context(ASKED, user_id=user, gate=gate, **rest)
    visible = [line for section in pack.sections for line in section.lines if "allergic" in line]
    return [line.removeprefix("- ").partition("] ")[2] or line for line in visible]


@pytest.mark.req("P-3")
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("whom", ["uma", "*"])
async def test_a_shared_fact_is_told_with_whose_it_is(face: Face, opens: Opens, gate: str, whom: str) -> None:
    await shared(face, opens, user_id=whom)
    assert all(line == f"shared by tom: {NUTS}" for line in await lines(face, "uma", gate))
    assert await lines(face, "uma") == [f"shared by tom: {NUTS}"]
    profile = await face.profile.get(user_id="uma")
    assert (profile["facts"], profile["turns"]) == ([], [])
    assert [fact["memory"] for fact in (await face.profile.get(user_id="tom"))["facts"]] == [NUTS]
    assert not any("shared" in line for line in await lines(face, "tom"))


@pytest.mark.req("P-3")
async def test_a_search_and_a_list_name_the_owner(face: Face, opens: Opens) -> None:
    memory_id = await shared(face, opens, user_id="uma")
    for found in (await face.search(ASKED, user_id="uma", strategy="text"), await face.get_all(user_id="uma")):
        assert [(one["id"], one["shared_by"]) for one in found["results"]] == [(memory_id, "tom")]
    for found in (await face.search(ASKED, user_id="tom", strategy="text"), await face.get_all(user_id="tom")):
        assert "shared_by" not in found["results"][0]


@pytest.mark.req("P-3")
async def test_what_is_said_in_a_project_is_told_with_who_said_it(face: Face, opens: Opens) -> None:
    await told(face, "I am allergic to nuts", opens, user_id="tom", project_id="apollo")
    for layers in ("fact", "turn"):
        found = await face.search(ASKED, user_id="uma", project_id="apollo", layers=[layers], strategy="text")
        assert [one["shared_by"] for one in found["results"]] == ["tom"]
    visible = await lines(face, "uma", project_id="apollo")
    assert visible
    assert all(line.startswith(("shared by tom: ", "tom said: ")) for line in visible)
    assert not any("tom" in line for line in await lines(face, "tom", project_id="apollo"))


@pytest.mark.req("P-3")
async def test_what_belongs_to_nobody_has_no_owner(face: Face) -> None:
    await face.store("Somebody in the house is allergic to nuts", user_id="*")
    assert await lines(face, "uma") == ["Somebody in the house is allergic to nuts"]


@pytest.mark.req("P-3")
async def test_whoever_says_the_same_owns_it_too(face: Face, opens: Opens) -> None:
    await shared(face, opens, user_id="uma")
    assert await told(face, "I am allergic to nuts", opens, user_id="uma") == [("NONE", NUTS)]
    assert [fact["memory"] for fact in (await face.profile.get(user_id="uma"))["facts"]] == [NUTS]
    assert not any("tom" in line for line in await lines(face, "uma"))
    assert "shared_by" not in (await face.get_all(user_id="uma"))["results"][0]


@pytest.mark.req("P-3")
@pytest.mark.parametrize("verb", ["replace", "store"])
async def test_what_is_said_in_its_place_is_ones_own(face: Face, verb: str) -> None:
    memory_id = await face.remember("light", key="theme", user_id="tom")
    await face.sharing.share(memory_id, user_id="uma")
    if verb == "replace":
        await face.sharing.replace(memory_id, "dark", user_id="uma")
    else:
        await face.store("dark", user_id="uma", key="theme")
    (own,) = (await face.get_all(user_id="uma"))["results"]
    assert (own["memory"], "shared_by" in own) == ("dark", False)


@pytest.mark.req("P-3")
async def test_between_the_agents_of_one_user_it_stays_their_own(face: Face, opens: Opens) -> None:
    await told(face, "I am allergic to nuts", opens, user_id="tom", agent_id="cook")
    (fact,) = (await face.get_all(user_id="tom"))["results"]
    await face.sharing.share(fact["id"], user_id="tom", agent_id="doctor")
    profile = await face.profile.get(user_id="tom", agent_id="doctor")
    assert [one["memory"] for one in profile["facts"]] == [NUTS]
    assert "shared_by" not in (await face.get_all(user_id="tom", agent_id="doctor"))["results"][0]


@pytest.mark.req("P-3", "X-30")
async def test_an_owner_who_is_gone_or_out_of_reach_is_not_named(face: Face, opens: Opens) -> None:
    memory_id = await shared(face, opens, user_id="uma")
    found = await Face(face.memory.acting_for("default", user_id="uma")).get_all()
    assert found["results"][0]["shared_by"] == "somebody else"
    await face.sharing.unshare(memory_id, user_id="tom")
    assert await lines(face, "uma") == [f"shared by somebody else: {NUTS}"]


@pytest.mark.req("P-3")
async def test_the_text_about_a_user_tells_nothing_of_what_others_shared(opens: Opens) -> None:
    face = opens({"preset": "companion", "write": {"mode": "inline"}})
    await told(face, "I live in Oslo", opens, user_id="tom")
    await told(face, "Always answer briefly", opens, user_id="tom")
    await told(face, "I play the cello", opens, user_id="uma")
    for one in (await face.get_all(user_id="tom"))["results"]:
        await face.sharing.share(one["id"], user_id="uma")
    await face.admin.consolidate(user_id="uma")
    identity = await face.identity.get(user_id="uma")
    assert "Oslo" not in str(identity["narrative"])
    assert (await face.identity.instructions(user_id="uma"))["instructions"] == []
