"""The conformance suite for vector stores.

Subclass it in a test module and say how a fresh, empty store is made; pytest does the rest, under both ways of
waiting::

    class TestMyStore(VectorStoreSuite):
        unsupported = frozenset({Op.ICONTAINS})     # what it refuses with Unsupported

        def connect(self, io: Io) -> VectorStore:
            return MyStore(MyStore.Config(...), io)

The suite empties the store before each test. Say in ``interrupt`` how connections are cut, if there are any.
"""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final, TypeAlias

from memstone.errors import DimensionMismatch, MemstoneError, Unsupported, VectorStoreError
from memstone.model.query import And, Condition, Not, Op, Or, Where, is_match
from memstone.ports.index import CollectionInfo, Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run

# --- what the suite of vector stores is made of -----------------------------------------------------------------------


NAME: Final = "points"
CLOSE: Final = 1e-5
"""How far a score may be from the cosine in double precision."""

PAYLOADS: Final[tuple[dict[str, Any], ...]] = (
    {"user_id": "alice", "agent_id": "", "seq": 1, "layer": "fact", "metadata.city": "Oslo", "metadata.age": 7},
    {"user_id": "alice", "agent_id": "bot", "seq": 2, "layer": "turn", "metadata.city": "oslo", "metadata.age": 7.5},
    {"user_id": "bob", "agent_id": "bot", "seq": 3, "layer": "fact", "metadata.age": "7", "metadata.on": True},
    {"user_id": "bob", "agent_id": "", "seq": 40, "layer": "fact", "metadata.on": False, "metadata.tags": ["a", "b"]},
    {"user_id": "ann'); --", "agent_id": "", "seq": 500, "layer": "episode", "metadata.city": None},
    {"user_id": "alicé", "agent_id": "", "seq": 6, "layer": "fact", "metadata.age": -1, "metadata.tags": []},
    {"user_id": "carol", "seq": 7, "status": "active", "metadata.status": "open"},
    {"user_id": "carol", "seq": 8, "status": "active", "metadata.status": "archived"},
    {},
)
"""What the points of the filter tests carry."""

CONDITIONS: Final = (
    Condition("user_id", Op.EQ, "alice"),
    Condition("user_id", Op.EQ, "ann'); --"),
    Condition("user_id", Op.NE, "alice"),
    Condition("agent_id", Op.EXISTS, value=True),
    Condition("agent_id", Op.EXISTS, value=False),
    Condition("seq", Op.EQ, 3),
    Condition("seq", Op.IN, (1, 3, 500, 7000)),
    Condition("seq", Op.IN, ()),
    Condition("seq", Op.NIN, (1, 3)),
    Condition("seq", Op.GT, 3),
    Condition("seq", Op.LTE, 3),
    Condition("layer", Op.IN, ("fact", "turn")),
    Condition("metadata.city", Op.EQ, "Oslo"),
    Condition("metadata.city", Op.EXISTS, value=True),
    Condition("metadata.city", Op.CONTAINS, "slo"),
    Condition("metadata.city", Op.ICONTAINS, "OSLO"),
    Condition("metadata.tags", Op.CONTAINS, "b"),
    Condition("metadata.age", Op.EQ, 7),
    Condition("metadata.age", Op.EQ, "7"),
    Condition("metadata.age", Op.GTE, 7),
    Condition("metadata.age", Op.LT, 7.5),
    Condition("metadata.on", Op.EQ, value=True),
    Condition("metadata.on", Op.NE, value=True),
    Condition("metadata.nobody_has_this", Op.EQ, "x"),
    Condition("status", Op.EQ, "active"),
    Condition("status", Op.NE, "archived"),
    Condition("metadata.status", Op.EQ, "active"),
    Condition("metadata.status", Op.NE, "archived"),
)
FILTERS: Final[tuple[Where, ...]] = (
    *CONDITIONS,
    *(Not(condition) for condition in CONDITIONS),
    And(()),
    Or(()),
    And((Condition("user_id", Op.EQ, "alice"), Condition("layer", Op.EQ, "fact"))),
    Or((Condition("user_id", Op.EQ, "bob"), Condition("seq", Op.GT, 100))),
    And((Or((Condition("user_id", Op.EQ, "bob"), Condition("seq", Op.EQ, 1))), Not(Condition("seq", Op.EQ, 40)))),
)
"""Every operator, on every kind of value, alone and together; the reference evaluator says what they choose."""

IDS: Final = (
    "plain",
    "0007",
    "é:/ 1",
    "日本語",
    "🦊",
    "with space",
    "quote'\"\\",
    "{curly}[square]",
    "-dash",
    "a,b;c|d",
    "%41?x=1&y=2#z",
    "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    "x" * 200,
)
"""Ids that some store or other has its own idea of."""

WRONG: Final[tuple[list[float], ...]] = ([1], [1, 2, 3], [], [math.nan, 1], [math.inf, 1])
"""What is no vector of two dimensions."""

SCOPES: Final = ("tenant_id", "user_id", "agent_id", "run_id")
LONG_TEXT: Final = "måne 🌙 " * 2_500
_CASES: Final[dict[str, Sequence[Any]]] = {
    "mode": MODES,
    "where": FILTERS,
    "point_id": IDS,
    "wrong": WRONG,
    "scope_field": SCOPES,
}


def assert_equal(found: object, expected: object, about: object = None) -> None:
    """Fail unless the two are equal."""
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}" + (f" for {about!r}" if about is not None else ""))


def assert_close(found: Sequence[float], expected: Sequence[float]) -> None:
    """Fail unless the numbers are nearly equal."""
    if len(found) != len(expected) or any(abs(a - b) > CLOSE for a, b in zip(found, expected, strict=True)):
        raise AssertionError(f"{list(found)!r} instead of nearly {list(expected)!r}")


async def expect_error(error: type[MemstoneError], call: Awaitable[object]) -> MemstoneError:
    """Return the error of a call; fail when it is another one, or none."""
    try:
        result = await call
    except error as raised:
        return raised
    raise AssertionError(f"{result!r} instead of {error.__name__}")


async def fill_collection(store: VectorStore, points: Sequence[Point]) -> None:
    """Make a collection of two (or as many as the first point says) dimensions that holds these points."""
    await store.create(NAME, len(points[0].vector))
    await store.upsert(NAME, points)


async def get_point(store: VectorStore, point_id: str) -> Point:
    """Return a point that must be there."""
    point = await store.get(NAME, point_id)
    if point is None:
        raise AssertionError(f"there is no point {point_id!r}")
    return point


async def scan_ids(store: VectorStore, where: Where | None) -> list[str]:
    """Return the points a scan chooses."""
    return [point.id for point in await store.scan(NAME, where)]


async def list_collections(store: VectorStore) -> list[CollectionInfo]:
    """Return the collections by name."""
    return sorted(await store.collections(), key=lambda info: info.name)


def filter_operators(where: Where) -> set[Op]:
    """Return the operators a filter uses."""
    if isinstance(where, Condition):
        return {where.op}
    if isinstance(where, Not):
        return filter_operators(where.part)
    return {op for part in where.parts for op in filter_operators(part)}


def unit_vector(vector: Sequence[float]) -> list[float]:
    """Return the same direction with length one."""
    length = math.hypot(*vector)
    return [number / length for number in vector]


def cosine_similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine by its definition."""
    return sum(a * b for a, b in zip(unit_vector(one), unit_vector(other), strict=True))


# --- what every vector store must do, as tests that anybody's store can be put to -------------------------------------


Scenario: TypeAlias = Callable[[VectorStore], Coroutine[Any, Any, None]]


class VectorStoreSuite:
    """The contract of ``memstone.ports.index.VectorStore``, one test a sentence."""

    unsupported: ClassVar[frozenset[Op]] = frozenset()
    """Operators the store refuses with ``Unsupported``. It may refuse an operator, but never ignore one."""

    def connect(self, io: Io) -> VectorStore:
        """Return a store as it is; called twice in one test, both see the same collections unless it is not durable."""
        raise NotImplementedError

    async def fresh(self, io: Io) -> VectorStore:
        """Return a store without collections."""
        store = self.connect(io)
        await store.reset()
        return store

    def interrupt(self) -> None:
        """Cut every connection to the store; nothing to do for one in this process."""

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Run every test under both ways of waiting, and once for each case."""
        for name, values in _CASES.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values, ids=_name_case)

    def play(self, mode: str, scenario: Scenario) -> None:
        """Run a scenario on a fresh store."""

        async def on_fresh(io: Io) -> None:
            store = await self.fresh(io)
            async with _leave_clean(store):
                await scenario(store)

        run(mode, on_fresh)

    def test_the_store_says_what_it_cannot_filter(self, mode: str) -> None:
        """Check that what it says of itself is what this suite expects of it."""

        async def scenario(store: VectorStore) -> None:
            assert_equal(frozenset(Op) - store.capabilities.operators, self.unsupported)
            assert_equal(store.capabilities.distance, "cosine")

        self.play(mode, scenario)

    def test_a_store_that_answers_is_healthy(self, mode: str) -> None:
        """Check that asking does not raise, and changes nothing."""

        async def scenario(store: VectorStore) -> None:
            await store.check_health()
            assert_equal(await store.collections(), [])

        self.play(mode, scenario)

    def test_a_second_connection_sees_the_same(self, mode: str) -> None:
        """Check that what is durable is there for whoever connects later."""

        async def on_fresh(io: Io) -> None:
            store = await self.fresh(io)
            await fill_collection(store, [Point("a", [3, 4], {"seq": 1})])
            await store.close()
            second = self.connect(io)
            async with _leave_clean(second):
                point = await get_point(second, "a")
                assert_close(point.vector, [0.6, 0.8])
                assert_equal(point.payload, {"seq": 1})

        run(mode, on_fresh)

    def test_a_lost_connection_is_made_again(self, mode: str) -> None:
        """Check that reading and writing go on as if nothing had happened."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0], {"seq": 1})])
            self.interrupt()
            assert_equal([hit.id for hit in await store.search(NAME, [1, 0], 5)], ["a"])
            self.interrupt()
            await store.upsert(NAME, [Point("b", [0, 1], {"seq": 2})])
            assert_equal(await scan_ids(store, None), ["a", "b"])

        self.play(mode, scenario)

    def test_an_id_may_hold_any_character(self, mode: str, point_id: str) -> None:
        """Check that it is found, changed and deleted, and no other id is taken for it."""

        async def scenario(store: VectorStore) -> None:
            other = point_id + "!"
            await fill_collection(store, [Point(point_id, [1, 0], {"seq": 1}), Point(other, [0, 1], {"seq": 2})])
            assert_equal((await get_point(store, point_id)).payload, {"seq": 1})
            assert_equal([hit.id for hit in await store.search(NAME, [1, 0], 1)], [point_id])
            assert_equal(await store.patch(NAME, point_id, {"seq": 3}), expected=True)
            assert_equal((await get_point(store, point_id)).payload, {"seq": 3})
            await store.delete(NAME, [point_id])
            assert_equal(await scan_ids(store, None), [other])

        self.play(mode, scenario)

    def test_nobody_sees_the_points_of_another_scope(self, mode: str, scope_field: str) -> None:
        """Check searches and scans, however near the points are; names that begin alike are different."""

        async def scenario(store: VectorStore) -> None:
            names = ("alice", "Alice", "alic", "alice ", "alice*", "alice|bob", "al-ice", "al.ice")
            points = [Point(f"{n}-{m}", [1, m], {scope_field: name}) for n, name in enumerate(names) for m in range(3)]
            await fill_collection(store, [*points, Point("open", [1, 0], {scope_field: ""}), Point("none", [1, 0])])
            for n, name in enumerate(names):
                where, own = Condition(scope_field, Op.EQ, name), [f"{n}-{m}" for m in range(3)]
                assert_equal([hit.id for hit in await store.search(NAME, [1, 0], 50, where)], own, name)
                assert_equal(await scan_ids(store, where), own, name)

        self.play(mode, scenario)

    def test_a_large_payload_comes_back_whole(self, mode: str) -> None:
        """Check tens of thousands of characters, and values inside values."""

        async def scenario(store: VectorStore) -> None:
            payload = {"text": LONG_TEXT, "metadata.deep": [{"a": [1, None, True, "x"]}], "seq": 1}
            await fill_collection(store, [Point("a", [1, 0], payload)])
            assert_equal((await get_point(store, "a")).payload, payload)
            assert_equal([hit.payload for hit in await store.search(NAME, [1, 0], 1)], [payload])

        self.play(mode, scenario)

    def test_many_points_are_written_and_read_at_once(self, mode: str) -> None:
        """Check with more points than fit in one request of any store."""

        async def scenario(store: VectorStore) -> None:
            points = [Point(f"{n:04}", [1, n], {"seq": n}) for n in range(1_200)]
            await fill_collection(store, points)
            found = [point.id for point in await store.scan(NAME, None, 2_000)]
            assert_equal((len(found), found == [point.id for point in points]), (1_200, True))
            await store.delete(NAME, [point.id for point in points[::2]])
            assert_equal(await list_collections(store), [CollectionInfo(NAME, 600, 2)])
            assert_equal(len(await store.scan(NAME, Condition("seq", Op.IN, tuple(range(300))), 1_000)), 150)

        self.play(mode, scenario)

    def test_no_limit_is_no_points(self, mode: str) -> None:
        """Check that zero asks for nothing and gets nothing."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0])])
            assert_equal((await store.search(NAME, [1, 0], 0), await store.scan(NAME, None, 0)), ([], []))

        self.play(mode, scenario)

    def test_several_may_write_and_search_at_once(self, mode: str) -> None:
        """Check that what one of them has written is there for all, once."""

        async def on_fresh(io: Io) -> None:
            store = await self.fresh(io)
            async with _leave_clean(store):
                await store.create(NAME, 2)
                await io.gather(*(_write_and_search(store, number) for number in range(6)))
                assert_equal(await list_collections(store), [CollectionInfo(NAME, 12, 2)])

        run(mode, on_fresh)

    def test_collections_are_made_listed_and_dropped(self, mode: str) -> None:
        """Check that making one again is no error, nor dropping what is not there; another dimension is one."""

        async def scenario(store: VectorStore) -> None:
            await store.create("one", 3)
            await store.create("one", 3)
            await store.create("two", 2)
            await store.upsert("one", [Point("a", [1, 0, 0])])
            await expect_error(DimensionMismatch, store.create("one", 4))
            assert_equal(await list_collections(store), [CollectionInfo("one", 1, 3), CollectionInfo("two", 0, 2)])
            await store.drop("one")
            await store.drop("one")
            assert_equal(await list_collections(store), [CollectionInfo("two", 0, 2)])

        self.play(mode, scenario)

    def test_a_collection_made_again_is_empty(self, mode: str) -> None:
        """Check that nothing of the old one comes back."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0])])
            await store.drop(NAME)
            await store.create(NAME, 3)
            assert_equal((await store.get(NAME, "a"), await store.scan(NAME)), (None, []))

        self.play(mode, scenario)

    def test_a_collection_that_is_not_there_is_an_error_with_a_hint(self, mode: str) -> None:
        """Check everything that it can be asked for."""

        async def scenario(store: VectorStore) -> None:
            for call in (
                store.search("none", [1, 0], 5),
                store.scan("none"),
                store.get("none", "a"),
                store.upsert("none", [Point("a", [1, 0])]),
                store.patch("none", "a", {}),
                store.delete("none", ["a"]),
            ):
                error = await expect_error(VectorStoreError, call)
                assert_equal(bool(error.hint), expected=True)

        self.play(mode, scenario)

    def test_a_point_is_read_back_with_length_one(self, mode: str) -> None:
        """Check that id and payload are as they were given."""

        async def scenario(store: VectorStore) -> None:
            payload = {"user_id": "å/:ß", "seq": 2**53, "metadata.n": -0.5, "metadata.tags": ["a", 1, None]}
            await fill_collection(store, [Point("é:/ 1", [3, 4], payload)])
            point = await get_point(store, "é:/ 1")
            assert_close(point.vector, [0.6, 0.8])
            assert_equal((point.id, point.payload), ("é:/ 1", payload))

        self.play(mode, scenario)

    def test_upsert_replaces_vector_and_payload(self, mode: str) -> None:
        """Check it also within one call, where the last one counts."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0], {"seq": 1, "layer": "fact"})])
            await store.upsert(NAME, [Point("a", [1, 0]), Point("a", [0, 1], {"seq": 2})])
            point = await get_point(store, "a")
            assert_close(point.vector, [0, 1])
            assert_equal(point.payload, {"seq": 2})
            assert_equal(await list_collections(store), [CollectionInfo(NAME, 1, 2)])

        self.play(mode, scenario)

    def test_patch_replaces_the_payload_only(self, mode: str) -> None:
        """Check that it says whether there was anything to replace; filters see the new payload."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0], {"seq": 1, "layer": "fact"})])
            assert_equal(await store.patch(NAME, "a", {"seq": 9}), expected=True)
            assert_equal(await store.patch(NAME, "b", {"seq": 9}), expected=False)
            point = await get_point(store, "a")
            assert_close(point.vector, [1, 0])
            assert_equal(point.payload, {"seq": 9})
            assert_equal(await scan_ids(store, Condition("seq", Op.EQ, 1)), [])
            assert_equal(await scan_ids(store, Condition("seq", Op.EQ, 9)), ["a"])

        self.play(mode, scenario)

    def test_deleted_points_are_gone_and_unknown_ids_are_no_error(self, mode: str) -> None:
        """Check that the others stay as they are."""

        async def scenario(store: VectorStore) -> None:
            points = [Point(str(n), [1, n], {"seq": n}) for n in range(6)]
            await fill_collection(store, points)
            await store.delete(NAME, ["0", "3", "nobody"])
            await store.delete(NAME, [])
            assert_equal([point.payload["seq"] for point in await store.scan(NAME)], [1, 2, 4, 5])
            assert_equal(sorted(hit.id for hit in await store.search(NAME, [1, 1], 10)), ["1", "2", "4", "5"])
            assert_equal(await store.get(NAME, "3"), None)
            assert_close((await get_point(store, "5")).vector, unit_vector([1, 5]))

        self.play(mode, scenario)

    def test_the_same_id_in_two_collections_is_two_points(self, mode: str) -> None:
        """Check that collections know nothing of each other."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0], {"seq": 1})])
            await store.create("other", 2)
            await store.upsert("other", [Point("a", [0, 1], {"seq": 2})])
            await store.delete("other", ["a"])
            assert_equal((await get_point(store, "a")).payload, {"seq": 1})

        self.play(mode, scenario)

    def test_scores_are_cosines_cut_off_at_zero_best_first(self, mode: str) -> None:
        """Check it whatever the length of the vectors: the same, a half, at right angles, opposite."""

        async def scenario(store: VectorStore) -> None:
            wanted = {"same": 1.0, "half": 0.5, "right": 0.0, "opposite": 0.0}
            away = [Point("right", [0, 7]), Point("opposite", [-5, 0])]
            await fill_collection(store, [*away, Point("half", [2, 2 * math.sqrt(3)]), Point("same", [0.001, 0])])
            hits = await store.search(NAME, [10, 0], 10)
            assert_equal([hit.id for hit in hits[:2]], ["same", "half"])
            assert_equal({hit.id for hit in hits}, set(wanted))
            assert_close([hit.score for hit in hits], [wanted[hit.id] for hit in hits])
            assert_equal(all(0 <= hit.score <= 1 for hit in hits), expected=True)

        self.play(mode, scenario)

    def test_a_zero_vector_scores_zero(self, mode: str) -> None:
        """Check that, stored or asked for, it is like nothing."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("zero", [0, 0]), Point("one", [1, 0])])
            assert_equal({hit.id: hit.score for hit in await store.search(NAME, [1, 0], 5)}.get("zero", 0.0), 0.0)
            assert_equal({hit.score for hit in await store.search(NAME, [0, 0], 5)} - {0.0}, set())

        self.play(mode, scenario)

    def test_a_wrong_vector_is_refused_before_anything_is_written(self, mode: str, wrong: list[float]) -> None:
        """Check one too short, too long, not finite; the good points beside it are not written either."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0], {"seq": 1})])
            points = [Point("b", [1, 0]), Point("a", wrong, {"seq": 2}), Point("c", [0, 1])]
            await expect_error(DimensionMismatch, store.upsert(NAME, points))
            await expect_error(DimensionMismatch, store.search(NAME, wrong, 5))
            assert_equal([(point.id, point.payload) for point in await store.scan(NAME)], [("a", {"seq": 1})])
            assert_close((await get_point(store, "a")).vector, [1, 0])

        self.play(mode, scenario)

    def test_the_nearest_are_those_of_an_exhaustive_search(self, mode: str) -> None:
        """Compare with the plain definition in Python."""

        async def scenario(store: VectorStore) -> None:
            chance = random.Random(7)  # noqa: S311 - test data
            vectors = {f"{n:03}": [chance.gauss(0, 1) for _ in range(8)] for n in range(300)}
            await fill_collection(store, [Point(name, vector) for name, vector in vectors.items()])
            asked = [chance.gauss(0, 1) for _ in range(8)]
            cosines = {name: cosine_similarity(vector, asked) for name, vector in vectors.items()}
            hits = await store.search(NAME, asked, 25)
            assert_equal([hit.id for hit in hits], sorted(cosines, key=lambda name: -cosines[name])[:25])
            assert_close([hit.score for hit in hits], [cosines[hit.id] for hit in hits])

        self.play(mode, scenario)

    def test_a_few_own_points_are_found_behind_thousands_of_others(self, mode: str) -> None:
        """Check that the filter is part of the search: better points of somebody else take no place."""

        async def scenario(store: VectorStore) -> None:
            foreign = [Point(f"f{n}", [1, n / 1e6], {"user_id": "bob"}) for n in range(2000)]
            own = [Point(f"o{n}", [n, 10], {"user_id": "alice"}) for n in range(3)]
            await fill_collection(store, foreign[:1000] + own + foreign[1000:])
            hits = await store.search(NAME, [1, 0], 3, Condition("user_id", Op.EQ, "alice"))
            assert_equal([(hit.id, hit.payload) for hit in hits], [(f"o{n}", {"user_id": "alice"}) for n in (2, 1, 0)])

        self.play(mode, scenario)

    def test_filters_choose_what_the_reference_evaluator_chooses(self, mode: str, where: Where) -> None:
        """Check search and scan; an operator the store cannot do is refused, never ignored."""

        async def scenario(store: VectorStore) -> None:
            points = [Point(str(n), [1, n], payload) for n, payload in enumerate(PAYLOADS)]
            await fill_collection(store, points)
            if filter_operators(where) & self.unsupported:
                await expect_error(Unsupported, store.search(NAME, [1, 0], 100, where))
                await expect_error(Unsupported, store.scan(NAME, where))
                return
            chosen = [point.id for point in points if is_match(where, point.payload)]
            assert_equal(await scan_ids(store, where), chosen, where)
            assert_equal(sorted(hit.id for hit in await store.search(NAME, [1, 0], 100, where)), chosen, where)

        self.play(mode, scenario)

    def test_limits_cut_after_the_filter(self, mode: str) -> None:
        """Check that a scan goes in the order of ids, a search in that of scores."""

        async def scenario(store: VectorStore) -> None:
            points = [Point(f"{n:02}", [1, n], {"seq": n}) for n in range(30)]
            await fill_collection(store, points[::-1])
            large = Condition("seq", Op.IN, tuple(range(10, 30)))
            assert_equal([point.id for point in await store.scan(NAME, large, 3)], ["10", "11", "12"])
            assert_equal([hit.id for hit in await store.search(NAME, [1, 0], 3, large)], ["10", "11", "12"])
            assert_equal(len(await store.search(NAME, [1, 0], 100)), 30)

        self.play(mode, scenario)

    def test_a_payload_belongs_to_the_store(self, mode: str) -> None:
        """Check that changing what was given, or what was returned, changes nothing that is stored."""

        async def scenario(store: VectorStore) -> None:
            payload: dict[str, Any] = {"seq": 1, "metadata.tags": ["a"]}
            await fill_collection(store, [Point("a", [1, 0], payload)])
            payload["metadata.tags"].append("b")
            (await get_point(store, "a")).payload["metadata.tags"].append("c")
            (await store.search(NAME, [1, 0], 1))[0].payload.clear()
            assert_equal((await get_point(store, "a")).payload, {"seq": 1, "metadata.tags": ["a"]})

        self.play(mode, scenario)

    def test_reset_removes_everything(self, mode: str) -> None:
        """Check that the store can be used again."""

        async def scenario(store: VectorStore) -> None:
            await fill_collection(store, [Point("a", [1, 0])])
            await store.reset()
            assert_equal(await store.collections(), [])
            await fill_collection(store, [Point("b", [1, 0])])
            assert_equal(await scan_ids(store, None), ["b"])

        self.play(mode, scenario)


@asynccontextmanager
async def _leave_clean(store: VectorStore) -> AsyncIterator[None]:
    """Close the store after a test, whatever came of it."""
    try:
        yield
    finally:
        await store.close()


async def _write_and_search(store: VectorStore, number: int) -> None:
    for n in range(4):
        own = f"{number}-{n}"
        await store.upsert(NAME, [Point(own, [number + 1, n], {"seq": 10 * number + n})])
        hits = await store.search(NAME, [number + 1, n], 1, Condition("seq", Op.EQ, 10 * number + n))
        assert_equal([hit.id for hit in hits], [own])
        if n % 2:
            await store.delete(NAME, [own])


def _name_case(value: object) -> str:
    """Return the name of a case in the list of tests."""
    return value if isinstance(value, str) and value.isidentifier() else ascii(value)[:80]
