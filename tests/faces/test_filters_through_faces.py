from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from memstone.core.checks.filters import BARE_FIELDS, FIELD_NAMES
from memstone.engine.memory_page import PageRequest, memory_page
from memstone.errors import InvalidFilter, InvalidInput
from tests.faces.harness import Face, Opens, texts
from tests.postgres.server import Server

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
        ({"AND": [{"NOT": {"OR": [{"city": "Oslo"}, {"vip": False}]}}, {"memory.kind": "factual"}]}, "cat"),
        ({"memory.type": "episodic"}, "dan"),
        ({"note": {"contains": "%_"}}, "cat"),
        ({"city": {"contains": "%"}}, ""),
        ({"city": "Oslo' OR 1=1 --"}, ""),
        ({"city') OR 1=1 --": "x"}, ""),
        ({"memory.memory": {"icontains": "BEA"}}, "bea"),
        ({"memory.text": {"contains": "dan"}}, "dan"),
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
        ({"memory.role": "assistant"}, "helper"),
        ({"memory.role": {"ne": "assistant"}}, "bob none"),
        ({"memory.actor": "Bob"}, "bob"),
        ({"memory.actor": "user"}, "none"),
        ({"memory.actor": {"in": ["Bob", "assistant"]}}, "bob helper"),
        ({"memory.actor": {"ne": "Bob"}}, "helper none"),
        ({"memory.actor": {"icontains": "BO"}}, "bob"),
        ({"memory.actor": "*"}, "bob helper none"),
        ({"memory.actor": None}, ""),
        ({"NOT": {"memory.actor": "Bob"}}, "helper none"),
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
        {"memory.actor": 5},
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

    assert texts(await face.get_all(filters={"user_id": "alice", "memory.session_id": "r1"})) == ["one"]
    assert texts(
        await face.search("one", filters={"AND": [{"user_id": "alice"}, {"memory.conversation_id": "r2"}]})
    ) == ["two"]
    assert texts(await face.get_all(user_id="alice", filters={"run_id": {"in": ["r1", "r3"]}})) == ["one"]
    assert await face.listed(filters={"run_id": {"exists": False}}) == []


@pytest.mark.req("C-37")
async def test_times_and_versions_can_be_filtered_by(face: Face) -> None:
    first = await face.remember("one", occurred_at="2024-05-01T12:00:00+02:00")
    await face.remember("two", occurred_at="2025-05-01")
    await face.update(first, metadata={"x": 1})

    assert await face.listed(filters={"memory.occurred_at": {"lt": "2024-05-01T10:00:01Z"}}) == ["one"]
    assert await face.listed(filters={"memory.occurred_at": {"gte": "2025-01-01"}}) == ["two"]
    assert await face.listed(filters={"memory.version": 2}) == ["one"]
    assert await face.listed(filters={"memory.id": first}) == ["one"]


@pytest.mark.req("C-37", "R-5")
async def test_a_filter_that_chooses_few_of_many_finds_them(face: Face) -> None:
    await face.store_many(
        [{"messages": f"apple {n}", "user_id": "alice", "metadata": {"n": n, "rare": n % 333 == 5}} for n in range(999)]
    )

    for strategy in ("text", "vector", "hybrid"):
        found = await face.found("apple", filters={"rare": True}, limit=5, strategy=strategy)
        assert sorted(found) == ["apple 338", "apple 5", "apple 671"]


OPEN, ARCHIVED, PLAIN = "open is here", "archived is here", "plain is here"
AMBIGUOUS = sorted(FIELD_NAMES - BARE_FIELDS)
VECTOR_STORES: dict[str, dict[str, Any]] = {"local": {}, "memory": {"vector_store": {"provider": "memory"}}}


async def _page(face: Face, filters: Any) -> list[str]:
    page = await face.run(memory_page, PageRequest({"user_id": "alice"}, filters=filters))
    assert page["total"] == len(page["results"])
    return texts(page)


async def _inspected(face: Face, filters: Any, q: str | None = None) -> list[str]:
    found = await face.review.list(q, user_id="alice", filters=filters, layers=["fact"])
    return [one["preview"] for one in found["results"]]


Look: TypeAlias = Callable[[Face, Any], Awaitable[list[str]]]


async def _deleted(face: Face, filters: Any) -> list[str]:
    return [str(await face.delete_all(user_id="alice", filters=filters))]


LOOKS: dict[str, Look] = {
    "get_all": lambda face, filters: face.listed(filters=filters),
    "search": lambda face, filters: face.found("here", filters=filters),
    "search text": lambda face, filters: face.found("here", filters=filters, strategy="text"),
    "search vector": lambda face, filters: face.found("here", filters=filters, strategy="vector"),
    "search recent": lambda face, filters: face.found("here", filters=filters, strategy="recent"),
    "search as_of": lambda face, filters: face.found("here", filters=filters, as_of="2026-01-01T00:00:00Z"),
    "memory_page": _page,
    "inspect": _inspected,
    "inspect q": lambda face, filters: _inspected(face, filters, "here"),
}


async def _carrying(face: Face, name: str) -> Face:
    """Three memories of alice, two of which carry metadata under a name; bob's must never matter."""
    await face.remember(OPEN, metadata={name: "open"})
    await face.remember(ARCHIVED, metadata={name: "archived"})
    await face.remember(PLAIN)
    await face.remember("foreign is here", user_id="bob", metadata={name: "open"})
    return face


@pytest.mark.req("X-41", "C-37", "C-38")
@pytest.mark.parametrize(
    ("name", "vectors"), [*((name, "local") for name in AMBIGUOUS), *((name, "memory") for name in AMBIGUOUS[::3])]
)
async def test_metadata_named_like_a_field_is_what_a_bare_name_means(opens: Opens, name: str, vectors: str) -> None:
    await _bare_name_means_metadata(opens(VECTOR_STORES[vectors]), name)


@pytest.mark.req("X-41", "C-34", "C-38")
@pytest.mark.parametrize("store", ["in_memory"], indirect=True)
async def test_a_bare_name_means_metadata_beside_a_pgvector_store(opens: Opens, postgres: Server) -> None:
    for name in ("status", "memory", "source"):
        config = {"url": postgres.url(postgres.name), "schema_name": f"beside_{name}"}
        face = opens({"vector_store": {"provider": "pgvector", "config": config}})
        await face.reset()
        await _bare_name_means_metadata(face, name)


async def _bare_name_means_metadata(face: Face, name: str) -> None:
    await _carrying(face, name)
    expected: list[tuple[Any, list[str]]] = [
        ({name: {"ne": "archived"}}, [OPEN, PLAIN]),
        ({name: "open"}, [OPEN]),
        ({name: "archived"}, [ARCHIVED]),
        ({name: "active"}, []),
        ({name: {"in": ["open", "archived"]}}, [ARCHIVED, OPEN]),
        ({"NOT": {name: "*"}}, [PLAIN]),
    ]
    # Every look at every filter for one name; the others in every look, and in every filter.
    for at, look in enumerate(LOOKS.values()):
        for filters, wanted in expected if name == AMBIGUOUS[0] or not at else expected[:1]:
            assert sorted(await look(face, filters)) == wanted
    assert await face.delete_all(user_id="alice", filters={name: {"ne": "open"}}) == {"deleted": 2}
    assert await face.listed() == [OPEN]
    assert await face.listed(user_id="bob") == ["foreign is here"]


@pytest.mark.req("X-41")
@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_a_field_by_its_bare_name_is_an_error_that_says_how_to_write_it(face: Face, name: str) -> None:
    await face.remember(PLAIN, metadata={"colour": "red"})
    asked: list[Any] = [
        {name: {"ne": "archived"}},
        {"OR": [{"colour": "red"}, {"field": name, "op": "eq", "value": "x"}]},
    ]
    for filters in asked:
        for look in (*LOOKS.values(), _deleted):
            with pytest.raises(InvalidFilter) as refused:
                await look(face, filters)
            assert f"memory.{name}" in refused.value.hint
            assert f"metadata.{name}" in refused.value.hint
    assert await face.listed() == [PLAIN]
    assert await face.listed(filters={f"metadata.{name}": "x"}) == []


@pytest.mark.req("X-41")
async def test_what_was_carried_once_stays_a_metadata_name(face: Face) -> None:
    await face.delete(await face.remember(OPEN, metadata={"status": "open"}))
    await face.remember(PLAIN)

    assert await face.listed(filters={"status": {"ne": "open"}}) == [PLAIN]
    await face.reset()
    assert await face.listed(filters={"status": "open"}) == []


@pytest.mark.req("X-41")
async def test_metadata_that_a_key_does_not_reach_makes_no_name(face: Face) -> None:
    await face.remember(OPEN, metadata={"status": "open"})
    await face.remember(PLAIN, user_id="bob")
    assert await face.listed(filters={"status": "open"}) == [OPEN]

    bob = Face(face.memory.acting_for("default", user_id="bob"))
    with pytest.raises(InvalidFilter):
        await bob.listed(user_id="bob", filters={"status": "open"})
    await bob.remember("mine is here", user_id="bob", metadata={"status": "open"})
    assert await bob.listed(user_id="bob", filters={"status": "open"}) == ["mine is here"]


@pytest.mark.req("X-41")
async def test_fields_of_a_memory_are_asked_for_by_their_full_name(face: Face) -> None:
    first = await face.remember(OPEN, metadata={"status": "superseded", "kind": "semantic"}, kind="episodic", key="k")
    await face.remember(PLAIN)
    matching: list[Any] = [
        {"memory.status": "active", "memory.kind": "episodic"},
        {"memory.id": first},
        {"memory.key": "k"},
        {"memory.text": {"contains": "open"}},
        {"status": "superseded"},
        {"metadata.kind": "semantic", "memory.layer": "fact"},
    ]
    for filters in matching:
        for look in LOOKS.values():
            assert await look(face, filters) == [OPEN], filters
    assert await face.delete_all(user_id="alice", filters={"memory.status": "superseded"}) == {"deleted": 0}
    assert await face.delete_all(user_id="alice", filters={"memory.kind": "episodic"}) == {"deleted": 1}


@pytest.mark.req("X-41", "C-6")
async def test_an_inspection_does_not_leave_out_whom_its_filter_names(face: Face) -> None:
    await face.remember(PLAIN)
    with pytest.raises(InvalidInput, match="in the call and"):
        await face.review.list(user_id="alice", filters={"user_id": "bob"})
    assert len((await face.review.list(filters={"user_id": "alice"}, layers=["fact"], everybody=True))["results"]) == 1
