"""Keep the tools in docs/guides/mcp.md in step with their schemas.

Between the marks stands every tool with what it takes, which permission it needs and what it answers. ``--check`` fails
when that is out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from memstone.server.mcp.spec import Argument, ToolSpec
from memstone.server.mcp.tools import tools_by_name

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "guides" / "mcp.md"
_MARKS: Final = re.compile(r"(<!-- tools: made by [^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint")


def filled(text: str) -> str:
    """Return the page with the tools as the code has them now."""
    described = "\n\n".join(map(_tool, tools_by_name().values()))
    return _MARKS.sub(lambda mark: f"{mark[1]}\n{described}\n\n{mark[2]}", text)


def _tool(spec: ToolSpec) -> str:
    hints = ", ".join(f"`{name}`" for name in _HINTS if spec.annotations[name])
    data = ", ".join(f"`{name}`" for name in spec.data)
    needs = f"Needs the permission `{spec.verb}`. Hints: {hints}. `data` contains {data}."
    rows = [("argument", "also", "value", "meaning"), ("---",) * 4, *(_row(spec, one) for one in spec.arguments)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return "\n\n".join((f"### `{spec.name}`", fill(spec.description, 120), fill(needs, 120), table))


def _row(spec: ToolSpec, one: Argument) -> tuple[str, ...]:
    meaning = one.description + (" Required." if one.name in spec.required else "")
    return f"`{one.name}`", f"`{one.other}`" if one.other else "", _form(one.schema), meaning


def _form(schema: Mapping[str, Any]) -> str:
    """Return a type of JSON Schema in words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    match schema["type"]:
        case "string":
            return f"text, up to {schema['maxLength']:,} characters"
        case "integer":
            default = f", {schema['default']} unless given" if "default" in schema else ""
            return f"whole number, {schema['minimum']:,} to {schema['maximum']:,}{default}"
        case "boolean":
            return "`true`, `false`"
        case kind:
            return str(kind)


def main(arguments: list[str]) -> int:
    """Write the page, or say that it is out of date."""
    before = DOCUMENT.read_text("utf-8")
    after = filled(before)
    if "--check" not in arguments:
        DOCUMENT.write_text(after, "utf-8")
    elif after != before:
        print("docs/guides/mcp.md is out of date: run python scripts/tools_reference.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
