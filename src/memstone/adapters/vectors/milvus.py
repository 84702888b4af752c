"""Milvus, or Milvus Lite in a file, through its own client.

The client blocks, so each call is one unit of work of the Io. Payloads are text, labels an array, numbers a table.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.io.http import DOWN_HINT, host_of
from memstone.adapters.vectors.collection_store import CollectionStore, StoredPoint, clip_score, parse_payload
from memstone.adapters.vectors.labels import COMPARISONS, LABEL_OPERATORS, Clause, LabelFilter, labels_of, numbers_of
from memstone.errors import BackendUnavailable, InvalidInput, MissingExtra, VectorStoreError, install_hint
from memstone.model.query import Op, Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

T = TypeVar("T")
_CONNECT_FAILED: Final = 2
"""The code of an error of pymilvus: no server answers."""
_MOST: Final = 16_384
"""What Milvus gives in one answer."""

_LONGEST: Final = 65_535
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_SIGNS: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}


class MilvusConfig(BaseModel):
    """``url`` of a server, or a path that ends in ``.db`` for Milvus Lite; ``index`` is made with a collection."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str = Field(default="http://localhost:19530", min_length=1)
    token: SecretStr | None = None
    database: str = ""
    index: Literal["FLAT", "HNSW", "AUTOINDEX"] = "FLAT"
    timeout: float = Field(default=30.0, gt=0)


class MilvusStore(CollectionStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = MilvusConfig
    name = "milvus"
    capabilities = StoreCapabilities(operators=LABEL_OPERATORS | COMPARISONS)

    def __init__(self, config: MilvusConfig, io: Io) -> None:
        super().__init__(io)
        self._config, self._library = config, _import_library()
        self._client: Any = None
        self._guard = ForkSafeLock()

    async def check_health(self) -> None:
        await self._run(lambda client: client.list_collections())

    async def collections(self) -> list[CollectionInfo]:
        def work(client: Any) -> list[CollectionInfo]:
            names = sorted(client.list_collections())
            return [CollectionInfo(name, _count(client, name), _dimension_of(client, name)) for name in names]

        return await self._run(work)

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await self._io.run(client.close)

    async def _read_dimension(self, collection: str) -> int | None:
        def work(client: Any) -> int | None:
            return _dimension_of(client, collection) if client.has_collection(collection) else None

        return await self._run(work)

    async def _make(self, collection: str, dimension: int) -> None:
        def work(client: Any) -> None:
            types = self._library.DataType
            schema = self._library.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("key", types.VARCHAR, is_primary=True, max_length=256)
            schema.add_field("id", types.VARCHAR, max_length=4_096)
            schema.add_field("vector", types.FLOAT_VECTOR, dim=dimension)
            schema.add_field("labels", types.ARRAY, element_type=types.VARCHAR, max_capacity=4_096, max_length=256)
            schema.add_field("numbers", types.JSON)
            schema.add_field("payload", types.VARCHAR, max_length=_LONGEST)
            indexes = client.prepare_index_params()
            indexes.add_index("vector", index_type=self._config.index, metric_type="COSINE")
            client.create_collection(
                collection,
                schema=schema,
                index_params=indexes,
                consistency_level="Strong",
                timeout=self._config.timeout,
            )

        await self._run(work)

    async def _remove(self, collection: str) -> None:
        await self._run(lambda client: client.drop_collection(collection))

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        items = [
            {
                "key": _key_of(row.id),
                "id": row.id,
                "vector": row.vector.tolist(),
                "labels": labels_of(row.payload),
                "numbers": numbers_of(row.payload),
                "payload": _checked_payload(row),
            }
            for row in rows
        ]
        await self._run(lambda client: client.upsert(collection, items), collection)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        await self._run(lambda client: client.delete(collection, ids=list(map(_key_of, ids))), collection)

    async def _read(self, collection: str, point_id: str) -> Point | None:
        options = {"ids": [_key_of(point_id)], "output_fields": ["id", "vector", "payload"]}
        found = await self._run(lambda client: client.get(collection, **options), collection)
        return _point_from(found[0]) if found else None

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        options = {
            "data": [vector.tolist()],
            "limit": min(limit, _MOST),
            "output_fields": ["id", "payload"],
            "anns_field": "vector",
        }
        where = "" if clause is True else clause
        found = await self._run(
            lambda client: client.search(collection, filter=where, search_params={"metric_type": "COSINE"}, **options),
            collection,
        )
        return [
            PointHit(str(one["entity"]["id"]), clip_score(one["distance"]), parse_payload(one["entity"]["payload"]))
            for one in found[0]
        ]

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        where, fields = "" if clause is True else clause, ["id", "vector", "payload"]

        def work(client: Any) -> list[Point]:
            pages = client.query_iterator(collection, batch_size=1_000, filter=where, output_fields=fields)
            found: list[Point] = []
            while page := pages.next():
                found += map(_point_from, page)
            pages.close()
            return found

        return await self._run(work, collection)

    def _translate(self, where: Where | None) -> Clause:
        return MilvusFilter().translate(where)

    async def _run(self, work: Callable[[Any], T], collection: str = "") -> T:
        try:
            return await self._io.run(lambda: work(self._connection()))
        except self._library.exceptions.MilvusException as error:
            if error.code != _CONNECT_FAILED and not isinstance(
                error, self._library.exceptions.MilvusUnavailableException
            ):
                raise await self._translate_error(error, collection) from error
            host = host_of(self._config.url) or "this machine"
            raise BackendUnavailable(
                f"Milvus on {host} does not answer", kind="vectors", name="milvus", hint=DOWN_HINT
            ) from error

    async def _translate_error(self, error: Any, collection: str) -> VectorStoreError:
        if collection and not await self._io.run(lambda: self._connection().has_collection(collection)):
            return self.missing_error(collection)
        return self.store_error(error.message[:300], "check the options of vector_store")

    def _connection(self) -> Any:
        with self._guard:  # of those who open it at the same moment, the first
            if self._client is None:
                token = self._config.token.get_secret_value() if self._config.token else ""
                self._client = self._library.MilvusClient(
                    self._config.url, token=token, db_name=self._config.database, timeout=self._config.timeout
                )
            return self._client


def _import_library() -> Any:
    try:
        import pymilvus
    except ImportError as error:
        raise MissingExtra("the provider milvus needs its client", hint=install_hint("milvus")) from error
    return pymilvus


class MilvusFilter(LabelFilter):
    """Translates a filter into an expression."""

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        test = f"ARRAY_CONTAINS_ANY(labels, {json.dumps(list(labels), ensure_ascii=False)})"
        return f"not {test}" if negated else test

    def compare(self, field: str, op: Op, value: float) -> Clause:
        return f"numbers[{json.dumps(field, ensure_ascii=False)}] {_SIGNS[op]} {value!r}"

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return (" and " if every else " or ").join(f"({clause})" for clause in clauses)


def _key_of(point_id: str) -> str:
    """Return the id as a key: the client writes keys into expressions as they are, so only plain ones stay."""
    plain = _PLAIN.fullmatch(point_id)
    return point_id if plain else f"~{hashlib.sha256(point_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _count(client: Any, collection: str) -> int:
    return int(client.query(collection, filter="", output_fields=["count(*)"])[0]["count(*)"])


def _dimension_of(client: Any, collection: str) -> int:
    fields = client.describe_collection(collection)["fields"]
    return next((int(one["params"]["dim"]) for one in fields if one["name"] == "vector"), 0)


def _checked_payload(row: StoredPoint) -> str:
    text = row.payload_json()
    if len(text.encode()) > _LONGEST:
        raise InvalidInput(f"a payload in Milvus has at most {_LONGEST} bytes")
    return text


def _point_from(row: Any) -> Point:
    return Point(str(row["id"]), [float(one) for one in row["vector"]], parse_payload(row["payload"]))
