"""The chat routes of the gateway."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import JSONResponse, Response

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import Body, Dialect
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import Responses
from memstone.engine.background.worker import runs_with
from memstone.errors import InvalidInput, MemstoneError
from memstone.server.access import AuthenticatedRoute, Caller, Chatter, KeyHolder, read_headers
from memstone.server.errors import handle_memstone_error
from memstone.server.gateway import relay
from memstone.server.gateway.chat import GatewayChat
from memstone.server.gateway.identity import resolve_chat_identity
from memstone.server.gateway.relay import while_there
from memstone.server.gateway.rounds import Rounds, is_stream
from memstone.server.gateway.upstream import Target, headers_for_caller, list_upstream_models
from memstone.server.schemas import gateway as forms
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.state import ServiceState

router = APIRouter(tags=["gateway"], responses=PROBLEMS, route_class=AuthenticatedRoute)

Beta = Annotated[str | None, Query(max_length=16, description="accepted; the anthropic-beta header selects features")]
"""Anthropic's own clients send it with everything that is in beta."""

_CHAT: Final = Chat()
_MESSAGES: Final = Messages()
_RESPONSES: Final = Responses()


@router.post("/v1/chat/completions", **forms.CHAT)
@router.post("/chat/completions", include_in_schema=False, **forms.CHAT)
async def create_chat_completion(request: Request, caller: Chatter) -> Response:
    """Answer a request of the chat completions API, with memory."""
    return await passed_on(request, caller, _CHAT, await _read_body_object(request))


@router.post("/v1/messages", **forms.MESSAGES)
async def create_message(request: Request, caller: Chatter, beta: Beta = None) -> Response:  # noqa: ARG001 - see Beta
    """Answer a request of the messages API, with memory."""
    return await passed_on(request, caller, _MESSAGES, await _read_body_object(request))


@router.post("/v1/responses", **forms.RESPONSES)
async def create_response(request: Request, caller: Chatter) -> Response:
    """Answer a request of the responses API, with memory."""
    return await passed_on(request, caller, _RESPONSES, await _read_body_object(request))


@router.post("/agents/{agent_id:path}/run", **forms.RUN)
async def run_agent(request: Request, caller: Chatter, agent_id: Annotated[str, Path(max_length=256)]) -> Response:
    """Answer a chat completion with the model, instructions and memory of an agent."""
    agent = await caller.engine.ask(runs_with, agent_id)
    body = _as_agent(await _read_body_object(request), agent)
    return await passed_on(request, caller, _CHAT, body, agent_id=agent["id"])


@router.post("/v1/embeddings", **forms.EMBEDDINGS)
async def create_embeddings(request: Request, caller: Chatter) -> Response:  # noqa: ARG001 - a key is all it needs
    """Create embeddings: the request and the answer are passed on as they are."""
    return await _as_it_is(request, "/embeddings")


@router.post("/v1/messages/count_tokens", **forms.COUNT)
async def count_tokens(request: Request, caller: Chatter, beta: Beta = None) -> Response:  # noqa: ARG001 - see Beta
    """Count tokens: the request is passed on as it is, so what memory adds is not counted."""
    return await _as_it_is(request, "/messages/count_tokens")


async def _as_it_is(request: Request, path: str) -> Response:
    body, state = await _read_body_object(request), _service_state(request)
    targets = state.upstreams.targets(str(body.get("model") or ""))

    async def ask_upstream() -> Response:
        async with state.upstreams.request_first(targets, path, lambda _: body, request.headers) as response:
            return Response(await response.aread(), response.status_code, headers_for_caller(response))

    return await while_there(request, ask_upstream())


@router.get("/v1/models", response_model=answer_form("ModelList"))
async def list_models(request: Request, caller: KeyHolder) -> Response:  # noqa: ARG001 - a key is all it needs
    """List the models of every upstream that answers, under the names to use here."""
    return JSONResponse(
        {"object": "list", "data": await list_upstream_models(_service_state(request).upstreams, request.headers)}
    )


async def passed_on(
    request: Request, caller: Caller, dialect: Dialect, body: dict[str, Any], agent_id: str | None = None
) -> Response:
    """Recall, ask the upstream, give its answer back, and form what was said."""
    exchange = _new_exchange(request, caller, dialect, body, agent_id)
    try:
        return await while_there(request, _passed_on(request, exchange, agent_id))
    except MemstoneError as error:
        answer = await handle_memstone_error(request, error)
        answer.headers.update(_receipt_headers(exchange))
        return answer


async def _passed_on(request: Request, exchange: GatewayChat, agent_id: str | None) -> Response:
    state, dialect, body = _service_state(request), exchange.dialect, exchange.body
    targets = state.upstreams.targets(str(body.get("model") or ""))
    await exchange.recall()

    async def ask(wanted: Body, *, trial: bool = False, failed: bool = False) -> Any:
        def build_request(target: Target) -> dict[str, Any]:
            return exchange.request_for(target, wanted)

        asked = state.upstreams.first
        return await asked(targets, dialect.path, build_request, request.headers, trial=trial, failed=failed)

    sent = {name: value for name, value in body.items() if agent_id is None or name != "session_id"}
    most, outage = state.settings.gateway.tool_rounds, state.upstreams.outage(targets)
    rounds = Rounds(exchange, ask, most, await exchange.rewrite_continuation(sent), outage)
    state.tasks.start(exchange.tell())
    response = await rounds.next()
    back = relay.relay_stream if body.get("stream") and is_stream(response) else relay.relay_full_answer
    return await back(exchange, rounds, response, state.tasks, _receipt_headers)


def _new_exchange(
    request: Request, caller: Caller, dialect: Dialect, body: dict[str, Any], agent_id: str | None
) -> GatewayChat:
    headers, state = read_headers(request.headers), _service_state(request)
    if agent_id is not None:
        headers["x-agent-id"] = agent_id
    policy = caller.engine.runtime.policy
    about = resolve_chat_identity(caller, headers, body, policy.identity, request.state.request_id)
    waits, by_agent = state.settings.gateway, agent_id is not None
    session = None if about.run_id == request.state.request_id else about.run_id
    limits = (waits.recall_ms, waits.profile_ms)
    return GatewayChat(caller, dialect, body, about, policy, *limits, headers, by_agent=by_agent, session=session)


def _as_agent(body: dict[str, Any], agent: dict[str, str]) -> dict[str, Any]:
    """Return a request as the agent makes it: its model, and its instructions in front."""
    model = agent["model"] or body.get("model")
    if not model:
        raise InvalidInput(
            f"agent {agent['id']!r} has no model", hint="set one for the agent, or name one in the request"
        )
    value = body.get("messages")
    if not isinstance(value, list) or not value:
        raise InvalidInput("messages must be a list that is not empty")
    lead = [{"role": "system", "content": agent["system_prompt"]}] if agent["system_prompt"] else []
    return {**body, "model": model, "messages": [*lead, *value]}


def _receipt_headers(exchange: GatewayChat) -> dict[str, str]:
    receipt = exchange.pack.receipt_id if exchange.pack is not None else ""
    answer = {"X-Memstone-Receipt": receipt or "none"}
    if exchange.degradations:
        answer["X-Memstone-Degraded"] = ", ".join(exchange.degradations)
    return answer


async def _read_body_object(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise InvalidInput("Invalid JSON body") from error
    if not isinstance(found, dict):
        raise InvalidInput("the body must be an object")
    return found


def _service_state(request: Request) -> ServiceState:
    state: ServiceState = request.app.state.memstone
    return state
