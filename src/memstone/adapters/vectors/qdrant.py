"""Qdrant, over its REST interface.

A point holds the payload as it is, so that other tools can filter by the same fields. Three more fields tell what
Qdrant does not: the id that the point has here, which fields are set, and which are lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.vectors.collection_store import HttpStore, StoredPoint, build_base_url, clip_score
from memstone.adapters.vectors.labels import Clause, LabelFilter, is_number
from memstone.errors import InvalidFilter
from memstone.model.query import FIELDS, UNSET_WHEN_EMPTY, Condition, Op, Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

_POINT_ID: Final = "_point_id"
_SET: Final = "_set"
_LISTS: Final = "_lists"
_OWN: Final = (_POINT_ID, _SET, _LISTS)
_IDS: Final = UUID("0f6a6cd6-63e0-5f3a-9b4e-6a6f6fd2c1b7")
_PAGE: Final = 1_000
_SIGNS: Final = {Op.GT: "gt", Op.GTE: "gte", Op.LT: "lt", Op.LTE: "lte"}
_NEGATIONS: Final = {Op.NE: Op.EQ, Op.NIN: Op.IN}
_INDEXED: Final = {"tenant_id": "keyword", "user_id": "keyword", "layer": "keyword", "seq": "integer"}
"""The fields by which a mirror filters; Qdrant keeps an index of each."""


class QdrantConfig(BaseModel):
    """Where Qdrant is: ``url``, or ``host`` (with or without a scheme) and ``port``.

    ``exact`` compares every search with every point, without the approximate index.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str | None = None
    host: str | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    https: bool = False
    api_key: SecretStr | None = None
    timeout: float = Field(default=30.0, gt=0)
    exact: bool = False


class QdrantStore(HttpStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = QdrantConfig
    name = "qdrant"
    capabilities = StoreCapabilities(operators=frozenset(Op) - {Op.ICONTAINS}, exact=False)

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the address and key of the environment, where they name none."""
        made = dict(options)
        if not any(made.get(name) for name in ("url", "host")):
            names = {"url": "QDRANT_URL", "host": "QDRANT_HOST", "port": "QDRANT_PORT"}
            made |= {option: env[name] for option, name in names.items() if env.get(name) and made.get(option) is None}
        if made.get("api_key") is None and env.get("QDRANT_API_KEY"):
            made["api_key"] = env["QDRANT_API_KEY"]
        return made

    def __init__(self, config: QdrantConfig, io: Io) -> None:
        key = config.api_key.get_secret_value().strip() if config.api_key else ""
        url = build_base_url(config.url, config.host, config.port, 6_333, https=config.https)
        super().__init__(io, url, {"api-key": key} if key else {}, config.timeout)
        self._exact = config.exact
        self._vector_names: dict[str, str] = {}

    async def check_health(self) -> None:
        response = await self._send_raw("GET", "/readyz")
        if response is None:
            await self._ask("GET", "/collections")  # older than 1.4: it has no such route

    async def collections(self) -> list[CollectionInfo]:
        listed = (await self._ask("GET", "/collections"))["result"]["collections"]
        found: list[CollectionInfo] = []
        for name in sorted(one["name"] for one in listed):
            dimension = await self._read_dimension(name)
            count = await self._send("POST", f"{_path(name)}/points/count", {"exact": True})
            if dimension is not None and count is not None:  # else somebody dropped it meanwhile
                found.append(CollectionInfo(name, count["result"]["count"], dimension))
        return found

    async def _read_dimension(self, collection: str) -> int | None:
        """Return the size of its vectors; of several named ones, the first is used."""
        answer = await self._send("GET", _path(collection))
        if answer is None:
            return None
        vectors = answer["result"]["config"]["params"].get("vectors") or {}
        self._vector_names.pop(collection, None)
        if "size" not in vectors:
            if not vectors:
                raise self.store_error(f"the collection {collection!r} has no dense vectors", "use another name")
            self._vector_names[collection] = next(iter(vectors))
            vectors = vectors[self._vector_names[collection]]
        return int(vectors["size"])

    async def _make(self, collection: str, dimension: int) -> None:
        await self._ask("PUT", _path(collection), {"vectors": {"size": dimension, "distance": "Cosine"}})
        for field, schema in _INDEXED.items():
            body = {"field_name": field, "field_schema": schema}
            await self._ask("PUT", f"{_path(collection)}/index?wait=true", body, collection=collection)

    async def _remove(self, collection: str) -> None:
        await self._send("DELETE", _path(collection))

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        name = self._vector_names.get(collection)
        points = [
            {
                "id": _store_id(row.id),
                "vector": row.vector if name is None else {name: row.vector},
                "payload": _payload_of(row),
            }
            for row in rows
        ]
        await self._ask("PUT", f"{_path(collection)}/points?wait=true", {"points": points}, collection=collection)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        body = {"points": [_store_id(one) for one in ids]}
        await self._ask("POST", f"{_path(collection)}/points/delete?wait=true", body, collection=collection)

    async def _read(self, collection: str, point_id: str) -> Point | None:
        body = {"ids": [_store_id(point_id)], "with_payload": True, "with_vector": True}
        answer = await self._ask("POST", f"{_path(collection)}/points", body, collection=collection)
        return next((self._point(collection, one) for one in answer["result"]), None)

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        body: dict[str, Any] = {"query": vector, "limit": limit, "with_payload": True, "params": {"exact": self._exact}}
        if clause is not True:
            body["filter"] = _as_filter(clause)
        if collection in self._vector_names:
            body["using"] = self._vector_names[collection]
        answer = await self._ask("POST", f"{_path(collection)}/points/query", body, collection=collection)
        return [
            PointHit(_own_id(one), clip_score(one["score"]), _payload_from(one)) for one in answer["result"]["points"]
        ]

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        found: list[Point] = []
        body: dict[str, Any] = {"limit": _PAGE, "with_payload": True, "with_vector": True}
        if clause is not True:
            body["filter"] = _as_filter(clause)
        while True:
            answer = await self._ask("POST", f"{_path(collection)}/points/scroll", body, collection=collection)
            found += [self._point(collection, one) for one in answer["result"]["points"]]
            if answer["result"].get("next_page_offset") is None:
                return found
            body["offset"] = answer["result"]["next_page_offset"]

    def _translate(self, where: Where | None) -> Clause:
        return QdrantFilter().translate(where)

    def _point(self, collection: str, one: Mapping[str, Any]) -> Point:
        vector = one["vector"]
        name = self._vector_names.get(collection)
        return Point(_own_id(one), vector if name is None else vector[name], _payload_from(one))


class QdrantFilter(LabelFilter):
    """Translates a filter into conditions on the payload."""

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return {"must" if every else "should": list(clauses)}

    def _condition(self, condition: Condition, *, negated: bool) -> Clause:
        field, op, value = condition.field, condition.op, condition.value
        if op in _NEGATIONS:
            return self._condition(Condition(field, _NEGATIONS[op], value), negated=not negated)
        clause = self._positive(field, op, value)
        if not negated:
            return clause
        return not clause if isinstance(clause, bool) else {"must_not": [clause]}

    def _positive(self, field: str, op: Op, value: Any) -> Clause:
        if op is Op.EXISTS:
            present = _match(_SET, field)
            return present if value else {"must_not": [present]}
        if op in _SIGNS:
            return self._plain(field, [{"key": _key(field), "range": {_SIGNS[op]: value}}])
        if op is Op.CONTAINS:
            return self._contains(field, value)
        return self._equals(field, tuple(value) if op is Op.IN else (value,))

    def _equals(self, field: str, values: tuple[Any, ...]) -> Clause:
        texts = [one for one in values if isinstance(one, str) and not (field in UNSET_WHEN_EMPTY and not one)]
        numbers = [one for one in values if is_number(one)]
        clauses: list[Clause] = [{"key": _key(field), "match": {"any": texts}}] if len(texts) > 1 else []
        clauses += [_match(field, one) for one in texts] if len(texts) == 1 else []
        clauses += [_match(field, one) for one in values if isinstance(one, bool)]
        if FIELDS.get(field) == "number" and len(numbers) > 1 and all(isinstance(one, int) for one in numbers):
            clauses.append({"key": _key(field), "match": {"any": numbers}})
        else:
            clauses += [{"key": _key(field), "range": {"gte": one, "lte": one}} for one in numbers]
        found = self._plain(field, clauses)
        absent = [{"must_not": [_match(_SET, field)]}] if any(one is None for one in values) else []
        return self._join([found, *absent], every=False)

    def _contains(self, field: str, value: Any) -> Clause:
        members: list[Clause] = []
        if isinstance(value, (str, bool)):
            members = [_match(field, value)]
        elif is_number(value):
            members = [{"key": _key(field), "range": {"gte": value, "lte": value}}]
        clauses = [{"must": [*members, _match(_LISTS, field)]}] if members else []
        if isinstance(value, str):
            if value:
                clauses.append(self._plain(field, [{"key": _key(field), "match": {"text": value}}]))
            else:  # every text contains the empty one
                raise InvalidFilter("contains needs a text", hint="use exists")
        return self._join(clauses, every=False)

    def _plain(self, field: str, clauses: Sequence[Clause]) -> Clause:
        """Match one of these, for a value that is no list: Qdrant compares with each member of one."""
        joined = self._join(clauses, every=False)
        if isinstance(joined, bool) or field in FIELDS:
            return joined
        return {"must": [joined], "must_not": [_match(_LISTS, field)]}


def _match(field: str, value: object) -> dict[str, Any]:
    return {"key": field if field in (_SET, _LISTS) else _key(field), "match": {"value": value}}


def _key(field: str) -> str:
    """Return the path of a field; in quotes, because a dot would lead into a value."""
    if field in FIELDS:
        return field
    if '"' in field:
        raise InvalidFilter(f"a qdrant store cannot filter by {field!r}", hint="use a name without quotation marks")
    return f'"{field}"'


def _as_filter(clause: dict[str, Any]) -> dict[str, Any]:
    return {"must": [clause]} if "key" in clause else clause


def _path(collection: str) -> str:
    return f"/collections/{quote(collection, safe='')}"


def _store_id(point_id: str) -> str:
    """Return the id as Qdrant wants it: a UUID, as it is or made from the text."""
    try:
        given = str(UUID(point_id))
    except ValueError:
        given = ""
    return given if given == point_id else str(uuid5(_IDS, point_id))


def _payload_of(row: StoredPoint) -> dict[str, Any]:
    values = row.payload
    fields = [name for name, one in values.items() if one is not None and not (name in UNSET_WHEN_EMPTY and one == "")]
    lists = [name for name, one in values.items() if isinstance(one, (list, dict))]
    return {**values, _POINT_ID: row.id, _SET: fields, **({_LISTS: lists} if lists else {})}


def _own_id(one: Mapping[str, Any]) -> str:
    return str((one.get("payload") or {}).get(_POINT_ID, one["id"]))


def _payload_from(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (one.get("payload") or {}).items() if name not in _OWN}
