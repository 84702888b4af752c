"""What ``axe`` finds on a page: the accessibility checks of axe-core, run in the browser itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "vendor" / "axe.min.js"
_SERIOUS = ("serious", "critical")


def find_problems(page: Any) -> list[str]:
    """The serious problems of a page, each with the places where it is."""
    page.evaluate(FILE.read_text())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']} ({[node['target'] for node in one['nodes']][:4]})"
        for one in found["violations"]
        if one["impact"] in _SERIOUS
    ]
