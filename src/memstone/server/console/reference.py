"""``/docs``: the HTTP reference for people, made from the descriptions of the service."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memstone.errors import NotFoundError
from memstone.server.console.visit import console_of, error_page
from memstone.server.description import FILES

PATH: Final = "/docs"
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_REF: Final = "#/components/"
_DEEP: Final = 3
_CODE: Final = re.compile(r"`{1,2}([^`]+)`{1,2}")
ABOUT: Final = {
    "memories": "Store, find, list, change, share and delete memories.",
    "context": "What to put into a prompt, and the receipt of it.",
    "gateway": "The chat APIs of OpenAI and Anthropic, with memory.",
    "sessions": "Conversations: what was said, and what it was about.",
    "profile": "What models are always shown of a person.",
    "identity": "Who a person is, in their own words and derived.",
    "agents": "Agents that share a memory, and their settings.",
    "relations": "People, places and things, and how they are related.",
    "changes": "The change feed, by cursor and as a stream.",
    "settings": "Settings in the store, and pauses.",
    "vectors": "Memories whose vectors you bring along.",
    "export and import": "Export and import of everything.",
    "jobs": "Background work: its log, and long work that you start.",
    "console": "What a management page needs.",
    "administration": "Health, upkeep and erasing.",
    "keys": "API keys.",
    "accounts": "Accounts of people who log in.",
    "login": "Logging in and out.",
    "health": "Whether the service lives and can answer.",
    "companions": "The API of a companion application.",
    "entries": "The memory API of an AI gateway.",
    "memory settings": "The settings API of an AI gateway.",
}
"""What each part of the API is for, in the order in which a reader wants them."""


@dataclass(frozen=True, slots=True)
class ApiField:
    """A parameter, or a field of a body."""

    name: str
    type: str
    about: str = ""
    required: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One thing that the API does."""

    id: str
    method: str
    path: str
    title: str
    about: str
    parameters: Sequence[ApiField]
    body: Sequence[ApiField]
    body_about: str
    answer: Sequence[ApiField]
    answer_about: str
    example: str
    needs_key: bool

    @property
    def line(self) -> str:
        """What it does, in one sentence."""
        first = self.about.replace("\n", " ").split(". ")[0].rstrip(".")
        return first or self.title


@dataclass(frozen=True, slots=True)
class ApiPart:
    """A part of the API: operations that belong together."""

    name: str
    about: str
    operations: list[ApiOperation] = field(default_factory=list)

    @property
    def slug(self) -> str:
        """Its name in an address."""
        return self.name.replace(" ", "-")


@cache
def load_reference() -> tuple[str, dict[str, ApiPart]]:
    """Return the version of the API, and its parts by their names in addresses."""
    documents = [json.loads(file.read_bytes()) for file in FILES.values()]
    parts = {name: ApiPart(name, about) for name, about in ABOUT.items()}
    for document in documents:
        reader = DescriptionReader(document)
        for path, operations in document["paths"].items():
            for method in _METHODS:
                if method in operations:
                    name = operations[method].get("tags", ["other"])[-1]
                    part = parts.setdefault(name, ApiPart(name, ""))
                    part.operations.append(reader.operation(path, method, operations[method]))
    return documents[0]["info"]["version"], {part.slug: part for part in parts.values() if part.operations}


class DescriptionReader:
    """Reads operations out of a description."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def resolve(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a reference refers to."""
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return value
        kind, _, name = reference.removeprefix(_REF).partition("/")
        found: Mapping[str, Any] = self._document["components"][kind][name]
        return found

    def operation(self, path: str, method: str, raw: Mapping[str, Any]) -> ApiOperation:
        """Return one operation."""
        body, media = self._content(raw.get("requestBody", {}))
        answer, answer_media = self._content(raw["responses"].get("200") or raw["responses"].get("202") or {})
        parameters = [self._parameter(self.resolve(one)) for one in raw.get("parameters", ())]
        needs_key = raw.get("security", self._document["security"]) != []
        return ApiOperation(
            id=f"{method}-{re.sub(r'[^a-z0-9]+', '-', path.lower()).strip('-')}",
            method=method,
            path=path,
            title=raw.get("summary", ""),
            about=raw.get("description", ""),
            parameters=parameters,
            body=self.fields(body),
            body_about=_about_media(media, body),
            answer=self.fields(answer),
            answer_about=_about_media(answer_media, answer),
            example=_curl(method, path, self._example(body), media, needs_key=needs_key),
            needs_key=needs_key,
        )

    def _content(self, holder: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
        for media, content in self.resolve(holder).get("content", {}).items():
            return self.resolve(content.get("schema", {})), media
        return {}, ""

    def _parameter(self, raw: Mapping[str, Any]) -> ApiField:
        about = raw.get("description") or raw["schema"].get("description", "")
        return ApiField(raw["name"], self.type_of(raw["schema"]), about, raw.get("required", False), raw["in"])

    def fields(self, form: Mapping[str, Any]) -> list[ApiField]:
        """Return the fields of an object, after those of the object it extends."""
        inherited = [one for part in form.get("allOf", ()) for one in self.fields(self.resolve(part))]
        required = form.get("required", ())
        return inherited + [
            ApiField(name, self.type_of(one), self.resolve(one).get("description", ""), name in required)
            for name, one in form.get("properties", {}).items()
        ]

    def type_of(self, form: Mapping[str, Any], depth: int = 0) -> str:
        """Return the type of a value, in few words."""
        if "$ref" in form and "enum" not in self.resolve(form):
            return str(form["$ref"]).rpartition("/")[2]
        form = self.resolve(form)
        if "enum" in form:
            return " | ".join("null" if one is None else str(one) for one in form["enum"])
        if depth > _DEEP:
            return "…"
        if "anyOf" in form:
            return " | ".join(self.type_of(one, depth + 1) for one in form["anyOf"])
        kinds = form.get("type", "any")
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        inner = form.get("items")
        listed = f"list of {self.type_of(inner, depth + 1)}" if isinstance(inner, dict) and inner else "list"
        return " | ".join(listed if name == "array" else name for name in names) + _bounds(form)

    def _example(self, form: Mapping[str, Any]) -> Any:
        examples = form.get("examples") or ()
        if examples:
            return examples[0]
        required = form.get("required", ())
        return dict.fromkeys(required, "…") or None


def _bounds(form: Mapping[str, Any]) -> str:
    least, most = form.get("minimum"), form.get("maximum")
    if least is None and most is None:
        return f" = {json.dumps(form['default'])}" if form.get("default") not in (None, "", [], {}) else ""
    shown = f"{least if least is not None else '…'} to {most}" if most is not None and most < 2**40 else f"from {least}"
    return f", {shown}"


def _about_media(media: str, form: Mapping[str, Any]) -> str:
    text = str(form.get("description", "")).split("\n\n")[0]
    return text if media in ("", "application/json") else f"{text} ({media})".strip()


def _curl(method: str, path: str, body: Any, media: str, *, needs_key: bool) -> str:
    """Return a call that can be pasted into a terminal."""
    lines = [f"curl -X {method.upper()} http://HOST{path}"]
    if needs_key:
        lines.append('-H "Authorization: Bearer $MEMSTONE_KEY"')
    if body is not None and media == "application/json":
        lines.append("-H 'Content-Type: application/json'")
        lines.append("-d '" + json.dumps(body, ensure_ascii=False).replace("'", "'\\''") + "'")
    return " \\\n  ".join(lines)


def format_prose(text: str) -> Markup:
    """Return a text of the description for a page: what stands between backticks is code."""
    pieces = _CODE.split(text)
    parts = (Markup("<code>{}</code>").format(piece) if odd % 2 else escape(piece) for odd, piece in enumerate(pieces))
    return Markup("").join(parts)


async def _show_reference(request: Request) -> Response:
    """Show the parts of the API, or the operations of one."""
    version, parts = load_reference()
    slug = request.path_params.get("part", "")
    part = parts.get(slug)
    if slug and part is None:
        hint = "choose a part of the API from the list"
        return error_page(request, NotFoundError(f"there is no page {PATH}/{slug[:60]}", hint=hint))
    values: dict[str, Any] = {
        "parts": parts.values(),
        "part": part,
        "api_version": version,
        "toast": None,
        "prose": format_prose,
    }
    title = f"{part.name.capitalize()} · API" if part else "API reference"
    return console_of(request).render(request, "reference.html", title=title, **values)


ROUTES: Final = (
    Route(PATH, _show_reference, methods=["GET"], name="console"),
    Route(f"{PATH}/{{part}}", _show_reference, methods=["GET"], name="console"),
)
"""The reference is for everybody, as the description is that it is made from."""
