"""Write src/memstone/server/openapi.json and openapi_gateways.json, which the service sends as its descriptions.

A line is a route or a form, so that a change of one is a change of one line. ``--check`` fails when a file is out of
date.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from memstone.server.app import create_app
from memstone.server.description import FILES, split_description

QUIET: Final = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


def main(arguments: list[str]) -> int:
    """Write the files, or say that one is out of date."""
    for name, part in split_description(create_app(QUIET).openapi()).items():
        file, made = FILES[name], format_description(part)
        if "--check" not in arguments:
            file.write_text(made, "utf-8")
        elif not file.exists() or file.read_text("utf-8") != made:
            print(f"{file.name} is out of date: run python scripts/describe_service.py")
            return 1
    return 0


def format_description(described: dict[str, Any]) -> str:
    """Return a description as JSON with a line for every route and every form."""
    parts = {**described, "paths": _Lines(described["paths"])}
    parts["components"] = {**described["components"], "schemas": _Lines(described["components"]["schemas"])}
    return _format(parts) + "\n"


class _Lines(dict[str, Any]):
    """An object whose entries get a line each."""


def _format(value: Any) -> str:
    if not isinstance(value, dict) or not any(isinstance(one, dict) for one in value.values()):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, _Lines):
        entries = (
            f"{json.dumps(key)}:{json.dumps(one, separators=(',', ':'), ensure_ascii=False)}"
            for key, one in value.items()
        )
        return "{\n" + ",\n".join(entries) + "\n}"
    return "{" + ",".join(f"{json.dumps(key)}:{_format(one)}" for key, one in value.items()) + "}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
