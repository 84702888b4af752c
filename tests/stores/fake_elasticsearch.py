"""An Elasticsearch or OpenSearch server for ``WireServer``: as much of its interface as vectors need.

It checks requests as the servers do: a zero vector, a vector of another size, an index name with a capital letter, a
field that is not mapped and a query of the other server are refused. Vectors are rounded where the mapping does not say
otherwise.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
import threading
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from memstone.testing.wire import WireReply, WireRequest

_NAME: Final = re.compile(r"[a-z0-9~][a-z0-9_~-]*")


class _Refused(Exception):
    """The server answers with an error."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.kind = status, kind


@dataclass
class _Index:
    mappings: dict[str, Any]
    docs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """What is mapped."""
        found: dict[str, Any] = self.mappings.get("properties", {})
        return found


class FakeElasticsearch:
    """The handler of a ``WireServer``; ``opensearch`` makes it the other server."""

    def __init__(self, authorization: str = "", *, opensearch: bool = False) -> None:
        self.authorization, self.opensearch = authorization, opensearch
        self.indexes: dict[str, _Index] = {}
        self._guard = threading.Lock()

    def __call__(self, request: WireRequest) -> WireReply:
        """Answer a request."""
        headers = {} if self.opensearch else {"X-Elastic-Product": "Elasticsearch"}
        if self.authorization and request.headers.get("authorization") != self.authorization:
            return WireReply(401, json={"error": {"type": "security_exception"}, "status": 401}, headers=headers)
        parts = [unquote(part) for part in urlsplit(request.path).path.strip("/").split("/")]
        try:
            with self._guard:
                answer = self._route(request, parts)
        except _Refused as error:
            body = {"error": {"type": error.kind, "reason": str(error)}, "status": error.status}
            return WireReply(error.status, json=body, headers=headers)
        return WireReply(json=answer, headers=headers)

    def _route(self, request: WireRequest, parts: list[str]) -> Any:  # noqa: C901, PLR0911 - one a route
        body = None
        if request.body and parts[-1] != "_bulk":
            body = json.loads(request.body)
        match (request.method, parts):
            case ("GET", [""]):
                return {"version": {"number": "9.0.0"}, "tagline": "You Know, for Search"}
            case ("GET", ["_cluster", "health"]):
                return {"status": "green", "timed_out": False}
            case ("GET", [pattern, "_mapping"]):
                return self._mappings(pattern)
            case ("PUT", [name]):
                return self._create(name, body or {})
            case ("DELETE", [name]):
                self._get(name)
                del self.indexes[name]
                return {"acknowledged": True}
            case ("POST" | "PUT", [name, "_bulk"]):
                return self._bulk(request, name)
            case ("POST" | "GET", [name, "_count"]):
                return {"count": len(self._get(name).docs)}
            case ("POST", [name, "_mget"]):
                return {"docs": [self._doc(name, one) for one in (body or {})["ids"]]}
            case ("POST", [name, "_search"]):
                return {"timed_out": False, "hits": {"hits": self._search(self._get(name), body or {})}}
        raise _Refused(405, "illegal_argument", f"no handler for {request.method} {request.path}")

    def _get(self, name: str) -> _Index:
        if name not in self.indexes:
            raise _Refused(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indexes[name]

    def _mappings(self, pattern: str) -> dict[str, Any]:
        if "*" not in pattern:
            self._get(pattern)
        return {
            name: {"mappings": index.mappings}
            for name, index in self.indexes.items()
            if fnmatch.fnmatchcase(name, pattern)
        }

    def _create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        if not _NAME.fullmatch(name):
            raise _Refused(400, "invalid_index_name_exception", f"Invalid index name [{name}]")
        if name in self.indexes:
            raise _Refused(400, "resource_already_exists_exception", f"index [{name}] already exists")
        index = _Index(body.get("mappings", {}))
        wanted = "knn_vector" if self.opensearch else "dense_vector"
        kinds = {one["type"] for one in index.fields.values()}
        if kinds - {"keyword", "object", wanted}:
            raise _Refused(400, "mapper_parsing_exception", f"No handler for type {kinds}")
        if self.opensearch and wanted in kinds and not body["settings"]["index"]["knn"]:
            raise _Refused(400, "illegal_argument_exception", "index.knn is not set")
        self.indexes[name] = index
        return {"acknowledged": True, "index": name}

    def _bulk(self, request: WireRequest, name: str) -> dict[str, Any]:
        if "ndjson" not in request.headers["content-type"] or not request.body.endswith(b"\n"):
            raise _Refused(406, "illegal_argument_exception", "The bulk request must be terminated by a newline")
        lines = [json.loads(line) for line in request.body.decode().split("\n") if line]
        index, items = self._get(name), []
        while lines:
            ((action, about),) = lines.pop(0).items()
            if len(about["_id"].encode()) > 512:
                raise _Refused(400, "illegal_argument_exception", "id is too long")
            if action == "delete":
                found = index.docs.pop(about["_id"], None) is not None
                items.append({"delete": {"_id": about["_id"], "status": 200 if found else 404}})
            else:
                source = lines.pop(0)
                self._check_vector(index, source.get("vector"))
                index.docs[about["_id"]] = source
                items.append({action: {"_id": about["_id"], "status": 201}})
        return {"errors": False, "items": items}

    @staticmethod
    def _check_vector(index: _Index, vector: list[float] | None) -> None:
        kind = index.fields["vector"]
        if vector is None:
            return
        if len(vector) != kind.get("dims", kind.get("dimension")) or not any(vector):
            raise _Refused(400, "document_parsing_exception", "the vector has another size, or zero magnitude")

    def _doc(self, name: str, doc_id: str) -> dict[str, Any]:
        source = self._get(name).docs.get(doc_id)
        return {"_id": doc_id, "found": False} if source is None else {"_id": doc_id, "found": True, "_source": source}

    def _search(self, index: _Index, body: dict[str, Any]) -> list[dict[str, Any]]:
        size = body.get("size", 10)
        if size > 10_000:
            raise _Refused(400, "illegal_argument_exception", "Result window is too large")
        knn = body.get("knn") if not self.opensearch else body.get("query", {}).get("knn", {}).get("vector")
        if knn is not None:
            return self._nearest(index, knn)[:size]
        if "knn" in body or "knn" in body.get("query", {}):
            raise _Refused(400, "parsing_exception", "unknown query [knn]")
        found = [(doc_id, one) for doc_id, one in index.docs.items() if _holds(body.get("query", {}), one, index)]
        found.sort(key=lambda pair: pair[1]["id"])
        after = body.get("search_after")
        rest = [pair for pair in found if after is None or pair[1]["id"] > after[0]]
        return [{"_id": doc_id, "_source": one, "sort": [one["id"]]} for doc_id, one in rest[:size]]

    def _nearest(self, index: _Index, knn: dict[str, Any]) -> list[dict[str, Any]]:
        asked = knn["vector"] if self.opensearch else knn["query_vector"]
        if not self.opensearch and not knn["k"] <= knn["num_candidates"] <= 10_000:
            raise _Refused(400, "illegal_argument_exception", "[num_candidates] cannot be less than [k]")
        self._check_vector(index, asked)
        where = knn.get("filter", {"match_all": {}})
        rounds = not self.opensearch and index.fields["vector"].get("index_options", {}).get("type") != "hnsw"
        hits: list[dict[str, Any]] = [
            {"_id": doc_id, "_score": _score(_cosine(asked, one["vector"]), rounds=rounds), "_source": one}
            for doc_id, one in index.docs.items()
            if "vector" in one and _holds(where, one, index)
        ]
        return sorted(hits, key=lambda hit: -hit["_score"])[: knn["k"]]


def _score(cosine: float, *, rounds: bool) -> float:
    """Give the score as the server does, which rounds vectors unless it is told not to."""
    return round((1.0 + cosine) / 2.0, 2 if rounds else 12)


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


def _holds(query: dict[str, Any], doc: dict[str, Any], index: _Index) -> bool:
    ((kind, value),) = query.items()
    if kind == "match_all":
        return True
    if kind in ("terms", "term"):
        ((name, wanted),) = value.items()
        if index.fields.get(name, {}).get("type") != "keyword":
            raise _Refused(400, "query_shard_exception", f"[{name}] cannot be searched")
        values = doc.get(name) or []
        held = values if isinstance(values, list) else [values]
        return any(one in held for one in (wanted if kind == "terms" else [wanted]))
    if kind != "bool" or set(value) - {"filter", "must", "must_not", "should", "minimum_should_match"}:
        raise _Refused(400, "parsing_exception", f"unknown query [{kind}]")
    every = all(_holds(one, doc, index) for one in [*value.get("filter", ()), *value.get("must", ())])
    none = not any(_holds(one, doc, index) for one in value.get("must_not", ()))
    some = any(_holds(one, doc, index) for one in value["should"]) if "should" in value else True
    return every and none and some
