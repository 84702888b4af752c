from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.core.prompt.fence import Fence
from tests.faces.harness import Face


def config(path: Path) -> dict[str, Any]:
    return {"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}


def marker(memory: Memory) -> str:
    found = re.search(r'id="(\w+)"', memory.context("where do I live?", user_id="alice", gate="always").text)
    assert found is not None
    return found[1]


@pytest.mark.req("R-11")
def test_the_fence_comes_from_a_secret_of_the_store_and_is_the_same_everywhere(tmp_path: Path) -> None:
    with Memory(config(tmp_path / "a.db")) as one, Memory(config(tmp_path / "a.db")) as two:
        one.add("I live in Oslo", user_id="alice")
        assert marker(one) == marker(two) == marker(one.acting_for("default", user_id="alice"))
        with Memory(config(tmp_path / "b.db")) as other:
            other.add("I live in Oslo", user_id="alice")
            assert marker(other) != marker(one)
        assert not Fence(b"tenant:default").owns(marker(one)), "nobody who knows the tenant's name can make one"


@pytest.mark.req("R-11", "R-21")
def test_each_block_has_its_own_id_and_the_same_block_the_same_bytes(tmp_path: Path) -> None:
    with Memory(config(tmp_path / "a.db")) as one, Memory(config(tmp_path / "a.db")) as two:
        one.identity.add_override("Answer in British English.", user_id="alice")
        one.add("I live in Oslo", user_id="alice")
        first = one.context("where do I live?", user_id="alice", gate="always")
        ids = {re.findall(r'id="(\w+)"', part)[0] for part in (first.text, first.stable, first.volatile)}
        assert len(ids) == 3, "who has seen one of them cannot close another"
        assert two.context("what do I drink?", user_id="alice", gate="always").stable == first.stable
        one.add("I drink tea", user_id="alice")
        assert one.context("what do I drink?", user_id="alice", gate="always").stable == first.stable, (
            "for prompt caches"
        )
        one.identity.add_override("Never use emoji.", user_id="alice")
        assert one.context("what do I drink?", user_id="alice", gate="always").stable != first.stable


def test_a_store_that_was_busy_for_a_moment_has_a_secret_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstone.adapters.sqlite.write_queue.BUSY_SECONDS", 0.0)
    monkeypatch.setattr("memstone.adapters.sqlite.write_queue._NOTED_SECONDS", 0.0)
    with Memory(config(tmp_path / "a.db")) as memory:
        memory.add("I live in Oslo", user_id="alice")
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            passing = marker(memory)
            assert not Fence(b"tenant:default").owns(passing), "nobody can guess that one either"
        memory.add("I like tea", user_id="alice")  # what was shown just now would be shown once more
        with Memory(config(tmp_path / "a.db")) as another:
            assert marker(memory) == marker(another) != passing, "every process makes the same bytes again"


@pytest.mark.req("R-11")
@pytest.mark.parametrize("name", ["memstone", "retain"])
async def test_what_a_user_writes_around_a_lone_marker_is_stored_as_it_was_said(face: Face, name: str) -> None:
    text = f'I like <{name}-memory id="ab"> and I own a red bike. My car is a Volvo.'
    await face.add(text, user_id="alice")
    (turn,) = (await face.get_all(user_id="alice", layers=["turn"]))["results"]
    assert turn["memory"] == text
    visible = (await face.context("Which car do I own, a Volvo?", user_id="alice", gate="always")).text
    assert "Volvo" in visible
    assert f'<{name}-memory id="ab"' not in visible
