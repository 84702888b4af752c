"""Chroma, over the second version of its HTTP interface.

A record holds the payload as its document, labels to filter by, and its numbers. Metadata in Chroma knows neither null
nor values inside values, and an upsert leaves old keys in it: those are removed by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.vectors.collection_store import (
    BATCH,
    HttpStore,
    StoredPoint,
    build_base_url,
    clip_score,
    parse_payload,
)
from memstone.adapters.vectors.labels import COMPARISONS, LABEL_OPERATORS, Clause, LabelFilter, labels_of, numbers_of
from memstone.errors import VectorStoreError
from memstone.model.query import Op, Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

_DIMENSION: Final = "memstone_dimension"
_LABELS: Final = "labels"
_NUMBER: Final = "number."
_PAGE: Final = 1_000
_SIGNS: Final = {Op.GT: "$gt", Op.GTE: "$gte", Op.LT: "$lt", Op.LTE: "$lte"}


class ChromaConfig(BaseModel):
    """Where Chroma is: ``url``, or ``host`` and ``port``; ``tenant`` and ``database`` are those of Chroma.

    ``api_key`` is sent as ``auth_header`` says: by the header of Chroma, or as a bearer token.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str | None = None
    host: str | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    https: bool = False
    tenant: str = Field(default="default_tenant", min_length=1)
    database: str = Field(default="default_database", min_length=1)
    api_key: SecretStr | None = None
    auth_header: Literal["x-chroma-token", "authorization"] = "x-chroma-token"
    ef_search: int = Field(default=200, ge=1)
    timeout: float = Field(default=30.0, gt=0)


class ChromaStore(HttpStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = ChromaConfig
    name = "chroma"
    capabilities = StoreCapabilities(operators=LABEL_OPERATORS | COMPARISONS, exact=False)
    misses_behind_filters = True

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the address of the environment, where they name none."""
        made = dict(options)
        if not any(made.get(name) for name in ("url", "host")):
            names = {"host": "CHROMA_HOST", "port": "CHROMA_PORT"}
            made |= {option: env[name] for option, name in names.items() if env.get(name) and made.get(option) is None}
        return made

    def __init__(self, config: ChromaConfig, io: Io) -> None:
        url = build_base_url(config.url, config.host, config.port, 8_000, https=config.https)
        super().__init__(io, url, _auth_headers(config), config.timeout)
        self._ef_search = config.ef_search
        places = (quote(config.tenant, safe=""), quote(config.database, safe=""))
        self._root = "/api/v2/tenants/{}/databases/{}/collections".format(*places)
        self._ids: dict[str, str] = {}

    async def check_health(self) -> None:
        await self._ask("GET", "/api/v2/heartbeat")

    async def collections(self) -> list[CollectionInfo]:
        listed: list[Any] = []
        while len(page := await self._ask("GET", f"{self._root}?limit={_PAGE}&offset={len(listed)}")) == _PAGE:
            listed += page
        found: list[CollectionInfo] = []
        for one in sorted([*listed, *page], key=lambda one: str(one["name"])):
            count = await self._send("GET", f"{self._root}/{one['id']}/count")
            if count is not None:  # else somebody dropped it meanwhile
                found.append(CollectionInfo(one["name"], int(count), _dimension_of(one)))
        return found

    async def _read_dimension(self, collection: str) -> int | None:
        answer = await self._send("GET", f"{self._root}/{quote(collection, safe='')}")
        if answer is None:
            return None
        self._ids[collection] = answer["id"]
        return _dimension_of(answer)

    async def _make(self, collection: str, dimension: int) -> None:
        hnsw = {"space": "cosine", "ef_search": self._ef_search, "ef_construction": 200}
        metadata = {_DIMENSION: dimension}
        body = {"name": collection, "metadata": metadata, "configuration": {"hnsw": hnsw}, "get_or_create": True}
        self._ids[collection] = (await self._ask("POST", self._root, body))["id"]

    async def _remove(self, collection: str) -> None:
        self._ids.pop(collection, None)
        await self._send("DELETE", f"{self._root}/{quote(collection, safe='')}")

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        before = await self._post(collection, "get", {"ids": [row.id for row in rows], "include": ["metadatas"]})
        old = dict(zip(before["ids"], before["metadatas"], strict=True))
        metadatas = [{**dict.fromkeys(old.get(row.id) or ()), **_metadata_of(row)} for row in rows]
        body = {
            "ids": [row.id for row in rows],
            "embeddings": [row.vector for row in rows],
            "metadatas": metadatas,
            "documents": [row.payload_json() for row in rows],
        }
        await self._post(collection, "upsert", body)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        await self._post(collection, "delete", {"ids": list(ids)})

    async def _read(self, collection: str, point_id: str) -> Point | None:
        found = await self._get_points(collection, {"ids": [point_id]})
        return found[0] if found else None

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        body: dict[str, Any] = {
            "query_embeddings": [vector],
            "n_results": limit,
            "include": ["distances", "documents"],
            **({} if clause is True else {"where": clause}),
        }
        answer = await self._post(collection, "query", body)
        rows = zip(answer["ids"][0], answer["distances"][0], answer["documents"][0], strict=True)
        return [PointHit(point_id, clip_score(1.0 - far), _payload_from(text)) for point_id, far, text in rows]

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        found: list[Point] = []
        wanted = {} if clause is True else {"where": clause}
        while True:
            page = await self._get_points(collection, {**wanted, "limit": BATCH, "offset": len(found)})
            found += page
            if len(page) < BATCH:
                return found

    def _translate(self, where: Where | None) -> Clause:
        return ChromaFilter().translate(where)

    async def _get_points(self, collection: str, body: Mapping[str, Any]) -> list[Point]:
        answer = await self._post(collection, "get", {**body, "include": ["embeddings", "documents"]})
        rows = zip(answer["ids"], answer["embeddings"], answer["documents"], strict=True)
        return [Point(point_id, vector, _payload_from(text)) for point_id, vector, text in rows]

    async def _post(self, collection: str, verb: str, body: Mapping[str, Any]) -> Any:
        """Ask a collection by its id; one that was made again meanwhile has another."""
        if collection not in self._ids and await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        try:
            return await self._ask("POST", f"{self._root}/{self._ids[collection]}/{verb}", body, collection=collection)
        except VectorStoreError:
            self._ids.pop(collection, None)
            raise


class ChromaFilter(LabelFilter):
    """Translates a filter into ``where``."""

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        sign = "$not_contains" if negated else "$contains"
        return self._join([{_LABELS: {sign: label}} for label in labels], every=negated)

    def compare(self, field: str, op: Op, value: float) -> Clause:
        return {_NUMBER + field: {_SIGNS[op]: float(value)}}

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return {"$and" if every else "$or": list(clauses)}


def _auth_headers(config: ChromaConfig) -> dict[str, str]:
    key = config.api_key.get_secret_value().strip() if config.api_key else ""
    if not key:
        return {}
    return {config.auth_header: key if config.auth_header == "x-chroma-token" else f"Bearer {key}"}


def _metadata_of(row: StoredPoint) -> dict[str, Any]:
    # Chroma keeps whole numbers apart from others, and compares neither with the other.
    numbers = {_NUMBER + field: float(value) for field, value in numbers_of(row.payload).items()}
    return {_LABELS: labels_of(row.payload) or [""], **numbers}


def _payload_from(text: str | None) -> dict[str, Any]:
    return parse_payload(text or "{}")


def _dimension_of(collection: Mapping[str, Any]) -> int:
    """Return what it was made for, which Chroma itself knows only when it has the first record."""
    return int((collection.get("metadata") or {}).get(_DIMENSION) or collection.get("dimension") or 0)
