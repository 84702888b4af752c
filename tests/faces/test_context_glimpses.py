"""Of what a search finds, only what is judged or shown is read; the block and its account are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sql.memories import MemoriesTable
from memstone.engine.recall import block_hits as module
from memstone.engine.recall.block_hits import READ
from memstone.engine.recall.hits import Hits, find_hits, hydrate_hits
from memstone.engine.recall.judge import LOOKED_AT, Relevance
from memstone.engine.runtime import Runtime
from memstone.model.context import ContextPack
from tests.faces.context_steps import account, parts_of, shown
from tests.faces.harness import ON_DISK, Face, Opens

THINGS = ("kayak", "ladder", "lamp", "kettle", "drill", "tent")
COLOURS = ("red", "green", "blue", "black", "white", "brown", "grey")


async def filled(face: Face) -> Runtime:
    """Somebody with many memories that are alike, and a policy that looks at many of them."""
    texts = [f"I keep my {colour} {thing} in the shed" for colour in COLOURS for thing in THINGS]
    await face.add_many([{"messages": text, "user_id": "alice", "infer": False} for text in texts])
    return await parts_of(face, false_injection=0.2, candidates=100, limit=100, sections=False, cache_seconds=0.0)


def told(pack: ContextPack) -> tuple[Any, ...]:
    return pack.text, pack.citations, pack.tokens, pack.degraded


async def whole(runtime: Runtime, wanted: Any, _: int | None = None) -> Hits:
    """As if everything were read."""
    return await find_hits(runtime, wanted)


@pytest.mark.parametrize("query", ["Where is my red kayak?", "How do volcanoes form?", "the blue lamp in the shed"])
@pytest.mark.req("X-6")
async def test_a_block_does_not_depend_on_how_much_is_read(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    runtime = await filled(face)
    glimpsed = await shown(runtime, query)
    monkeypatch.setattr(module, "find_hits", whole)
    read = await shown(runtime, query)
    assert told(glimpsed) == told(read)
    accounts = [await account(runtime, pack) for pack in (glimpsed, read)]
    assert accounts[0].dropped == accounts[1].dropped
    assert accounts[0].considered == accounts[1].considered >= len(THINGS) * len(COLOURS)


async def test_only_what_is_judged_or_shown_is_read(face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, read, real = await filled(face), [], MemoriesTable.among
    best = READ + 5

    async def counted(self: MemoriesTable, seqs: Sequence[int], where: Any) -> Any:
        read.append(len(seqs))
        return await real(self, seqs, where)

    async def stored(_runtime: Runtime, _scope: Any, _question: str, hits: Sequence[Any], *_: object) -> Relevance:
        return Relevance(list(hits[:best]), "these")

    monkeypatch.setattr(MemoriesTable, "among", counted)
    monkeypatch.setattr(module, "judge_relevance", stored)
    pack = await shown(parts, "Where is my red kayak?")
    assert len(pack.citations) == best
    assert read == [READ, best - READ]
    assert all("I keep my" in one.line for one in pack.citations)


@ON_DISK
async def test_what_is_deleted_after_it_was_judged_is_not_shown(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, deleted = await filled(face), list[str]()

    async def meanwhile(parts: Runtime, wanted: Any, hits: Any) -> Any:
        record = await parts.ledger.peek(lambda tx: tx.memories.at(hits[READ][1].seq))
        deleted.append(record.id if record else "")
        with Memory({"store": {"url": opens.url}, "embedder": {"provider": "hash"}}, clock=opens.clock) as other:
            other.delete(deleted[0])
        return await hydrate_hits(parts, wanted, hits)

    async def all_of_them(_runtime: Runtime, _scope: Any, _question: str, hits: Any, *_: object) -> Relevance:
        return Relevance(list(hits), "these")

    monkeypatch.setattr(module, "judge_relevance", all_of_them)
    monkeypatch.setattr(module, "hydrate_hits", meanwhile)
    pack = await shown(parts, "Where is my red kayak?")
    assert len(pack.citations) > READ
    assert deleted[0] not in {one.memory_id for one in pack.citations}


async def test_an_index_that_lags_takes_nothing_from_what_is_judged(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, real, hidden, judged = await filled(face), MemoriesTable.among, set[int](), list[Any]()

    async def without_some(self: MemoriesTable, seqs: Sequence[int], where: Any) -> Any:
        hidden.update(list(seqs)[:3] if not hidden else ())
        return [found for found in await real(self, seqs, where) if found.record.seq not in hidden]

    async def noted(_runtime: Runtime, _scope: Any, _question: str, hits: Sequence[Any], *_: object) -> Relevance:
        judged.extend(hits)
        return Relevance(list(hits), "these")

    monkeypatch.setattr(MemoriesTable, "among", without_some)
    monkeypatch.setattr(module, "judge_relevance", noted)
    await shown(parts, "Where is my red kayak?")
    assert len(hidden) == 3
    assert not hidden & {scored.seq for _, scored in judged}
    assert all(found.record.text for found, _ in judged[:LOOKED_AT])
    assert len(judged) == len({scored.seq for _, scored in judged}) == len(THINGS) * len(COLOURS) - len(hidden)
