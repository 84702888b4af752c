"""Take pictures of every page of the console, light and dark, on a desktop and on a phone.

It needs Playwright, Pillow and a Chromium. With a folder, all pictures go there; without one, those that the
documentation shows are replaced under ``docs/images``. ::

    python scripts/console_images.py /tmp/console
"""

from __future__ import annotations

import shutil
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
from tests.server.upstream import Upstream, served  # noqa: E402

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


def _say(page: Any) -> None:
    page.get_by_label("Message", exact=True).fill("I started learning Italian. Where should we eat tonight?")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Send").and_(page.locator(":enabled")).wait_for()
    page.get_by_text("Shown to the model").first.wait_for()
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def _wait_for_graph(page: Any) -> None:
    page.locator(".graph .node").first.wait_for()


_PERSON: Final = "/console/people/person?user=alice"
SHOTS: Final[Sequence[tuple[str, str, Prepare]]] = (
    ("overview", "/", _nothing),
    ("memories", "/console/memories", _nothing),
    ("memories-search", "/console/memories?q=run", _nothing),
    ("memories-many", "/console/memories?user=alice", _choose_two),
    ("memories-add", "/console/memories", _open_dialog("add")),
    ("memory", "/console/memories?q=bergen", _open_memory("Bergen")),
    ("profile", "/console/profile?user=alice&message=Where+should+we+eat+tonight%3F", _nothing),
    ("playground", "/console/playground?user=alice", _say),
    ("people", "/console/people", _nothing),
    ("person", _PERSON, _nothing),
    ("timeline", f"{_PERSON}&view=timeline", _nothing),
    ("session", "/console/people/session?user=alice&session=trip-1", _nothing),
    ("graph", f"{_PERSON}&view=graph", _wait_for_graph),
    ("past", f"{_PERSON}&view=past", _nothing),
    ("agent", "/console/people/agent?agent=concierge", _nothing),
    ("activity", "/console/activity", _nothing),
    ("review", "/console/review", _nothing),
    ("settings", "/console/settings", _nothing),
    ("connections", "/console/settings/connections", _nothing),
    ("access", "/console/settings/access", _nothing),
    ("data", "/console/settings/data", _nothing),
    ("docs", "/docs/memories", _nothing),
    ("health", "/health", _nothing),
)
IN_FULL: Final = {"overview", "memories", "memory", "profile"}
"""Of these the documentation shows all there is; of the others what a screen shows."""

DOCUMENTED: Final = {
    "overview-desktop-light": "console-overview",
    "memories-desktop-light": "console-memories",
    "memory-desktop-light": "console-memory",
    "profile-desktop-dark": "console-profile",
    "playground-desktop-light": "console-playground",
    "graph-desktop-light": "console-graph",
    "activity-desktop-dark": "console-activity",
    "review-desktop-light": "console-review",
    "settings-desktop-light": "console-settings",
    "docs-desktop-light": "console-docs",
}
"""Which pictures the documentation shows, and under what names; beside them all pages on one sheet for each screen."""

_ANSWER: Final = "Enhjørningen, near the harbour: a good vegetarian menu, and they take peanut allergies seriously."
_SHEETS: Final = {"desktop": (6, 330), "phone": (12, 165)}
"""How many pages stand beside each other on a sheet, and how wide each is."""


def take_pictures(folder: Path, *, documented: bool) -> None:
    """Take every picture; or those that the documentation shows, and the sheets of all."""
    folder.mkdir(parents=True, exist_ok=True)
    model = Upstream()
    model.reply = _ANSWER
    with tempfile.TemporaryDirectory() as store, open_chromium() as chromium, served(model.app) as url:
        fill_store({"store": {"url": f"sqlite:///{store}/memory.db"}, "embedder": {"provider": "hash"}})
        gateway = {"upstreams": [{"name": "model", "base_url": f"{url}/v1", "models": ["small"]}]}
        with open_site(Path(store), chromium, gateway=gateway) as site:
            for screen, theme in product(SCREENS, THEMES):
                shots = Path(store) / f"{screen}-{theme}" if documented else folder
                taken = _take_with(site, shots, screen, theme)
                if documented:
                    _keep_documented(taken, folder)
                    make_sheet(taken, folder / f"console-pages{'-phone' * (screen == 'phone')}-{theme}.png", screen)


def _take_with(site: Site, folder: Path, screen: str, theme: str) -> list[Path]:
    options: dict[str, Any] = {"viewport": SCREENS[screen], "color_scheme": theme}
    taken = []
    with site.signed_in(**options) as page:
        for name, path, prepare in SHOTS:
            page.goto(site.url + path)
            prepare(page)
            page.wait_for_timeout(150)  # what fades in
            taken.append(folder / f"{name}-{screen}-{theme}.png")
            page.screenshot(path=str(taken[-1]), full_page=name in IN_FULL)
            shrink(taken[-1])
            print(taken[-1])
    return taken


def _keep_documented(taken: Sequence[Path], folder: Path) -> None:
    for file in taken:
        if file.stem in DOCUMENTED:
            shutil.copy(file, folder / f"{DOCUMENTED[file.stem]}.png")


def make_sheet(files: Sequence[Path], target: Path, screen: str) -> None:
    """Put what a screen shows of every page onto one picture."""
    from PIL import Image

    (columns, width), gap = _SHEETS[screen], 8
    size = SCREENS[screen]
    height = round(width * size["height"] / size["width"])
    rows = -(-len(files) // columns)
    sheet = Image.new("RGB", (gap + columns * (width + gap), gap + rows * (height + gap)), "#8a8a8a")
    for number, file in enumerate(files):
        row, column = divmod(number, columns)
        with Image.open(file) as picture:
            shown = picture.convert("RGB").crop((0, 0, size["width"], size["height"]))
        place = (gap + column * (width + gap), gap + row * (height + gap))
        sheet.paste(shown.resize((width, height), Image.Resampling.LANCZOS), place)
    sheet.save(target)
    shrink(target)
    print(target)


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
        take_pictures(Path(sys.argv[1]), documented=False)
    else:
        take_pictures(IMAGES, documented=True)
