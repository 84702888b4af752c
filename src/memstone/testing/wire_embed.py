"""Fake embedding and reranking servers in the dialects of several vendors.

Each checks what it is sent and is accepted by the vendor's own client. The vector of a text is ``raw_vector``, that of
a question is another one where the vendor tells the two apart.
"""

from __future__ import annotations

import base64
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from memstone.testing.wire import KEY, WireReply, WireRequest, raw_vector, relevance_score

EMBED_MODEL: Final = "embed-1"
"""The model that these servers have."""

DIMENSION: Final = 8
QUERY: Final = "query: "
"""What stands before a question, for models that embed it in another way."""


class EmbedFake(ABC):
    """Checks a request and answers it; ``replies`` are given first."""

    path: str
    fields: frozenset[str]
    most: int = 2048

    def __init__(self, *replies: WireReply, key: str = KEY) -> None:
        self._replies = list(replies)
        self._key = key

    def __call__(self, request: WireRequest) -> WireReply:
        """Answer one request."""
        if not self.has_key(request):
            return self.refuse(401, "invalid api token")
        if request.method != "POST" or request.path not in self.path.split():
            return self.refuse(404, "no such route")
        if self._replies:
            return self._replies.pop(0)
        asked = request.json
        if self.model_of(asked) != EMBED_MODEL:
            return self.refuse(404, f"model {self.model_of(asked)!r} not found")
        problem = self._problem(asked)
        return self.refuse(400, problem) if problem else self.reply(asked)

    def _problem(self, asked: dict[str, Any]) -> str:
        unknown = sorted(asked.keys() - self.fields)
        if unknown:
            return f"{unknown[0]}: Extra inputs are not permitted"
        texts = self.texts_of(asked)
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            return "texts must not be empty"
        return f"at most {self.most} texts" if len(texts) > self.most else self.check(asked)

    def has_key(self, request: WireRequest) -> bool:
        """Return whether the key is the right one."""
        return request.headers.get("authorization") == f"Bearer {self._key}"

    def model_of(self, asked: dict[str, Any]) -> str:
        """Return which model is asked."""
        model: str = asked.get("model", "")
        return model

    def check(self, asked: dict[str, Any]) -> str:  # noqa: ARG002 - for those who have more to say
        """Return what is wrong with a request; '' if nothing is."""
        return ""

    @abstractmethod
    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        """Return the texts in a request."""

    @abstractmethod
    def refuse(self, status: int, message: str) -> WireReply:
        """Return an error in the vendor's form."""

    @abstractmethod
    def reply(self, asked: dict[str, Any]) -> WireReply:
        """Return the vectors in the vendor's form."""


def _list_rows(rows: Sequence[list[float]], *, as_text: bool = False) -> list[dict[str, Any]]:
    """Return rows in reverse, since only ``index`` says what belongs to what.

    Vectors are as OpenAI's client asks for them.
    """
    made = [_as_base64(row) if as_text else row for row in rows]
    return [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(made)][::-1]


def _as_base64(row: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()


class FakeEmbeddings(EmbedFake):
    """OpenAI's dialect at any path; ``dimensions`` is the name of the parameter for shorter vectors."""

    def __init__(self, *replies: WireReply, path: str = "/v1/embeddings", dimensions: str = "dimensions") -> None:
        super().__init__(*replies)
        self.path = path
        self.fields = frozenset({"model", "input", "encoding_format", dimensions})
        self._dimensions = dimensions

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        texts = asked.get("input")
        return [texts] if isinstance(texts, str) else texts or []

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"error": {"message": message, "code": "invalid_api_key"}})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        length = asked.get(self._dimensions) or DIMENSION
        rows = [raw_vector(text, length) for text in self.texts_of(asked)]
        data = _list_rows(rows, as_text=asked.get("encoding_format") == "base64")
        usage = {"prompt_tokens": 3, "total_tokens": 3, "completion_tokens": 0}
        return WireReply(json={"id": "1", "object": "list", "model": asked["model"], "data": data, "usage": usage})


class FakeAzureEmbeddings(FakeEmbeddings):
    """The same in a deployment of Azure OpenAI."""

    def __init__(self, *replies: WireReply) -> None:
        super().__init__(*replies, path=f"/openai/deployments/{EMBED_MODEL}/embeddings?api-version=2024-10-21")

    def has_key(self, request: WireRequest) -> bool:
        return request.headers.get("api-key") == self._key


class FakeGeminiEmbeddings(EmbedFake):
    """``POST /{version}/models/{model}:batchEmbedContents``; a wrong key is a 400, as there."""

    path = " ".join(f"/{version}/models/{EMBED_MODEL}:batchEmbedContents" for version in ("v1", "v1beta"))
    fields = frozenset({"requests"})
    most = 100

    def has_key(self, request: WireRequest) -> bool:
        return request.headers.get("x-goog-api-key") == self._key

    def model_of(self, asked: dict[str, Any]) -> str:
        names = {one.get("model", "").removeprefix("models/") for one in asked["requests"]}
        return names.pop() if len(names) == 1 else ""

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        return [one["content"]["parts"][0]["text"] for one in asked["requests"]]

    def check(self, asked: dict[str, Any]) -> str:
        known = {"model", "content", "taskType", "title", "outputDimensionality"}
        unknown = sorted(name for one in asked["requests"] for name in one.keys() - known)
        return f"Unknown name {unknown[0]!r}" if unknown else ""

    def refuse(self, status: int, message: str) -> WireReply:
        details = [{"reason": "API_KEY_INVALID"}] if status == 401 else []  # noqa: PLR2004 - what others answer
        code = 400 if details else status
        error = {"code": code, "message": message, "status": "INVALID_ARGUMENT", "details": details}
        return WireReply(code, json={"error": error})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        rows = []
        for one, text in zip(asked["requests"], self.texts_of(asked), strict=True):
            prefix = QUERY if one.get("taskType") == "RETRIEVAL_QUERY" else ""
            rows.append({"values": raw_vector(prefix + text, one.get("outputDimensionality", DIMENSION))})
        return WireReply(json={"embeddings": rows})


class FakeCohereEmbeddings(EmbedFake):
    """``POST /v2/embed``."""

    path = "/v2/embed"
    fields = frozenset({"model", "texts", "input_type", "embedding_types", "output_dimension", "truncate"})
    most = 96

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        return asked.get("texts") or []

    def check(self, asked: dict[str, Any]) -> str:
        kinds = ("search_document", "search_query", "classification", "clustering")
        return "" if asked.get("input_type") in kinds else "invalid request: valid input_type must be provided"

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"id": "07734bd2", "message": message})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        prefix = QUERY if asked["input_type"] == "search_query" else ""
        rows = [raw_vector(prefix + text, asked.get("output_dimension", DIMENSION)) for text in asked["texts"]]
        meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 3}}
        body = {"id": "07734bd2", "embeddings": {"float": rows}, "texts": asked["texts"], "meta": meta}
        return WireReply(json={**body, "response_type": "embeddings_by_type"})


class FakeVoyageEmbeddings(EmbedFake):
    """``POST /v1/embeddings`` of Voyage AI."""

    path = "/v1/embeddings"
    fields = frozenset("model input input_type truncation output_dimension output_dtype encoding_format".split())
    most = 1000

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        return asked.get("input") or []

    def check(self, asked: dict[str, Any]) -> str:
        return "" if asked.get("input_type") in (None, "document", "query") else "input_type is invalid"

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"detail": message})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        prefix = QUERY if asked.get("input_type") == "query" else ""
        length = asked.get("output_dimension") or DIMENSION
        rows = [raw_vector(prefix + text, length) for text in asked["input"]]
        data = _list_rows(rows, as_text=asked.get("encoding_format") == "base64")[::-1]
        return WireReply(json={"object": "list", "data": data, "model": asked["model"], "usage": {"total_tokens": 3}})


class FakeTeiEmbeddings(EmbedFake):
    """``POST /embed`` of Text Embeddings Inference behind a gateway that wants a token."""

    path = "/embed"
    fields = frozenset("inputs truncate truncation_direction prompt_name normalize dimensions".split())
    most = 32

    def model_of(self, asked: dict[str, Any]) -> str:  # noqa: ARG002 - it has one, which nobody names
        return EMBED_MODEL

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        inputs = asked.get("inputs")
        return [inputs] if isinstance(inputs, str) else inputs or []

    def check(self, asked: dict[str, Any]) -> str:
        return "" if asked.get("prompt_name") in (None, "query") else "`default_prompt` is not in the model"

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"error": message, "error_type": "validation"})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        prefix = QUERY if asked.get("prompt_name") == "query" else ""
        length = asked.get("dimensions") or DIMENSION
        return WireReply(json=[raw_vector(prefix + text, length) for text in self.texts_of(asked)])


class FakeOllamaEmbeddings(EmbedFake):
    """``POST /api/embeddings`` with one text, and ``/api/embed`` with several."""

    path = "/api/embeddings /api/embed"
    fields = frozenset("model prompt input truncate options keep_alive".split())

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        return asked.get("input") or [asked.get("prompt")]

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"error": message})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        rows = [raw_vector(text, DIMENSION) for text in self.texts_of(asked)]
        if "prompt" in asked:
            return WireReply(json={"embedding": rows[0]})
        return WireReply(json={"model": asked["model"], "embeddings": rows, "prompt_eval_count": 3})


class FakeVoyageRerank(EmbedFake):
    """``POST /v1/rerank`` of Voyage AI."""

    path = "/v1/rerank"
    fields = frozenset("model query documents top_k truncation return_documents".split())
    most = 1000

    def texts_of(self, asked: dict[str, Any]) -> Sequence[Any]:
        return [asked.get("query"), *(asked.get("documents") or [None])]

    def refuse(self, status: int, message: str) -> WireReply:
        return WireReply(status, json={"detail": message})

    def reply(self, asked: dict[str, Any]) -> WireReply:
        scores = [relevance_score(asked["query"], text) for text in asked["documents"]]
        ranks = sorted(enumerate(scores), key=lambda rank: (-rank[1], rank[0]))[: asked.get("top_k")]
        data = [{"index": place, "relevance_score": score} for place, score in ranks]
        return WireReply(json={"object": "list", "data": data, "model": asked["model"], "usage": {"total_tokens": 3}})
