"""``/openapi.json``: the description of the service.

To make it takes about a second of CPU time, so it is sent as it lies in ``openapi.json`` beside this file, which
``scripts/describe_service.py`` writes. An application with routes of its own is described when it is first asked.
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
from starlette.responses import Response

from memstone.server.access import asks_who
from memstone.server.schemas.base import WRONG, Problem
from memstone.server.shared_schemas import share_answers, share_fields, share_parameters, share_values
from memstone.server.strict import StrictRoute
from memstone.server.summaries import SUMMARIES, operation_name

FILE: Final = Path(__file__).with_name("openapi.json")
_JSON: Final = "application/json"
_PROBLEM_CONTENT: Final = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_ANY: Final = "default"
_NEVER: Final = "422"  # what a request has wrong is a 400 here, in the same form as every other problem
_KEYS: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "a key, or the access token of a login session"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "the same, in its own header"},
}
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
_REF: Final = "#/components/schemas/"
_PAIR: Final = 2
_SUCCESS: Final = "Successful Response"


class Description:
    """What an application can do, in the words of OpenAPI."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._own_routes = len(app.routes) + 1  # and the one that answers with this
        self._made: dict[str, Any] | None = None
        self._bytes = b""

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

    async def answer(self) -> Response:
        """Return the description as it is sent; others are answered while it is read or made."""
        if not self._bytes:
            self._bytes = await run_in_threadpool(self._encode)
        return Response(self._bytes, media_type=_JSON)

    def _encode(self) -> bytes:
        if len(self._app.routes) == self._own_routes:
            return FILE.read_bytes()
        return json.dumps(self.document(), separators=(",", ":")).encode()


def install_openapi_route(app: FastAPI) -> None:
    """Let an application describe itself."""
    description = Description(app)
    app.openapi = description.document  # type: ignore[method-assign]  # the way that FastAPI has for it
    page = StrictRoute("/openapi.json", description.answer, methods=["GET", "HEAD"], include_in_schema=False)
    app.router.routes.append(page)


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
    while unused := set(schemas) - set(_schema_references(made)):
        for name in unused:
            del schemas[name]


def _schema_references(value: Any) -> Iterator[str]:
    """Yield the names of the forms that something refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(_REF)
        for one in value.values():
            yield from _schema_references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _schema_references(one)


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
