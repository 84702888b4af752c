from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import InvalidFilter
from tests.faces.harness import Face, texts

ROWS: dict[str, dict[str, Any]] = {
    "ann": {"city": "Oslo", "age": 30, "tags": ["tea", "ski"], "vip": True},
    "bea": {"city": "Rome", "age": 41.5, "tags": ["wine"], "vip": False},
    "cat": {"city": "OSLO north", "age": 17, "note": "100%_sure"},
    "dan": {"age": "30", "nothing": None},
}


async def filled(face: Face) -> Face:
    for name, metadata in ROWS.items():
        await face.remember(f"{name} is here", metadata=metadata, kind="episodic" if name == "dan" else None)
    await face.remember("foreign is here", user_id="bob", metadata=ROWS["ann"])
    return face


@pytest.mark.req("C-37", "C-38", "R-26")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param({"field": "city", "operator": "eq", "value": "Oslo"}, "ann", marks=pytest.mark.req("C-58.27")),
        pytest.param({"city": {"in": ["Oslo", "Rome"]}}, "ann bea", marks=pytest.mark.req("C-58.28")),
        pytest.param({"AND": [{"city": "Oslo"}, {"age": {"gte": 18}}]}, "ann", marks=pytest.mark.req("C-58.29")),
        pytest.param({"OR": [{"city": "Rome"}, {"age": {"lt": 18}}]}, "bea cat", marks=pytest.mark.req("C-58.30")),
        pytest.param({"NOT": {"city": "Oslo"}}, "bea cat dan", marks=pytest.mark.req("C-58.31")),
        pytest.param({"city": {"contains": "Osl"}}, "ann", marks=pytest.mark.req("C-58.32")),
        ({"city": {"icontains": "osl"}}, "ann cat"),
        ({"city": {"ne": "Oslo"}}, "bea cat dan"),
        ({"city": {"nin": ["Oslo", "Rome"]}}, "cat dan"),
        ({"city": "*"}, "ann bea cat"),
        ({"nothing": "*"}, ""),
        ({"age": {"gt": 17, "lte": 41.5}}, "ann bea"),
        ({"age": 30}, "ann"),
        ({"age": "30"}, "dan"),
        ({"vip": True}, "ann"),
        ({"vip": False}, "bea"),
        ({"tags": {"contains": "tea"}}, "ann"),
        ({"NOT": [{"city": "Oslo"}, {"city": "Rome"}]}, "cat dan"),
        ({"AND": [{"NOT": {"OR": [{"city": "Oslo"}, {"vip": False}]}}, {"kind": "factual"}]}, "cat"),
        ({"type": "episodic"}, "dan"),
        ({"note": {"contains": "%_"}}, "cat"),
        ({"city": {"contains": "%"}}, ""),
        ({"city": "Oslo' OR 1=1 --"}, ""),
        ({"city') OR 1=1 --": "x"}, ""),
        ({"memory": {"icontains": "BEA"}}, "bea"),
        ({"text": {"contains": "dan"}}, "dan"),
        ([{"city": "Oslo"}, {"vip": True}], "ann"),
        ({}, "ann bea cat dan"),
        ({"OR": []}, ""),
    ],
)
async def test_every_way_to_look_honours_a_filter(face: Face, filters: Any, expected: str) -> None:
    await filled(face)
    wanted = [f"{name} is here" for name in expected.split()]

    assert sorted(await face.listed(filters=filters)) == wanted
    for strategy in ("text", "vector", "hybrid"):
        assert sorted(await face.found("here", filters=filters, strategy=strategy)) == wanted
    assert sorted(await face.found("here", filters=filters, as_of="2026-01-01T00:00:00Z")) == wanted
    counted = await face.get_all(user_id="alice", filters=filters, limit=1, counts=True)
    assert counted["total"] == len(wanted)


@pytest.mark.req("C-37")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"role": "assistant"}, "helper"),
        ({"role": {"ne": "assistant"}}, "bob none"),
        ({"actor": "Bob"}, "bob"),
        ({"actor": "user"}, "none"),
        ({"actor": {"in": ["Bob", "assistant"]}}, "bob helper"),
        ({"actor": {"ne": "Bob"}}, "helper none"),
        ({"actor": {"icontains": "BO"}}, "bob"),
        ({"actor": "*"}, "bob helper none"),
        ({"actor": None}, ""),
        ({"NOT": {"actor": "Bob"}}, "helper none"),
        ({"metadata.role": "cook"}, "none"),
        ({"metadata.actor": "*"}, "none"),
    ],
)
async def test_a_filter_finds_the_role_and_the_actor_that_answers_show(face: Face, filters: Any, expected: str) -> None:
    await face.store({"role": "user", "name": "Bob", "content": "bob is here"}, user_id="alice")
    await face.store({"role": "assistant", "content": "helper is here"}, user_id="alice")
    await face.store("none is here", user_id="alice", metadata={"role": "cook", "actor": "Bea"})

    wanted = [f"{name} is here" for name in expected.split()]
    assert sorted(await face.listed(filters=filters)) == wanted
    assert sorted(await face.found("here", filters=filters)) == wanted


@pytest.mark.req("C-38", "R-26")
@pytest.mark.parametrize(
    "wrong",
    [
        {"city": {"like": "O%"}},
        {"city": {"in": "Oslo"}},
        {"city": ["Oslo"]},
        {"city": {}},
        {"$where": "1"},
        {"AND": {"city": "Oslo"}},
        {"field": "city", "operator": "eq"},
        {"tenant_id": "other"},
        {"age": {"gt": None}},
        {"age": float("nan")},
        {"created_at": {"gt": "soon"}},
        {"city": "a\0b"},
        {"city": {"exists": "yes"}},
        {"user_id": "a b"},
        {"actor": 5},
        "city=Oslo",
        7,
    ],
)
async def test_a_filter_that_cannot_be_honoured_is_refused_everywhere(face: Face, wrong: Any) -> None:
    await filled(face)

    for call in (
        face.search("here", user_id="alice", filters=wrong),
        face.get_all(user_id="alice", filters=wrong),
        face.delete_all(user_id="alice", filters=wrong),
        face.store("text", user_id="alice", filters=wrong),
    ):
        with pytest.raises(InvalidFilter):
            await call
    assert len(await face.listed()) == len(ROWS)


@pytest.mark.req("C-6", "X-28", "X-29")
async def test_the_scope_may_stand_in_the_filters_under_its_other_names(face: Face) -> None:
    await face.remember("one", user_id="alice", run_id="r1")
    await face.remember("two", user_id="alice", run_id="r2")

    assert texts(await face.get_all(filters={"user_id": "alice", "session_id": "r1"})) == ["one"]
    assert texts(await face.search("one", filters={"AND": [{"user_id": "alice"}, {"conversation_id": "r2"}]})) == [
        "two"
    ]
    assert texts(await face.get_all(user_id="alice", filters={"run_id": {"in": ["r1", "r3"]}})) == ["one"]
    assert await face.listed(filters={"run_id": {"exists": False}}) == []


@pytest.mark.req("C-37")
async def test_times_and_versions_can_be_filtered_by(face: Face) -> None:
    first = await face.remember("one", occurred_at="2024-05-01T12:00:00+02:00")
    await face.remember("two", occurred_at="2025-05-01")
    await face.update(first, metadata={"x": 1})

    assert await face.listed(filters={"occurred_at": {"lt": "2024-05-01T10:00:01Z"}}) == ["one"]
    assert await face.listed(filters={"occurred_at": {"gte": "2025-01-01"}}) == ["two"]
    assert await face.listed(filters={"version": 2}) == ["one"]
    assert await face.listed(filters={"id": first}) == ["one"]


@pytest.mark.req("C-37", "R-5")
async def test_a_filter_that_chooses_few_of_many_finds_them(face: Face) -> None:
    await face.store_many(
        [{"messages": f"apple {n}", "user_id": "alice", "metadata": {"n": n, "rare": n % 333 == 5}} for n in range(999)]
    )

    for strategy in ("text", "vector", "hybrid"):
        found = await face.found("apple", filters={"rare": True}, limit=5, strategy=strategy)
        assert sorted(found) == ["apple 338", "apple 5", "apple 671"]


@pytest.mark.req("R-4")
async def test_a_role_in_the_metadata_counts_as_well_as_the_speakers(face: Face) -> None:
    await face.store("the boss says so", user_id="alice", metadata={"role": "admin"})
    await face.store("anybody says so", user_id="alice")

    async def found(filters: dict[str, Any]) -> list[str]:
        return sorted(texts(await face.get_all(user_id="alice", filters=filters)))

    assert await found({"role": "admin"}) == ["the boss says so"]
    assert await found({"role": {"ne": "admin"}}) == ["anybody says so"]
    assert await found({"role": "user"}) == ["anybody says so", "the boss says so"]
