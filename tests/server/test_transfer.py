"""Export and import over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.server.conftest import CONFIG
from tests.server.rooms import Room, ended
from tests.server.world import World


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World.of(CONFIG) as made:
        yield made


@pytest.fixture
def world(house: World) -> Room:
    return Room.of_house(house)


def filled(world: World) -> None:
    for user, text in (("alice", "I live in Oslo"), ("bob", "I like chess")):
        world.client.post("/v1/memories", json={"messages": text, "user_id": user, "infer": False})


def test_an_export_is_put_back_elsewhere_with_its_history(world: World) -> None:
    filled(world)
    exported = world.client.get("/v1/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    kinds = [json.loads(line)["type"] for line in exported.text.splitlines()]
    assert kinds == ["header", "memory", "memory", "event", "event"]
    with World.of(CONFIG) as other:
        loaded = other.client.post("/v1/import", content=exported.content)
        assert loaded.json() == {"memories": 2, "events": 2, "deletions": 0, "waiting": 0, "already_there": 0}
        assert other.client.post("/v1/import", content=exported.content).json()["already_there"] == 4
        (one,) = other.client.get("/v1/memories?user_id=alice").json()["results"]
        assert one["memory"] == "I live in Oslo"
        assert len(other.client.get(f"/v1/memories/{one['id']}/history").json()["results"]) == 1


@pytest.mark.req("R-9")
def test_an_export_holds_what_its_caller_may_see(world: World) -> None:
    filled(world)
    bob = world.as_key(user_id="bob", verbs=["read"])
    assert "Oslo" not in bob.get("/v1/export").text
    assert "chess" in bob.get("/v1/export").text
    assert bob.get("/v1/export?user_id=alice").status_code == 403
    assert world.as_key(verbs=["read"]).get("/v1/export").status_code == 403
    assert len(world.as_key("acme", verbs=["admin", "read"]).get("/v1/export").text.splitlines()) == 1


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", b'{"type": "header"}\n', b"\xff\xfe", b"[1]"])
def test_what_is_no_export_is_refused(world: World, body: bytes) -> None:
    answer = world.client.post("/v1/import", content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_an_import_is_limited_in_size_and_an_administrators(world: World) -> None:
    with World.of({**CONFIG, "server": {"body_bytes": 2_000}}) as small:
        assert small.client.post("/v1/import", content=b"x" * 3_000).status_code == 413
    for key in ({"verbs": ["read", "write"]}, {"verbs": ["admin"], "user_id": "alice"}):
        assert world.as_key(**key).post("/v1/import", content=b"{}").status_code == 403


def test_what_another_system_exported_is_taken_in_as_a_job(world: Room) -> None:
    facts = json.dumps({"results": [{"memory": "Likes tea", "user_id": "alice"}]}).encode()
    url = "/v1/console/import?user_id=alice&trusted=true"
    job = world.client.post(url, content=facts).json()
    done = ended(world, job)
    assert (done["state"], done["result"]["stored"], done["done"]) == ("done", 1, 1)
    assert [one["memory"] for one in world.client.get("/v1/memories?user_id=alice").json()["results"]] == ["Likes tea"]
    wrong = ended(world, world.client.post(url + "&format=odd", content=facts).json())
    assert (wrong["state"], wrong["error"]["code"]) == ("failed", "invalid_input")
    assert world.as_key(verbs=["write"]).post(url, content=facts).status_code == 403
    assert world.as_key(verbs=["admin"], user_id="alice").post(url, content=facts).status_code == 403


def test_what_is_no_export_is_sent_to_the_way_that_takes_it(world: World) -> None:
    answer = world.client.post("/v1/import", content='{"memory": "User lives in Oslo.", "user_id": "alice"}\n')
    assert answer.status_code == 400
    assert answer.json()["detail"].endswith("this is not a Memstone export")
    assert "POST /v1/console/import" in answer.json()["hint"]
