"""Elasticsearch, over its REST interface.

A collection is an index whose mapping names it and its dimension. A zero vector is stored without the field that is
searched, because a cosine with it has no value.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.vectors.collection_store import (
    HttpStore,
    StoredPoint,
    build_base_url,
    clip_score,
    encode_json,
    parse_payload,
)
from memstone.adapters.vectors.labels import LABEL_OPERATORS, Clause, LabelFilter, labels_of
from memstone.model.query import Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

_PAGE: Final = 1_000
MOST: Final = 10_000
"""How many hits one search gives."""

_LONGEST_ID: Final = 500
_PLAIN: Final = re.compile(r"[a-z0-9_-]{1,100}")


class ElasticsearchConfig(BaseModel):
    """Where the server is, and who asks: an ``api_key``, or ``username`` and ``password``.

    The name of every index begins with ``prefix``; ``candidates`` are compared in each shard.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str | None = None
    host: str | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    https: bool = False
    api_key: SecretStr | None = None
    username: str | None = None
    password: SecretStr | None = None
    prefix: str = Field(default="memstone", pattern=r"^[a-z0-9][a-z0-9_]{0,60}$")
    candidates: int = Field(default=500, ge=1, le=MOST)
    timeout: float = Field(default=30.0, gt=0)


class ElasticsearchStore(HttpStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = ElasticsearchConfig
    name = "elasticsearch"
    capabilities = StoreCapabilities(operators=LABEL_OPERATORS, exact=False)

    def __init__(self, config: ElasticsearchConfig, io: Io) -> None:
        url = build_base_url(config.url, config.host, config.port, 9_200, https=config.https)
        super().__init__(io, url, _auth_headers(config), config.timeout)
        self._config = config

    async def check_health(self) -> None:
        await self._ask("GET", "/_cluster/health")

    async def collections(self) -> list[CollectionInfo]:
        answer = await self._ask("GET", f"/{self._config.prefix}-*/_mapping")
        found: list[CollectionInfo] = []
        for index, one in answer.items():
            meta = one["mappings"].get("_meta") or {}
            count = await self._send("GET", f"/{quote(index, safe='')}/_count") if "collection" in meta else None
            if count is not None:
                found.append(CollectionInfo(meta["collection"], int(count["count"]), int(meta["dimension"])))
        return sorted(found, key=lambda info: info.name)

    async def _read_dimension(self, collection: str) -> int | None:
        answer = await self._send("GET", f"{self._path(collection)}/_mapping")
        return None if not answer else int(next(iter(answer.values()))["mappings"]["_meta"]["dimension"])

    async def _make(self, collection: str, dimension: int) -> None:
        fields = {
            "id": {"type": "keyword"},
            "labels": {"type": "keyword"},
            "payload": {"type": "object", "enabled": False},
            "raw": {"type": "object", "enabled": False},
            "vector": self._vector_field(dimension),
        }
        meta = {"collection": collection, "dimension": dimension}
        body = {"mappings": {"dynamic": False, "_meta": meta, "properties": fields}, **self._settings()}
        await self._ask("PUT", self._path(collection), body)

    async def _remove(self, collection: str) -> None:
        await self._send("DELETE", self._path(collection))

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        lines: list[Any] = []
        for row in rows:
            source = {"id": row.id, "labels": labels_of(row.payload), "payload": {"json": row.payload_json()}}
            searched = {} if row.is_zero else {"vector": row.vector}
            lines += [{"index": {"_id": _store_id(row.id)}}, {**source, **searched, "raw": {"vector": row.vector}}]
        await self._bulk(collection, lines)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        if ids:
            await self._bulk(collection, [{"delete": {"_id": _store_id(one)}} for one in ids])

    async def _bulk(self, collection: str, lines: Sequence[Any]) -> None:
        """Send actions; an index that is not there would be made by them, so it is looked for first."""
        if await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        body = b"".join(encode_json(line) + b"\n" for line in lines)
        kind = {"content-type": "application/x-ndjson"}
        answer = await self._ask(
            "POST", f"{self._path(collection)}/_bulk?refresh=true", body, collection=collection, headers=kind
        )
        wrong = [one for item in answer["items"] for one in item.values() if "error" in one]
        if wrong:
            raise self.store_error(f"a point was refused: {wrong[0]['error'].get('reason')}"[:300], "see its log")

    async def _read(self, collection: str, point_id: str) -> Point | None:
        body = {"ids": [_store_id(point_id)]}
        answer = await self._ask("POST", f"{self._path(collection)}/_mget", body, collection=collection)
        return next((_point_from(one["_source"]) for one in answer["docs"] if one.get("found")), None)

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        body = {"size": min(limit, MOST), "_source": ["id", "payload"], **self._query(vector, limit, clause)}
        answer = await self._ask("POST", f"{self._path(collection)}/_search", body, collection=collection)
        return [_hit_from(one["_source"], one["_score"]) for one in answer["hits"]["hits"]]

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        found: list[Point] = []
        query = {"match_all": {}} if clause is True else {"bool": {"filter": [clause]}}
        body: dict[str, Any] = {"size": _PAGE, "query": query, "sort": [{"id": "asc"}]}
        while True:
            answer = await self._ask("POST", f"{self._path(collection)}/_search", body, collection=collection)
            hits = answer["hits"]["hits"]
            found += [_point_from(one["_source"]) for one in hits]
            if len(hits) < _PAGE:
                return found
            body["search_after"] = hits[-1]["sort"]

    def _translate(self, where: Where | None) -> Clause:
        return ElasticsearchFilter().translate(where)

    def _path(self, collection: str) -> str:
        plain = collection if _PLAIN.fullmatch(collection) else f"~{hashlib.sha256(collection.encode()).hexdigest()}"
        return f"/{self._config.prefix}-{plain}"

    # --- what OpenSearch says in other words --------------------------------------------------------------------------

    def _vector_field(self, dimension: int) -> dict[str, Any]:
        # Without this, newer servers round vectors to bytes, and the cosines they tell are off by a hundredth.
        graph = {"type": "hnsw", "m": 16, "ef_construction": 128}
        return {
            "type": "dense_vector",
            "dims": dimension,
            "index": True,
            "similarity": "cosine",
            "index_options": graph,
        }

    def _settings(self) -> dict[str, Any]:
        return {}

    def _query(self, vector: Any, limit: int, clause: Clause) -> dict[str, Any]:
        limit = min(limit, MOST)
        knn: dict[str, Any] = {
            "field": "vector",
            "query_vector": vector,
            "k": limit,
            "num_candidates": max(limit, self._config.candidates),
        }
        return {"knn": knn if clause is True else {**knn, "filter": clause}}


class ElasticsearchFilter(LabelFilter):
    """Translates a filter into a query."""

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        test = {"terms": {"labels": list(labels)}}
        return {"bool": {"must_not": [test]}} if negated else test

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        if every:
            return {"bool": {"filter": list(clauses)}}
        return {"bool": {"should": list(clauses), "minimum_should_match": 1}}


def _auth_headers(config: ElasticsearchConfig) -> dict[str, str]:
    if config.api_key is not None:
        return {"authorization": f"ApiKey {config.api_key.get_secret_value().strip()}"}
    if config.username is None:
        return {}
    password = config.password.get_secret_value() if config.password else ""
    return {"authorization": "Basic " + base64.b64encode(f"{config.username}:{password}".encode()).decode()}


def _store_id(point_id: str) -> str:
    encoded = point_id.encode("utf-8", "surrogatepass")
    return point_id if len(encoded) <= _LONGEST_ID else f"sha256:{hashlib.sha256(encoded).hexdigest()}"


def _hit_from(source: Mapping[str, Any], score: float) -> PointHit:
    return PointHit(source["id"], clip_score(2.0 * score - 1.0), parse_payload(source["payload"]["json"]))


def _point_from(source: Mapping[str, Any]) -> Point:
    return Point(source["id"], source["raw"]["vector"], parse_payload(source["payload"]["json"]))
