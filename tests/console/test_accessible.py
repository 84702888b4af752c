"""What a checker of accessibility finds on every page, in light and dark, on a desktop and on a phone: nothing."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.console.axe import FILE
from tests.console.browser import DESKTOP, PHONE, Chromium, Site, open_site
from tests.console.stock import fill_store

pytestmark = pytest.mark.system

PAGES = ("/", "/console/memories", "/console/memories?q=run", "/console/profile?user=alice&message=Where+to+eat")


def problems(page: Any, axe: str) -> list[str]:
    """What is wrong with a page, in short."""
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['impact']}: {one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical", "moderate"}
    ]


def check_all(site: Site, axe: str, options: dict[str, Any]) -> list[str]:
    """Look at every page of somebody who is signed in, and at the one before."""
    with site.memory() as memory:
        own = memory.get_all(user_id="alice")["results"][0]["id"]
    wrong: list[str] = []
    with site.chromium.tab(bypass_csp=True, **options) as page:
        page.goto(f"{site.url}/console/sign-in")
        wrong += [f"sign-in: {one}" for one in problems(page, axe)]
    with site.signed_in(bypass_csp=True, **options) as page:
        for path in (*PAGES, f"/console/memories/{own}", f"/console/memories/{own}/edit", "/console/nowhere"):
            page.goto(site.url + path)
            wrong += [f"{path}: {one}" for one in problems(page, axe)]
    return wrong


def test_a_checker_finds_nothing_serious_on_any_page(tmp_path: Path, chromium: Chromium) -> None:
    axe = FILE.read_text("utf-8")
    with open_site(tmp_path, chromium) as site:
        fill_store(site.config)
        wrong = [
            f"{theme} {screen['width']} {one}"
            for theme, screen in product(("light", "dark"), (DESKTOP, PHONE))
            for one in check_all(site, axe, {"color_scheme": theme, "viewport": screen})
        ]
    assert not wrong, "\n".join(wrong)
