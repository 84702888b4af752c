"""``/openapi.json`` and ``/api/openapi.json``: the descriptions of the service.

The second one has the routes that AI gateways use, in names of their own; few clients need both. To make them takes
about a second of CPU time, so they are sent as they lie in files beside this one, which ``scripts/describe_service.py``
writes. An application with routes of its own is described when it is first asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from memstone.server.access import asks_who
from memstone.server.schemas.base import WRONG, Problem
from memstone.server.shared_schemas import share_answers, share_fields, share_parameters, share_values
from memstone.server.strict import StrictRoute
from memstone.server.summaries import SUMMARIES, operation_name

MAIN: Final = "/openapi.json"
GATEWAYS: Final = "/api/openapi.json"
FILES: Final = {
    MAIN: Path(__file__).with_name("openapi.json"),
    GATEWAYS: Path(__file__).with_name("openapi_gateways.json"),
}
_PLACES: Final = {
    MAIN: f"The routes of AI gateways, under /api, are in {GATEWAYS}.",
    GATEWAYS: f"These are the routes of AI gateways; all others are in {MAIN}.",
}
_JSON: Final = "application/json"
_PROBLEM_CONTENT: Final = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_ANY: Final = "default"
_NEVER: Final = "422"  # what a request has wrong is a 400 here, in the same form as every other problem
_KEYS: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "a key, or the access token of a login session"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "the same, in its own header"},
}
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
_COMPONENTS: Final = "#/components/"
_PAIR: Final = 2
_SUCCESS: Final = "Successful Response"


class Description:
    """What an application can do, in the words of OpenAPI."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._own_routes = len(app.routes) + len(FILES)  # and those that answer with this
        self._made: dict[str, Any] | None = None
        self._bytes: dict[str, bytes] = {}

    def document(self) -> dict[str, Any]:
        """Return the description; every route is there before the first who asks."""
        if self._made is None:
            app = self._app
            made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            _add_problem_response(made)
            _add_security(made, [route for route in app.routes if isinstance(route, APIRoute)])
            _drop_unused_schemas(made)
            _drop_titles(made)
            _merge_choices(made)
            _add_summaries(made)
            _simplify_contents(made)
            share_parameters(made)
            share_fields(made)
            share_values(made)
            share_answers(made)
            self._made = made
        return self._made

    async def answer(self, request: Request) -> Response:
        """Return a description as it is sent; others are answered while it is read or made."""
        name = str(request.scope["route"].path)
        if name not in self._bytes:
            self._bytes[name] = await run_in_threadpool(self._encode, name)
        return Response(self._bytes[name], media_type=_JSON)

    def _encode(self, name: str) -> bytes:
        if len(self._app.routes) == self._own_routes:
            return FILES[name].read_bytes()
        return json.dumps(split_description(self.document())[name], separators=(",", ":")).encode()


def install_openapi_route(app: FastAPI) -> None:
    """Let an application describe itself."""
    description = Description(app)
    app.openapi = description.document  # type: ignore[method-assign]  # the way that FastAPI has for it
    for name in FILES:
        app.router.routes.append(
            StrictRoute(name, description.answer, methods=["GET", "HEAD"], include_in_schema=False)
        )


def split_description(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the descriptions by where they are sent, each with the components that it needs."""
    parts: dict[str, dict[str, Any]] = {}
    for name, place in _PLACES.items():
        part = {**document, "info": {**document["info"]}}
        part["info"]["description"] += f" {place}"
        gateways = name == GATEWAYS
        part["paths"] = {path: one for path, one in document["paths"].items() if path.startswith("/api/") == gateways}
        part["components"] = {kind: {**group} for kind, group in document["components"].items()}
        _drop_unused_components(part)
        parts[name] = part
    return parts


def _drop_unused_components(part: dict[str, Any]) -> None:
    """Remove the components that nothing in a description refers to."""
    groups = {kind: part["components"][kind] for kind in ("schemas", "responses", "parameters")}
    while True:
        used = set(_references(part))
        unused = [(kind, name) for kind, group in groups.items() for name in group if (kind, name) not in used]
        if not unused:
            return
        for kind, name in unused:
            del groups[kind][name]


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of every component that something refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            kind, _, name = value["$ref"].removeprefix(_COMPONENTS).partition("/")
            yield kind, name
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _references(one)


def _add_problem_response(made: dict[str, Any]) -> None:
    """Add the problems that a route may answer: described once, and referred to."""
    parts = made["components"]
    for name in _UNUSED:
        parts["schemas"].pop(name, None)
    parts["schemas"]["Problem"] = Problem.model_json_schema()
    statuses = "; ".join(f"{status}: {text}" for status, text in WRONG.items())
    parts["responses"] = {"Problem": {"description": f"a problem: {statuses}", "content": _PROBLEM_CONTENT}}
    for operations in made["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            answers.pop(_NEVER, None)
            if _ANY in answers:
                answers[_ANY] = {"$ref": "#/components/responses/Problem"}


def _add_security(made: dict[str, Any], routes: Sequence[APIRoute]) -> None:
    """Add how a key is shown: to every route but those that are for everybody."""
    made["components"]["securitySchemes"] = _KEYS
    made["security"] = [{name: []} for name in _KEYS]
    for route in routes:
        if route.include_in_schema and not asks_who(route.dependant):
            for method in route.methods or ():
                made["paths"][route.path_format][method.lower()]["security"] = []


def _add_summaries(made: dict[str, Any]) -> None:
    """Say in plain words what each operation does, and name it so; one that somebody added keeps its names."""
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            if summary := SUMMARIES.get(f"{method.upper()} {path}"):
                operation["summary"], operation["operationId"] = summary, operation_name(summary)
            operation["tags"] = operation.get("tags", ())[-1:]  # the narrowest


def _simplify_contents(made: dict[str, Any]) -> None:
    """Write bodies and answers as briefly as they can be said."""
    for operations in made["paths"].values():
        for operation in operations.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                choices = content.get("schema", {}).get("anyOf", ())
                if len(choices) == _PAIR and choices[1] == {"type": "null"}:  # a body that may be left out
                    content["schema"] = choices[0]
            for answer in operation["responses"].values():
                if answer.get("description") == _SUCCESS:
                    answer["description"] = "OK"


def _drop_unused_schemas(made: dict[str, Any]) -> None:
    """Remove the forms that only others were made of."""
    schemas = made["components"]["schemas"]
    while unused := set(schemas) - {name for kind, name in _references(made) if kind == "schemas"}:
        for name in unused:
            del schemas[name]


def _drop_titles(made: dict[str, Any]) -> None:
    """Remove the titles of fields and forms, which only say their names again."""
    for form in made["components"]["schemas"].values():
        _drop_title(form)
    for operations in made["paths"].values():
        for operation in operations.values():
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            contents = [content for body in bodies for content in body.get("content", {}).values()]
            for holder in (*operation.get("parameters", ()), *contents):
                _drop_title(holder.get("schema", {}))


def _drop_title(form: Any) -> None:
    """Drop the title of a form and of what it is made of; an example may have a field of that name."""
    if not isinstance(form, dict):
        return
    form.pop("title", None)
    parts = [form.get("items"), form.get("additionalProperties"), *form.get("properties", {}).values()]
    for one in (*parts, *form.get("anyOf", ()), *form.get("prefixItems", ())):
        _drop_title(one)


def _merge_choices(value: Any) -> None:
    """Write a choice of types as a list of types ("string or null"), which readers see at a glance."""
    if isinstance(value, list):
        for one in value:
            _merge_choices(one)
    elif isinstance(value, dict):
        for one in value.values():
            _merge_choices(one)
        if isinstance(value.get("anyOf"), list):
            _merge_choice(value)
        if value.get("additionalProperties") is True:  # an object may always have more, unless it says otherwise
            del value["additionalProperties"]


def _merge_choice(form: dict[str, Any]) -> None:
    """Merge one choice; what is said of a single type stays true, because it concerns values of that type only."""
    choices: list[dict[str, Any]] = form["anyOf"]
    types = [one.get("type") for one in choices]
    said = [key for one in choices for key in one if key != "type"]
    values = {"const", "enum"} & set(said)
    if (
        not all(isinstance(one, str) for one in types)
        or len(set(types)) < len(types)
        or len(set(said)) < len(said)
        or set(said) & set(form)
        or (values and (len(types) != _PAIR or types[1] != "null" or "const" in values))
    ):
        return
    del form["anyOf"]
    for one in choices:
        form.update(one)
    form["type"] = types
    if "enum" in form:
        form["enum"] = [*form["enum"], None]
