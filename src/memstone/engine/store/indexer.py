"""Build vector indexes from the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from memstone.core.checks.filters import where_current, where_in_scope
from memstone.engine.request_scope import Progress, report_progress
from memstone.engine.runtime import Runtime
from memstone.engine.store.embedding import is_outage
from memstone.engine.store.embedding_context import read_contexts, stored_before
from memstone.engine.store.turns import Turn
from memstone.engine.store.versions import Space, add_vectors, ensure_space
from memstone.engine.store.write import current_space
from memstone.errors import ConfigError, EmbeddingError, MemstoneError
from memstone.model.memory import Record
from memstone.model.query import And
from memstone.model.scope import Scope
from memstone.ports.ledger import IndexInfo, Tx, Work
from memstone.ports.models import NUMBER, Sample, UnnamedEmbedder

if TYPE_CHECKING:
    from memstone.results import ReindexResult

# --- building vector indexes from the ledger --------------------------------------------------------------------------


_AT_ONCE: Final = 100


async def reindex_vectors(runtime: Runtime, progress: Progress | None = None) -> ReindexResult:
    """Give every memory a vector of the configured embedder, beside the old ones, and switch when complete.

    Search goes on with the old index until then. A text that cannot be embedded is counted and stays findable by its
    words; it does not hold the others up. When the model itself is out of reach its error is raised and nothing is
    switched. A vector store outside is filled then, while the index beside the ledger answers. Interrupted, it goes on
    where it stopped.
    """
    if not runtime.embedding.on:
        raise ConfigError("reindex needs an embedder", hint="configure an embedder, or keep searching by text")
    space = await current_space(runtime)
    done, failed = await fill_missing(runtime, progress)
    if done and done == failed and not await runtime.ledger.read(lambda tx: _is_active(runtime, tx, space)):
        raise EmbeddingError(f"none of {done} texts could be embedded", hint="the index was not changed")
    dropped = await runtime.ledger.write(lambda tx: _activate_space(runtime, tx, space))
    fill = getattr(runtime.index, "fill", None)
    sent = 0 if fill is None else await fill(runtime.tenant_id, space.signature, progress)
    return {"signature": space.signature, "indexed": done - failed, "failed": failed, "dropped": dropped, "sent": sent}


async def fill_missing(runtime: Runtime, progress: Progress | None = None) -> tuple[int, int]:
    """Embed what has no vector yet; return how many were looked at and how many failed. An outage is raised."""
    space = await current_space(runtime)
    total = await runtime.ledger.write(lambda tx: _prepare_space(runtime, tx, space))
    done = failed = after = 0
    while rows := await runtime.ledger.read(_missing_after(runtime, space, after)):
        stored = await _embed_rows(runtime, space, rows)
        done, failed, after = done + len(rows), failed + len(rows) - stored, rows[-1].seq
        await report_progress(progress, done, max(total, done))
    return done, failed


def _missing_after(runtime: Runtime, space: Space, after: int) -> Work[list[Record]]:
    return lambda tx: tx.vectors.list_missing(runtime.tenant_id, space.signature, after, _AT_ONCE)


async def _is_active(runtime: Runtime, tx: Tx, space: Space) -> bool:
    return IndexInfo(space.signature, space.dim, "active") in await tx.indexes.all(runtime.tenant_id)


async def _prepare_space(runtime: Runtime, tx: Tx, space: Space) -> int:
    await ensure_space(tx, runtime.tenant_id, space)
    return await tx.vectors.missing_count(runtime.tenant_id, space.signature)


async def _embed_rows(runtime: Runtime, space: Space, rows: Sequence[Record]) -> int:
    vectors = await runtime.embedding.many([row.text for row in rows], await read_contexts(runtime, rows))
    for vector in vectors:
        if isinstance(vector, MemstoneError) and is_outage(vector):
            raise vector
    pairs = zip(rows, vectors, strict=True)
    ready = [(row.seq, vector) for row, vector in pairs if not isinstance(vector, MemstoneError)]

    async def work(tx: Tx) -> int:
        stored = await tx.vectors.fill(runtime.tenant_id, space.signature, ready)
        await tx.vectors.touch(runtime.tenant_id, [seq for seq, _ in ready])
        return stored

    return await runtime.ledger.write(work)


async def _activate_space(runtime: Runtime, tx: Tx, space: Space) -> int:
    """Make the new space the active one and drop the vectors of all others, or keep them for a way back."""
    dropped = 0
    for info in await tx.indexes.all(runtime.tenant_id):
        if info.signature == space.signature or info.backend == "external":  # what callers brought is theirs
            continue
        if runtime.policy.upkeep.keep_vectors:
            await tx.indexes.put(runtime.tenant_id, IndexInfo(info.signature, info.dim, "stale"))
        else:
            dropped += await tx.indexes.drop(runtime.tenant_id, info.signature)
    await tx.indexes.put(runtime.tenant_id, IndexInfo(space.signature, space.dim, "active"))
    return dropped


# --- whether a model that is a function is still the one whose vectors are stored -------------------------------------


_LOOKED_AT: Final = 20


async def identify_embedder(runtime: Runtime) -> None:
    """Let an embedder without a name of its own see what is stored: when it is first asked, it settles its name."""
    embedder = runtime.embedding.embedder
    if not isinstance(embedder, UnnamedEmbedder):
        return
    begins = runtime.embedding.name
    samples = await runtime.ledger.read(lambda tx: _read_samples(tx, runtime.tenant_id, begins))
    if samples:
        embedder.known_as(samples)


async def _read_samples(tx: Tx, tenant_id: str, begins: str) -> list[Sample]:
    known = [info for info in await tx.indexes.all(tenant_id) if _is_called(info, begins)]
    known.sort(key=lambda info: info.state != "active")
    return [await _read_index_sample(tx, tenant_id, info) for info in known]


def _is_called(info: IndexInfo, begins: str) -> bool:
    name = info.signature.rpartition(":")[0]
    return name == begins or name.startswith(begins + NUMBER)


async def _read_index_sample(tx: Tx, tenant_id: str, info: IndexInfo) -> Sample:
    """Return one of the newest or of the oldest memories: while an index is built, only some have a vector there."""
    model = info.signature.partition(":")[2].rpartition(":")[0]
    where = And((where_in_scope(Scope(tenant_id)), where_current()))
    for oldest_first in (False, True):
        for found in await tx.memories.find(where, limit=_LOOKED_AT, oldest_first=oldest_first):
            vector = await tx.vectors.get(tenant_id, found.record.seq, info.signature)
            if vector is not None and any(vector):
                return Sample(model, info.dim, found.record.text, bytes(vector))
    return Sample(model, info.dim)


# --- vectors of turns that were kept without one, because nobody who speaks waits for a model -------------------------


@dataclass(slots=True)
class TurnVectors:
    """Vectors by the number of the version they belong to."""

    space: Space | None = None
    found: list[tuple[int, bytes]] = field(default_factory=list)

    async def store(self, tx: Tx, tenant_id: str) -> None:
        """Put them beside their versions."""
        if self.space is not None and self.found:
            await add_vectors(tx, tenant_id, self.space, self.found)


async def turn_vectors(runtime: Runtime, turns: Sequence[Turn]) -> TurnVectors:
    """Return the vectors that stored turns lack, as far as there are any: without one a turn is found by its words."""
    places = [turn.place for turn in turns if turn.place]
    if not runtime.embedding.on or not places:
        return TurnVectors()
    try:
        space = await current_space(runtime)
        rows = await runtime.ledger.read(
            partial(_read_turns_without_vector, runtime=runtime, space=space, places=places)
        )
        before = [text for _, text in rows] if runtime.embedding.tells_words else None
        vectors = await runtime.embedding.many([row.text for row, _ in rows], before)
    except MemstoneError:
        return TurnVectors()
    pairs = zip((row.seq for row, _ in rows), vectors, strict=True)
    return TurnVectors(space, [(seq, one) for seq, one in pairs if not isinstance(one, MemstoneError)])


async def _read_turns_without_vector(
    tx: Tx, *, runtime: Runtime, space: Space, places: Sequence[int]
) -> list[tuple[Record, str]]:
    """Return the turns without a vector, each with what was said right before it."""
    have = {seq for seq, _ in await tx.vectors.many(runtime.tenant_id, space.signature, places)}
    rows = [await tx.memories.at(place) for place in dict.fromkeys(places) if place not in have]
    hears = runtime.embedding.tells_words
    return [(row, await stored_before(tx, row) if hears else "") for row in rows if row is not None]
