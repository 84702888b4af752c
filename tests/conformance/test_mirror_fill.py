"""A vector store that is filled while people search, by processes that come and go, and compared with the ledger."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.adapters.vectors.local import LocalVectors, LocalVectorsConfig
from memstone.adapters.vectors.memory import MemoryConfig, MemoryVectors
from memstone.engine.transfer import mirror
from memstone.engine.transfer.mirror import MirroredIndex
from memstone.errors import BackendUnavailable
from memstone.model.query import Where
from memstone.ports.index import Point, PointHit
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from tests.conformance.vector_world import ALICE, BOB, DIM, SPACE, World, empty_store, mirrored, near

both = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes thousands of changes in real life takes a few dozen here."""
    for name, value in {"_PAGE": 16, "_FAR": 40, "_NOTE_EVERY": 30, "_OVERLAP": 8}.items():
        monkeypatch.setattr(mirror, name, value)


class _Counting(MemoryVectors):
    """Counts what it is sent, and fails when it is told to."""

    def __init__(self, io: Io) -> None:
        super().__init__(MemoryConfig(), io)
        self.sent = 0
        self.upserts_left = self.searches_left = 1_000_000

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        if self.searches_left <= 0:
            raise BackendUnavailable("the store went away", kind="vectors", name="counting")
        return await super().search(collection, vector, limit, where)

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        items = list(points)
        self.upserts_left -= 1
        if self.upserts_left < 0:
            raise BackendUnavailable("the store went away", kind="vectors", name="counting")
        self.sent += len(items)
        await super().upsert(collection, items)


def with_embedded(world: World, io: Io, store: Any) -> MirroredIndex:
    local = LocalVectors(LocalVectorsConfig(), io, world.ledger)
    return MirroredIndex(world.ledger, store, "memories", io, local)


async def filled_world(io: Io, count: int, path: Path | None = None) -> World:
    world = await World.open(io, path)
    for _ in range(count):
        await world.add(ALICE)
    return world


async def wait_until_filled(index: MirroredIndex, io: Io, world: World) -> None:
    for _ in range(2_000):
        if await index.count_lag(world.tenant, SPACE.signature) == 0:
            return
        await io.sleep(0.005)
    raise AssertionError("the store was not filled")


async def assert_equal_to_ledger(index: MirroredIndex, world: World) -> None:
    found = await index.compare(world.tenant, SPACE.signature)
    assert found is not None
    links = sum(len(held.links) for held in world.held.values())
    assert (found.points, found.expected, found.is_equal) == (links, links, True)


@both
@pytest.mark.req("R-6", "N-1")
def test_searches_are_answered_while_a_new_store_is_filled_in_the_background(mode: str) -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 200)
        store = _Counting(io)
        index = with_embedded(world, io, store)
        answers = 0
        for _ in range(2_000):
            await world.agrees(index, near(world, 10))
            answers += 1
            if await index.count_lag(world.tenant, SPACE.signature) == 0:
                break
            await io.sleep(0.001)
        assert await index.count_lag(world.tenant, SPACE.signature) == 0, answers
        await assert_equal_to_ledger(index, world)
        await world.agrees(index, near(world, 1000))
        assert index.outage is None

    run(mode, scenario)


@pytest.mark.req("R-6")
def test_a_fill_tells_how_far_it_is() -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 100)
        index = with_embedded(world, io, empty_store(io))
        told: list[tuple[int, int]] = []
        sent = await index.fill(world.tenant, SPACE.signature, lambda done, total: told.append((done, total)))
        assert sent == told[-1][0] == told[-1][1]
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert len(told) > 5

    run("blocking", scenario)


@pytest.mark.req("R-6", "R-18")
def test_the_next_process_goes_on_where_the_last_one_was_killed(tmp_path: Path) -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 200, tmp_path / "memories.db")
        store = _Counting(io)
        store.upserts_left = 12
        with pytest.raises(BackendUnavailable):
            await mirrored(world, io, store).fill(world.tenant, SPACE.signature)
        half = store.sent
        assert half >= 100

        store.upserts_left, store.sent = 1_000_000, 0
        for seq in list(world.held)[:20]:
            await world.end(seq)
        second = mirrored(world, io, store)
        await second.fill(world.tenant, SPACE.signature)
        assert store.sent < 200 - half + 80, "it began from the beginning"
        await assert_equal_to_ledger(second, world)

        store.sent = 0
        third = mirrored(world, io, store)
        await world.agrees(third, near(world, 1000))
        assert store.sent <= 60, "what was complete is sent again"
        await assert_equal_to_ledger(third, world)

    run("blocking", scenario)


@pytest.mark.req("R-6", "R-18")
def test_a_ledger_that_was_put_back_to_an_earlier_day_has_its_store_built_again(tmp_path: Path) -> None:
    async def scenario(io: Io) -> None:
        path = tmp_path / "memories.db"
        world = await filled_world(io, 100, path)
        store = empty_store(io)
        await mirrored(world, io, store).fill(world.tenant, SPACE.signature)
        await world.ledger.close()
        shutil.copy(path, tmp_path / "backup.db")
        before = dict(world.held)

        later = World(await _open(io, path), world.chance, held=world.held)
        for seq in list(before)[:30]:
            await later.end(seq)
        for _ in range(60):
            await later.add(BOB)
        await mirrored(later, io, store).fill(world.tenant, SPACE.signature)
        await later.ledger.close()

        again = World(await _open(io, tmp_path / "backup.db"), world.chance, held=before)
        for _ in range(150):
            await again.add(ALICE)
        index = mirrored(again, io, store)
        await again.agrees(index, near(again, 1000))
        await assert_equal_to_ledger(index, again)
        await again.ledger.close()

    run("blocking", scenario)


async def _open(io: Io, path: Path) -> SqliteLedger:
    ledger = SqliteLedger(SqliteConfig(path=path, durable=False), io)
    await ledger.open()
    return ledger


@pytest.mark.req("N-29", "N-1", "R-18")
def test_a_fill_that_fails_is_taken_up_after_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 150)
        store = _Counting(io)
        store.upserts_left = 3
        index = with_embedded(world, io, store)
        now = 1_000.0
        index._clock = lambda: now
        for _ in range(500):
            await world.agrees(index, near(world, 10))
            if index.outage is not None:
                break
            await io.sleep(0.002)
        assert (index.outage is not None, index.failures) == (True, 1)
        await world.add(ALICE)
        await world.agrees(index, near(world, 10))

        store.upserts_left = 1_000_000
        now += 31.0
        await world.agrees(index, near(world, 10))
        await wait_until_filled(index, io, world)
        await assert_equal_to_ledger(index, world)

    run("blocking", scenario)


@pytest.mark.req("N-29", "R-18")
def test_a_store_that_was_killed_and_lost_what_it_took_last_gets_it_again() -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 100)
        store = _Counting(io)
        index = with_embedded(world, io, store)
        now = 1_000.0
        index._clock = lambda: now
        await index.fill(world.tenant, SPACE.signature)
        (info,) = await store.collections()
        newest = sorted(world.held)[-5:]
        lost = [one.id for one in await store.scan(info.name, None, 1000) if one.payload.get("seq") in newest]
        await store.delete(info.name, lost)
        store.searches_left = 0
        await world.agrees(index, near(world, 1000))
        assert index.outage is not None

        store.searches_left = 1_000_000
        now += 31.0
        await world.agrees(index, near(world, 1000))
        await assert_equal_to_ledger(index, world)

    run("blocking", scenario)


@pytest.mark.req("X-20", "O-12")
def test_the_collection_of_the_former_embedder_is_dropped_when_the_new_one_is_complete() -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 100)
        store = _Counting(io)
        index = mirrored(world, io, store)
        old = (await index.holds(world.tenant, SPACE.signature, []), (await store.collections())[0].name)[1]
        await store.create(old[:-12] + "0" * 12, DIM)  # as if an embedder had been replaced
        store.upserts_left = 2
        second = mirrored(world, io, store, "memories")
        for seq in list(world.held):
            await world.end(seq)
        for _ in range(100):
            await world.add(ALICE)
        with pytest.raises(BackendUnavailable):
            await second.fill(world.tenant, SPACE.signature)
        assert len(await store.collections()) == 2
        store.upserts_left = 1_000_000
        await second.fill(world.tenant, SPACE.signature)
        assert [info.name for info in await store.collections()] == [old]

    run("blocking", scenario)


def spoil(points: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """What somebody else did to a collection: two are gone, one is of another user, one should not be there."""
    changed = [
        Point(points[2].id, points[2].vector, {**points[2].payload, "user_id": "mallory"}),
        Point("stray", [1.0] * DIM, {"tenant_id": "default", "seq": 999_999, "user_id": "alice"}),
    ]
    return changed, [points[0].id, points[1].id]


@both
@pytest.mark.req("R-18", "O-21", "N-29")
def test_a_comparison_finds_what_differs_and_repairs_it(mode: str) -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 60)
        await world.add(ALICE, BOB)
        store = empty_store(io)
        index = mirrored(world, io, store)
        await index.fill(world.tenant, SPACE.signature)
        await assert_equal_to_ledger(index, world)

        name = (await store.collections())[0].name
        points = [one for one in await store.scan(name, None, 1000) if "seq" in one.payload]
        changed, gone = spoil(points)
        await store.upsert(name, changed)
        await store.delete(name, gone)
        for repair in (False, True):
            found = await index.compare(world.tenant, SPACE.signature, repair=repair)
            assert found is not None
            assert (found.missing, found.different, found.unknown) == (2, 1, 1)
        await assert_equal_to_ledger(index, world)
        await world.agrees(index, near(world, 1000))

    run(mode, scenario)


@both
@pytest.mark.req("O-18.1")
def test_points_have_the_text_only_where_that_is_switched_on_and_none_stays_behind(mode: str) -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 40)
        store = empty_store(io)
        for with_text in (False, True, False, True):
            index = MirroredIndex(world.ledger, store, "memories", io, payload_text=with_text)
            await index.fill(world.tenant, SPACE.signature)
            points = [one for info in await store.collections() for one in await store.scan(info.name, None, 1000)]
            texts = [one.payload.get("text") for one in points if "user_id" in one.payload]
            assert texts == (["text"] if with_text else [None]) * len(world.held)
            await assert_equal_to_ledger(index, world)
            await world.agrees(index, near(world, 10))
            gone = min(world.held)
            await world.end(gone)
            assert await index.holds(world.tenant, SPACE.signature, [gone]) == 0, (
                "the text of a deleted memory goes too"
            )

    run(mode, scenario)


def test_a_note_is_no_memory() -> None:
    async def scenario(io: Io) -> None:
        world = await filled_world(io, 100)
        store = empty_store(io)
        index = mirrored(world, io, store)
        await index.fill(world.tenant, SPACE.signature)
        (info,) = await store.collections()
        assert info.count == 101, "there is no note"
        whole = replace(near(world, 1000, ALICE), layers=())
        assert len(list(await index.search(whole))) == 100
        assert await index.clean_up(world.tenant, SPACE.signature, "2026-01-02T00:00:00.000000Z", dry_run=True) == 0

    run("blocking", scenario)
