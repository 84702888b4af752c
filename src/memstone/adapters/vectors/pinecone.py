"""Pinecone, over its REST interface.

A collection is a namespace. All namespaces of an index have vectors of one size, so there is an index for each size:
``memstone-384`` for 384 dimensions, made when it is first needed. Every point has labels, by which Pinecone chooses;
what a filter excludes is left out here, because Pinecone does not say what its negations mean for a list.

Pinecone takes no zero vector: such a point has another vector, and not the label that searches ask for. What was
written a moment ago may be found only a few seconds later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.vectors.collection_store import (
    HttpStore,
    StoredPoint,
    clip_score,
    compare_points,
    encode_json,
    parse_payload,
    uuid_of,
)
from memstone.adapters.vectors.labels import LABEL_OPERATORS, Clause, LabelFilter, labels_of
from memstone.errors import ConfigError
from memstone.model.query import Where, is_match
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

_VERSION: Final = "2025-10"
_ANY: Final = "*"
"""A label of every point."""
_SEARCHED: Final = "*searched"
"""A label of every point whose vector is not zero."""
_MOST: Final = 10_000
"""How many points one query gives."""
_PAGE: Final = 1_000
_REQUEST_BYTES: Final = 1_800_000
"""Pinecone takes two million bytes in one request."""
_READY_CHECKS: Final = 120
_READY_SECONDS: Final = 1.0


class PineconeConfig(BaseModel):
    """Which account (``api_key``), how the names of its indexes begin, and where an index is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    api_key: SecretStr | None = None
    index: str = Field(default="memstone", pattern=r"^[a-z0-9]([a-z0-9-]{0,34}[a-z0-9])?$")
    cloud: str = "aws"
    region: str = "us-east-1"
    url: str = "https://api.pinecone.io"
    timeout: float = Field(default=30.0, gt=0)


@dataclass(frozen=True, slots=True)
class _Filter:
    """What Pinecone is asked for, and the filter that has still to be applied to what it gives (None: it is exact)."""

    clause: Any
    rest: Where | None

    def keeps(self, payload: Mapping[str, Any]) -> bool:
        return self.rest is None or is_match(self.rest, payload)


class PineconeStore(HttpStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = PineconeConfig
    name = "pinecone"
    capabilities = StoreCapabilities(operators=LABEL_OPERATORS, exact=False)

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the key of the environment, where they name none."""
        made = dict(options)
        if made.get("api_key") is None and env.get("PINECONE_API_KEY"):
            made["api_key"] = env["PINECONE_API_KEY"]
        return made

    def __init__(self, config: PineconeConfig, io: Io) -> None:
        key = config.api_key.get_secret_value().strip() if config.api_key else ""
        if not key:
            raise ConfigError("pinecone needs an api_key", hint="set vector_store.config.api_key or PINECONE_API_KEY")
        headers = {"api-key": key, "x-pinecone-api-version": _VERSION}
        super().__init__(io, config.url, headers, config.timeout)
        self._config = config
        self._hosts: dict[int, str] = {}
        self._places: dict[str, str] = {}

    async def check_health(self) -> None:
        await self._ask("GET", "/indexes")

    async def collections(self) -> list[CollectionInfo]:
        found: list[CollectionInfo] = []
        for dimension, host in (await self._read_hosts()).items():
            token = ""
            while True:
                page = await self._ask("GET", f"{host}/namespaces?limit=100{token}")
                found += [
                    CollectionInfo(one["name"], int(one.get("record_count") or 0), dimension)
                    for one in page.get("namespaces") or ()
                    if one["name"] != "__default__"
                ]
                token = _next_page(page)
                if not token:
                    break
        return sorted(found, key=lambda info: info.name)

    async def _read_dimension(self, collection: str) -> int | None:
        """Look for the namespace in the indexes that are known; somebody else may have made another one since."""
        known = dict(self._hosts)
        found = await self._find_namespace(collection, known)
        if found is None:
            others = {size: host for size, host in (await self._read_hosts()).items() if known.get(size) != host}
            found = await self._find_namespace(collection, others)
        if found is None:
            self._places.pop(collection, None)
        return found

    async def _find_namespace(self, collection: str, hosts: Mapping[int, str]) -> int | None:
        for dimension, host in hosts.items():
            if await self._send("GET", f"{host}/namespaces/{quote(collection, safe='')}") is not None:
                self._places[collection] = host
                return dimension
        return None

    async def _make(self, collection: str, dimension: int) -> None:
        host = (await self._read_hosts()).get(dimension) or await self._make_index(dimension)
        schema = {"fields": {"labels": {"filterable": True}}}
        await self._ask("POST", f"{host}/namespaces", {"name": collection, "schema": schema})
        self._places[collection] = host

    async def _remove(self, collection: str) -> None:
        if await self._read_dimension(collection) is not None:
            await self._send("DELETE", f"{self._places.pop(collection)}/namespaces/{quote(collection, safe='')}")

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        """Send points; a namespace that is not there would be made by them, so it is looked for first."""
        host = await self._host(collection, look=True)
        for body in _write_requests(collection, rows):
            kind = {"content-type": "application/json"}
            await self._ask("POST", f"{host}/vectors/upsert", body, collection=collection, headers=kind)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        if ids:
            body = {"ids": [uuid_of(one) for one in ids], "namespace": collection}
            host = await self._host(collection)
            await self._ask("POST", f"{host}/vectors/delete", body, collection=collection)

    async def _read(self, collection: str, point_id: str) -> Point | None:
        asked = f"ids={uuid_of(point_id)}&namespace={quote(collection, safe='')}"
        host = await self._host(collection)
        answer = await self._ask("GET", f"{host}/vectors/fetch?{asked}", collection=collection)
        return next((_point_from(one) for one in (answer.get("vectors") or {}).values()), None)

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: _Filter) -> list[PointHit]:
        """Ask for more until enough of what is found is not excluded; past the most, compare what matches here."""
        wanted = min(limit, _MOST)
        host = await self._host(collection)
        searched = _Filter(_join_filters(clause.clause, _SEARCHED), clause.rest)
        while True:
            body = {"namespace": collection, "vector": vector, "topK": wanted, "includeMetadata": True}
            answer = await self._ask(
                "POST", f"{host}/query", {**body, "filter": searched.clause}, collection=collection
            )
            matches = answer.get("matches") or []
            if not matches and await self._read_dimension(collection) is None:
                raise self.missing_error(collection)
            hits = [_hit_from(one) for one in matches]
            chosen = [hit for hit in hits if searched.keeps(hit.payload)]
            if len(chosen) >= limit or len(matches) < wanted:
                return chosen
            if wanted >= _MOST:
                return compare_points(await self._matches(collection, searched), vector)
            wanted = min(4 * wanted, _MOST)

    async def _matches(self, collection: str, clause: _Filter) -> list[Point]:
        host = await self._host(collection, look=True)
        body: dict[str, Any] = {"namespace": collection, "limit": _PAGE, "filter": _join_filters(clause.clause, _ANY)}
        found: list[Point] = []
        while True:
            answer = await self._ask("POST", f"{host}/vectors/fetch_by_metadata", body, collection=collection)
            points = [_point_from(one) for one in (answer.get("vectors") or {}).values()]
            found += [one for one in points if clause.keeps(one.payload)]
            token = (answer.get("pagination") or {}).get("next")
            if not token:
                return found
            body["paginationToken"] = token

    def _translate(self, where: Where | None) -> Clause:
        translation = PineconeFilter()
        clause = translation.translate(where)
        return False if clause is False else _Filter(clause, where if translation.is_wider else None)

    # --- indexes ------------------------------------------------------------------------------------------------------

    async def _host(self, collection: str, *, look: bool = False) -> str:
        """Return where the index of a collection is asked; with ``look``, only if the collection is there now."""
        if (look or collection not in self._places) and await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        return self._places[collection]

    async def _read_hosts(self) -> dict[int, str]:
        """Return where each index of ours is asked, by its dimension."""
        listed = (await self._ask("GET", "/indexes")).get("indexes") or ()
        sizes = ((int(one.get("dimension") or 0), one) for one in listed)
        self._hosts = {size: _address_of(one["host"]) for size, one in sizes if one["name"] == self._index_name(size)}
        return self._hosts

    async def _make_index(self, dimension: int) -> str:
        name = self._index_name(dimension)
        spec = {"serverless": {"cloud": self._config.cloud, "region": self._config.region}}
        answer = await self._ask(
            "POST", "/indexes", {"name": name, "dimension": dimension, "metric": "cosine", "spec": spec}
        )
        for _ in range(_READY_CHECKS):
            if (answer.get("status") or {}).get("ready"):
                self._hosts[dimension] = _address_of(answer["host"])
                return self._hosts[dimension]
            await self._io.sleep(_READY_SECONDS)
            answer = await self._ask("GET", f"/indexes/{name}")
        raise self.store_error(f"the index {name} is not ready", "try again in a minute")

    def _index_name(self, dimension: int) -> str:
        return f"{self._config.index}-{dimension}"


class PineconeFilter(LabelFilter):
    """Translates a filter into conditions on metadata; where it ``is_wider``, more is found than was asked for."""

    def __init__(self) -> None:
        self.is_wider = False

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        self.is_wider = self.is_wider or negated
        return True if negated else {"labels": {"$in": list(labels)}}

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return {"$and" if every else "$or": list(clauses)}


def _join_filters(clause: Any, label: str) -> dict[str, Any]:
    own = {"labels": {"$in": [label]}}
    return own if clause is True else {"$and": [own, clause]}


def _write_requests(collection: str, rows: Sequence[StoredPoint]) -> Iterator[bytes]:
    """Write points as requests of a size that Pinecone takes."""
    begin = b'{"namespace":' + json.dumps(collection).encode() + b',"vectors":['
    parts: list[bytes] = []
    size = 0
    for row in rows:
        part = encode_json(_vector_of(row))
        if parts and size + len(part) > _REQUEST_BYTES:
            yield begin + b",".join(parts) + b"]}"
            parts, size = [], 0
        parts.append(part)
        size += len(part)
    yield begin + b",".join(parts) + b"]}"


def _vector_of(row: StoredPoint) -> dict[str, Any]:
    labels = [_ANY, *([] if row.is_zero else [_SEARCHED]), *labels_of(row.payload)]
    values = [1.0, *([0.0] * (len(row.vector) - 1))] if row.is_zero else row.vector
    return {
        "id": uuid_of(row.id),
        "values": values,
        "metadata": {"point_id": row.id, "labels": labels, "payload": row.payload_json()},
    }


def _point_from(one: Mapping[str, Any]) -> Point:
    metadata = one["metadata"]
    values = one["values"] if _SEARCHED in metadata["labels"] else [0.0] * len(one["values"])
    return Point(metadata["point_id"], values, parse_payload(metadata["payload"]))


def _hit_from(one: Mapping[str, Any]) -> PointHit:
    metadata = one["metadata"]
    return PointHit(metadata["point_id"], clip_score(one["score"]), parse_payload(metadata["payload"]))


def _next_page(page: Mapping[str, Any]) -> str:
    token = (page.get("pagination") or {}).get("next")
    return f"&paginationToken={quote(token, safe='')}" if token else ""


def _address_of(host: str) -> str:
    return host if "://" in host else f"https://{host}"
