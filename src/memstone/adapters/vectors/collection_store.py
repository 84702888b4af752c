"""Common parts of external vector stores: checks before a request, and the order of steps."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha1
from typing import Any, ClassVar, Final
from uuid import UUID

import numpy as np
from pydantic_core import from_json, to_json

from memstone.adapters.io.http import error_from_response, host_of, is_success
from memstone.adapters.retry import with_retry
from memstone.adapters.vectors.labels import check_operators
from memstone.errors import (
    AuthenticationFailed,
    BackendUnavailable,
    ConfigError,
    DimensionMismatch,
    MemstoneError,
    RateLimited,
    VectorStoreError,
)
from memstone.model.query import Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import HttpRequest, HttpResponse, Io

BATCH: Final = 200
"""How many points are sent in one request."""

_ABSENT: Final = 404
_IDS: Final = UUID("5b2f3c44-6a0c-5a4e-9d0f-1f6f0a3b7c52").bytes
_SHORTEST, _LONGEST = 1e-140, 1e140
"""Between these lengths, the squares of a vector's numbers are neither 0 nor infinite."""

_write_text: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point that is ready to be sent: its vector has length one, or is zero."""

    id: str
    vector: Any
    payload: dict[str, Any]
    is_zero: bool
    """Whether it points nowhere; some stores refuse such a vector."""

    def payload_json(self) -> str:
        """Return the payload as text, for stores that hold only plain values."""
        return _write_text(self.payload)


def parse_payload(text: str | bytes) -> dict[str, Any]:
    """Read what ``payload_json`` has written, several times faster than the standard library alone does."""
    found: dict[str, Any]
    try:
        found = from_json(text)
    except (TypeError, ValueError):  # half of a character, which only the standard library reads
        found = json.loads(text)
    return found


def unit_vector(collection: str, vector: Sequence[float], dimension: int) -> Any:
    """Return the vector with length one as float32; a zero vector stays zero."""
    return unit_vectors(collection, [vector], dimension)[0]


def unit_vectors(collection: str, vectors: Sequence[Sequence[float]], dimension: int) -> Any:
    """Return the vectors with length one as rows of float32; zero vectors stay zero."""
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.shape != (len(vectors), dimension):
        raise _wrong_vector(collection, dimension)
    with np.errstate(over="ignore", invalid="ignore"):  # such a length is none of those below
        lengths = np.sqrt(np.vecdot(rows, rows))
    if not all(_SHORTEST < length < _LONGEST for length in lengths.tolist()):
        if not np.isfinite(rows).all():
            raise _wrong_vector(collection, dimension)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows = rows / np.where(largest == 0, 1.0, largest)
        lengths = np.sqrt(np.vecdot(rows, rows))
        lengths[lengths == 0] = 1.0
    return (rows / lengths[:, None]).astype("<f4")


def _wrong_vector(collection: str, dimension: int) -> DimensionMismatch:
    return DimensionMismatch(
        f"collection {collection!r} takes vectors of {dimension} finite numbers",
        hint="use the embedder that the collection was created for",
    )


def encode_json(value: Any) -> bytes:
    """Write a value as JSON, several times faster than the standard library does; vectors are mostly numbers.

    The rows of an array may stand in it: orjson, where it is installed, writes each number with the digits that a
    float32 has, which is half of the text and of the time.
    """
    write = _import_writer()
    try:
        return to_json(value, fallback=_as_list) if write is None else write(value)
    except (TypeError, ValueError):  # half of a character, or a large number, which only the standard library writes
        return json.dumps(value, default=_as_list).encode()


@cache
def _import_writer() -> Callable[[Any], bytes] | None:
    try:
        import orjson
    except ImportError:
        return None
    return partial(orjson.dumps, option=orjson.OPT_SERIALIZE_NUMPY)


def _as_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def uuid_of(point_id: str) -> str:
    """Return the id of a point in a store that takes only UUIDs, or only some letters.

    It is ``str(uuid.uuid5(…))``, written here because an object for each point takes twice the time.
    """
    digest = sha1(_IDS + point_id.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def clip_score(cosine: float) -> float:
    """Return a score within [0, 1]; what is no number is 0."""
    return min(1.0, max(0.0, float(cosine))) if cosine == cosine else 0.0  # noqa: PLR0124 - NaN differs from itself


def compare_points(points: Sequence[Point], asked: Any) -> list[PointHit]:
    """Return every point with its score, in no order."""
    if not points:
        return []
    cosines = np.vecdot(np.asarray([point.vector for point in points], dtype="<f4"), asked)
    return [PointHit(point.id, clip_score(one), point.payload) for point, one in zip(points, cosines, strict=True)]


class CollectionStore:
    """See ``memstone.ports.index.VectorStore``; a subclass says what is sent.

    The dimension of a collection is asked for once: a collection that somebody makes again with another dimension is
    noticed when it refuses a vector.
    """

    name: ClassVar[str]
    in_process: ClassVar[bool] = False
    capabilities: StoreCapabilities
    misses_behind_filters: bool = False
    """Whether its index may find too few where a filter leaves few: then what matches is compared here."""

    def __init__(self, io: Io) -> None:
        self._io = io
        self._dimensions: dict[str, int] = {}

    async def create(self, collection: str, dimension: int) -> None:
        if dimension < 1:
            raise DimensionMismatch(f"collection {collection!r} cannot have {dimension} dimensions")
        known = await self._read_dimension(collection)
        if known is None:
            await self._make(collection, dimension)
        elif known != dimension:
            raise DimensionMismatch(
                f"collection {collection!r} cannot have {dimension} dimensions, it has {known}",
                hint="use another name, or drop it",
            )
        self._dimensions[collection] = dimension

    async def drop(self, collection: str) -> None:
        self._dimensions.pop(collection, None)
        await self._remove(collection)

    async def reset(self) -> None:
        for info in await self.collections():
            await self.drop(info.name)

    async def upsert(self, collection: str, points: Iterable[Point]) -> None:
        """Write all of them or, when one vector is wrong, none; of those with the same id the last one."""
        items = list(points)
        dimension = await self._dimension(collection)
        if not items:
            return
        vectors = unit_vectors(collection, [one.vector for one in items], dimension)
        zero = (~vectors.any(axis=1)).tolist()
        columns = zip(items, vectors, zero, strict=True)
        rows = list({one.id: StoredPoint(one.id, row, one.payload, empty) for one, row, empty in columns}.values())
        for start in range(0, len(rows), BATCH):
            await self._write(collection, rows[start : start + BATCH])

    async def patch(self, collection: str, point_id: str, payload: dict[str, Any]) -> bool:
        point = await self.get(collection, point_id)
        if point is not None:
            await self.upsert(collection, [Point(point_id, point.vector, payload)])
        return point is not None

    async def delete(self, collection: str, ids: Iterable[str]) -> None:
        await self._dimension(collection)
        items = list(ids)
        for start in range(0, len(items), BATCH):
            await self._delete(collection, items[start : start + BATCH])

    async def get(self, collection: str, point_id: str) -> Point | None:
        await self._dimension(collection)
        return await self._read(collection, point_id)

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        check_operators(where, self.capabilities.operators, self.name)
        asked = unit_vector(collection, vector, await self._dimension(collection))
        clause = self._translate(where)
        if clause is False or limit < 1 or not asked.any():  # nothing is like a zero vector
            return []
        hits = await self._nearest(collection, asked, limit, clause)
        if self.misses_behind_filters and clause is not True and len(hits) < limit:
            hits = compare_points(await self._matches(collection, clause), asked)
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    async def scan(self, collection: str, where: Where | None = None, limit: int = 100) -> list[Point]:
        check_operators(where, self.capabilities.operators, self.name)
        await self._dimension(collection)
        clause = self._translate(where)
        if clause is False or limit < 1:
            return []
        return sorted(await self._matches(collection, clause), key=lambda point: point.id)[:limit]

    async def close(self) -> None:
        """Do nothing by default: connections over HTTP belong to the Io."""

    async def _dimension(self, collection: str) -> int:
        known = self._dimensions.get(collection) or await self._read_dimension(collection)
        if known is None:
            raise self.missing_error(collection)
        self._dimensions[collection] = known
        return known

    def missing_error(self, collection: str) -> VectorStoreError:
        """Return the error of a collection that is not there."""
        self._dimensions.pop(collection, None)
        return self.store_error(f"the collection {collection!r} does not exist", "create it first")

    def store_error(self, message: str, hint: str) -> VectorStoreError:
        """Return an error of this store."""
        return VectorStoreError(message, kind="vectors", name=self.name, hint=hint)

    # --- what a store says ------------------------------------------------------------------------------------------

    async def check_health(self) -> None:
        raise NotImplementedError

    async def collections(self) -> list[CollectionInfo]:
        raise NotImplementedError

    def _translate(self, where: Where | None) -> Any:
        """Return the filter in the terms of the store; True for everything, False for nothing."""
        raise NotImplementedError

    async def _read_dimension(self, collection: str) -> int | None:
        raise NotImplementedError

    async def _make(self, collection: str, dimension: int) -> None:
        raise NotImplementedError

    async def _remove(self, collection: str) -> None:
        raise NotImplementedError

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        raise NotImplementedError

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        raise NotImplementedError

    async def _read(self, collection: str, point_id: str) -> Point | None:
        raise NotImplementedError

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Any) -> list[PointHit]:
        """Return the nearest points that match; the vector is a row of float32."""
        raise NotImplementedError

    async def _matches(self, collection: str, clause: Any) -> list[Point]:
        """Return every point that matches."""
        raise NotImplementedError


class HttpStore(CollectionStore):
    """A store that is asked over HTTP, through the Io."""

    def __init__(self, io: Io, base_url: str, headers: Mapping[str, str], timeout: float) -> None:
        super().__init__(io)
        _check_address(base_url)
        self._base_url, self._headers, self._timeout = base_url.rstrip("/"), dict(headers), timeout

    @property
    def destination(self) -> str:
        """The host that vectors are sent to."""
        return host_of(self._base_url)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        collection: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the answer; where a collection is named and is not there, the error that says so."""
        answer = await self._send(method, path, body, headers=headers)
        if answer is None:
            raise self.missing_error(collection) if collection else self.unknown_path_error()
        return answer

    def unknown_path_error(self) -> VectorStoreError:
        """Return the error of an address at which there is something else than the store."""
        return self.store_error(f"{self.destination} answered 404", f"check that {self.name} is at this address")

    async def _send(self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Any:
        """Return the answer, or None for what is not there."""
        response = await self._send_raw(method, path, body, headers=headers)
        return None if response is None else self._parse(response)

    async def _send_raw(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> HttpResponse | None:
        """Return the answer as it came, or None for what is not there; tried again where that may help.

        A path may be a whole address, where a store has several.
        """
        sent = {**self._headers, **(headers or {})}
        url = path if path.startswith(("http://", "https://")) else self._base_url + path
        if body is not None and not isinstance(body, bytes):
            body, sent = encode_json(body), {"content-type": "application/json", **sent}
        request = HttpRequest(method, url, body, sent, self._timeout)

        async def attempt() -> HttpResponse:
            response = await self._io.http(request)
            if not is_success(response.status) and response.status != _ABSENT:
                raise error_from_response(request, response, self._rejection_error)
            return response

        try:
            response = await with_retry(self._io, attempt, retries=2, base=0.2)
        except AuthenticationFailed as error:  # which callers would take for their own
            raise self.store_error(error.message, "check the api_key of vector_store") from error
        except RateLimited as error:
            raise BackendUnavailable(error.message, kind="vectors", name=self.name) from error
        return None if response.status == _ABSENT else response

    def _parse(self, response: HttpResponse) -> Any:
        try:
            return from_json(response.body.removeprefix(codecs.BOM_UTF8)) if response.body.strip() else {}
        except ValueError as error:
            raise self.store_error(f"{self.destination} did not answer in JSON", "check the address") from error

    def _rejection_error(self, message: str) -> MemstoneError:
        self._dimensions.clear()  # it may be that a collection is not what it was
        return self.store_error(message, "check the options of vector_store")


def build_base_url(url: str | None, host: str | None, port: int | None, default_port: int, *, https: bool) -> str:
    """Return the address of a store from a configuration: a url, or a host (which may have a scheme) and a port.

    An address without a port gets ``port``, or the usual one of the store.
    """
    text = (url or host or "localhost").strip()
    if "://" not in text:
        bare = f"[{text}]" if text.count(":") > 1 and "[" not in text else text
        text = f"{'https' if https else 'http'}://{bare}"
    text = text.rstrip("/")
    _check_address(text)
    scheme, _, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    if ":" in authority.rpartition("]")[2]:
        return text
    return f"{scheme}://{authority}:{port or default_port}{slash}{path}"


def _check_address(url: str) -> None:
    if not (url.startswith(("http://", "https://")) and host_of(url)):
        raise ConfigError("the address of a vector store must start with http(s)://host", hint="http://host:port")
