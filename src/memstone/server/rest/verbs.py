"""Routes that are made from the verbs of ``Memory``: those that ``memstone.remote.routes`` marks as ``made``.

What a route takes is read from the signature of its method (``verb_forms``), what it answers is what the method
returns: nothing is renamed on the way.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import reduce
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import BaseModel

from memstone.model.access import Verb
from memstone.remote.routes import LEFT_OUT, ROUTES, VerbRoute
from memstone.server.access import (
    Admin,
    AuthenticatedRoute,
    Caller,
    KeyHolder,
    Reader,
    Writer,
    is_bound,
    require_confirmation,
    resolve_scope,
)
from memstone.server.rest.verb_forms import form_of, parameter_names, path_type, verb_method
from memstone.server.schemas.base import PROBLEMS, answer_form

router = APIRouter(responses=PROBLEMS, route_class=AuthenticatedRoute)

_RETURNS: Final = re.compile(r"\n\nReturns .*?(?=\n\n|$)", re.DOTALL)
_TAGS: Final = {
    "": "memories",
    "admin": "administration",
    "graph": "relations",
    "review": "memories",
    "sharing": "memories",
}
_CALLERS: Final = {Verb.READ: Reader, Verb.WRITE: Writer, Verb.ADMIN: Admin}


@router.get("/v1/me", response_model=answer_form("KeyRights"), tags=["keys"])
async def get_key_rights(caller: KeyHolder) -> Any:
    """Return whose key it is, and what it may do."""
    who = caller.subjects
    named = {"user_id": who.user_id or None, "agent_id": who.agent_id or None, "may_assert_user": who.may_assert_user}
    return {"tenant_id": caller.key.tenant_id, **named, "verbs": list(caller.key.verbs)}


def _require_rights(caller: Caller, route: VerbRoute, values: dict[str, Any]) -> None:
    """Go on only if this key may make this call."""
    if route.of_all:
        resolve_scope(caller, values)
    if values.get("everybody"):
        caller.needs(Verb.ADMIN)
    if route.tenant or values.get("everybody"):
        caller.needs_tenant()


def _make_endpoint(name: str, route: VerbRoute) -> Callable[..., Any]:
    """Return the function of a route, whose signature lists its parameters."""

    async def endpoint(request: Request, caller: Caller, body: BaseModel | None = None, **values: Any) -> Any:
        values |= {} if body is None else {one: getattr(body, one) for one in body.model_fields_set}
        confirm = values.pop("confirm", None)
        _require_rights(caller, route, values)
        if route.narrowed_by and is_bound(caller):  # others are refused by the memory itself
            narrowing = {one: values.get(one) for one in route.narrowed_by}
            require_confirmation(caller, narrowing, confirm, dry_run=values.get("dry_run", False))
        answer = await reduce(getattr, name.split("."), caller.memory)(**values)  # type: ignore[operator]
        if route.changes_keys:
            request.app.state.memstone.doorkeeper.forget()
        return {"results": answer} if isinstance(answer, list) else answer  # also where bare lists are configured

    method = verb_method(name)
    own = [_parameter("request", Request), _parameter("caller", _CALLERS[route.needs])]
    vars(endpoint)["__signature__"] = inspect.Signature([*own, *_route_parameters(name, method, route)])
    endpoint.__name__, endpoint.__doc__ = name.replace(".", "_"), _describe(method)
    return endpoint


def _route_parameters(name: str, method: Callable[..., Any], route: VerbRoute) -> list[inspect.Parameter]:
    """Return the parameters of a route: those in its path, then those in its query or body."""
    in_path = parameter_names(route.path)
    found = [_parameter(one, Annotated[path_type(method, one), Path()]) for one in in_path]
    form, is_needed = form_of(name, method, route, leave_out=in_path)
    if route.method in ("GET", "DELETE"):
        fields = form.model_fields.items()
        return found + [
            _parameter(
                one,
                Annotated[field.annotation, Query()],
                inspect.Parameter.empty if field.is_required() else field.default,
            )
            for one, field in fields
        ]
    if not form.model_fields:
        return found
    wanted = Annotated[form, Body()] if is_needed else Annotated[form | None, Body()]
    return [*found, _parameter("body", wanted, inspect.Parameter.empty if is_needed else None)]


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _tag(name: str) -> str:
    """Return the part of the interface that a method belongs to."""
    group = "accounts" if name.startswith("admin.accounts.") else name.rpartition(".")[0].partition(".")[0]
    return _TAGS.get(group, group)


def _describe(method: Callable[..., Any]) -> str:
    """Return what a method does, without arguments that cannot be sent and fields that the answer lists."""
    text = _RETURNS.sub("", inspect.getdoc(method) or "")
    for name in LEFT_OUT:
        text = re.sub(rf"\s*``{name}\b[^.]*\.(?=\s|$)", "", text)
    return text


def _add_made_routes() -> None:
    for name, route in ROUTES.items():
        if route.made:
            router.add_api_route(
                route.path,
                _make_endpoint(name, route),
                methods=[route.method],
                tags=[_tag(name)],
                response_model=answer_form(str(inspect.signature(verb_method(name)).return_annotation)),
            )


_add_made_routes()
