"""OpenSearch, over its REST interface: like Elasticsearch, with its own kind of vector fields."""

from __future__ import annotations

from typing import Any

from memstone.adapters.vectors.elasticsearch import MOST, ElasticsearchStore
from memstone.adapters.vectors.labels import Clause


class OpenSearchStore(ElasticsearchStore):
    """See ``memstone.ports.index.VectorStore``."""

    name = "opensearch"

    def _vector_field(self, dimension: int) -> dict[str, Any]:
        method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
        return {"type": "knn_vector", "dimension": dimension, "method": method}

    def _settings(self) -> dict[str, Any]:
        return {"settings": {"index": {"knn": True}}}

    def _query(self, vector: Any, limit: int, clause: Clause) -> dict[str, Any]:
        asked: dict[str, Any] = {"vector": vector, "k": min(MOST, max(limit, self._config.candidates))}
        return {"query": {"knn": {"vector": asked if clause is True else {**asked, "filter": clause}}}}
