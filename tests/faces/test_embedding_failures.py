from __future__ import annotations

from typing import Any

import pytest

from memstone import EmbeddingError
from memstone.errors import DimensionMismatch, RateLimited
from tests.faces.fragile import Fragile
from tests.faces.harness import ON_DISK, Face, Opens, texts


class _Fragile(Fragile):
    def row(self, text: str) -> Any:
        return [1.0, float(len(text)), float(text.count("o"))]


@pytest.fixture
def model() -> _Fragile:
    return _Fragile()


@pytest.fixture
def face(opens: Opens, model: _Fragile) -> Face:
    return opens({"embedding_cache": {"entries": 0}}, embedder=model)


@pytest.mark.req("C-55", "C-58.37")
async def test_one_of_three_fails_and_two_are_stored(face: Face, model: _Fragile) -> None:
    model.bad = {"two"}
    added = await face.store(["one", "two", "three"], user_id="alice", metadata={"a": 1})

    assert added["status"] == "partial"
    assert texts(added) == ["one", "three"]
    (waiting,) = added["deferred"]
    assert (waiting["memory"], waiting["id"], waiting["event"]) == ("two", None, "DEFERRED")
    assert waiting["error"]["code"] == "embedding"
    assert await face.listed() == ["three", "one"]
    assert (await face.stats())["pending"] == 1

    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 1}
    model.bad = set()
    assert await face.sessions.flush(user_id="bob") == {"stored": 0, "waiting": 0}
    assert await face.sessions.flush(user_id="alice") == {"stored": 1, "waiting": 0}

    assert await face.listed() == ["two", "three", "one"]
    assert (await face.get_all(user_id="alice"))["results"][0]["metadata"] == {"a": 1}
    stats = await face.stats()
    assert (stats["pending"], stats["memories"], stats["vectors"], stats["fulltext"]) == (0, 3, 3, 3)
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}


@pytest.mark.req("N-1", "X-31")
async def test_what_is_missing_is_said_once_where_several_owners_are_asked(face: Face, model: _Fragile) -> None:
    await face.remember("tea at home")
    await face.remember("tea for everybody", user_id="*")
    model.down = True

    answer = await face.search("tea", user_id="alice")

    assert sorted(texts(answer)) == ["tea at home", "tea for everybody"]
    assert [one["channel"] for one in answer["degraded"]] == ["dense"]


@pytest.mark.req("C-55")
async def test_with_the_model_down_nothing_is_lost(face: Face, model: _Fragile, opens: Opens) -> None:
    await face.remember("before")
    model.down = True

    added = await face.store(
        [{"role": "user", "content": "one", "name": "ann"}, {"role": "assistant", "content": "two"}],
        user_id="alice",
        agent_id="guide",
        kind="episodic",
        occurred_at="2025-06-01",
        expires_at="2027-01-01",
    )
    assert (added["status"], added["results"], len(added["deferred"])) == ("deferred", [], 2)
    found = await face.search("before", user_id="alice")
    assert texts(found) == ["before"]
    assert found["degraded"][0]["channel"] == "dense"

    model.down = False
    opens.clock.advance(days=1)
    assert await face.sessions.flush(everybody=True) == {"stored": 2, "waiting": 0}
    two, one = (await face.get_all(user_id="alice", agent_id="guide"))["results"]
    assert (one["memory"], one["actor"], one["role"]) == ("one", "ann", "user")
    assert (two["memory"], two["actor"], two["role"]) == ("two", "assistant", "assistant")
    for item in (one, two):
        assert (item["kind"], item["occurred_at"][:4], item["expires_at"][:4]) == ("episodic", "2025", "2027")


@ON_DISK
@pytest.mark.req("C-55")
async def test_what_waits_survives_the_process(face: Face, model: _Fragile, opens: Opens) -> None:
    model.down = True
    await face.store("one", user_id="alice", key="k")
    await face.close()
    model.down = False

    again = opens(embedder=model)
    assert await again.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert (await again.get_all(user_id="alice"))["results"][0]["key"] == "k"


@pytest.mark.req("C-55", "C-2")
async def test_what_was_said_again_meanwhile_is_not_stored_twice(face: Face, model: _Fragile) -> None:
    model.down = True
    for _ in range(2):
        await face.store("one", user_id="alice")
    model.down = False
    await face.remember("one")

    await face.sessions.flush(everybody=True)

    assert await face.listed() == ["one"]
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("C-55", "O-9")
async def test_what_waited_does_not_overwrite_what_was_said_later(face: Face, model: _Fragile, opens: Opens) -> None:
    model.down = True
    await face.store("I live in Oslo", user_id="alice", key="home")
    model.down = False
    opens.clock.advance(minutes=1)
    await face.remember("I live in Rome", key="home")

    await face.sessions.flush(everybody=True)

    assert await face.listed() == ["I live in Rome"]


@pytest.mark.req("C-55", "X-37")
async def test_delete_all_also_forgets_what_waits_in_the_scope(face: Face, model: _Fragile) -> None:
    model.down = True
    await face.store("mine", user_id="alice")
    await face.store("theirs", user_id="bob")
    model.down = False

    await face.delete_all(user_id="alice")

    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert await face.listed() == []
    assert await face.listed(user_id="bob") == ["theirs"]


@pytest.mark.req("C-55")
async def test_a_filtered_delete_does_not_take_what_waits(face: Face, model: _Fragile) -> None:
    model.down = True
    await face.store("waiting", user_id="alice")
    model.down = False

    await face.delete_all(user_id="alice", filters={"city": "Oslo"})

    assert (await face.stats())["pending"] == 1


@pytest.mark.req("C-55")
async def test_more_than_a_page_of_what_waits_is_stored_though_some_fail(face: Face, model: _Fragile) -> None:
    model.down = True
    await face.store_many([{"messages": f"fact {n}", "user_id": "alice"} for n in range(700)])
    model.down = False
    model.bad = {f"fact {n}" for n in range(0, 600, 100)}

    assert await face.sessions.flush(everybody=True) == {"stored": 694, "waiting": 6}
    assert (await face.stats())["pending"] == 6


@pytest.mark.req("C-12", "C-56")
async def test_an_update_that_cannot_be_embedded_changes_nothing(face: Face, model: _Fragile) -> None:
    memory_id = await face.remember("one")
    before = await face.export(everybody=True)
    model.down = True

    with pytest.raises(EmbeddingError) as caught:
        await face.update(memory_id, "two", metadata={"a": 1})

    assert "no route to host" in caught.value.message
    assert await face.export(everybody=True) == before
    assert (await face.update(memory_id, metadata={"a": 1}))["metadata"] == {"a": 1}, "needs no model"


@pytest.mark.req("N-49", "C-55")
async def test_in_a_batch_of_updates_only_the_one_that_fails_is_left_out(face: Face, model: _Fragile) -> None:
    one, two = await face.remember("one"), await face.remember("two")
    model.bad = {"bad"}

    answer = await face.update_many([{"memory_id": one, "text": "bad"}, {"memory_id": two, "text": "good"}])

    assert [result["event"] for result in answer["results"]] == ["ERROR", "UPDATE"]
    assert answer["results"][0]["error"]["code"] == "embedding"
    assert await face.listed() == ["good", "one"]
    model.down = True
    answer = await face.update_many([{"memory_id": two, "text": "x"}, {"memory_id": one, "kind": "semantic"}])
    assert [result["event"] for result in answer["results"]] == ["ERROR", "UPDATE"]


@pytest.mark.req("N-49", "C-55")
async def test_a_batch_of_adds_says_what_waits(face: Face, model: _Fragile) -> None:
    model.bad = {"bad"}
    answer = await face.store_many(
        [
            {"messages": "good", "user_id": "alice"},
            {"messages": ["bad", "fine"], "user_id": "alice"},
            {"messages": "bad", "user_id": "bob"},
        ]
    )

    assert [result["status"] for result in answer["results"]] == ["ok", "partial", "deferred"]
    assert (await face.stats())["pending"] == 2


@pytest.mark.req("C-55")
async def test_a_provider_that_wants_to_be_left_alone_is_asked_once_for_a_batch(opens: Opens) -> None:
    calls: list[int] = []

    def limited(items: list[str]) -> Any:
        if items == ["dimension"]:
            return [[1.0]]
        calls.append(len(items))
        raise RateLimited("slow down", retry_after=1.0)

    face = opens(embedder=limited)
    added = await face.store([f"fact {n}" for n in range(20)], user_id="alice")

    assert (added["status"], calls) == ("deferred", [20])
    assert added["deferred"][0]["error"] == RateLimited("slow down").as_dict()


@pytest.mark.req("R-28")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda value: [[float("nan")] * 3 for _ in value], "embedding"),
        (lambda value: [[float("inf")] * 3 for _ in value], "embedding"),
        (lambda value: [[1.0] * 4 for _ in value], DimensionMismatch.code),
        (lambda _: [[1.0] * 3], "embedding"),
        (lambda _: [[1.0] * 3, [1.0]], "embedding"),
        (lambda _: ["one", "two"], "embedding"),
        (lambda _: None, "embedding"),
    ],
)
async def test_vectors_that_are_none_are_never_stored(opens: Opens, answer: Any, code: str) -> None:
    ready = [True]

    def embed(items: list[str]) -> Any:
        return [[1.0, 2.0, 3.0] for _ in items] if ready[0] else answer(items)

    face = opens({"embedding_cache": {"entries": 0}}, embedder=embed)
    await face.remember("before")
    ready[0] = False

    added = await face.store(["one", "two"], user_id="alice")

    waiting = added.get("deferred", [])
    if waiting:  # a row too few is asked for again, one by one, and may then be right
        assert {item["error"]["code"] for item in waiting} == {code}
    stats = await face.stats()
    assert stats["vectors"] == stats["memories"] == 1 + len(added["results"])
    assert stats["pending"] == len(waiting) == 2 - len(added["results"])


class _TooBare:
    """A port object of somebody else's that throws what it likes."""

    provider, model, destination = "mine", "bare", "this machine"

    def __init__(self) -> None:
        self.broken = False

    async def dimension(self) -> int:
        return 2

    async def embed(self, items: list[str]) -> Any:
        if self.broken:
            raise KeyError("embedding")
        return [[1.0, 2.0] for _ in items]


@pytest.mark.req("C-55", "C-47")
async def test_an_embedder_of_ones_own_may_throw_anything(opens: Opens) -> None:
    own = _TooBare()
    face = opens({"embedding_cache": {"entries": 0}}, embedder=own)
    await face.remember("one")
    own.broken = True

    added = await face.store("two", user_id="alice")
    assert (added["status"], added["deferred"][0]["error"]["code"]) == ("deferred", "embedding")
    assert (await face.search("one", user_id="alice"))["degraded"][0]["code"] == "embedding"
