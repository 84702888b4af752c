from __future__ import annotations

import pytest

from memstone.errors import Conflict, InvalidInput
from tests.faces.harness import Face, Opens


async def a_bad_day(face: Face, opens: Opens) -> tuple[str, str, str]:
    """Something good, and a day later a change of it, something new and a deletion."""
    home = await face.remember("Alice lives in Oslo")
    pet = await face.remember("Alice has a cat")
    opens.clock.advance(days=1)
    await face.update(home, "Alice lives in Paris")
    wrong = await face.remember("Alice is a pilot")
    await face.delete(pet)
    opens.clock.advance(hours=1)
    return home, pet, wrong


GOOD = {"Alice lives in Oslo", "Alice has a cat"}
BAD = {"Alice lives in Paris", "Alice is a pilot"}


@pytest.mark.req("R-20")
async def test_everything_since_a_time_is_taken_back_and_that_too(face: Face, opens: Opens) -> None:
    home, _, wrong = await a_bad_day(face, opens)

    answer = await face.review.rollback(since="2026-01-02", everybody=True)

    assert set(await face.listed()) == GOOD
    assert (answer["undone"], answer["memories"], answer["conflicts"]) == (3, 3, [])
    assert answer["by_event"] == {"UPDATE": 1, "ADD": 1, "DELETE": 1}
    assert await face.found("Where does Alice live?", strategy="vector", limit=1) == ["Alice lives in Oslo"]
    assert await face.get(wrong) is None
    stats = await face.stats()
    assert (stats["memories"], stats["fulltext"], stats["vectors"]) == (2, 2, 2)

    await face.undo(job_id=answer["job_id"])
    assert set(await face.listed()) == BAD
    assert (await face.history(home))[-1]["new_value"] == "Alice lives in Paris"


async def test_a_dry_run_says_what_would_happen_and_leaves_everything_as_it_is(face: Face, opens: Opens) -> None:
    await a_bad_day(face, opens)
    before = await face.stats()

    tried = await face.review.rollback(since="2026-01-02", dry_run=True, everybody=True)

    assert set(await face.listed()) == BAD
    assert {**await face.stats(), "embedding_cache": 0} == {**before, "embedding_cache": 0}
    done = await face.review.rollback(since="2026-01-02", everybody=True)
    assert {**tried, "dry_run": False, "job_id": done["job_id"]} == done
    assert "job_id" not in tried


async def test_a_rollback_is_of_one_user_only(face: Face, opens: Opens) -> None:
    await a_bad_day(face, opens)
    await face.remember("Bob is a pilot", user_id="bob")

    await face.review.rollback(since="2026-01-02", user_id="alice")

    assert set(await face.listed()) == GOOD
    assert await face.listed(user_id="bob") == ["Bob is a pilot"]


async def test_what_was_undone_in_the_span_is_left_alone_with_its_undoing(face: Face, opens: Opens) -> None:
    home, _, _ = await a_bad_day(face, opens)
    await face.undo((await face.history(home))[-1]["id"])

    answer = await face.review.rollback(since="2026-01-02", everybody=True)

    assert answer["undone"] == 2
    assert set(await face.listed()) == GOOD


async def test_what_a_means_learned_is_taken_back_unless_somebody_changed_it(face: Face, opens: Opens) -> None:
    learned = [one["id"] for one in (await face.add("I live in Oslo. I have a dog.", user_id="alice"))["results"]]
    assert len(learned) == 2
    await face.remember("Alice sings")
    opens.clock.advance(minutes=1)
    await face.update(learned[0], "Alice lives in Oslo, at least in summer")

    answer = await face.review.rollback(source="pattern", everybody=True)

    assert answer["undone"] == 1
    (conflict,) = answer["conflicts"]
    assert (conflict["memory_id"], conflict["event"]) == (learned[0], "ADD")
    assert "UPDATE" in conflict["message"]
    assert answer["skipped"] == 1
    assert set(await face.listed()) == {"Alice sings", "Alice lives in Oslo, at least in summer"}


async def test_a_rollback_says_what_it_is_about(face: Face) -> None:
    for wrong in ({}, {"user_id": "alice"}, {"source": ""}, {"source": 7}, {"since": "yesterday-ish"}):
        with pytest.raises(InvalidInput):
            await face.review.rollback(**wrong)


async def test_a_job_is_undone_as_a_whole_or_not_at_all(face: Face, opens: Opens) -> None:
    home, pet, _ = await a_bad_day(face, opens)
    answer = await face.review.rollback(since="2026-01-02", everybody=True)
    await face.update(pet, "Alice has two cats")

    with pytest.raises(Conflict):
        await face.undo(job_id=answer["job_id"])

    assert (await face.get(home))["memory"] == "Alice lives in Oslo"


async def test_rolling_back_reports_progress(face: Face, opens: Opens) -> None:
    await a_bad_day(face, opens)
    seen: list[tuple[int, int]] = []
    await face.review.rollback(
        since="2026-01-02", progress=lambda done, total: seen.append((done, total)), everybody=True
    )
    assert seen == [(3, 3)]


@pytest.mark.req("N-46")
async def test_the_feed_tells_everything_in_order_and_goes_on_where_one_stopped(face: Face, opens: Opens) -> None:
    home, pet, wrong = await a_bad_day(face, opens)
    await face.remember("Bob is a pilot", user_id="bob")

    first = await face.review.events(limit=3, everybody=True)
    rest = await face.review.events(first["cursor"], limit=100, everybody=True)
    end = await face.review.events(rest["cursor"], everybody=True)

    events = [*first["results"], *rest["results"]]
    assert [one["event"] for one in events] == ["ADD", "ADD", "UPDATE", "ADD", "DELETE", "ADD"]
    assert [one["memory_id"] for one in events[:5]] == [home, pet, home, wrong, pet]
    assert (end["results"], end["cursor"]) == ([], rest["cursor"])
    assert [one["seq"] for one in events] == sorted(one["seq"] for one in events)
    assert len({one["id"] for one in events}) == 6
    (bob,) = (await face.review.events(user_id="bob"))["results"]
    assert (bob["new_value"], bob["user_id"]) == ("Bob is a pilot", "bob")
    assert all("links" not in (one["before"] or {}) for one in events), "who else sees it is not told"
    for wrong_cursor in (-1, "x", True, 1.5):
        with pytest.raises(InvalidInput):
            await face.review.events(wrong_cursor, everybody=True)
