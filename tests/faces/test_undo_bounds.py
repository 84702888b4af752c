"""Who reaches one user only takes back what was done to that user's memory, and sees nothing else happen."""

from __future__ import annotations

import pytest

from memstone.errors import NotFoundError
from tests.faces.harness import Face, Opens


def bound(face: Face, user_id: str) -> Face:
    """The same memory, as a key that is bound to a user reaches it."""
    return Face(face.memory.acting_for("default", user_id=user_id))


@pytest.mark.req("X-30")
async def test_a_bound_memory_takes_back_its_own_changes_and_nobody_elses(face: Face, opens: Opens) -> None:
    own = await face.remember("Alice lives in Oslo")
    other = await face.remember("Bob lives in Rome", user_id="bob")
    alice = bound(face, "alice")
    opens.clock.advance(days=1)
    await alice.update(own, "Alice lives in Bergen")
    await face.update(other, "Bob lives in Paris")
    foreign = (await face.history(other))[-1]["id"]

    with pytest.raises(NotFoundError):
        await alice.undo(foreign)
    with pytest.raises(NotFoundError):
        await alice.review.restore(other, version=1)
    with pytest.raises(NotFoundError):
        await alice.review.disable(other)
    await alice.undo((await alice.history(own))[-1]["id"])
    await alice.delete(own)
    await alice.review.restore(own)

    assert (await alice.get(own))["memory"] == "Alice lives in Oslo"
    assert {event["user_id"] for event in (await alice.review.events())["results"]} == {"alice"}
    assert {one["id"] for one in (await alice.review.list())["results"]} == {own}
    assert (await alice.review.rollback(since="2026-01-01T12:00:00Z"))["memories"] == 1
    assert await face.listed(user_id="bob") == ["Bob lives in Paris"]
