"""The index in this process: exact, and in step with the ledger whoever writes to it."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pytest

from memstone import Memory
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.partition_cache import Name
from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.adapters.vectors.local import LocalVectors, LocalVectorsConfig
from memstone.drive import drive
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit
from memstone.ports.io import Io
from memstone.ports.ledger import Tx, VectorRow
from memstone.testing.modes import MODES, run
from tests.conformance.vector_world import ALICE, BOB, DIM, SPACE, World, near

QUANTS: Final[tuple[Literal["int8"] | None, ...]] = (None, "int8")
held_as = pytest.mark.parametrize("quant", QUANTS)


def local(world: World, io: Io, quant: Literal["int8"] | None = None) -> LocalVectors:
    return LocalVectors(LocalVectorsConfig(memory_mb=64, quant=quant), io, world.ledger)


@held_as
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.req("R-5", "X-19", "R-18", "O-12", "N-8")
def test_random_changes_and_questions_agree_with_the_definition(
    mode: str, seed: int, quant: Literal["int8"] | None
) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io, seed=seed)
        index = local(world, io, quant)
        for _ in range(150):
            await world.step()
            await world.agrees(index, world.query())
        await world.ledger.close()

    run(mode, scenario)


@pytest.mark.req("R-5")
def test_a_few_own_memories_are_found_behind_thousands_of_others() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        query = near(world, 3)
        for _ in range(50):
            await world.add(BOB, vector=query.vector)
        own = [await world.add(ALICE) for _ in range(3)]
        for _ in range(50):
            await world.add(BOB, vector=query.vector)
        assert sorted(hit.seq for hit in await local(world, io).search(query)) == own

    run("blocking", scenario)


def test_several_links_of_one_memory_take_one_place_each() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        query = near(world, 2)
        many = [Scope(user_id="alice", run_id=f"r{n}") for n in range(5)]
        best = await world.add(*many, vector=query.vector)
        other = await world.add(ALICE)
        assert [hit.seq for hit in await local(world, io).search(query)] == [best, other]

    run("blocking", scenario)


@held_as
def test_also_tells_the_similarity_of_memories_beyond_the_limit_once(quant: Literal["int8"] | None) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        seqs = [await world.add(ALICE) for _ in range(20)]
        query = replace(near(world, 4), also=(*seqs[:10], 999_999))
        hits = await local(world, io, quant).search(query)
        assert [hit.extra for hit in hits] == [False] * 4 + [True] * (len(hits) - 4)
        assert len({hit.seq for hit in hits}) == len(hits)
        assert {hit.seq for hit in hits} == set(seqs[:10]) | {hit.seq for hit in world.expected(query)}
        for hit in hits:
            assert hit.cosine == pytest.approx(float(world.held[hit.seq].vector @ query.vector), abs=1e-5)

    run("blocking", scenario)


@held_as
@pytest.mark.req("R-18", "O-12")
def test_also_says_nothing_of_a_memory_that_has_left(quant: Literal["int8"] | None) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        seqs = [await world.add(ALICE) for _ in range(20)]
        index = local(world, io, quant)
        await index.search(near(world))
        await world.end(seqs[3])
        hits = await index.search(replace(near(world, 1), also=tuple(seqs)))
        assert seqs[3] not in {hit.seq for hit in hits}

    run("blocking", scenario)


@held_as
@pytest.mark.req("X-19")
def test_without_a_user_every_users_memories_of_the_agent_are_searched(quant: Literal["int8"] | None) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        ours = [await world.add(Scope(user_id=user, agent_id="bot")) for user in ("alice", "bob", "")]
        shared = await world.add(Scope(user_id="alice", agent_id="bot"), Scope(user_id="bob", agent_id="bot"))
        await world.add(ALICE)
        query = near(world, 10, Scope(agent_id="bot"))
        hits = await local(world, io, quant).search(query)
        assert sorted(hit.seq for hit in hits) == [*ours, shared]
        await world.agrees(local(world, io, quant), replace(query, limit=2))

    run("blocking", scenario)


@pytest.mark.req("X-19")
def test_a_scope_is_seen_through_one_link_not_through_two_together() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        await world.add(Scope(user_id="alice", agent_id="bot"), Scope(user_id="alice", run_id="r1"))
        crossed = Scope(user_id="alice", agent_id="bot", run_id="r1")
        assert list(await local(world, io).search(near(world, 5, crossed))) == []

    run("blocking", scenario)


def test_what_another_connection_writes_is_found_at_the_next_search(tmp_path: Path) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io, tmp_path / "memories.db")
        other = SqliteLedger(SqliteConfig(path=tmp_path / "memories.db", durable=False), io)
        await other.open()
        index = LocalVectors(LocalVectorsConfig(), io, other)
        for _ in range(120):
            await world.step()
            await world.agrees(index, world.query())
        await other.close()
        await world.ledger.close()

    run("blocking", scenario)


@pytest.mark.slow
def test_what_another_process_writes_is_found_at_the_next_search(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    config = {"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}
    code = (
        "import sys; from memstone import Memory\n"
        f"memory = Memory({config!r})\n"
        "for line in sys.stdin:\n"
        "    verb, rest = line.strip().split(' ', 1)\n"
        "    print(memory.add(rest, user_id='alice', infer=False)['results'][0]['id'] if verb == 'add'\n"
        "          else memory.delete(rest)['id'], flush=True)\n"
    )
    with (
        Memory(config) as memory,
        subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as child,  # noqa: S603
    ):
        assert child.stdin is not None
        assert child.stdout is not None

        def ask(line: str) -> str:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(line + "\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        def found() -> list[str]:
            return [hit["memory"] for hit in memory.search("oslo", user_id="alice", strategy="vector")["results"]]

        assert found() == []
        ids = [ask(f"add I moved to Oslo in {year}") for year in range(2000, 2020)]
        assert len(found()) == 20
        for gone in ids[:7]:
            ask(f"delete {gone}")
        assert sorted(found()) == [f"I moved to Oslo in {year}" for year in range(2007, 2020)]
        child.stdin.close()


@pytest.mark.req("O-12")
def test_a_reset_by_another_connection_is_noticed(tmp_path: Path) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io, tmp_path / "memories.db")
        index = local(world, io)
        for _ in range(10):
            await world.add(ALICE)
        assert len(await index.search(near(world))) == 10
        await world.ledger.write(lambda tx: tx.admin.reset(world.tenant))
        assert list(await index.search(near(world))) == []

    run("blocking", scenario)


def test_forget_drops_what_is_held_of_one_tenant() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        index = local(world, io)
        await world.add(ALICE)
        await index.search(near(world))
        await index.forget("another")
        assert len(index._partition_cache.partitions) == 1
        await index.forget(world.tenant)
        assert len(index._partition_cache.partitions) == 0
        assert len(await index.search(near(world))) == 1

    run("blocking", scenario)


def test_the_least_recently_used_users_are_let_go_when_memory_is_short() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        index = local(world, io)
        users = [Scope(user_id=f"user{n}") for n in range(6)]
        for user in users:
            for _ in range(30):
                await world.add(user)
        await index.search(near(world, 5, users[0]))
        one = next(iter(index._partition_cache.partitions.values())).bytes
        index._partition_cache.most = 3 * one
        for user in users[1:]:
            await index.search(near(world, 5, users[0]))
            await index.search(near(world, 5, user))
        assert sum(partition.bytes for partition in index._partition_cache.partitions.values()) <= 3 * one
        assert [name[1] for name in index._partition_cache.partitions] == ["user4", "user0", "user5"]
        for user in users:
            await world.agrees(index, near(world, 50, user))

    run("blocking", scenario)


@pytest.mark.req("D-23")
@held_as
def test_a_search_holds_one_users_rows_and_what_is_added_joins_them(quant: Literal["int8"] | None) -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        index = local(world, io, quant)
        cache = index._partition_cache
        read = list[tuple[str, bool, int]]()
        load = cache._load

        async def counted(tx: Tx, name: Name, since: int | None) -> list[VectorRow]:
            rows = await load(tx, name, since)
            read.append((name[1], since is None, len(rows)))
            return rows

        cache._load = counted
        for _ in range(300):
            await world.add(BOB)
        for _ in range(40):
            await world.add(ALICE)
        await world.agrees(index, near(world, 5, ALICE))
        assert read == [("alice", True, 40)], "the others' rows are neither read nor compared"
        (partition,) = cache.partitions.values()
        assert partition.rows == 40

        for _ in range(20):
            await world.add(BOB)
            await world.add(ALICE)
        await world.agrees(index, near(world, 5, ALICE))
        assert read[1:] == [("alice", False, 20)], "only what is new is read"
        (grown,) = cache.partitions.values()
        assert (grown.rows, grown.block is partition.block) == (60, True)

    run("blocking", scenario)


def test_one_user_larger_than_the_bound_is_still_served() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        index = local(world, io)
        index._partition_cache.most = 1
        for scope in (ALICE, BOB, ALICE):
            await world.add(scope)
            await world.agrees(index, near(world, 5, scope))
            assert len(index._partition_cache.partitions) == 1

    run("blocking", scenario)


@pytest.mark.slow
def test_many_threads_search_while_others_write(tmp_path: Path) -> None:
    io = BlockingIo()
    world = drive(World.open(io, tmp_path / "memories.db"))
    index = local(world, io)
    anchors = {drive(world.add(ALICE)) for _ in range(20)}
    stop = False

    def reader(seed: int) -> int:
        chance, searches = random.Random(seed), 0  # noqa: S311 - test data
        while not stop or searches < 5:
            vector = np.array([chance.gauss(0, 1) for _ in range(DIM)], dtype="<f4")
            hits = drive(index.search(VectorQuery(SPACE.signature, vector, 10_000, ALICE)))
            seqs = [hit.seq for hit in hits]
            assert anchors <= set(seqs)
            assert len(set(seqs)) == len(seqs)
            assert [hit.cosine for hit in hits] == sorted((hit.cosine for hit in hits), reverse=True)
            searches += 1
        return searches

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(reader, seed) for seed in range(6)]
        try:
            for number in range(200):
                seq = drive(world.add(ALICE))
                if number % 3 == 0:
                    drive(world.end(seq))
        finally:
            stop = True
        assert all(reader.result() >= 5 for reader in readers)
    drive(world.agrees(index, near(world, 1000)))


def test_hits_are_plain_numbers() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        await world.add(ALICE)
        hit = (await local(world, io).search(near(world)))[0]
        assert (type(hit), type(hit.seq), type(hit.cosine)) == (DenseHit, int, float)

    run("blocking", scenario)
