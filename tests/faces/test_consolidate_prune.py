from __future__ import annotations

import pytest

from memstone.model.memory import Kind
from tests.faces import consolidate_steps as steps
from tests.faces.consolidate_steps import episode, keep
from tests.faces.harness import ON_DISK, Face, Opens

MONTH = (("episode", 30), ("turn", 60))


@pytest.mark.req("S-39", "R-18", "X-15")
async def test_episodes_and_turns_are_deleted_when_their_layer_is_no_longer_kept(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face, evict=False, retain_days=MONTH)
    ids = [
        await episode(face, "Talked about boats"),
        await keep(face, "hello", layer="turn"),
        await keep(face, "A fact"),
    ]
    opens.clock.advance(days=30)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 0
    opens.clock.advance(days=1)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1
    event = (await face.history(ids[0]))[-1]
    assert (event["event"], event["reason"]) == ("DELETE", "kept for 30 days")
    opens.clock.advance(days=30)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1
    assert [await steps.status_of(face, one) for one in ids] == ["deleted", "deleted", "active"]
    assert await steps.indexes_hold_what_is_live(face)


@pytest.mark.req("S-39")
async def test_without_days_a_layer_is_kept_for_ever(opens: Opens) -> None:
    face = opens({"upkeep": {"retain_days": {"episode": 0}}, "preset": "companion"})
    await episode(face, "Talked about boats")
    opens.clock.advance(days=4_000)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 0


@pytest.mark.req("X-15")
async def test_what_is_hidden_by_age_is_kept_and_what_is_kept_no_longer_is_deleted(opens: Opens) -> None:
    face = opens({"recall": {"visible_days": 10}, "upkeep": {"retain_days": {"fact": 20}}})
    text = await face.remember("I live in Oslo")
    opens.clock.advance(days=15)
    assert await face.found("Oslo") == []
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 0
    assert await face.get(text) is not None
    opens.clock.advance(days=15)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1
    assert await face.get(text) is None


@pytest.mark.req("S-39")
async def test_what_was_pruned_may_be_said_again(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face, retain_days=(("fact", 30),))
    await face.remember("I live in Oslo")
    opens.clock.advance(days=31)
    assert (await face.admin.consolidate(everybody=True))["pruned"] == 1
    assert (await face.store("I live in Oslo", user_id="alice"))["results"][0]["event"] == "ADD"


@pytest.mark.req("N-12")
async def test_kinds_that_are_kept_only_while_used_go_when_they_are_not(face: Face, opens: Opens) -> None:
    kinds = {kind: await keep(face, f"{kind} thing", kind=kind) for kind in (Kind.EPISODIC, Kind.FACTUAL)}
    used, often = await keep(face, "used", kind=Kind.EPISODIC), await keep(face, "used often", kind=Kind.EPISODIC)
    await steps.use(face, often, 3)
    opens.clock.advance(days=20)
    await steps.use(face, used)
    opens.clock.advance(days=11)
    assert (await face.admin.consolidate(everybody=True))["expired"] == 0, "nothing goes unless a kind is named"
    await steps.with_upkeep(face, evict=False, ttl=(("episodic", 30),))
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["expired"] == 1
    assert (await face.admin.consolidate(everybody=True))["expired"] == 1
    assert await steps.status_of(face, kinds[Kind.EPISODIC]) == "deleted"
    opens.clock.advance(days=20)
    assert (await face.admin.consolidate(everybody=True))["expired"] == 1
    assert await steps.status_of(face, used) == "deleted"
    opens.clock.advance(days=1_000)
    assert (await face.admin.consolidate(everybody=True))["expired"] == 0
    assert [await steps.status_of(face, one) for one in (often, kinds[Kind.FACTUAL])] == ["active", "active"]


@pytest.mark.req("N-12")
async def test_a_sweep_looks_at_so_many_at_a_time_and_goes_on_with_the_next(face: Face, opens: Opens) -> None:
    for number in range(7):
        await keep(face, f"thing {number}", kind=Kind.EPISODIC)
    opens.clock.advance(days=31)
    await steps.with_upkeep(face, evict=False, ttl=(("episodic", 30),), ttl_scan=3)
    assert [(await face.admin.consolidate(everybody=True))["expired"] for _ in range(4)] == [3, 3, 1, 0]


@pytest.mark.req("O-97")
async def test_what_has_expired_is_hidden_and_deleted_by_a_sweep_only(face: Face, opens: Opens) -> None:
    await steps.with_upkeep(face, deleted_keep_days=5)
    text = await face.remember("I am in Rome this week", expires_at="2026-01-08")
    opens.clock.advance(days=8)
    await face.admin.consolidate(everybody=True)
    assert await face.listed() == []
    assert await face.listed(show_expired=True) == ["I am in Rome this week"]
    opens.clock.advance(days=5)
    assert (await face.admin.consolidate(everybody=True))["expired"] == 1
    assert await face.listed(show_expired=True) == []
    assert await steps.status_of(face, text) == "deleted"


@pytest.mark.req("S-40")
async def test_old_logs_and_answers_are_forgotten_and_what_waits_is_not(opens: Opens) -> None:
    face = opens({"write": {"mode": "manual"}})
    await face.add("I live in Oslo", user_id="alice", run_id="one")
    await face.sessions.end(user_id="alice", run_id="one")
    await face.store_many([{"messages": "I like tea", "user_id": "alice"}], idempotency_key="once")
    await face.context("Where do I live?", user_id="alice")
    opens.clock.advance(days=20)
    await face.add("I moved to Bergen", user_id="alice", run_id="two")
    opens.clock.advance(days=11)
    would = (await face.admin.consolidate(dry_run=True, everybody=True))["purged"]
    purged = (await face.admin.consolidate(everybody=True))["purged"]
    assert purged == would
    assert purged["signals"] == purged["idempotency"] == purged["receipts"] == 1
    assert purged["jobs"] >= 1
    assert [job["task"] for job in (await face.admin.jobs(everybody=True))["results"]] == ["consolidate"]
    assert (await face.stats())["pending"] == 1
    assert not any((await face.admin.consolidate(everybody=True))["purged"].values())


@ON_DISK
@pytest.mark.req("X-30")
async def test_the_words_of_what_was_deleted_are_kept_for_a_while_and_then_gone(face: Face, opens: Opens) -> None:
    text = await face.remember("I live in Oslo", metadata={"note": "Oslo too"})
    await face.update(text, "I live in central Oslo")
    stored_text = await face.remember("I like Lisbon")
    opens.clock.advance(days=40)
    event = await face.delete(text)
    opens.clock.advance(days=29)
    assert (await face.admin.consolidate(everybody=True))["purged"]["deleted"] == 0
    assert "Oslo" in str(steps.content(opens))
    opens.clock.advance(days=2)
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["purged"]["deleted"] == 1
    assert (await face.admin.consolidate(everybody=True))["purged"]["deleted"] == 1
    assert "Oslo" not in str(steps.content(opens))
    assert steps.happened(await face.history(text)) == ["ADD", "UPDATE", "DELETE"]
    assert event["event"] == "DELETE"
    assert await face.get(stored_text) is not None
    assert [one["new_value"] for one in await face.history(stored_text)] == ["I like Lisbon"]
    assert (await face.admin.consolidate(everybody=True))["purged"]["deleted"] == 0


@ON_DISK
@pytest.mark.req("X-30")
async def test_words_that_are_not_kept_at_all_go_with_the_delete(opens: Opens) -> None:
    face = opens({"upkeep": {"deleted_keep_days": 0}})
    first = await face.remember("I live in Oslo")
    await face.remember("I lived in Oslo before", user_id="bob")
    many = [await face.remember(f"Oslo {number}") for number in range(3)]
    await face.delete(first)
    await face.delete_many(many)
    await face.delete_all(user_id="bob")
    assert "Oslo" not in str(steps.content(opens))
    assert steps.happened(await face.history(first)) == ["ADD", "DELETE"]


@pytest.mark.req("X-30")
async def test_what_was_deleted_and_brought_back_keeps_its_words(face: Face, opens: Opens) -> None:
    text = await face.remember("I live in Oslo")
    await face.delete(text)
    await face.review.restore(text)
    opens.clock.advance(days=100)
    assert (await face.admin.consolidate(everybody=True))["purged"]["deleted"] == 0
    assert (await steps.there(face, text)).text == "I live in Oslo"


@ON_DISK
@pytest.mark.req("R-18")
async def test_the_log_of_changes_is_thinned_and_whoever_follows_it_notices_nothing(face: Face, opens: Opens) -> None:
    """Another process that has not looked for a day asks for what changed since: the answer must be the same."""
    text = await face.remember("I live in Oslo")
    other = opens()
    await face.admin.consolidate(everybody=True)
    assert await other.found("live") == ["I live in Oslo"]
    asked = "SELECT DISTINCT memory_seq FROM changes WHERE id > ? ORDER BY memory_seq"
    thinned = 0
    for town in ("Bergen", "Porto", "Lisbon"):
        opens.clock.advance(days=1)
        await face.update(text, f"I live in {town}")
        newest = opens.rows("SELECT max(id) FROM changes")[0][0]
        before = [opens.rows(asked, [cursor]) for cursor in range(newest + 1)]
        thinned += (await face.admin.consolidate(everybody=True))["purged"]["changes"]
        assert [opens.rows(asked, [cursor]) for cursor in range(newest + 1)] == before
    assert thinned == 3, "the end of a version stands for its beginning"
    assert await other.found("live") == ["I live in Lisbon"]
    assert await face.found("live") == ["I live in Lisbon"]
