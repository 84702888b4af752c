"""Take pictures of every page of the console, light and dark, on a desktop and on a phone.

It needs Playwright and a Chromium. With a folder, all pictures go there; without one, those that the documentation
shows are replaced under ``docs/images``. ::

    python scripts/console_images.py /tmp/console
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
DOCUMENTED: Final = {
    "overview-desktop-light": "console-overview",
    "memories-desktop-light": "console-memories",
    "memory-desktop-light": "console-memory",
    "profile-desktop-dark": "console-profile",
}
"""Which pictures the documentation shows, and under what names."""


def take_pictures(folder: Path, wanted: Mapping[str, str] | None = None) -> None:
    """Take every picture, or those that are named, under their other names."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as store, open_chromium() as chromium:
        fill_store({"store": {"url": f"sqlite:///{store}/memory.db"}, "embedder": {"provider": "hash"}})
        with open_site(Path(store), chromium) as site:
            for screen, theme in product(SCREENS, THEMES):
                _take_with(site, folder, screen, theme, wanted)


def _take_with(site: Site, folder: Path, screen: str, theme: str, wanted: Mapping[str, str] | None) -> None:
    options: dict[str, Any] = {"viewport": SCREENS[screen], "color_scheme": theme}
    with site.signed_in(**options) as page:
        for name, path, prepare in SHOTS:
            full = f"{name}-{screen}-{theme}"
            if wanted is not None and full not in wanted:
                continue
            page.goto(site.url + path)
            prepare(page)
            file = folder / f"{(wanted or {}).get(full, full)}.png"
            page.screenshot(path=str(file), full_page=True)
            shrink(file)
            print(file)


def shrink(file: Path) -> None:
    """Write a picture with 256 colours, where Pillow is there to do it: a third of the size, and nobody sees it."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        return
    with Image.open(file) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(file, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_pictures(Path(sys.argv[1]))
    else:
        take_pictures(IMAGES, DOCUMENTED)
