"""An upstream that answers with exactly the bytes it is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from fastapi import Request  # noqa: TC002 - read when the route is made
from fastapi.responses import Response, StreamingResponse

from tests.server.gate import Gate

CHAT = "/v1/chat/completions"
EVENTS = "text/event-stream"


def answers(gate: Gate, path: str, value: Callable[[], Response], *, after: int = 0) -> None:
    """Let the upstream answer in this way from now on, or after it has answered some times as it always does."""
    routes, asked = gate.upstream.app.router.routes, list[Any]()
    before: Any = next(one for one in routes if getattr(one, "path", "") == path)
    routes.remove(before)

    async def handler(request: Request) -> Any:
        asked.append(request)
        if len(asked) <= after:
            return await before.endpoint(request)
        gate.upstream.seen.append(await request.json())
        return value()

    gate.upstream.app.post(path)(handler)


def whole(text: str | bytes, kind: str = "application/json") -> Callable[[], Response]:
    """One piece."""
    return lambda: Response(text, media_type=kind)


def pieces(*texts: str | bytes) -> Callable[[], Response]:
    """A stream that ends after these."""
    return lambda: StreamingResponse(iter(texts), media_type=EVENTS)


def in_turn(*made: Callable[[], Response]) -> Callable[[], Response]:
    """One after the other."""
    left = list(made)

    def value() -> Response:
        return left.pop(0)()

    return value


def chunk(finish: str | None = None, **delta: Any) -> str:
    """A chunk of a chat completion."""
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**head, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n"


def post(gate: Gate, body: bytes | dict[str, Any], path: str = CHAT, **headers: str) -> httpx2.Response:
    """Ask as alice, without a client that has its own ideas."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Authorization": f"Bearer {gate.key(user_id='alice')}", "Content-Type": "application/json", **headers}
    return httpx2.post(gate.url + path, content=content, headers=sent, timeout=120)
