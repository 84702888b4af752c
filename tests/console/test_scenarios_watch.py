"""Tasks that people do in a real browser: talk, watch, review, look after people, and set things up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.browser import Chromium, Site, open_site
from tests.server.upstream import Upstream, served

if TYPE_CHECKING:
    from tests.postgres.server import Server

system = pytest.mark.system
anywhere = pytest.mark.parametrize("site", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path, chromium: Chromium) -> Iterator[Site]:
    """A service over a file, or where a test says so over a database."""
    url = ""
    if getattr(request, "param", "sqlite") == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(server.database(server.pattern), "app")
    with open_site(tmp_path, chromium, url) as made:
        yield made


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    """A service that runs models, and its address."""
    made = Upstream()
    with served(made.app) as url:
        yield made, url


def fill_everything(site: Site) -> None:
    """A little of everything."""
    with site.memory() as memory:
        now = datetime.now(UTC)
        talk: dict[str, Any] = {"user_id": "alice", "agent_id": "support"}
        memory.add(
            "I live in Oslo. My sister Mia works at Equinor.", run_id="s1", occurred_at=now - timedelta(30), **talk
        )
        memory.add("I moved to Bergen.", run_id="s2", occurred_at=now - timedelta(2), **talk)
        memory.context("Where do I live?", user_id="alice")
        held = memory.add("User likes tea.", user_id="alice", infer=False)["results"][0]["id"]
        memory.review.quarantine(held, "look at it")
        memory.admin.keys.create("backend")
        memory.admin.accounts.create("nora", "correct horse battery", role="viewer")


def say(page: Any, text: str) -> None:
    """Type a message and wait until memory has dealt with it."""
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Send").and_(page.locator(":enabled")).wait_for()


def open_page(page: Any, site: Site, path: str) -> Any:
    """Go to a page."""
    page.goto(site.url + path)
    return page


# --- playground -------------------------------------------------------------------------------------------------------


def test_someone_says_something_and_sees_what_was_learned(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/playground?user=alice")
        say(page, "I live in Oslo and I'm allergic to peanuts.")
        page.locator(".change-list").get_by_text("User lives in Oslo").wait_for()
        assert page.get_by_text("No upstream is configured").first.is_visible()
    assert any("Oslo" in text for text in site.texts())


@system
@anywhere
def test_someone_asks_and_sees_the_lines_a_model_would_be_shown(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/playground?user=alice")
        say(page, "Where do I live now?")
        block = page.locator("#trace")
        block.get_by_text("Always shown: the profile").wait_for()
        assert block.get_by_text(re.compile("of 1,400 tokens")).is_visible()
        block.get_by_text("The block, word for word").click()
        assert block.get_by_text("Memory context: notes kept").is_visible()


@system
def test_an_answer_arrives_piece_by_piece(tmp_path: Path, chromium: Chromium, upstream: tuple[Upstream, str]) -> None:
    made, url = upstream
    made.reply = "You live in Bergen, near the harbour."
    gateway = {"upstreams": [{"name": "loop", "base_url": f"{url}/v1", "models": ["tiny"]}]}
    with open_site(tmp_path, chromium, gateway=gateway) as site:
        fill_everything(site)
        with site.signed_in() as page:
            open_page(page, site, "/console/playground?user=alice")
            say(page, "Where do I live?")
            assert page.locator(".bubble.theirs").last.inner_text().strip() == made.reply
            assert page.get_by_label("Model").input_value() == "tiny"


@system
def test_somebody_changes_gate_and_budget_and_sees_the_difference(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/playground?user=alice")
        page.get_by_label("Gate").select_option("never")
        page.wait_for_url(re.compile("gate=never"))
        say(page, "Where do I live?")
        page.locator("#trace").get_by_text(re.compile("^Nothing:")).first.wait_for()
        page.get_by_label("Gate").select_option("")
        page.wait_for_url(lambda url: "gate=never" not in url)
        page.get_by_label("Budget in tokens").fill("60")
        page.get_by_role("button", name="Apply").click()
        say(page, "Where do I live?")
        page.get_by_text(re.compile("of 60 tokens")).wait_for()


@system
@anywhere
def test_a_correction_changes_what_is_shown_next(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/playground?user=alice")
        say(page, "I live in Oslo.")
        say(page, "I moved to Bergen.")
        page.locator(".change-list").get_by_text("Bergen").first.wait_for()
        say(page, "Where do I live?")
        page.locator(".shown-lines").get_by_text("Bergen").first.wait_for()
        assert not page.locator(".shown-lines").get_by_text("User lives in Oslo.", exact=True).count()


@system
def test_without_scripts_the_playground_still_tells_everything(site: Site) -> None:
    with site.memory() as memory:
        from memstone.drive import drive
        from memstone.engine.access.console_access import create_console_link

        link = drive(memory.engine.run(create_console_link, minutes=10.0, session_hours=1.0))
    with site.chromium.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/")
        page.get_by_label("Code").fill(link.code)
        page.get_by_role("button", name="Sign in").first.click()
        open_page(page, site, "/console/playground?user=alice")
        page.get_by_label("Message", exact=True).fill("I live in Oslo.")
        page.get_by_role("button", name="Send").click()
        assert page.locator(".change-list").get_by_text("User lives in Oslo").is_visible()


@system
def test_a_lost_connection_keeps_the_message(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/playground?user=alice")
        page.route("**/playground/say", lambda route: route.abort())
        page.get_by_label("Message", exact=True).fill("I live in Oslo.")
        page.get_by_role("button", name="Send").click()
        page.get_by_text("The server cannot be reached").wait_for()
        assert page.get_by_label("Message", exact=True).input_value() == "I live in Oslo."


# --- people -----------------------------------------------------------------------------------------------------------


def test_an_operator_finds_a_person_and_reads_a_conversation(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        page.get_by_role("link", name="People", exact=True).first.click()
        page.get_by_role("link", name="alice", exact=True).click()
        page.get_by_role("link", name="Sessions", exact=True).click()
        page.get_by_role("link", name="s1", exact=True).click()
        assert page.get_by_text("I live in Oslo. My sister Mia works at Equinor.").is_visible()


@system
@anywhere
def test_the_graph_is_drawn_and_a_name_is_opened_by_mouse_and_keyboard(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/people/person?user=alice&view=graph")
        mia = page.get_by_role("button", name=re.compile("^Mia"))
        mia.wait_for()
        assert page.locator(".graph .edge").count() >= 3
        mia.click()
        page.get_by_text(re.compile("around Mia")).wait_for()
        page.get_by_role("button", name=re.compile("^Equinor")).focus()
        page.keyboard.press("Enter")
        page.get_by_text(re.compile("around Equinor")).wait_for()


@system
def test_the_graph_stays_readable_with_three_hundred_names(site: Site) -> None:
    names = [f"{first}{last}" for first in ("Al", "Be", "Ca", "Do", "Ed", "Fi") for last in ("ra", "na", "to", "rin")]
    with site.memory() as memory:
        for name in names:
            memory.add(f"My friend {name} lives in {name}ville.", user_id="alice")
    with site.signed_in() as page:
        open_page(page, site, "/console/people/person?user=alice&view=graph")
        page.locator(".graph .node").first.wait_for()
        boxes = page.evaluate(
            "() => [...document.querySelectorAll('.graph .node circle')].map((c) => c.getBoundingClientRect().toJSON())"
        )
        frame = page.locator(".graph").bounding_box()
        assert all(frame["x"] <= box["x"] <= frame["x"] + frame["width"] for box in boxes)
        centres = {(round(box["x"]), round(box["y"])) for box in boxes}
        assert len(centres) == len(boxes), "no two names lie on each other"


@system
@anywhere
def test_the_slider_goes_back_in_time(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/people/person?user=alice&view=past")
        assert page.locator(".list").get_by_text("Bergen").first.is_visible()
        slider = page.get_by_label(re.compile("^Day, from"))
        slider.focus()
        for _ in range(5):
            page.keyboard.press("ArrowLeft")
        page.wait_for_url(re.compile("day="))
        page.get_by_role("link", name="Back to today").wait_for()
        page.get_by_label("As of").fill((datetime.now(UTC) - timedelta(10)).date().isoformat())
        page.get_by_role("button", name="Show this day").click()
        assert page.locator(".list").get_by_text("User lives in Oslo").first.is_visible()
        assert not page.locator(".list").get_by_text("Bergen").count()


@system
@anywhere
def test_memory_is_paused_for_a_person_and_goes_on(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/people/person?user=alice")
        page.get_by_role("button", name="Pause").click()
        page.get_by_text("Memory is paused for alice").first.wait_for()
        with site.memory() as memory:
            assert memory.add("I like rain.", user_id="alice")["status"] == "paused"
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("Memory goes on for alice").wait_for()


@system
@anywhere
def test_two_people_are_merged_after_a_question(site: Site) -> None:
    site.add("I like tea", "al")
    site.add("I like trains", "alice")
    with site.signed_in() as page:
        open_page(page, site, "/console/people/person?user=al")
        page.get_by_role("button", name="Merge …").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Into").fill("alice")
        dialog.get_by_label(re.compile("to confirm")).fill("al")
        dialog.get_by_role("button", name="Merge").click()
        page.get_by_text("memories moved").wait_for()
        assert sorted(site.texts()) == ["I like tea", "I like trains"]
        page.get_by_role("button", name="Undo the merge").click()
        page.get_by_text("Undone: 1 changes").wait_for()
    assert site.texts("al") == ["I like tea"]


@system
@anywhere
def test_an_agent_gets_a_name_and_instructions(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/people?kind=agent")
        page.get_by_role("link", name="support").click()
        page.get_by_label("Name").fill("Help desk")
        page.get_by_label("Instructions").fill("Be brief.")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved").wait_for()
        assert page.get_by_role("heading", name="Help desk").is_visible()


# --- activity ---------------------------------------------------------------------------------------------------------


def test_what_happens_appears_by_itself(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/activity")
        page.get_by_text("Live", exact=True).wait_for()
        site.add("I live in Oslo")
        page.locator("#feed .activity-text").get_by_text("I live in Oslo").first.wait_for()


@system
@anywhere
def test_a_filtered_feed_leaves_the_rest_out(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/activity?kind=recall")
        page.get_by_text("Live", exact=True).wait_for()
        site.add("I live in Oslo")
        with site.memory() as memory:
            memory.context("Where do I live?", user_id="alice")
        page.locator("#feed .activity-text").get_by_text("Where do I live?").first.wait_for()
        assert not page.locator("#feed").get_by_text("I live in Oslo", exact=True).count()


@system
def test_the_feed_pauses_and_goes_on(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/activity")
        page.get_by_text("Live", exact=True).wait_for()
        page.get_by_role("button", name="Pause").click()
        page.get_by_text("Paused", exact=True).wait_for()
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("Live", exact=True).wait_for()
        site.add("I like rain")
        page.locator("#feed .activity-text").get_by_text("I like rain").first.wait_for()


@system
def test_a_row_leads_to_its_cause(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/activity?kind=recall")
        page.get_by_role("link", name=re.compile("^Cause")).first.click()
        page.wait_for_url(re.compile("/console/receipts/"))


@system
def test_signing_out_elsewhere_ends_the_feed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstone.server.console.activity.SESSION_CHECK", 0.1)
    with site.signed_in() as page:
        open_page(page, site, "/console/activity")
        page.get_by_text("Live", exact=True).wait_for()
        other = page.context.new_page()
        other.goto(f"{site.url}/console/review")
        other.get_by_role("button", name="Sign out").first.click()
        other.get_by_role("heading", name="Sign in").wait_for()
        page.get_by_text("Signed out: reload the page").wait_for()


# --- review -----------------------------------------------------------------------------------------------------------


def hold(site: Site, *texts: str) -> None:
    """Store memories that wait for approval."""
    with site.memory() as memory:
        for text in texts:
            made = memory.add(text, user_id="alice", infer=False)["results"][0]["id"]
            memory.review.quarantine(made, "look at it")


def test_many_are_chosen_and_approved_and_it_is_undone(site: Site) -> None:
    hold(site, "I like tea", "I like rain", "I like fog")
    with site.signed_in() as page:
        open_page(page, site, "/console/review")
        page.get_by_label(re.compile("3 memories on this page")).check()
        assert page.locator("[data-count]").inner_text() == "3"
        page.get_by_role("button", name="Approve chosen").click()
        page.get_by_text("Approved 3 memories").wait_for()
        assert len(site.texts()) == 3
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone").wait_for()
    assert site.texts() == []


@system
@anywhere
def test_one_is_corrected_and_one_is_rejected(site: Site) -> None:
    hold(site, "I like te", "I hate rain")
    with site.signed_in() as page:
        open_page(page, site, "/console/review")
        page.get_by_text("Correct it").last.click()
        page.get_by_label("Corrected text").last.fill("I like tea")
        page.get_by_role("button", name="Save and approve").last.click()
        page.get_by_text("Corrected and approved").wait_for()
        page.get_by_role("button", name="Reject: I hate rain").click()
        page.get_by_text("Rejected 1 memory").wait_for()
        assert page.get_by_text("Nothing waits for you").is_visible()
    assert site.texts() == ["I like tea"]


# --- settings ---------------------------------------------------------------------------------------------------------


def test_memory_is_switched_off_and_on_again(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/settings")
        switch = page.get_by_role("switch", name="policy.enabled").or_(page.locator("#switch-memory"))
        assert switch.get_attribute("aria-checked") == "true"
        switch.click()
        page.locator("#switch-memory[aria-checked=false]").wait_for()
        with site.memory() as memory:
            assert memory.add("I like tea", user_id="alice")["status"] == "disabled"
        page.locator("#switch-memory").click()
        page.locator("#switch-memory[aria-checked=true]").wait_for()


@system
@anywhere
def test_a_budget_is_saved_says_its_source_and_is_reset(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/settings")
        page.get_by_label("Budget").fill("700")
        page.get_by_role("button", name="Save Budget").click()
        page.get_by_text("stored for everybody").wait_for()
        with site.memory() as memory:
            assert memory.settings.get()["settings"]["context.budget"] == 700
        page.get_by_role("button", name="Reset Budget").click()
        page.get_by_text("Budget is back").wait_for()
        assert page.get_by_label("Budget").input_value() == "1400"


@system
def test_a_wrong_value_is_explained_in_place(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/settings")
        page.get_by_label("Budget").fill("a lot")
        page.get_by_role("button", name="Save Budget").click()
        page.get_by_text("What to do:").wait_for()


@system
@anywhere
def test_a_key_is_created_copied_and_revoked(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/settings/access")
        page.locator("#key-name").fill("phone app")
        page.locator("#key-reach").select_option("user")
        page.locator("#key-who").fill("alice")
        page.get_by_role("button", name="Create").first.click()
        page.get_by_text("shown only once").wait_for()
        assert page.locator("#secret-key").inner_text().startswith("rt_")
        page.get_by_role("link", name="I have copied it").click()
        assert not page.locator("#secret-key").count()
        page.get_by_role("button", name="Revoke phone app").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        page.get_by_text("Revoked phone app").wait_for()


@system
def test_an_account_is_created_and_logs_in(site: Site) -> None:
    with site.signed_in() as page:
        open_page(page, site, "/console/settings/access")
        page.get_by_text("Create an account").click()
        page.locator("#login").fill("nora")
        page.locator("#password").fill("correct horse battery")
        page.locator("#account-user").fill("alice")
        page.get_by_role("button", name="Create").last.click()
        page.get_by_text("Created the account nora").wait_for()
    site.add("I like tea")
    with site.chromium.tab() as page:
        page.goto(f"{site.url}/console/sign-in")
        page.get_by_text("Sign in with an account").click()
        page.get_by_label("Login").fill("nora")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Sign in").last.click()
        page.get_by_role("link", name="Activity").first.click()
        assert page.locator("#feed .activity-text").get_by_text("I like tea").first.is_visible()


@system
@anywhere
def test_a_file_is_looked_at_and_imported_and_its_facts_are_reviewed(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    file.write_text(json.dumps([{"memory": "User lives in Oslo.", "user_id": "alice"}]))
    with site.signed_in() as page:
        open_page(page, site, "/console/settings/data")
        page.get_by_label("File").set_input_files(file)
        page.get_by_role("button", name="Look at it").click()
        page.get_by_text("Nothing is stored yet").wait_for()
        assert page.get_by_text("User lives in Oslo.").is_visible()
        page.get_by_role("button", name="Import").click()
        page.get_by_role("link", name="Review what was held back").click()
        page.get_by_role("button", name="Approve: User lives in Oslo.").click()
        page.get_by_text("Approved 1 memory").wait_for()
    assert site.texts() == ["User lives in Oslo."]


@system
@anywhere
def test_everything_is_exported_as_a_file(site: Site) -> None:
    site.add("I like tea")
    with site.signed_in() as page:
        open_page(page, site, "/console/settings/data")
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        assert "I like tea" in Path(download.value.path()).read_text()


@system
@anywhere
def test_a_person_is_erased_with_a_report(site: Site) -> None:
    site.add("The word is swordfish")
    with site.signed_in() as page:
        open_page(page, site, "/console/settings/data")
        page.get_by_label("Id", exact=True).fill("alice")
        page.get_by_label("The same id once more").fill("alice")
        page.get_by_label(re.compile("Only count")).uncheck()
        page.get_by_role("button", name="Erase").click()
        page.get_by_text("signed with the key of this store").wait_for()
        report = page.locator("#report").inner_text()
        open_page(page, site, "/console/settings/data")
        page.get_by_text("Check an erasure report").click()
        page.get_by_label("The report, as JSON").fill(report)
        page.get_by_role("button", name="Check it").click()
        page.get_by_text("The report is genuine").wait_for()
    assert site.texts() == []


@system
def test_the_vector_store_is_tested_and_searched(site: Site) -> None:
    fill_everything(site)
    with site.signed_in() as page:
        open_page(page, site, "/console/settings/connections")
        page.get_by_role("button", name="Test it").click()
        page.get_by_text("The vector store answers").wait_for()
        page.get_by_label("Search test: a question").fill("Where does she work? Equinor")
        page.get_by_label("Person").fill("alice")
        page.get_by_role("button", name="Search by meaning").click()
        page.locator("#found").get_by_text("Equinor").first.wait_for()


@system
def test_an_upstream_is_tested_and_its_failure_says_what_to_do(tmp_path: Path, chromium: Chromium) -> None:
    gateway = {"upstreams": [{"name": "gone", "base_url": "http://127.0.0.1:9/v1", "connect_timeout": 1}]}
    with open_site(tmp_path, chromium, gateway=gateway) as site, site.signed_in() as page:
        open_page(page, site, "/console/settings/connections")
        page.get_by_role("button", name="Test", exact=True).click()
        page.get_by_text("gone does not answer").wait_for()


# --- for everybody ----------------------------------------------------------------------------------------------------


@system
def test_the_reference_is_read_without_signing_in(site: Site) -> None:
    with site.chromium.tab() as page:
        page.goto(f"{site.url}/docs")
        page.get_by_role("link", name="Memories").first.click()
        assert page.get_by_role("heading", name="/v1/memories", exact=True).first.is_visible()
        page.goto(f"{site.url}/health")
        assert page.get_by_role("heading", name="Everything works").is_visible()
