"""How often a call goes to the database and waits: over a network that is what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.postgres.statements import BlockingWire
from memstone.ports.read_cache import call_stamps, one_look
from memstone.testing.clock import FakeClock
from tests.postgres.server import Server

_WAITS = ("alone", "fetch", "change", "commit")
_STAMP = "SELECT max(id) FROM changes"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often something is waited for, and how often it is asked how far a user's memories are."""
    counted: Counter[str] = Counter()

    def spied(name: str) -> Callable[..., Any]:
        method = getattr(BlockingWire, name)

        async def spy(self: BlockingWire, *args: Any) -> Any:
            counted["trips"] += 1
            counted["stamps"] += sum(_STAMP in str(one) for one in args)
            return await method(self, *args)

        return spy

    for name in _WAITS:
        monkeypatch.setattr(BlockingWire, name, spied(name))
    return counted


def _memory(url: str) -> Memory:
    """With a clock that stands still: what is looked at once a second is looked at once."""
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}}, clock=FakeClock())


def test_calls_go_to_the_database_a_few_times_only(postgres: Server, waits: Counter[str]) -> None:
    with _memory(postgres.fresh()) as memory:
        for place in ("Oslo", "Bergen"):
            memory.add(f"My sister lives in {place}", user_id="alice", infer=False)
            memory.search("my sister", user_id="alice")
            memory.context("my sister", user_id="alice")
        found: dict[str, int] = {}
        calls: dict[str, Callable[[], object]] = {
            "search": lambda: memory.search("where does she live", user_id="alice"),
            "context": lambda: memory.context("where does my sister live now", user_id="alice"),
            "add": lambda: memory.add("My brother lives in Rome", user_id="alice", infer=False),
            "get_all": lambda: memory.get_all(user_id="alice"),
        }
        for name, call in calls.items():
            waits.clear()
            call()
            found[name] = waits["trips"]

    most = {"search": 7, "context": 14, "add": 6, "get_all": 2}
    assert {name: count for name, count in found.items() if count > most[name]} == {}


def test_a_search_asks_once_how_far_a_users_memories_are(postgres: Server, waits: Counter[str]) -> None:
    with _memory(postgres.fresh()) as memory:
        memory.add("My sister lives in Oslo", user_id="alice", infer=False)
        memory.search("my sister", user_id="alice")
        waits.clear()
        memory.search("who lives in Oslo", user_id="alice")

    assert waits["stamps"] == 2, "once for the user, once for what is everybody's"


def test_what_others_stored_before_a_search_is_found_by_it(postgres: Server) -> None:
    url = postgres.fresh()
    with _memory(url) as one, _memory(url) as other:
        for place in ("Oslo", "Bergen", "Rome"):
            one.add(f"My sister lives in {place}", user_id="alice", infer=False)

            assert place in other.search(f"sister {place}", user_id="alice")["results"][0]["memory"]


def test_what_was_seen_is_kept_for_one_call_and_no_longer() -> None:
    call_stamps()["default", "alice"] = 1
    assert call_stamps() == {}, "outside of a call nothing is kept"
    with one_look():
        call_stamps()["default", "alice"] = 1
        with one_look():
            assert call_stamps() == {("default", "alice"): 1}
        assert call_stamps() == {("default", "alice"): 1}

    assert call_stamps() == {}
