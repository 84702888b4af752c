from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import QuotaExceeded
from tests.faces.harness import ON_DISK, Opens
from tests.patience import LONG


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is not counted again for a while; on a busy machine everything may."""
    monkeypatch.setattr("memstone.engine.access.quotas._QUICK", LONG)


@pytest.mark.req("N-50")
async def test_a_user_has_so_many_memories_and_no_more(opens: Opens) -> None:
    face = opens({"quota": {"user_memories": 2}})
    await face.remember("one")
    await face.remember("two")
    with pytest.raises(QuotaExceeded) as caught:
        await face.remember("three")
    assert str(caught.value.message) == "alice has 2 of 2 memories: nothing more can be stored"
    assert (caught.value.code, caught.value.quota, caught.value.limit) == ("quota_exceeded", "quota.user_memories", 2)
    assert "raise quota.user_memories" in caught.value.hint
    with pytest.raises(QuotaExceeded):
        await face.add("I live in Oslo", user_id="alice")
    assert await face.listed() == ["two", "one"]
    assert (await face.stats())["memories"] == 2
    await face.remember("three", user_id="bob")


@pytest.mark.req("N-50")
async def test_what_is_deleted_makes_room_and_versions_take_none(opens: Opens) -> None:
    face = opens({"quota": {"user_memories": 2}})
    first = await face.remember("one")
    await face.remember("two")
    await face.update(first, "one, again")
    await face.delete(first)
    await face.remember("three")
    with pytest.raises(QuotaExceeded):
        await face.remember("four")


@pytest.mark.req("N-50")
@pytest.mark.parametrize(
    ("quota", "call"),
    [
        ("user_turns", {"messages": ["a b c", "d e f", "g h i"]}),
        ("user_chars", {"messages": "x" * 40, "infer": False}),
        ("user_memories", {"messages": ["a", "b", "c"], "infer": False}),
        ("tenant_turns", {"messages": ["a b c", "d e f", "g h i"]}),
        ("tenant_chars", {"messages": [{"role": "user", "content": [{"type": "text", "text": "x" * 40}]}]}),
        ("tenant_memories", {"messages": ["a", "b", "c"], "infer": False}),
    ],
)
async def test_what_would_be_too_much_is_refused_as_a_whole(opens: Opens, quota: str, call: dict[str, Any]) -> None:
    face = opens({"quota": {quota: 2 if "chars" not in quota else 30}})
    with pytest.raises(QuotaExceeded, match=r"nothing more can be stored") as caught:
        await face.add(**call, user_id="alice")
    assert caught.value.quota == f"quota.{quota}"
    stats = await face.stats()
    assert (stats["memories"], stats["turns"], stats["events"]) == (0, 0, 0)


@pytest.mark.req("N-50")
async def test_a_tenant_s_quota_is_shared_by_its_users(opens: Opens) -> None:
    face = opens({"quota": {"tenant_memories": 3}})
    for user in ("alice", "bob", "carol"):
        await face.remember("tea", user_id=user)
    with pytest.raises(QuotaExceeded, match="this tenant has 3 of 3 memories"):
        await face.remember("tea", user_id="dora")


@pytest.mark.req("N-50")
async def test_a_transcript_that_does_not_fit_is_refused(opens: Opens) -> None:
    face = opens({"quota": {"user_turns": 5}})
    await face.ingest([f"turn {n}" for n in range(5)], user_id="alice")
    with pytest.raises(QuotaExceeded):
        await face.ingest(["one more"], user_id="alice")
    assert (await face.stats())["turns"] == 5


@pytest.mark.req("N-50")
async def test_in_a_batch_only_the_item_without_room_fails(opens: Opens) -> None:
    face = opens({"quota": {"user_memories": 1}})
    texts = [("one", "alice"), ("two", "alice"), ("three", "bob")]
    answer = await face.store_many([{"messages": text, "user_id": user} for text, user in texts])
    assert [one["status"] for one in answer["results"]] == ["ok", "error", "ok"]
    assert answer["results"][1]["error"]["code"] == "quota_exceeded"


@pytest.mark.req("N-50")
async def test_a_quota_is_a_setting_of_one_user_too(opens: Opens) -> None:
    face = opens()
    await face.settings.set({"quota.user_memories": 1}, user_id="alice")
    await face.remember("one")
    with pytest.raises(QuotaExceeded):
        await face.remember("two")
    await face.remember("one", user_id="bob")
    await face.remember("two", user_id="bob")
    await face.settings.set({"quota.user_memories": None}, user_id="alice")
    await face.remember("two")


@ON_DISK
@pytest.mark.req("N-50")
async def test_what_other_processes_store_counts(opens: Opens) -> None:
    quota = {"quota": {"user_memories": 4}}
    one, other = opens(quota), opens(quota)
    for n in range(2):
        await one.remember(f"{n} from one")
        await other.remember(f"{n} from other")
    with pytest.raises(QuotaExceeded):
        await one.remember("too much")
    with pytest.raises(QuotaExceeded):
        await other.remember("too much")


@pytest.mark.req("N-50")
@pytest.mark.parametrize("quota", ["user_turns", "user_chars", "tenant_turns"])
async def test_a_whole_session_has_no_more_room_than_its_turns_one_by_one(opens: Opens, quota: str) -> None:
    face = opens({"quota": {quota: 2 if "turns" in quota else 25}})
    turns = [{"role": role, "content": "ten chars."} for role in ("user", "assistant")]
    assert (await face.sessions.ingest(turns, user_id="alice", run_id="s"))["turns_ingested"]
    again = await face.sessions.ingest(turns, user_id="alice", run_id="s")  # what is known takes no more room
    assert again["status"] == "ok"
    more = [*turns, {"role": "user", "content": "and more"}]
    with pytest.raises(QuotaExceeded) as caught:
        await face.sessions.ingest(more, user_id="alice", run_id="s")
    assert caught.value.quota == f"quota.{quota}"
