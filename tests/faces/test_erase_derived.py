from __future__ import annotations

import json
from typing import Any

from memstone import Memory

CONFIG: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
SAID = "My name is Zoe and I live in Oslo with my dog Rex. I work as a nurse at Ullevaal hospital and love skiing."


def told(memory: Memory, word: str) -> list[str]:
    """The layers, or the sort of row, in which a word stands."""
    rows = [row for row in memory.export(everybody=True) if word in json.dumps(row)]
    return sorted(str(row.get("layer") or row["type"]) for row in rows)


def test_who_saw_a_memory_once_is_forgotten_in_its_history_too() -> None:
    with Memory(CONFIG) as memory:
        made = memory.add("tea is fine", user_id="bo_b", infer=False)["results"][0]["id"]
        memory.sharing.share(made, user_id="alice")
        memory.sharing.replace(made, "coffee is fine", user_id="bo_b")
        memory.admin.erase(user_id="bo_b")
        assert told(memory, "bo_b") == []
        assert [one["memory"] for one in memory.get_all(user_id="alice")["results"]] == ["tea is fine"]


def test_what_was_made_from_a_memory_goes_with_it() -> None:
    with Memory({**CONFIG, "preset": "companion"}) as memory:
        scope: dict[str, Any] = {"user_id": "zoe", "agent_id": "a", "run_id": "r1"}
        memory.add(SAID, **scope)
        memory.sessions.end(**scope)
        memory.admin.consolidate(everybody=True)
        assert {"turn", "fact", "episode", "identity"} <= set(told(memory, "Oslo"))
        fact = next(one for one in memory.get_all(user_id="zoe")["results"] if "Oslo" in one["memory"])
        memory.admin.erase(memory_id=fact["id"])
        assert told(memory, "Oslo") == ["turn"]
