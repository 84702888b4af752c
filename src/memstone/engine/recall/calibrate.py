"""Measure how close unrelated questions come to the memories of a scope, and keep the result.

The vectors of the questions are compared with a sample of the memories of a scope; without vectors, the text channel is
asked. The questions are embedded once per store. The result for a scope is kept in this process and, for larger stores,
in the ledger; it reveals nothing about a single memory.
"""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from memstone.core.ranking.abstain import (
    BY_MEANING,
    BY_WORDS,
    AbstentionWeights,
    Null,
    familiarity_words,
    null_of,
    score_familiarity,
    slope_of,
)
from memstone.engine.runtime import Runtime
from memstone.errors import MemstoneError, StorageError
from memstone.language.text.bm25 import UNHEARD
from memstone.language.text.tokens import query_terms
from memstone.model.memory import Vector
from memstone.model.query import WordsQuery
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.products import multiply_matrices

TEXT: Final = "text"
"""The name of what is known about words alone."""

_SAMPLE: Final = 1_000
_FEWER: Final = 4  # the same is asked of every fourth memory of the sample, to see what size does
_LEAST_TO_TELL_SIZE: Final = 64
_GROWN: Final = 1.25
_WORTH_KEEPING: Final = 256  # of a smaller store it is found out faster than written
_SCOPES_KEPT: Final = 256
_SCOPES_HELD: Final = 4_096
_SHRUNK: Final = 0.5  # how much of a memory's own standard deviation counts, against the usual one
_INT8: Final = 127.0


@dataclass(slots=True)
class CalibrationCache:
    """What one store's processes know: vectors of the questions by signature, and distributions by scope."""

    probes: dict[str, Any] = field(default_factory=dict)
    nulls: OrderedDict[tuple[str, Scope], Null] = field(default_factory=OrderedDict)


_CACHES: Final[WeakKeyDictionary[Any, CalibrationCache]] = WeakKeyDictionary()


def _version_of(runtime: Runtime) -> str:
    """Return the version of the questions that are asked: what was found out with others does not count."""
    return _hash_texts(runtime.language.relevance.probes)


@cache
def _hash_texts(texts: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


async def null_for(runtime: Runtime, scope: Scope, signature: str, rows: int) -> Null | None:
    """Return what unrelated questions reach in a scope of about ``rows`` memories; None if there is nothing to ask."""
    if not runtime.language.relevance.probes:
        return None
    calibration_cache = _cache_for_store(runtime)
    key = (signature, scope)
    known = calibration_cache.nulls.get(key)
    if known is None or _is_outgrown(known, rows):
        known = await _read_calibration(runtime, scope, signature)
        if known is None or _is_outgrown(known, rows):
            known = await calibrate_scope(runtime, scope, signature, rows)
        if known is None:
            return None
        calibration_cache.nulls[key] = known
        while len(calibration_cache.nulls) > _SCOPES_HELD:
            calibration_cache.nulls.popitem(last=False)
    return known


async def calibrate_scope(runtime: Runtime, scope: Scope, signature: str, rows: int) -> Null | None:
    """Find out what unrelated questions reach, and keep it."""
    found = await (
        _by_words(runtime, scope, rows) if signature == TEXT else _by_meaning(runtime, scope, signature, rows)
    )
    if found is not None and rows >= _WORTH_KEEPING:
        with suppress(StorageError):  # a store that only lets itself be read: this process knows all the same
            await runtime.ledger.write(lambda tx: _store_calibration(tx, runtime, scope, signature, found))
    return found


async def drop_calibration(tx: Tx, scope: Scope) -> None:
    """Drop what is kept about a scope, within a transaction; what this process holds ages by itself."""
    names = [TEXT, *(info.signature for info in await tx.indexes.all(scope.tenant_id))]
    for name in names:
        body = await tx.calibration.get(scope.tenant_id, name)
        if body and body.get("scopes", {}).pop(_scope_digest(scope), None) is not None:
            await tx.calibration.put(scope.tenant_id, name, body, body.get("at", ""))


def _cache_for_store(runtime: Runtime) -> CalibrationCache:
    """Return the cache of a store, by what all who share it share: their ledgers are made again for each of them."""
    return _CACHES.setdefault(runtime.texts, CalibrationCache())


def _is_outgrown(null: Null, rows: int) -> bool:
    return not null.rows / _GROWN <= rows <= null.rows * _GROWN


# --- kept in the ledger -----------------------------------------------------------------------------------------------


async def _read_calibration(runtime: Runtime, scope: Scope, signature: str) -> Null | None:
    body = await runtime.ledger.peek(lambda tx: tx.calibration.get(runtime.tenant_id, signature))
    entry = (
        body.get("scopes", {}).get(_scope_digest(scope))
        if body and body.get("version") == _version_of(runtime)
        else None
    )
    return None if entry is None else Null(**{name: entry[name] for name in Null.__slots__})


async def _store_calibration(tx: Tx, runtime: Runtime, scope: Scope, signature: str, null: Null) -> None:
    """Put it with those of other scopes; the ones that were found out longest ago go when there are many."""
    body = await tx.calibration.get(runtime.tenant_id, signature)
    at = runtime.now()
    scopes: dict[str, Any] = body.get("scopes", {}) if body and body.get("version") == _version_of(runtime) else {}
    scopes[_scope_digest(scope)] = {**asdict(null), "at": at}
    newest = sorted(scopes.items(), key=lambda item: item[1]["at"], reverse=True)[:_SCOPES_KEPT]
    await tx.calibration.put(
        runtime.tenant_id, signature, {"version": _version_of(runtime), "at": at, "scopes": dict(newest)}, at
    )


def _scope_digest(scope: Scope) -> str:
    who = f"{scope.tenant_id}\x00{scope.user_id}\x00{scope.agent_id}\x00{scope.run_id}"
    return hashlib.sha256(who.encode()).hexdigest()[:32]


# --- by meaning -------------------------------------------------------------------------------------------------------


async def _by_meaning(runtime: Runtime, scope: Scope, signature: str, rows: int) -> Null | None:
    probes = await probe_vectors(runtime, signature)
    count, sample = await runtime.ledger.read(lambda tx: tx.calibration.sample(scope, signature, _SAMPLE))
    if not sample:
        return None
    own = await _compute_familiarity(runtime, scope, runtime.language.relevance.probes, BY_MEANING)
    found = await runtime.io.run(lambda: _null_from_sample(probes, sample, own))
    return Null(rows, found.middle_at(count), found.spread, found.slope, found.scatter)


def _null_from_sample(probes: Any, sample: list[bytes], own: Any) -> Null:
    memories = np.frombuffer(b"".join(sample), "<f4").reshape(len(sample), -1)
    close, scatter = _left_one_out(_compute_cosines(probes, memories))
    best = close.max(axis=1) + own
    slope = 0.0
    if len(sample) >= _LEAST_TO_TELL_SIZE:
        fewer = close[:, ::_FEWER].max(axis=1) + own
        slope = slope_of(best.tolist(), fewer.tolist(), _FEWER)
    return null_of(best.tolist(), len(sample), slope=slope, scatter=scatter)


def _compute_cosines(probes: Any, memories: Any) -> Any:
    return multiply_matrices(memories, probes.T).T


def _left_one_out(cosines: Any) -> tuple[Any, float]:
    """Return how close each question comes to each memory, judged by the other questions only."""
    others = len(cosines) - 1
    means = (cosines.sum(axis=0) - cosines) / others
    squares = ((cosines**2).sum(axis=0) - cosines**2) / others
    scatter = float(cosines.std(axis=0).mean())
    own = np.sqrt(np.maximum(0.0, squares - means**2))
    return (cosines - means) / _shrink_deviation(own, scatter), scatter


def _shrink_deviation(own: Any, usual: float) -> Any:
    return np.maximum(1e-6, _SHRUNK * own + (1 - _SHRUNK) * usual)


async def measure_closeness(
    runtime: Runtime, signature: str, null: Null, cosines: Mapping[int, float]
) -> dict[int, float]:
    """Return how close each memory is to a question by its cosine, in standard deviations above unrelated ones."""
    probes = await probe_vectors(runtime, signature)
    vectors = dict(await runtime.ledger.peek(lambda tx: tx.vectors.many(runtime.tenant_id, signature, list(cosines))))
    if not vectors:
        return {}
    memories = np.frombuffer(b"".join(vectors.values()), "<f4").reshape(len(vectors), -1)
    unrelated = _compute_cosines(probes, memories)
    means, spreads = unrelated.mean(axis=0), _shrink_deviation(unrelated.std(axis=0), null.scatter)
    value = np.array([cosines[seq] for seq in vectors])
    return dict(zip(vectors, ((value - means) / spreads).tolist(), strict=True))


async def probe_vectors(runtime: Runtime, signature: str) -> Any:
    """Return the vectors of the questions, a row each; embedded once for a store and kept in it."""
    probes = _cache_for_store(runtime).probes
    if signature not in probes:
        name = f"{signature}#probes"
        body = await runtime.ledger.peek(lambda tx: tx.calibration.get(runtime.tenant_id, name))
        if body is None or body.get("version") != _version_of(runtime):
            body = _pack_vectors(await _embed_probes(runtime), _version_of(runtime))
            with suppress(StorageError):
                await runtime.ledger.write(lambda tx: tx.calibration.put(runtime.tenant_id, name, body, runtime.now()))
        probes[signature] = _unpack_vectors(body)
    return probes[signature]


async def _embed_probes(runtime: Runtime) -> Any:
    found = await runtime.embedding.of("").queries(runtime.language.relevance.probes)  # they are the same for everybody
    failed = next((one for one in found if isinstance(one, MemstoneError)), None)
    if failed is not None:
        raise failed
    return np.stack([np.frombuffer(one, "<f4") for one in found if isinstance(one, Vector)])


def _pack_vectors(vectors: Any, version: str) -> dict[str, Any]:
    """Return vectors as JSON can hold them: a byte for each number, and one scale for all."""
    scale = float(np.abs(vectors).max()) or 1.0
    numbers = np.round(vectors / scale * _INT8).astype(np.int8)
    text = base64.b64encode(numbers.tobytes()).decode()
    return {"version": version, "scale": scale, "count": len(vectors), "vectors": text}


def _unpack_vectors(body: Mapping[str, Any]) -> Any:
    numbers = np.frombuffer(base64.b64decode(body["vectors"]), np.int8).reshape(body["count"], -1)
    return numbers.astype(np.float32) * np.float32(body["scale"] / _INT8)


# --- by words ---------------------------------------------------------------------------------------------------------


async def _by_words(runtime: Runtime, scope: Scope, rows: int) -> Null | None:
    own = await _compute_familiarity(runtime, scope, runtime.language.relevance.probes, BY_WORDS)
    best = []
    for probe in runtime.language.relevance.probes:
        scores = await text_closeness(runtime, scope, probe, 1)
        best.append(max(scores.values(), default=0.0))
    return null_of([value + more for value, more in zip(best, own.tolist(), strict=True)], rows)


async def text_closeness(runtime: Runtime, scope: Scope, question: str, limit: int) -> dict[int, float]:
    """Return how close memories are to a question by their words: BM25 in the rarity of a word nobody has used."""
    around = await runtime.texts.around(scope, (), [UNHEARD])
    unit = around.rarity.get(UNHEARD, 0.0) or 1.0
    hits = await runtime.texts.search(WordsQuery(query_terms(question), limit, scope))
    return {hit.seq: hit.score / unit for hit in hits}


async def _compute_familiarity(
    runtime: Runtime, scope: Scope, questions: tuple[str, ...], weights: AbstentionWeights
) -> Any:
    """Return what the questions have by themselves.

    Names count only against a real question: that errs on its safe side.
    """
    words = {word for question in questions for word in familiarity_words(question, runtime.language.names)}
    around = await runtime.texts.around(scope, (), [*sorted(words), UNHEARD])
    return np.array([score_familiarity(one, around.rarity, weights) for one in questions])
