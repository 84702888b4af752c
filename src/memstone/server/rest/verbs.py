"""``/v1/verbs``: every method of ``Memory`` under its own name, as ``memstone.Client`` calls it.

The body holds the arguments of the method, the answer is what the method answers: nothing is renamed on the way. The
routes are made from ``memstone.remote.verbs``, and their forms from the methods' signatures.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from memstone.async_memory import AsyncMemory
from memstone.model.access import Verb
from memstone.model.context import ContextPack
from memstone.remote.verbs import VERBS, Call
from memstone.server.access import (
    Admin,
    Caller,
    Keyed,
    KeyHolder,
    Reader,
    Writer,
    is_bound,
    needs_operator,
    require_confirmation,
    require_setting_rights,
    resolve_scope,
)
from memstone.server.rest.verb_forms import call_parameters, form_of
from memstone.server.schemas.base import PROBLEMS, ScopedBody, answer_form, example_config

router = APIRouter(prefix="/v1", tags=["verbs"], responses=PROBLEMS, route_class=Keyed)

NDJSON: Final = "application/x-ndjson"
_LINES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "one JSON object a line", "content": {NDJSON: {"schema": {"type": "string"}}}}
}
_CALLERS: Final = {Verb.READ: Reader, Verb.WRITE: Writer, Verb.ADMIN: Admin}
_OWN_ROUTE: Final = frozenset({"export", "reset"})
_CHANGES_KEYS: Final = frozenset(
    {"remove_account", "revoke_key", "rotate_key", "rotate_token_key", "set_account", "set_key"}
)


@router.get("/me", response_model=answer_form("KeyRights"))
async def get_key_rights(caller: KeyHolder) -> Any:
    """Who the service takes the caller for."""
    who = caller.subjects
    named = {"user_id": who.user_id or None, "agent_id": who.agent_id or None, "may_assert_user": who.may_assert_user}
    return {"tenant_id": caller.key.tenant_id, **named, "verbs": list(caller.key.verbs)}


def _require_call_rights(request: Request, caller: Caller, call: Call, given: dict[str, Any]) -> None:
    """Go on only if this key may make this call."""
    if call.all_needs_admin:
        resolve_scope(caller, given)
    if given.get("everybody"):
        caller.needs(Verb.ADMIN)
    if call.tenant or given.get("everybody"):
        caller.needs_tenant()
    if call.sets:
        require_setting_rights(caller, given.get(call.sets))
    if call.operator:
        needs_operator(request, caller)


def _create_endpoint(name: str, call: Call, form: type[BaseModel], *, body_needed: bool) -> Callable[..., Any]:
    async def endpoint(request: Request, caller: Caller, given: Any = None) -> Any:
        body = {} if given is None else {one: getattr(given, one) for one in given.model_fields_set}
        confirm = body.pop("confirm", None)
        _require_call_rights(request, caller, call, body)
        if call.narrowed_by and (call.all_needs_admin or is_bound(caller)):  # others are refused by the memory itself
            narrowing = {one: body.get(one) for one in call.narrowed_by}
            require_confirmation(caller, narrowing, confirm, dry_run=body.get("dry_run", False))
        answer = await getattr(caller.memory, name)(**body)
        if name in _CHANGES_KEYS:
            request.app.state.memstone.doorkeeper.forget()
        return answer.as_dict() if isinstance(answer, ContextPack) else answer

    wanted = Annotated[form, Body()] if body_needed else Annotated[form | None, Body()]
    endpoint.__annotations__ = {"request": Request, "caller": _CALLERS[call.verb], "given": wanted, "return": Any}
    if body_needed:
        endpoint.__defaults__ = None
    endpoint.__name__ = f"verb_{name}"
    endpoint.__doc__ = inspect.getdoc(getattr(AsyncMemory, name))
    return endpoint


def _add_verb_route(name: str, call: Call) -> None:
    method = getattr(AsyncMemory, name)
    body_needed = any(one.default is one.empty for one in call_parameters(method))
    endpoint = _create_endpoint(
        name, call, form_of(name, method, confirms=bool(call.narrowed_by)), body_needed=body_needed
    )
    answer = "ContextBlock" if name == "context" else method.__annotations__["return"]
    router.add_api_route(
        f"/verbs/{name}",
        endpoint,
        methods=["POST"],
        response_model=answer_form(answer),
    )


for _name, _call in VERBS.items():
    if _name not in _OWN_ROUTE:
        _add_verb_route(_name, _call)


class ExportCall(ScopedBody):
    """Of whom; of everybody only by that word."""

    model_config = example_config(user_id="alice")

    everybody: bool = False


@router.post("/verbs/export", response_class=StreamingResponse, responses=_LINES)
async def verb_export(
    request: Request, caller: Reader, given: Annotated[ExportCall | None, Body()] = None
) -> StreamingResponse:
    """Every version, link and event of a scope, or with ``everybody`` of all, one JSON object a line."""
    wanted = (given or ExportCall()).model_dump()
    _require_call_rights(request, caller, VERBS["export"], wanted)
    lines = caller.memory.export(**wanted)
    first = await anext(lines)  # what is wrong is found here, before the answer has begun
    return StreamingResponse(_export_lines(first, lines), media_type=NDJSON)


async def _export_lines(first: dict[str, Any], rest: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    yield json.dumps(first) + "\n"
    async for line in rest:
        yield json.dumps(line) + "\n"
