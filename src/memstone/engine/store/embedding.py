"""Embed texts with a cache and checks; one bad text does not affect the others."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase
from glob import escape
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from memstone.errors import (
    AuthenticationFailed,
    BackendError,
    DimensionMismatch,
    EmbeddingError,
    EmbeddingReason,
    MemstoneError,
    ModelError,
    embedding_reason,
)
from memstone.model.memory import Vector
from memstone.ports.io import limit_model_calls
from memstone.ports.models import Embedder, QueryEmbedder, WordEmbedder

if TYPE_CHECKING:
    from memstone.results import CacheStats, Degradation

# --- a cache for anything ---------------------------------------------------------------------------------------------


CachedT = TypeVar("CachedT")


class Cache(Generic[CachedT]):
    """A cache of recent values. Safe to share between threads: each step is one atomic dictionary operation.

    ``seconds`` is how long an entry is kept unless ``set`` says otherwise; a cache of no ``entries`` keeps nothing.
    """

    def __init__(self, entries: int = 1000, seconds: float = 300.0, now: Callable[[], float] = time.monotonic) -> None:
        self._entries, self._seconds, self._now = entries, seconds, now
        self._values: OrderedDict[str, tuple[float, CachedT]] = OrderedDict()
        self._hits = self._misses = 0

    def get(self, key: str) -> CachedT | None:
        """Return what stands under a key, unless it is too old; it counts as used."""
        ts = self._values.get(key)
        if ts is None or ts[0] < self._now():
            self._misses += 1
            if ts is not None:
                self._values.pop(key, None)
            return None
        self._hits += 1
        self._mark_used(key)
        return ts[1]

    def set(self, key: str, value: CachedT, seconds: float | None = None) -> None:
        """Keep something for a while; what was not used for longest goes when there is too much."""
        self._values[key] = (self._now() + (self._seconds if seconds is None else seconds), value)
        self._mark_used(key)
        while len(self._values) > self._entries:
            try:
                self._values.popitem(last=False)
            except KeyError:
                return

    def invalidate(self, pattern: str) -> int:
        """Drop entries whose keys match a pattern (``*`` any text, ``?`` any character); return how many."""
        gone = [key for key in tuple(self._values) if fnmatchcase(key, pattern)]
        return sum(self._values.pop(key, None) is not None for key in gone)

    def clear(self) -> None:
        """Drop all entries; the counts continue."""
        self._values.clear()

    def stats(self) -> CacheStats:
        """Return the size of the cache, its limit, hits and misses."""
        return {"size": len(self._values), "max_size": self._entries, "hits": self._hits, "misses": self._misses}

    def _mark_used(self, key: str) -> None:
        try:
            self._values.move_to_end(key)
        except KeyError:  # somebody else has forgotten it meanwhile
            return


# --- the embedder as the engine uses it -------------------------------------------------------------------------------


_FLOAT: Final = "<f4"
_UNIT: Final = 1e-6
"""As near to one as the squares of a vector of length one add up to in float32."""

_OF: Final = "\x1f"
"""Stands behind the name of an owner; no id holds such a character."""

_Embed: TypeAlias = Callable[[Sequence[tuple[str, str]]], Awaitable[list[Vector]]]

VectorCache = Cache[Vector]
"""Recently embedded texts."""


class Embedding:
    """Vectors as bytes (little-endian float32, length one), by signature."""

    def __init__(self, embedder: Embedder | None, cache: VectorCache | None = None, owner: str = "") -> None:
        self.embedder = embedder
        self._words: WordEmbedder | None = embedder if getattr(embedder, "tells_words", False) else None  # type: ignore[assignment]
        self._queries: QueryEmbedder | None = embedder if hasattr(embedder, "embed_queries") else None  # type: ignore[assignment]
        self.cache: VectorCache = cache or VectorCache()
        self.owner = owner
        self._known_dim: list[int] = []  # shared by all owners
        self._last: tuple[str, list[str]] = "", []

    def of(self, owner: str) -> Embedding:
        """Return the same embedder for somebody else: they find only what they had embedded before.

        What others have had embedded would come back sooner, and so could be found out by guessing.
        """
        if owner == self.owner:
            return self
        other = copy(self)
        other.owner = owner
        return other

    def forget(self, owners: str) -> None:
        """Forget the texts of everybody whose name begins so."""
        self.cache.invalidate(f"{escape(owners)}*")

    @property
    def on(self) -> bool:
        """False without an embedder: search is then by text only."""
        return self.embedder is not None

    @property
    def in_process(self) -> bool:
        """Whether embedding needs nothing outside this process."""
        return self.embedder is None or bool(getattr(self.embedder, "in_process", False))

    @property
    def name(self) -> str:
        """Whose vectors they are, ``provider:model``; '' without an embedder."""
        return "" if self.embedder is None else f"{self.embedder.provider}:{self.embedder.model}"

    async def dim(self) -> int:
        """Return the dimension."""
        if self.embedder is None:
            return 0
        if not self._known_dim:
            self._known_dim.append(await self.embedder.dimension())
        return self._known_dim[0]

    async def signature(self) -> str:
        """Return the name of the vector space: ``provider:model:dim``; '' without an embedder."""
        if self.embedder is None:
            return ""
        dim = await self.dim()  # first: a function learns its name here when it is first asked
        return f"{self.embedder.provider}:{self.embedder.model}:{dim}"

    @property
    def tells_words(self) -> bool:
        """Whether the model gives a vector for each word, and reads a text in the light of what was said before."""
        return self._words is not None

    def words(self, text: str) -> list[str]:
        """Return the words of a text, each as often as it has a vector; none where the model does not tell words."""
        if self._words is None:
            return []
        last = self._last
        if last[0] != text:  # the steps of a search ask for those of one question
            last = self._last = text, list(self._words.words(text))
        return list(last[1])

    async def one(self, text: str) -> Any:
        """Return the vector of a query."""
        found = (await self.queries([text]))[0]
        if isinstance(found, MemstoneError):
            raise found
        import numpy as np  # whoever embeds nothing needs none of it

        return np.frombuffer(found, dtype=_FLOAT)

    async def many(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Vector | MemstoneError]:
        """Return one vector per text, or the error that text met; one bad text never costs the others.

        ``before`` holds for each text what was said right before it, '' where nothing was.
        """
        if not texts:
            return []
        pairs = [("", text) for text in texts] if before is None else list(zip(before, texts, strict=True))
        return await self._cached_or_fresh(pairs, await self.signature(), self._embed_texts)

    async def queries(self, texts: Sequence[str]) -> list[Vector | MemstoneError]:
        """Do the same for texts that are looked for: some models embed a question in another way than its answer."""
        if not texts or self._queries is None:
            return await self.many(texts)
        pairs = [("", text) for text in texts]
        return await self._cached_or_fresh(pairs, f"{await self.signature()}?", self._embed_queries)

    async def _cached_or_fresh(
        self, pairs: Sequence[tuple[str, str]], space: str, embed: _Embed
    ) -> list[Vector | MemstoneError]:
        keys = [f"{self.owner}{_OF}{_cache_key(space, *pair)}" for pair in pairs]
        found: list[Vector | MemstoneError | None] = [self.cache.get(key) for key in keys]
        todo = [at for at, vector in enumerate(found) if vector is None]
        if todo:
            for at, vector in zip(todo, await self._fresh([pairs[at] for at in todo], embed), strict=True):
                found[at] = vector
                if isinstance(vector, Vector):
                    self.cache.set(keys[at], vector)
        return [vector for vector in found if vector is not None]

    def at_hand(self, texts: Sequence[str]) -> list[str]:
        """Return those of the texts that may be embedded now."""
        return list(texts)

    async def fetch(self, texts: Sequence[str]) -> FetchedEmbedding:
        """Return the same embedder with the vectors of these texts, or their errors."""
        try:
            with limit_model_calls():
                found = await self.queries(texts)
        except MemstoneError as error:  # the model cannot even be asked for its dimension
            found = [error for _ in texts]
        return FetchedEmbedding(self, dict(zip(texts, found, strict=True)))

    async def _fresh(self, pairs: Sequence[tuple[str, str]], embed: _Embed) -> list[Vector | MemstoneError]:
        try:
            return list(await self._wrap_errors(pairs, embed))
        except MemstoneError as error:
            if len(pairs) == 1 or is_outage(error):
                return [error] * len(pairs)
        return [(await self._fresh([pair], embed))[0] for pair in pairs]

    async def _embed_texts(self, pairs: Sequence[tuple[str, str]]) -> list[Vector]:
        if self.embedder is None:
            raise EmbeddingError("no embedder is configured")
        if self._words is not None:
            return list(await self._words.embed_words(pairs))
        rows = await self.embedder.embed([text for _, text in pairs])
        return checked_vectors(rows, len(pairs), await self.dim())

    async def _embed_queries(self, pairs: Sequence[tuple[str, str]]) -> list[Vector]:
        if self._queries is None:
            raise EmbeddingError("no embedder is configured")
        rows = await self._queries.embed_queries([text for _, text in pairs])
        return checked_vectors(rows, len(pairs), await self.dim())

    async def _wrap_errors(self, pairs: Sequence[tuple[str, str]], embed: _Embed) -> list[Vector]:
        try:
            return await embed(pairs)
        except MemstoneError:
            raise
        except Exception as error:  # an adapter of somebody else's: what it throws must not cost what was said
            reason: EmbeddingReason = "timeout" if isinstance(error, TimeoutError) else "request_failed"
            raise EmbeddingError(f"the embedder failed: {type(error).__name__}: {error}", reason=reason) from error


class FetchedEmbedding(Embedding):
    """An embedder with vectors that were fetched before; it knows no other texts."""

    def __init__(self, embedding: Embedding, known: Mapping[str, Vector | MemstoneError]) -> None:
        super().__init__(embedding.embedder, embedding.cache, embedding.owner)
        self._known_dim, self._known = embedding._known_dim, known  # noqa: SLF001 - the same embedder

    @property
    def in_process(self) -> bool:
        """Whether embedding waits for nothing outside this process."""
        return True

    async def many(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Vector | MemstoneError]:
        """Return one vector per text, or the error that text met; an error for any other text."""
        unknown = EmbeddingError("the embedder was not called for this text")
        return [self._known.get(text) or unknown if before is None else unknown for text in texts]

    async def queries(self, texts: Sequence[str]) -> list[Vector | MemstoneError]:
        """Return what it was asked about were questions."""
        return await self.many(texts)

    def at_hand(self, texts: Sequence[str]) -> list[str]:
        """Return those of the texts that it was asked about."""
        return [text for text in texts if text in self._known]


def _cache_key(signature: str, before: str, text: str) -> str:
    sentence = f"{len(before)}:{before}{text}" if before else text
    return f"{signature}:{hashlib.sha256(sentence.encode()).hexdigest()}"


def is_outage(error: MemstoneError) -> bool:
    """Return whether the model cannot be reached, so that other texts would fail as well."""
    return error.retryable or isinstance(error, AuthenticationFailed)


def failure_of(error: MemstoneError) -> Degradation:
    """Return an error in the form of an answer, with a ``reason`` if it is the embedder's."""
    if isinstance(error, (ModelError, BackendError, DimensionMismatch)):
        return {**error.as_dict(), "reason": embedding_reason(error)}
    return {**error.as_dict()}


def checked_vectors(vectors: Any, count: int, dim: int) -> list[Vector]:
    """Check rows and return them as bytes, normalised to length one."""
    import numpy as np

    rows = np.asarray(vectors, dtype=_FLOAT)
    if rows.ndim != 2 or rows.shape[0] != count:  # noqa: PLR2004 - a table has two
        raise EmbeddingError(f"the embedder returned {rows.shape} for {count} texts", hint="expected one row per text")
    if rows.shape[1] != dim:
        raise DimensionMismatch(
            f"the embedder returned {rows.shape[1]} dimensions, but its signature says {dim}",
            hint="another model needs another signature: see reindex",
        )
    if all(-_UNIT < one - 1.0 < _UNIT for one in np.vecdot(rows, rows).tolist()):  # as every adapter promises
        return [Vector(row.tobytes()) for row in rows]
    if not np.isfinite(rows).all():
        raise DimensionMismatch("the embedder returned a vector with NaN or infinity")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return [Vector(row.tobytes()) for row in unit]
