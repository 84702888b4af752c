"""A model service on the loopback, in the protocol of OpenAI: vectors by words, and facts that a test has chosen.

It uses nothing but the standard library, because mem0's own environment runs it as well.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

DIMENSIONS = 256


@dataclass
class Models:
    """What the service answers: the facts to extract, or a plain text; and what it was asked."""

    url: str = ""
    facts: list[str] = field(default_factory=list)
    raw: str | None = None
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one request."""
        self.asked.append(body)
        if path.endswith("/embeddings"):
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            rows = [{"object": "embedding", "index": at, "embedding": vector(one)} for at, one in enumerate(texts)]
            return {"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        message = {"role": "assistant", "content": self.raw if self.raw is not None else self._facts()}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}

    def _facts(self) -> str:
        rows = [{"text": fact, "attributed_to": "user", "turns": [1], "quote": fact} for fact in self.facts]
        return json.dumps({"memory": rows})


def vector(text: str) -> list[float]:
    """Return a vector in which texts with common words are near each other."""
    made = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        made[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSIONS] += 1.0
    length = math.sqrt(sum(one * one for one in made)) or 1.0
    return [one / length for one in made]


@contextmanager
def serve_models() -> Iterator[Models]:
    """Run the service for a while."""
    models = Models()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = models.answer(self.path, body)
            failed = models.status != 200 and self.path.endswith("/chat/completions")
            raw = json.dumps({"error": {"message": "down"}} if failed else answer).encode()
            self.send_response(models.status if failed else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    models.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield models
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
