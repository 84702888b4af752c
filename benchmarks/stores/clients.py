"""What a vendor's own client does to write the same points and find the same neighbours.

Each gets a collection that our store has made, so that both write to and search in the same kind of index.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from memstone.adapters.vectors.collection_store import uuid_of
from memstone.adapters.vectors.labels import labels_of
from memstone.ports.index import Point

NAME = "bench"


class VendorClient(Protocol):
    """Writes points, and finds the ids of the ten nearest of one user."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them, and wait until they can be found."""
        ...

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Return their payloads, best first."""
        ...


class QdrantVendor:
    """``qdrant-client`` over REST."""

    def __init__(self, url: str, key: str) -> None:
        from qdrant_client import QdrantClient, models

        self._models = models
        self._client = QdrantClient(url=url, api_key=key or None, check_compatibility=False)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        rows = [
            self._models.PointStruct(id=uuid_of(one.id), vector=list(one.vector), payload=one.payload) for one in points
        ]
        self._client.upsert(NAME, rows, wait=True)

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        models = self._models
        own = models.Filter(must=[models.FieldCondition(key="user_id", match=models.MatchValue(value=user))])
        found = self._client.query_points(NAME, query=vector, query_filter=own, limit=10, with_payload=True).points
        return [one.payload or {} for one in found]


class ChromaVendor:
    """``chromadb`` over HTTP."""

    def __init__(self, url: str, _: str) -> None:
        import chromadb

        host, _, port = url.removeprefix("http://").partition(":")
        self._collection = chromadb.HttpClient(host=host, port=int(port)).get_or_create_collection(
            "vendor", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        self._collection.upsert(
            ids=[one.id for one in points],
            embeddings=[list(one.vector) for one in points],
            metadatas=[{"user_id": one.payload["user_id"]} for one in points],
            documents=[json.dumps(one.payload) for one in points],
        )

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        found = self._collection.query(
            [vector], n_results=10, where={"user_id": user}, include=["documents", "distances"]
        )
        return [json.loads(one) for one in found["documents"][0]]


class OpenSearchVendor:
    """``opensearch-py``."""

    def __init__(self, url: str) -> None:
        from opensearchpy import OpenSearch

        self._client = OpenSearch(url)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        lines: list[dict[str, Any]] = []
        for one in points:
            source = {"id": one.id, "labels": labels_of(one.payload), "payload": {"json": json.dumps(one.payload)}}
            vector = list(one.vector)
            lines += [{"index": {"_id": one.id}}, {**source, "vector": vector, "raw": {"vector": vector}}]
        self._client.bulk(index=f"memstone-{NAME}", body=lines, params={"refresh": "true"})

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        own = {"terms": {"labels": [f"user_id=s:{user}"]}}
        body = {
            "size": 10,
            "query": {"knn": {"vector": {"vector": vector, "k": 500, "filter": own}}},
            "_source": ["payload"],
        }
        found = self._client.search(index=f"memstone-{NAME}", body=body)
        return [json.loads(one["_source"]["payload"]["json"]) for one in found["hits"]["hits"]]


class PineconeVendor:
    """``pinecone`` over REST."""

    def __init__(self, url: str, key: str, dimension: int) -> None:
        from pinecone import Index

        self._index = Index(host=f"{url}/data/memstone-{dimension}", api_key=key)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        rows = [
            {
                "id": uuid_of(one.id),
                "values": list(one.vector),
                "metadata": {
                    "point_id": one.id,
                    "labels": ["*", "*searched", *labels_of(one.payload)],
                    "payload": json.dumps(one.payload),
                },
            }
            for one in points
        ]
        self._index.upsert(vectors=rows, namespace=NAME)

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        own = {"labels": {"$in": [f"user_id=s:{user}"]}}
        found = self._index.query(vector=vector, top_k=10, namespace=NAME, filter=own, include_metadata=True)
        return [json.loads((one.metadata or {})["payload"]) for one in found.matches]


class AzureVendor:
    """``azure-search-documents``."""

    def __init__(self, url: str, key: str) -> None:
        from azure.core.credentials import AzureKeyCredential
        from azure.search.documents import SearchClient

        self._client = SearchClient(url, f"memstone-{NAME}", AzureKeyCredential(key))

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        self._client.upload_documents(
            [
                {
                    "key": uuid_of(one.id),
                    "point_id": one.id,
                    "labels": labels_of(one.payload),
                    "payload": json.dumps(one.payload),
                    "vector": list(one.vector),
                }
                for one in points
            ]
        )

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        from azure.search.documents.models import VectorizedQuery

        asked = VectorizedQuery(vector=vector, k_nearest_neighbors=10, fields="vector")
        own = f"labels/any(l: search.in(l, 'user_id=s:{user}', '|'))"
        found = self._client.search(vector_queries=[asked], filter=own, top=10, select=["point_id", "payload"])
        return [json.loads(one["payload"]) for one in found]


class WeaviateVendor:
    """``weaviate-client``, which searches over gRPC."""

    def __init__(self, url: str, key: str, grpc_port: int) -> None:
        import weaviate
        from weaviate.connect import ConnectionParams

        auth = weaviate.auth.AuthApiKey(key)
        self._client = weaviate.WeaviateClient(
            ConnectionParams.from_url(url, grpc_port), auth_client_secret=auth, skip_init_checks=True
        )
        self._client.connect()
        self._objects = self._client.collections.get(f"Memstone_{NAME}")

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        from weaviate.classes.data import DataObject

        self._objects.data.insert_many(
            [
                DataObject(
                    properties={
                        "point_id": one.id,
                        "labels": [label + "." for label in labels_of(one.payload)],
                        "payload": json.dumps(one.payload),
                    },
                    uuid=uuid_of(one.id),
                    vector=list(one.vector),
                )
                for one in points
            ]
        )

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        from weaviate.classes.query import Filter, MetadataQuery

        own = Filter.by_property("labels").contains_any([f"user_id=s:{user}."])
        found = self._objects.query.near_vector(
            vector, limit=10, filters=own, return_metadata=MetadataQuery(distance=True), return_properties=["payload"]
        )
        return [json.loads(str(one.properties["payload"])) for one in found.objects]


class RedisVendor:
    """``redis-py``, with the commands of its search module."""

    def __init__(self, url: str, _: str) -> None:
        import redis

        self._client: Any = redis.Redis.from_url(url)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write them."""
        import numpy as np

        with self._client.pipeline(transaction=False) as pipe:
            for one in points:
                fields: dict[Any, Any] = {
                    "vector": np.asarray(one.vector, "<f4").tobytes(),
                    "body": json.dumps(one.payload),
                }
                pipe.hset(f"vendor:{one.id}", mapping={**fields, "user": one.payload["user_id"]})
            pipe.execute()

    def make_index(self, dimension: int) -> None:
        """Make an index of its own."""
        graph = ["HNSW", "6", "TYPE", "FLOAT32", "DIM", dimension, "DISTANCE_METRIC", "COSINE"]
        schema = ["user", "TAG", "vector", "VECTOR", *graph]
        self._client.execute_command("FT.CREATE", "vendor", "ON", "HASH", "PREFIX", 1, "vendor:", "SCHEMA", *schema)

    def search(self, vector: list[float], user: str) -> list[dict[str, Any]]:
        """Ask for ten."""
        import numpy as np
        from redis.commands.search.query import Query

        query = Query(f"(@user:{{{user}}})=>[KNN 10 @vector $v AS far]").sort_by("far").return_fields("body", "far")
        found: Any = self._client.ft("vendor").search(query.dialect(2), {"v": np.asarray(vector, "<f4").tobytes()})
        return [json.loads(one.body) for one in found.docs]
