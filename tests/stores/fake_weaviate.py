"""A Weaviate server for ``WireServer``: as much of its REST and GraphQL interfaces as vectors need.

It checks requests as the server does: names of classes begin with a capital letter, ids are UUIDs, vectors have the
size of the first one, a filter asks only for fields that are indexed and leaves out spaces around a text, and a query
it cannot read is an error in the answer. Like the server, it makes a class that an object names and nobody has made.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from memstone.testing.wire import WireReply, WireRequest

_TOKEN: Final = re.compile(r'\s*,?\s*("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+|[{}()\[\]:])')
_MOST: Final = 10_000


class _Refused(Exception):
    """The server answers with an error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class WeaviateClass:
    """A class and its objects."""

    schema: dict[str, Any]
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def filterable(self) -> set[str]:
        """The fields by which it can be filtered."""
        fields = self.schema.get("properties") or ()
        return {one["name"] for one in fields if one.get("indexFilterable", True)}


class FakeWeaviate:
    """The handler of a ``WireServer``."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.classes: dict[str, WeaviateClass] = {}
        self._guard = threading.Lock()

    def __call__(self, request: WireRequest) -> WireReply:
        """Answer a request."""
        parts = [unquote(part) for part in urlsplit(request.path).path.strip("/").split("/")]
        if parts[:2] == ["v1", ".well-known"]:
            return WireReply(404) if parts[-1] == "openid-configuration" else WireReply()
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return WireReply(401, json={"code": 401, "message": "unauthorized: invalid api key"})
        try:
            with self._guard:
                return self._route(request, parts[1:])
        except _Refused as error:
            return WireReply(error.status, json={"error": [{"message": str(error)}]})

    def _route(self, request: WireRequest, parts: list[str]) -> WireReply:  # noqa: C901, PLR0911 - one a route
        body = json.loads(request.body) if request.body else {}
        match (request.method, parts):
            case ("GET", ["meta"]):
                return WireReply(json={"version": "1.35.2"})
            case ("GET", ["schema"]):
                return WireReply(json={"classes": [one.schema for one in self.classes.values()]})
            case ("GET", ["schema", name]):
                return WireReply(json=self._get(name).schema)
            case ("POST", ["schema"]):
                return WireReply(json=self._create(body))
            case ("DELETE", ["schema", name]):
                self.classes.pop(name, None)
                return WireReply()
            case ("POST", ["objects"]):
                return WireReply(json=self._put(body))
            case ("POST", ["batch", "objects"]):
                return WireReply(json=[self._put_one_of_many(one) for one in body["objects"]])
            case ("DELETE", ["batch", "objects"]):
                return WireReply(json=self._delete(body["match"]))
            case ("GET" | "HEAD", ["objects", name, object_id]):
                found = self.classes[name].objects.get(object_id) if name in self.classes else None
                return WireReply(404) if found is None else WireReply(json=found)
            case ("GET", ["objects"]):
                return WireReply(json={"objects": self._list(parse_qs(urlsplit(request.path).query))})
            case ("POST", ["graphql"]):
                return WireReply(json=self._query(body["query"]))
        raise _Refused(405, f"no handler for {request.method} {request.path}")

    def _get(self, name: str) -> WeaviateClass:
        if name not in self.classes:
            raise _Refused(404, f"class {name} not found")
        return self.classes[name]

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["class"]
        if not re.fullmatch(r"[A-Z][_0-9A-Za-z]*", name):
            raise _Refused(422, f"'{name}' is not a valid class name")
        if name.lower() in {one.lower() for one in self.classes}:
            raise _Refused(422, f"class name {name} already exists")
        for one in body.get("properties") or ():
            if one.get("tokenization", "word") not in ("word", "field", "whitespace", "lowercase"):
                raise _Refused(422, "unknown tokenization")
        self.classes[name] = WeaviateClass(body)
        return body

    def _put(self, body: dict[str, Any]) -> dict[str, Any]:
        UUID(body["id"])
        held = self.classes.setdefault(body["class"], WeaviateClass({"class": body["class"], "properties": []}))
        vector = body.get("vector")
        sizes = {len(one["vector"]) for one in held.objects.values() if one.get("vector")}
        if vector and sizes and len(vector) not in sizes:
            raise _Refused(422, f"vector lengths don't match: {len(vector)} vs {sizes}")
        kept = {"class": body["class"], "id": body["id"], "properties": body["properties"]}
        held.objects[body["id"]] = {**kept, **({"vector": vector} if vector else {})}
        return {**kept, "result": {"status": "SUCCESS"}}

    def _put_one_of_many(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._put(body)
        except _Refused as error:
            return {"id": body["id"], "result": {"status": "FAILED", "errors": {"error": [{"message": str(error)}]}}}

    def _delete(self, match: dict[str, Any]) -> dict[str, Any]:
        held = self._get(match["class"])
        if isinstance(match["where"].get("valueText"), list):
            raise _Refused(400, "cannot unmarshal array into field valueText of type string")
        gone = [one["id"] for one in held.objects.values() if _holds(match["where"], one, held)]
        for one in gone:
            del held.objects[one]
        return {"results": {"matches": len(gone), "successful": len(gone), "failed": 0}}

    def _list(self, query: dict[str, list[str]]) -> list[dict[str, Any]]:
        after = (query.get("after") or [""])[0]
        objects = sorted(self._get(query["class"][0]).objects.values(), key=lambda one: str(one["id"]))
        return [one for one in objects if one["id"] > after][: int(query["limit"][0])]

    # --- GraphQL ------------------------------------------------------------------------------------------------------

    def _query(self, text: str) -> dict[str, Any]:
        try:
            verb, name, arguments, fields = _parse_query(text)
            found = self._aggregate(name) if verb == "Aggregate" else self._find(name, arguments, fields)
        except (_Refused, KeyError, StopIteration, ValueError) as error:
            return {"errors": [{"message": f"Cannot query: {error}"}]}
        return {"data": {verb: {name: found}}}

    def _aggregate(self, name: str) -> list[dict[str, Any]]:
        return [{"meta": {"count": len(self.classes[name].objects)}}]

    def _find(self, name: str, arguments: dict[str, Any], fields: list[str]) -> list[dict[str, Any]]:
        held = self.classes[name]
        limit = int(arguments.get("limit", 100))
        if limit > _MOST:
            raise _Refused(200, "query maximum results exceeded")
        where = arguments.get("where")
        found = [one for one in held.objects.values() if where is None or _holds(where, one, held)]
        if "nearVector" not in arguments:
            return [_show(one, fields, {"vector": one.get("vector")}) for one in found[:limit]]
        asked = arguments["nearVector"]["vector"]
        near = [(_distance(asked, one["vector"]), one) for one in found if one.get("vector")]
        near.sort(key=lambda pair: pair[0])
        return [_show(one, fields, {"distance": far, "vector": one["vector"]}) for far, one in near[:limit]]


def _distance(one: list[float], other: list[float]) -> float:
    if len(one) != len(other):
        raise _Refused(200, "vector lengths don't match")
    return 1.0 - sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


def _show(one: dict[str, Any], fields: list[str], more: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {name: one["properties"].get(name) for name in fields if name != "_additional"}
    return {**shown, "_additional": {"id": one["id"], **more}} if "_additional" in fields else shown


def _holds(where: dict[str, Any], one: dict[str, Any], held: WeaviateClass) -> bool:
    operator = where["operator"]
    if operator in ("And", "Or"):
        return (all if operator == "And" else any)(_holds(part, one, held) for part in where["operands"])
    (name,) = where["path"]
    if name == "id":
        values = [one["id"]]
    elif name not in held.filterable:
        raise _Refused(200, f"Filtering by property '{name}' requires inverted index")
    else:
        values = [value.strip() for value in one["properties"].get(name) or ()]  # as "field" tokenises
    wanted = where.get("valueTextArray") or where["valueText"]
    wanted = [each.strip() for each in wanted] if isinstance(wanted, list) else wanted.strip()
    if operator == "ContainsAny":
        return any(each in values for each in wanted)
    if operator not in ("Equal", "NotEqual"):
        raise _Refused(200, f"unknown operator {operator}")
    return (wanted in values) is (operator == "Equal")


def _parse_query(text: str) -> tuple[str, str, dict[str, Any], list[str]]:
    """Read ``{Verb{Class(arguments){fields}}}``."""
    tokens = iter([*_TOKEN.findall(text), ""])
    _expect(tokens, "{")
    verb = next(tokens)
    _expect(tokens, "{")
    name, arguments = next(tokens), {}
    sign = next(tokens)
    if sign == "(":
        arguments = _parse_pairs(tokens, ")")
        sign = next(tokens)
    if sign != "{":
        raise _Refused(200, f"Syntax Error: expected {{, found {sign}")
    fields, depth = [], 1
    while depth:
        sign = next(tokens)
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 1 and sign.isidentifier():
            fields.append(sign)
    _expect(tokens, "}")
    _expect(tokens, "}")
    return verb, name, arguments, fields


def _expect(tokens: Iterator[str], wanted: str) -> None:
    if (sign := next(tokens)) != wanted:
        raise _Refused(200, f"Syntax Error: expected {wanted}, found {sign}")


def _parse_pairs(tokens: Iterator[str], end: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while (name := next(tokens)) != end:
        _expect(tokens, ":")
        found[name] = _parse_value(next(tokens), tokens)
    return found


def _parse_value(sign: str, tokens: Iterator[str]) -> Any:
    if sign == "{":
        return _parse_pairs(tokens, "}")
    if sign == "[":
        items = []
        while (sign := next(tokens)) != "]":
            items.append(_parse_value(sign, tokens))
        return items
    return json.loads(sign) if sign[0] in '"-0123456789' else sign
