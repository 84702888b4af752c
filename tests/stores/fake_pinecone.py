"""Pinecone for ``WireServer``: as much of its interface as vectors need, the indexes and what is in them.

It checks requests as Pinecone does: ids are ASCII, a vector is neither zero nor of another size, metadata are flat and
have at most 40 KiB, a request has at most 2 MB, a filter is made of conditions it knows. A query in a namespace that is
not there finds nothing, and writing into one makes it.
"""

from __future__ import annotations

import json
import math
import re
import threading
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from memstone.testing.wire import WireReply, WireRequest

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?")
_METADATA_BYTES: Final = 40 * 1024
_REQUEST_BYTES: Final = 2_000_000
_MOST: Final = 10_000


class _Refused(Exception):
    """The service answers with an error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class PineconeIndex:
    """An index and its namespaces; it is ready when it was asked about so many times."""

    name: str
    dimension: int
    checks_left: int = 0
    namespaces: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)


class FakePinecone:
    """The handler of a ``WireServer``; indexes are asked under a path of their own."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.url = ""
        self.indexes: dict[str, PineconeIndex] = {}
        self._guard = threading.Lock()

    def __call__(self, request: WireRequest) -> WireReply:
        """Answer a request."""
        if self.key and request.headers.get("api-key") != self.key:
            return WireReply(401, json={"status": 401, "error": {"code": "UNAUTHENTICATED", "message": "Invalid key"}})
        if not re.fullmatch(r"20\d\d-\d\d", request.headers.get("x-pinecone-api-version", "")):
            return WireReply(400, json={"message": "X-Pinecone-Api-Version is missing"})
        parts = [unquote(part) for part in urlsplit(request.path).path.strip("/").split("/")]
        try:
            with self._guard:
                return WireReply(json=self._route(request, parts))
        except _Refused as error:
            return WireReply(error.status, json={"code": error.status, "message": str(error), "details": []})

    def _route(self, request: WireRequest, parts: list[str]) -> Any:
        if len(request.body) > _REQUEST_BYTES:
            raise _Refused(400, "Request size 2MB exceeds the maximum supported size of 2097152 bytes")
        body = json.loads(request.body) if request.body else {}
        query = parse_qs(urlsplit(request.path).query)
        match (request.method, parts):
            case ("GET", ["indexes"]):
                return {"indexes": [self._describe(one) for one in self.indexes.values()]}
            case ("GET", ["indexes", name]):
                return self._describe(self._index(name))
            case ("POST", ["indexes"]):
                return self._create(body)
            case (method, ["data", name, *rest]):
                return self._ask_index(self._index(name), (method, *rest), body, query)
        raise _Refused(404, f"no handler for {request.method} {request.path}")

    def _index(self, name: str) -> PineconeIndex:
        if name not in self.indexes:
            raise _Refused(404, f"Resource {name} not found")
        return self.indexes[name]

    def _describe(self, index: PineconeIndex) -> dict[str, Any]:
        index.checks_left -= 1
        status = {"ready": index.checks_left < 0, "state": "Ready" if index.checks_left < 0 else "Initializing"}
        host = f"{self.url}/data/{index.name}"
        return {"name": index.name, "dimension": index.dimension, "metric": "cosine", "host": host, "status": status}

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        if not _NAME.fullmatch(body["name"]) or body["metric"] != "cosine" or set(body["spec"]) != {"serverless"}:
            raise _Refused(400, "Invalid index")
        if set(body["spec"]["serverless"]) != {"cloud", "region"}:
            raise _Refused(400, "Invalid spec")
        if body["name"] in self.indexes:
            raise _Refused(409, "Resource already exists")
        self.indexes[body["name"]] = PineconeIndex(body["name"], body["dimension"], checks_left=1)
        return self._describe(self.indexes[body["name"]])

    def _ask_index(  # noqa: C901, PLR0911 - one a route
        self, index: PineconeIndex, route: tuple[str, ...], body: dict[str, Any], query: dict[str, list[str]]
    ) -> Any:
        match route:
            case ("GET", "namespaces"):
                return _list_namespaces(index, int(query["limit"][0]), query.get("paginationToken", ["0"])[0])
            case ("GET", "namespaces", name):
                return _describe_namespace(index, name)
            case ("POST", "namespaces"):
                return _create_namespace(index, body["name"])
            case ("DELETE", "namespaces", name):
                _describe_namespace(index, name)
                del index.namespaces[name]
                return {}
            case ("POST", "vectors", "upsert"):
                return _upsert(index, body)
            case ("GET", "vectors", "fetch"):
                held = index.namespaces.get(query["namespace"][0], {})
                return {"vectors": {one: held[one] for one in query["ids"] if one in held}}
            case ("POST", "vectors", "fetch_by_metadata"):
                return _fetch_by_metadata(index, body)
            case ("POST", "vectors", "delete"):
                for one in body["ids"]:
                    index.namespaces.get(body["namespace"], {}).pop(one, None)
                return {}
            case ("POST", "query"):
                return {"matches": _find_nearest(index, body), "namespace": body["namespace"]}
        raise _Refused(404, f"no handler for {route}")


def _list_namespaces(index: PineconeIndex, limit: int, start: str) -> dict[str, Any]:
    names = sorted(index.namespaces)
    end = int(start) + limit
    page = [_describe_namespace(index, name) for name in names[int(start) : end]]
    return {"namespaces": page, **({"pagination": {"next": str(end)}} if end < len(names) else {})}


def _describe_namespace(index: PineconeIndex, name: str) -> dict[str, Any]:
    if name not in index.namespaces:
        raise _Refused(404, "Namespace not found")
    return {"name": name, "record_count": len(index.namespaces[name])}


def _create_namespace(index: PineconeIndex, name: str) -> dict[str, Any]:
    if name in index.namespaces:
        raise _Refused(409, "Namespace already exists")
    if not name.isascii() or not 0 < len(name) <= 512:
        raise _Refused(400, "Namespace names must be ASCII")
    index.namespaces[name] = {}
    return _describe_namespace(index, name)


def _upsert(index: PineconeIndex, body: dict[str, Any]) -> dict[str, Any]:
    if len(body["vectors"]) > 1_000:
        raise _Refused(400, "Cannot upsert more than 1000 vectors")
    for one in body["vectors"]:
        _check_values(index, one["values"])
        if not one["id"].isascii() or not 0 < len(one["id"]) <= 512:
            raise _Refused(400, "Vector ID must be ASCII")
        if len(json.dumps(one["metadata"], ensure_ascii=False).encode()) > _METADATA_BYTES:
            raise _Refused(400, "Metadata size exceeds the limit of 40960 bytes per vector")
        for value in one["metadata"].values():
            texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
            if not texts and not isinstance(value, (str, int, float, bool)):
                raise _Refused(400, "Metadata value must be a string, number, boolean or list of strings")
    held = index.namespaces.setdefault(body["namespace"], {})
    held |= {one["id"]: one for one in body["vectors"]}
    return {"upsertedCount": len(body["vectors"])}


def _check_values(index: PineconeIndex, values: list[float]) -> None:
    if len(values) != index.dimension:
        raise _Refused(400, f"Vector dimension {len(values)} does not match the dimension of the index")
    if not any(values):
        raise _Refused(400, "Dense vectors must contain at least one non-zero value")


def _fetch_by_metadata(index: PineconeIndex, body: dict[str, Any]) -> dict[str, Any]:
    if not body["filter"]:
        raise _Refused(400, "Empty filter provided for fetch by metadata request")
    held = index.namespaces.get(body["namespace"], {})
    found = sorted(one["id"] for one in held.values() if _holds(body["filter"], one["metadata"]))
    start = int(body.get("paginationToken", "0"))
    end = start + body.get("limit", 100)
    page = {one: held[one] for one in found[start:end]}
    return {"vectors": page, "namespace": body["namespace"], "pagination": {"next": str(end)} if found[end:] else None}


def _find_nearest(index: PineconeIndex, body: dict[str, Any]) -> list[dict[str, Any]]:
    _check_values(index, body["vector"])
    if not 1 <= body["topK"] <= _MOST:
        raise _Refused(400, "topK must be between 1 and 10000")
    held = index.namespaces.get(body["namespace"], {})
    found = [
        {"id": one["id"], "score": _cosine(body["vector"], one["values"]), "values": [], "metadata": one["metadata"]}
        for one in held.values()
        if "filter" not in body or _holds(body["filter"], one["metadata"])
    ]
    return sorted(found, key=lambda one: -one["score"])[: body["topK"]]


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


def _holds(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    ((name, test),) = where.items()
    if name in ("$and", "$or"):
        return (all if name == "$and" else any)(_holds(one, metadata) for one in test)
    ((operator, wanted),) = test.items() if isinstance(test, dict) else (("$eq", test),)
    value = metadata.get(name)
    values = value if isinstance(value, list) else [value]
    if operator == "$eq":
        return wanted in values
    if operator != "$in":
        raise _Refused(400, f"{operator} is not a valid operator")
    return any(one in wanted for one in values)
