"""Tasks that people do in the console, in a real browser; a third of them on PostgreSQL as well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.browser import PHONE, Chromium, Site, open_site
from tests.patience import until

if TYPE_CHECKING:
    from tests.postgres.server import Server

pytestmark = pytest.mark.system

LIST = "/console/memories"
KINDS = ("a", "button", "input", "select", "summary", "textarea")
PLACE = """() => {
  const here = document.activeElement;
  return here.closest("main") ? [...document.querySelectorAll("main *")].indexOf(here) : -1;
}"""


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path, chromium: Chromium) -> Iterator[Site]:
    """A service over a file, or where a test says so over a database."""
    url = ""
    if getattr(request, "param", "sqlite") == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(server.database(server.pattern), "app")
    with open_site(tmp_path, chromium, url) as made:
        yield made


anywhere = pytest.mark.parametrize("site", ["sqlite", "postgres"], indirect=True)


def open_list(site: Site, page: Any, query: str = "") -> None:
    page.goto(f"{site.url}{LIST}{query}")


def listed(page: Any, count: int | None = None) -> list[str]:
    """What the list shows, once it has so many rows."""
    rows = page.locator("#results .memory-text")
    if count is not None:
        until(lambda: page.wait_for_timeout(20) or rows.count() == count, 20)
    return [str(text) for text in rows.all_inner_texts()]


def see(page: Any, text: str) -> None:
    """Wait until a heading is there."""
    page.get_by_role("heading", name=text).first.wait_for()


# --- getting in -------------------------------------------------------------------------------------------------------


@anywhere
def test_a_link_that_was_used_says_how_to_get_another(site: Site) -> None:
    link = site.link()
    with site.chromium.tab() as first:
        first.goto(link)
        first.wait_for_url(f"{site.url}/")
    with site.chromium.tab() as second:
        second.goto(link)
        second.get_by_text("already used").wait_for()
        assert second.get_by_text("memstone console").first.is_visible()


def test_a_code_signs_in_and_a_wrong_one_is_explained(site: Site) -> None:
    with site.chromium.tab() as page:
        page.goto(f"{site.url}{LIST}")
        page.get_by_label("Code").fill("AAAA-AAAA")
        page.get_by_role("button", name="Sign in").first.click()
        page.get_by_text("This code is wrong").wait_for()


@anywhere
def test_an_account_signs_in_and_is_asked_whose_memory(site: Site) -> None:
    with site.memory() as memory:
        memory.admin.accounts.create("vera", "correct horse battery", role="viewer")
    site.add("I live in Oslo")
    with site.chromium.tab() as page:
        page.goto(site.url)
        page.get_by_text("Sign in with an account").click()
        page.get_by_label("Login").fill("vera")
        page.get_by_label("Password").fill("correct horse battery")
        page.locator("details").get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Whose memory?").wait_for()
        page.get_by_label("Person").fill("alice")
        page.get_by_role("button", name="Show").click()
        see(page, "Overview of alice")
        open_list(site, page, "?user=alice")
        assert page.get_by_role("button", name="Add").count() == 0


def test_signing_in_leads_to_the_page_that_was_wanted(site: Site) -> None:
    own = site.add("I live in Oslo")
    with site.memory() as memory:
        from memstone.drive import drive
        from memstone.engine.access.console_access import create_console_link

        link = drive(memory.engine.run(create_console_link, minutes=10.0, session_hours=1.0))
    with site.chromium.tab() as page:
        page.goto(f"{site.url}{LIST}/{own}")
        page.get_by_label("Code").fill(link.code)
        page.get_by_role("button", name="Sign in").first.click()
        see(page, "I live in Oslo")


def test_a_session_that_ends_elsewhere_leads_to_the_sign_in(site: Site) -> None:
    site.add("I live in Oslo")
    with site.signed_in() as page:
        open_list(site, page)
        with site.memory() as memory:
            from memstone.drive import drive
            from memstone.engine.access.console_access import end_all_console_access

            drive(memory.engine.run(end_all_console_access))
        page.get_by_label("Search", exact=True).fill("oslo")
        page.get_by_role("heading", name="Sign in").wait_for()


# --- looking through memories -----------------------------------------------------------------------------------------


@anywhere
def test_pages_go_back_and_forth(site: Site) -> None:
    with site.memory() as memory:
        memory.add_many([{"messages": f"Fact {n}", "user_id": "alice", "infer": False} for n in range(45)])
    with site.signed_in() as page:
        open_list(site, page)
        first = listed(page, 20)
        page.get_by_role("link", name="Older").click()
        page.get_by_role("link", name="Fact 24", exact=True).wait_for()
        page.get_by_role("link", name="Older").click()
        assert listed(page, 5) == ["Fact 4", "Fact 3", "Fact 2", "Fact 1", "Fact 0"]
        page.get_by_role("link", name="Newer").click()
        page.get_by_role("link", name="Fact 24", exact=True).wait_for()
        page.get_by_role("link", name="Newer").click()
        page.get_by_role("link", name="Fact 44", exact=True).wait_for()
        assert listed(page, 20) == first


@anywhere
@pytest.mark.req("O-88")
def test_filters_narrow_the_list_at_once(site: Site) -> None:
    site.add("I like tea", kind="semantic")
    site.add("I like rain", "bob", agent_id="coach")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_text("Filters and order").click()
        page.get_by_label("Kind", exact=True).first.select_option("semantic")
        page.wait_for_url(re.compile("kind=semantic"))
        assert listed(page, 1) == ["I like tea"]
        page.get_by_label("Kind", exact=True).first.select_option("")
        listed(page, 2)
        page.get_by_label("Agent").fill("coach")
        page.get_by_label("Agent").press("Tab")
        page.wait_for_url(re.compile("agent=coach"))
        assert listed(page, 1) == ["I like rain"]


def test_the_field_of_a_person_offers_who_there_is(site: Site) -> None:
    site.add("I like tea")
    site.add("I like rain", "bob")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_text("Filters and order").click()
        page.locator("#user").focus()
        page.locator("#people option").nth(1).wait_for(state="attached")
        assert {one.get_attribute("value") for one in page.locator("#people option").all()} == {"alice", "bob"}


@anywhere
def test_what_nothing_matches_can_be_cleared(site: Site) -> None:
    site.add("I like tea")
    with site.signed_in() as page:
        open_list(site, page, "?q=xyz")
        page.get_by_role("link", name="Clear the filters").click()
        assert listed(page, 1) == ["I like tea"]


def test_an_empty_store_teaches_the_first_step(site: Site) -> None:
    with site.signed_in() as page:
        assert page.get_by_text("Nothing is remembered yet").first.is_visible()
        open_list(site, page)
        assert "memstone add" in page.locator("#first").inner_text()


def test_the_slash_key_goes_to_the_search(site: Site) -> None:
    site.add("I like tea")
    with site.signed_in() as page:
        open_list(site, page)
        page.keyboard.press("/")
        page.keyboard.type("te")
        page.locator("#results mark").wait_for()


@anywhere
def test_a_search_by_meaning_says_why(site: Site) -> None:
    site.add("I live in Oslo")
    with site.signed_in() as page:
        open_list(site, page, "?user=alice&by=meaning&q=Oslo")
        assert page.get_by_text("its words match").is_visible()


# --- changing many ----------------------------------------------------------------------------------------------------


@anywhere
def test_many_are_disabled_and_enabled_again(site: Site) -> None:
    for number in range(3):
        site.add(f"Fact {number}")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_label("Choose all on this page").check()
        page.get_by_role("button", name="Disable").click()
        page.get_by_text("Disabled 3 memories").wait_for()
        assert site.texts() == []
        page.get_by_label("Choose all on this page").check()
        page.get_by_role("button", name="Enable").click()
        page.get_by_text("Enabled 3 memories").wait_for()
    assert len(site.texts()) == 3


@anywhere
def test_many_are_tagged_and_found_by_the_tag(site: Site) -> None:
    site.add("Fact 1")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_label("Choose this memory").check()
        page.get_by_role("button", name="Tag").click()
        page.get_by_role("dialog", name="Tag").get_by_label("Tag").fill("blue")
        page.get_by_role("dialog", name="Tag").get_by_role("button", name="Tag").click()
        page.get_by_text("Tagged 1 memory").wait_for()
        page.get_by_role("link", name="blue").click()
        page.wait_for_url(re.compile("tag=blue"))
        assert listed(page, 1) == ["Fact 1"]


@anywhere
def test_a_memory_is_moved_to_somebody_else(site: Site) -> None:
    site.add("Fact 1")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_label("Choose this memory").check()
        page.get_by_role("button", name="Move").click()
        page.get_by_role("dialog", name="Move").get_by_label("Person").fill("bob")
        page.get_by_role("dialog", name="Move").get_by_role("button", name="Move").click()
        page.get_by_text("Moved 1 memory").wait_for()
    assert (site.texts(), site.texts("bob")) == ([], ["Fact 1"])


@anywhere
def test_deleted_memories_are_found_and_restored(site: Site) -> None:
    own = site.add("Fact 1")
    with site.memory() as memory:
        memory.delete(own)
    with site.signed_in() as page:
        open_list(site, page, "?status=deleted")
        page.get_by_label("Choose this memory").check()
        page.get_by_role("button", name="Restore").click()
        page.get_by_text("Restored 1 memory").wait_for()
    assert site.texts() == ["Fact 1"]


def test_the_question_before_deleting_can_be_cancelled_by_keyboard(site: Site) -> None:
    site.add("Fact 1")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_label("Choose this memory").check()
        page.get_by_role("button", name="Delete").focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog", name="Delete").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("dialog", name="Delete").wait_for(state="hidden")
    assert site.texts() == ["Fact 1"]


@pytest.mark.req("O-91")
def test_a_page_is_exported_and_imported_for_somebody_else(site: Site, tmp_path: Path) -> None:
    site.add("Fact 1")
    site.add("Fact 2")
    with site.signed_in(accept_downloads=True) as page:
        open_list(site, page, "?user=alice")
        page.locator(".page-head .dropdown summary").click()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Export this page").click()
        file = tmp_path / "memories.json"
        waiting.value.save_as(file)
        assert len(json.loads(file.read_text())["memories"]) == 2
        page.get_by_role("button", name="Import a file").click()
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("dialog").get_by_label("Person").fill("bob")
        page.get_by_role("dialog").get_by_role("button", name="Import").click()
        page.get_by_text("Imported 2 memories, skipped 0").wait_for()
    assert sorted(site.texts("bob")) == ["Fact 1", "Fact 2"]


def test_a_file_that_is_none_is_explained(site: Site, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("hello")
    with site.signed_in() as page:
        open_list(site, page)
        page.locator(".page-head .dropdown summary").click()
        page.get_by_role("button", name="Import a file").click()
        page.get_by_label("File", exact=True).set_input_files(tmp_path / "x.json")
        page.get_by_role("dialog").get_by_role("button", name="Import").click()
        page.get_by_text("The file is not JSON").wait_for()
        page.get_by_role("link", name="Go back").click()
        page.wait_for_url(f"{site.url}{LIST}")


# --- one memory -------------------------------------------------------------------------------------------------------


@anywhere
def test_a_memory_that_was_learned_shows_the_conversation_around_it(site: Site) -> None:
    with site.memory() as memory:
        for text in ("Hello there.", "I live in Oslo.", "And what about you?"):
            memory.add(text, user_id="alice", run_id="s1")
    with site.signed_in() as page:
        open_list(site, page, "?q=oslo")
        page.get_by_role("link", name="User lives in Oslo.").click()
        page.locator(".talk mark").wait_for()
        said = page.locator(".talk li").all_inner_texts()
        assert [re.sub(r"\s+", " ", one).split(" ago ")[-1].removeprefix("alice now ") for one in said] == [
            "Hello there.", "I live in Oslo.", "And what about you?",
        ]  # fmt: skip


@anywhere
def test_a_change_is_undone_from_the_history(site: Site) -> None:
    own = site.add("I live in Oslo")
    with site.memory() as memory:
        memory.update(own, "I live in Rome")
    with site.signed_in() as page:
        page.goto(f"{site.url}{LIST}/{own}")
        page.get_by_role("button", name="Undo this").click()
        page.get_by_text("Undone", exact=True).wait_for()
    assert site.texts() == ["I live in Oslo"]


@anywhere
def test_an_earlier_version_comes_back(site: Site) -> None:
    own = site.add("one")
    with site.memory() as memory:
        memory.update(own, "two")
        memory.update(own, "three")
    with site.signed_in() as page:
        page.goto(f"{site.url}{LIST}/{own}")
        page.get_by_role("button", name="Back to version 1").click()
        page.get_by_text("Restored", exact=True).wait_for()
    assert site.texts() == ["one"]


@anywhere
def test_a_memory_is_made_private_at_once(site: Site) -> None:
    with site.memory() as memory:
        memory.add("I am allergic to peanuts.", user_id="alice")
    with site.signed_in() as page:
        open_list(site, page)
        page.get_by_role("link", name="peanuts").click()
        page.get_by_label("Private").check()
        page.get_by_text("Private: models never see it").wait_for()
    with site.memory() as memory:
        assert "peanuts" not in memory.context("What can I eat?", user_id="alice").text


def test_a_memory_in_quarantine_is_approved(site: Site) -> None:
    own = site.add("I live in Oslo")
    with site.memory() as memory:
        memory.review.quarantine(own)
    with site.signed_in() as page:
        page.goto(f"{site.url}{LIST}/{own}")
        assert page.get_by_text("Held back until somebody approves it").is_visible()
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("Approved: it is recalled again").wait_for()
    assert site.texts() == ["I live in Oslo"]


def test_a_memory_is_erased_for_good_only_after_the_word(site: Site) -> None:
    own = site.add("The word is swordfish")
    with site.signed_in() as page:
        page.goto(f"{site.url}{LIST}/{own}")
        page.get_by_label("More").click()
        page.get_by_role("button", name="Erase for good").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Type erase to go on").fill("erase")
        dialog.get_by_role("button", name="Erase").click()
        page.get_by_text("Erased for good").wait_for()
        page.goto(f"{site.url}{LIST}/{own}")
        see(page, "Nothing is here")


def test_a_receipt_shows_what_was_shown_and_why_the_rest_was_not(site: Site) -> None:
    with site.memory() as memory:
        memory.add("I live in Oslo. I am allergic to peanuts.", user_id="alice")
        memory.context("Where should I eat?", user_id="alice")
    with site.signed_in() as page:
        open_list(site, page, "?q=peanuts")
        page.get_by_role("link", name="peanuts").click()
        page.get_by_role("link", name="Where should I eat?").click()
        see(page, "Shown to the model")
        assert page.get_by_text("User is allergic to peanuts.").is_visible()


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_the_colours_are_chosen_and_stay(site: Site) -> None:
    with site.signed_in(color_scheme="light") as page:
        page.get_by_role("button", name="Dark colours").first.click()
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 20, 19)"
        open_list(site, page)
        assert page.locator("html").get_attribute("data-theme") == "dark"


def test_a_line_to_connect_is_copied_and_right(site: Site) -> None:
    with site.signed_in(permissions=["clipboard-read", "clipboard-write"]) as page:
        page.locator("[data-copy='#connect-3']").click()
        page.get_by_text("Copied").wait_for()
        assert f"{site.url}/mcp" in page.evaluate("navigator.clipboard.readText()")


@anywhere
def test_the_overview_counts_what_there_is(site: Site) -> None:
    with site.memory() as memory:
        memory.add("I live in Oslo.", user_id="alice")
        memory.context("Where do I live?", user_id="alice")
    with site.signed_in() as page:
        values = page.locator(".stat-value").all_inner_texts()
        assert values[:3] == ["1", "1", "1"]
        assert page.get_by_text("recalled 1").is_visible()
        page.locator(".plot rect.s1").first.wait_for()


def test_work_that_waits_is_learned_from_now(site: Site) -> None:
    with site.memory() as memory:
        memory.ingest([{"role": "user", "content": "I live in Oslo."}], user_id="alice", learn=True)
    with site.signed_in() as page:
        page.get_by_role("button", name="Learn now").click()
        page.get_by_text("Learned from").wait_for()


def test_a_server_that_is_gone_is_said_and_the_text_stays(site: Site) -> None:
    site.add("I live in Oslo")
    with site.signed_in() as page:
        open_list(site, page)
        page.context.set_offline(True)
        page.get_by_label("Search", exact=True).fill("oslo")
        page.get_by_text("The server cannot be reached").wait_for()
        page.context.set_offline(False)
        assert page.get_by_label("Search", exact=True).input_value() == "oslo"


def test_a_personal_link_that_only_reads_offers_no_change(site: Site) -> None:
    own = site.add("I live in Oslo")
    with site.signed_in(person="alice", read_only=True) as page:
        page.goto(f"{site.url}{LIST}/{own}")
        assert page.get_by_role("button", name="Edit").count() == 0
        assert page.get_by_role("button", name="Forget").count() == 0


@pytest.mark.parametrize("path", ["/", LIST, "/console/profile?user=alice"])
def test_every_action_of_a_page_is_reached_by_keyboard(site: Site, path: str) -> None:
    site.add("I live in Oslo")
    with site.signed_in() as page:
        page.goto(site.url + path)
        wanted = page.locator(", ".join(f"main {kind}:visible" for kind in KINDS)).count()
        seen = set()
        for _ in range(wanted + 40):
            page.keyboard.press("Tab")
            place = page.evaluate(PLACE)
            if place >= 0:
                seen.add(place)
        assert len(seen) >= wanted


def test_text_at_twice_its_size_fits(site: Site) -> None:
    own = site.add("I live in Oslo, near the harbour, with a cat called Biscuit")
    with site.signed_in(viewport={"width": 640, "height": 430}) as page:  # 1280 by 860 at 200 %
        for path in ("/", LIST, f"{LIST}/{own}", "/console/profile?user=alice"):
            page.goto(site.url + path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_without_scripts_every_page_can_be_read(site: Site) -> None:
    own = site.add("I live in Oslo")
    with site.memory() as memory:
        from memstone.drive import drive
        from memstone.engine.access.console_access import create_console_link

        link = drive(memory.engine.run(create_console_link, minutes=10.0, session_hours=1.0))
    with site.chromium.tab(java_script_enabled=False, viewport=PHONE) as page:
        page.goto(site.url)
        page.get_by_label("Code").fill(link.code)
        page.get_by_role("button", name="Sign in").first.click()
        for path in ("/", f"{LIST}?q=oslo", f"{LIST}/{own}", "/console/profile?user=alice"):
            page.goto(site.url + path)
            assert page.locator("h1").first.is_visible()
        page.goto(f"{site.url}{LIST}/{own}/edit")
        page.get_by_label("Text").fill("I live in Rome")
        page.get_by_role("button", name="Save").click()
    assert site.texts() == ["I live in Rome"]
