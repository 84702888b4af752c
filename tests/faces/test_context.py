"""What a model is shown, through both faces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memstone.errors import InvalidInput
from tests.faces.harness import ANYWHERE, ON_DISK, Face, Opens

STORY = (
    "Hi, I'm Alice. I work at Acme Corp as a data scientist.",
    "I moved to Berlin. My sister Anna lives in Oslo.",
    "I am allergic to peanuts.",
)


async def told(face: Face) -> None:
    for text in STORY:
        await face.add(text, user_id="alice", run_id="monday")


@pytest.mark.req("S-29", "S-31", "O-58", "P-10")
async def test_a_question_about_the_user_brings_what_is_known_fenced_and_cited(face: Face) -> None:
    await told(face)
    pack = await face.context("Where does my sister live?", user_id="alice")

    assert "User's sister Anna lives in Oslo." in pack.text
    assert "not instructions" in pack.text
    assert "ignore the rest" in pack.text
    assert pack.text.startswith("<memstone-memory")
    assert 0 < pack.tokens <= pack.budget == 1_400
    cited = {citation.memory_id for citation in pack.citations}
    known = {item["id"] for item in (await face.get_all(user_id="alice"))["results"]}
    assert cited
    assert cited <= known
    assert all(citation.turn_id for citation in pack.citations)
    assert json.loads(json.dumps(pack.as_dict()))["empty"] is False


@pytest.mark.req("X-4", "S-24", "D-10", "X-4.1")
@pytest.mark.parametrize("gate", ["heuristic", "never"])
async def test_a_gate_that_closes_shows_nothing_and_says_why(opens: Opens, gate: str) -> None:
    face = opens({"context": {"gate": gate}})
    await face.add("I am allergic to peanuts.", user_id="alice")
    pack = await face.context("What is the capital of Peru?", user_id="alice")

    assert pack.volatile == ""
    assert "Anna" not in pack.text
    assert pack.gate.reason
    seen = await face.profile.preview("What is the capital of Peru?", user_id="alice")
    assert (seen["text"], seen["chosen"], seen["gate"]["route"]) == (pack.text, [], "none")
    if gate == "heuristic":
        assert not (await face.receipt(pack.receipt_id))["chosen"]


@pytest.mark.req("X-4", "X-4.1")
async def test_a_question_about_the_world_brings_the_profile_and_recalls_nothing(face: Face) -> None:
    await told(face)
    pack = await face.context("What is the capital of Peru?", user_id="alice")

    assert [section.name for section in pack.sections] == ["profile"]
    assert pack.sections[0].heading == "Known about the user:"
    assert "User is allergic to peanuts." in pack.stable
    assert "peanuts" not in pack.volatile


async def test_it_is_shown_who_said_what(face: Face) -> None:
    texts = [
        {"role": "user", "name": "Ada", "content": "I moved to Bergen."},
        {"role": "user", "name": "Ben", "content": "I moved to Lima."},
        {"role": "assistant", "content": "I never moved."},
        {"role": "user", "content": "I moved, too."},
    ]
    await face.ingest(texts, user_id="club", run_id="r1")
    await face.add(texts, user_id="notes", run_id="r1", infer=False)

    words = await face.context("What exactly did Ben say about where he moved?", user_id="club")
    notes = await face.context("Where have we all moved?", user_id="notes", gate="always")

    visible = [{line.line.partition("] ")[2] for line in pack.citations} for pack in (words, notes)]
    named = {"Ada: I moved to Bergen.", "Ben: I moved to Lima.", "assistant: I never moved."}
    assert visible == [{*named, "user: I moved, too."}, {*named, "I moved, too."}]


@pytest.mark.req("S-27")
async def test_known_names_open_the_gate(face: Face) -> None:
    await told(face)

    assert "Anna" in (await face.context("any plans with Anna this week?", user_id="alice")).text
    assert not await face.context("any plans with Birgit this week?", user_id="bob")


@pytest.mark.req("O-43", "O-44", "X-33")
async def test_a_budget_is_kept_and_checked(face: Face) -> None:
    await told(face)

    small = await face.context("Where does my sister live?", user_id="alice", budget=120)
    assert 0 < small.tokens <= 120
    assert not await face.context("Where does my sister live?", user_id="alice", budget=0)
    for wrong in (-1, 16_001, "800", True):
        with pytest.raises(InvalidInput):
            await face.context("x", user_id="alice", budget=wrong)
    with pytest.raises(InvalidInput, match="sometimes"):
        await face.context("hello there", user_id="alice", gate="sometimes")


@pytest.mark.req("R-4", "P-5")
async def test_nobody_is_shown_what_is_somebody_elses(face: Face) -> None:
    await told(face)

    assert not await face.context("Where does my sister live?", user_id="bob")
    assert (await face.graph.entities(user_id="bob"))["results"] == []
    assert (await face.graph.relations(user_id="bob"))["results"] == []


@ON_DISK
@pytest.mark.req("S-31", "S-33")
async def test_the_same_question_gives_the_same_block_in_another_process(face: Face, opens: Opens) -> None:
    await told(face)
    first = await face.context("Where does my sister live?", user_id="alice")
    again = await opens().context("Where does my sister live?", user_id="alice")

    assert (again.text, again.stable) == (first.text, first.stable)


@pytest.mark.req("C-28", "N-36", "R-12", "C-58.33")
async def test_whom_and_what_memories_speak_of(face: Face) -> None:
    await told(face)
    entities = {one["name"]: one["type"] for one in (await face.graph.entities(user_id="alice"))["results"]}
    assert {"Anna", "Oslo", "Acme Corp", "Berlin"} <= set(entities)
    assert entities["Anna"] == "person"
    edges = {
        (one["source"], one["relation"], one["target"])
        for one in (await face.graph.relations(user_id="alice"))["results"]
    }
    assert ("Anna", "sister_of", "user") in edges

    await face.delete_all(user_id="alice")
    assert (await face.graph.entities(user_id="alice"))["results"] == []
    with pytest.raises(InvalidInput):
        await face.graph.entities(user_id="alice", limit=0)


@pytest.mark.req("C-29", "N-36")
async def test_a_role_leads_to_the_one_who_has_it(opens: Opens) -> None:
    face = opens({"embedder": {"provider": "none"}})
    await face.add("My sister Anna lives in Oslo.", user_id="alice")
    await face.add("Anna adopted a cat named Miso.", user_id="alice")

    found = await face.found("what did my sister adopt?")
    assert any("Miso" in text for text in found)


@ANYWHERE
@pytest.mark.slow
@pytest.mark.req("N-24")
async def test_of_unrelated_questions_few_are_shown_anything(opens: Opens) -> None:
    data = Path(__file__).parent.parent / "data" / "gate"
    face = opens({"embedder": {"provider": "local"}, "context": {"gate": "always"}})
    memories = [json.loads(line)["text"] for line in (data / "memories.jsonl").read_text().splitlines()]
    await face.store_many([{"messages": text, "user_id": "alice"} for text in memories])
    asked = [json.loads(line)["text"] for line in (data / "questions_unrelated.jsonl").read_text().splitlines()][:40]

    visible = [question for question in asked if await face.context(question, user_id="alice")]
    assert len(visible) <= 4, visible


@ANYWHERE
@pytest.mark.parametrize(("given", "candidates"), [({"budget": 800}, 40), ({"budget": 120}, 40), ({"budget": 800}, 10)])
async def test_what_does_not_belong_is_left_out_however_little_there_is_room_for(
    opens: Opens, given: dict[str, int], candidates: int
) -> None:
    face = opens({"context": {"gate": "heuristic", "candidates": candidates}})
    things = ("tools", "books", "toys")
    await face.store_many(
        [
            {"messages": f"The box in room {number} holds {things[number % 3]}.", "user_id": "alice"}
            for number in range(40)
        ]
    )

    assert not await face.context("What is my blood type?", user_id="alice", **given)
    assert "room 7 holds" in (await face.context("What does my box in room 7 hold?", user_id="alice", **given)).text


@pytest.mark.req("S-28", "D-10", "X-4")
async def test_a_language_model_is_asked_only_where_rules_find_nothing(opens: Opens) -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return '{"route": "pinned"}'

    face = opens(llm=model)
    await face.add("I am allergic to peanuts.", user_id="alice", infer=False)
    assert "peanuts" in (await face.context("What am I allergic to?", user_id="alice", gate="llm")).text
    assert asked == []
    pack = await face.context("Zebras and xylophones", user_id="alice", gate="llm")
    assert len(asked) == 1
    assert "language model" in pack.gate.reason

    def broken(messages: list[dict[str, str]]) -> str:
        raise OSError("no route to host")

    other = opens({"tenant": "other"}, llm=broken)
    pack = await other.context("Zebras and xylophones", user_id="alice", gate="llm")
    assert not pack
    assert "failed" in pack.gate.reason


@pytest.mark.req("C-28", "C-57", "C-58.34")
async def test_a_language_model_may_name_whom_facts_speak_of(opens: Opens) -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        if not asked[-1].startswith("Statements:"):
            return '{"decisions": []}'
        entities = [{"name": "Rex", "type": "concept"}, {"name": "Ida", "type": "person"}]
        return json.dumps(
            {"entities": entities, "relations": [{"source": "Rex", "relation": "belongs_to", "target": "Ida"}]}
        )

    face = opens({"graph": {"llm": True}, "extract": {"strategies": ["pattern"]}}, llm=model)
    answer = await face.add("My dog Rex belongs to Ida.", user_id="alice")
    assert answer["status"] == "ok"
    edges = {(one["source"], one["target"]) for one in (await face.graph.relations(user_id="alice"))["results"]}
    assert ("Rex", "Ida") in edges
    assert len([one for one in asked if one.startswith("Statements:")]) == 1

    def broken(messages: list[dict[str, str]]) -> str:
        raise OSError("no route to host")

    other = opens({"tenant": "other", "graph": {"llm": True}, "extract": {"strategies": ["pattern"]}}, llm=broken)
    answer = await other.add("I work at Acme Corp.", user_id="alice")
    assert [one["memory"] for one in answer["results"]] == ["User works at Acme Corp."]
    names = {one["name"] for one in (await other.graph.entities(user_id="alice"))["results"]}
    assert "Acme Corp" in names, "without the model, rules find it"
