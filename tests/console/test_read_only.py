"""A store that SQLite cannot write any more while people are signed in: what pages, changes and sign-in say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.house import House, open_house
from tests.server.conftest import CONFIG

ADVICE = "write to its file and folder"
PATHS = ("/", "/console/memories", "/console/profile", "/console/people", "/console/activity", "/console/playground")
OF_OPERATORS = ("/console/review", "/console/settings", "/console/settings/connections", "/console/settings/data")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with open_house({**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'memory.db'}"}}) as made:
        yield made


def make_read_only(house: House, *, on: bool = True) -> None:
    """Let the connection that writes refuse to, as SQLite does with a file that is read-only."""
    state = house.world.app.state.memstone
    writer = state.memory.engine.runtime.ledger._writer
    writer.raw.execute(f"PRAGMA query_only = {'ON' if on else 'OFF'}")
    state.writable._next = 0.0  # it looks at the store again


def test_pages_can_be_read_and_say_what_to_do(house: House) -> None:
    own = house.add("I live in Oslo")
    operator, person = house.guest(), house.guest(user_id="alice")
    make_read_only(house)
    for path in (*PATHS, f"/console/memories/{own}"):
        page = operator.see(path, params={"user": "alice"})
        assert "The store is read-only" in page
        assert ADVICE in page
        assert "Tell whoever runs this service" in person.see(path)
    for path in OF_OPERATORS:
        assert ADVICE in operator.see(path)
    make_read_only(house, on=False)
    assert ADVICE not in operator.see("/")


@pytest.mark.parametrize(
    ("act", "fields"),
    [
        ("/console/memories/add", {"text": "I like tea", "user": "alice"}),
        ("/console/memories/{own}/edit", {"text": "I live in Bergen"}),
        ("/console/memories/{own}/forget", {}),
        ("/console/memories/{own}/visibility", {"visibility": "pinned"}),
        ("/console/memories/act", {"id": "{own}", "act": "delete"}),
        ("/console/people/pause", {"user": "alice"}),
        ("/console/settings/access/accounts/create", {"login": "nora", "password": "correct horse battery"}),
    ],
)
def test_a_change_says_that_it_was_not_saved_and_why(house: House, act: str, fields: dict[str, Any]) -> None:
    own = house.add("I live in Oslo")
    operator, person = house.guest(), house.guest(user_id="alice")
    before = house.run(house.memory.get, own)
    make_read_only(house)
    sent = {name: value.format(own=own) for name, value in fields.items()}
    answer = operator.submit(act.format(own=own), **sent)
    assert answer.status_code >= 500
    assert "This was not saved" in answer.text
    assert ADVICE in answer.text
    if "people" not in act and "settings" not in act:
        page = person.submit(act.format(own=own), **sent).text
        assert "This was not saved" in page
        assert "Tell whoever runs this service" in page
    assert house.run(house.memory.get, own) == before
    make_read_only(house, on=False)
    assert operator.submit(act.format(own=own), **sent).status_code == 200, "the same works afterwards"


def test_the_playground_answers_and_says_what_was_not_learned(house: House) -> None:
    house.add("I have a dog called Rex.")
    operator = house.guest()
    operator.see("/console/playground?user=alice")
    make_read_only(house)
    answer = operator.submit(
        "/console/playground/say", user="alice", message="What is my dog called? I have a cat, too."
    )
    assert answer.status_code == 200
    assert "The store is not available right now. Check the permissions" in answer.text
    assert "Its receipt could not be stored" in answer.text
    assert "I have a dog called Rex." in answer.text


def test_nobody_signs_in_and_the_same_link_works_afterwards(house: House) -> None:
    link, visitor = house.link(), house.visitor()
    make_read_only(house)
    for form in ({"link": link.token}, {"code": link.code}):
        answer = visitor.post("/console/sign-in", data=form)
        assert answer.status_code >= 500
        assert "Nobody can sign in until" in answer.text
        assert ADVICE in answer.text
    make_read_only(house, on=False)
    assert visitor.post("/console/sign-in", data={"link": link.token}).status_code == 200
    visitor.see("/")


def test_who_signs_out_is_signed_out_in_their_browser(house: House) -> None:
    operator = house.guest()
    make_read_only(house)
    answer = operator.submit("/console/sign-out")
    assert "You are signed out in this browser" in answer.text
    operator.see("/", status=401)
