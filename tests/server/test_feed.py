"""The change feed, by cursor and as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from memstone import Memory
from memstone.errors import StorageBusy
from memstone.server.app import create_app
from memstone.server.rest import feed
from tests.server.conftest import CONFIG
from tests.server.rooms import ALL, Room
from tests.server.upstream import served
from tests.server.world import World

CHECK, EVERY = feed.CHECK, feed.EVERY


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World.of(CONFIG) as made:
        yield made


@pytest.fixture
def world(house: World) -> Room:
    return Room.of_house(house)


@pytest.mark.req("N-46")
def test_changes_are_followed_by_cursor(world: World) -> None:
    for text in ("I like tea", "I like chess", "I like rain"):
        world.client.post("/v1/memories", json={"messages": text, "user_id": "alice", "infer": False})
    first = world.client.get("/v1/events?limit=2").json()
    assert [one["new_value"] for one in first["results"]] == ["I like tea", "I like chess"]
    rest = world.client.get("/v1/events", params={"after": first["cursor"]}).json()
    assert [one["new_value"] for one in rest["results"]] == ["I like rain"]
    again = world.client.get("/v1/events", params={"after": rest["cursor"]}).json()
    assert (again["results"], again["cursor"]) == ([], rest["cursor"])
    assert world.client.get("/v1/events?after=-1").status_code == 400


@pytest.mark.req("N-46", "R-9")
def test_the_feed_leaks_nothing_across_bounds(world: World) -> None:
    for user in ("alice", "bob"):
        texts = {"messages": f"{user} likes tea", "user_id": user, "infer": False}
        world.client.post("/v1/memories", json=texts)
    bob = world.as_key(user_id="bob", verbs=["read"])
    assert [one["user_id"] for one in bob.get("/v1/events").json()["results"]] == ["bob"]
    for path in ("/v1/events", "/v1/events/stream"):
        assert bob.get(path, params={"user_id": "alice"}).status_code == 403
        assert world.as_key(verbs=["read"]).get(path).status_code == 403
        assert world.anonymous().get(path).status_code == 401
    assert world.as_key("acme", verbs=ALL).get("/v1/events").json()["results"] == []


@pytest.mark.parametrize("wrong", ["-1", "x", "1e3", "", "\uff19"])
def test_a_cursor_that_is_none_is_refused(world: World, wrong: str) -> None:
    header = {b"Last-Event-ID": wrong.encode()}
    assert world.client.get("/v1/events/stream", headers=header).status_code == 400


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Memory]]:
    """A service on a port, and the same memory in this thread."""
    monkeypatch.setattr(feed, "EVERY", 0.01)
    monkeypatch.setattr(feed, "HEARTBEAT", 0.05)
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'memstone.db'}", "durable": False}}
    with Memory(config) as memory, served(create_app(config)) as address:
        yield address, memory


def listening(address: str, key: str, **headers: str) -> Any:
    sent = {"Authorization": f"Bearer {key}", **headers}
    return httpx2.stream("GET", f"{address}/v1/events/stream", headers=sent, timeout=120)


def told(lines: Iterator[str], count: int) -> list[dict[str, Any]]:
    """The next events of a stream, each with its id."""
    found: list[dict[str, Any]] = []
    stored: dict[str, str] = {}
    while len(found) < count:
        line = next(lines)
        if line:
            name, _, value = line.partition(": ")
            stored[name] = value
        elif "data" in stored:
            found.append(
                {"id": stored["id"], "event": stored["event"], **json.loads(stored["data"])} | {"id": stored["id"]}
            )
            stored = {}
    return found


@pytest.mark.req("N-46")
def test_a_stream_tells_what_happens_and_goes_on_where_it_was_cut(service: tuple[str, Memory]) -> None:
    address, memory = service
    key = memory.admin.keys.create("all", verbs=ALL)["key"]
    memory.add("I like tea", user_id="alice", infer=False)
    with listening(address, key) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        (first,) = told(lines, 1)
        assert (first["event"], first["new_value"]) == ("ADD", "I like tea")
        memory.add("I like chess", user_id="alice", infer=False)
        assert told(lines, 1)[0]["new_value"] == "I like chess"
    memory.add("I like rain", user_id="alice", infer=False)
    with listening(address, key, **{"Last-Event-ID": first["id"]}) as stream:
        assert [one["new_value"] for one in told(stream.iter_lines(), 2)] == ["I like chess", "I like rain"]


@pytest.mark.req("N-46")
def test_a_bound_stream_tells_of_its_own_user_and_beats_while_nothing_happens(service: tuple[str, Memory]) -> None:
    address, memory = service
    key = memory.admin.keys.create("bob", user_id="bob")["key"]
    with listening(address, key) as stream:
        memory.add("The word is swordfish", user_id="alice", infer=False)
        lines = stream.iter_lines()
        while (line := next(lines)) != ": still here":
            assert "swordfish" not in line
        memory.add("I like tea", user_id="bob", infer=False)
        assert told(lines, 1)[0]["new_value"] == "I like tea"


@pytest.mark.req("N-46")
@pytest.mark.parametrize("busy", [False, True])
def test_a_stream_ends_with_its_key(service: tuple[str, Memory], *, busy: bool) -> None:
    """Within two seconds, also where others ended it, and whether or not there is something to tell."""
    assert CHECK + EVERY <= 2
    address, memory = service
    made = memory.admin.keys.create("all", verbs=ALL)
    with listening(address, made["key"]) as stream:
        lines = stream.iter_lines()
        next(lines)
        memory.admin.keys.revoke(made["id"])
        rest = list[str]()
        for number, line in enumerate(lines):
            rest.append(line)
            if busy and line.startswith("data") and number < 3_000:
                memory.add(f"thing {number}", user_id="alice", infer=False)
            if busy and number == 0:
                memory.add("thing", user_id="alice", infer=False)
        assert 'data: {"code": "unauthenticated"}' in rest


@pytest.mark.parametrize(
    "owner", ["memstone.api.aio.review.AsyncReviewVerbs.events", "memstone.server.access.Authenticator.admit_anew"]
)
def test_a_stream_whose_store_fails_says_so_and_ends(
    service: tuple[str, Memory], monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    async def busy(*_: Any, **__: Any) -> Any:
        raise StorageBusy("postgresql://db.internal/memstone: no connection")

    address, memory = service
    with listening(address, memory.admin.keys.create("all", verbs=ALL)["key"]) as stream, capture_logs() as logs:
        lines = stream.iter_lines()
        next(lines)
        monkeypatch.setattr(owner, busy)
        assert list(lines)[-3:] == ["event: error", 'data: {"code": "storage_busy"}', ""]
    assert [one["code"] for one in logs if one["event"] == "request.failed"] == ["storage_busy"]
