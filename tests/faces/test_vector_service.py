"""Vectors that callers bring, through both faces."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstone.errors import Conflict, InvalidInput, NotFoundError, ScopeError
from tests.faces.harness import ON_DISK, Face, Opens, passed

OUTSIDE = {"vector_store": {"provider": "memory"}}


@pytest.mark.req("P-26")
@pytest.mark.parametrize(
    "config", [{}, OUTSIDE, {"embedder": {"provider": "none"}}], ids=["local", "store", "no model"]
)
async def test_the_nearest_are_those_of_the_definition(opens: Opens, config: dict[str, object]) -> None:
    face, made = opens(config), np.random.default_rng(7)
    block = made.normal(size=(300, 8))
    items = [{"id": f"v{at}", "values": row.tolist(), "metadata": {"n": at}} for at, row in enumerate(block)]
    await face.vectors.insert(items, user_id="alice")
    await face.remember("The harbour is cold in winter")
    units = block / np.linalg.norm(block, axis=1, keepdims=True)
    for query in made.normal(size=(5, 8)):
        cosines = units @ (query / np.linalg.norm(query))
        best = np.argsort(-cosines)[:10]
        answer = (await face.vectors.query(query.tolist(), user_id="alice", limit=10))["matches"]
        assert [one["id"] for one in answer] == [f"v{at}" for at in best]
        assert [one["score"] for one in answer] == pytest.approx(cosines[best], abs=1e-5)
        assert await face.found("harbour in winter") == ["The harbour is cold in winter"], (
            "the other space is left alone"
        )


@pytest.mark.req("P-26", "R-9")
async def test_a_query_names_somebody_or_says_everybody(opens: Opens) -> None:
    face = opens()
    await face.vectors.insert([{"id": "a", "values": [1, 0]}], user_id="alice")
    with pytest.raises(ScopeError):
        await face.vectors.query([1, 0])
    assert (await face.vectors.query([1, 0], user_id="bob"))["matches"] == []
    assert [one["id"] for one in (await face.vectors.query([1, 0], everybody=True))["matches"]] == ["a"]


@pytest.mark.req("P-26")
async def test_rows_that_may_not_be_seen_do_not_take_the_place_of_others(opens: Opens) -> None:
    face = opens()
    items = [{"id": f"v{at}", "values": [1, at / 100], "metadata": {"content": f"note {at}"}} for at in range(20)]
    await face.vectors.insert(items, user_id="alice")
    for at in range(10):
        await face.review.disable(f"v{at}")
    found = (await face.vectors.query([1, 0], user_id="alice", limit=3))["matches"]
    assert [one["id"] for one in found] == ["v10", "v11", "v12"]


@pytest.mark.req("P-26")
async def test_erasing_somebody_takes_their_vectors_along(opens: Opens) -> None:
    face = opens()
    await face.vectors.insert([{"id": "own", "values": [1, 0]}, {"id": "both", "values": [1, 1]}], user_id="alice")
    await face.vectors.insert([{"id": "both", "values": [1, 1]}], user_id="bob")
    assert passed(await face.admin.erase(user_id="alice"))
    assert [one["id"] for one in (await face.vectors.query([1, 0], everybody=True))["matches"]] == ["both"]
    assert (await face.vectors.query([1, 0], user_id="alice"))["matches"] == []


@ON_DISK
@pytest.mark.req("P-26")
async def test_vectors_outlive_the_process_and_a_new_embedder(opens: Opens) -> None:
    first = opens()
    await first.vectors.insert([{"id": "a", "values": [3, 4], "metadata": {"content": "likes tea"}}], user_id="alice")
    await first.close()
    second = opens({"embedder": {"provider": "hash", "config": {"dim": 64}}})
    await second.admin.reindex()
    (found,) = (await second.vectors.query([3, 4], user_id="alice", values=True))["matches"]
    assert (found["score"], found["values"]) == (1.0, [3.0, 4.0])
    assert await second.found("likes tea") == ["likes tea"]


@pytest.mark.req("P-26")
async def test_what_cannot_be_is_said_before_anything_is_written(opens: Opens) -> None:
    face = opens()
    own = await face.remember("I like tea")
    with pytest.raises(Conflict):
        await face.vectors.upsert([{"id": own, "values": [1]}], user_id="alice")
    with pytest.raises(InvalidInput):
        await face.vectors.insert([{"id": "a", "values": [float("nan")]}], user_id="alice")
    with pytest.raises(InvalidInput):
        await face.vectors.insert([{"id": "a", "values": [10**400]}], user_id="alice")
    with pytest.raises(NotFoundError):
        await face.vectors.unlink(own, user_id="bob")
    with pytest.raises(NotFoundError):
        await face.vectors.unlink("nothing", user_id="alice")
    assert (await face.vectors.delete(["nothing"]))["count"] == 0
    assert await face.listed() == ["I like tea"]


@pytest.mark.req("P-26", "P-2", "P-5")
async def test_what_was_learned_is_found_by_its_vector_read_and_taken_away(opens: Opens) -> None:
    face = opens()
    await face.add("I live in Oslo. I like tea.", user_id="alice", run_id="r1")
    learned = {one["memory"]: one["id"] for one in (await face.get_all(user_id="alice"))["results"]}
    tea = learned["User likes tea."]
    (current,) = (await face.vectors.get([tea]))["vectors"]
    assert current["metadata"].items() >= {"content": "User likes tea.", "type": "memory"}.items()
    assert abs(sum(one * one for one in current["values"]) - 1) < 1e-5
    (best, other) = (await face.vectors.query(current["values"], user_id="alice", values=True))["matches"]
    assert (best["id"], best["score"], best["values"]) == (tea, 1.0, current["values"])
    assert other["metadata"]["content"] == "User lives in Oslo."
    assert (await face.vectors.query(current["values"], user_id="bob"))["matches"] == []
    assert (await face.vectors.query([1.0, 0.0, 0.0], user_id="alice"))["matches"] == []
    await face.vectors.insert([{"id": "v", "values": current["values"], "metadata": {"content": "T"}}], user_id="alice")
    found = (await face.vectors.query(current["values"], user_id="alice", limit=2))["matches"]
    assert {one["id"] for one in found} == {tea, "v"}, "brought and learned together, each once"
    gone = await face.vectors.unlink(tea, user_id="alice")
    assert (gone["event"], gone["reason"]) == ("DELETE", "manual_deletion")
    assert (await face.vectors.get([tea]))["vectors"] == []
    assert tea not in [one["id"] for one in (await face.vectors.query(current["values"], user_id="alice"))["matches"]]
    assert (await face.add("I like tea.", user_id="alice", run_id="r1"))["results"] != []


async def test_turns_and_what_is_put_aside_are_none_of_the_service(opens: Opens) -> None:
    face = opens()
    await face.add("I like tea.", user_id="alice")
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    (turn,) = (await face.get_all(user_id="alice", layers=["turn"]))["results"]
    values = (await face.vectors.get([fact["id"]]))["vectors"][0]["values"]
    await face.review.disable(fact["id"])
    assert (await face.vectors.get([fact["id"], turn["id"]]))["vectors"] == []
    assert (await face.vectors.query(values, user_id="alice"))["matches"] == []
    assert (await face.vectors.delete([turn["id"]]))["count"] == 0


def _other(opens: Opens, folder: Path) -> Opens:
    """Another, empty store of the same kind."""
    other = Opens(opens.kind, folder / "other.db" if opens.path else None)
    other._open = opens._open  # closed together
    return other


async def _brought(face: Face) -> None:
    made = np.random.default_rng(3)
    items = [
        {"id": f"v{at}", "values": row.tolist(), "metadata": {"n": at}}
        for at, row in enumerate(made.normal(size=(40, 8)))
    ]
    await face.vectors.insert(items, user_id="alice")
    await face.vectors.insert(items[:5], user_id="bob")
    words = {"id": "w", "values": [3.0, 4.0], "metadata": {"content": "The harbour is cold in winter"}}
    await face.vectors.upsert([{**words, "values": [1.0, 0.0]}], user_id="alice")
    await face.vectors.upsert([words], user_id="alice")
    await face.vectors.insert([{"id": "nobody's", "values": [1e20, -1e19]}])
    await face.vectors.delete(["v39"])


async def _seen(face: Face) -> list[Any]:
    """All that can be known of them."""
    current = await face.vectors.get([*(f"v{at}" for at in range(40)), "w", "nobody's"])
    query = np.random.default_rng(4).normal(size=8).tolist()
    asked = [await face.vectors.query(query, user_id=user, limit=10, values=True) for user in ("alice", "bob")]
    assert [len(current["vectors"]), *(len(one["matches"]) for one in asked)] == [41, 10, 5]
    assert await face.found("harbour in winter") == ["The harbour is cold in winter"]
    return [current, *asked]


@pytest.mark.req("P-26", "X-37", "C-56")
@pytest.mark.parametrize("config", [{}, OUTSIDE], ids=["local", "store"])
async def test_an_export_carries_them_and_nothing_is_lost_when_it_is_put_back(
    opens: Opens, tmp_path: Path, config: dict[str, object]
) -> None:
    face, copied = opens(config), _other(opens, tmp_path)(config)
    await _brought(face)
    lines = json.loads(json.dumps(await face.export(everybody=True)))
    await copied.load(lines)
    assert await _seen(copied) == await _seen(face)
    assert await copied.export(everybody=True) == lines
    assert (await copied.load(lines))["memories"] == 0
    own = {line["id"] for line in await face.export(user_id="bob") if "vector" in line}
    assert own == {f"v{at}" for at in range(5)}


@pytest.mark.req("P-26", "N-45")
async def test_a_backup_holds_them(opens: Opens, tmp_path: Path) -> None:
    face = opens()
    await _brought(face)
    before = await _seen(face)
    await face.admin.backups.create(tmp_path / "one.backup")
    await face.reset()
    await face.admin.backups.restore(tmp_path / "one.backup")
    assert await _seen(face) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"vector": "AAAA"},
        {"vector": "no base64!"},
        {"vector": 7},
        {"vector": base64.b64encode(np.zeros(2, "<f4").tobytes()).decode()},
        {"vector": base64.b64encode(np.full(2, np.nan, "<f4").tobytes()).decode()},
        {"data": {"vector": 5}},
        {"data": {"vector": {"dim": 2**70, "length": 1.0}}},
        {"data": {"vector": {"dim": 2, "length": "long"}}},
        {"data": {}},
    ],
)
async def test_a_damaged_vector_in_an_export_is_noticed(opens: Opens, tmp_path: Path, wrong: dict[str, Any]) -> None:
    face, copied = opens(), _other(opens, tmp_path)()
    await face.vectors.insert([{"id": "a", "values": [1.0, 2.0]}], user_id="alice")
    lines = [{**line, **wrong} if line["type"] == "memory" else line for line in await face.export(everybody=True)]
    with pytest.raises(InvalidInput, match="damaged: the vector of a"):
        await copied.load(lines)
    assert (await copied.stats())["memories"] == 0


async def test_an_export_without_them_is_put_back_as_before(opens: Opens, tmp_path: Path) -> None:
    face, copied = opens(), _other(opens, tmp_path)()
    await face.vectors.insert([{"id": "a", "values": [1.0, 2.0]}], user_id="alice")
    await copied.load(
        [{name: one for name, one in line.items() if name != "vector"} for line in await face.export(everybody=True)]
    )
    assert (await copied.vectors.get(["a"]))["vectors"] == [{"id": "a", "values": None, "metadata": {}}]
    await copied.vectors.upsert([{"id": "a", "values": [1.0, 2.0]}], user_id="alice")
    assert (await copied.vectors.get(["a"]))["vectors"][0]["values"] == [1.0, 2.0]
