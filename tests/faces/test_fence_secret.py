from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from retain import Memory
from retain.core.showing.fence import Fence


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
        assert marker(one) != Fence(b"tenant:default").id, "nobody who knows the tenant's name can make one"
