"""Take pictures of every page of the console, light and dark, on a desktop and on a phone.

It needs Playwright and a Chromium. With a folder, all pictures go there; without one, those that the documentation
shows are replaced under ``docs/images``. ::

    python scripts/console_images.py /tmp/console
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.console.browser import DESKTOP, PHONE, Site, open_chromium, open_site  # noqa: E402 - the root comes first
from tests.console.stock import fill_store  # noqa: E402

IMAGES: Final = ROOT / "docs" / "images"
SCREENS: Final = {"desktop": DESKTOP, "phone": PHONE}
THEMES: Final = ("light", "dark")

Prepare = Callable[[Any], None]


def _nothing(_: Any) -> None:
    """Show the page as it opens."""


def _open_memory(text: str) -> Prepare:
    def prepare(page: Any) -> None:
        with page.expect_navigation():
            page.get_by_role("link", name=text).first.click()

    return prepare


def _choose_two(page: Any) -> None:
    for box in page.locator('input[name="id"]').all()[:2]:
        box.check()


def _open_dialog(target: str) -> Prepare:
    return lambda page: page.locator(f'[popovertarget="{target}"]').first.click()


SHOTS: Final[Sequence[tuple[str, str, Prepare]]] = (
    ("overview", "/", _nothing),
    ("memories", "/console/memories", _nothing),
    ("memories-search", "/console/memories?q=run", _nothing),
    ("memories-many", "/console/memories?user=alice", _choose_two),
    ("memories-add", "/console/memories", _open_dialog("add")),
    ("memory", "/console/memories?q=bergen", _open_memory("Bergen")),
    ("profile", "/console/profile?user=alice&message=Where+should+we+eat+tonight%3F", _nothing),
)
DOCUMENTED: Final = ("overview-desktop-light", "memories-desktop-light", "memory-desktop-light", "profile-desktop-dark")


def take_pictures(folder: Path, wanted: Sequence[str] = ()) -> None:
    """Take every picture, or those that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as store, open_chromium() as chromium:
        fill_store({"store": {"url": f"sqlite:///{store}/memory.db"}, "embedder": {"provider": "hash"}})
        with open_site(Path(store), chromium) as site:
            for screen, theme in product(SCREENS, THEMES):
                _take_with(site, folder, screen, theme, wanted)


def _take_with(site: Site, folder: Path, screen: str, theme: str, wanted: Sequence[str]) -> None:
    options: dict[str, Any] = {"viewport": SCREENS[screen], "color_scheme": theme}
    with site.signed_in(**options) as page:
        for name, path, prepare in SHOTS:
            full = f"{name}-{screen}-{theme}"
            if wanted and full not in wanted:
                continue
            page.goto(site.url + path)
            prepare(page)
            page.screenshot(path=str(folder / f"{full}.png"), full_page=True)
            print(full)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_pictures(Path(sys.argv[1]), sys.argv[2:])
    else:
        take_pictures(IMAGES, DOCUMENTED)
