from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memstone import ScopeError
from memstone.errors import InvalidFilter, InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens, texts

SENTENCE = "At least one of user_id, agent_id, or run_id must be provided"


@pytest.mark.req("C-5", "C-58.21", "C-58.38")
async def test_a_call_that_names_nobody_is_refused_with_the_fixed_sentence(face: Face) -> None:
    await face.remember("I live in Oslo")
    for call in (
        face.store("text"),
        face.search("Oslo"),
        face.get_all(),
        face.delete_all(),
        face.search("Oslo", filters={"city": "Oslo"}),
        face.get_all(filters={"OR": [{"user_id": "alice"}, {"user_id": "bob"}]}),
        face.delete_all(filters={"NOT": {"user_id": "alice"}}),
        face.store("text", user_id=None, filters={}),
    ):
        with pytest.raises(ScopeError) as caught:
            await call
        assert str(caught.value) == caught.value.message == SENTENCE
    assert await face.listed() == ["I live in Oslo"]


@pytest.mark.req("C-58.19", "C-6")
async def test_users_do_not_see_one_another(face: Face) -> None:
    await face.remember("I like tea", user_id="alice")
    await face.remember("I like wine", user_id="bob")

    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("what do I like", user_id="alice", strategy=strategy) == ["I like tea"]
        assert await face.found("what do I like", user_id="bob", strategy=strategy) == ["I like wine"]
        assert await face.found("what do I like", user_id="eve", strategy=strategy) == []
    assert await face.listed(user_id="bob") == ["I like wine"]


@pytest.mark.req("C-58.20", "C-6", "X-29")
@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        ({"user_id": "alice"}, True),
        ({"agent_id": "guide"}, True),
        ({"user_id": "alice", "agent_id": "guide"}, True),
        ({"user_id": "alice", "agent_id": "other"}, False),
        ({"user_id": "bob", "agent_id": "guide"}, False),
        ({"user_id": "alice", "run_id": "r1"}, False),
        ({"run_id": "r1"}, False),
        ({"agent_id": "alice"}, False),
        ({"user_id": "guide"}, False),
    ],
)
async def test_every_field_that_is_given_must_match(face: Face, scope: dict[str, str], *, seen: bool) -> None:
    await face.remember("I live in Oslo", user_id="alice", agent_id="guide")
    expected = ["I live in Oslo"] if seen else []

    assert await face.listed(**scope) == expected
    for strategy in ("text", "vector", "hybrid"):
        assert await face.found("Oslo", strategy=strategy, **scope) == expected
    assert await face.found("Oslo", as_of="2026-01-01T00:00:00Z", **scope) == expected
    assert len([line for line in await face.export(**scope) if line["type"] == "memory"]) == len(expected)
    assert await face.delete_all(**scope) == {"deleted": len(expected)}


@pytest.mark.req("C-58.22", "X-28")
async def test_runs_do_not_see_one_another(face: Face) -> None:
    await face.remember("one", run_id="r1")
    await face.remember("two", run_id="r2")
    await face.remember("two", run_id="r2", user_id="bob")

    assert await face.listed(run_id="r1") == ["one"]
    assert await face.found("two", run_id="r1") == ["one"]
    assert len(await face.found("two", run_id="r2")) == 2
    assert await face.found("two", run_id="r2", user_id="bob") == ["two"]


@pytest.mark.req("N-37", "R-34")
async def test_ids_are_trimmed_and_numbers_are_text(face: Face) -> None:
    await face.remember("one", user_id=7)
    await face.remember("two", user_id=UUID(int=7))

    assert await face.listed(user_id=str(UUID(int=7))) == await face.listed(user_id=UUID(int=7)) == ["two"]
    assert await face.listed(user_id=" 7 ") == await face.listed(user_id="7") == ["one"]
    assert texts(await face.search("one", filters={"user_id": 7})) == ["one"]


@pytest.mark.req("N-37", "C-5", "R-34")
@pytest.mark.parametrize("wrong", ["", "  ", "a b", "a\tb", "a\nb", "a\0b", "\u2003", "a\u200bb", "\ud800", "x" * 257])
@pytest.mark.parametrize("name", ["user_id", "agent_id", "run_id"])
async def test_a_malformed_id_is_refused(face: Face, name: str, wrong: str) -> None:
    for call in (
        face.store("text", **{name: wrong}),
        face.search("text", **{name: wrong}),
        face.get_all(**{name: wrong}),
        face.delete_all(**{name: wrong}),
        face.sessions.flush(**{name: wrong}),
        face.export(**{name: wrong}),
    ):
        with pytest.raises(ScopeError, match=name):
            await call


@pytest.mark.req("N-37")
@pytest.mark.parametrize("wrong", [True, 1.5, b"alice", ["alice"], {"id": "alice"}])
async def test_an_id_of_another_type_is_refused(face: Face, wrong: Any) -> None:
    with pytest.raises(ScopeError, match="user_id must be text"):
        await face.store("text", user_id=wrong)
    with pytest.raises((InvalidFilter, ScopeError)):
        await face.search("text", filters={"user_id": wrong})


@pytest.mark.req("R-34")
async def test_odd_ids_never_meet(face: Face) -> None:
    odd = [
        "a&b",
        "a=b",
        "a:b",
        "a,b",
        "a|b",
        "a",
        "b",
        "A",
        "%",
        "_",
        "'",
        '"',
        "ann@example.com",
        "\u00e9",
        "e\u0301",
    ]
    for one in odd:
        await face.remember(f"user {one}", user_id=one)
        await face.remember(f"agent {one}", agent_id=one)

    for one in odd:
        assert await face.listed(user_id=one) == [f"user {one}"]
        assert await face.found("user agent", user_id=one, strategy="text") == [f"user {one}"]
        assert await face.found("user agent", agent_id=one) == [f"agent {one}"]


@pytest.mark.req("R-34", "C-2")
async def test_scopes_that_read_alike_when_joined_are_different(face: Face) -> None:
    await face.remember("same", user_id="a", agent_id="bc")
    await face.remember("same", user_id="ab", agent_id="c")
    await face.remember("same", user_id="a", run_id="bc")

    assert (await face.stats())["memories"] == 3


@pytest.mark.req("C-6")
async def test_a_call_and_its_filters_may_not_name_two_people(face: Face) -> None:
    await face.remember("theirs", user_id="bob")

    with pytest.raises(InvalidInput, match=r"alice.*bob"):
        await face.search("theirs", user_id="alice", filters={"user_id": "bob"})
    assert await face.listed(user_id="alice", filters={"OR": [{"user_id": "bob"}, {"user_id": "alice"}]}) == []


async def test_a_list_of_several_does_not_say_whose_memory_it_is(face: Face) -> None:
    await face.remember("mine")
    filters = {"user_id": {"in": ["alice", "bob"]}}

    for call in (face.search("mine", filters=filters), face.get_all(filters=filters), face.delete_all(filters=filters)):
        with pytest.raises(ScopeError) as caught:
            await call
        assert caught.value.message == SENTENCE
        assert "give one" in caught.value.hint
    with pytest.raises(InvalidInput, match="infer=False compares with none"):
        await face.store("text", filters=filters)


async def test_a_list_of_one_names_one(face: Face) -> None:
    await face.store("mine", filters={"user_id": {"in": ["alice"]}})

    assert texts(await face.get_all(filters={"user_id": {"in": ["alice"]}})) == ["mine"]


@ON_DISK
@pytest.mark.req("X-19", "R-4")
async def test_tenants_share_a_file_and_nothing_else(opens: Opens) -> None:
    one, two = opens({"tenant": "one"}), opens({"tenant": "two"})
    own = await one.remember("I live in Oslo", key="home")
    await two.remember("I live in Rome", key="home")

    assert await one.found("live") == ["I live in Oslo"]
    assert await two.found("live") == ["I live in Rome"]
    assert await two.get(own) is None
    assert await two.history(own) == []
    assert (await two.stats())["memories"] == 1
    assert [line["text"] for line in await two.export(everybody=True) if line["type"] == "memory"] == ["I live in Rome"]
    assert (await two.delete_many([own]))["results"][0]["event"] == "ERROR"
    await two.reset()
    assert await one.listed() == ["I live in Oslo"]


@ON_DISK
@pytest.mark.req("X-19", "R-4")
async def test_a_second_reader_sees_what_a_writer_did(opens: Opens) -> None:
    """The vectors a process holds follow what others change."""
    writer, reader = opens(), opens()
    first = await writer.remember("apple pie")
    assert await reader.found("apple pie", strategy="vector") == ["apple pie"]

    await writer.update(first, "bicycle repair")
    second = await writer.remember("apple tart")
    assert await reader.found("apple pie", strategy="vector", limit=1) == ["apple tart"]
    await writer.delete(second)
    assert await reader.found("apple pie", strategy="vector") == ["bicycle repair"]
    await writer.reset()
    assert await reader.found("apple pie", strategy="vector") == []
    await writer.remember("apple cake")
    assert await reader.found("apple pie", strategy="vector") == ["apple cake"]
