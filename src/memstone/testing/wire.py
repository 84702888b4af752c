"""A loopback HTTP server that records requests and returns prepared answers.

It proves what really goes over the wire::

    with WireServer() as server:
        server.script(WireReply(json={"ok": True}))
        ...                                   # talk to server.url
        assert server.requests[0].json == {...}
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json as jsonlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias

# --- a loopback HTTP server that records what it is sent and answers what it is told ----------------------------------


_JOIN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as it arrived; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return jsonlib.loads(self.body)


@dataclass(frozen=True, slots=True)
class WireReply:
    """An answer: ``json``, or raw ``body``, or ``chunks`` sent one by one as they come.

    ``delay`` seconds pass before it, unless the server ends before; with ``hang_up`` the connection is closed without
    a word.
    """

    status: int = 200
    json: Any = None
    body: bytes = b""
    chunks: Iterable[bytes] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang_up: bool = False

    def payload(self) -> bytes:
        """Return the bytes of the body."""
        return self.body if self.json is None else jsonlib.dumps(self.json).encode()


Handler: TypeAlias = Callable[[WireRequest], WireReply]


class WireServer:
    """Listens on a free port of 127.0.0.1 while its ``with`` block runs.

    Answers come from the script first, then from ``handler``; without either the answer is a 500 that
    says so.
    """

    def __init__(self, handler: Handler | None = None) -> None:
        self.requests: list[WireRequest] = []
        self.handler = handler
        self._script: deque[WireReply] = deque()
        self._server = _Listener(self._answer)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address without a path: ``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def script(self, *replies: WireReply) -> None:
        """Set answers for the next requests, in order."""
        self._script.extend(replies)

    def hang_up(self) -> None:
        """End the connections that clients keep open; new ones are welcome."""
        self._server.hang_up_all()

    def _answer(self, request: WireRequest) -> WireReply:
        self.requests.append(request)
        with suppress(IndexError):
            return self._script.popleft()
        if self.handler is None:
            return WireReply(500, body=b"the script has no further answer")
        try:
            return self.handler(request)
        except Exception as error:  # noqa: BLE001 - on this thread nobody would see it; as an answer the test does
            return WireReply(500, body=f"the handler failed: {error!r}".encode())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.over.set()
        self._server.shutdown()
        self._thread.join(_JOIN_SECONDS)
        self._server.hang_up_all()
        self._server.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Handler) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answer = answer
        self.over = threading.Event()
        self._connections: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.append(connection)
        return connection, address

    def hang_up_all(self) -> None:
        """End connections that clients keep open, and with them their threads."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that went away; what it sees is what a test checks."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one packet, at once: otherwise every exchange waits 40 ms for a delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Listener

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self._send(self.server.answer(self._read_request()))
        self.wfile.flush()

    def _read_request(self) -> WireRequest:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return WireRequest(self.command, self.path, headers, body)

    def _send(self, reply: WireReply) -> None:
        if reply.hang_up or (reply.delay and self.server.over.wait(reply.delay)):
            self.close_connection = True
        elif reply.chunks is not None:
            self._send_chunks(reply, reply.chunks)
        else:
            payload = reply.payload()
            self._send_head(reply, {"content-length": str(len(payload))})
            self.wfile.write(payload)

    def _send_head(self, reply: WireReply, framing: dict[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **framing, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_chunks(self, reply: WireReply, chunks: Iterable[bytes]) -> None:
        self._send_head(reply, {"transfer-encoding": "chunked"})
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


# --- embedding servers for ``WireServer``, as their vendors document them; the vendors' own clients -------------------


KEY: Final = "sk-test-4711"
"""The key that ``fake_openai`` lets in."""

OPENAI_DIMENSION: Final = 1536
OLLAMA_MODEL: Final = "nomic-embed-text"
OLLAMA_DIMENSION: Final = 768


def raw_vector(text: str, dimension: int) -> list[float]:
    """Return what the fakes answer: made from the text alone, far from length one, exact in float32."""
    digest = hashlib.shake_256(text.encode()).digest(2 * dimension)
    return [number / 1024 for number in struct.unpack(f"<{dimension}h", digest)]


def fake_openai(request: WireRequest) -> WireReply:
    """Answer ``POST /v1/embeddings`` in reverse, since only ``index`` says what belongs to what."""
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
    return {"object": "embedding", "index": place, "embedding": _encode_vector(vector) if as_text else vector}


def _encode_vector(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def fake_ollama(request: WireRequest) -> WireReply:
    """Answer ``POST /api/embeddings`` of a server that has one model."""
    if (request.method, request.path) != ("POST", "/api/embeddings"):
        return WireReply(404, json={"error": "no such route"})
    if request.json["model"] != OLLAMA_MODEL:
        return WireReply(404, json={"error": f"model {request.json['model']!r} not found"})
    return WireReply(json={"embedding": raw_vector(request.json["prompt"], OLLAMA_DIMENSION)})


# --- a chat server for ``WireServer``, as OpenAI documents it; the official client accepts it -------------------------


_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_MAX_NAME_CHARS: Final = 64
_NUMBERS: Final = itertools.count(1)


def completion_reply(
    content: str | None,
    *,
    model: str = "gpt-4o-mini",
    finish_reason: str = "stop",
    refusal: str | None = None,
    tool_calls: Sequence[tuple[str, str]] = (),
    usage: tuple[int, int] = (11, 7),
) -> WireReply:
    """Return one answer.

    ``tool_calls`` are names with their arguments as JSON text, ``usage`` tokens read and written.
    """
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
    if tool_calls:
        message["tool_calls"] = [_build_tool_call(name, arguments) for name, arguments in tool_calls]
    counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
    return WireReply(
        json={
            "id": f"chatcmpl-{next(_NUMBERS)}",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": model,
            "choices": [choice],
            "usage": counted,
        }
    )


def _build_tool_call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{next(_NUMBERS)}", "type": "function", "function": {"name": name, "arguments": arguments}}


def wrong_request(message: str, param: str | None = None, code: str | None = None) -> WireReply:
    """Return a 400 in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return WireReply(400, json={"error": error})


class FakeChat:
    """Answers with the given texts or replies in order, then with the last one for ever.

    ``refuses`` names the response formats this server does not have; ``reasoning`` makes it refuse the parameters that
    reasoning models refuse. With ``models`` it has only those.
    """

    def __init__(
        self,
        *answers: str | WireReply,
        refuses: Iterable[str] = (),
        reasoning: bool = False,
        key: str = KEY,
        path: str = "/v1/chat/completions",
        models: Iterable[str] | None = None,
    ) -> None:
        self._answers = list(answers or ("ok",))
        self._refuses = frozenset(refuses)
        self._reasoning = reasoning
        self._key = key
        self._path = path
        self._models = None if models is None else frozenset(models)

    def __call__(self, request: WireRequest) -> WireReply:
        """Check a request and answer it."""
        if not self._has_key(request):
            return WireReply(401, json={"error": {"message": "Incorrect API key", "code": "invalid_api_key"}})
        if (request.method, request.path) != ("POST", self._path):
            return WireReply(404, json={"error": {"message": "no such route"}})
        asked = request.json
        if self._models is not None and asked.get("model") not in self._models:
            problem = f"The model `{asked.get('model')}` does not exist"
            return WireReply(404, json={"error": {"message": problem, "code": "model_not_found"}})
        return self._wrong(asked) or self._next(asked)

    def _has_key(self, request: WireRequest) -> bool:
        return request.headers.get("authorization") == f"Bearer {self._key}"

    def _next(self, asked: dict[str, Any]) -> WireReply:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return completion_reply(answer, model=asked["model"]) if isinstance(answer, str) else answer

    def _wrong(self, asked: dict[str, Any]) -> WireReply | None:
        return (
            _wrong_messages(asked.get("messages"))
            or self._wrong_parameters(asked)
            or self._wrong_format(asked)
            or _wrong_tools(asked.get("tools", ()))
        )

    def _wrong_parameters(self, asked: dict[str, Any]) -> WireReply | None:
        if not isinstance(asked.get("model"), str):
            return wrong_request("you must provide a model parameter", "model")
        if self._reasoning and "max_tokens" in asked:
            text = "Unsupported parameter: 'max_tokens' is not supported with this model."
            return wrong_request(f"{text} Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter")
        if self._reasoning and asked.get("temperature", 1) != 1:
            return wrong_request("'temperature' does not support this value", "temperature", "unsupported_value")
        return None

    def _wrong_format(self, asked: dict[str, Any]) -> WireReply | None:
        response_format = asked.get("response_format", {"type": "text"})
        kind = response_format["type"]
        if kind in self._refuses:
            return wrong_request(f"'response_format' of type '{kind}' is not supported with this model", None)
        if kind == "json_object" and "json" not in str(asked["messages"]).lower():
            return wrong_request(
                "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'"
            )
        if kind == "json_schema":
            return _wrong_schema(response_format["json_schema"])
        return None


def _wrong_messages(messages: Any) -> WireReply | None:
    if not isinstance(messages, list) or not messages:
        return wrong_request("'messages' must not be empty", "messages")
    for at, message in enumerate(messages):
        if message.get("role") not in _ROLES or not isinstance(message.get("content"), str):
            return wrong_request(f"messages[{at}] is invalid", "messages")
    return None


def _wrong_tools(tools: Any) -> WireReply | None:
    for at, tool in enumerate(tools):
        if tool.get("type") != "function" or not tool.get("function", {}).get("name"):
            return wrong_request(f"tools[{at}] is invalid", "tools")
    return None


def _wrong_schema(values: dict[str, Any]) -> WireReply | None:
    name, schema = values.get("name", ""), values.get("schema", {})
    if not name.replace("-", "_").isidentifier() or len(name) > _MAX_NAME_CHARS:
        return wrong_request("'response_format.json_schema.name' is invalid", "response_format")
    if values.get("strict") and (schema.get("type") != "object" or not _is_strict(schema)):
        return wrong_request(f"Invalid schema for response_format '{name}': not strict", "response_format")
    return None


def _is_strict(schema: Any) -> bool:
    """Return whether every object names all its properties as required and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(schema.get("properties", ())):
            return False
    return all(map(_is_strict, schema.values()))


# --- rerankers for ``WireServer``, as their vendors document them; Cohere's own client accepts the --------------------


WIRE_RERANK_KEY: Final = "co-test-4711"
"""The key that ``fake_cohere``, ``fake_jina`` and ``fake_zeroentropy`` let in."""

TEI_BATCH: Final = 32
_COHERE_FIELDS: Final = {"model", "query", "documents", "top_n", "max_tokens_per_doc", "priority", "relevant_spans"}
_JINA_FIELDS: Final = {"model", "query", "documents", "top_n", "return_documents"}
_ZEROENTROPY_FIELDS: Final = {"model", "query", "documents", "top_n", "latency"}
_NO_MODEL: Final = "none-such"
"""The name of a model that no vendor has."""
_TEI_FIELDS: Final = {"query", "texts", "truncate", "truncation_direction", "raw_scores", "return_text"}


def relevance_score(query: str, document: str) -> float:
    """Return the share of the query's words that are in the document."""
    words = query.lower().split()
    existing = set(document.lower().split())
    return sum(word in existing for word in words) / len(words) if words else 0.0


def fake_cohere(request: WireRequest) -> WireReply:
    """Answer ``POST /v2/rerank`` of Cohere, as vLLM serves it too."""
    refused = _find_refusal(request, "/v2/rerank", _COHERE_FIELDS)
    if refused is not None:
        return WireReply(refused[0], json={"id": "07734bd2", "message": refused[1]})
    rows = [{"index": place, "relevance_score": score} for place, score in _top_documents(request.json)]
    meta = {"api_version": {"version": "2", "is_experimental": False}, "billed_units": {"search_units": 1}}
    return WireReply(json={"id": "07734bd2", "results": rows, "meta": meta})


def fake_jina(request: WireRequest) -> WireReply:
    """Answer ``POST /v1/rerank`` of Jina: the documents come back unless one says that they need not."""
    refused = _find_refusal(request, "/v1/rerank", _JINA_FIELDS)
    if refused is not None:
        return WireReply(refused[0], json={"detail": refused[1]})
    asked = request.json
    rows: list[dict[str, Any]] = [{"index": place, "relevance_score": score} for place, score in _top_documents(asked)]
    if asked.get("return_documents", True):
        rows = [{**row, "document": {"text": asked["documents"][row["index"]]}} for row in rows]
    return WireReply(json={"model": asked["model"], "object": "list", "usage": {"total_tokens": 7}, "results": rows})


def fake_zeroentropy(request: WireRequest) -> WireReply:
    """Answer ``POST /v1/models/rerank`` of ZeroEntropy."""
    refused = _find_refusal(request, "/v1/models/rerank", _ZEROENTROPY_FIELDS)
    if refused is not None:
        return WireReply(refused[0], json={"detail": refused[1]})
    rows = [{"index": place, "relevance_score": score} for place, score in _top_documents(request.json)]
    spent = {"total_bytes": 64, "total_tokens": 7, "e2e_latency": 0.1, "inference_latency": 0.1}
    mode = request.json.get("latency") or "fast"
    return WireReply(json={"results": rows, "actual_latency_mode": mode, **spent})


def fake_tei(request: WireRequest) -> WireReply:
    """Answer ``POST /rerank`` of Text Embeddings Inference; it takes 32 texts at once and ranks all of them."""
    if (request.method, request.path) != ("POST", "/rerank"):
        return WireReply(404)
    asked = request.json
    texts = asked.get("texts")
    if not isinstance(asked.get("query"), str) or not _is_texts(texts) or asked.keys() - _TEI_FIELDS:
        return WireReply(422, json={"error": "the request cannot be read", "error_type": "validation"})
    if len(texts) > TEI_BATCH:
        problem = f"batch size {len(texts)} > maximum allowed batch size {TEI_BATCH}"
        return WireReply(413, json={"error": problem, "error_type": "validation"})
    ranks = _rank_documents(asked["query"], texts)
    return WireReply(json=[{"index": place, "score": score} for place, score in ranks])


def _find_refusal(request: WireRequest, path: str, fields: set[str]) -> tuple[int, str] | None:
    """Return the status and the words of a refusal; None for a request as it should be."""
    if request.headers.get("authorization") != f"Bearer {WIRE_RERANK_KEY}":
        return 401, "invalid api token"
    if (request.method, request.path) != ("POST", path):
        return 404, "no such route"
    asked = request.json
    if not all(isinstance(asked.get(name), str) and asked[name] for name in ("model", "query")):
        return 400, "invalid request: model and query are required"
    if asked["model"] == _NO_MODEL:
        return 404, f"model {_NO_MODEL!r} not found"
    problem = _find_bad_field(asked, fields)
    return (400, f"invalid request: {problem}") if problem else None


def _find_bad_field(asked: dict[str, Any], fields: set[str]) -> str:
    if not _is_texts(asked.get("documents")):
        return "list of documents must not be empty"
    if not isinstance(asked.get("top_n", 1), int) or asked.get("top_n", 1) < 1:
        return "top_n must be a positive integer"
    unknown = sorted(asked.keys() - fields)
    return f"unknown field {unknown[0]}" if unknown else ""


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) and text.strip() for text in value)


def _top_documents(asked: dict[str, Any]) -> list[tuple[int, float]]:
    return _rank_documents(asked["query"], asked["documents"])[: asked.get("top_n")]


def _rank_documents(query: str, texts: list[str]) -> list[tuple[int, float]]:
    scores = [relevance_score(query, text) for text in texts]
    return sorted(enumerate(scores), key=lambda rank: (-rank[1], rank[0]))
