"""The chat routes: any application remembers by changing one address."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from retain.core.dialects.anthropic import Messages
from retain.core.dialects.base import Dialect
from retain.core.dialects.chat import Chat
from retain.core.dialects.responses import Responses
from retain.errors import InvalidInput
from retain.server.access import Caller, Reader
from retain.server.gateway import relay
from retain.server.gateway.hook import Exchange, Switches
from retain.server.gateway.identity import who
from retain.server.gateway.upstream import Target, returned
from retain.server.schemas.base import PROBLEMS
from retain.server.state import State

router = APIRouter(tags=["gateway"], responses=PROBLEMS)

_CHAT: Final = Chat()
_MESSAGES: Final = Messages()
_RESPONSES: Final = Responses()


@router.post("/v1/chat/completions")
@router.post("/chat/completions", include_in_schema=False)
async def chat(request: Request, caller: Reader) -> Response:
    """Chat completions, with memory."""
    return await passed_on(request, caller, _CHAT)


@router.post("/v1/messages")
async def messages(request: Request, caller: Reader) -> Response:
    """The messages API, with memory."""
    return await passed_on(request, caller, _MESSAGES)


@router.post("/v1/responses")
async def responses(request: Request, caller: Reader) -> Response:
    """The responses API, with memory."""
    return await passed_on(request, caller, _RESPONSES)


@router.post("/v1/embeddings")
async def embeddings(request: Request, caller: Reader) -> Response:  # noqa: ARG001 - a key is all it needs
    """Passed on as it is."""
    body, state = await _object(request), _state(request)
    targets = state.upstreams.targets(str(body.get("model") or ""))
    async with state.upstreams.asked(targets, "/embeddings", body, request.headers) as response:
        return Response(await response.aread(), response.status_code, returned(response))


@router.get("/v1/models")
async def models(request: Request, caller: Reader) -> Response:  # noqa: ARG001 - a key is all it needs
    """The models of every upstream."""
    state, found = _state(request), list[dict[str, Any]]()
    for one in state.upstreams.all:
        async with state.upstreams.asked([Target(one, "")], "/models", None, request.headers) as response:
            listed = json.loads(await response.aread()) if response.status_code == 200 else {}  # noqa: PLR2004
        found += [item for item in listed.get("data", []) if isinstance(item, dict)]
    return JSONResponse({"object": "list", "data": found})


async def passed_on(request: Request, caller: Caller, dialect: Dialect, **known: Any) -> Response:
    """Recall, ask the upstream, give its answer back, and form what was said."""
    body, state = await _object(request), _state(request)
    exchange = await _exchange(request, caller, dialect, body, **known)
    await exchange.recall(state.settings.gateway.recall_ms)
    exchange.tell()
    targets = state.upstreams.targets(str(exchange.body.get("model") or ""))
    asked = state.upstreams.asked(targets, dialect.path, exchange.request_for(targets[0].upstream), request.headers)
    response = await asked.__aenter__()
    try:
        headers = {**returned(response), **_about(exchange)}
        if exchange.body.get("stream") and response.status_code == 200:  # noqa: PLR2004
            return StreamingResponse(_closing(relay.stream(exchange, response, state.tasks), asked), 200, headers)
        answer = await relay.whole(exchange, response, state.tasks, headers)
    except BaseException:
        await asked.__aexit__(None, None, None)
        raise
    await asked.__aexit__(None, None, None)
    return answer


async def _closing(pieces: AsyncIterator[bytes], asked: Any) -> AsyncIterator[bytes]:
    """The pieces of an answer; the connection goes with the last of them, or with the client."""
    try:
        async for piece in pieces:
            yield piece
    finally:
        await pieces.aclose()  # type: ignore[attr-defined]  # a generator, which ends where it stands
        await asked.__aexit__(None, None, None)


async def _exchange(
    request: Request, caller: Caller, dialect: Dialect, body: dict[str, Any], *, agent_id: str | None = None
) -> Exchange:
    headers = dict(request.headers)
    if agent_id is not None:
        headers["x-agent-id"] = agent_id
    policy = caller.memory._engine.parts.policy  # noqa: SLF001 - the values a service reads
    about = who(caller, headers, body, policy.identity, request.state.request_id)
    switches = Switches.of(headers, policy, agent_route=agent_id is not None)
    return Exchange(caller, dialect, body, about, switches, policy, by_agent=agent_id is not None, headers=headers)


def _about(exchange: Exchange) -> dict[str, str]:
    receipt = exchange.pack.receipt_id if exchange.pack is not None else ""
    return {"X-Retain-Receipt": receipt or "none"}


async def _object(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.body())
    except ValueError as error:
        raise InvalidInput("Invalid JSON body") from error
    if not isinstance(found, dict):
        raise InvalidInput("the body must be an object")
    return found


def _state(request: Request) -> State:
    state: State = request.app.state.retain
    return state
