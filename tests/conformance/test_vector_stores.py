"""Every vector store keeps one contract: the shipped suite, and what only one of them promises."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memstone.adapters.vectors.memory as memory_module
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.memory import MemoryConfig, MemoryVectors
from memstone.drive import drive
from memstone.errors import InvalidFilter
from memstone.model.query import Condition, Op, Where, is_match
from memstone.ports.index import Point, PointHit, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import (
    NAME,
    VectorStoreSuite,
    assert_close,
    cosine_similarity,
    fill_collection,
    get_point,
)


@pytest.mark.req("C-31", "C-32", "R-5", "R-27", "R-28", "X-19")
class TestMemoryVectors(VectorStoreSuite):
    """The store in this process."""

    # It is the one store that lasts no longer than its object.
    test_a_second_connection_sees_the_same = None  # type: ignore[assignment]

    def connect(self, io: Io) -> VectorStore:
        """An empty one."""
        return MemoryVectors(MemoryConfig(), io)


class _Careless(MemoryVectors):
    """Filters after the cut: what the suite is there to find."""

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        hits = await super().search(collection, vector, limit)
        return [hit for hit in hits if where is None or is_match(where, hit.payload)]


def test_the_suite_finds_a_store_that_filters_after_the_cut() -> None:
    class Suite(VectorStoreSuite):
        def connect(self, io: Io) -> VectorStore:
            return _Careless(MemoryConfig(), io)

    with pytest.raises(AssertionError):
        Suite().test_a_few_own_points_are_found_behind_thousands_of_others("blocking")
    Suite().test_scores_are_cosines_cut_off_at_zero_best_first("blocking")


def test_the_suite_does_not_accept_a_refusal_that_was_not_declared() -> None:
    class Suite(VectorStoreSuite):
        unsupported = frozenset({Op.EQ})

        def connect(self, io: Io) -> VectorStore:
            return MemoryVectors(MemoryConfig(), io)

    with pytest.raises(AssertionError):
        Suite().test_filters_choose_what_the_reference_evaluator_chooses("blocking", Condition("seq", Op.EQ, 3))


def store() -> MemoryVectors:
    return MemoryVectors(MemoryConfig(), BlockingIo())


@pytest.mark.req("C-32")
@given(
    st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3), min_size=1, max_size=8),
    st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3),
)
def test_no_finite_vector_breaks_the_score(vectors: list[list[float]], asked: list[float]) -> None:
    memory = store()
    drive(fill_collection(memory, [Point(str(n), vector) for n, vector in enumerate(vectors)]))
    hits = drive(memory.search(NAME, asked, 10))
    assert len(hits) == len(vectors)
    assert all(0.0 <= hit.score <= 1.0 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.req("C-37")
def test_a_filter_on_a_field_that_does_not_exist_is_refused() -> None:
    memory = store()
    drive(fill_collection(memory, [Point("a", [1, 0])]))
    with pytest.raises(InvalidFilter):
        drive(memory.search(NAME, [1, 0], 5, Condition("no_such_field", Op.EQ, "x")))


def test_many_threads_may_write_and_search_at_once() -> None:
    memory = store()
    drive(memory.create(NAME, 2))

    def worker(number: int) -> None:
        for n in range(100):
            own = f"{number}-{n}"
            drive(memory.upsert(NAME, [Point(own, [n + 1, number], {"seq": n})]))
            assert drive(memory.search(NAME, [n + 1, number], 1, Condition("seq", Op.EQ, n)))
            if n % 2:
                drive(memory.delete(NAME, [own]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(worker, range(8)))
    assert [info.count for info in drive(memory.collections())] == [8 * 50]
    for number in range(8):
        for n in range(0, 100, 2):
            assert_close([cosine_similarity(drive(get_point(memory, f"{number}-{n}")).vector, [n + 1, number])], [1.0])


def test_a_write_waits_for_the_one_before_it() -> None:
    memory = store()
    drive(memory.create(NAME, 2))
    second = threading.Thread(target=lambda: drive(memory.upsert(NAME, [Point("b", [0, 1])])))
    waited: list[bool] = []

    class Tags(list[str]):
        """Copied in the middle of a write; somebody else tries to write just then."""

        def __deepcopy__(self, _: object) -> list[str]:
            second.start()
            second.join(0.1)
            waited.append(second.is_alive())
            return list(self)

    drive(memory.upsert(NAME, [Point("a", [1, 0], {"metadata.tags": Tags(["x"])})]))
    second.join()
    assert waited == [True]
    assert [(point.id, point.payload) for point in drive(memory.scan(NAME))] == [
        ("a", {"metadata.tags": ["x"]}),
        ("b", {}),
    ]


@pytest.mark.req("R-37")
def test_nothing_in_the_package_can_load_code_from_data() -> None:
    package = Path(memory_module.__file__).parents[2]
    reads_safely = package / "adapters/sources/qdrant_points.py"  # tests/unit/test_qdrant_points.py
    sources = [path.read_text("utf-8") for path in package.rglob("*.py") if path != reads_safely]
    assert len(sources) > 50
    loaders = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
    suspected = [source for source in sources if any(name in source for name in loaders)]
    imported = {name.split(".")[0] for source in suspected for name in _imported(ast.parse(source))}
    assert imported & loaders == set()
    assert not any("allow_pickle" in source for source in sources)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
