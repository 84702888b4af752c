"""Whatever was said, shared, changed and deleted before: a user who is moved has it all, and undo gives it all back."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.errors import MemstoneError
from memstone.literals import LayerName
from memstone.results import MemoryList, SearchResults
from memstone.testing.clock import FakeClock

USERS: Final = ("alice", "bob", "carol")
SAID: Final = (
    "I live in Oslo",
    "I moved to Bergen",
    "I like tea",
    "I don't like tea any more",
    "Please forget that I like tea",
    "My sister Ingrid lives in Bergen",
)
WORDS: Final = "Oslo Bergen tea Ingrid sister note"


class World:
    """Three users and a memory to which things happen by chance."""

    def __init__(self, seed: int) -> None:
        self.chance, self.clock = random.Random(seed), FakeClock()  # noqa: S311 - it must be the same every time
        self.memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}, clock=self.clock)
        self.moments: list[str] = []

    def live(self) -> None:
        """Some time passes, and something happens."""
        self.clock.advance(minutes=self.chance.randint(1, 100))
        self.moments.append(self.clock.now().isoformat())
        self.clock.advance(minutes=1)
        user, other = self.chance.sample(USERS, 2)
        current = [one["id"] for one in self.memory.get_all(user_id=user)["results"]]
        try:
            self._act(user, other, self.chance.choice(current) if current else "")
        except MemstoneError:  # two would say the same, or a thing is not there: nothing happens then
            return

    def _act(self, user: str, other: str, memory_id: str) -> None:
        chance, memory = self.chance, self.memory
        act = chance.choice(
            ["add", "add", "store"] + ["share", "replace", "unshare", "delete", "update"] * bool(memory_id)
        )
        number = chance.randint(0, 3)
        if act == "add":
            memory.add(chance.choice(SAID), user_id=user, project_id=chance.choice([None, None, "apollo"]))
        elif act == "store":
            memory.add(f"note {number}", user_id=user, run_id=chance.choice([None, "r1"]), infer=False)
        elif act == "share":
            memory.sharing.share(memory_id, user_id=other)
        elif act == "replace":
            memory.sharing.replace(memory_id, f"other tea {number}", user_id=user)
        elif act == "unshare":
            memory.sharing.unshare(memory_id, user_id=user)
        elif act == "delete":
            memory.delete(memory_id)
        else:
            memory.update(memory_id, f"new tea {number}")

    def seen(self, user: str) -> dict[str, Any]:
        """All that a user sees, now and in the past."""
        memory, owner = self.memory, dict[str, Any](user_id=user)
        names: tuple[LayerName, ...] = ("fact", "turn")
        layers = {layer: memory.get_all(layers=[layer], **owner)["results"] for layer in names}
        return {
            **{layer: sorted((one["id"], one["memory"]) for one in found) for layer, found in layers.items()},
            "past": [_texts(memory.get_all(as_of=moment, **owner)) for moment in self.moments],
            "words": _texts(memory.search(WORDS, strategy="text", scope="owner", **owner)),
            "vectors": _texts(memory.search(WORDS, strategy="vector", scope="owner", **owner)),
            "names": sorted(one["name"] for one in memory.graph.entities(**owner)["results"]),
        }

    def check(self) -> None:
        """What holds, what stands in the full text and what has a vector are the same."""
        stats = self.memory.stats()
        assert stats["memories"] == stats["vectors"] == stats["fulltext"]


def _texts(answer: MemoryList | SearchResults) -> list[str]:
    return sorted(one["memory"] for one in answer["results"])


@pytest.mark.req("N-44", "P-16")
@pytest.mark.parametrize("seed", range(12))
def test_everything_moves_nobody_else_notices_and_undo_gives_it_back(seed: int) -> None:
    world = World(seed)
    for _ in range(world.chance.randint(4, 14)):
        world.live()
    old, new, other = world.chance.sample(USERS, 3)
    before = {user: world.seen(user) for user in USERS}
    answer = world.memory.sharing.reassign({"user_id": old}, {"user_id": new})

    moved = world.seen(new)
    world.check()
    assert world.seen(old) == {**{part: [] for part in before[old]}, "past": [[] for _ in world.moments]}
    assert world.seen(other) == before[other]
    for layer in ("fact", "turn"):
        both = {text for user in (old, new) for _, text in before[user][layer]}
        assert {text for _, text in moved[layer]} == both
    for at, then in enumerate(moved["past"]):
        assert set(then) == {*before[old]["past"][at], *before[new]["past"][at]}

    if answer["moved"]:
        world.clock.advance(minutes=1)
        world.memory.undo(job_id=answer["job_id"])
        world.check()
    assert {user: world.seen(user) for user in USERS} == before
