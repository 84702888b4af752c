"""``search``: one call from request to answer. Read this first to see how memories are found.

The request is checked (``search_request``). Then ``find_hits`` (``recall/hits.py``) reads the question, asks the
channels (words, vectors, names; ``recall/retrieve.py``), combines their results into one ranking (``core/ranking``),
compares the best ones word by word, and reads from the ledger what may be seen, because indexes may lag behind. If a
fact and its turn are both found, they become one result (``recall/provenance.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine import results as shape
from memstone.engine.recall.hits import find_hits
from memstone.engine.recall.provenance import trace_sources, widen_for_turns
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import Search, SearchRequest, build_search
from memstone.engine.store.deleted_spans import hide_deleted_in_hits
from memstone.engine.store.holders import read_owners
from memstone.model.memory import DIRECT, FoundMemory, Layer

if TYPE_CHECKING:
    from memstone.results import SearchHit, SearchResults


async def search_memories(runtime: Runtime, request: SearchRequest) -> SearchResults:
    """Return the memories that match a query, best first."""
    wanted = build_search(runtime, request)
    return await runtime.together(lambda: _answer_search(runtime, wanted))


async def _answer_search(runtime: Runtime, wanted: Search) -> SearchResults:
    hits = await find_hits(runtime, widen_for_turns(wanted))
    if any(found.record.layer == Layer.EPISODE for found, _ in hits.found):
        hits.found = await runtime.ledger.read(partial(hide_deleted_in_hits, hits=hits.found))
    visible = await trace_sources(runtime, wanted, hits.found)
    owners = await _hit_owners(runtime, wanted, [found for (found, _), _ in visible])
    results: list[SearchHit] = [{**shape.format_hit(*hit, explain=wanted.explain), **more} for hit, more in visible]
    for one in results if owners else ():
        shape.add_owner(one, owners)
    answer: SearchResults = {"results": results}
    if hits.degraded:
        answer["degraded"] = hits.degraded
    return answer


async def _hit_owners(runtime: Runtime, wanted: Search, found: Sequence[FoundMemory]) -> dict[str, str]:
    if all(one.link.origin == DIRECT for one in found):
        return {}
    return await runtime.ledger.peek(
        partial(read_owners, found=found, user_id=wanted.scope.user_id, bounds=runtime.bounds)
    )
