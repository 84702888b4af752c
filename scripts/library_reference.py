"""Write docs/reference/library.md: every method of ``Memory``, by group, with the first line of its docstring.

Run without arguments to write the page, with ``--check`` to learn whether it is up to date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_type_hints

from memstone.api.base import Group
from memstone.api.verbs import MemoryVerbs
from memstone.memory import Memory

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "reference" / "library.md"
HEAD: Final = """# The library

Made by `scripts/library_reference.py`; do not edit.

`Memory` has about twenty methods. Everything else is in groups, so that your editor can complete it:
`memory.sessions.end(...)`. `AsyncMemory` has the same methods for asyncio, and `Client` and `AsyncClient` call a
[service](client.md) for them. `help(memory.search)` shows the arguments and what each method returns.
"""
MAKING: Final = ("from_config", "from_env", "acting_for", "close")


def page() -> str:
    """Return the page."""
    own = [_row(name, getattr(Memory, name), "Memory" if name.startswith("from_") else "memory") for name in MAKING]
    tables = [_table("Create and close a memory", "", own)]
    tables += [
        _table(title, text, rows)
        for title, text, rows in _groups(MemoryVerbs, "memory", "Store, find and change memories")
    ]
    return HEAD + "\n" + "\n".join(tables)


def _groups(group: type[Group], path: str, title: str) -> Iterator[tuple[str, str, list[str]]]:
    members = vars(group).items()
    text = "" if path == "memory" else f"{inspect.getdoc(group)}\n\n"
    yield title, text, [_row(name, one, path) for name, one in members if _is_verb(name, one)]
    for name, one in members:
        if isinstance(one, property):
            yield from _groups(get_type_hints(one.fget)["return"], f"{path}.{name}", f"`{path}.{name}`")


def _is_verb(name: str, member: Any) -> bool:
    return inspect.isfunction(member) and not name.startswith("_")


def _row(name: str, method: Any, path: str) -> str:
    first = (inspect.getdoc(method) or "").split("\n")[0].replace("``", "`").replace("|", "\\|")
    return f"| `{path}.{name}` | {first} |\n"


def _table(title: str, text: str, rows: list[str]) -> str:
    return f"## {title}\n\n{text}| method | what it does |\n|---|---|\n{''.join(rows)}"


def main() -> int:
    """Write the page, or say whether it is up to date."""
    if "--check" in sys.argv:
        return int(PAGE.read_text("utf-8") != page())
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
