"""A session in a project also feeds the project's memory."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import LLMError, ScopeError
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Face, Opens, texts
from tests.faces.infer_steps import told

POSTGRES = "User's team uses Postgres."
APOLLO: dict[str, Any] = {"project_id": "apollo"}
ITS_OWN = {"user_id": "project:apollo"}


@pytest.mark.req("N-27")
async def test_what_is_said_in_a_project_is_remembered_there_without_a_copy(face: Face, opens: Opens) -> None:
    await told(face, "My team uses Postgres", opens, **APOLLO)
    (own,) = (await face.get_all(user_id="alice"))["results"]
    (there,) = (await face.get_all(**ITS_OWN))["results"]
    assert own["id"] == there["id"]
    assert own["user_id"] == "alice"
    assert (await face.get(own["id"]))["user_id"] == "alice"
    assert texts(await face.get_all(layers=["turn"], **ITS_OWN)) == ["My team uses Postgres"]
    assert (await face.stats())["memories"] == 2
    assert [event["event"] for event in await face.history(own["id"])] == ["ADD", "LINK"]


@pytest.mark.req("N-27")
async def test_who_asks_in_a_project_is_shown_what_is_known_there(face: Face, opens: Opens) -> None:
    await told(face, "My team uses Postgres", opens, **APOLLO)
    await told(face, "I like jazz", opens)
    await face.remember("Bob has a dog", user_id="bob")

    assert await face.found("which database does the team use", user_id="bob", strategy="text", **APOLLO) == [POSTGRES]
    assert await face.found("which database does the team use", user_id="bob", strategy="text") == []
    assert await face.found("jazz", user_id="bob", strategy="text", **APOLLO) == []
    assert await face.found("team", user_id="bob", strategy="text", project_id="zeus") == []
    assert await face.found("team", user_id="alice", strategy="text", **APOLLO) == [POSTGRES]
    assert await face.found("team", as_of="2026-01-02T00:00:00Z", user_id="bob", **APOLLO) == [
        POSTGRES,
        "Bob has a dog",
    ]
    assert texts(await face.search("team", **APOLLO)) == [POSTGRES]

    pack = await face.context("Which database does the team use?", user_id="bob", gate="always", **APOLLO)
    assert POSTGRES in pack.text
    assert POSTGRES not in (await face.context("Which database does the team use?", user_id="bob", gate="always")).text
    (line,) = [line for line in await face.export(everybody=True) if line.get("text") == POSTGRES]
    assert {link["user_id"]: link["use_count"] for link in line["links"]} == {"alice": 0, "project:apollo": 1}


@pytest.mark.req("N-27")
async def test_a_block_is_made_again_when_the_project_learns_something(face: Face, opens: Opens) -> None:
    await told(face, "My team uses Postgres", opens, **APOLLO)
    question = {"user_id": "bob", "gate": "always", **APOLLO}
    assert "Redis" not in (await face.context("What does the team use?", **question)).text
    await face.remember("The team uses Redis", user_id="carol", **APOLLO)
    assert "Redis" in (await face.context("What does the team use?", **question)).text


@pytest.mark.req("N-27")
async def test_membership_is_settled_when_a_turn_is_said(opens: Opens) -> None:
    """What could not be learned then is learned later, and still belongs to the project."""
    llm = ScriptedLlm(
        [LLMError("down"), {"facts": [{"fact": "User's team uses Postgres.", "quote": "team uses Postgres"}]}]
    )
    face = opens({"extract": {"strategies": ["facts"]}}, llm=llm)
    answer = await face.add("My team uses Postgres", user_id="alice", **APOLLO)
    assert answer["status"] == "deferred"
    assert texts(await face.get_all(layers=["turn"], **ITS_OWN)) == ["My team uses Postgres"]
    await face.sessions.flush(everybody=True)
    assert texts(await face.get_all(**ITS_OWN)) == [POSTGRES]


@pytest.mark.req("N-27")
async def test_the_project_learns_when_one_s_own_memory_is_off(face: Face, opens: Opens) -> None:
    await face.settings.set({"policy.learns": False}, agent_id="helper")
    who = {"user_id": "alice", "agent_id": "helper"}
    await told(face, "My team uses Postgres", opens, **who, **APOLLO)
    assert texts(await face.get_all(**ITS_OWN)) == [POSTGRES]
    assert texts(await face.get_all(**who)) == texts(await face.get_all(layers=["turn"], **who)) == []

    await told(face, "I have a dog called Rex", opens, user_id=None, **APOLLO)
    assert len((await face.get_all(**ITS_OWN))["results"]) == 2
    with pytest.raises(ScopeError):
        await face.add("My team uses Redis")


@pytest.mark.req("N-27", "P-16")
async def test_what_is_changed_in_the_project_changes_there_and_elsewhere_only_for_oneself(
    face: Face, opens: Opens
) -> None:
    await told(face, "I live in Oslo", opens, **APOLLO)
    await told(face, "I moved to Bergen", opens, **APOLLO)
    assert await face.listed(**ITS_OWN) == await face.listed(user_id="alice") == ["User moved to Bergen."]

    await told(face, "I moved to Rome", opens)
    assert await face.listed(user_id="alice") == ["User moved to Rome."]
    assert await face.listed(**ITS_OWN) == ["User moved to Bergen."]


@pytest.mark.req("N-27")
async def test_members_do_not_overrule_one_another(face: Face, opens: Opens) -> None:
    for user, city in (("alice", "Oslo"), ("bob", "Rome"), ("carol", "Oslo")):
        await told(face, f"I live in {city}", opens, user_id=user, **APOLLO)
    lives = sorted(await face.listed(**ITS_OWN))
    assert lives == ["User lives in Oslo.", "User lives in Oslo.", "User lives in Rome."]
    await told(face, "I moved to Bergen", opens, user_id="bob", **APOLLO)
    assert sorted(await face.listed(**ITS_OWN)) == [
        "User lives in Oslo.",
        "User lives in Oslo.",
        "User moved to Bergen.",
    ]


@pytest.mark.req("N-27")
async def test_what_is_stored_as_it_is_belongs_to_the_project_too(face: Face) -> None:
    await face.remember("We deploy on Fridays", user_id="alice", **APOLLO)
    assert await face.listed(**ITS_OWN) == ["We deploy on Fridays"]
    own = await face.remember("We meet on Mondays", user_id="alice")
    assert await face.remember("We meet on Mondays", user_id="alice", **APOLLO) == own
    assert await face.listed(**ITS_OWN) == ["We meet on Mondays", "We deploy on Fridays"]
    await face.delete_all(user_id="alice")
    assert await face.listed(**ITS_OWN) == ["We meet on Mondays", "We deploy on Fridays"]
    assert await face.found("deploy", strategy="vector", **ITS_OWN, limit=1) == ["We deploy on Fridays"]
    assert await face.delete_all(**ITS_OWN) == {"deleted": 2}
