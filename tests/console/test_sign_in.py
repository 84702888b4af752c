"""Who gets in, by what, and for how long."""

from __future__ import annotations

import re

import pytest

from tests.console.browser import Site
from tests.console.house import House

COOKIE = "memstone_console_default"


def test_whoever_is_not_signed_in_sees_where_to_sign_in_and_nothing_else(house: House) -> None:
    house.add("The word is swordfish")
    page = house.visitor().see("/", 401)
    assert "Sign in" in page
    assert "swordfish" not in page
    assert "alice" not in page


def test_a_link_signs_in_once(house: House) -> None:
    link = house.link()
    first = house.visitor().post("/console/sign-in", data={"link": link.token}, follow_redirects=False)
    assert first.status_code == 303
    again = house.visitor().post("/console/sign-in", data={"link": link.token}, follow_redirects=False)
    assert (again.status_code, COOKIE in again.headers.get("set-cookie", "")) == (401, False)
    assert "already used" in again.text
    assert "memstone console" in again.text


def test_the_cookie_is_for_the_server_alone_and_this_site_alone(house: House) -> None:
    answer = house.visitor().post("/console/sign-in", data={"link": house.link().token}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie


def test_the_store_holds_no_secret_of_a_link_or_a_session(house: House) -> None:
    link = house.link(user_id="alice")
    guest = house.visitor()
    guest.post("/console/sign-in", data={"link": link.token})
    other = house.link()

    async def stored() -> str:
        runtime = house.memory.engine.runtime
        rows = await runtime.ledger.read(lambda tx: tx.vault.secrets())
        return " ".join(f"{name} {secret.value!r}" for _, name, secret in rows)

    text = house.run(stored)
    session = guest.cookies[COOKIE]
    for secret in (link.token, session, other.token):
        assert secret.split(".")[2] not in text
    assert other.code not in text
    assert other.code.replace("-", "") not in text
    assert "alice" not in text


def test_a_typed_code_does_the_same_as_its_link_however_it_is_typed(house: House) -> None:
    link = house.link()
    guest = house.visitor()
    typed = link.code.lower().replace("-", " ")
    assert guest.post("/console/sign-in", data={"code": typed}).status_code == 200
    assert "Overview" in guest.see("/")
    assert house.visitor().post("/console/sign-in", data={"link": link.token}).status_code == 401


def test_wrong_codes_end_every_code_but_no_link(house: House) -> None:
    house.world.app.state.memstone.failures._per_second = 0
    link = house.link()
    guest = house.visitor()
    for number in range(10):
        assert guest.post("/console/sign-in", data={"code": f"AAAA-AAA{number}"}).status_code == 401
    assert guest.post("/console/sign-in", data={"code": link.code}).status_code == 401
    assert guest.post("/console/sign-in", data={"link": link.token}).status_code == 200


def test_whoever_guesses_from_one_address_has_to_wait(house: House) -> None:
    guest = house.visitor()
    answers = {
        guest.post("/console/sign-in", data={"link": f"mc.ZGVmYXVsdA.{number}."}).status_code for number in range(40)
    }
    assert answers == {401, 429}


def test_a_link_that_has_expired_is_refused(house: House) -> None:
    link = house.link(minutes=0.0001)
    runtime = house.memory.engine.runtime
    while runtime.now() < link.expires_at:
        pass
    assert house.visitor().post("/console/sign-in", data={"link": link.token}).status_code == 401


def test_a_session_that_has_expired_is_over(house: House) -> None:
    guest = house.visitor()
    guest.post("/console/sign-in", data={"link": house.link(session_hours=0.0000001).token})
    assert "Sign in" in guest.see("/", 401)


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie(house: House) -> None:
    guest = house.guest()
    copy = house.visitor()
    copy.cookies.set(COOKIE, guest.cookies[COOKIE])
    copy.see("/")
    guest.submit("/console/sign-out")
    copy.see("/", 401)


def test_a_form_without_the_token_of_its_session_changes_nothing(house: House) -> None:
    guest, other = house.guest(), house.guest()
    for csrf in ("", "0" * 64, other.csrf):
        answer = guest.post("/console/sign-out", data={"csrf": csrf})
        assert answer.status_code == 403
        assert "not made for your session" in answer.text
    guest.see("/")


def test_a_form_from_another_site_signs_nobody_in(house: House) -> None:
    link = house.link()
    answer = house.visitor().post(
        "/console/sign-in", data={"link": link.token}, headers={"sec-fetch-site": "cross-site"}, follow_redirects=False
    )
    assert answer.status_code == 403
    other = house.visitor().post(
        "/console/sign-in", data={"link": link.token}, headers={"origin": "https://evil.example"}
    )
    assert other.status_code == 403
    assert house.visitor().post("/console/sign-in", data={"link": link.token}).status_code == 200


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_leads_nowhere_else(house: House, wanted: str) -> None:
    answer = house.visitor().post(
        "/console/sign-in", data={"link": house.link().token, "next": wanted}, follow_redirects=False
    )
    assert answer.headers["location"] == "/"


@pytest.mark.req("N-42")
def test_an_account_signs_in_with_its_role_and_is_out_when_it_is_disabled(house: House) -> None:
    made = house.run(house.memory.admin.accounts.create, "vera", "correct horse battery", role="viewer")
    guest = house.visitor()
    assert guest.post("/console/sign-in", data={"login": "vera", "password": "wrong"}).status_code == 401
    assert (
        guest.post("/console/sign-in", data={"login": "vera", "password": "correct horse battery"}).status_code == 200
    )
    assert "Whose memory?" in guest.see("/")
    assert "viewer" in guest.see("/?user=alice")
    house.run(house.memory.admin.accounts.update, made["id"], disabled=True)
    guest.see("/", 401)


def test_every_page_is_under_a_policy_that_allows_nothing_inline(house: House, operator: object) -> None:
    answer = house.visitor().get("/console/sign-in")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style", answer.text)


def test_the_cookie_opens_no_api(house: House) -> None:
    assert house.guest().get("/v1/memories?user_id=alice").status_code == 401


def test_signing_in_leads_to_the_page_that_was_wanted_with_what_was_asked_of_it(house: House) -> None:
    guest = house.visitor()
    page = guest.see("/console/memories?user=alice&q=%22%3E", 401)
    assert 'name="next" value="/console/memories?user=alice&amp;q=%22%3E"' in page
    wanted = {"link": house.link().token, "next": "/console/memories?user=alice&q=%22%3E"}
    answer = guest.post("/console/sign-in", data=wanted, follow_redirects=False)
    assert answer.headers["location"] == wanted["next"]


def test_a_personal_link_that_was_used_says_whom_to_ask(house: House) -> None:
    link = house.link(user_id="alice")
    house.visitor().post("/console/sign-in", data={"link": link.token})
    again = house.visitor().post("/console/sign-in", data={"link": link.token})
    assert "ask whoever sent it to you" in again.text


# --- in a browser -----------------------------------------------------------------------------------------------------


def test_a_browser_signs_in_by_the_link_which_leaves_the_address_bar(site: Site) -> None:
    with site.signed_in() as page:
        assert page.get_by_role("heading", name="Overview").is_visible()
        assert "#" not in page.url
        page.get_by_role("button", name="Sign out").first.click()
        page.get_by_role("heading", name="Sign in").wait_for()


@pytest.mark.system
def test_a_link_that_is_pasted_into_the_open_sign_in_page_signs_in(site: Site) -> None:
    with site.chromium.tab() as page:
        page.goto(f"{site.url}/console/sign-in")
        page.goto(site.link())
        page.get_by_role("heading", name="Overview").wait_for()


def test_without_scripts_a_code_signs_in_and_pages_can_be_read(site: Site) -> None:
    from memstone import Memory
    from memstone.drive import drive
    from memstone.engine.access.console_access import create_console_link

    with Memory(site.config) as memory:
        link = drive(memory.engine.run(create_console_link, minutes=10.0, session_hours=1.0))
    with site.chromium.tab(java_script_enabled=False) as page:
        page.goto(f"{site.url}/")
        page.get_by_label("Code").fill(link.code)
        page.get_by_role("button", name="Sign in").first.click()
        assert page.get_by_role("heading", name="Overview").is_visible()
