"""What becomes of a mirrored index when its store fails, is lost, or is filled by several at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.local import LocalVectors, LocalVectorsConfig
from memstone.adapters.vectors.memory import MemoryConfig, MemoryVectors
from memstone.drive import drive
from memstone.engine.transfer import mirror
from memstone.engine.transfer.mirror import MirroredIndex
from memstone.errors import BackendUnavailable, VectorStoreError
from memstone.model.query import Where
from memstone.ports.index import Point, PointHit
from memstone.ports.io import Io
from memstone.testing.modes import run
from tests.conformance.vector_world import (
    ALICE,
    BOB,
    DIM,
    SPACE,
    World,
    empty_store,
    holds_what_the_ledger_says,
    mirrored,
    near,
    points,
)


def test_many_threads_that_meet_a_dropped_collection_all_get_whole_answers(tmp_path: Path) -> None:
    io = BlockingIo()
    world = drive(World.open(io, tmp_path / "memories.db"))
    store = empty_store(io)
    index = mirrored(world, io, store)
    for _ in range(60):
        drive(world.add(ALICE))
    queries = [near(world, 1000) for _ in range(40)]

    def ask(number: int) -> None:
        if number % 8 == 0:
            drive(store.reset())
        drive(world.agrees(index, queries[number]))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(40)))
    drive(index.holds(world.tenant, SPACE.signature, []))
    drive(world.agrees(index, near(world)))
    drive(holds_what_the_ledger_says(store, world))


class _Failing(MemoryVectors):
    """Refuses what it is told to; before the next upsert or search it does what a test has for it to do first."""

    def __init__(self, io: Io) -> None:
        super().__init__(MemoryConfig(), io)
        self.upserts_left = self.searches_left = 1_000_000
        self.before_upsert: Callable[[], Awaitable[None]] | None = None
        self.before_search: Callable[[], Awaitable[None]] | None = None

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        items = list(points)
        first, self.before_upsert = self.before_upsert, None
        if first is not None:
            await first()
        self.upserts_left -= 1
        if self.upserts_left < 0:
            await super().upsert(collection, items[: len(items) // 2])
            raise BackendUnavailable("the store went away", kind="vectors", name="failing")
        await super().upsert(collection, items)

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        first, self.before_search = self.before_search, None
        if first is not None:
            await first()
        if self.searches_left <= 0:
            raise VectorStoreError("no search today", kind="vectors", name="failing")
        return await super().search(collection, vector, limit, where)


@pytest.mark.parametrize(("page", "whole"), [(16, 2), (1000, 0)])
def test_a_fill_that_broke_off_goes_on_and_leaves_nothing_behind(
    page: int, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_PAGE", page)

    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = _Failing(io)
        index = mirrored(world, io, store)
        for _ in range(60):
            await world.add(ALICE, BOB)
        store.upserts_left = whole
        with pytest.raises(BackendUnavailable):
            await index.search(near(world))
        assert 0 < len(await points(store)) < 120
        for seq in list(world.held)[:50]:
            await world.unlink(seq, BOB)
        store.upserts_left = 1_000_000
        await world.agrees(index, near(world, 1000))
        await holds_what_the_ledger_says(store, world)

    run("blocking", scenario)


def test_a_store_that_fails_is_not_taken_for_one_that_lost_its_collection() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = _Failing(io)
        index = mirrored(world, io, store)
        await world.add(ALICE)
        await index.search(near(world))
        before = index._mirrors.copy()
        store.searches_left = 0
        with pytest.raises(VectorStoreError, match="no search today"):
            await index.search(near(world))
        assert index._mirrors == before

    run("blocking", scenario)


@pytest.mark.req("N-29", "N-1", "O-24")
def test_a_write_that_failed_is_healed_by_one_rebuild_after_half_a_minute() -> None:
    async def scenario(io: Io) -> None:
        world = await World.open(io)
        store = _Failing(io)
        local = LocalVectors(LocalVectorsConfig(), io, world.ledger)
        index = MirroredIndex(world.ledger, store, "memories", io, local)
        now = 1_000.0
        index._clock = lambda: now
        for _ in range(30):
            await world.add(ALICE)
        await world.agrees(index, near(world))
        await store.upsert((await store.collections())[0].name, [Point("stray", [1.0] * DIM, {"seq": 10_000})])

        store.upserts_left = 0
        for _ in range(3):
            await world.add(ALICE)  # the ledger takes it, whatever becomes of the index
            await world.agrees(index, near(world))
            now += 5.0
        assert (index.failures, index.outage is not None) == (1, True), "it is not asked again at once"

        store.upserts_left = 1_000_000
        now += 30.0
        await world.agrees(index, near(world, 1000))
        assert index.outage is None
        await holds_what_the_ledger_says(store, world)

    run("blocking", scenario)


class _Unlocked(BlockingIo):
    """As if two event loops shared an index: their locks do not know each other."""

    def lock(self) -> Any:
        return nullcontext()


@pytest.mark.req("R-18")
def test_who_writes_something_old_over_something_newer_repeats_it() -> None:
    async def scenario() -> None:
        io = _Unlocked()
        world = await World.open(io)
        store = _Failing(io)
        index = mirrored(world, io, store)
        await world.add(ALICE)
        await index.search(near(world))
        doomed = await world.add(ALICE)

        async def meanwhile() -> None:
            await world.end(doomed)
            await index.holds(world.tenant, SPACE.signature, [])

        store.before_upsert = meanwhile
        await index.search(near(world))  # has read the memory before it was deleted, writes it after
        await world.agrees(index, near(world))
        await holds_what_the_ledger_says(store, world)

    drive(scenario())


def test_a_search_in_a_collection_that_is_being_built_again_is_repeated() -> None:
    async def scenario() -> None:
        io = _Unlocked()
        world = await World.open(io)
        store = _Failing(io)
        index = mirrored(world, io, store)
        for _ in range(20):
            await world.add(ALICE)
        await index.search(near(world))

        async def meanwhile() -> None:
            await store.reset()
            store.upserts_left = 0
            with pytest.raises(BackendUnavailable):
                await index.search(near(world))
            store.upserts_left = 1_000_000

        store.before_search = meanwhile
        await world.agrees(index, near(world, 1000))  # asks a collection that holds half of its points

    drive(scenario())
