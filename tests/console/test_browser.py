"""Ten tasks that a person does most often, in a real browser (two more are in ``test_sign_in.py``)."""

from __future__ import annotations

import re

import pytest

from tests.console.browser import PHONE, Site


@pytest.mark.req("O-87")
def test_a_search_follows_what_is_typed_and_can_be_shared_as_an_address(site: Site) -> None:
    for text in ("I live in Oslo", "My bicycle is red", "Rome was nice"):
        site.add(text)
    with site.signed_in() as page:
        page.get_by_role("link", name="Memories", exact=True).first.click()
        page.get_by_label("Search", exact=True).press_sequentially("osl", delay=20)
        page.locator("#results mark").wait_for()
        assert page.locator("#results .memory").count() == 1
        assert page.locator("#results mark").inner_text() == "Osl"
        assert "q=osl" in page.url
        page.reload()
        assert page.locator("#results .memory").count() == 1


@pytest.mark.req("O-90", "N-25")
def test_many_are_deleted_after_a_question_and_come_back_by_undo(site: Site) -> None:
    for number in range(4):
        site.add(f"Fact {number}")
    with site.signed_in() as page:
        page.goto(f"{site.url}/console/memories")
        boxes = page.get_by_label("Choose this memory")
        boxes.nth(0).check()
        boxes.nth(2).click(modifiers=["Shift"])
        assert page.locator(".bar [data-count]").inner_text() == "3"
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog", name="Delete").get_by_role("button", name="Delete").click()
        page.get_by_text("Deleted 3 memories").wait_for()
        assert site.texts() == ["Fact 0"]
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone").wait_for()
    assert sorted(site.texts()) == ["Fact 0", "Fact 1", "Fact 2", "Fact 3"]


@pytest.mark.req("O-89")
def test_a_memory_is_added_in_a_dialog(site: Site) -> None:
    with site.signed_in() as page:
        page.goto(f"{site.url}/console/memories")
        page.get_by_role("button", name="Add").click()
        page.get_by_role("dialog").get_by_label("Person").fill("alice")
        page.get_by_label("What to remember").fill("Likes window seats")
        page.get_by_role("dialog").get_by_role("button", name="Add").click()
        page.get_by_text("Added 1 memory").wait_for()
        assert page.get_by_role("link", name="Likes window seats").is_visible()
    assert site.texts() == ["Likes window seats"]


@pytest.mark.req("N-16")
def test_a_text_is_edited_in_its_place(site: Site) -> None:
    site.add("I live in Oslo")
    with site.signed_in() as page:
        page.goto(f"{site.url}/console/memories")
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill("I live in Bergen")
        assert page.url.endswith("/console/memories")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved").wait_for()
    assert site.texts() == ["I live in Bergen"]


def test_why_something_is_believed_is_found_and_corrected_and_models_see_the_new_text(site: Site) -> None:
    with site.memory() as memory:
        memory.add("Hello. I live in Oslo.", user_id="alice")
        memory.context("Where do I live?", user_id="alice")
    with site.signed_in() as page:
        page.goto(f"{site.url}/console/memories")
        page.get_by_role("link", name="User lives in Oslo.").click()
        assert page.locator(".talk mark").inner_text() == "I live in Oslo."
        assert page.get_by_role("link", name="Where do I live?").is_visible()
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text").fill("User lives in Bergen.")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved").wait_for()
        assert page.locator(".timeline ins").first.inner_text() == "Bergen"
    with site.memory() as memory:
        assert "Bergen" in memory.context("Where do I live?", user_id="alice").text


def test_pinning_a_line_brings_it_to_the_top_of_the_profile(site: Site) -> None:
    with site.memory() as memory:
        memory.add("I am allergic to peanuts. My favourite food is ramen.", user_id="alice")
    with site.signed_in() as page:
        page.goto(f"{site.url}/console/profile?user=alice")
        line = page.locator(".lines > li").filter(has_text="ramen")
        line.get_by_label("Choose whether models see this").click()
        line.get_by_role("button", name="Pin to the top").click()
        page.get_by_text("Pinned: models always see it").wait_for()
        assert "ramen" in page.locator(".lines > li").first.inner_text()
        page.get_by_label("What would be recalled for this?").fill("What should I eat?")
        page.get_by_text("As the model reads it").wait_for()


def test_a_person_opens_their_own_memory_and_deletes_a_line(site: Site) -> None:
    site.add("I live in Oslo")
    site.add("The word is swordfish", "bob")
    with site.signed_in(person="alice") as page:
        assert page.get_by_role("heading", name="Your memory").is_visible()
        page.get_by_role("link", name="Memories", exact=True).first.click()
        assert "swordfish" not in page.content()
        page.get_by_role("link", name="I live in Oslo").click()
        page.get_by_role("button", name="Forget").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        page.get_by_text("Deleted 1 memory").wait_for()
        page.goto(f"{site.url}/console/memories?user=bob")
        assert page.get_by_role("heading", name="You cannot do that").is_visible()
    assert site.texts() == []
    assert site.texts("bob") == ["The word is swordfish"]


def test_on_a_phone_the_menu_leads_everywhere_and_nothing_is_wider_than_the_screen(site: Site) -> None:
    own = site.add("I live in Oslo " + "x" * 300)
    with site.signed_in(viewport=PHONE) as page:
        page.get_by_label("Menu").click()
        page.locator(".topbar").get_by_role("link", name="Memories").click()
        assert re.search(r"/console/memories$", page.url)
        for path in ("/", "/console/memories", f"/console/memories/{own}", "/console/profile?user=alice"):
            page.goto(site.url + path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
