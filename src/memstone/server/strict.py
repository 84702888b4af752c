"""Refuse unknown names in a request, because ignoring one could widen a deletion."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response

UNKNOWN: Final = "extra_forbidden"
_REPEATED: Final = "repeated"
_UNREAD: Final = "unread_body"
_MISSING: Final = "missing"
_NOTHING: Final[tuple[Any, ...]] = (None, {}, [], "")
"""Bodies that name nothing: some clients always send one."""

_ALIKE: Final = 0.6
_LISTED: Final = 20
_NAME_CHARS: Final = 100


def read_once(text: bytes | str) -> Any:
    """Return what JSON says; raise ``RequestValidationError`` if an object in it has the same name twice."""
    return json.loads(text, object_pairs_hook=_dict_without_repeats)


def _dict_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(name for name, _ in pairs)
        raise RequestValidationError([_name_error(_REPEATED, "body", name) for name in times if times[name] > 1])
    return found


class StrictRoute(APIRoute):
    """A route that answers 400 to unknown or repeated parameters and unread bodies.

    Unknown fields of a body are refused by its form (``RequestBody``). A route that reads its body by itself says so by
    describing it in ``openapi_extra``.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Check the names of a request before it is handled."""
        handle = super().get_route_handler()
        single, several = query_names(self.dependant)

        async def check_first(request: Request) -> Response:
            reject_unknown_parameters(request, single, several)
            if not self.reads_body:
                await _reject_unread_body(request)
            elif self.body_field is not None:
                await _reject_repeated_names(request)
            return await handle(request)

        return check_first

    @property
    def reads_body(self) -> bool:
        """Whether something is done with what is sent."""
        return self.body_field is not None or "requestBody" in (self.openapi_extra or {})


def query_names(dependant: Dependant) -> tuple[frozenset[str], frozenset[str]]:
    """Return the query parameters of a route: those that may stand there once, and those that may be repeated."""
    several = {one.alias for one in _query_parameters(dependant) if _is_list(one.field_info.annotation)}
    return frozenset(one.alias for one in _query_parameters(dependant)) - several, frozenset(several)


def _query_parameters(dependant: Dependant) -> Iterator[Any]:
    yield from dependant.query_params
    for part in dependant.dependencies:
        yield from _query_parameters(part)


def _is_list(kind: Any) -> bool:
    return any(get_origin(one) is list for one in _union_members(kind))


def reject_unknown_parameters(
    request: Request, single: frozenset[str] = frozenset(), several: frozenset[str] = frozenset()
) -> None:
    """Raise if the query of a request holds a name that its route does not have, or the same one twice."""
    if not request.scope["query_string"]:
        return
    value = Counter(name for name, _ in request.query_params.multi_items())
    wrong = [_name_error(UNKNOWN, "query", name) for name in value if name not in single | several]
    wrong += [_name_error(_REPEATED, "query", name) for name, times in value.items() if name in single and times > 1]
    if wrong:
        raise RequestValidationError(wrong)


async def _reject_repeated_names(request: Request) -> None:
    """Raise if a body has a name twice; what is no JSON is refused by whoever reads it next."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    if is_json and (body := await request.body()):
        with suppress(ValueError, RecursionError):
            request._json = read_once(body)  # noqa: SLF001 - so that nobody reads it a second time


async def _reject_unread_body(request: Request) -> None:
    """Raise if a request brings a body, and its route reads none."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return
    body = (await request.body()).strip()
    try:
        message = json.loads(body) if body else None
    except (ValueError, RecursionError):
        message = body
    if message not in _NOTHING:
        names = list(message) if isinstance(message, dict) else []
        raise RequestValidationError([_name_error(_UNREAD, "body", *names[:1])])


def _name_error(kind: str, *place: str) -> dict[str, Any]:
    return {"type": kind, "loc": place, "msg": MESSAGES[kind]}


MESSAGES: Final = {
    UNKNOWN: "unknown name",
    _REPEATED: "given more than once",
    _UNREAD: "this route takes no body",
}
"""What a caller is told about each kind of error of this module."""


_WANTED: Final = {
    "string_type": "text",
    "dict_type": "an object",
    "list_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}
"""What a value must be, by the kind of the error that says so."""

_PLAIN_TYPES: Final = frozenset({"str", "int", "float", "bool", "none"})
_CONTAINERS: Final = frozenset({"dict", "list", "union"})


def join_alternatives(errors: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return errors with one for each field whose value fits none of the types that it may have.

    Pydantic has an error for each of these types, in a place that ends with the name of the type. If one of them fits
    but for something inside, the error about that says all there is to say.
    """
    others: list[Mapping[str, Any]] = []
    wanted: dict[tuple[Any, ...], list[str]] = {}
    for one in errors:
        *field, last = one["loc"]
        place = tuple(step for step in field if not _is_type_name(step))
        if one["type"] in _WANTED and _is_type_name(last):
            wanted.setdefault(place, []).append(_WANTED[one["type"]])
        else:
            others.append({**one, "loc": (*place, last)})
    deeper = [*wanted, *(one["loc"] for one in others)]
    joined = [
        {"type": "alternatives", "loc": place, "msg": f"must be {_either(kinds)}"}
        for place, kinds in wanted.items()
        if not any(other != place and other[: len(place)] == place for other in deeper)
    ]
    return [*joined, *others]


def _either(kinds: Sequence[str]) -> str:
    *some, last = kinds
    return f"{', '.join(some)} or {last}" if some else last


def _is_type_name(step: object) -> bool:
    """Return whether a step of a place is the name of a type, not of a field or the number of an item."""
    return isinstance(step, str) and (step in _PLAIN_TYPES or (step.partition("[")[0] in _CONTAINERS and "[" in step))


def hint_about(request: Request, errors: Iterable[Mapping[str, Any]]) -> str:
    """Return what a caller should write instead, for the first error that is about a name."""
    route, found = request.scope.get("route"), list(errors)
    missing = [tuple(one["loc"]) for one in found if one["type"] == _MISSING]
    for one in found:
        place = tuple(one["loc"])
        if one["type"] == UNKNOWN and place[0] == "query":
            return _parameter_hint(route, str(place[-1]))
        if one["type"] == UNKNOWN:
            return _field_hint(route, place, [str(other[-1]) for other in missing if other[:-1] == place[:-1]])
        if one["type"] == _UNREAD:
            return f"leave out the body; {_query_list(route)}"
    return f"give {_join_names('.'.join(map(str, place[1:])) for place in missing)}" if missing else ""


def _field_hint(route: Any, place: Sequence[Any], missing: Sequence[str]) -> str:
    """Return what to write instead of a field of a body; ``missing`` are those that are asked for beside it."""
    name = str(place[-1])
    known = _nearest_name_hint(name, _body_names(route, place[1:-1]))
    if known:
        return known
    if len(place) == len(("body", name)) and name in _route_query_names(route):
        return f"send {name} in the query"
    return f"this route takes {_join_names(missing)}" if missing else "leave it out"


def _join_names(names: Iterable[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def _parameter_hint(route: Any, name: str) -> str:
    if name in _body_names(route, ()):
        return f"send {name} in the body"
    return _nearest_name_hint(name, _route_query_names(route)) or _query_list(route)


def _query_list(route: Any) -> str:
    known = sorted(_route_query_names(route))[:_LISTED]
    return f"the query parameters are {', '.join(known)}" if known else "this route has no query parameters"


def _route_query_names(route: Any) -> frozenset[str]:
    return frozenset().union(*query_names(route.dependant)) if isinstance(route, APIRoute) else frozenset()


def _nearest_name_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name most like the given one, however it is spelt; '' when none is."""
    spelt = {one.replace("_", "").replace("-", "").lower(): one for one in known}
    written = name[:_NAME_CHARS].replace("_", "").replace("-", "").lower()  # comparing takes long with long names
    found = get_close_matches(written, spelt, n=1, cutoff=_ALIKE)
    return f"did you mean {spelt[found[0]]}?" if found else ""


def _body_names(route: Any, place: Sequence[Any]) -> set[str]:
    """Return the names that the body of a route may hold at a place."""
    if not isinstance(route, APIRoute) or route.body_field is None:
        return set()
    kinds = _union_members(route.body_field.field_info.annotation)
    for step in place:
        kinds = [inner for kind in kinds for inner in _kinds_at_step(kind, step)]
    return {name for kind in kinds if _is_form(kind) for name in _form_fields(kind)}


def _kinds_at_step(kind: Any, step: Any) -> list[Any]:
    """Return what may stand at one step further into a body; a step that names an alternative leads nowhere."""
    if get_origin(kind) is list and isinstance(step, int):
        return _union_members(get_args(kind)[0])
    if not _is_form(kind):
        return []
    return _union_members(_form_fields(kind)[step]) if step in _form_fields(kind) else [kind]


def _is_form(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _form_fields(form: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in form.model_fields.items()}


def _union_members(kind: Any) -> list[Any]:
    """Return the kinds of which a value may be one."""
    if get_origin(kind) is Annotated:
        return _union_members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _union_members(part)]
    return [kind]
