"""The figures about a memory: worked out from what happened."""

from __future__ import annotations

import pytest

from memstone import ScopeError
from tests.faces.harness import Face, Opens
from tests.faces.infer_steps import told

RATES = ("memory_replacement_rate", "memory_dedup_rate", "retrieval_hit_rate")


@pytest.mark.req("P-24", "D-15")
async def test_a_new_memory_has_no_figures_yet(face: Face) -> None:
    for who in ({"everybody": True}, {"user_id": "alice"}):
        figures = await face.admin.metrics(**who)
        assert figures["memory_total_count"] == 0
        assert [figures[name] for name in RATES] == [None, None, None]
        assert set(figures["counts"].values()) == {0}


@pytest.mark.req("P-24", "D-15")
async def test_the_four_figures_of_a_user_and_of_everybody(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo", opens)
    await told(face, "I like tea", opens)
    await told(face, "I moved to Bergen", opens)
    await told(face, [{"role": "user", "content": "I like tea"}], opens)
    await told(face, "I have a dog", opens, user_id="bob")
    pack = await face.context("Where have I moved?", user_id="alice", gate="always")
    await face.review.record_answer(pack.receipt_id, "In Bergen, as far as I know.")

    own = await face.admin.metrics(user_id="alice")
    assert own["memory_total_count"] == 2
    assert own["memory_replacement_rate"] == pytest.approx(1 / 3, abs=1e-4)
    assert own["memory_dedup_rate"] == pytest.approx(1 / 4, abs=1e-4)
    assert own["retrieval_hit_rate"] == pytest.approx(1 / len(pack.citations), abs=1e-4)
    everybody = await face.admin.metrics(everybody=True)
    assert everybody["memory_total_count"] == 3
    assert everybody["counts"]["added"] == 3
    assert everybody["memory_replacement_rate"] == pytest.approx(1 / 4)
    assert (await face.admin.metrics(user_id="bob"))["memory_dedup_rate"] == 0.0


@pytest.mark.req("P-24")
async def test_what_is_stored_as_it_is_counts_too(face: Face) -> None:
    for _ in range(3):
        await face.store("tea", user_id="alice")
    await face.store_many([{"messages": "tea", "user_id": "alice"}, {"messages": "tea", "user_id": "bob"}])
    figures = await face.admin.metrics(user_id="alice")
    assert (figures["counts"]["added"], figures["counts"]["redundant"]) == (1, 3)
    assert figures["memory_dedup_rate"] == 0.75
    assert (await face.admin.metrics(user_id="bob"))["memory_dedup_rate"] == 0.0
    assert (await face.admin.metrics(everybody=True))["counts"]["redundant"] == 3


@pytest.mark.req("P-24")
async def test_only_a_changed_text_is_a_replacement_and_undoing_counts_for_nothing(face: Face) -> None:
    memory_id = await face.remember("tea")
    await face.update(memory_id, metadata={"a": 1})
    assert (await face.admin.metrics(user_id="alice"))["memory_replacement_rate"] == 0.0
    await face.update(memory_id, "coffee")
    assert (await face.admin.metrics(user_id="alice"))["memory_replacement_rate"] == 0.5
    await face.undo((await face.history(memory_id))[-1]["id"])
    assert (await face.admin.metrics(user_id="alice"))["memory_replacement_rate"] == 0.5


@pytest.mark.req("P-24")
async def test_figures_since_a_day(face: Face, opens: Opens) -> None:
    for _ in range(2):
        await face.store("tea", user_id="alice")
    opens.clock.advance(days=2)
    await face.store("tea", user_id="alice")
    await face.store("coffee", user_id="alice")
    late = await face.admin.metrics(user_id="alice", since="2026-01-02")
    assert (late["counts"]["added"], late["counts"]["redundant"]) == (1, 1)
    assert late["memory_dedup_rate"] == 0.5
    assert late["memory_total_count"] == 2


async def test_a_store_that_was_emptied_begins_again(face: Face) -> None:
    for _ in range(2):
        await face.store("tea", user_id="alice")
    await face.reset()
    assert (await face.admin.metrics(everybody=True))["counts"]["redundant"] == 0
    with pytest.raises(ScopeError):
        await face.admin.metrics(user_id=" ")
