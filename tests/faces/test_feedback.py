"""Whether what a model was shown was of any use: as people say, and as its answers tell."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import NotFoundError
from memstone.errors import InvalidInput
from tests.faces.harness import Face, Opens


async def weight(face: Face, memory_id: str) -> tuple[float, str]:
    """The salience of a memory, and since when it fades."""
    (line,) = [one for one in await face.export(everybody=True) if one["type"] == "memory" and one["id"] == memory_id]
    return line["salience"], line["anchor_at"][:10]


async def shown(face: Face, query: str = "Where is the office?", **who: Any) -> tuple[str, str]:
    """The receipt of a context, and its text."""
    pack = await face.context(query, gate="always", **(who or {"user_id": "alice"}))
    assert pack.receipt_id
    return pack.receipt_id, pack.text


@pytest.mark.req("D-18", "X-35")
async def test_what_somebody_finds_useful_gains_weight_and_is_fresh_again(face: Face, opens: Opens) -> None:
    good, bad = await face.remember("The office is in Lisbon"), await face.remember("I like tea")
    assert await weight(face, good) == (0.5, "2026-01-01")
    opens.clock.advance(days=10)
    assert await face.review.feedback(memory_id=good, useful=True, note="spot on") == {
        "event": "FEEDBACK",
        "useful": True,
        "ids": [good],
    }
    await face.review.feedback(memory_id=bad, useful=False)
    assert await weight(face, good) == (0.6, "2026-01-11")
    assert await weight(face, bad) == (0.4, "2026-01-01")

    answer = (await face.history(good))[-1]
    assert (answer["event"], answer["reason"], answer["after"]) == ("FEEDBACK", "spot on", {"useful": True})
    counts = (await face.admin.metrics(user_id="alice"))["counts"]
    assert (counts["useful"], counts["useless"], counts["injected"]) == (0, 0, 0)
    assert (await face.admin.metrics(everybody=True))["counts"]["useful"] == 1


@pytest.mark.req("D-18")
async def test_feedback_changes_the_ranking(opens: Opens) -> None:
    face = opens({"recall": {"salience": True, "decay_days": 30.0}})
    await face.remember("tea in the morning")
    second = await face.remember("tea in the evening")
    assert await face.found("tea", strategy="text") == ["tea in the evening", "tea in the morning"]
    for _ in range(3):
        await face.review.feedback(memory_id=second, useful=False, user_id="alice")
    assert await face.found("tea", strategy="text") == ["tea in the morning", "tea in the evening"]


@pytest.mark.req("D-18")
async def test_a_receipt_is_judged_as_a_whole(face: Face) -> None:
    ids = {await face.remember("The office is in Lisbon"), await face.remember("The office opens at nine")}
    receipt, _ = await shown(face)
    assert set((await face.review.feedback(receipt_id=receipt, useful=True))["ids"]) == ids
    for one in ids:
        assert (await weight(face, one))[0] == pytest.approx(0.6)
    assert (await face.admin.metrics(user_id="alice"))["counts"]["useful"] == 2


@pytest.mark.req("X-35")
async def test_what_one_thinks_of_a_shared_memory_moves_nobody_elses(face: Face) -> None:
    memory_id = await face.remember("The office is in Lisbon")
    await face.sharing.share(memory_id, user_id="bob")
    await face.review.feedback(memory_id=memory_id, useful=False, user_id="bob")
    assert (await weight(face, memory_id))[0] == 0.5
    assert (await face.admin.metrics(user_id="bob"))["counts"]["useless"] == 1
    assert (await face.history(memory_id))[-1]["user_id"] == "bob"


@pytest.mark.req("D-7", "D-18", "P-24")
async def test_an_answer_tells_which_memories_were_used(face: Face) -> None:
    used = await face.remember("The office is in Lisbon")
    unused = await face.remember("The office opens at nine")
    receipt, text = await shown(face)
    assert "Lisbon" in text
    assert (await face.receipt(receipt))["used"] is None

    answer = await face.review.record_answer(receipt, "You will find it in Lisbon, near the river.")
    assert (answer["used"], answer["unused"]) == ([used], [unused])
    assert (await face.receipt(receipt))["used"] == [used]
    assert (await weight(face, used))[0] == pytest.approx(0.52)
    assert (await weight(face, unused))[0] == 0.5
    figures = await face.admin.metrics(user_id="alice")
    assert figures["retrieval_hit_rate"] == 0.5
    assert (figures["counts"]["judged"], figures["counts"]["used"]) == (2, 1)
    assert (await face.history(used))[-1]["event"] == "FEEDBACK"


@pytest.mark.req("D-18")
async def test_an_answer_that_is_recorded_again_takes_the_place_of_the_first(face: Face) -> None:
    await face.remember("The office is in Lisbon")
    await face.remember("The office opens at nine")
    receipt, _ = await shown(face)
    for _ in range(2):
        await face.review.record_answer(receipt, "In Lisbon.")
    assert (await face.admin.metrics(user_id="alice"))["retrieval_hit_rate"] == 0.5
    await face.review.record_answer(receipt, "In Lisbon, from nine o'clock.")
    assert (await face.admin.metrics(user_id="alice"))["retrieval_hit_rate"] == 1.0
    await face.review.record_answer(receipt, "I do not know.")
    assert (await face.admin.metrics(user_id="alice"))["retrieval_hit_rate"] == 0.0


@pytest.mark.req("D-18", "R-11")
async def test_a_block_that_an_answer_repeats_proves_nothing(face: Face) -> None:
    await face.remember("The office is in Lisbon")
    receipt, text = await shown(face)
    assert (await face.review.record_answer(receipt, f"{text}\nHello!"))["used"] == []


@pytest.mark.req("S-6")
async def test_only_being_shown_counts_as_a_use(face: Face) -> None:
    memory_id = await face.remember("The office is in Lisbon")
    receipt, _ = await shown(face)
    await face.review.record_answer(receipt, "In Lisbon.")
    await face.review.feedback(memory_id=memory_id, useful=True)
    await face.search("office", user_id="alice")
    (line,) = [one for one in await face.export(everybody=True) if one["type"] == "memory"]
    assert [link["use_count"] for link in line["links"]] == [1]


async def test_feedback_about_nothing_is_refused(face: Face) -> None:
    memory_id = await face.remember("The office is in Lisbon")
    with pytest.raises(InvalidInput):
        await face.review.feedback(useful=True)
    with pytest.raises(InvalidInput):
        await face.review.feedback(receipt_id="r", memory_id=memory_id, useful=True)
    with pytest.raises(InvalidInput):
        await face.review.feedback(memory_id=memory_id, useful="yes")
    with pytest.raises(NotFoundError):
        await face.review.feedback(memory_id="nothing", useful=True)
    with pytest.raises(NotFoundError, match="receipt_days"):
        await face.review.feedback(receipt_id="nothing", useful=True)
    with pytest.raises(NotFoundError):
        await face.review.record_answer("nothing", "In Lisbon.")
    receipt, _ = await shown(face)
    with pytest.raises(InvalidInput):
        await face.review.record_answer(receipt, "  ")
    assert await weight(face, memory_id) == (0.5, "2026-01-01")


async def test_secrets_in_a_note_are_masked(face: Face) -> None:
    memory_id = await face.remember("The office is in Lisbon")
    await face.review.feedback(memory_id=memory_id, useful=True, note="my card is 4111 1111 1111 1111")
    assert " 4111" not in str(await face.history(memory_id))
