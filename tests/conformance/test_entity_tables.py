"""Entities, mentions and relations in the ledger, under both ways of waiting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from memstone.engine.store.mention import note_of, write_mentions
from memstone.engine.store.versions import insert_version
from memstone.model.memory import Entity, EntityFound, EntityRow, EntityType, Layer, Link, Record, Relation, Status
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.testing.modes import MODES
from tests.conformance.graph_world import ALICE, BOB, LATER, NOW, GraphWorld, fresh, in_world
from tests.english import ENGLISH

TABLES = ("entities", "mentions", "relations")
both_modes = pytest.mark.parametrize("mode", MODES)


@both_modes
@pytest.mark.req("N-36")
def test_a_memory_that_names_nothing_writes_nothing(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("nothing in particular happened")
        assert [await world.count(table) for table in TABLES] == [0, 0, 0]

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("N-36")
def test_an_entity_is_stored_once_and_mentioned_by_every_memory(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        first = await world.add("Anna likes tea.")
        second = await world.add("I saw ANNA in the garden with Anna's dog.")
        (row,) = await world.parts.ledger.read(lambda tx: tx.entities.of(ALICE, ["anna"]))
        assert (row.name, row.type) == ("Anna", "person")
        found = await world.parts.ledger.read(lambda tx: tx.entities.memories_of("default", [row.id], 10))
        assert found == {row.id: [first.seq, second.seq]}

    in_world(mode, scenario)


async def mentions_of_anna(scope: Scope, tx: Tx) -> tuple[EntityRow, dict[str, list[int]]]:
    (row,) = await tx.entities.of(scope, ["anna"])
    return row, await tx.entities.memories_of(scope.tenant_id, [row.id], 10)


@both_modes
@pytest.mark.req("R-12")
def test_the_same_name_of_two_users_or_tenants_is_two_entities(mode: str) -> None:
    other = Scope("other", user_id="alice")

    async def scenario(world: GraphWorld) -> None:
        seqs = [(await world.add("Anna likes tea.", scope)).seq for scope in (ALICE, BOB, other)]
        for scope, seq in zip((ALICE, BOB, other), seqs, strict=True):
            row, mentioned = await world.parts.ledger.read(partial(mentions_of_anna, scope))
            assert row.owner == scope
            assert mentioned == {row.id: [seq]}
        foreign = (await world.parts.ledger.read(lambda tx: tx.entities.of(BOB, ["anna"])))[0].id
        assert await world.parts.ledger.read(lambda tx: tx.entities.memories_of("other", [foreign], 10)) == {
            foreign: []
        }

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("R-12")
def test_one_person_is_one_entity_in_all_runs_of_a_user_and_agents_without_a_user_share_nothing(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("Anna likes tea.", Scope(user_id="alice", run_id="r1"))
        await world.add("Anna likes rain.", Scope(user_id="alice", agent_id="bot", run_id="r2"))
        await world.add("Anna likes snow.", Scope(agent_id="bot"))
        await world.add("Anna likes wind.", Scope(agent_id="cat"))
        assert await world.count("entities") == 3
        reached = await world.parts.ledger.read(lambda tx: tx.entities.of(Scope(agent_id="bot"), ["anna"]))
        assert {row.owner for row in reached} == {ALICE, Scope(agent_id="bot")}

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("R-12")
def test_names_that_share_a_beginning_are_stored_apart(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("We met Ann, then Anna, then Anna Schmidt.")
        assert {"ann", "anna", "anna schmidt"} <= (await world.names()).keys()

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("R-12")
def test_deleting_a_memory_takes_its_mentions_its_relations_and_what_nothing_else_names(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        record = await world.add("Anna likes tea.")
        gone = await world.add("Anna works at Contoso. I use Docker.")
        await world.end(gone)
        assert await world.names() == {"anna": "person"}
        assert [await world.count(table) for table in TABLES] == [1, 1, 0]
        await world.end(record)
        assert [await world.count(table) for table in TABLES] == [0, 0, 0]

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("R-12")
def test_a_memory_that_one_of_two_users_gives_up_stays_in_the_graph_of_the_other(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        shared = await world.add("Anna works at Contoso.", ALICE, BOB)
        await world.parts.ledger.write(lambda tx: tx.entities.leave("default", [shared.seq], ALICE))
        assert await world.parts.ledger.read(lambda tx: tx.entities.of(ALICE, ["anna", "contoso"])) == []
        assert (await world.names(BOB)).keys() == {"anna", "contoso"}
        assert len(await world.parts.ledger.read(lambda tx: tx.entities.edges(BOB, 10))) == 1

    in_world(mode, scenario)


@both_modes
def test_removing_the_row_of_a_memory_takes_its_links_in_the_graph_along(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("My sister Anna works at Contoso.")
        await world.parts.ledger.write(lambda tx: tx.admin.reset("default"))
        assert [await world.count(table) for table in TABLES] == [0, 0, 0]

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("C-28")
def test_a_later_and_better_type_or_description_takes_the_place_of_none(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("I like Brix.")
        assert await world.names() == {"brix": "concept"}
        before = await world.parts.ledger.read(lambda tx: tx.entities.of(ALICE, ["brix"]))
        entity = Entity("Brix", "brix", EntityType.ORGANIZATION, "a bakery")
        await world.add("Brix is a bakery.", found=EntityFound((entity,)))
        after = await world.parts.ledger.read(lambda tx: tx.entities.of(ALICE, ["brix"]))
        assert [(row.id, row.type, row.description) for row in after] == [(before[0].id, "organization", "a bakery")]
        await world.add("I like Brix still.")
        assert await world.names() == {"brix": "organization"}

    in_world(mode, scenario)


@both_modes
def test_two_things_of_one_name_and_different_sorts_stay_apart(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        for kind in (EntityType.PERSON, EntityType.LOCATION):
            await world.add("Something about Sydney.", found=EntityFound((Entity("Sydney", "sydney", kind),)))
        rows = await world.parts.ledger.read(lambda tx: tx.entities.of(ALICE, ["sydney"]))
        assert {row.type for row in rows} == {"person", "location"}

    in_world(mode, scenario)


@both_modes
@pytest.mark.req("C-28")
def test_an_edge_is_written_once_for_each_memory_that_states_it(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        record = await world.add("Anna works at Contoso.")
        again = note_of(record, [Link(ALICE, NOW)], ENGLISH.names)
        await world.parts.ledger.write(lambda tx: write_mentions(tx, [again], LATER))
        assert [await world.count(table) for table in TABLES] == [2, 2, 1]
        await world.add("Anna works at Contoso, still.")
        assert [await world.count(table) for table in TABLES] == [2, 4, 2]

    in_world(mode, scenario)


@both_modes
def test_neighbours_are_one_hop_away_in_either_direction(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("Anna works at Contoso. Contoso is located in Ulm.")

        async def work(tx: Tx) -> dict[str, set[str]]:
            rows = await tx.entities.of(ALICE, ["anna", "contoso", "ulm"])
            near = await tx.entities.neighbours("default", [row.id for row in rows], 10)
            names = {row.id: row.norm for row in rows}
            return {name: {row.norm for entity, row in near if names[entity] == name} for name in names.values()}

        found = await world.parts.ledger.read(work)
        assert found == {"anna": {"contoso"}, "contoso": {"anna", "ulm"}, "ulm": {"contoso"}}

    in_world(mode, scenario)


@both_modes
def test_a_batch_writes_each_name_once_and_every_mention(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        links = [Link(ALICE, NOW)]
        records = [fresh(f"Anna and Felix met {number} times.") for number in range(20)]

        async def work(tx: Tx) -> None:
            for record in records:
                await insert_version(tx, ENGLISH, record, links, [])
            await write_mentions(tx, [note_of(record, links, ENGLISH.names) for record in records], NOW)

        await world.parts.ledger.write(work)
        assert [await world.count(table) for table in TABLES] == [2, 40, 0]

    in_world(mode, scenario)


@both_modes
def test_a_listing_counts_only_what_its_scope_sees(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        await world.add("Anna likes tea.", Scope(user_id="alice", run_id="r1"))
        await world.add("Anna and Felix like tea.", Scope(user_id="alice", run_id="r2"))
        listed = await world.parts.ledger.read(
            lambda tx: tx.entities.list_entities(Scope(user_id="alice", run_id="r1"), 10)
        )
        assert [(row.norm, row.mentions) for row in listed] == [("anna", 1)]
        listed = await world.parts.ledger.read(lambda tx: tx.entities.list_entities(ALICE, 10))
        assert [(row.norm, row.mentions) for row in listed] == [("anna", 2), ("felix", 1)]
        assert await world.names(BOB) == {}

    in_world(mode, scenario)


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ({"layer": Layer.TURN}, True),
        ({"layer": Layer.EPISODE}, True),
        ({"layer": Layer.IDENTITY}, False),
        ({"status": Status.EVICTED}, False),
        ({"status": Status.DISABLED}, True),
    ],
)
def test_which_memories_have_a_place_in_the_graph(fields: dict[str, str], written: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (note_of(fresh("Anna likes tea.", **fields), [Link(ALICE, NOW)], ENGLISH.names) is not None) == written


@pytest.mark.parametrize(
    ("role", "data", "source"),
    [
        ("user", {}, "user"),
        ("user", {"speaker": "user"}, "user"),
        ("user", {"speaker": "Ida"}, "ida"),
        ("assistant", {"speaker": "assistant"}, None),
    ],
)
def test_who_says_i_in_a_memory(role: str, data: dict[str, str], source: str | None) -> None:
    note = note_of(fresh("I live in Oslo.", role=role, data=data), [Link(ALICE, NOW)], ENGLISH.names)
    assert note is not None
    assert [one.source for one in note.found.relations] == ([source] if source else [])


@pytest.mark.req("R-12")
def test_writers_and_deleters_side_by_side_leave_no_loose_end(tmp_path: Path) -> None:
    async def scenario(world: GraphWorld) -> None:
        def work(number: int) -> None:
            from memstone.drive import drive

            records: list[Record] = []
            for turn in range(12):
                records.append(drive(world.add(f"Anna met Felix and my friend Hugo{number % 2}, take {turn}.")))
                if turn % 3 == 2:
                    drive(world.end(*records))
                    records.clear()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert (await world.parts.ledger.check())["foreign_keys"] == 0
        assert [await world.count(table) for table in TABLES] == [0, 0, 0]

    in_world("blocking", scenario, tmp_path / "graph.db")


@both_modes
def test_edges_of_a_scope_name_both_ends(mode: str) -> None:
    async def scenario(world: GraphWorld) -> None:
        found = EntityFound(
            (Entity("Ida", "ida", EntityType.PERSON), Entity("Acme", "acme", EntityType.ORGANIZATION)),
            (Relation("ida", "works_at", "acme", ended=True, confidence=0.7),),
        )
        record = await world.add("Ida was at Acme.", found=found, at=LATER)
        edges = await world.parts.ledger.read(lambda tx: tx.entities.edges(ALICE, 10))
        source, edge, target = next(one for one in edges if one[1].confidence == 0.7)
        assert (source.name, edge.type, target.name) == ("Ida", "works_at", "Acme")
        assert (edge.valid_from, edge.valid_to, edge.memory_seq) == (LATER, LATER, record.seq)

    in_world(mode, scenario)
