"""Keep docs/reference/rest.md in step with the routes of the service.

Between ``<!-- routes: made by a script -->`` and ``<!-- end -->`` stands every route: its name, what a key must be
allowed to do, and what it does. ``--check`` fails when that is out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin

from fastapi.routing import APIRoute

from memstone.remote.routes import NOT_OVER_HTTP, ROUTES
from memstone.server.access import Admin, Chatter, KeyHolder, Reader, Writer
from memstone.server.app import create_app

if TYPE_CHECKING:
    from fastapi import FastAPI

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "reference" / "rest.md"
QUIET: Final = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
_CALLERS: Final = (("read", Reader), ("write", Writer), ("write", Chatter), ("admin", Admin), ("any", KeyHolder))
FAMILIES: Final = {
    "memories": "Memories",
    "context": "Context",
    "keys": "Keys",
    "login": "Logging in",
    "accounts": "Accounts",
    "console": "Console",
    "jobs": "Jobs",
    "changes": "Changes",
    "settings": "Settings",
    "export and import": "Export and import",
    "companions": "Companions",
    "agents": "Agents",
    "vectors": "Vectors",
    "entries": "Entries, as gateways know them",
    "memory settings": "Settings, as gateways know them",
    "gateway": "Gateway",
    "health": "Health",
}


def main(arguments: list[str]) -> int:
    """Write the document, or say that it is out of date."""
    before = DOCUMENT.read_text("utf-8")
    after = filled(before)
    if "--check" not in arguments:
        DOCUMENT.write_text(after, "utf-8")
    elif after != before:
        print("docs/reference/rest.md is out of date: run python scripts/rest_reference.py")
        return 1
    return 0


def filled(text: str) -> str:
    """Return the document with its tables."""
    made = {"routes": routes_tables(), "verbs": verbs_table()}
    return re.sub(
        r"(<!-- (\w+): made by a script -->\n).*?(<!-- end -->)",
        lambda mark: f"{mark[1]}\n{made[mark[2]]}\n{mark[3]}",
        text,
        flags=re.DOTALL,
    )


def routes_tables() -> str:
    """Return every route, by family."""
    families: dict[str, list[str]] = {}
    for route in routes(create_app(QUIET)):
        family = str(route.tags[0]) if route.tags else "health"
        families.setdefault(family, []).extend(_rows(route))
    known = [*FAMILIES, *sorted(set(families) - set(FAMILIES))]
    visible = [(FAMILIES.get(name, name.capitalize()), families[name]) for name in known if name in families]
    return "\n".join(f"### {title}\n\n{_table(('route', 'key', 'what it does'), rows)}" for title, rows in visible)


def verbs_table() -> str:
    """Return the route of every method of ``Memory``, and the methods that have none."""
    rows = [f"| `{name}` | `{route.method} {route.path}` |\n" for name, route in ROUTES.items()]
    without = "".join(f"| `{name}` | {reason} |\n" for name, reason in sorted(NOT_OVER_HTTP.items()))
    return _table(("method", "route"), rows) + "\n" + _table(("not over HTTP", "why"), [without])


def routes(app: FastAPI) -> Iterator[APIRoute]:
    """Yield every route that is described, in order."""
    yield from (one for one in app.routes if isinstance(one, APIRoute) and one.include_in_schema)


def _rows(route: APIRoute) -> Iterator[str]:
    for method in sorted(route.methods or ()):
        yield f"| `{method} {route.path_format}` | {_need(route)} | {_sentence(route.description)} |\n"


def _need(route: APIRoute) -> str:
    """Return what a key must be allowed to do, from what the route depends on."""
    asked = {dependency.call for dependency in route.dependant.dependencies}
    for name, caller in _CALLERS:
        if _dependency(caller) in asked:
            return name
    return "none"


def _dependency(caller: Any) -> Any:
    if get_origin(caller) is not Annotated:
        raise TypeError(caller)
    return get_args(caller)[1].dependency


def _sentence(text: str) -> str:
    first = " ".join(text.split("\n\n", 1)[0].split())
    return first.replace("``", "`").replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Iterable[str]) -> str:
    return f"| {' | '.join(head)} |\n|{'|'.join(' --- ' for _ in head)}|\n{''.join(rows)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
