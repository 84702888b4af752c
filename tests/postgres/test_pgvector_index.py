"""Whoever looks for nearest neighbours, this process or the database, finds the same with the same scores."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from memstone import Memory
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.postgres.statements import PostgresSql
from memstone.adapters.postgres.vectors import HnswIndex, PostgresVectors, SearchReach
from memstone.adapters.vectors import postgres as pg_hnsw
from memstone.adapters.vectors.local import LocalVectors, LocalVectorsConfig
from memstone.adapters.vectors.postgres import PgConfig, PgVectors
from memstone.drive import drive
from memstone.engine.store.draft import scope_tokens
from memstone.errors import StorageBusy, StorageError
from memstone.language.text.tokens import query_terms
from memstone.model.query import TextQuery, VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit
from tests.faces.cli_runner import Cli
from tests.postgres.pgvector_world import OTHER, USER, embed, opened, told
from tests.postgres.server import Server


@pytest.fixture
def memory(postgres: Server) -> Iterator[Memory]:
    """Two tenants with the same users; the second has what would be nearest."""
    url = postgres.fresh()
    with opened(url, "foreign") as foreign:
        told(foreign, 200)
    with opened(url) as made:
        told(made, 400)
        yield made


@pytest.fixture
def graph(postgres: Server, memory: Memory) -> Iterator[HnswIndex]:
    """An index over what is there."""
    (built,) = pg_hnsw.build_indexes(postgres.url(postgres.name), ["default"], pg_hnsw.Build())
    yield HnswIndex.of(built["signature"], half=False)
    _drop(postgres)


def _drop(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        for (name,) in connection.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'vectors_hnsw%'"):
            connection.execute(f"DROP INDEX memstone.{name}")


def _signature(memory: Memory) -> str:
    return drive(memory.engine.runtime.embedding.signature())


def _questions(memory: Memory) -> Iterator[VectorQuery]:
    """Every kind of question an engine asks."""
    chance = random.Random(5)  # noqa: S311 - test data
    signature = _signature(memory)
    seqs = drive(memory.engine.runtime.ledger.peek(lambda tx: tx.vectors.list_missing("default", "none", 0, 1000)))
    known = [row.seq for row in seqs]
    scopes = (Scope(user_id=USER), Scope(user_id=USER, agent_id="a"), Scope(user_id=USER, run_id="r"))
    for number, scope in enumerate((*scopes, Scope(user_id=USER, agent_id="a", run_id="r"), Scope(user_id="nobody"))):
        vector, spoken = (np.asarray(one, "<f4") / np.linalg.norm(one) for one in embed([f"q{number}", f"s{number}"]))
        plain = VectorQuery(signature, vector, 10, scope)
        yield plain
        yield replace(plain, layers=("fact",))
        yield replace(plain, layers=("turn", "episode"))
        yield replace(plain, among=frozenset(chance.sample(known, 60)))
        yield replace(plain, also=tuple(chance.sample(known, 20)))
        yield replace(plain, spoken=spoken, also=tuple(known[:5]), limit=5)
        yield replace(plain, limit=1000)


def _index(memory: Memory, **options: Any) -> PgVectors:
    return PgVectors(PgConfig(**options), BlockingIo(), memory.engine.runtime.ledger)


def _local(memory: Memory) -> LocalVectors:
    return LocalVectors(LocalVectorsConfig(), BlockingIo(), memory.engine.runtime.ledger)


def _alike(found: Sequence[DenseHit], right: Sequence[DenseHit], query: VectorQuery) -> None:
    assert [(hit.seq, hit.extra) for hit in found if not hit.extra] == [
        (hit.seq, hit.extra) for hit in right if not hit.extra
    ], query
    scores = {hit.seq: hit.cosine for hit in found}
    assert scores.keys() == {hit.seq for hit in right}
    for hit in right:
        assert scores[hit.seq] == pytest.approx(hit.cosine, abs=1e-5)


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the ways that were taken, and whether they gave an answer."""
    taken: list[str] = []
    for name in ("nearest", "search_index"):
        _watch(monkeypatch, name, taken)
    return taken


def _watch(monkeypatch: pytest.MonkeyPatch, name: str, taken: list[str]) -> None:
    real = getattr(PostgresVectors, name)

    async def watched(self: PostgresVectors, *args: Any) -> Any:
        found = await real(self, *args)
        taken.append(name if found is not None else f"no {name}")
        return found

    monkeypatch.setattr(PostgresVectors, name, watched)


@pytest.mark.req("C-34", "X-20")
def test_the_database_compares_as_this_process_does(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = _watched(monkeypatch)
    exact = _index(memory, in_process_rows=0, memory_mb=1)
    monkeypatch.setattr(exact, "_fits", lambda *_: False)
    local = _local(memory)

    for query in _questions(memory):
        _alike(drive(exact.search(query)), drive(local.search(query)), query)

    assert set(taken) == {"nearest"}


@pytest.mark.req("C-34", "X-20")
def test_an_index_proposes_what_comparing_all_would_find(
    memory: Memory, graph: HnswIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = _watched(monkeypatch)
    by_index = _index(memory, in_process_rows=0, exact_rows=0)
    local = _local(memory)

    for query in _questions(memory):
        _alike(drive(by_index.search(query)), drive(local.search(query)), query)

    assert taken.count("search_index") >= 15
    assert "no search_index" in taken  # and then all were compared
    found = _graph(memory)
    assert found is not None
    assert (found.name, found.half) == (graph.name, False)


def _rows(tx: Any) -> PostgresVectors:
    found: PostgresVectors = tx.vectors
    return found


def _graph(memory: Memory) -> HnswIndex | None:
    """The index that a search would use."""
    signature = _signature(memory)
    return drive(memory.engine.runtime.ledger.peek(lambda tx: _rows(tx).graph(signature)))


@pytest.mark.req("C-34")
def test_the_index_is_what_the_planner_uses_behind_row_level_security(
    memory: Memory, graph: HnswIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    real = PostgresVectors._with_others

    async def explained(self: PostgresVectors, query: VectorQuery, near: str, params: Sequence[Any]) -> Any:
        lines = await self._sql.rows(f"EXPLAIN {near}", params)
        plans.append("\n".join(str(row[0]) for row in lines))
        return await real(self, query, near, params)

    monkeypatch.setattr(PostgresVectors, "_with_others", explained)
    query = next(_questions(memory))
    found = drive(
        memory.engine.runtime.ledger.read(lambda tx: _rows(tx).search_index(query, graph, SearchReach(200, 20_000)))
    )

    assert found
    assert f"Index Scan using {graph.name}" in plans[0]
    assert "memstone.tenant" in plans[0]


@pytest.mark.req("C-34")
def test_an_index_over_all_tenants_shows_nobody_what_is_of_others(
    memory: Memory, graph: HnswIndex, postgres: Server
) -> None:
    by_index = _index(memory, in_process_rows=0, exact_rows=0)
    with postgres.superuser(postgres.name) as connection:
        own = {row[0] for row in connection.execute("SELECT seq FROM memstone.memories WHERE tenant_id = 'default'")}

    found = [hit for query in _questions(memory) for hit in drive(by_index.search(query))]

    assert graph.name
    assert found
    assert {hit.seq for hit in found} <= own


def test_half_as_large_it_finds_the_same(memory: Memory, postgres: Server) -> None:
    (built,) = pg_hnsw.build_indexes(postgres.url(postgres.name), ["default"], pg_hnsw.Build(half=True))
    by_index, local = _index(memory, in_process_rows=0, exact_rows=0), _local(memory)

    for query in list(_questions(memory))[:7]:
        _alike(drive(by_index.search(query)), drive(local.search(query)), query)

    assert built["halfvec"]
    _drop(postgres)


def test_few_are_looked_for_in_this_process_and_many_in_the_database(
    memory: Memory, graph: HnswIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = _watched(monkeypatch)
    index = _index(memory, in_process_rows=200, exact_rows=50)
    assert graph.name
    signature = _signature(memory)
    vector = np.asarray(embed(["q"])[0], "<f4")

    drive(index.search(VectorQuery(signature, vector, 5, Scope(user_id=OTHER))))
    assert taken == []
    drive(index.search(VectorQuery(signature, vector, 5, Scope(user_id=USER))))
    assert taken == ["search_index"]
    drive(index.search(VectorQuery(signature, vector, 5, Scope(user_id=USER), among=frozenset(range(40)))))
    assert taken == ["search_index", "nearest"]


@pytest.mark.req("C-34")
def test_what_is_written_is_found_at_once_and_what_is_deleted_never_again(postgres: Server) -> None:
    url = postgres.fresh()
    with opened(url, in_process_rows=0, exact_rows=0) as memory:
        told(memory, 60)
        pg_hnsw.build_indexes(postgres.url(postgres.name), ["default"], pg_hnsw.Build())
        added = memory.add("the one", user_id=USER, infer=False)["results"][0]["id"]
        first = memory.search("the one", user_id=USER, limit=3)["results"]
        memory.update(added, "another one")
        second = memory.search("another one", user_id=USER, limit=3)["results"]
        memory.delete(added)
        third = memory.search("another one", user_id=USER, limit=50)["results"]
    _drop(postgres)

    assert [first[0]["id"], second[0]["id"]] == [added, added]
    assert first[0]["score"] == pytest.approx(second[0]["score"], abs=1e-5)
    assert third
    assert added not in {one["id"] for one in third}


@pytest.mark.req("N-5", "X-20", "R-28")
def test_another_embedder_fills_a_space_of_its_own_beside_the_old_one_and_then_switches(postgres: Server) -> None:
    url = postgres.fresh()
    with opened(url) as memory:
        told(memory, 230)
        old = _signature(memory)
    seen: list[int] = []

    def wider(texts: Sequence[str]) -> Any:
        seen.append(len(texts))
        return [np.append(vector, 1.0) for vector in embed(texts)]

    settings = {"store": {"url": url, "durable": False}, "policy": {"strategy": "vector"}}
    with Memory(settings, embedder=wider) as memory:
        before = memory.admin.status()["vector_store"]
        done = memory.admin.reindex()
        after = memory.admin.status()["vector_store"]
        pg_hnsw.build_indexes(postgres.url(postgres.name), ["default"], pg_hnsw.Build())
        found = memory.search("thing 0 1", limit=1, user_id=USER)["results"]
    _drop(postgres)

    assert before["needs_reindex"]
    assert (before["pending"], before["active_signature"]) == (230, old)
    assert done["indexed"] == 230
    assert max(seen) <= 100
    assert (after["pending"], after["needs_reindex"]) == (0, False)
    assert after["active_signature"] == done["signature"] != old
    assert found


@pytest.mark.req("N-5")
def test_a_text_that_cannot_be_embedded_does_not_hold_up_the_others(postgres: Server) -> None:
    url = postgres.fresh()
    with Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "none"}}) as memory:
        for text in ("first", "broken", "third"):
            memory.add(text, user_id=USER, infer=False)

    def fragile(texts: Sequence[str]) -> Any:
        if any("broken" in text for text in texts):
            raise ValueError("not this one")
        return embed(texts)

    with Memory({"store": {"url": url, "durable": False}}, embedder=fragile) as memory:
        done = memory.admin.reindex()
        left = memory.admin.status()["vector_store"]["pending"]

    assert (done["indexed"], done["failed"], left) == (2, 1, 1)


@pytest.mark.req("D-16")
def test_the_view_of_replaced_memories_names_the_new_one(postgres: Server) -> None:
    url = postgres.fresh()
    with opened(url) as memory:
        added = memory.add("before", user_id=USER, infer=False)["results"][0]["id"]
        memory.update(added, "after")
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('memstone.tenant', 'default', true)")
        rows = connection.execute("SELECT old_vector_id, new_vector_id FROM memstone_views.memory_updates").fetchall()

    assert rows == [(f"{added}#1", added)]


def test_indexes_are_built_by_hand_once_and_again_after_a_build_that_broke_off(
    memory: Memory,
    postgres: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = postgres.url(postgres.name)
    cli = Cli(tmp_path, monkeypatch, capsys)
    first = cli("migrate", "--db", url, "--index-vectors")
    again = cli("migrate", "--db", url, "--index-vectors")
    name = HnswIndex.of(_signature(memory), half=False).name
    with postgres.superuser(postgres.name) as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = %s::regclass", (f"memstone.{name}",)
        )
    half_done = _graph(memory)
    third = cli("migrate", "--db", url, "--index-vectors")
    found = _graph(memory)
    _drop(postgres)

    assert "index built" in first.out
    assert "indexed before" in again.out
    assert half_done is None
    assert "index built" in third.out
    assert found is not None


def test_two_do_not_build_at_once(memory: Memory, postgres: Server) -> None:
    url = postgres.url(postgres.name)
    with postgres.superuser(postgres.name) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (pg_hnsw._LOCK,))
        with pytest.raises(StorageBusy):
            pg_hnsw.build_indexes(url, ["default"], pg_hnsw.Build())
    assert _signature(memory)


def test_vectors_that_are_too_long_for_an_index_are_said_to_be(postgres: Server) -> None:
    url = postgres.fresh()
    with postgres.superuser(postgres.name) as connection:
        connection.execute(
            "INSERT INTO memstone.indexes (tenant_id, signature, dim, state) "
            "VALUES ('default', 'x:4001', 4001, 'active')"
        )
    with pytest.raises(StorageError, match="4001"):
        pg_hnsw.build_indexes(postgres.url(postgres.name), ["default"], pg_hnsw.Build())
    assert url


def test_a_file_needs_no_such_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = Cli(tmp_path, monkeypatch, capsys)("migrate", "--db", tmp_path / "m.db", "--index-vectors")

    assert refused.code != 0
    assert "PostgreSQL" in refused.err


def test_words_are_looked_for_among_the_rows_of_their_owner(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope(user_id=USER, agent_id="a")
    tokens, words = scope_tokens(scope), query_terms("thing 0 7 11 13")
    ledger = memory.engine.runtime.ledger
    read: list[str] = []
    real = PostgresSql.rows

    async def noted(self: PostgresSql, query: str, params: Sequence[Any] = ()) -> Any:
        read.append(query)
        return await real(self, query, params)

    by_tokens = drive(ledger.read(lambda tx: tx.text.match(TextQuery(words, tokens), -1)))
    monkeypatch.setattr(PostgresSql, "rows", noted)
    by_links = drive(ledger.read(lambda tx: tx.text.match(TextQuery(words, tokens, scope), -1)))

    assert by_links == by_tokens
    assert by_links
    assert "FROM links" in read[0]
