"""Weaviate, over its REST and GraphQL interfaces.

A collection is a class whose description names it and its dimension. A point holds its payload as text, and its labels
as a field of their own, by which Weaviate filters. A zero vector is left out, because a cosine with it has no value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.vectors.collection_store import (
    HttpStore,
    StoredPoint,
    build_base_url,
    clip_score,
    encode_json,
    parse_payload,
    uuid_of,
)
from memstone.adapters.vectors.labels import LABEL_OPERATORS, Clause, LabelFilter, labels_of
from memstone.model.query import Where, is_match
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

_PAGE: Final = 1_000
_MOST: Final = 10_000
"""How many objects one query gives (QUERY_MAXIMUM_RESULTS of a server, unless it is changed)."""

_END: Final = "."
"""The end of a label: Weaviate leaves out spaces at the end of a text, and would take one user for another."""
_FAILED: Final = b'"FAILED"'
"""The status of an object that was refused; no text of an object has it so, because its quotation marks are escaped."""
_PLAIN: Final = re.compile(r"[a-z0-9_]{1,100}")


class WeaviateConfig(BaseModel):
    """Where the server is, and the ``api_key`` it asks for.

    The name of every class begins with ``prefix``. ``index`` says how vectors are compared: by a graph (``hnsw``, which
    looks at ``ef`` candidates), or one by one (``flat``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str | None = None
    host: str | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    https: bool = False
    api_key: SecretStr | None = None
    prefix: str = Field(default="Memstone", pattern=r"^[A-Z][A-Za-z0-9]{0,40}$")
    index: str = Field(default="hnsw", pattern="^(hnsw|flat)$")
    ef: int = Field(default=500, ge=10, le=10_000)
    timeout: float = Field(default=30.0, gt=0)


class WeaviateStore(HttpStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = WeaviateConfig
    name = "weaviate"

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the address and key of the environment, where they name none."""
        made = dict(options)
        if not any(made.get(name) for name in ("url", "host")) and env.get("WEAVIATE_URL"):
            made["url"] = env["WEAVIATE_URL"]
        if made.get("api_key") is None and env.get("WEAVIATE_API_KEY"):
            made["api_key"] = env["WEAVIATE_API_KEY"]
        return made

    def __init__(self, config: WeaviateConfig, io: Io) -> None:
        key = config.api_key.get_secret_value().strip() if config.api_key else ""
        url = build_base_url(config.url, config.host, config.port, 8_080, https=config.https)
        super().__init__(io, url, {"authorization": f"Bearer {key}"} if key else {}, config.timeout)
        self._config = config
        self.capabilities = StoreCapabilities(operators=LABEL_OPERATORS, exact=config.index == "flat")

    async def check_health(self) -> None:
        await self._ask("GET", "/v1/.well-known/ready")

    async def collections(self) -> list[CollectionInfo]:
        classes = (await self._ask("GET", "/v1/schema"))["classes"] or []
        found: list[CollectionInfo] = []
        for one in classes:
            about = self._read_description(one)
            if about is not None:
                name = one["class"]
                counts = await self._query(f"{{Aggregate{{{name}{{meta{{count}}}}}}}}")
                count = counts["Aggregate"][name][0]["meta"]["count"]
                found.append(CollectionInfo(about["collection"], int(count), int(about["dimension"])))
        return sorted(found, key=lambda info: info.name)

    async def _read_dimension(self, collection: str) -> int | None:
        answer = await self._send("GET", f"/v1/schema/{self._class(collection)}")
        about = None if answer is None else self._read_description(answer)
        return None if about is None else int(about["dimension"])

    async def _make(self, collection: str, dimension: int) -> None:
        words = {"dataType": ["text"], "tokenization": "field", "indexSearchable": False}
        body = {
            "class": self._class(collection),
            "description": json.dumps({"collection": collection, "dimension": dimension}),
            "vectorizer": "none",
            "vectorIndexType": self._config.index,
            "vectorIndexConfig": self._index_options(),
            "properties": [
                {**words, "name": "labels", "dataType": ["text[]"], "indexFilterable": True},
                {**words, "name": "point_id", "indexFilterable": False},
                {**words, "name": "payload", "indexFilterable": False},
            ],
        }
        await self._ask("POST", "/v1/schema", body)

    def _index_options(self) -> dict[str, Any]:
        if self._config.index == "flat":
            return {"distance": "cosine"}
        return {"distance": "cosine", "ef": self._config.ef, "efConstruction": 128}

    async def _remove(self, collection: str) -> None:
        await self._send("DELETE", f"/v1/schema/{self._class(collection)}")

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        """Send points; a class that is not there would be made by them, so it is looked for first."""
        if await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        name = self._class(collection)
        body = {"objects": [_object_of(name, row) for row in rows]}
        response = await self._send_raw("POST", "/v1/batch/objects", body)
        if response is None:
            raise self.unknown_path_error()
        if _FAILED not in response.body:  # the answer repeats every object with its vector: reading it takes long
            return
        for one in self._parse(response):
            wrong = ((one.get("result") or {}).get("errors") or {}).get("error")
            if wrong:
                raise self.store_error(f"a point was refused: {wrong[0].get('message')}"[:300], "see its log")

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        if not ids:
            return
        if await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        where = {"path": ["id"], "operator": "ContainsAny", "valueTextArray": [uuid_of(one) for one in ids]}
        body = {"match": {"class": self._class(collection), "where": where}, "output": "minimal"}
        answer = await self._ask("DELETE", "/v1/batch/objects", body)
        if answer["results"].get("failed"):
            raise self.store_error(f"{answer['results']['failed']} points could not be deleted", "see its log")

    async def _read(self, collection: str, point_id: str) -> Point | None:
        answer = await self._send("GET", f"/v1/objects/{self._class(collection)}/{uuid_of(point_id)}?include=vector")
        if answer is not None:
            return self._point(collection, answer)
        if await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        return None

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        near = f"nearVector:{{vector:{encode_json(vector).decode()}}}"
        fields = "point_id payload _additional{distance}"
        return [
            PointHit(one["point_id"], clip_score(1.0 - one["_additional"]["distance"]), parse_payload(one["payload"]))
            for one in await self._get_objects(collection, near, fields, clause, min(limit, _MOST))
        ]

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        """Return every point that matches; where that is more than one query gives, every point is looked at."""
        if clause is True:
            return await self._list(collection)
        fields = "point_id payload _additional{vector}"
        found = await self._get_objects(collection, "", fields, clause, _MOST)
        if len(found) >= _MOST:
            return [one for one in await self._list(collection) if is_match(clause.where, one.payload)]
        known = await self._dimension(collection)
        return [_build_point(one, one["_additional"].get("vector"), known) for one in found]

    def _translate(self, where: Where | None) -> Clause:
        clause = WeaviateFilter().translate(where)
        return clause if isinstance(clause, bool) or where is None else _QueryFilter(_write_value(clause), where)

    # --- how it is asked ----------------------------------------------------------------------------------------------

    async def _list(self, collection: str) -> list[Point]:
        """Return every point, by the cursor that Weaviate has for that."""
        found: list[Point] = []
        path = f"/v1/objects?class={self._class(collection)}&include=vector&limit={_PAGE}"
        after = ""
        while True:
            answer = await self._ask("GET", f"{path}&after={after}", collection=collection)
            page = answer["objects"] or []
            found += [self._point(collection, one) for one in page]
            if len(page) < _PAGE:
                return found
            after = page[-1]["id"]

    async def _get_objects(
        self, collection: str, search: str, fields: str, clause: Clause, limit: int
    ) -> list[dict[str, Any]]:
        name = self._class(collection)
        where = "" if clause is True else f"where:{clause.text}"
        answer = await self._query(f"{{Get{{{name}(limit:{limit} {search} {where}){{{fields}}}}}}}", collection)
        return answer["Get"][name] or []

    async def _query(self, text: str, collection: str = "") -> Any:
        answer = await self._ask("POST", "/v1/graphql", {"query": text})
        if not answer.get("errors"):
            return answer["data"]
        if collection and await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        message = "; ".join(str(one.get("message")) for one in answer["errors"])
        self._dimensions.clear()
        raise self.store_error(f"the query was refused: {message}"[:300], "check the options of vector_store")

    def _point(self, collection: str, one: Mapping[str, Any]) -> Point:
        return _build_point(one["properties"], one.get("vector"), self._dimensions.get(collection, 0))

    def _class(self, collection: str) -> str:
        plain = collection if _PLAIN.fullmatch(collection) else f"x{hashlib.sha256(collection.encode()).hexdigest()}"
        return f"{self._config.prefix}_{plain}"

    def _read_description(self, one: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a class of ours says of itself; None for a class of somebody else."""
        if not str(one["class"]).startswith(f"{self._config.prefix}_"):
            return None
        try:
            about: dict[str, Any] = json.loads(one.get("description") or "")
        except ValueError:
            return None
        return about if "collection" in about and "dimension" in about else None


class _QueryFilter:
    """A filter as Weaviate is asked, and as it came."""

    def __init__(self, text: str, where: Where) -> None:
        self.text, self.where = text, where


class WeaviateFilter(LabelFilter):
    """Translates a filter into ``where``."""

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        path, ends = ["labels"], [label + _END for label in labels]
        if not negated:
            return {"path": path, "operator": _BareWord("ContainsAny"), "valueText": ends}
        # Of a field with several values, NotEqual holds where none of them is equal; also where there are none.
        tests = [{"path": path, "operator": _BareWord("NotEqual"), "valueText": label} for label in ends]
        return self._join(tests, every=True)

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return {"operator": _BareWord("And" if every else "Or"), "operands": list(clauses)}


class _BareWord(str):
    """A word that GraphQL wants without quotation marks."""

    __slots__ = ()


def _write_value(value: Any) -> str:
    """Write a value as GraphQL does: as JSON, but names have no quotation marks."""
    if isinstance(value, _BareWord):
        return value
    if isinstance(value, dict):
        return "{" + " ".join(f"{name}:{_write_value(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write_value, value)) + "]"
    return json.dumps(value)


def _object_of(name: str, row: StoredPoint) -> dict[str, Any]:
    labels = [label + _END for label in labels_of(row.payload)]
    properties = {"point_id": row.id, "labels": labels, "payload": row.payload_json()}
    searched = {} if row.is_zero else {"vector": row.vector}
    return {"class": name, "id": uuid_of(row.id), "properties": properties, **searched}


def _build_point(properties: Mapping[str, Any], vector: Sequence[float] | None, dimension: int) -> Point:
    return Point(properties["point_id"], vector or [0.0] * dimension, parse_payload(properties["payload"]))
