"""``version = "v1.0"``: the answers of add, search and get_all are bare lists, as callers of old are used to."""

from __future__ import annotations

import pytest

from tests.faces.harness import Face, Opens

pytestmark = pytest.mark.req("C-45")


@pytest.fixture
def old(opens: Opens) -> Face:
    return opens({"version": "v1.0"})


@pytest.mark.parametrize("how", [{}, {"infer": True}, {"infer": False}])
async def test_add_gives_a_bare_list_of_what_became_of_it(old: Face, how: dict[str, bool]) -> None:
    (added,) = await old.add("I live in Oslo.", user_id="alice", **how)

    assert added["event"] == "ADD"
    assert "Oslo" in added["memory"]
    (again,) = await old.add("I live in Oslo.", user_id="alice", **how)
    assert (again["event"], again["id"]) == ("NONE", added["id"])
    assert await old.add("Hello!", user_id="alice", infer=True) == []


async def test_search_and_get_all_give_bare_lists_of_memories(old: Face) -> None:
    (added,) = await old.add("I live in Oslo.", user_id="alice", infer=False)

    (hit,) = await old.search("Oslo", user_id="alice")
    (item,) = await old.get_all(user_id="alice")

    assert hit["id"] == item["id"] == added["id"]
    assert hit["score"] > 0
    assert await old.search("Oslo", user_id="bob") == []
    assert await old.get_all(user_id="bob") == []


async def test_the_same_through_the_version_of_today_is_under_a_name(opens: Opens) -> None:
    for settings in ({}, {"version": "v1.1"}):
        face = opens(settings)
        added = await face.add("I live in Oslo.", user_id="alice", infer=False)
        found = await face.search("Oslo", user_id="alice")
        listed = await face.get_all(user_id="alice")
        assert [type(answer["results"]) for answer in (added, found, listed)] == [list] * 3
