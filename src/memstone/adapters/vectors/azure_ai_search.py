"""Azure AI Search, over its REST interface.

A collection is an index whose name is written with the letters that Azure allows. A zero vector is left out, because a
cosine with it has no value. What was written a moment ago may be found only a second later.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.vectors.collection_store import HttpStore, StoredPoint, clip_score, parse_payload, uuid_of
from memstone.adapters.vectors.labels import LABEL_OPERATORS, Clause, LabelFilter, labels_of
from memstone.errors import ConfigError
from memstone.model.query import Where
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io

_VERSION: Final = "api-version=2024-07-01"
_PAGE: Final = 1_000
"""How many documents one answer has."""
_MOST: Final = 10_000
"""How many neighbours one search looks for."""
_LONGEST_NAME: Final = 128
_PLAIN: Final = re.compile(r"[a-z0-9]{1,60}")
_DELIMITERS: Final = "|;,\t\n\x1f"


class AzureSearchConfig(BaseModel):
    """The ``url`` of the service and a key that may write (``api_key``).

    The name of every index begins with ``prefix``. ``exact`` compares every search with every vector.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str | None = None
    api_key: SecretStr | None = None
    prefix: str = Field(default="memstone", pattern=r"^[a-z0-9]{1,20}$")
    exact: bool = False
    timeout: float = Field(default=30.0, gt=0)


class AzureSearchStore(HttpStore):
    """See ``memstone.ports.index.VectorStore``."""

    Config = AzureSearchConfig
    name = "azure_ai_search"

    @staticmethod
    def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the options with the address and key of the environment, where they name none."""
        names = {"url": "AZURE_SEARCH_ENDPOINT", "api_key": "AZURE_SEARCH_API_KEY"}
        made = dict(options)
        return made | {one: env[name] for one, name in names.items() if made.get(one) is None and env.get(name)}

    def __init__(self, config: AzureSearchConfig, io: Io) -> None:
        key = config.api_key.get_secret_value().strip() if config.api_key else ""
        if not config.url or not key:
            hint = "set url to https://SERVICE.search.windows.net and api_key to an admin key of it"
            raise ConfigError("azure_ai_search needs a url and an api_key", hint=hint)
        super().__init__(io, config.url, {"api-key": key}, config.timeout)
        self._prefix, self._exact = config.prefix, config.exact
        self.capabilities = StoreCapabilities(operators=LABEL_OPERATORS, exact=config.exact)

    async def check_health(self) -> None:
        await self._ask("GET", f"/servicestats?{_VERSION}")

    async def collections(self) -> list[CollectionInfo]:
        listed = (await self._ask("GET", f"/indexes?{_VERSION}&$select=name,fields"))["value"]
        found: list[CollectionInfo] = []
        for one in listed:
            collection = self._collection_of(one["name"])
            path = f"/indexes('{one['name']}')/docs/$count?{_VERSION}"
            count = None if collection is None else await self._send("GET", path)
            if collection is not None and count is not None:  # else somebody dropped it meanwhile
                found.append(CollectionInfo(collection, int(count), _dimension_of(one)))
        return sorted(found, key=lambda info: info.name)

    async def _read_dimension(self, collection: str) -> int | None:
        answer = await self._send("GET", f"{self._path(collection)}?{_VERSION}")
        return None if answer is None else _dimension_of(answer)

    async def _make(self, collection: str, dimension: int) -> None:
        plain = {"type": "Edm.String", "searchable": False, "facetable": False}
        fields = [
            {**plain, "name": "key", "key": True, "filterable": True, "sortable": True},
            {**plain, "name": "point_id", "filterable": False, "sortable": False},
            {**plain, "name": "payload", "filterable": False, "sortable": False},
            {"name": "labels", "type": "Collection(Edm.String)", "searchable": False, "filterable": True},
            {
                "name": "vector",
                "type": "Collection(Edm.Single)",
                "searchable": True,
                "retrievable": True,
                "dimensions": dimension,
                "vectorSearchProfile": "cosine",
            },
        ]
        options = {"m": 10, "efConstruction": 400, "efSearch": 500, "metric": "cosine"}
        search = {
            "algorithms": [{"name": "graph", "kind": "hnsw", "hnswParameters": options}],
            "profiles": [{"name": "cosine", "algorithm": "graph"}],
        }
        body = {"name": self._index(collection), "fields": fields, "vectorSearch": search}
        await self._ask("PUT", f"{self._path(collection)}?{_VERSION}", body)

    async def _remove(self, collection: str) -> None:
        await self._send("DELETE", f"{self._path(collection)}?{_VERSION}")

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        await self._send_actions(
            collection,
            [
                {
                    "@search.action": "upload",
                    "key": uuid_of(row.id),
                    "point_id": row.id,
                    "labels": labels_of(row.payload),
                    "payload": row.payload_json(),
                    "vector": None if row.is_zero else row.vector,
                }
                for row in rows
            ],
        )

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        if ids:
            await self._send_actions(collection, [{"@search.action": "delete", "key": uuid_of(one)} for one in ids])

    async def _send_actions(self, collection: str, actions: Sequence[Mapping[str, Any]]) -> None:
        path = f"{self._path(collection)}/docs/search.index?{_VERSION}"
        answer = await self._ask("POST", path, {"value": actions}, collection=collection)
        wrong = [one for one in answer["value"] if not one["status"]]
        if wrong:
            raise self.store_error(f"a point was refused: {wrong[0].get('errorMessage')}"[:300], "see its portal")

    async def _read(self, collection: str, point_id: str) -> Point | None:
        answer = await self._send("GET", f"{self._path(collection)}/docs('{uuid_of(point_id)}')?{_VERSION}")
        if answer is None and await self._read_dimension(collection) is None:
            raise self.missing_error(collection)
        return None if answer is None else self._point(collection, answer)

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        wanted = min(limit, _MOST)
        asked = {"kind": "vector", "vector": vector, "fields": "vector", "k": wanted, "exhaustive": self._exact}
        body = {"vectorQueries": [asked], "vectorFilterMode": "preFilter", "select": "point_id,payload"}
        found: list[PointHit] = []
        while len(found) < wanted:
            page = {"top": min(_PAGE, wanted - len(found)), "skip": len(found)}
            docs = await self._search_page(collection, {**body, **page, **_as_filter(clause)})
            found += [
                PointHit(one["point_id"], _cosine_from(one["@search.score"]), parse_payload(one["payload"]))
                for one in docs
            ]
            if len(docs) < page["top"]:
                break
        return found

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        """Return every point that matches, page by page in the order of their keys."""
        found: list[Point] = []
        after: Clause = True
        while True:
            both = AzureSearchFilter().join_all([one for one in (clause, after) if one is not True])
            body = {"search": "*", "orderby": "key asc", "top": _PAGE, **_as_filter(both)}
            docs = await self._search_page(collection, body)
            found += [self._point(collection, one) for one in docs]
            if len(docs) < _PAGE:
                return found
            after = f"key gt '{docs[-1]['key']}'"

    async def _search_page(self, collection: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        path = f"{self._path(collection)}/docs/search.post.search?{_VERSION}"
        docs: list[dict[str, Any]] = (await self._ask("POST", path, body, collection=collection))["value"]
        return docs

    def _translate(self, where: Where | None) -> Clause:
        return AzureSearchFilter().translate(where)

    def _point(self, collection: str, one: Mapping[str, Any]) -> Point:
        vector = one.get("vector") or [0.0] * self._dimensions.get(collection, 0)
        return Point(one["point_id"], vector, parse_payload(one["payload"]))

    # --- names --------------------------------------------------------------------------------------------------------

    def _path(self, collection: str) -> str:
        return f"/indexes('{self._index(collection)}')"

    def _index(self, collection: str) -> str:
        """Return the name of an index: as it is, or in base 32, which has only letters and digits."""
        if _PLAIN.fullmatch(collection):
            return f"{self._prefix}-{collection}"
        code = base64.b32encode(collection.encode()).decode().rstrip("=").lower()
        name = f"{self._prefix}-b-{code}"
        if len(name) > _LONGEST_NAME:
            raise self.store_error("the name of the collection is too long", "use one of at most 60 letters")
        return name

    def _collection_of(self, index: str) -> str | None:
        """Return which collection an index is; None for an index of somebody else."""
        name = index.removeprefix(f"{self._prefix}-")
        if name == index:
            return None
        if _PLAIN.fullmatch(name):
            return name
        code = name.removeprefix("b-").upper()
        try:
            return base64.b32decode(code + "=" * (-len(code) % 8)).decode()
        except ValueError:
            return None


class AzureSearchFilter(LabelFilter):
    """Translates a filter into OData."""

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        delimiter = next((one for one in _DELIMITERS if not any(one in label for label in labels)), "")
        if delimiter:
            values = delimiter.join(labels)
            test = f"search.in(l, {_quote(values)}, {_quote(delimiter)})"
        else:
            test = " or ".join(f"l eq {_quote(label)}" for label in labels)
        return f"{'not ' if negated else ''}labels/any(l: {test})"

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        return "(" + (" and " if every else " or ").join(clauses) + ")"

    def join_all(self, clauses: Sequence[Clause]) -> Clause:
        """Test that every one of some clauses holds; True if there is none."""
        return self._join(clauses, every=True)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _as_filter(clause: Clause) -> dict[str, Any]:
    return {} if clause is True else {"filter": clause}


def _cosine_from(score: float) -> float:
    """Return the cosine: a score is 1 / (1 + (1 - cosine))."""
    return clip_score(2.0 - 1.0 / score)


def _dimension_of(index: Mapping[str, Any]) -> int:
    return next((int(one["dimensions"]) for one in index["fields"] if one["name"] == "vector"), 0)
