"""``/docs`` and ``/health``: for everybody, and nothing else about this installation."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from memstone.server.console.reference import load_reference
from memstone.server.description import FILES
from tests.console.house import House


def test_every_operation_has_its_place_in_the_reference() -> None:
    paths = {path: one for file in FILES.values() for path, one in json.loads(file.read_text())["paths"].items()}
    wanted = {(path, method) for path, operations in paths.items() for method in operations}
    _, parts = load_reference()
    found = {(one.path, one.method) for part in parts.values() for one in part.operations}
    assert found == {one for one in wanted if one[1] != "head"}
    assert all(part.about for part in parts.values())


def test_the_fields_that_an_answer_shares_with_another_are_listed_with_their_values() -> None:
    _, parts = load_reference()
    memory = next(one for one in parts["memories"].operations if one.path == "/v1/memories/{memory_id}")
    fields = {one.name: one for one in memory.answer}
    assert {"id", "user_id", "memory", "hash"} <= set(fields)
    assert fields["memory"].required
    assert fields["status"].type.startswith("active | disabled")


@pytest.mark.parametrize("slug", sorted(load_reference()[1]))
def test_every_part_has_a_page_without_a_session(house: House, slug: str) -> None:
    page = house.visitor().see(f"/docs/{slug}")
    part = load_reference()[1][slug]
    for operation in part.operations:
        assert f'id="{operation.id}"' in page
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_first_page_says_how_to_begin(house: House) -> None:
    page = house.visitor().see("/docs")
    assert "Authorization: Bearer" in page
    assert "curl http://testserver/v1/memories" in page
    house.visitor().see("/docs/nowhere", 404)


def test_an_example_of_the_reference_works(house: House) -> None:
    _, parts = load_reference()
    operation = next(one for one in parts["memories"].operations if (one.method, one.path) == ("post", "/v1/memories"))
    body = re.search(r"-d '(.*)'$", operation.example)
    assert body is not None
    assert house.world.client.post(operation.path, json=json.loads(body[1])).status_code == 200


def test_health_is_json_for_machines_and_a_page_for_people(house: House) -> None:
    house.add("The word is swordfish")
    machine = house.visitor().get("/health")
    assert machine.json()["status"] == "ok"
    person = house.visitor().get("/health", headers={"accept": "text/html"})
    assert "Everything works" in person.text
    assert "Memories" not in person.text
    operator = house.guest().get("/health", headers={"accept": "text/html"})
    assert "Memories" in operator.text


def test_a_store_that_fails_is_said_to_both(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    state: Any = house.world.app.state.memstone

    async def broken() -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(type(state), "ask_store", lambda _: broken())
    assert house.visitor().get("/health").status_code == 503
    page = house.visitor().get("/health", headers={"accept": "text/html"})
    assert page.status_code == 503
    assert "memstone doctor" in page.text
    assert "disk on fire" not in page.text
