"""Embedding servers for ``WireServer``, as their vendors document them; the vendors' own clients accept them."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any, Final

from memstone.testing.wire import WireReply, WireRequest

KEY: Final = "sk-test-4711"
"""The key that ``fake_openai`` lets in."""

OPENAI_DIMENSION: Final = 1536
OLLAMA_MODEL: Final = "nomic-embed-text"
OLLAMA_DIMENSION: Final = 768


def raw_vector(text: str, dimension: int) -> list[float]:
    """What the fakes answer: made from the text alone, far from length one, exact in float32."""
    digest = hashlib.shake_256(text.encode()).digest(2 * dimension)
    return [number / 1024 for number in struct.unpack(f"<{dimension}h", digest)]


def fake_openai(request: WireRequest) -> WireReply:
    """``POST /v1/embeddings``; answers in reverse, since only ``index`` says what belongs to what."""
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return WireReply(401, json={"error": {"message": "Incorrect API key", "code": "invalid_api_key"}})
    if (request.method, request.path) != ("POST", "/v1/embeddings"):
        return WireReply(404, json={"error": {"message": "no such route"}})
    asked = request.json
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    rows = [_openai_row(place, text, asked) for place, text in enumerate(texts)]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return WireReply(json={"object": "list", "model": asked["model"], "data": rows[::-1], "usage": usage})


def _openai_row(place: int, text: str, asked: dict[str, Any]) -> dict[str, Any]:
    vector = raw_vector(text, asked.get("dimensions", OPENAI_DIMENSION))
    as_text = asked.get("encoding_format") == "base64"
    return {"object": "embedding", "index": place, "embedding": _base64(vector) if as_text else vector}


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def fake_ollama(request: WireRequest) -> WireReply:
    """``POST /api/embeddings`` of a server that has one model."""
    if (request.method, request.path) != ("POST", "/api/embeddings"):
        return WireReply(404, json={"error": "no such route"})
    if request.json["model"] != OLLAMA_MODEL:
        return WireReply(404, json={"error": f"model {request.json['model']!r} not found"})
    return WireReply(json={"embedding": raw_vector(request.json["prompt"], OLLAMA_DIMENSION)})
