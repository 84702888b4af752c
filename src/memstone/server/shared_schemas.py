"""Describe once what several parts of ``/openapi.json`` have in common, and refer to it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, get_args

from typing_extensions import get_original_bases, is_typeddict

from memstone.literals import EventName, KindName, LayerName, StatusName, VisibilityName

_SCHEMAS: Final = "#/components/schemas/"
_PARAMETERS: Final = "#/components/parameters/"
_RESPONSES: Final = "#/components/responses/"
_ANY: Final = "default"
_FEW: Final = 3
"""Fewer fields or uses than this are not worth a reference."""

_VALUES: Final[dict[str, tuple[Any, str]]] = {
    "Event": (EventName, "What happened to a memory."),
    "Kind": (KindName, "What sort of knowledge a memory holds; the last three belong to the layer of identity."),
    "Layer": (LayerName, "What a memory is: part of an identity, a fact, the digest of a session, or a turn."),
    "Status": (StatusName, "Whether and how a memory may be seen."),
    "Visibility": (VisibilityName, "Whether models see a memory: as usual, always, not in the profile, or never."),
}
"""Words that answers use in many places."""


def share_fields(document: dict[str, Any]) -> None:
    """Let an answer that extends another one refer to it, as its type does in Python."""
    schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
    types = _answer_types()
    bases = {name: base for name in schemas if (base := _base(types.get(name), types)) is not None}
    uses = Counter(base.__name__ for base in bases.values())
    for name in sorted(bases):
        if bases[name].__name__ in schemas or uses[bases[name].__name__] > 1:
            _extend(schemas, name, bases[name])


def _base(kind: Any, types: dict[str, Any]) -> Any:
    """Return the answer that another one extends, if it has enough fields."""
    bases = [] if kind is None else get_original_bases(kind)
    found = next((one for one in bases if types.get(getattr(one, "__name__", "")) is one), None)
    return found if found is not None and len(found.__annotations__) > _FEW else None


def _extend(schemas: dict[str, dict[str, Any]], name: str, base: Any) -> None:
    """Let one answer refer to the one it extends, which is added if no route answers it."""
    form, keys = schemas[name], base.__required_keys__ | base.__optional_keys__
    fields, required = form["properties"], form.get("required", [])
    shared = {one: fields[one] for one in fields if one in keys}
    if base.__name__ not in schemas:
        needed = [one for one in required if one in base.__required_keys__]
        about = (base.__doc__ or "").strip()
        schemas[base.__name__] = {"properties": shared, "type": "object", "required": needed, "description": about}
    elif _all_fields(schemas, schemas[base.__name__]) != shared:
        return
    part: dict[str, Any] = {"properties": {one: value for one, value in fields.items() if one not in shared}}
    if needed := [one for one in required if one not in shared]:
        part["required"] = needed
    about = form["description"]
    form.clear()
    form |= {"allOf": [{"$ref": f"{_SCHEMAS}{base.__name__}"}, part], "description": about}


def _all_fields(schemas: dict[str, dict[str, Any]], form: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a form, with those of the one it extends."""
    found: dict[str, Any] = dict(form.get("properties", {}))
    for part in form.get("allOf", ()):
        found |= _all_fields(schemas, schemas[part["$ref"].removeprefix(_SCHEMAS)] if "$ref" in part else part)
    return found


def _answer_types() -> dict[str, Any]:
    """Return the types of all answers, by name."""
    from memstone import results
    from memstone.results import memories
    from memstone.server.schemas import answers

    modules = (memories, results, answers)
    return {name: one for module in modules for name, one in vars(module).items() if is_typeddict(one)}


def share_values(document: dict[str, Any]) -> None:
    """Name the lists of words that answers use in many fields.

    Requests keep them inline, where a reader looks for them.
    """
    schemas = document["components"]["schemas"]
    named = {tuple(get_args(words)): (name, about) for name, (words, about) in _VALUES.items()}
    used: dict[str, Any] = {}

    def refer(form: Any) -> Any:
        words = tuple(form.get("enum", ())) if form.get("type") == "string" else ()
        if words not in named:
            return None
        name, about = named[words]
        used[name] = {"type": "string", "enum": list(words), "description": about}
        return {"$ref": f"{_SCHEMAS}{name}"}

    for form in schemas.values():
        if form.get("additionalProperties") is not False:
            _replace(form, refer)
    schemas.update(used)
    document["components"]["schemas"] = dict(sorted(schemas.items()))


def _replace(value: Any, replace: Callable[[dict[str, Any]], Any]) -> None:
    """Put something else in the place of the schemas within a value."""
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        found = replace(one) if isinstance(one, dict) else None
        if found is not None:
            value[key] = found
        elif isinstance(one, (dict, list)):
            _replace(one, replace)


def share_answers(document: dict[str, Any]) -> None:
    """Describe once an answer that several routes give."""
    responses = [one["responses"] for one in _operations(document)]
    forms = Counter(_text(one[status]) for one in responses for status in one if status != _ANY)
    shared = document["components"]["responses"]
    for answers in responses:
        for status, one in answers.items():
            content = one.get("content", {}).get("application/json", {}).get("schema", {})
            name = content.get("$ref", "").removeprefix(_SCHEMAS)
            if forms[_text(one)] >= _FEW and name and shared.setdefault(name, one) == one:
                answers[status] = {"$ref": f"{_RESPONSES}{name}"}


def share_parameters(document: dict[str, Any]) -> None:
    """Describe once a parameter that several routes have."""
    lists: list[list[dict[str, Any]]] = [one["parameters"] for one in _operations(document) if one.get("parameters")]
    for parameter in (one for parameters in lists for one in parameters):
        _simplify_parameter(parameter)
    counts = Counter(_text(one) for parameters in lists for one in parameters)
    names: dict[str, str] = {}
    shared: dict[str, Any] = {}
    for parameters in lists:
        for place, one in enumerate(parameters):
            form = _text(one)
            if counts[form] > 1:
                if form not in names:
                    names[form] = _free_name(one["name"], shared)
                    shared[names[form]] = one
                parameters[place] = {"$ref": f"{_PARAMETERS}{names[form]}"}
    document["components"]["parameters"] = shared


def _simplify_parameter(parameter: dict[str, Any]) -> None:
    """Describe a parameter as briefly as possible.

    In a query there is no null, and every value is text.
    """
    form = parameter["schema"]
    if parameter.get("required") is False:
        del parameter["required"]
    if form.get("description") == parameter.get("description"):
        form.pop("description", None)
    if parameter["in"] == "query" and isinstance(form.get("type"), list):
        types = [one for one in form["type"] if one != "null"]
        form["type"] = "string" if "string" in types and "array" not in types else types
        if len(types) == 1:
            form["type"] = types[0]
        if "enum" in form:
            form["enum"] = [one for one in form["enum"] if one is not None]


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for operations in document["paths"].values():
        yield from operations.values()


def _text(form: Any) -> str:
    return json.dumps(form, sort_keys=True)


def _free_name(name: str, taken: dict[str, Any]) -> str:
    """Return the name of a parameter, with a number if there are several of that name."""
    return next(free for free in (name, *(f"{name}_{number}" for number in range(2, 100))) if free not in taken)
