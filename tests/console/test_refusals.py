"""Every page and act of the console, and everybody who must not get through: nothing is shown, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memstone.model.access import Verb
from memstone.server.console.routes import declared_pages
from memstone.server.console.visit import PageRoute
from tests.console.house import Guest, House, open_house

SECRET = "swordfish"  # noqa: S105 - a word that nobody else may read
COOKIE = "memstone_console_default"
PAGES = [pytest.param(one, id=f"{one.method} {one.path}") for one in declared_pages()]
ACTS = [pytest.param(one, id=one.path) for one in declared_pages() if one.method == "POST"]


class Scene:
    """A store with a secret of Alice, and everybody who would like to know it."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.memory_id = house.add(f"The word is {SECRET}", key="word")
        house.add("I like tea", "bob")
        self.receipt_id = house.run(house.memory.context, f"What is the {SECRET}?", user_id="alice").receipt_id
        house.run(house.memory.acting_for("acme").add, "We like coffee", user_id="carol", infer=False)
        self.operator = house.guest()
        self.bob = house.guest(user_id="bob")
        self.stranger = house.guest("acme")
        self.reader = house.guest(read_only=True)
        self.alice_reading = house.guest(user_id="alice", read_only=True)

    def path(self, route: PageRoute) -> str:
        """An address of a page that is about the secret."""
        named = {
            "memory_id": self.memory_id,
            "receipt_id": self.receipt_id,
            "rest:path": "nowhere",
            "job_id": "nowhere",
        }
        path = route.path
        for name, value in named.items():
            path = path.replace(f"{{{name}}}", value)
        assert "{" not in path, f"say here what {route.path} is about"
        return path

    def fields(self) -> dict[str, Any]:
        """A form that fits most acts."""
        return {
            "id": self.memory_id, "act": "delete", "text": "changed", "user": "alice", "confirm": "erase",
            "visibility": "private", "useful": "no", "version": "1", "tag": "x", "to": "bob", "event": self.memory_id,
        }  # fmt: skip

    def state(self) -> Any:
        """All that is stored of Alice."""

        async def read() -> list[Any]:
            lines = [line async for line in self.house.memory.export(user_id="alice")]
            return sorted(str(line) for line in lines if "exported_at" not in line)

        return self.house.run(read)

    def ask(self, guest: Guest, route: PageRoute, **fields: Any) -> Any:
        """Ask for a page, or send its form."""
        path = self.path(route)
        if route.method == "GET":
            return guest.get(path, params={"user": "alice", "q": "word"}, follow_redirects=False)
        return guest.post(path, data={**self.fields(), **fields}, follow_redirects=False)


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_house() as house:
        yield Scene(house)


def is_told(answer: Any, scene: Scene) -> bool:
    """Whether an answer says the secret, or the id of its memory to somebody who did not send it."""
    sent = answer.request.method == "POST" or scene.memory_id in str(answer.request.url)
    return SECRET in answer.text or (scene.memory_id in answer.text and not sent)


@pytest.mark.req("N-42")
@pytest.mark.parametrize("route", PAGES)
def test_without_a_session_there_is_only_the_way_in(scene: Scene, route: PageRoute) -> None:
    before = scene.state()
    answer = scene.ask(scene.house.visitor(), route)
    assert answer.status_code == 401
    assert "Sign in" in answer.text
    assert not is_told(answer, scene)
    assert scene.state() == before


@pytest.mark.req("N-42")
@pytest.mark.parametrize("route", PAGES)
def test_a_wrong_cookie_is_no_session(scene: Scene, route: PageRoute) -> None:
    guest = scene.house.visitor()
    for token in ("", "mc.ZGVmYXVsdA.AAAA.", "mc.ZGVmYXVsdA..", "mc.%%.x.", "x" * 3000, "mc.ZGVmYXVsdA.é."):
        headers = {b"cookie": f"{COOKIE}={token}".encode()}
        answer = guest.request(route.method, scene.path(route), headers=headers, follow_redirects=False)
        assert answer.status_code == 401
        assert not is_told(answer, scene)


@pytest.mark.parametrize("route", PAGES)
def test_a_session_that_has_expired_opens_nothing(scene: Scene, route: PageRoute) -> None:
    guest = scene.house.visitor()
    link = scene.house.link(session_hours=0.0000001)
    guest.post("/console/sign-in", data={"link": link.token}, follow_redirects=False)
    answer = scene.ask(guest, route)
    assert answer.status_code == 401
    assert not is_told(answer, scene)


@pytest.mark.req("N-42", "R-9")
@pytest.mark.parametrize("route", PAGES)
@pytest.mark.parametrize("who", ["bob", "stranger"])
def test_another_person_and_another_tenant_learn_and_change_nothing(scene: Scene, route: PageRoute, who: str) -> None:
    guest: Guest = getattr(scene, who)
    before = scene.state()
    answer = scene.ask(guest, route, csrf=guest.csrf)
    assert answer.status_code < 500
    assert not is_told(answer, scene)
    if route.method == "GET" and "{memory_id}" in route.path:
        assert answer.status_code in {400, 403, 404}
    assert scene.state() == before
    if route.path.endswith("sign-out"):
        setattr(scene, who, scene.house.guest(user_id="bob") if who == "bob" else scene.house.guest("acme"))


@pytest.mark.parametrize("route", ACTS)
@pytest.mark.parametrize("who", ["reader", "alice_reading"])
def test_who_may_only_read_changes_nothing(scene: Scene, route: PageRoute, who: str) -> None:
    guest: Guest = getattr(scene, who)
    before = scene.state()
    answer = scene.ask(guest, route, csrf=guest.csrf)
    assert scene.state() == before
    if route.verb is Verb.READ:
        assert answer.status_code in {200, 303, 404}
        setattr(scene, who, scene.house.guest(read_only=True, **({} if who == "reader" else {"user_id": "alice"})))
    else:
        assert answer.status_code == 403


@pytest.mark.parametrize("route", ACTS)
@pytest.mark.parametrize("kind", ["missing", "foreign", "guess"])
def test_a_form_without_the_token_of_the_session_changes_nothing(scene: Scene, route: PageRoute, kind: str) -> None:
    csrf = {"missing": "", "foreign": scene.reader.csrf, "guess": "0" * 64}[kind]
    before = scene.state()
    answer = scene.ask(scene.operator, route, csrf=csrf)
    assert answer.status_code == 403
    assert "not made for your session" in answer.text
    assert scene.state() == before


@pytest.mark.parametrize("route", PAGES)
def test_every_page_has_the_headers_that_keep_it_safe(scene: Scene, route: PageRoute) -> None:
    answer = scene.ask(scene.operator, route, **({"csrf": ""} if route.method == "POST" else {}))
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("route", PAGES)
def test_every_form_of_every_page_holds_the_token(scene: Scene, route: PageRoute) -> None:
    if route.method == "POST":
        return
    text = scene.ask(scene.operator, route).text
    forms = [part.split("</form>")[0] for part in text.split('method="post"')[1:]]
    assert all(scene.operator.csrf in form for form in forms)
