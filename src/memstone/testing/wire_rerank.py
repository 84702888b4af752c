"""Rerankers for ``WireServer``, as their vendors document them; Cohere's own client accepts the first.

All give a document the share of the query's words that it holds, so a test can say what the order must be.
"""

from __future__ import annotations

from typing import Any, Final

from memstone.testing.wire import WireReply, WireRequest

KEY: Final = "co-test-4711"
"""The key that ``fake_cohere`` and ``fake_jina`` let in."""

TEI_BATCH: Final = 32
_COHERE_FIELDS: Final = {"model", "query", "documents", "top_n", "max_tokens_per_doc", "priority", "relevant_spans"}
_JINA_FIELDS: Final = {"model", "query", "documents", "top_n", "return_documents"}
_TEI_FIELDS: Final = {"query", "texts", "truncate", "truncation_direction", "raw_scores", "return_text"}


def relevance(query: str, document: str) -> float:
    """The share of the query's words that stand in the document."""
    words = query.lower().split()
    held = set(document.lower().split())
    return sum(word in held for word in words) / len(words) if words else 0.0


def fake_cohere(request: WireRequest) -> WireReply:
    """``POST /v2/rerank`` of Cohere, as vLLM serves it too."""
    refused = _refused(request, "/v2/rerank", _COHERE_FIELDS)
    if refused is not None:
        return WireReply(refused[0], json={"id": "07734bd2", "message": refused[1]})
    rows = [{"index": place, "relevance_score": score} for place, score in _best(request.json)]
    meta = {"api_version": {"version": "2", "is_experimental": False}, "billed_units": {"search_units": 1}}
    return WireReply(json={"id": "07734bd2", "results": rows, "meta": meta})


def fake_jina(request: WireRequest) -> WireReply:
    """``POST /v1/rerank`` of Jina: the documents come back unless one says that they need not."""
    refused = _refused(request, "/v1/rerank", _JINA_FIELDS)
    if refused is not None:
        return WireReply(refused[0], json={"detail": refused[1]})
    asked = request.json
    rows: list[dict[str, Any]] = [{"index": place, "relevance_score": score} for place, score in _best(asked)]
    if asked.get("return_documents", True):
        rows = [{**row, "document": {"text": asked["documents"][row["index"]]}} for row in rows]
    return WireReply(json={"model": asked["model"], "object": "list", "usage": {"total_tokens": 7}, "results": rows})


def fake_tei(request: WireRequest) -> WireReply:
    """``POST /rerank`` of Text Embeddings Inference; it takes 32 texts at once and ranks all of them."""
    if (request.method, request.path) != ("POST", "/rerank"):
        return WireReply(404)
    asked = request.json
    texts = asked.get("texts")
    if not isinstance(asked.get("query"), str) or not _is_texts(texts) or asked.keys() - _TEI_FIELDS:
        return WireReply(422, json={"error": "the request cannot be read", "error_type": "validation"})
    if len(texts) > TEI_BATCH:
        problem = f"batch size {len(texts)} > maximum allowed batch size {TEI_BATCH}"
        return WireReply(413, json={"error": problem, "error_type": "validation"})
    ranks = _ranked(asked["query"], texts)
    return WireReply(json=[{"index": place, "score": score} for place, score in ranks])


def _refused(request: WireRequest, path: str, fields: set[str]) -> tuple[int, str] | None:
    """The status and the words of a refusal; None for a request as it should be."""
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return 401, "invalid api token"
    if (request.method, request.path) != ("POST", path):
        return 404, "no such route"
    asked = request.json
    if not all(isinstance(asked.get(name), str) and asked[name] for name in ("model", "query")):
        return 400, "invalid request: model and query are required"
    if not _is_texts(asked.get("documents")):
        return 400, "invalid request: list of documents must not be empty"
    if not isinstance(asked.get("top_n", 1), int) or asked.get("top_n", 1) < 1:
        return 400, "invalid request: top_n must be a positive integer"
    unknown = sorted(asked.keys() - fields)
    return (400, f"invalid request: unknown field {unknown[0]}") if unknown else None


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) and text.strip() for text in value)


def _best(asked: dict[str, Any]) -> list[tuple[int, float]]:
    return _ranked(asked["query"], asked["documents"])[: asked.get("top_n")]


def _ranked(query: str, texts: list[str]) -> list[tuple[int, float]]:
    scores = [relevance(query, text) for text in texts]
    return sorted(enumerate(scores), key=lambda rank: (-rank[1], rank[0]))
