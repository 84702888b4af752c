"""Embeddings from a function that the caller passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memstone.adapters.callables import checked_callable, name_of
from memstone.adapters.embed.remote import unit_rows
from memstone.adapters.forks import ForkSafeLock
from memstone.errors import DimensionMismatch, EmbeddingError, EmbeddingReason, MemstoneError
from memstone.model.functions import is_async
from memstone.ports.io import Io
from memstone.ports.models import NUMBER, Sample

if TYPE_CHECKING:
    from memstone.adapters.embed.remote import Rows

T = TypeVar("T")
SAME: Final = 0.99
"""As near as the vectors are that one model gives for one text, however it rounds."""


class CallableEmbedder:
    """Wraps ``function(texts) -> rows``: a list of texts in, one row of numbers per text out.

    The function runs through ``io.run`` and may block; under asyncio it is called from a thread, and an
    async one is awaited on the loop. Its first answer settles the length of the vectors. It goes by its
    name, and by a number after it in a store that holds vectors which another function of that name has
    made.
    """

    provider = "callable"
    destination = "your own function"

    def __init__(self, function: Callable[[list[str]], Any], io: Io) -> None:
        self._function = checked_callable(function, "the embedder", io)
        self._io = io
        self._is_async = is_async(function)
        self._settling_on_loop = io.lock()
        self._dimension: int | None = None
        self._known: Sequence[Sample] = ()
        self._settling = ForkSafeLock()
        self.model = name_of(function)

    def known_as(self, samples: Sequence[Sample]) -> None:
        """Take what functions of this name have made, the one in use first: until asked, this is taken for that one."""
        if self._dimension is None and samples:
            self._known, self.model = samples, samples[0].model

    async def dimension(self) -> int:
        """Return the length of every vector; asks the function once. Whoever knows it knows the right name as well."""
        while self._dimension is None:
            await (self._settle_on_loop() if self._is_async else self._run_blocking(self._settle))
        return self._dimension

    async def _settle_on_loop(self) -> None:
        """Do the same as ``_settle`` for a function that is awaited."""
        async with self._settling_on_loop:
            if self._dimension is None:
                found = int((await self._embed_async(["dimension"])).shape[1])
                known = [one for one in self._known if one.dim == found]
                rows = [await self._sample(one) for one in known]
                self.model = self._name(known, [self._is_same(*pair) for pair in zip(known, rows, strict=True)])
                self._dimension = found

    async def _sample(self, one: Sample) -> Any:
        """Return what the function gives for a text whose vector is stored; None where it gives none."""
        try:
            return (await self._embed_async([one.text]))[0] if one.vector else None
        except EmbeddingError:
            return None

    def _settle(self) -> None:
        """Ask the function for the first time, and see by which name it goes here; others wait for that."""
        with self._settling:
            if self._dimension is None:
                found = int(self._rows(["dimension"]).shape[1])
                known = [one for one in self._known if one.dim == found]
                self.model = self._name(known, map(self._has_same_vector, known))
                self._dimension = found

    def _name(self, known: Sequence[Sample], made: Iterable[bool]) -> str:
        """Return the name under which the same vectors are stored, or one that is not taken."""
        for one, is_same in zip(known, made, strict=True):
            if is_same:
                return one.model
        taken = {one.model for one in known}
        if self.model not in taken:
            return self.model
        base = name_of(self._function)
        if base not in taken:
            return base
        return next(name for name in (f"{base}{NUMBER}{number}" for number in count(2)) if name not in taken)

    def _has_same_vector(self, one: Sample) -> bool:
        """Return whether the function gives this vector."""
        try:
            row = self._rows([one.text])[0] if one.vector else None
        except Exception:  # noqa: BLE001 - whatever ails it, it has just answered something else
            row = None
        return self._is_same(one, row)

    def _is_same(self, one: Sample, row: Any) -> bool:
        """Return whether a row is a stored vector; where that cannot be told it is taken for the one in use."""
        import numpy as np

        if row is None:
            return one.model == self.model
        return bool(row @ np.frombuffer(one.vector, dtype="<f4") >= SAME)

    async def embed(self, texts: Sequence[str]) -> Rows:
        """Return one unit vector per text, as a 2-d float32 array."""
        import numpy as np

        if not texts:
            return np.zeros((0, await self.dimension()), dtype=np.float32)
        if self._known:
            await self.dimension()  # nothing is embedded under a name that is not settled
        wanted = list(texts)
        rows = await (self._embed_async(wanted) if self._is_async else self._run_blocking(lambda: self._rows(wanted)))
        self._dimension = int(rows.shape[1])
        return rows

    def _rows(self, texts: list[str]) -> Rows:
        return self._validate_rows(self._function(texts), len(texts))

    def _validate_rows(self, answer: object, count: int) -> Rows:
        who = f"the embedder {self.model}"
        return unit_rows(answer, count, self._dimension, source=who, wrong_length=DimensionMismatch)

    async def _embed_async(self, texts: list[str]) -> Rows:
        with self._failures():
            return self._validate_rows(await self._function(texts), len(texts))

    async def _run_blocking(self, work: Callable[[], T]) -> T:
        with self._failures():
            return await self._io.run(work)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise whatever the function raises as an error of ours."""
        try:
            yield
        except MemstoneError:
            raise
        except Exception as error:
            reason: EmbeddingReason = "timeout" if isinstance(error, TimeoutError) else "request_failed"
            problem = f"the embedder {self.model} failed: {type(error).__name__}: {error}"
            raise EmbeddingError(problem, reason=reason) from error
