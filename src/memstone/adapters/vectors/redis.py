"""Redis with its search module, through its own client.

A point is a hash; an index over each collection compares vectors and finds labels. Labels are stored as digests: in a
query nearly every character means something. The client blocks, so each call is one unit of work of the Io.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

import numpy as np
import redis
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from memstone.adapters.io.http import DOWN_HINT, host_of
from memstone.adapters.vectors.collection_store import CollectionStore, StoredPoint, clip_score, parse_payload
from memstone.adapters.vectors.labels import LABEL_OPERATORS, Clause, LabelFilter, labels_of
from memstone.errors import BackendUnavailable, ConfigError
from memstone.model.query import Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

T = TypeVar("T")
_PAGE: Final = 1_000
_MOST: Final = 1_000_000
"""How many keys one search gives, by the settings of the module."""
_LABELS: Final = "labels"


class RedisConfig(BaseModel):
    """``url`` of the server; every key begins with ``prefix``; ``index`` compares by a graph, or with every vector."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str = Field(default="redis://localhost:6379", repr=False)  # it may hold a password
    password: SecretStr | None = None
    prefix: str = Field(default="memstone", min_length=1, pattern=r"^[A-Za-z0-9_.:-]+$")
    index: Literal["hnsw", "flat"] = "hnsw"
    ef_search: int = Field(default=200, ge=1)
    timeout: float = Field(default=30.0, gt=0)


class RedisStore(CollectionStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = RedisConfig
    name = "redis"
    capabilities = StoreCapabilities(operators=LABEL_OPERATORS, exact=False)

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the server of the environment, where they name none."""
        named = options.get("url") is not None or not env.get("REDIS_URL")
        return dict(options) if named else {**options, "url": env["REDIS_URL"]}

    def __init__(self, config: RedisConfig, io: Io) -> None:
        super().__init__(io)
        self._config = config
        password = {"password": config.password.get_secret_value()} if config.password else {}
        try:
            self._client: Any = redis.Redis.from_url(
                config.url,
                socket_timeout=config.timeout,
                socket_connect_timeout=min(5.0, config.timeout),
                retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 3),
                **password,
            )
        except ValueError:  # not chained: it may quote the password
            raise ConfigError("the url of vector_store is no address of Redis", hint="redis://host:port") from None
        self._table = f"{config.prefix}/collections"

    async def check_health(self) -> None:
        await self._run(self._client.ping)

    async def collections(self) -> list[CollectionInfo]:
        def work() -> list[CollectionInfo]:
            listed = {name.decode(): int(dimension) for name, dimension in self._client.hgetall(self._table).items()}
            return [CollectionInfo(name, self._count(name), listed[name]) for name in sorted(listed)]

        return await self._run(work)

    async def close(self) -> None:
        """Close every connection."""
        await self._io.run(self._client.close)

    async def _read_dimension(self, collection: str) -> int | None:
        found = await self._run(lambda: self._client.hget(self._table, collection))
        return None if found is None else int(found)

    async def _make(self, collection: str, dimension: int) -> None:
        await self._run(lambda: self._create_index(collection, dimension))

    def _create_index(self, collection: str, dimension: int) -> None:
        shape: list[Any] = ["TYPE", "FLOAT32", "DIM", dimension, "DISTANCE_METRIC", "COSINE"]
        if self._config.index == "hnsw":
            shape += ["EF_RUNTIME", self._config.ef_search]
        name = self._name(collection)
        command = ["FT.CREATE", name, "ON", "HASH", "PREFIX", 1, f"{name}/", "SCHEMA", _LABELS, "TAG", "SEPARATOR", ","]
        try:
            self._client.execute_command(*command, "vector", "VECTOR", self._config.index.upper(), len(shape), *shape)
        except redis.ResponseError as error:
            if "already exists" not in str(error):  # somebody else was quicker
                raise
        self._client.hset(self._table, collection, dimension)

    async def _remove(self, collection: str) -> None:
        def work() -> None:
            self._client.hdel(self._table, collection)
            try:
                self._client.execute_command("FT.DROPINDEX", self._name(collection), "DD")
            except redis.ResponseError as error:
                if not _is_missing(error):
                    raise

        await self._run(work)

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        def work() -> None:
            with self._client.pipeline(transaction=True) as pipe:
                for row in rows:
                    key = self._key(collection, row.id)
                    labels = ",".join(map(_digest, labels_of(row.payload)))
                    values = {"id": row.id, "vector": row.vector.tobytes(), "payload": row.payload_json()}
                    pipe.hset(key, mapping={**values, _LABELS: labels})
                pipe.execute()

        await self._run(work, collection)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        keys = [self._key(collection, one) for one in ids]
        if keys:
            await self._run(lambda: self._client.delete(*keys), collection)

    async def _read(self, collection: str, point_id: str) -> Point | None:
        key = self._key(collection, point_id)
        row = await self._run(lambda: self._client.hmget(key, "id", "vector", "payload"), collection)
        return None if row[0] is None else _point_from(*row)

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        where = "*" if clause is True else f"({clause})"
        query = f"{where}=>[KNN $limit @vector $asked AS distance]"
        named = ["limit", limit, "asked", vector.tobytes()]
        command = ["FT.SEARCH", self._name(collection), query, "PARAMS", len(named), *named]
        command += ["SORTBY", "distance", "RETURN", 3, "id", "payload", "distance", "LIMIT", 0, limit, "DIALECT", 2]
        _, rows = _parse_rows(await self._run(lambda: self._client.execute_command(*command), collection))
        return [
            PointHit(row["id"].decode(), clip_score(1.0 - float(row["distance"])), parse_payload(row["payload"]))
            for row in rows
        ]

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        query = "*" if clause is True else clause
        command = ["FT.SEARCH", self._name(collection), query, "NOCONTENT", "LIMIT", 0, _MOST, "DIALECT", 2]

        def work() -> list[Point]:
            keys = _parse_keys(self._client.execute_command(*command))
            rows: list[Any] = []
            for start in range(0, len(keys), _PAGE):
                with self._client.pipeline(transaction=False) as pipe:
                    for key in keys[start : start + _PAGE]:
                        pipe.hmget(key, "id", "vector", "payload")
                    rows += pipe.execute()
            return [_point_from(*row) for row in rows if row[0] is not None]

        return await self._run(work, collection)

    def _translate(self, where: Where | None) -> Clause:
        return RedisFilter().translate(where)

    def _count(self, collection: str) -> int:
        answer = self._client.execute_command("FT.SEARCH", self._name(collection), "*", "LIMIT", 0, 0, "DIALECT", 2)
        return _parse_rows(answer)[0]

    def _name(self, collection: str) -> str:
        return f"{self._config.prefix}/{quote(collection, safe='')}"

    def _key(self, collection: str, point_id: str) -> str:
        return f"{self._name(collection)}/{point_id}"

    async def _run(self, work: Callable[[], T], collection: str = "") -> T:
        try:
            return await self._io.run(work)
        except redis.AuthenticationError as error:
            raise self.store_error("Redis refused the password", "check the password of vector_store") from error
        except (redis.ConnectionError, redis.TimeoutError) as error:
            host = host_of(self._config.url) or "this machine"  # a socket has no host
            raise BackendUnavailable(
                f"Redis on {host} does not answer", kind="vectors", name="redis", hint=DOWN_HINT
            ) from error
        except redis.RedisError as error:
            if collection and _is_missing(error):
                raise self.missing_error(collection) from error
            raise self.store_error(str(error)[:300], "check that the search module is loaded") from error


class RedisFilter(LabelFilter):
    """Translates a filter into a query."""

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        return f"{'-' if negated else ''}@{_LABELS}:{{{'|'.join(map(_digest, labels))}}}"

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return (" " if every else " | ").join(f"({clause})" for clause in clauses)


@lru_cache(maxsize=4_096)  # most labels are those of many points
def _digest(label: str) -> str:
    return hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_missing(error: Exception) -> bool:
    text = str(error).lower()
    return "no such index" in text or "unknown index" in text or "not found" in text


def _parse_rows(answer: Any) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of matches, and the fields of those that were returned, in either version of the protocol."""
    if isinstance(answer, dict):
        rows = [_decode_names(one[b"extra_attributes"]) for one in answer[b"results"]]
        return int(answer[b"total_results"]), rows
    pairs = answer[2::2]
    return int(answer[0]), [_decode_names(dict(zip(one[::2], one[1::2], strict=True))) for one in pairs]


def _parse_keys(answer: Any) -> list[bytes]:
    return [one[b"id"] for one in answer[b"results"]] if isinstance(answer, dict) else list(answer[1:])


def _decode_names(row: Mapping[bytes, Any]) -> dict[str, Any]:
    return {name.decode(): value for name, value in row.items()}


def _point_from(point_id: bytes, vector: bytes, payload: bytes) -> Point:
    return Point(point_id.decode(), np.frombuffer(vector, "<f4").tolist(), parse_payload(payload))
