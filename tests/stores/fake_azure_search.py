"""An Azure AI Search service for ``WireServer``: as much of its interface as vectors need.

It checks requests as the service does: names of indexes, keys of documents, the size of vectors, pages of at most a
thousand, and filters, which it reads as OData. A field that is not filterable or sortable is refused.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from memstone.testing.wire import WireReply, WireRequest

_NAME: Final = re.compile(r"[a-z0-9](-?[a-z0-9])*")
_KEY: Final = re.compile(r"[A-Za-z0-9_=-]+")
_PATH: Final = re.compile(r"/indexes\('([^']+)'\)(?:/docs(?:\('([^']+)'\)|/(\$count|search\.\w+(?:\.\w+)?))?)?")
_TOKEN: Final = re.compile(r"\s*('(?:[^']|'')*'|[A-Za-z_][\w.]*|[()/:,])")
_PAGE: Final = 1_000

_Test: TypeAlias = Callable[[dict[str, Any]], bool]


class _Refused(Exception):
    """The service answers with an error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class _Index:
    body: dict[str, Any]
    docs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def field(self, name: str) -> dict[str, Any]:
        """What is said about a field."""
        for one in self.body["fields"]:
            if one["name"] == name:
                return dict(one)
        raise _Refused(400, f"Could not find a property named '{name}'")


class FakeAzureSearch:
    """The handler of a ``WireServer``."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.indexes: dict[str, _Index] = {}
        self._guard = threading.Lock()

    def __call__(self, request: WireRequest) -> WireReply:
        """Answer a request."""
        parts = urlsplit(request.path)
        query = parse_qs(parts.query)
        if self.key and request.headers.get("api-key") != self.key:
            return WireReply(403, json={"error": {"code": "", "message": "Forbidden"}})
        if not re.fullmatch(r"20\d\d-\d\d-\d\d", query.get("api-version", [""])[0]):
            return WireReply(400, json={"error": {"message": "The api-version query parameter is missing"}})
        try:
            with self._guard:
                return self._route(request, unquote(parts.path))
        except _Refused as error:
            return WireReply(error.status, json={"error": {"code": "", "message": str(error)}})

    def _route(self, request: WireRequest, path: str) -> WireReply:  # noqa: PLR0911 - one a route
        body = json.loads(request.body) if request.body else {}
        if path == "/servicestats":
            return WireReply(json={"counters": {}, "limits": {}})
        if path == "/indexes":
            if request.method == "POST":
                return WireReply(201, json=self._create(body["name"], body))
            return WireReply(json={"value": [one.body for one in self.indexes.values()]})
        found = _PATH.fullmatch(path)
        if found is None:
            raise _Refused(404, f"no handler for {request.method} {path}")
        name, key, verb = found.groups()
        if verb is None and key is None:
            return self._change_index(request.method, name, body)
        index = self._index(name)
        if key is not None:
            return WireReply(404) if key not in index.docs else WireReply(json=index.docs[key])
        if verb == "$count":
            return WireReply(body=b"\xef\xbb\xbf%d" % len(index.docs), headers={"content-type": "text/plain"})
        if verb == "search.index":
            return WireReply(json={"value": [_change(index, one) for one in body["value"]]})
        if verb == "search.post.search":
            return WireReply(json={"value": _search(index, body)})
        raise _Refused(404, f"no handler for {verb}")

    def _index(self, name: str) -> _Index:
        if name not in self.indexes:
            raise _Refused(404, f"The index '{name}' was not found.")
        return self.indexes[name]

    def _change_index(self, method: str, name: str, body: dict[str, Any]) -> WireReply:
        if method == "PUT":
            return WireReply(201, json=self._create(name, body))
        index = self._index(name)
        if method == "DELETE":
            del self.indexes[name]
            return WireReply(204)
        return WireReply(json=index.body)

    def _create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        if not _NAME.fullmatch(name) or not 2 <= len(name) <= 128 or body["name"] != name:
            raise _Refused(400, f"Invalid index name '{name}'")
        profiles = {one["name"]: one["algorithm"] for one in (body.get("vectorSearch") or {}).get("profiles") or ()}
        algorithms = {one["name"] for one in (body.get("vectorSearch") or {}).get("algorithms") or ()}
        for one in body["fields"]:
            if one["type"] == "Collection(Edm.Single)" and profiles.get(one["vectorSearchProfile"]) not in algorithms:
                raise _Refused(400, "The vector search profile does not exist")
            if one["type"] == "Collection(Edm.Single)" and not 2 <= one["dimensions"] <= 4_096:
                raise _Refused(400, "The number of dimensions must be between 2 and 4096")
        self.indexes[name] = _Index(body)
        return body


def _change(index: _Index, action: dict[str, Any]) -> dict[str, Any]:
    verb = action["@search.action"]
    key_field = next(one["name"] for one in index.body["fields"] if one.get("key"))
    key = action[key_field]
    if not _KEY.fullmatch(key) or len(key) > 1_024:
        raise _Refused(400, f"Invalid document key: '{key}'")
    if verb == "delete":
        index.docs.pop(key, None)
    else:
        doc = {name: value for name, value in action.items() if name != "@search.action"}
        for name, value in doc.items():
            about = index.field(name)
            if about["type"] == "Collection(Edm.Single)" and value is not None and len(value) != about["dimensions"]:
                return {"key": key, "status": False, "statusCode": 400, "errorMessage": "wrong vector dimensions"}
        index.docs[key] = doc
    return {"key": key, "status": True, "errorMessage": None, "statusCode": 201}


def _search(index: _Index, body: dict[str, Any]) -> list[dict[str, Any]]:
    if body.get("top", 50) > _PAGE or body.get("skip", 0) > 100_000:
        raise _Refused(400, "top must be at most 1000, skip at most 100000")
    test = _read_filter(body["filter"], index) if body.get("filter") else None
    found = [one for one in index.docs.values() if test is None or test(one)]
    if body.get("vectorQueries"):
        scored = _find_nearest(index, body["vectorQueries"][0], found)
    else:
        name, _, order = body["orderby"].partition(" ") if body.get("orderby") else ("", "", "")
        if name and (not index.field(name).get("sortable") or order not in ("", "asc")):
            raise _Refused(400, f"'{name}' is not sortable")
        scored = [{**one, "@search.score": 1.0} for one in sorted(found, key=lambda one: one[name] if name else "")]
    start = body.get("skip") or 0
    chosen = body["select"].split(",") if body.get("select") else None
    page = scored[start : start + (body.get("top") or 50)]
    return [
        {name: value for name, value in one.items() if chosen is None or name in (*chosen, "@search.score")}
        for one in page
    ]


def _find_nearest(index: _Index, asked: dict[str, Any], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    name, vector = asked["fields"], asked["vector"]
    if asked["kind"] != "vector" or len(vector) != index.field(name)["dimensions"]:
        raise _Refused(400, "The vector query has other dimensions than the field")
    near = [
        {**one, "@search.score": 1.0 / (2.0 - _cosine(vector, one[name]))} for one in found if one.get(name) is not None
    ]
    return sorted(near, key=lambda one: -one["@search.score"])[: asked["k"]]


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


# --- OData ------------------------------------------------------------------------------------------------------------


def _read_filter(text: str, index: _Index) -> _Test:
    reader = _Reader(text, index)
    test = reader.read_or()
    if reader.tokens:
        raise _Refused(400, f"Invalid expression: {reader.tokens[0]}")
    return test


class _Reader:
    """Reads ``or``, ``and``, ``not``, brackets, ``field/any(x: ...)``, ``search.in`` and comparisons."""

    def __init__(self, text: str, index: _Index) -> None:
        self.tokens, self.index = _TOKEN.findall(text), index
        self._variables: set[str] = set()
        if "".join(self.tokens) != re.sub(r"\s+(?=(?:[^']*'[^']*')*[^']*$)", "", text):
            raise _Refused(400, f"Invalid expression: {text}")

    def _next(self, *wanted: str) -> str:
        token = self.tokens.pop(0) if self.tokens else ""
        if wanted and token not in wanted:
            raise _Refused(400, f"Invalid expression: {token} instead of {wanted}")
        return str(token)

    def _peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def read_or(self) -> _Test:
        tests = [self._read_and()]
        while self._peek() == "or":
            self._next()
            tests.append(self._read_and())
        return lambda doc: any(test(doc) for test in tests)

    def _read_and(self) -> _Test:
        tests = [self._read_not()]
        while self._peek() == "and":
            self._next()
            tests.append(self._read_not())
        return lambda doc: all(test(doc) for test in tests)

    def _read_not(self) -> _Test:
        if self._peek() != "not":
            return self._read_one()
        self._next()
        test = self._read_not()
        return lambda doc: not test(doc)

    def _read_one(self) -> _Test:
        if self._peek() == "(":
            self._next()
            test = self.read_or()
            self._next(")")
            return test
        name = self._next()
        if name == "search.in":
            return self._read_in()
        if self._peek() == "/":
            return self._read_any(name)
        operator, value = self._next("eq", "gt"), self._read_text()
        if name not in self._variables and not self.index.field(name).get("filterable"):
            raise _Refused(400, f"'{name}' is not filterable")
        return (lambda doc: doc[name] == value) if operator == "eq" else (lambda doc: doc[name] > value)

    def _read_in(self) -> _Test:
        self._next("(")
        name = self._next()
        self._next(",")
        text = self._read_text()
        self._next(",")
        values = re.split("[" + re.escape(self._read_text()) + "]", text)
        self._next(")")
        return lambda doc: doc[name] in values

    def _read_any(self, name: str) -> _Test:
        if not self.index.field(name).get("filterable"):
            raise _Refused(400, f"'{name}' is not filterable")
        self._next("/")
        self._next("any")
        self._next("(")
        variable = self._next()
        self._variables.add(variable)
        self._next(":")
        test = self.read_or()
        self._next(")")
        return lambda doc: any(test({variable: value}) for value in doc.get(name) or ())

    def _read_text(self) -> str:
        token = self._next()
        if not token.startswith("'"):
            raise _Refused(400, f"Invalid expression: {token} is no text")
        return token[1:-1].replace("''", "'")
