"""Whatever is done in whatever order: nobody ever sees what is not theirs, and the mirrors hold what is live."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from memstone import Memory, NotFoundError
from memstone.errors import Conflict
from memstone.literals import Strategy
from memstone.testing.clock import FakeClock

NAMES = ("user_id", "agent_id", "run_id")
scopes = st.tuples(*(st.sampled_from([None, "a", "b"]) for _ in NAMES)).filter(any)
words = st.sampled_from(["apple", "pie", "apple pie", "garden", "a garden of apples", "7 May", "tea & \u8336", "?"])
times = st.sampled_from([None, "2026-01-01T00:00:30Z", "2027-01-01"])
Scope = tuple[str | None, ...]


def by_name(scope: Scope) -> dict[str, Any]:
    return dict(zip(NAMES, scope, strict=True))


def inside(link: Scope, scope: Scope) -> bool:
    return all(wanted is None or have == wanted for have, wanted in zip(link, scope, strict=True))


class _Isolation(RuleBasedStateMachine):
    """A model beside the memory: id -> (scope, text, expiry)."""

    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.memory = Memory(
            {"store": {"url": "memory:"}, "embedder": {"provider": "hash", "config": {"dim": 16}}}, clock=self.clock
        )
        self.live: dict[str, tuple[Scope, str, str | None]] = {}
        self.gone: set[str] = set()

    def teardown(self) -> None:
        self.memory.close()

    def now(self) -> str:
        return self.clock.now().isoformat()

    def visible(self, scope: Scope) -> set[str]:
        return {
            memory_id
            for memory_id, (link, _, expires) in self.live.items()
            if inside(link, scope) and (expires is None or expires > self.now())
        }

    @rule(target=known, scope=scopes, text=words, expires=times, key=st.sampled_from([None, None, "k"]))
    def add(self, scope: Scope, text: str, expires: str | None, key: str | None) -> str:
        answer = self.memory.add(text, **by_name(scope), expires_at=expires, key=key, infer=False)
        (event,) = answer["results"]
        memory_id: str = event["id"]
        if event["event"] == "ADD":
            assert memory_id not in self.live
        else:
            assert self.live[memory_id][0] == scope, "only the very same scope can already know it"
        if event["event"] != "NONE":
            self.live[memory_id] = (scope, text, expires)
        return memory_id

    @rule(memory_id=known, text=words)
    def update(self, memory_id: str, text: str) -> None:
        try:
            item = self.memory.update(memory_id, text)
        except NotFoundError:
            assert memory_id not in self.live
        except Conflict:
            assert memory_id in self.live
        else:
            scope, _, expires = self.live[memory_id]
            assert (item["user_id"], item["agent_id"], item["run_id"]) == scope
            self.live[memory_id] = (scope, text, expires)

    @rule(memory_id=known)
    def delete(self, memory_id: str) -> None:
        try:
            self.memory.delete(memory_id)
        except NotFoundError:
            assert memory_id not in self.live
        else:
            del self.live[memory_id]
            self.gone.add(memory_id)

    @rule(scope=scopes)
    def delete_all(self, scope: Scope) -> None:
        own = {memory_id for memory_id, (link, _, _) in self.live.items() if inside(link, scope)}
        assert self.memory.delete_all(**by_name(scope)) == {"deleted": len(own)}
        for memory_id in own:
            del self.live[memory_id]
        self.gone |= own

    @rule(scope=scopes, text=words, strategy=st.sampled_from(["text", "vector", "hybrid"]))
    def search(self, scope: Scope, text: str, strategy: Strategy) -> None:
        found = self.memory.search(text, **by_name(scope), strategy=strategy, limit=1000)["results"]
        ids = [item["id"] for item in found]
        assert len(ids) == len(set(ids))
        assert set(ids) <= self.visible(scope)
        for item in found:
            assert item["memory"] == self.live[item["id"]][1]
        if strategy == "vector":
            assert set(ids) == self.visible(scope), "the dense channel ranks everything a scope sees"

    @rule(scope=scopes)
    def get_all(self, scope: Scope) -> None:
        answer = self.memory.get_all(**by_name(scope), limit=1000, counts=True)
        assert {item["id"] for item in answer["results"]} == self.visible(scope)
        assert answer["total"] == len(answer["results"]) == len(self.visible(scope))

    @rule(scope=scopes, back=st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"]))
    def look_back(self, scope: Scope, back: str) -> None:
        for answer in (
            self.memory.get_all(**by_name(scope), as_of=back, limit=1000),
            self.memory.search("apple pie garden", **by_name(scope), as_of=back, limit=1000),
        ):
            for item in answer["results"]:
                assert inside(self.live[item["id"]][0], scope), "and what was deleted stays deleted"

    @rule(memory_id=known)
    def get(self, memory_id: str) -> None:
        item = self.memory.get(memory_id)
        scope = self.live[memory_id][0] if memory_id in self.live else ("nobody",) * 3
        assert (item is not None) == (memory_id in self.visible(scope))

    @rule(scope=scopes)
    def export(self, scope: Scope) -> None:
        exported = {line["id"] for line in self.memory.export(**by_name(scope)) if line["type"] == "memory"}
        assert exported & self.live.keys() == {i for i, (link, _, _) in self.live.items() if inside(link, scope)}

    @rule()
    def wait(self) -> None:
        self.clock.advance(seconds=20)

    @invariant()
    def mirrors_hold_what_is_live(self) -> None:
        stats = self.memory.stats()
        assert stats["memories"] == stats["fulltext"] == stats["vectors"] == len(self.live)


@pytest.mark.req("X-19", "R-4", "C-6", "R-1")
@pytest.mark.slow
def test_nobody_ever_sees_what_is_not_theirs() -> None:
    run_state_machine_as_test(_Isolation, settings=settings(stateful_step_count=30))
