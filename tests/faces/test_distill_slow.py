"""Sessions that say little at a time: it adds up."""

from __future__ import annotations

import pytest

from tests.faces.harness import Opens
from tests.faces.test_distill import COMPANION, WHO, episodes, held, pinned


@pytest.mark.req("S-15")
async def test_a_slow_talk_of_short_messages_is_learned_from_when_it_has_said_enough(opens: Opens) -> None:
    face = opens(COMPANION)
    talk = ("I'm allergic to peanuts.", "My name is Tim.", "I live in Bergen.", "I work as a baker.")
    ends = [await held(face, opens, "s", text, "> Good to know.") for text in talk]

    assert [one["distillation"] for one in ends] == [
        "skipped:low_novelty:37chars",
        "skipped:low_novelty:65chars",
        "distilled",
        "skipped:low_novelty:31chars",
    ]
    assert set(await pinned(face)) == {"User is allergic to peanuts.", "User's name is Tim.", "User lives in Bergen."}
    await held(face, opens, "other", "I like long walks.")
    await held(face, opens, "s", "I have been looking for a flat near the old harbour for a long while now.")
    assert "User works as a baker." in await pinned(face)
    assert "long walks" not in str(await pinned(face)), "that is another talk"
    assert len(await episodes(face)) == 1


@pytest.mark.req("S-15", "X-30")
async def test_what_was_passed_over_and_deleted_since_is_not_learned(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "s", "I'm allergic to peanuts.")
    await face.delete_all(**WHO)
    await held(
        face, opens, "s", "I have been looking for a flat near the old harbour for a long while, says my mother."
    )

    assert "peanuts" not in str(await pinned(face))
    assert "peanuts" not in str(await episodes(face))
