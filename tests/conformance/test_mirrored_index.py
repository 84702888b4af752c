"""A vector store outside the ledger, filled by cursor: it holds what the ledger says, whatever happened to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.engine.store.versions import Space, ensure_space
from memstone.engine.transfer import mirror
from memstone.engine.transfer.mirror import MirroredIndex
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.io import Io
from memstone.ports.ledger import IndexInfo, Tx
from memstone.testing.modes import MODES, run
from tests.conformance.vector_world import (
    ALICE,
    BOB,
    SPACE,
    World,
    empty_store,
    holds_what_the_ledger_says,
    mirrored,
    near,
    points,
)

both = pytest.mark.parametrize("mode", MODES)


@both
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.req("R-5", "R-18", "O-12", "X-19", "C-31")
def test_random_changes_and_questions_agree_with_the_definition(mode: str, seed: int) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io, seed=seed)
        store = empty_store(io)
        index = mirrored(world, io, store)
        for number in range(150):
            await world.step()
            await world.agrees(index, world.query())
            if number % 10 == 0:
                await index.holds(world.tenant, SPACE.signature, [])
                await holds_what_the_ledger_says(store, world)

    run(mode, scenario)


@both
@pytest.mark.req("R-6")
def test_a_store_that_is_switched_on_later_is_filled_with_everything_there_is(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_PAGE", 16)

    async def scenario(io: Io) -> None:
        world = await World.open(io)
        for _ in range(140):
            await world.step()
        store = empty_store(io)
        await world.agrees(mirrored(world, io, store), near(world, 1000))
        await holds_what_the_ledger_says(store, world)

    run(mode, scenario)


@pytest.mark.parametrize("count", [15, 16, 17, 32])
def test_pages_of_the_log_leave_nothing_out_at_their_edges(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_PAGE", 16)

    async def scenario(io: Io) -> None:
        world = await World.open(io)
        index = mirrored(world, io)
        for _ in range(3):
            for _ in range(count):
                await world.add(ALICE)
            await world.agrees(index, near(world, 1000))

    run("blocking", scenario)


@both
@pytest.mark.req("R-6")
def test_a_collection_dropped_behind_its_back_is_built_again(mode: str) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = empty_store(io)
        index = mirrored(world, io, store)
        for _ in range(20):
            await world.add(ALICE)
        await world.agrees(index, near(world))
        await store.reset()
        await world.agrees(index, near(world))
        await store.reset()
        await world.add(ALICE)  # now it is an addition that meets the missing collection
        await world.agrees(index, near(world))
        await holds_what_the_ledger_says(store, world)

    run(mode, scenario)


@pytest.mark.req("R-18", "O-12")
def test_what_left_while_nobody_followed_is_removed_at_the_first_use() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = empty_store(io)
        for _ in range(60):
            await world.step()
        await mirrored(world, io, store).holds(world.tenant, SPACE.signature, [])
        for _ in range(60):
            await world.step()
        await mirrored(world, io, store).holds(world.tenant, SPACE.signature, [])
        await holds_what_the_ledger_says(store, world)

    run("blocking", scenario)


@pytest.mark.req("R-18")
def test_two_processes_that_fill_one_store_do_not_disturb_each_other(tmp_path: Path) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io, tmp_path / "memories.db")
        other = SqliteLedger(SqliteConfig(path=tmp_path / "memories.db", durable=False), io)
        await other.open()
        store = empty_store(io)
        indexes = [mirrored(world, io, store), MirroredIndex(other, store, "memories", io)]
        for _ in range(120):
            await world.step()
            await world.agrees(world.chance.choice(indexes), world.query())
        for index in indexes:
            await index.holds(world.tenant, SPACE.signature, [])
        await holds_what_the_ledger_says(store, world)
        await other.close()

    run("blocking", scenario)


@pytest.mark.req("O-12")
def test_a_reset_by_somebody_else_empties_this_ones_store(tmp_path: Path) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io, tmp_path / "memories.db")
        store = empty_store(io)
        index = mirrored(world, io, store)
        for _ in range(10):
            await world.add(ALICE)
        await world.agrees(index, near(world))
        await world.ledger.write(lambda tx: tx.admin.reset(world.tenant))
        world.held.clear()
        await world.agrees(index, near(world))
        assert await points(store) == []
        for _ in range(3):
            await world.add(ALICE)
        await world.agrees(index, near(world))
        await world.ledger.write(lambda tx: tx.admin.reset(world.tenant))
        world.held.clear()
        await world.add(BOB)  # the log goes on, but no longer where this one had stopped
        await world.agrees(index, near(world, 5, BOB))
        await holds_what_the_ledger_says(store, world)

    run("blocking", scenario)


@both
def test_forget_drops_the_collections_of_one_tenant(mode: str) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        neighbour = World(world.ledger, world.chance, tenant="neighbour")
        store = empty_store(io)
        index = mirrored(world, io, store)
        for _ in range(5):
            await world.add(ALICE)
            await neighbour.add(ALICE)
        vector_query = replace(near(world), scope=replace(ALICE, tenant_id="neighbour"))
        await world.agrees(index, near(world))
        await neighbour.agrees(index, vector_query)
        await holds_what_the_ledger_says(store, world, neighbour)
        await index.forget(world.tenant)
        await holds_what_the_ledger_says(store, neighbour)
        await neighbour.agrees(index, vector_query)
        await world.agrees(index, near(world))

    run(mode, scenario)


@pytest.mark.req("X-19")
def test_collections_have_safe_names_that_keep_names_and_tenants_apart() -> None:
    async def scenario(io: Io) -> None:
        store = empty_store(io)
        names = ("my memories", "my-memories", "Erinnerungen/ÄÖÜ", "../../etc", "x" * 300)
        for tenant in ("default", "a b"):
            world = await World.open(io)
            world.tenant = tenant
            await world.add(ALICE)
            for name in names:
                await mirrored(world, io, store, name).holds(tenant, SPACE.signature, [])
        made = [info.name for info in await store.collections()]
        assert len(made) == len(set(made)) == 2 * len(names)
        assert all(name.isascii() and name.replace("_", "").isalnum() and len(name) < 64 for name in made)

    run("blocking", scenario)


@pytest.mark.req("X-20", "O-12")
def test_the_collection_of_a_replaced_embedder_is_dropped() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = empty_store(io)
        index = mirrored(world, io, store)
        seq = await world.add(ALICE)
        await world.agrees(index, near(world))

        async def reindexed(tx: Tx) -> None:
            await tx.indexes.drop(world.tenant, SPACE.signature)
            await ensure_space(tx, world.tenant, Space("new:model:2", 2))
            await tx.indexes.put(world.tenant, IndexInfo("new:model:2", 2, "active"))
            await tx.vectors.put(world.tenant, "new:model:2", [(seq, bytes.fromhex("0000803f00000000"))])

        await world.ledger.write(reindexed)
        hits = await index.search(VectorQuery("new:model:2", [1.0, 0.0], 5, ALICE))
        assert [(hit.seq, hit.cosine) for hit in hits] == [(seq, 1.0)]
        assert [info.dimension for info in await store.collections()] == [2]

    run("blocking", scenario)


def test_a_space_the_ledger_does_not_know_has_no_neighbours_and_no_collection() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = empty_store(io)
        assert list(await mirrored(world, io, store).search(near(world))) == []
        assert await store.collections() == []

    run("blocking", scenario)


def test_several_links_of_one_memory_take_one_place() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        query = near(world, 3)
        many = [Scope(user_id="alice", run_id=f"r{n}") for n in range(50)]
        best = await world.add(*many, vector=query.vector)
        others = {await world.add(ALICE), await world.add(ALICE)}
        hits = await mirrored(world, io).search(query)
        assert hits[0].seq == best
        assert {hit.seq for hit in hits[1:]} == others

    run("blocking", scenario)


@pytest.mark.req("O-12")
def test_every_point_of_a_memory_with_very_many_links_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_PAGE", 1)

    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = empty_store(io)
        index = mirrored(world, io, store)
        seq = await world.add(*(Scope(user_id="alice", run_id=f"r{n}") for n in range(50)))
        await world.add(ALICE)
        await index.search(near(world))
        await holds_what_the_ledger_says(store, world)
        await world.end(seq)
        await index.search(near(world))
        await holds_what_the_ledger_says(store, world)

    run("blocking", scenario)


@pytest.mark.req("X-19")
def test_a_scope_is_seen_through_one_link_not_through_two_together() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        seq = await world.add(Scope(user_id="alice", agent_id="bot"), Scope(user_id="bob", agent_id="cat"))
        index = mirrored(world, io)
        crossed = near(world, 5, Scope(user_id="alice", agent_id="cat"))
        assert list(await index.search(crossed)) == []
        assert list(await index.search(replace(crossed, among=frozenset({seq}), also=(seq,)))) == []

    run("blocking", scenario)


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.req("R-5")
def test_a_filter_of_the_engine_is_honoured_before_the_cut(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "_FEW", few)

    async def scenario(io: Io) -> None:
        world = await World.open(io)
        seqs = [await world.add(ALICE, *(BOB,) * (n % 2)) for n in range(300)]
        query = near(world, 3)
        worst = [hit.seq for hit in world.expected(replace(query, limit=1000))][-5:]
        index = mirrored(world, io)
        for chosen in (frozenset(worst), frozenset(seqs), frozenset(seqs[:100]), frozenset[int]()):
            await world.agrees(index, replace(query, among=chosen))

    run("blocking", scenario)


def test_also_tells_the_similarity_of_memories_beyond_the_limit_once() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        seqs = [await world.add(ALICE) for _ in range(20)]
        foreign = await world.add(BOB)
        left = seqs.pop()
        await world.end(left)
        query = replace(near(world, 4), also=(*seqs[:10], foreign, left, 999_999))
        hits = await mirrored(world, io).search(query)
        assert [hit.extra for hit in hits] == [False] * 4 + [True] * (len(hits) - 4)
        assert len({hit.seq for hit in hits}) == len(hits)
        assert {hit.seq for hit in hits} == set(seqs[:10]) | {hit.seq for hit in world.expected(query)}
        for hit in (hit for hit in hits if hit.extra):
            assert hit.cosine == pytest.approx(float(world.held[hit.seq].vector @ query.vector), abs=1e-5)

    run("blocking", scenario)
