"""What embedders on the other side of a network share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from memstone.adapters.embed.outage import Outage
from memstone.adapters.embed.rows import unit_rows
from memstone.adapters.io.http import host_of, is_success, refusal
from memstone.adapters.retry import with_retry
from memstone.errors import EmbeddingError, MemstoneError
from memstone.ports.io import HttpRequest, Io, is_hurried, seconds_left

if TYPE_CHECKING:
    from memstone.adapters.embed.rows import Rows

CONCURRENT_REQUESTS: Final = 4
MAX_TIMEOUT_SECONDS: Final = 600


class RemoteEmbedder:
    """Batches, retries and checks; a subclass says in ``_fetch`` what one request looks like.

    Texts without content are not sent (providers refuse them) and give rows of zeros.
    """

    provider: str
    _batch_size: int
    _retries: int

    def __init__(self, io: Io, *, model: str, base_url: str, dimension: int | None) -> None:
        self._io = io
        self._model = model
        self._base_url = base_url.rstrip("/")
        self._dimension = dimension
        self._outage = Outage()

    @property
    def model(self) -> str:
        """Which model."""
        return self._model

    @property
    def destination(self) -> str:
        """The host that texts are sent to."""
        return host_of(self._base_url)

    async def dimension(self) -> int:
        """The length of every vector; asks the model once when nobody knows it."""
        if self._dimension is None:
            await self.embed(["dimension"])
        if self._dimension is None:  # cannot be: embed of one text sets it or raises
            raise EmbeddingError(f"{self._source} does not say how long its vectors are")
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Rows:
        """One unit vector per text, as a 2-d float32 array."""
        import numpy as np

        sent = [place for place, text in enumerate(texts) if text.strip()]
        if not sent:
            return np.zeros((len(texts), await self.dimension()), dtype=np.float32)
        answered = await self._in_batches([texts[place] for place in sent], self._batch_size)
        found = unit_rows(answered, len(sent), self._dimension, source=self._source)
        self._dimension = int(found.shape[1])
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        rows[sent] = found
        return rows

    @property
    def _source(self) -> str:
        return f"model {self._model} at {self.destination}"

    async def _in_batches(self, texts: Sequence[str], size: int) -> list[Any]:
        """One vector per text, a few requests at a time."""
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        vectors: list[Any] = []
        for start in range(0, len(batches), CONCURRENT_REQUESTS):
            wave = batches[start : start + CONCURRENT_REQUESTS]
            for part in await self._io.gather(*(self._fetch(batch) for batch in wave)):
                vectors.extend(part)
        return vectors

    async def _fetch(self, texts: Sequence[str]) -> list[Any]:
        """As many vectors as texts, by one request."""
        raise NotImplementedError

    async def _post(self, request: HttpRequest) -> bytes:
        """The body of a successful answer, tried again when that may help; not asked for while the service is down."""
        request = replace(request, timeout=seconds_left(request.timeout))

        async def attempt() -> bytes:
            response = await self._io.http(request)
            if not is_success(response.status):
                raise refusal(request, response, self._refused)
            return response.body

        once = self._outage.admit(self._source) or is_hurried()
        retries = 0 if once else self._retries
        try:
            body = await with_retry(self._io, attempt, retries=retries)
        except MemstoneError as error:
            self._outage.given_up(error, retries + 1)
            raise
        self._outage.answered()
        return body

    def _refused(self, message: str) -> EmbeddingError:
        return EmbeddingError(message)
