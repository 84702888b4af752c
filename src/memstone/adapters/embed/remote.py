"""Common parts of remote embedders: batches, checks, retries and pauses after failures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.io.http import error_from_response, host_of, is_success
from memstone.adapters.retry import with_retry
from memstone.adapters.vendors import key_variables, needs_key
from memstone.errors import AuthenticationFailed, BackendTimeout, BackendUnavailable, EmbeddingError, MemstoneError
from memstone.ports.io import HttpRequest, HttpResponse, Io, is_hurried, seconds_left

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[np.float32]


# --- what to do while an embedding service is down --------------------------------------------------------------------


OPEN_AFTER: Final = 4
COOL_DOWN_SECONDS: Final = 30.0


class ServiceOutage:
    """Stops requests for ``COOL_DOWN_SECONDS`` after ``OPEN_AFTER`` failures in a row.

    Only calls that were given up count, each with all its attempts: one with the usual retries is enough, and so is one
    that waited until its time was over. Then one call is let through, with a single attempt; if it is answered all is
    well again, if not the pause starts again. Safe to share between threads: two that go through at once do no harm.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._last_failure = ""
        self._closed_until: float | None = None

    def admit(self, source: str) -> bool:
        """Return whether this call tries a service that was down; ``BackendUnavailable`` while it may not be asked."""
        if self._closed_until is None:
            return False
        if self._clock() < self._closed_until:
            hint = (
                f"it will be called again within {COOL_DOWN_SECONDS:.0f} s; the last failure was {self._last_failure}"
            )
            raise BackendUnavailable(
                f"{source} is down and will not be called for a while", kind="embedder", name=source, hint=hint
            )
        self._closed_until = self._clock() + COOL_DOWN_SECONDS  # for all others
        return True

    def record_failure(self, error: MemstoneError, attempts: int) -> None:
        """Note that a call ended with this error; one that trying again would not help is an answer like any other."""
        if not error.retryable:
            self.record_answer()
            return
        self._failures += max(attempts, OPEN_AFTER) if isinstance(error, BackendTimeout) else attempts
        self._last_failure = error.code
        if self._failures >= OPEN_AFTER:
            self._closed_until = self._clock() + COOL_DOWN_SECONDS

    def record_answer(self) -> None:
        """Note that the service is there."""
        self._failures, self._closed_until = 0, None


# --- from what a model answered to the rows the engine is promised ----------------------------------------------------


_UNIT: Final = 1e-6
"""As near to one as the squares of a vector of length one add up to in float32."""


def unit_rows(
    answer: Any, count: int, dimension: int | None, *, source: str, wrong_length: type[MemstoneError] = EmbeddingError
) -> Rows:
    """Return ``count`` float32 rows of length one; a row of zeros stays one.

    Anything else that a model may answer (ragged, too few, not finite, of another length than
    ``dimension``) is an error that names its ``source``.
    """
    import numpy as np

    if (ready := _accept_unit_rows(answer, count, dimension)) is not None:
        return ready
    rows = _as_matrix(answer, count, source)
    if dimension is not None and rows.shape[1] != dimension:
        raise wrong_length(
            f"{source} returned vectors of length {rows.shape[1]}, expected {dimension}",
            hint="correct the configured dimensions, or reindex if you changed the model",
        )
    if not np.isfinite(rows).all():
        raise EmbeddingError(f"{source} returned a vector with NaN or infinity")
    # Scaled by its largest value first: the square of a large float would be infinite.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: Rows = np.divide(scaled, norms, out=scaled, where=norms > 0).astype(np.float32)
    return unit


def _accept_unit_rows(answer: Any, count: int, dimension: int | None) -> Rows | None:
    """Return an answer that is as it should be already; whatever else it may be is looked at closely."""
    import numpy as np

    if not isinstance(answer, np.ndarray) or answer.dtype != np.float32 or answer.ndim != 2:  # noqa: PLR2004
        return None
    fits = answer.shape[0] == count and answer.shape[1] == dimension
    is_unit = fits and all(-_UNIT < one - 1.0 < _UNIT for one in np.vecdot(answer, answer).tolist())
    return answer if is_unit else None


def _as_matrix(answer: Any, count: int, source: str) -> npt.NDArray[np.float64]:
    import numpy as np

    try:
        rows = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{source} did not return a table of numbers: {error}") from error
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:  # noqa: PLR2004 - a table has two dimensions
        raise EmbeddingError(
            f"{source} returned an array of shape {rows.shape} for {count} texts",
            hint="an embedding model returns one row of numbers per text, all of the same length",
        )
    return rows


# --- what embedders on the other side of a network share --------------------------------------------------------------


MAX_TIMEOUT_SECONDS: Final = 600
ADDRESS: Final = r"^https?://[^/]"

Purpose: TypeAlias = Literal["document", "query"]
"""What a text is embedded for: to be found, or to find."""


class RemoteEmbedderConfig(BaseModel):
    """``batch_size`` is how many texts go in one request, ``max_concurrent`` how many requests are sent at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    api_key: SecretStr | None = None
    base_url: str = Field(pattern=ADDRESS)
    dimensions: int | None = Field(default=None, ge=1)
    batch_size: int = Field(default=128, ge=1, le=2048)
    max_concurrent: int = Field(default=4, ge=1, le=100)
    timeout: float = Field(default=30.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=3, ge=0, le=10)

    @property
    def key(self) -> str:
        """The key as it is sent; '' where there is none."""
        return self.api_key.get_secret_value().strip() if self.api_key else ""

    @property
    def lacks_key(self) -> bool:
        """Whether nothing can be asked like this, because the service wants a key."""
        return not self.key and needs_key(self.base_url)


class RemoteEmbedder:
    """An embedder behind HTTP: batches, retries and checks.

    A subclass says what one request looks like and where the vectors are in a body.

    Texts without content are not sent (providers refuse them) and give rows of zeros.
    """

    provider: str
    _config: RemoteEmbedderConfig

    def __init__(self, config: RemoteEmbedderConfig, io: Io, *, known: Mapping[str, int] | None = None) -> None:
        self._config = config
        self._io = io
        self._base_url = config.base_url.rstrip("/")
        self._dimension = config.dimensions or (known or {}).get(config.model)
        self._outage = ServiceOutage()

    @property
    def model(self) -> str:
        """Which model."""
        return self._config.model

    @property
    def destination(self) -> str:
        """The host that texts are sent to."""
        return host_of(self._base_url)

    @property
    def lacks_key(self) -> bool:
        """Whether the service wants a key and none is configured."""
        return self._config.lacks_key

    async def dimension(self) -> int:
        """Return the length of every vector; asks the model once when nobody knows it."""
        if self._dimension is None:
            await self.embed(["dimension"])
        if self._dimension is None:  # cannot be: embed of one text sets it or raises
            raise EmbeddingError(f"{self._source} does not report the length of its vectors")
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Rows:
        """Return one unit vector per text, as a 2-d float32 array."""
        return await self._embed_for(texts, "document")

    async def _embed_for(self, texts: Sequence[str], purpose: Purpose) -> Rows:
        import numpy as np

        sent = [place for place, text in enumerate(texts) if text.strip()]
        if not sent:
            return np.zeros((len(texts), await self.dimension()), dtype=np.float32)
        answered = await self._in_batches([texts[place] for place in sent], self._config.batch_size, purpose)
        found = unit_rows(answered, len(sent), self._dimension, source=self._source)
        self._dimension = int(found.shape[1])
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        rows[sent] = found
        return rows

    @property
    def _source(self) -> str:
        return f"model {self.model} at {self.destination}"

    async def _in_batches(self, texts: Sequence[str], size: int, purpose: Purpose) -> list[Any]:
        """Return one vector per text, a few requests at a time."""
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        vectors: list[Any] = []
        for start in range(0, len(batches), self._config.max_concurrent):
            wave = batches[start : start + self._config.max_concurrent]
            for part in await self._io.gather(*(self._fetch(batch, purpose) for batch in wave)):
                vectors.extend(part)
        return vectors

    async def _fetch(self, texts: Sequence[str], purpose: Purpose) -> list[Any]:
        """Fetch as many vectors as texts by one request; one by one where the service gives another number."""
        if self.lacks_key:  # said here, not there: no text is sent in vain
            hint = f"set the api_key of this embedder, or {key_variables(self._base_url)[0]}"
            raise AuthenticationFailed(f"{self.destination} needs a key", hint=hint)
        body = await self._post(self._request(texts, purpose))
        # Parsed as a unit of work: a full batch is megabytes of JSON, too long for an event loop.
        vectors = await self._io.run(lambda: self._read_vectors(body, len(texts)))
        if vectors is not None:
            return vectors
        if len(texts) > 1:
            return await self._in_batches(texts, 1, purpose)
        raise EmbeddingError(f"{self._source} did not return one embedding per text", hint="check base_url")

    def _read_vectors(self, body: bytes, count: int) -> list[Any] | None:
        try:
            vectors = self._parse_vectors(json.loads(body))
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            return None
        return vectors if isinstance(vectors, list) and len(vectors) == count else None

    def _request(self, texts: Sequence[str], purpose: Purpose) -> HttpRequest:
        """Return what is sent for a batch."""
        raise NotImplementedError

    def _parse_vectors(self, answer: Any) -> list[Any]:
        """Return the vectors in the order of the texts; ``ValueError`` or its like where there is not one for each."""
        raise NotImplementedError

    def _read_response(self, response: HttpResponse) -> HttpResponse:
        """Return the response in the usual terms, for vendors that put a refused key or a pause in other places."""
        return response

    def _post_request(self, path: str, payload: dict[str, Any], headers: dict[str, str]) -> HttpRequest:
        return HttpRequest("POST", f"{self._base_url}{path}", payload, headers, timeout=self._config.timeout)

    def _bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._config.key}"} if self._config.key else {}

    async def _post(self, request: HttpRequest) -> bytes:
        """Return the body of a successful answer.

        The request is tried again when that may help, and not sent while the service is down.
        """
        request = replace(request, timeout=seconds_left(request.timeout))

        async def attempt() -> bytes:
            response = self._read_response(await self._io.http(request))
            if not is_success(response.status):
                raise error_from_response(request, response, self._rejection_error)
            return response.body

        once = self._outage.admit(self._source) or is_hurried()
        retries = 0 if once else self._config.retries
        try:
            body = await with_retry(self._io, attempt, retries=retries)
        except MemstoneError as error:
            self._outage.record_failure(error, retries + 1)
            raise
        self._outage.record_answer()
        return body

    def _rejection_error(self, message: str) -> EmbeddingError:
        return EmbeddingError(message)


class PurposeEmbedder(RemoteEmbedder):
    """One whose model embeds a question in another way than the texts that answer it."""

    async def embed_queries(self, texts: Sequence[str]) -> Rows:
        """Return the same as ``embed`` for texts that are looked for."""
        return await self._embed_for(texts, "query")


def rows_by_index(rows: Any) -> list[Any]:
    """Return the embeddings of rows that say to which text they belong."""
    by_index = {int(row.get("index", place)): row["embedding"] for place, row in enumerate(rows)}
    return [by_index[place] for place in range(len(rows))]
