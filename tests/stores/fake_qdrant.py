"""A Qdrant server for ``WireServer``: its REST interface, with collections that hold what they are given.

It checks requests as the server does: an unknown part of a filter, an id that is no UUID and a vector of another size
are refused.
"""

from __future__ import annotations

import json
import math
import re
import threading
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from uuid import UUID

from memstone.testing.wire import WireReply, WireRequest

_PART: Final = re.compile(r'"([^"]*)"|([^."\[\]]+)')


class _Refused(Exception):
    """The server answers with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class _Collection:
    vectors: dict[str, Any]
    points: dict[str, dict[str, Any]] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """The name of its first vector; None where vectors have no name."""
        return None if "size" in self.vectors else next(iter(self.vectors))

    def size(self, name: str | None) -> int:
        """How long vectors are."""
        return int(self.vectors["size"] if name is None else self.vectors[name]["size"])


class FakeQdrant:
    """The handler of a ``WireServer``; with a ``key``, requests without it are refused."""

    def __init__(self, key: str = "") -> None:
        self.key, self.ready = key, True
        self.collections: dict[str, _Collection] = {}
        self._guard = threading.Lock()

    def __call__(self, request: WireRequest) -> WireReply:
        """Answer a request."""
        url = urlsplit(request.path)
        if url.path in ("/readyz", "/healthz", "/livez"):
            return WireReply(200 if self.ready else 503, body=b"all shards are ready")
        if self.key and request.headers.get("api-key") != self.key:
            return WireReply(403, body=b"Forbidden: invalid api-key")
        body = json.loads(request.body) if request.body else {}
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        try:
            with self._guard:
                result = self._route(request.method, parts, body)
        except _Refused as error:
            return WireReply(error.status, json={"status": {"error": str(error)}, "time": 0.0})
        return WireReply(json={"result": result, "status": "ok", "time": 0.0})

    def _route(self, method: str, parts: list[str], body: Any) -> Any:  # noqa: PLR0911 - one a route
        match (method, parts):
            case ("GET", [""]):
                return {"title": "qdrant - vector search engine", "version": "1.16.0"}
            case ("GET", ["collections"]):
                return {"collections": [{"name": name} for name in self.collections]}
            case ("GET", ["collections", name, "exists"]):
                return {"exists": name in self.collections}
            case ("GET", ["collections", name]):
                return self._describe(self._get(name))
            case ("PUT", ["collections", name]):
                return self._create(name, body)
            case ("DELETE", ["collections", name]):
                return self.collections.pop(name, None) is not None
        collection = self._get(parts[1]) if len(parts) > 2 else None
        if collection is None or parts[0] != "collections":
            raise _Refused(404, "Not found")
        return self._route_points(method, parts[2:], body, collection)

    def _route_points(  # noqa: PLR0911 - one a route
        self, method: str, parts: list[str], body: Any, collection: _Collection
    ) -> Any:
        match (method, parts):
            case ("PUT", ["index"]):
                collection.indexes[body["field_name"]] = str(body["field_schema"])
                return {"operation_id": 0, "status": "completed"}
            case ("PUT", ["points"]):
                return self._upsert(collection, body["points"])
            case ("POST", ["points"]):
                wanted = [collection.points[one] for one in map(_check_id, body["ids"]) if one in collection.points]
                return [_show(point, body) for point in wanted]
            case ("POST", ["points", "delete"]):
                return _delete(collection, body)
            case ("POST", ["points", "count"]):
                return {"count": len(_choose(collection, body.get("filter")))}
            case ("POST", ["points", "scroll"]):
                return _scroll(collection, body)
            case ("POST", ["points", "query"]):
                return {"points": _query(collection, body)}
        raise _Refused(404, "Not found")

    def _get(self, name: str) -> _Collection:
        if name not in self.collections:
            raise _Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def _create(self, name: str, body: dict[str, Any]) -> bool:
        if name in self.collections:
            raise _Refused(409, f"Wrong input: Collection `{name}` already exists!")
        vectors = body.get("vectors") or {}
        for one in [vectors] if "size" in vectors else vectors.values():
            if one["size"] < 1 or one["distance"] not in ("Cosine", "Dot", "Euclid", "Manhattan"):
                raise _Refused(422, "Validation error in JSON body")
        self.collections[name] = _Collection(vectors)
        return True

    @staticmethod
    def _describe(collection: _Collection) -> dict[str, Any]:
        return {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": len(collection.points),
            "segments_count": 1,
            "config": {
                "params": {"vectors": collection.vectors, "shard_number": 1},
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1_000,
                    "default_segment_number": 0,
                    "flush_interval_sec": 5,
                },
            },
            "payload_schema": {
                name: {"data_type": kind, "points": len(collection.points)} for name, kind in collection.indexes.items()
            },
        }

    @staticmethod
    def _upsert(collection: _Collection, points: list[dict[str, Any]]) -> dict[str, Any]:
        ready = []
        for point in points:
            vector = point["vector"]
            named = vector if isinstance(vector, dict) else {"": vector}
            for name, one in named.items():
                if len(one) != collection.size(name or None):
                    wrong = f"expected dim: {collection.size(name or None)}, got {len(one)}"
                    raise _Refused(400, f"Wrong input: Vector dimension error: {wrong}")
            ready.append({"id": _check_id(point["id"]), "vector": named, "payload": point.get("payload") or {}})
        for point in ready:
            collection.points[point["id"]] = {**point, "vector": {k: _unit(v) for k, v in point["vector"].items()}}
        return {"operation_id": 0, "status": "completed"}


def _check_id(value: Any) -> Any:
    if isinstance(value, int) and value >= 0:
        return value
    try:
        return str(UUID(value))
    except (AttributeError, TypeError, ValueError):
        raise _Refused(400, f"Format error: {value!r} is not a valid point ID") from None


def _unit(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    return [number / length for number in vector] if length else vector


def _show(point: dict[str, Any], body: dict[str, Any], **more: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": point["id"], **more}
    if body.get("with_payload", False):
        shown["payload"] = point["payload"]
    if body.get("with_vector", False):
        shown["vector"] = point["vector"].get("", point["vector"])
    return shown


def _delete(collection: _Collection, body: dict[str, Any]) -> dict[str, Any]:
    if "points" in body:
        gone = [_check_id(one) for one in body["points"]]
    else:
        gone = [point["id"] for point in _choose(collection, body["filter"])]
    for one in gone:
        collection.points.pop(one, None)
    return {"operation_id": 0, "status": "completed"}


def _choose(collection: _Collection, conditions: Any) -> list[dict[str, Any]]:
    return [point for point in collection.points.values() if conditions is None or _holds(conditions, point)]


def _scroll(collection: _Collection, body: dict[str, Any]) -> dict[str, Any]:
    found = sorted(_choose(collection, body.get("filter")), key=lambda point: str(point["id"]))
    offset = body.get("offset")
    rest = [point for point in found if offset is None or str(point["id"]) >= str(offset)]
    limit = body.get("limit") or 10
    following = rest[limit]["id"] if len(rest) > limit else None
    return {"points": [_show(point, body) for point in rest[:limit]], "next_page_offset": following}


def _query(collection: _Collection, body: dict[str, Any]) -> list[dict[str, Any]]:
    asked = body["query"].get("nearest", []) if isinstance(body["query"], dict) else body["query"]
    using = body.get("using") or ""
    if len(asked) != collection.size(using or None):
        raise _Refused(400, f"Wrong input: Vector dimension error: expected dim: {collection.size(using or None)}")
    vector = _unit(asked)
    scored = [
        (sum(a * b for a, b in zip(vector, point["vector"][using], strict=True)), point)
        for point in _choose(collection, body.get("filter"))
    ]
    scored.sort(key=lambda one: -one[0])
    return [_show(point, body, version=0, score=score) for score, point in scored[: body.get("limit") or 10]]


# --- filters, as the documentation of Qdrant defines them -------------------------------------------------------------


def _holds(conditions: Any, point: dict[str, Any]) -> bool:
    unknown = set(conditions) - {"must", "should", "must_not", "min_should"}
    if unknown:
        raise _Refused(400, f"Format error in JSON body: unknown field {min(unknown)}")
    every = [_test(one, point) for one in _listed(conditions.get("must"))]
    some = [_test(one, point) for one in _listed(conditions.get("should"))]
    none = [_test(one, point) for one in _listed(conditions.get("must_not"))]
    return all(every) and (not some or any(some)) and not any(none)


def _listed(conditions: Any) -> list[Any]:
    if conditions is None:
        return []
    return conditions if isinstance(conditions, list) else [conditions]


def _test(condition: dict[str, Any], point: dict[str, Any]) -> bool:
    if "has_id" in condition:
        return point["id"] in [_check_id(one) for one in condition["has_id"]]
    if "is_empty" in condition:
        return all(value in (None, []) for value in _values(point["payload"], condition["is_empty"]["key"]))
    if "key" not in condition:
        return _holds(condition, point)
    values = [each for one in _values(point["payload"], condition["key"]) for each in _listed(one)]
    if condition.get("match") is not None:
        return any(_is_match(condition["match"], value) for value in values)
    if condition.get("range") is not None:
        return any(_is_within(condition["range"], value) for value in values)
    raise _Refused(400, "Format error in JSON body: a condition without a test")


def _values(payload: dict[str, Any], key: str) -> list[Any]:
    found: Any = payload
    for quoted, plain in _PART.findall(key):
        found = found.get(quoted or plain) if isinstance(found, dict) else None
    return [] if found is None else [found]


def _is_match(test: dict[str, Any], value: Any) -> bool:
    match test:
        case {"value": bool() | str() | int() as wanted}:
            return type(value) is type(wanted) and value == wanted
        case {"any": list() as wanted}:
            if len({type(one) for one in wanted}) > 1:
                raise _Refused(400, "Format error in JSON body: any holds texts or whole numbers")
            return any(type(value) is type(one) and value == one for one in wanted)
        case {"except": list() as unwanted}:
            return value not in unwanted
        case {"text": str() as wanted}:  # without an index for full text: the text is part of the value
            return isinstance(value, str) and wanted in value
    raise _Refused(400, f"Format error in JSON body: {test!r} is no match")


def _is_within(test: dict[str, Any], value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    number = float(value)
    tests = {"gt": number.__gt__, "gte": number.__ge__, "lt": number.__lt__, "lte": number.__le__}
    return all(tests[name](float(bound)) for name, bound in test.items() if bound is not None)
