"""Write the generated part of the TypeScript client: types, errors and verbs, from what the service describes.

- ``types.ts``: the schemas of the OpenAPI description.
- ``errors.ts``: the errors of ``memstone.errors``, one class each, found by their codes.
- ``verbs.ts``: a method for every verb of ``memstone.remote.routes``, in the same groups, with the same names.

Run it after a change of a route, a schema or an error; a test compares. ::

    .venv/bin/python scripts/typescript_client.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

from memstone import errors
from memstone.api.verbs import MemoryVerbs
from memstone.remote.routes import LEFT_OUT, NOT_OVER_HTTP, ROUTES, VerbRoute
from memstone.server.app import create_app

ROOT: Final = Path(__file__).resolve().parent.parent
TARGET: Final = ROOT / "clients" / "typescript" / "src"
HEAD: Final = "// Written by scripts/typescript_client.py; do not edit.\n\n"
BY_HAND: Final = frozenset({"export", "load", "reset"})
"""Verbs that are more than one request; they are in ``client.ts``."""

IDEMPOTENCY: Final = "idempotency_key"
"""The one argument that is sent as a header."""

_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


# --- types ------------------------------------------------------------------------------------------------------------


def type_name(name: str) -> str:
    """Return the name of a schema as TypeScript allows it."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def schema_type(schema: Mapping[str, Any], prefix: str = "") -> str:  # noqa: PLR0911 - one for each form of a schema
    """Return the type that a schema describes."""
    if "$ref" in schema:
        return prefix + type_name(schema["$ref"].rsplit("/", 1)[1])
    for form, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if form in schema:
            parts = [schema_type(one, prefix) for one in schema[form]]
            return sign.join(dict.fromkeys(f"({part})" if " " in part else part for part in parts))
    if "const" in schema:
        return literal(schema["const"])
    if "enum" in schema:
        return " | ".join(literal(one) for one in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(dict.fromkeys(schema_type({**schema, "type": one}, prefix) for one in kind))
    if kind == "array":
        item = schema_type(schema.get("items", {}), prefix)
        return f"({item})[]" if " " in item else f"{item}[]"
    if kind == "object" or "properties" in schema:
        return object_type(schema, prefix)
    return _PLAIN.get(str(kind), "unknown")


def object_type(schema: Mapping[str, Any], prefix: str = "") -> str:
    """Return the type of an object with its fields, or of a map."""
    fields = list(field_lines(schema, prefix))
    more = schema.get("additionalProperties")
    if not fields:
        return f"Record<string, {schema_type(more, prefix) if isinstance(more, Mapping) and more else 'unknown'}>"
    return "{ " + " ".join(fields) + " }"


def field_lines(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the fields of an object, one each."""
    required = set(schema.get("required", ()))
    for name, one in schema.get("properties", {}).items():
        mark = "" if name in required else "?"
        yield f"{quoted(name)}{mark}: {schema_type(one, prefix)};"


def literal(value: Any) -> str:
    """Return a value as TypeScript writes it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else str(value)


def quoted(name: str) -> str:
    """Return the name of a field, in quotes if it needs them."""
    return name if _NAME.fullmatch(name) else f'"{name}"'


def doc_comment(text: str | None, indent: str = "") -> str:
    """Return the first paragraph of a docstring as a comment."""
    first = inspect.cleandoc(text or "").split("\n\n", 1)[0]
    words = " ".join(first.replace("``", "`").replace("*/", "* /").split())
    return f"{indent}/** {words} */\n" if words else ""


def extended_schema(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return which type a schema extends, as TypeScript says it, and what it adds."""
    parts = schema.get("allOf", ())
    if len(parts) == 2 and "$ref" in parts[0]:  # noqa: PLR2004 - what it extends, and its own fields
        return f" extends {schema_type(parts[0])}", parts[1]
    return "", schema


def types_file(description: Mapping[str, Any]) -> str:
    """Return ``types.ts``."""
    parts = []
    for name, whole in sorted(description["components"]["schemas"].items()):
        comment = doc_comment(whole.get("description"))
        base, schema = extended_schema(whole)
        fields = list(field_lines(schema))
        if fields and "anyOf" not in schema and "allOf" not in schema:
            body = "\n".join(f"  {line}" for line in fields)
            parts.append(f"{comment}export interface {type_name(name)}{base} {{\n{body}\n}}\n")
        else:
            parts.append(f"{comment}export type {type_name(name)} = {schema_type(schema)};\n")
    return HEAD + "\n".join(parts)


# --- errors -----------------------------------------------------------------------------------------------------------


def error_classes(kind: type[errors.MemstoneError] = errors.MemstoneError) -> Iterator[type[errors.MemstoneError]]:
    """Yield the errors of the package, the broader before the narrower."""
    yield kind
    for narrower in kind.__subclasses__():
        if narrower.__module__ == errors.__name__:
            yield from error_classes(narrower)


def errors_file() -> str:
    """Return ``errors.ts``."""
    parts = ['import { MemstoneError } from "./failure.js";\n\nexport { MemstoneError };\n']
    codes = []
    for kind in dict.fromkeys(error_classes()):
        if kind is errors.MemstoneError:
            continue
        base = next(one for one in kind.__bases__ if issubclass(one, errors.MemstoneError))
        parts.append(f"{doc_comment(kind.__doc__)}export class {kind.__name__} extends {base.__name__} {{}}\n")
        if "code" in vars(kind):
            codes.append(f"  {quoted(kind.code)}: {kind.__name__},")
    table = "/** The class of an error, by the code that the service tells. */\n"
    table += "export const ERRORS: Record<string, typeof MemstoneError> = {\n" + "\n".join(codes) + "\n};\n"
    return HEAD + "\n".join([*parts, table])


# --- verbs ------------------------------------------------------------------------------------------------------------


def camel(name: str) -> str:
    """Return a name of Python as TypeScript has it."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


class VerbWriter:
    """Writes the methods of the groups, by the routes and the description of the service."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.description = description
        self.parts: list[str] = []

    def write_group(self, verbs: type, prefix: str, name: str) -> None:
        """Write the class of a group, after those of the groups in it."""
        groups: dict[str, tuple[str, str | None]] = {}
        methods: list[str] = []
        for member_name, member in vars(verbs).items():
            if isinstance(member, property):
                inner: type = get_type_hints(member.fget)["return"]
                self.write_group(inner, f"{prefix}{member_name}.", inner.__name__)
                groups[member_name] = (inner.__name__, member.__doc__)
            elif inspect.isfunction(inspect.unwrap(member)) and not member_name.startswith("_"):
                verb = f"{prefix}{member_name}"
                if verb in ROUTES and verb not in NOT_OVER_HTTP and verb not in BY_HAND:
                    methods.append(self.method(verb, inspect.unwrap(member)))
        self.parts.append(self._class(verbs, name, groups, methods))

    @staticmethod
    def _class(verbs: type, name: str, groups: Mapping[str, tuple[str, str | None]], methods: list[str]) -> str:
        lines = [f"{doc_comment(verbs.__doc__)}export class {name} {{"]
        for one, (kind, doc) in groups.items():
            lines += [doc_comment(doc, "  ") + f"  readonly {camel(one)}: {kind};"]
        made = "".join(f"\n    this.{camel(one)} = new {kind}(link);" for one, (kind, _) in groups.items())
        body = f" {{{made}\n  }}" if made else " {}"
        lines += [f"\n  constructor(protected readonly link: ServiceConnection){body}\n"]
        return "\n".join([*lines, "\n".join(methods), "}"]) + "\n"

    def method(self, verb: str, function: Any) -> str:
        """Return one method: what Python takes by position comes first, the rest is one object."""
        route = ROUTES[verb]
        operation = self._operation(route)
        known = self._argument_schemas(operation)
        parameters = [
            one
            for one in list(inspect.signature(function).parameters.values())[1:]
            if one.name not in LEFT_OUT and (not route.body or one.name == route.body)
        ]
        first = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        rest = [one for one in parameters if one.kind is one.KEYWORD_ONLY]
        signature = [f"{camel(one.name)}{_mark(one)}: {self._type(one, known, route)}" for one in first]
        values = [f"{one.name}: {camel(one.name)}" for one in first]
        if rest:
            needed = any(one.default is one.empty for one in rest)
            fields = " ".join(f"{one.name}{_mark(one)}: {self._type(one, known, route)};" for one in rest)
            signature.append(f"options: {{ {fields} }}" + ("" if needed else " = {}"))
            values.append("...options")
        result = self._result(operation, route)
        name, call = camel(function.__name__), f'this.link.call(ROUTES["{verb}"], {{ {", ".join(values)} }})'
        head = f"  {name}({', '.join(signature)}): Promise<{result}> {{"
        return f"{doc_comment(function.__doc__, '  ')}{head}\n    return {call} as Promise<{result}>;\n  }}\n"

    def _operation(self, route: VerbRoute) -> Mapping[str, Any]:
        """Return the description of a route; one may stand for several verbs, with a parameter for their names."""
        paths, wanted = self.description["paths"], route.path.split("/")
        exact = [route.path] if route.path in paths else []
        fits = [path for path in paths if _fits(path.split("/"), wanted)]
        found: Mapping[str, Any] = paths[(exact or fits)[0]][route.method.lower()]
        return found

    def _argument_schemas(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schemas of everything that a route takes, by name."""
        known: dict[str, Any] = {}
        for one in operation.get("parameters", ()):
            parameter = self._resolve(one)
            known[parameter["name"]] = parameter.get("schema", {})
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        body = self._resolve(content.get("schema", {}))
        for one in [body, *map(self._resolve, body.get("anyOf", ()))]:
            known.update(one.get("properties", {}))
        return known

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            found: Any = self.description
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    @staticmethod
    def _type(one: inspect.Parameter, known: Mapping[str, Any], route: VerbRoute) -> str:
        if one.name == IDEMPOTENCY or (f"{{{one.name}}}" in route.path and one.name not in known):
            return "string"
        return schema_type(known.get(one.name, {}), "types.")

    def _result(self, operation: Mapping[str, Any], route: VerbRoute) -> str:
        answers = operation["responses"]
        success = answers.get("200") or answers.get("201") or {}
        schema = self._resolve(success).get("content", {}).get("application/json", {}).get("schema", {})
        name = schema_type(schema, "types.")
        if route.field:
            inner = self._resolve(schema).get("properties", {}).get(route.field, {})
            name = schema_type(inner, "types.")
        return f"{name} | null" if route.none_if_missing else name


def _fits(template: list[str], path: list[str]) -> bool:
    same = len(template) == len(path)
    return same and all(one in (other, "{act}") for one, other in zip(template, path, strict=True))


def _mark(one: inspect.Parameter) -> str:
    return "" if one.default is one.empty else "?"


def routes_table() -> str:
    """Return how each verb is asked for, as a constant."""
    lines = []
    for verb, route in ROUTES.items():
        if verb in NOT_OVER_HTTP:
            continue
        flags = [name for name in ("none_if_missing", "repeatable", "long") if getattr(route, name)]
        more = [f"{camel(name)}: true" for name in flags]
        more += [f'{name}: "{getattr(route, name)}"' for name in ("body", "field") if getattr(route, name)]
        if route.query:
            more.append("query: [" + ", ".join(f'"{one}"' for one in route.query) + "]")
        fields = ", ".join([f'method: "{route.method}"', f'path: "{route.path}"', *more])
        lines.append(f'  "{verb}": {{ {fields} }},')
    return "export const ROUTES = {\n" + "\n".join(lines) + "\n} as const satisfies Record<string, Route>;\n"


def verbs_file(description: Mapping[str, Any]) -> str:
    """Return ``verbs.ts``."""
    writer = VerbWriter(description)
    writer.write_group(MemoryVerbs, "", "MemoryVerbs")
    imports = 'import type { Route, ServiceConnection } from "./connection.js";\n'
    imports += 'import type * as types from "./types.js";\n'
    table = "/** Where every verb is asked for. */\n" + routes_table()
    return HEAD + "\n".join([imports, table, *writer.parts])


def generated_files() -> dict[str, str]:
    """Return the files by their names."""
    description = create_app({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}).openapi()
    return {"types.ts": types_file(description), "errors.ts": errors_file(), "verbs.ts": verbs_file(description)}


def main() -> int:
    """Write the files that changed."""
    for name, text in generated_files().items():
        path = TARGET / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
