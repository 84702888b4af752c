"""Sharing reaches no further than it should: keys that are bound, stores outside, writers at the same time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memstone import Memory, NotFoundError
from memstone.errors import Forbidden
from tests.faces.harness import Face, Opens

OFFICE = "The office is in Lisbon"


@pytest.mark.req("P-19", "P-3")
async def test_who_acts_for_one_user_shares_with_nobody_and_changes_nothing_of_others(face: Face) -> None:
    foreign = await face.remember(OFFICE, user_id="bob")
    own = await face.remember("I like tea")
    both = await face.remember("We meet on Mondays")
    await face.sharing.share(both, user_id="bob")
    receipt = (await face.context("Where is the office in Lisbon?", user_id="bob", gate="always")).receipt_id
    alice = Face(face.memory.acting_for("default", user_id="alice"))

    for call in (
        alice.sharing.share(own, user_id="bob"),
        alice.sharing.share(own, user_id="*"),
        alice.sharing.unshare(both, user_id="bob"),
        alice.sharing.replace(both, "never", user_id="bob"),
        alice.review.replacements(user_id="bob"),
        alice.sharing.reassign({"user_id": "bob"}, {"user_id": "alice"}),
        alice.sharing.reassign({"user_id": "alice"}, {"user_id": "bob"}),
        alice.admin.metrics(user_id="bob"),
        alice.add("I live in Oslo", project_id="apollo"),
        alice.search("office", project_id="apollo"),
        alice.context("office", project_id="apollo"),
    ):
        with pytest.raises(Forbidden):
            await call
    for call in (
        alice.sharing.share(foreign, user_id="alice"),
        alice.sharing.unshare(foreign, user_id="alice"),
        alice.sharing.replace(foreign, "never", user_id="alice"),
        alice.review.feedback(memory_id=foreign, useful=False),
        alice.review.feedback(receipt_id=receipt, useful=False),
        alice.review.record_answer(receipt, "In Lisbon."),
    ):
        with pytest.raises(NotFoundError):
            await call

    # What is her own she may change, and it is counted: bob notices nothing.
    await alice.sharing.replace(both, "We meet on Tuesdays")
    await alice.review.feedback(memory_id=own, useful=True)
    assert (await alice.store("I like tea"))["results"][0]["event"] == "NONE"
    assert (await alice.admin.metrics())["counts"]["redundant"] == 1
    assert (await alice.admin.metrics())["memory_total_count"] == 2
    assert sorted(await face.listed(user_id="bob")) == [OFFICE, "We meet on Mondays"]


@pytest.mark.req("P-3", "P-16", "N-44")
async def test_a_vector_store_of_its_own_follows_who_holds_what(opens: Opens) -> None:
    face = opens({"vector_store": {"provider": "memory"}})
    memory_id = await face.remember(OFFICE)

    async def seen() -> dict[str, list[str]]:
        return {user: await face.found("office", user_id=user, strategy="vector") for user in ("alice", "bob", "carol")}

    assert await seen() == {"alice": [OFFICE], "bob": [], "carol": []}
    await face.sharing.share(memory_id, user_id="bob")
    assert await seen() == {"alice": [OFFICE], "bob": [OFFICE], "carol": []}
    await face.sharing.replace(memory_id, "The office is in Porto", user_id="alice")
    assert await seen() == {"alice": ["The office is in Porto"], "bob": [OFFICE], "carol": []}
    job = (await face.sharing.reassign({"user_id": "alice"}, {"user_id": "carol"}))["job_id"]
    assert await seen() == {"alice": [], "bob": [OFFICE], "carol": ["The office is in Porto"]}
    await face.undo(job_id=job)
    assert await seen() == {"alice": ["The office is in Porto"], "bob": [OFFICE], "carol": []}
    await face.sharing.unshare(memory_id, user_id="bob")
    assert await seen() == {"alice": ["The office is in Porto"], "bob": [], "carol": []}


@pytest.mark.req("P-16", "P-20")
def test_holders_who_change_a_memory_at_the_same_time_each_get_their_own(tmp_path: Path) -> None:
    users = [f"user-{number}" for number in range(8)]
    store = {"url": f"sqlite:///{tmp_path / 'memstone.db'}", "durable": False}
    with Memory({"store": store, "embedder": {"provider": "hash"}}) as memory:
        memory_id = memory.add(OFFICE, user_id=users[0], infer=False)["results"][0]["id"]
        for user in users[1:]:
            memory.sharing.share(memory_id, user_id=user)
        failed: list[Exception] = []

        def change(user: str) -> None:
            try:
                memory.sharing.replace(memory_id, f"The office of {user} is elsewhere", user_id=user)
            except Exception as error:  # noqa: BLE001 - whatever goes wrong in a thread is looked at below
                failed.append(error)

        threads = [threading.Thread(target=change, args=(user,)) for user in users]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        stored = {user: [one["memory"] for one in memory.get_all(user_id=user)["results"]] for user in users}
        assert stored == {user: [f"The office of {user} is elsewhere"] for user in users}
        stats = memory.stats()
        assert stats["memories"] == stats["vectors"] == stats["fulltext"] == len(users)
