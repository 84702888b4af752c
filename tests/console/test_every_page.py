"""What holds for every page: axe, narrow screens, the keyboard, stored text, one person's view, and no scripts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.axe import find_problems
from tests.console.browser import PHONE, Site
from tests.console.test_scenarios_watch import fill_everything, open_page, say

pytestmark = pytest.mark.system

PAGES = (
    "/console/playground?user=alice",
    "/console/people",
    "/console/people?kind=agent",
    "/console/people/person?user=alice",
    "/console/people/person?user=alice&view=timeline",
    "/console/people/person?user=alice&view=sessions",
    "/console/people/person?user=alice&view=graph",
    "/console/people/person?user=alice&view=past",
    "/console/people/session?user=alice&session=s1",
    "/console/people/agent?agent=support",
    "/console/activity",
    "/console/review",
    "/console/review?queue=doubtful",
    "/console/settings",
    "/console/settings/connections",
    "/console/settings/access",
    "/console/settings/data",
    "/docs",
    "/docs/memories",
    "/health",
)
EVIL = (
    "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">\"'><b>bold</b> "
    "\u202egnp.exe \x1b[31m {{ 7*7 }} javascript:alert(3) \u2066"
)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Site, colours: Any) -> None:
    fill_everything(site)
    with site.signed_in(color_scheme=colours) as page:
        found = {}
        for path in PAGES:
            open_page(page, site, path)
            page.wait_for_timeout(150)
            if problems := find_problems(page):
                found[path] = problems
        assert found == {}


SIZES = {
    "phone": PHONE,
    "zoomed": {"width": 640, "height": 430},  # a window of 1280 at 200 %
    "phone, zoomed": {"width": 195, "height": 422},
}


@pytest.mark.parametrize("size", SIZES)
def test_no_page_is_wider_than_a_phone_or_at_two_hundred_percent(site: Site, size: str) -> None:
    fill_everything(site)
    with site.signed_in(viewport=SIZES[size]) as page:
        for path in PAGES:
            open_page(page, site, path)
            wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 1, (path, wide)


def test_every_control_is_reached_by_keyboard(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        for path in PAGES:
            open_page(page, site, path)
            missing = page.evaluate(_UNREACHABLE)
            assert missing == [], (path, missing)
            reached = _tab_through(page)
            assert reached >= page.evaluate(_COUNT_CONTROLS) * 0.9, path


_COUNT_CONTROLS = """() => [...document.querySelectorAll(
    'a[href], button, input:not([type=hidden]), select, textarea, summary')]
    .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled).length"""
_UNREACHABLE = """() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')]
    .filter((one) => one.tabIndex < 0 && !one.disabled).map((one) => one.outerHTML.slice(0, 80))"""


def _tab_through(page: Any) -> int:
    """How many different controls the tabulator key reaches."""
    page.evaluate("() => { window.reached = new Set(); document.body.focus(); }")
    for _ in range(400):
        page.keyboard.press("Tab")
        again = page.evaluate(
            "() => { const one = document.activeElement; const known = window.reached.has(one) && one !== window.last;"
            " window.reached.add(one); window.last = one; return known && one !== document.body; }"
        )
        if again:
            break
    count: int = page.evaluate("() => window.reached.size")
    return count


def test_stored_text_is_inert_on_every_page(site: Site) -> None:
    with site.memory() as memory:
        memory.add(EVIL, user_id="alice", run_id="s1", agent_id="support", infer=False)
        held = memory.add(f"{EVIL} held", user_id="alice", infer=False)["results"][0]["id"]
        memory.review.quarantine(held, EVIL[:90].replace("\x1b", ""))
        memory.agents.save(
            "support", name="<b>agent</b>", system_prompt="</textarea><script>document.title='broken'</script>"
        )
        memory.context(EVIL, user_id="alice")
        memory.admin.keys.create("<i>key</i>")
    with site.signed_in() as page:
        open_page(page, site, "/console/playground?user=alice")
        say(page, "<img src=x onerror=\"document.title='broken'\"> I live in Oslo")
        assert "broken" not in page.title()
        for path in PAGES:
            open_page(page, site, path)
            assert "broken" not in page.title()
            assert not page.locator("main img, main b, main i, main script").count(), path
            assert "\u202e" not in page.content()


def test_a_person_sees_only_their_own_in_every_page(site: Site) -> None:
    fill_everything(site)
    with site.signed_in(person="bob") as page:
        for path in PAGES:
            open_page(page, site, path)
            assert "Oslo" not in page.inner_text("main") or "/docs" in path or "playground" in path, path
            assert "Mia" not in page.content(), path


def test_who_may_only_read_has_no_way_to_change(site: Site) -> None:
    fill_everything(site)
    with site.signed_in(read_only=True) as page:
        open_page(page, site, "/console/people/person?user=alice")
        assert not page.get_by_role("button", name="Pause").count()
        open_page(page, site, "/console/settings?user=alice")
        assert page.locator("#switch-memory").is_disabled()


def test_reading_works_without_scripts(site: Site) -> None:
    fill_everything(site)
    with site.memory() as memory:
        from memstone.drive import drive
        from memstone.engine.access.console_access import create_console_link

        link = drive(memory.engine.run(create_console_link, minutes=10.0, session_hours=1.0))
    with site.chromium.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/")
        page.get_by_label("Code").fill(link.code)
        page.get_by_role("button", name="Sign in").first.click()
        open_page(page, site, "/console/people/person?user=alice&view=graph")
        assert page.get_by_text("sister of").is_visible()
        open_page(page, site, "/console/activity")
        assert page.locator("#feed").get_by_text("Bergen").first.is_visible()
        assert page.get_by_role("link", name="Refresh").is_visible()
        open_page(page, site, "/console/review")
        page.get_by_role("button", name="Approve: User likes tea.").click()
        assert page.get_by_text("Approved 1 memory").is_visible()
