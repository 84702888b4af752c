"""Turns in searches: found by what was said, and honest about what has changed since."""

from __future__ import annotations

import pytest

from tests.faces.harness import Face, Opens, texts
from tests.faces.infer_steps import LOCAL, told


@pytest.mark.req("S-8", "X-42")
@pytest.mark.parametrize("strategy", ["hybrid", "text", "vector"])
async def test_turns_are_found_by_words_and_by_meaning(face: Face, opens: Opens, strategy: str) -> None:
    await face.ingest(["The harbour crane is blue.", "We ate soup.", "It rained."], user_id="alice", run_id="r1")

    found = (await face.search("harbour crane", user_id="alice", layers=["turn"], strategy=strategy))["results"]

    assert found[0]["memory"] == "The harbour crane is blue."
    assert (found[0]["layer"], found[0]["run_id"], found[0]["actor"]) == ("turn", "r1", "user")
    assert "superseded_by" not in found[0]
    assert (await face.found("harbour crane"))[0] == "The harbour crane is blue."
    assert await face.found("harbour crane", layers=["fact"]) == []


@pytest.mark.req("S-8", "X-9")
async def test_a_turn_whose_fact_was_superseded_says_by_what(opens: Opens) -> None:
    face = opens(LOCAL)
    await told(face, "I work at Acme Corp.", opens)
    ((event, _),) = await told(face, "I now work at BigTech Inc.", opens)
    assert event == "UPDATE"
    (fact,) = (await face.get_all(user_id="alice"))["results"]

    found = (await face.search("work", user_id="alice", layers=["turn"]))["results"]

    by_text = {turn["memory"]: turn for turn in found}
    assert by_text["I work at Acme Corp."]["superseded_by"] == [{"id": fact["id"], "memory": fact["memory"]}]
    assert "superseded_by" not in by_text["I now work at BigTech Inc."]


async def test_a_fact_that_was_edited_overtakes_its_turn_and_other_metadata_does_not(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo.", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await face.update(fact["id"], metadata={"seen": True})
    (turn,) = (await face.search("Oslo", user_id="alice", layers=["turn"]))["results"]
    assert "superseded_by" not in turn

    await face.update(fact["id"], "User lives in Rome.")

    (turn,) = (await face.search("Oslo", user_id="alice", layers=["turn"]))["results"]
    assert turn["superseded_by"] == [{"id": fact["id"], "memory": "User lives in Rome."}]


async def test_what_overtook_a_turn_is_shown_only_to_those_who_may_see_it(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo.", opens, expires_at="2030-01-01")
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await face.update(fact["id"], "User lives in Rome.", expires_at="2026-06-01")
    opens.clock.advance(days=365)

    (turn,) = (await face.search("Oslo", user_id="alice", layers=["turn"]))["results"]

    assert turn["superseded_by"] == [{"id": fact["id"], "memory": None}]


async def test_a_turn_that_says_several_things_names_everything_that_changed(opens: Opens) -> None:
    face = opens(LOCAL)
    await told(face, "I work at Acme Corp and I live in Oslo.", opens)
    for message in ("I moved to Rome.", "I now work at BigTech Inc.", "I moved to Lima."):
        ((event, _),) = await told(face, message, opens)
        assert event == "UPDATE"
    facts = {one["memory"]: one["id"] for one in (await face.get_all(user_id="alice"))["results"]}

    found = (await face.search("Acme Oslo", user_id="alice", layers=["turn"]))["results"]

    (turn,) = [one for one in found if "Acme" in one["memory"]]
    assert sorted(turn["superseded_by"], key=lambda one: str(one["memory"])) == [
        {"id": facts[text], "memory": text} for text in sorted(facts)
    ]
    assert len(facts) == 2


@pytest.mark.req("S-8")
async def test_a_fact_and_the_turn_it_comes_from_are_shown_once(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo.", opens)
    await face.ingest(["Oslo was cold."], user_id="alice")
    (turn_id,) = [
        turn["id"]
        for turn in (await face.get_all(user_id="alice", layers=["turn"]))["results"]
        if turn["memory"] == "I live in Oslo."
    ]

    both = (await face.search("Oslo", user_id="alice"))["results"]

    assert sorted(texts({"results": both})) == ["Oslo was cold.", "User lives in Oslo."]
    (fact,) = [one for one in both if one["layer"] == "fact"]
    assert fact["source"] == turn_id
    assert "source" not in (await face.search("Oslo", user_id="alice", layers=["fact"]))["results"][0]


@pytest.mark.req("X-42")
async def test_a_turn_that_answers_better_than_its_facts_is_shown_and_names_them(opens: Opens) -> None:
    face = opens({**LOCAL, "embedder": {"provider": "none"}})
    await told(face, "I love jazz. The weather forecast mumbles about drizzle over the fjord.", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]

    (turn,) = (await face.search("Does the forecast mumble about drizzle? Jazz?", user_id="alice"))["results"]
    assert (turn["layer"], turn["facts"]) == ("turn", [{"id": fact["id"], "memory": fact["memory"]}])
    (found,) = (await face.search("User loves jazz", user_id="alice"))["results"]
    assert (found["layer"], found["source"]) == ("fact", turn["id"])


async def test_what_is_left_out_makes_room_for_what_comes_next(face: Face, opens: Opens) -> None:
    for city in ("Oslo", "Rome", "Lima"):
        await told(face, f"I like {city}.", opens)

    found = (await face.search("Oslo Rome Lima", user_id="alice", layers=["fact", "turn"], limit=4))["results"]

    assert [one["layer"] for one in found] == ["fact"] * 3


@pytest.mark.req("X-42")
async def test_what_an_edited_fact_no_longer_says_is_found_only_where_turns_alone_are_looked_for(
    face: Face, opens: Opens
) -> None:
    await told(face, "I live in Oslo.", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await face.update(fact["id"], "User lives in Oslo and Rome.")

    assert await face.found("Oslo") == ["User lives in Oslo and Rome."]
    assert await face.found("Oslo", layers=["turn"]) == ["I live in Oslo."]
