"""A real browser, and a service on a port for it: Debian's ``chromium``, or what ``MEMSTONE_CHROMIUM`` names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from memstone import Memory
from memstone.drive import drive
from memstone.engine.access.console_access import create_console_link
from tests.server.place import Place, listening

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EXPECTED = ("Failed to load resource", "htmx:sendAbort", "htmx:sendError", "htmx:afterRequest", "htmx:responseError")
"""What a browser logs when an answer is refused, or is no longer wanted because more was typed."""

DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}


def find_chromium() -> str | None:
    """The browser of this machine."""
    named = os.environ.get("MEMSTONE_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Chromium:
    """A browser that runs."""

    browser: Any

    @contextmanager
    def tab(self, **options: Any) -> Iterator[Any]:
        """A page with its own cookies; whatever it loads from elsewhere, logs as an error or forbids fails the test."""
        context = self.browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
        context.set_default_timeout(20_000)
        page, complaints, elsewhere = context.new_page(), [], []
        page.on("console", lambda line: complaints.append(line.text) if _is_complaint(line) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: None if _is_local(asked.url) else elsewhere.append(asked.url))
        try:
            yield page
        finally:
            context.close()
        assert not complaints, complaints
        assert not elsewhere, elsewhere


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname == "127.0.0.1" or url.startswith(("data:", "about:", "blob:"))


def _is_complaint(line: Any) -> bool:
    """Whether a line of the browser's log is an error of ours; some tests are about answers that are refused."""
    return line.type == "error" and not any(known in line.text for known in EXPECTED)


@contextmanager
def open_chromium() -> Iterator[Chromium]:
    """Start the browser, or skip what needs it and say why."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: install one (Debian: apt install chromium) to run these tests")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
        )
        try:
            yield Chromium(browser)
        finally:
            browser.close()


@dataclass
class Site:
    """A service on a port, the file it stores in, and the browser."""

    place: Place
    config: dict[str, Any]
    chromium: Chromium
    errors: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address."""
        return self.place.url

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The same store, as another process has it."""
        with Memory(self.config) as memory:
            yield memory

    def add(self, text: str, user: str = "alice", **rest: Any) -> str:
        """Store a memory as it is, and return its id."""
        with self.memory() as memory:
            made = memory.add(text, user_id=user, **{"infer": False, **rest})
        memory_id: str = made["results"][0]["id"]
        return memory_id

    def texts(self, user: str = "alice", **rest: Any) -> list[str]:
        """What is remembered of somebody, newest first."""
        with self.memory() as memory:
            return [one["memory"] for one in memory.get_all(user_id=user, **rest)["results"]]

    def link(self, **wanted: Any) -> str:
        """A link that signs in."""
        with Memory(self.config) as memory:
            asked = {"minutes": 10.0, "session_hours": 12.0, **wanted}
            made = drive(memory.engine.run(create_console_link, **asked))
        return f"{self.url}/console/sign-in#{made.token}"

    @contextmanager
    def signed_in(self, *, person: str | None = None, read_only: bool = False, **options: Any) -> Iterator[Any]:
        """A tab of somebody who is signed in, at the first page."""
        with self.chromium.tab(**options) as page:
            page.goto(self.link(user_id=person, read_only=read_only))
            page.wait_for_url(f"{self.url}/")
            yield page


@contextmanager
def open_site(folder: Path, chromium: Chromium, url: str = "", **config: Any) -> Iterator[Site]:
    """Start a service that stores in a file, or in a database, so that a test can write to it as well."""
    settings = {
        "store": {"url": url or f"sqlite:///{folder / 'memory.db'}"},
        "embedder": {"provider": "hash"},
        "server": {"rate": {"per_minute": 0}},
        **config,
    }
    with Memory(settings) as memory:  # it makes the file
        memory.stats()
    with listening(settings) as place:
        yield Site(place, settings, chromium)
