from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memstone import Memory
from memstone.core.checks.filters import where_in_scope
from memstone.engine.recall import calibrate
from memstone.errors import Forbidden, NotFoundError, ScopeError
from memstone.model.query import And
from memstone.model.scope import Scope

CONFIG: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(CONFIG) as made:
        yield made


def added(memory: Memory, text: str, **scope: Any) -> str:
    made: str = memory.add(text, infer=False, **scope)["results"][0]["id"]
    return made


@pytest.mark.req("X-1", "R-9")
def test_whoever_acts_for_a_user_reaches_that_user_and_nobody_else(memory: Memory) -> None:
    own, foreign = added(memory, "tea", user_id="alice"), added(memory, "coffee", user_id="bob")
    alice = memory.acting_for("default", user_id="alice")
    assert alice.get(own) is not None
    assert alice.get(foreign) is None
    assert alice.history(foreign) == []
    assert [one["memory"] for one in alice.search("coffee or tea")["results"]] == ["tea"]
    assert [one["memory"] for one in alice.get_all()["results"]] == ["tea"]
    with pytest.raises(NotFoundError):
        alice.update(foreign, "mine")
    with pytest.raises(NotFoundError):
        alice.delete(foreign)
    with pytest.raises(NotFoundError):
        alice.undo(foreign)
    stored = memory.get(foreign)
    assert stored is not None
    assert stored["memory"] == "coffee"


@pytest.mark.parametrize(
    "act",
    [
        lambda memory: memory.add("x", user_id="bob"),
        lambda memory: memory.search("x", user_id="bob"),
        lambda memory: memory.get_all(user_id="bob"),
        lambda memory: memory.context("who am I?", user_id="bob"),
        lambda memory: memory.delete_all(user_id="bob"),
        lambda memory: memory.ingest([{"role": "user", "content": "x"}], user_id="bob"),
        lambda memory: memory.sessions.flush(user_id="bob"),
        lambda memory: list(memory.export(user_id="bob")),
        lambda memory: memory.graph.entities(user_id="bob"),
        lambda memory: memory.graph.relations(user_id="bob"),
        lambda memory: memory.identity.get(user_id="bob"),
        lambda memory: memory.sessions.episodes(user_id="bob"),
        lambda memory: memory.reset(),
        lambda memory: memory.stats(),
        lambda memory: memory.admin.check(),
        lambda memory: memory.admin.keys.list(),
        lambda memory: memory.admin.keys.create(),
        lambda memory: memory.admin.redact(),
        lambda memory: memory.admin.consolidate(everybody=True),
        lambda memory: memory.admin.erase(user_id="bob"),
    ],
)
def test_what_lies_outside_is_refused(memory: Memory, act: Callable[[Memory], Any]) -> None:
    added(memory, "coffee", user_id="bob")
    before = list(memory.export(everybody=True))
    with pytest.raises(Forbidden):
        act(memory.acting_for("default", user_id="alice"))
    assert list(memory.export(everybody=True)) == before


def test_what_is_everybodys_is_read_by_everybody_and_changed_by_none_of_them(memory: Memory) -> None:
    shared = added(memory, "the office is closed on Friday", user_id="*")
    alice = memory.acting_for("default", user_id="alice")
    assert [one["id"] for one in alice.search("office", scope="global")["results"]] == [shared]
    with pytest.raises(NotFoundError):
        alice.delete(shared)


def test_tenants_share_a_store_and_nothing_in_it(memory: Memory) -> None:
    own = added(memory, "tea", user_id="alice")
    other = memory.acting_for("acme")
    assert other.get(own) is None
    assert other.get_all(user_id="alice")["results"] == []
    added(other, "coffee", user_id="alice")
    other.reset()
    assert [one["memory"] for one in memory.get_all(user_id="alice")["results"]] == ["tea"]


@pytest.mark.req("X-1", "R-9")
@pytest.mark.parametrize("tenant", ["", " ", None, 5, True])
def test_nobody_acts_for_a_tenant_without_a_name(memory: Memory, tenant: Any) -> None:
    added(memory.acting_for("one"), "tea", user_id="alice")
    with pytest.raises(ScopeError, match="tenant_id must be"):
        memory.acting_for(tenant).delete_all(user_id="alice")
    assert len(memory.acting_for("one").get_all(user_id="alice")["results"]) == 1
    assert where_in_scope(Scope("")) != And(()), "a scope never sees every tenant"


def test_what_unrelated_questions_score_is_found_out_once_for_all_who_reach_a_user(memory: Memory) -> None:
    alice = memory.acting_for("default", user_id="alice")
    assert calibrate._cache_for_store(alice.engine.runtime) is calibrate._cache_for_store(memory.engine.runtime)


def test_a_receipt_is_read_by_those_who_reach_its_user_and_nobody_else(memory: Memory) -> None:
    added(memory, "tea in the morning", user_id="alice")
    receipt_id = memory.context("tea in the morning?", user_id="alice").receipt_id
    assert memory.acting_for("default", user_id="alice").receipt(receipt_id) == memory.receipt(receipt_id) is not None
    assert memory.acting_for("default", user_id="bob").receipt(receipt_id) is None
    assert memory.acting_for("default", agent_id="helper").receipt(receipt_id) is None


def test_a_receipt_goes_with_what_is_handed_over(memory: Memory) -> None:
    added(memory, "tea in the morning", user_id="alice")
    receipt_id = memory.context("tea in the morning?", user_id="alice").receipt_id
    memory.sharing.reassign({"user_id": "alice"}, {"user_id": "bob"})
    assert memory.acting_for("default", user_id="bob").receipt(receipt_id) is not None
    assert memory.acting_for("default", user_id="alice").receipt(receipt_id) is None
