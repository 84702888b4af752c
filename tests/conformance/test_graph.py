"""The graph beside the memories: searching by it, listing it, and filling it with a language model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memstone.engine.learn.graph_llm import graph_of
from memstone.engine.recall.graph import (
    MOST,
    Bridge,
    GraphConnections,
    build_bridges,
    build_edges,
    choose_connected,
    compute_boosts,
    find_connections,
    read_entities,
    read_relations,
)
from memstone.errors import LlmUnavailable, MemstoneError
from memstone.model.memory import EntityFound, RelationRow
from memstone.model.scope import Scope
from memstone.ports.models import Prompt, Reply, ToolCall
from memstone.testing.llm import ScriptedLlm
from memstone.testing.modes import MODES
from tests.conformance.graph_world import ALICE, BOB, LATER, NOW, GraphWorld, in_world

both_modes = pytest.mark.parametrize("mode", MODES)


async def boosts(world: GraphWorld, query: str, scope: Scope = ALICE) -> dict[int, float]:
    return dict((await find_connections(world.parts, query, scope)).boosts)


@both_modes
@pytest.mark.req("N-36")
def test_a_question_points_to_the_memories_that_speak_of_whom_it_names(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        record = await world.add("Anna bakes bread.")
        await world.add("Felix bakes cakes.")
        await world.add("Anna sells shoes.", BOB)
        assert await boosts(world, "What does Anna like?", ALICE) == {record.seq: MOST}
        assert await boosts(world, "what does anna like?", ALICE) == {record.seq: MOST}
        assert await boosts(world, "What does Annabel like?", ALICE) == {}
        assert await boosts(world, "how are you?", ALICE) == {}

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("N-36")
def test_one_hop_over_relations_counts_for_half(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        stated = await world.add("Anna works at Contoso.")
        about = await world.add("Contoso sells lamps.")
        found = await boosts(world, "What does Anna sell?", ALICE)
        assert found[stated.seq] == MOST
        assert 0 < found[about.seq] <= MOST / 2

    in_world(mode, scenario)


@both_modes
def test_the_user_is_no_way_from_one_thing_to_another(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("I use Docker.")
        other = await world.add("I live in Oslo.")
        assert other.seq not in (await boosts(world, "Tell me about Docker", ALICE))

    in_world(mode, scenario)


@both_modes
def test_a_question_for_my_sister_finds_her_by_her_name(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("My sister Zuzanna is tall.")
        wanted = await world.add("Zuzanna teaches Latin.")
        await world.add("My brother Felix repairs cars.")
        found = await boosts(world, "what does my sister do for a living?", ALICE)
        assert found[wanted.seq] > 0
        assert len(found) == 2

    in_world(mode, scenario)


@both_modes
def test_an_agent_reaches_the_names_in_memories_it_shares(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        shared = await world.add("Anna bakes bread.", Scope(user_id="alice", agent_id="bot"))
        assert (await boosts(world, "Who is Anna?", Scope(agent_id="bot"))).keys() == {shared.seq}
        assert await boosts(world, "Who is Anna?", Scope(agent_id="cat")) == {}

    in_world(mode, scenario)


@pytest.mark.req("N-36")
def test_the_more_memories_name_something_the_less_a_mention_is_worth() -> None:
    def gain(count: int) -> float:
        return compute_boosts({"e": 1.0}, {"e": range(count)}).get(0, 0.0)

    assert [gain(1), gain(2)] == [0.5, 0.5 / 1.001]
    assert gain(101) == pytest.approx(0.5 / 11)
    assert gain(10_000) == 0.0
    assert max(compute_boosts({"a": 1.0, "b": 1.0}, {"a": [1], "b": [1, 2]}).values()) == MOST


@pytest.mark.req("C-58.35", "C-29")
def test_a_step_counts_where_one_of_the_best_hits_takes_it() -> None:
    mentioned = {"anna": [1, 2], "contoso": [2, 3, 4], "oslo": list(range(2, 30))}
    (step,) = build_bridges([("anna", "contoso"), ("anna", "oslo"), ("anna", "nobody")], mentioned)
    assert step == Bridge(frozenset({2}), (3, 4)), "a name in many memories leads nowhere in particular"
    found = GraphConnections(bridges=[step])
    assert choose_connected(found, [9, 2, 8]) == {3, 4}
    assert choose_connected(found, [9, 1, 8]) == set()


def row(target: str, at: str, seq: int, relation: str = "lives_in", to: str | None = None) -> RelationRow:
    return RelationRow(f"{seq}", "ida", target, relation, at, to, seq, at)


def held(rows: list[RelationRow]) -> dict[str, str | None]:
    return {edge.target: edge.valid_to for edge in build_edges(rows)}


def test_a_later_home_ends_the_earlier_one_and_giving_it_up_brings_that_back() -> None:
    rows = [row("oslo", NOW, 1), row("rome", LATER, 2)]
    assert held(rows) == {"oslo": LATER, "rome": None}
    assert held(rows[:1]) == {"oslo": None}


def test_one_may_use_many_things_and_what_is_said_to_be_over_is() -> None:
    assert held([row("python", NOW, 1, "uses"), row("rust", LATER, 2, "uses")]) == {"python": None, "rust": None}
    assert held([row("oslo", NOW, 1), row("oslo", LATER, 2, to=LATER)]) == {"oslo": LATER}
    assert held([row("oslo", NOW, 1, to=NOW), row("oslo", LATER, 2)]) == {"oslo": None}


@both_modes
def test_what_is_known_can_be_listed(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("My sister Anna lives in Oslo.")
        await world.add("Anna moved to Rome.", at=LATER)
        assert {one["name"]: one["mentions"] for one in await read_entities(world.parts, ALICE)} == {
            "Anna": 2,
            "Oslo": 1,
            "Rome": 1,
        }
        answer = {
            (one["source"], one["relation"], one["target"]): one["valid_to"]
            for one in await read_relations(world.parts, ALICE)
        }
        assert answer == {
            ("Anna", "sister_of", "user"): None,
            ("Anna", "lives_in", "Oslo"): LATER,
            ("Anna", "lives_in", "Rome"): None,
        }
        assert len(await read_relations(world.parts, ALICE, limit=1, offset=1)) == 1
        assert await read_entities(world.parts, BOB) == []

    in_world(mode, scenario)


TEXT = "I started at Quux Labs, where Mirela runs the chemistry side."
ENTITIES: dict[str, object] = {
    "entities": [
        {"name": "Quux Labs", "type": "organization", "description": "where the user works"},
        {"name": "Mirela", "type": "person", "description": None},
        {"name": "Pablo", "type": "person", "description": "is nowhere in the text"},
        {"name": "user", "type": "person", "description": None},
        "nonsense",
    ]
}
RELATIONS: dict[str, object] = {
    "relations": [
        {"source": "I", "relation": "works at", "target": "Quux Labs"},
        {"source": "Mirela", "relation": "works_at", "target": "Quux Labs"},
        {"source": "Mirela", "relation": "knows", "target": "Pablo"},
        {"source": "Mirela", "relation": "!!", "target": "Quux Labs"},
        {"source": "Mirela", "relation": "is", "target": "Mirela"},
    ]
}
EXPECTED = {("user", "works_at", "quux labs"), ("mirela", "works_at", "quux labs")}


BOTH: dict[str, object] = {**ENTITIES, **RELATIONS}


def called(**tools: dict[str, object]) -> Reply:
    return Reply("", tuple(ToolCall(name, arguments) for name, arguments in tools.items()))


async def graph(world: GraphWorld, text: str = TEXT, speaker: str = "user") -> EntityFound | None:
    (found,) = await graph_of(world.parts, [text], speaker)
    return found


def triples(found: EntityFound | None) -> set[tuple[str, str, str]]:
    assert found is not None
    return {(one.source, one.relation, one.target) for one in found.relations}


@both_modes
@pytest.mark.req("C-28")
def test_a_model_calls_two_tools_and_what_the_text_does_not_bear_out_is_dropped(mode: str) -> None:
    llm = ScriptedLlm([called(extract_entities=ENTITIES, extract_relations=RELATIONS)])

    async def scenario(world: GraphWorld) -> None:
        found = await graph(world)
        assert triples(found) == EXPECTED
        assert found is not None
        assert {(one.name, str(one.type)) for one in found.entities} == {
            ("Quux Labs", "organization"),
            ("Mirela", "person"),
            ("user", "person"),
        }
        await world.add(TEXT, found=found)
        assert await world.names() == {"quux labs": "organization", "mirela": "person"}, "the user is no entity to list"
        assert await graph(world) == found  # the answer is remembered

    in_world(mode, scenario, llm=llm)
    assert [tool["name"] for prompt in llm.prompts for tool in prompt.tools] == [
        "extract_entities",
        "extract_relations",
    ]


@pytest.mark.req("C-28")
def test_one_question_is_enough_for_many_texts_and_each_gets_what_it_names() -> None:
    llm = ScriptedLlm([BOTH])
    texts = [TEXT, "Mirela plays the oboe.", "It rained."]
    found = in_world("blocking", lambda world: graph_of(world.parts, texts), llm=llm)
    assert len(llm.prompts) == 1
    assert [triples(one) for one in found] == [EXPECTED, set(), set()]
    assert [sorted(entity.norm for entity in one.entities) for one in found if one is not None] == [
        ["mirela", "quux labs", "user"],
        ["mirela"],
        [],
    ]


def test_the_tools_ask_for_the_fields_that_are_kept() -> None:
    llm = ScriptedLlm([BOTH])
    in_world("blocking", graph, llm=llm)
    asked = [tool["parameters"]["properties"] for tool in llm.prompts[0].tools]
    assert asked[0]["entities"]["items"]["properties"]["type"]["enum"] == (
        "person organization concept location event technology product".split()
    )
    assert [*asked[1]["relations"]["items"]["properties"]] == ["source", "relation", "target"]


@pytest.mark.req("C-28")
def test_a_model_that_answers_in_words_instead_of_a_call_is_understood() -> None:
    llm = ScriptedLlm([f"Here it is: ```json\n{json.dumps(BOTH)}\n```"])
    assert triples(in_world("blocking", graph, llm=llm)) == EXPECTED


@pytest.mark.req("C-28")
def test_a_plain_function_without_tools_is_asked_for_json() -> None:
    assert triples(in_world("blocking", graph, llm=lambda _: json.dumps(BOTH))) == EXPECTED


def test_relations_are_about_the_one_who_speaks() -> None:
    llm = ScriptedLlm([BOTH, BOTH])
    found = in_world("blocking", lambda world: graph(world, TEXT, "Ida Berg"), llm=llm)
    assert ("ida berg", "works_at", "quux labs") in triples(found)
    found = in_world("blocking", lambda world: graph(world, TEXT, ""), llm=llm)
    assert triples(found) == {("mirela", "works_at", "quux labs")}


@both_modes
@pytest.mark.parametrize(
    "failing",
    [[LlmUnavailable("down")], ["no json", "still none"], [ValueError("a bug in somebody's adapter")]],
)
def test_a_model_that_fails_leaves_the_graph_out_and_the_memory_is_stored(mode: str, failing: list[Any]) -> None:
    async def scenario(world: GraphWorld) -> None:
        found = await graph(world)
        assert found is None
        record = await world.add(TEXT, found=found)
        assert await world.parts.ledger.read(lambda tx: tx.memories.at(record.seq)) is not None

    in_world(mode, scenario, llm=ScriptedLlm(failing))


def test_without_a_model_nothing_is_asked() -> None:
    assert in_world("blocking", graph) is None


def test_a_text_that_names_nothing_has_no_graph() -> None:
    llm = ScriptedLlm([{"entities": []}])
    assert in_world("blocking", lambda world: graph(world, "it rained"), llm=llm) == EntityFound()
    assert len(llm.prompts) == 1


def test_what_a_model_says_never_breaks_the_reading_of_it() -> None:
    def answer(prompt: Prompt) -> Any:
        return {"entities": [{"name": 7}, {"type": "x"}, {"name": "Mirela", "type": "alien", "description": 5}]}

    found = in_world("blocking", graph, llm=ScriptedLlm(answer))
    assert found is None or found.relations == ()


def test_errors_of_the_store_are_not_hidden() -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.engine.close()
        with pytest.raises(MemstoneError):
            await graph(world)

    in_world("blocking", scenario, llm=ScriptedLlm([BOTH]))
