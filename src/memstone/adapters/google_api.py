"""Common parts of calls to Google's Gemini API: model names, schemas and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from memstone.ports.io import HttpResponse

API_VERSION: Final = "v1beta"

_SCHEMA_KEYS: Final = frozenset(
    "title description enum format nullable required minItems maxItems minLength maxLength minimum maximum pattern "
    "propertyOrdering".split()
)
"""What a schema of the API may say; it takes a part of OpenAPI's and refuses the rest."""

_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s")


def model_path(model: str) -> str:
    """Return the resource of a model: a bare name is one of ``models/``."""
    return model if "/" in model else f"models/{model}"


def google_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema in the form that the API takes."""
    return _convert_schema(schema, schema.get("$defs", {}))


def _convert_schema(schema: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        schema = {**known[str(schema["$ref"]).rpartition("/")[2]], **schema}
    made = {name: value for name, value in schema.items() if name in _SCHEMA_KEYS}
    types = schema.get("type", ())
    listed = [types] if isinstance(types, str) else list(types)
    if "null" in listed:
        made["nullable"] = True
    named = [one.upper() for one in listed if one != "null"]
    if named:
        made["type"] = named[0]
    if "properties" in schema:
        made["properties"] = {name: _convert_schema(one, known) for name, one in schema["properties"].items()}
    if "items" in schema:
        made["items"] = _convert_schema(schema["items"], known)
    if "anyOf" in schema:
        made["anyOf"] = [_convert_schema(one, known) for one in schema["anyOf"]]
    return made


def read_google_response(response: HttpResponse) -> HttpResponse:
    """Return a response as other services send it: a refused key is 401, and the pause asked for is a header."""
    details = _error_details(response.body) if response.status in (400, 429, 503) else []
    if any(one.get("reason") == "API_KEY_INVALID" for one in details):
        return replace(response, status=401)
    delays = [_SECONDS.fullmatch(str(one.get("retryDelay", ""))) for one in details]
    asked = next((found[1] for found in delays if found), None)
    if asked is None or "retry-after" in response.headers:
        return response
    return replace(response, headers={**response.headers, "retry-after": asked})


def _error_details(body: bytes) -> list[dict[str, Any]]:
    try:
        details = json.loads(body)["error"]["details"]
    except (LookupError, TypeError, ValueError, RecursionError):
        return []
    return [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []
