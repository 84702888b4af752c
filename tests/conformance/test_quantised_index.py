"""Vectors held as signed bytes: a quarter of the memory, and the answers of the exact index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pytest

from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.adapters.vectors.local import LocalVectors, LocalVectorsConfig
from memstone.adapters.vectors.partition import ByteBlock, VectorPartition
from memstone.engine.store.versions import NewVersion, Space, end_version, ensure_space, enter_all
from memstone.model.ids import new_id
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx, VectorRow
from memstone.testing.modes import MODES, run
from tests.english import ENGLISH

DIM: Final = 384
ROWS: Final = 3_000
SPACE: Final = Space(f"test:large:{DIM}", DIM)
NOW: Final = "2026-01-01T00:00:00.000000Z"
ALICE: Final = Scope(user_id="alice", agent_id="bot")


def unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype("<f4")


def scattered(chance: np.random.Generator) -> Any:
    """Directions that have nothing to do with each other."""
    return unit(chance.standard_normal((ROWS, DIM)))


def clustered(chance: np.random.Generator) -> Any:
    """Six topics; what is of one topic is as similar as sentences about one thing are."""
    middles = chance.standard_normal((6, DIM))
    return unit(middles[chance.integers(0, 6, ROWS)] + 0.5 * chance.standard_normal((ROWS, DIM)))


def lopsided(chance: np.random.Generator) -> Any:
    """A few numbers of each vector are much larger than the others, as some models make them."""
    sizes = np.where(np.arange(DIM) < 4, 8.0, 1.0)
    return unit(chance.standard_normal((ROWS, DIM)) * sizes)


@dataclass(slots=True)
class Both:
    """One ledger, searched through vectors as they are and through bytes."""

    ledger: Ledger
    exact: LocalVectors
    quantised: LocalVectors
    records: list[Record]

    @classmethod
    async def open(cls, io: Io, vectors: Any, layers: Sequence[str] = (Layer.FACT,)) -> Both:
        """A ledger with these vectors in it."""
        ledger = SqliteLedger(SqliteConfig(path=None, durable=False), io)
        await ledger.open()
        records = [
            Record(new_id(), "text", "", NOW, NOW, NOW, NOW, NOW, layer=layers[at % len(layers)], source="facts")
            for at in range(len(vectors))
        ]
        await ledger.write(lambda tx: _store(tx, records, vectors))
        exact, quantised = (LocalVectors(LocalVectorsConfig(quant=quant), io, ledger) for quant in (None, "int8"))
        return cls(ledger, exact, quantised, records)

    async def agree(self, query: VectorQuery) -> list[DenseHit]:
        """Fail unless both answer the same; gives the answer."""
        wanted, hits = [list(await index.search(query)) for index in (self.exact, self.quantised)]
        assert [hit.seq for hit in hits if not hit.extra] == [hit.seq for hit in wanted if not hit.extra]
        assert {hit.seq for hit in hits if hit.extra} == {hit.seq for hit in wanted if hit.extra}
        cosines = {hit.seq: hit.cosine for hit in wanted}
        assert [hit.cosine for hit in hits] == [cosines[hit.seq] for hit in hits]
        return hits


async def _store(tx: Tx, records: list[Record], vectors: Any) -> None:
    await ensure_space(tx, records[0].tenant_id, SPACE)
    pairs = zip(records, vectors, strict=True)
    await enter_all(
        tx, ENGLISH, [NewVersion(one, [Link(ALICE, NOW)], [(SPACE, vector.tobytes())]) for one, vector in pairs]
    )


def asked(chance: np.random.Generator, vectors: Any, limit: int = 10) -> VectorQuery:
    """A question near one of the vectors."""
    near = vectors[chance.integers(len(vectors))] + 0.03 * chance.standard_normal(DIM)
    return VectorQuery(SPACE.signature, unit(near), limit, Scope(user_id="alice"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("data", [scattered, clustered, lopsided])
@pytest.mark.req("N-8")
def test_the_best_ten_and_their_cosines_are_those_of_the_exact_index(
    mode: str, data: Callable[[np.random.Generator], Any]
) -> None:
    async def scenario(io: Io) -> None:
        chance = np.random.default_rng(7)
        vectors = data(chance)
        both = await Both.open(io, vectors)
        for _ in range(40):
            assert len(await both.agree(asked(chance, vectors))) == 10
        await both.agree(asked(chance, vectors, limit=200))
        await both.ledger.close()

    run(mode, scenario)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.req("N-8")
def test_what_is_asked_for_besides_is_told_exactly_whatever_its_rank(mode: str) -> None:
    async def scenario(io: Io) -> None:
        chance = np.random.default_rng(8)
        vectors = scattered(chance)
        both = await Both.open(io, vectors)
        also = tuple(int(seq) for seq in chance.choice(np.arange(1, ROWS + 1), 80, replace=False))
        hits = await both.agree(replace(asked(chance, vectors, limit=5), also=(*also, also[0], 10**9)))
        assert {hit.seq for hit in hits if hit.extra} == set(also) - {hit.seq for hit in hits[:5]}
        everything = replace(asked(chance, vectors, limit=5), scope=Scope(agent_id="bot"), among=frozenset(also))
        assert {hit.seq for hit in await both.agree(everything)} < set(also)
        await both.ledger.close()

    run(mode, scenario)


@pytest.mark.req("N-8")
def test_own_words_are_compared_with_the_question_as_it_would_be_spoken() -> None:
    async def scenario(io: Io) -> None:
        chance = np.random.default_rng(9)
        vectors = scattered(chance)
        both = await Both.open(io, vectors, layers=(Layer.FACT, Layer.TURN))
        spoken = vectors[chance.integers(0, ROWS // 2) * 2 + 1]
        hits = await both.agree(replace(asked(chance, vectors), spoken=spoken))
        assert hits[0].cosine == pytest.approx(1.0, abs=1e-5)
        await both.ledger.close()

    run("blocking", scenario)


@pytest.mark.req("N-8", "R-18")
def test_what_has_left_the_ledger_takes_nobodys_place() -> None:
    async def scenario(io: Io) -> None:
        chance = np.random.default_rng(10)
        vectors = clustered(chance)
        both = await Both.open(io, vectors)
        query = asked(chance, vectors)
        for _ in range(5):
            best = (await both.agree(query))[0].seq
            gone = next(one for one in both.records if one.seq == best)
            await both.ledger.write(lambda tx, gone=gone: end_version(tx, gone, Status.DELETED, NOW))  # type: ignore[misc]
            assert len(hits := await both.agree(query)) == 10
            assert best not in {hit.seq for hit in hits}
        await both.ledger.close()

    run("blocking", scenario)


@pytest.mark.req("N-8")
def test_what_is_held_takes_a_quarter_and_is_told_apart_by_how_it_is_held() -> None:
    async def scenario(io: Io) -> None:
        chance = np.random.default_rng(11)
        vectors = scattered(chance)
        both = await Both.open(io, vectors)
        await both.agree(asked(chance, vectors))
        ((exact_name, exact),), ((name, vector_partition),) = (
            index._partition_cache.partitions.items() for index in (both.exact, both.quantised)
        )
        assert 0.25 <= vector_partition.bytes / exact.bytes < 0.28
        assert (exact_name[2], name[2]) == (SPACE.signature, f"{SPACE.signature}:int8")
        await both.ledger.close()

    run("blocking", scenario)


def test_products_of_bytes_do_not_run_over_and_are_off_by_rounding_only() -> None:
    block = ByteBlock(5, DIM)
    rows = np.array([np.full(DIM, 3.0), np.full(DIM, -3.0), np.zeros(DIM), np.linspace(-1, 1, DIM)], dtype="<f4")
    block.put(0, rows[:2])
    block.put(2, rows[2:])
    question = np.full(DIM, 2.0, dtype="<f4")
    found = block.products(4, question)
    assert found[:3] == pytest.approx([6.0 * DIM, -6.0 * DIM, 0.0], rel=1e-6)
    assert found[3] == pytest.approx(float(rows[3] @ question), abs=DIM * 2.0 * 0.5 / 127)


def test_a_partition_of_more_rows_than_are_turned_at_once_compares_every_row() -> None:
    vectors = unit(np.random.default_rng(12).standard_normal((5_000, 256)))
    partition = VectorPartition.of(
        [VectorRow(at, "", "", "fact", vector.tobytes()) for at, vector in enumerate(vectors, start=1)],
        1,
        256,
        quant="int8",
    )
    for at in (0, 2_047, 2_048, 4_095, 4_999):
        (hit,) = partition.nearest(VectorQuery("t:m:256", vectors[at], 1, Scope(user_id="alice")))
        assert hit.seq == at + 1
        assert hit.cosine == pytest.approx(1.0, abs=0.02)
