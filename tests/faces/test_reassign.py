"""A user is renamed, or two become one; and all of it can be taken back."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import ScopeError
from memstone.errors import InvalidInput
from tests.faces.harness import Face, Opens, texts
from tests.faces.infer_steps import told

ALICE, ANNA, BOB = ({"user_id": name} for name in ("alice", "anna", "bob"))


async def sight(face: Face, *users: str) -> dict[str, Any]:
    """All that users see, in every way."""
    seen: dict[str, Any] = {}
    for user in users:
        turns = texts(await face.get_all(user_id=user, layers=["turn"]))
        words, vectors = [
            sorted(await face.found("Oslo Bergen tea dog", user_id=user, strategy=one)) for one in ("text", "vector")
        ]
        past = sorted(await face.listed(user_id=user, as_of="2026-01-01T00:01:30Z"))
        names = sorted(one["name"] for one in (await face.graph.entities(user_id=user))["results"])
        listed = [(one["id"], one["memory"]) for one in (await face.get_all(user_id=user))["results"]]
        seen[user] = (sorted(listed), sorted(turns), words, vectors, past, names)
    return seen


async def lived(face: Face, opens: Opens) -> None:
    """Alice has told something, changed something, deleted something; bob knows some of the same."""
    await told(face, "I live in Oslo with my dog Rex", opens)
    await told(face, "I moved to Bergen", opens)
    await face.remember("tea", run_id="r1", user_id="alice")
    deleted = await face.remember("a secret hobby")
    await face.delete(deleted)


@pytest.mark.req("N-44")
async def test_a_renamed_user_has_everything_and_the_old_name_nothing(face: Face, opens: Opens) -> None:
    await lived(face, opens)
    before = await sight(face, "alice", "anna")
    answer = await face.sharing.reassign(ALICE, ANNA)
    assert (answer["merged"], answer["signals"]) == (0, 0)
    after = await sight(face, "alice", "anna")
    assert after == {"alice": before["anna"], "anna": before["alice"]}
    assert await face.listed(user_id="anna", run_id="r1") == ["tea"]
    stats = await face.stats()
    assert stats["vectors"] == stats["fulltext"] == stats["memories"]


@pytest.mark.req("N-44")
async def test_a_renaming_is_taken_back_exactly(face: Face, opens: Opens) -> None:
    await lived(face, opens)
    before = await sight(face, "alice", "anna")
    answer = await face.sharing.reassign(ALICE, ANNA)
    undone = await face.undo(job_id=answer["job_id"])
    assert undone["undone"] == answer["moved"]
    assert await sight(face, "alice", "anna") == before


@pytest.mark.req("N-44")
async def test_where_both_know_the_same_the_older_memory_stays(face: Face, opens: Opens) -> None:
    first = await face.remember("tea", user_id="alice")
    opens.clock.advance(minutes=1)
    await face.remember("tea", user_id="bob")
    second = await face.remember("dog", user_id="bob")
    opens.clock.advance(minutes=1)
    await face.remember("dog", user_id="alice")
    await face.remember("Oslo", user_id="alice")
    before = await sight(face, "alice", "bob")

    answer = await face.sharing.reassign(ALICE, BOB)
    assert (answer["moved"], answer["merged"]) == (3, 2)
    stored = {one["memory"]: one["id"] for one in (await face.get_all(user_id="bob"))["results"]}
    assert (stored["tea"], stored["dog"], sorted(stored)) == (first, second, ["Oslo", "dog", "tea"])
    assert await face.listed(user_id="alice") == []
    merges = [
        event for event in (await face.review.replacements(user_id="bob"))["results"] if event["event"] == "MERGE"
    ]
    assert merges == []
    assert "MERGE" in [line["event"] for line in await face.export(everybody=True) if line["type"] == "event"]

    await face.undo(job_id=answer["job_id"])
    after = await sight(face, "alice", "bob")
    assert {user: seen[0] for user, seen in after.items()} == {user: seen[0] for user, seen in before.items()}
    assert {user: seen[2:4] for user, seen in after.items()} == {user: seen[2:4] for user, seen in before.items()}


@pytest.mark.req("N-44")
@pytest.mark.parametrize("first", ["alice", "bob"])
async def test_of_two_texts_under_one_key_what_was_said_later_stays(face: Face, opens: Opens, first: str) -> None:
    second = "bob" if first == "alice" else "alice"
    await face.remember("light", user_id=first, key="theme")
    opens.clock.advance(minutes=1)
    await face.remember("dark", user_id=second, key="theme")
    answer = await face.sharing.reassign(ALICE, BOB)
    assert await face.listed(user_id="bob") == ["dark"]
    await face.undo(job_id=answer["job_id"])
    assert (await face.listed(user_id=first), await face.listed(user_id=second)) == (["light"], ["dark"])


@pytest.mark.req("N-44")
async def test_conversations_become_one_and_sending_them_again_repeats_nothing(face: Face, opens: Opens) -> None:
    messages = {"occurred_at": "2026-01-01T10:00:00Z"}
    for user in ("alice", "bob"):
        await face.add("I live in Oslo", user_id=user, **messages)
        await face.add(f"I like {'tea' if user == 'alice' else 'wine'}", user_id=user)
    await face.sharing.reassign(ALICE, BOB)
    assert sorted(await face.listed(user_id="bob")) == ["User likes tea.", "User likes wine.", "User lives in Oslo."]
    turns = sorted(texts(await face.get_all(user_id="bob", layers=["turn"])))
    assert turns == ["I like tea", "I like wine", "I live in Oslo"]
    await face.add(_then("I live in Oslo"), user_id="bob", **messages)
    await face.add(_then("I like tea"), user_id="bob")
    assert sorted(texts(await face.get_all(user_id="bob", layers=["turn"]))) == ["Hello!", "Hello!", *turns]


def _then(words: str) -> list[dict[str, str]]:
    """A conversation in which something was said before; only its last words are new."""
    return [{"role": "user", "content": words}, {"role": "user", "content": "Hello!"}]


@pytest.mark.req("N-44")
async def test_a_memory_both_hold_is_held_once(face: Face) -> None:
    memory_id = await face.remember("tea", user_id="alice")
    await face.sharing.share(memory_id, user_id="bob")
    await face.sharing.share(memory_id, user_id="carol")
    answer = await face.sharing.reassign(ALICE, BOB)
    assert await face.listed(user_id="bob") == await face.listed(user_id="carol") == ["tea"]
    assert await face.listed(user_id="alice") == []
    await face.undo(job_id=answer["job_id"])
    for user in ("alice", "bob", "carol"):
        assert await face.listed(user_id=user) == ["tea"]


@pytest.mark.req("N-44")
async def test_what_was_deleted_stays_deleted_under_the_new_name(face: Face, opens: Opens) -> None:
    await told(face, "I like tea", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await told(face, "I have a dog", opens)
    dog = next(one for one in (await face.get_all(user_id="alice"))["results"] if one["id"] != fact["id"])
    await face.delete(fact["id"])
    await face.sharing.share(dog["id"], user_id="bob")
    await face.sharing.unshare(dog["id"], user_id="alice")
    await face.sharing.reassign(ALICE, ANNA)
    for words in ("I like tea", "I have a dog"):
        assert await told(face, _then(words), opens, **ANNA) == []
    assert await face.listed(user_id="anna") == []


@pytest.mark.req("N-44")
async def test_what_waits_and_what_was_counted_goes_along(opens: Opens) -> None:
    face = opens()
    await face.remember("The office is in Lisbon")
    await face.remember("The office is in Lisbon")
    pack = await face.context("Where is the office?", user_id="alice", gate="always")
    await face.review.record_answer(pack.receipt_id, "In Lisbon.")
    await face.ingest([{"role": "user", "content": "I live in Oslo"}], user_id="alice", learn=True)
    answer = await face.sharing.reassign(ALICE, ANNA)
    assert (answer["signals"], answer["receipts"]) == (1, 1)
    await face.sessions.flush(everybody=True)
    assert "User lives in Oslo." in await face.listed(user_id="anna")
    assert await face.listed(user_id="alice") == []
    assert (await face.admin.metrics(user_id="anna"))["counts"]["redundant"] == 1
    assert (await face.admin.metrics(user_id="anna"))["retrieval_hit_rate"] == 1.0
    assert (await face.admin.metrics(user_id="alice"))["retrieval_hit_rate"] is None


@pytest.mark.req("N-44")
async def test_more_than_a_page_is_moved_and_progress_is_told(face: Face) -> None:
    await face.store_many([{"messages": f"note {number}", "user_id": "alice"} for number in range(450)])
    steps: list[tuple[int, int]] = []
    answer = await face.sharing.reassign(
        ALICE, {"user_id": "anna", "agent_id": "guide"}, lambda *step: steps.append(step)
    )
    assert answer["moved"] == 450
    assert steps[-1] == (450, 450)
    assert len(steps) == 3
    assert len(await face.listed(user_id="anna", agent_id="guide", limit=1_000)) == 450
    assert (await face.get_all(user_id="alice"))["results"] == []
    assert (await face.sharing.reassign(ALICE, ANNA))["moved"] == 0


@pytest.mark.req("N-44")
async def test_one_agent_of_a_user_can_be_handed_over(face: Face) -> None:
    await face.remember("tea", user_id="alice", agent_id="cook")
    await face.remember("dog", user_id="alice", agent_id="vet")
    await face.sharing.reassign({"user_id": "alice", "agent_id": "cook"}, {"agent_id": "chef"})
    assert await face.listed(user_id="alice", agent_id="chef") == ["tea"]
    assert await face.listed(user_id="alice", agent_id="cook") == []
    assert sorted(await face.listed(user_id="alice")) == ["dog", "tea"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ({}, {"user_id": "bob"}, ScopeError),
        ({"user_id": "alice"}, {}, ScopeError),
        ({"user_id": "alice"}, {"user_id": "alice"}, InvalidInput),
        ({"user_id": "alice", "run_id": "r"}, {"user_id": "alice"}, InvalidInput),
        ({"name": "alice"}, {"user_id": "bob"}, InvalidInput),
        ("alice", {"user_id": "bob"}, InvalidInput),
        ({"user_id": "a b"}, {"user_id": "bob"}, ScopeError),
    ],
)
async def test_a_move_that_makes_no_sense_is_refused(face: Face, old: Any, new: Any, error: type[Exception]) -> None:
    await face.remember("tea")
    with pytest.raises(error):
        await face.sharing.reassign(old, new)
    assert await face.listed() == ["tea"]
