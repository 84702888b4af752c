"""Answers of models that began under one number and ended under another."""

from __future__ import annotations

import pytest

from memstone.engine import continuations
from memstone.engine.continuations import end_of, note_end
from memstone.engine.runtime import Runtime
from memstone.errors import Forbidden, ScopeError
from tests.faces.consolidate_steps import parts_of
from tests.faces.harness import ON_DISK, Face, Opens, passed


async def test_an_answer_is_led_to_its_end_and_to_its_last_end(face: Face) -> None:
    runtime = await parts_of(face)
    assert await end_of(runtime, "r1", "alice") == "r1"
    for ended in ("r2", "r3"):
        await note_end(runtime, "r1", ended, "alice")
        assert await end_of(runtime, "r1", "alice") == ended
    await note_end(runtime, "n1", "n2", None)
    assert await end_of(runtime, "n1", None) == "n2"


async def test_nobody_is_led_to_the_end_of_somebody_elses_answer(face: Face) -> None:
    runtime = await parts_of(face)
    await note_end(runtime, "r1", "r2", "alice")
    await note_end(runtime, "r1", "theirs", "bob")
    assert [await end_of(runtime, "r1", who) for who in ("alice", "bob", "carol", None)] == ["r2", "theirs", "r1", "r1"]
    assert await end_of((await _bound(face, "other")), "r1", "alice") == "r1"


async def test_a_key_of_one_user_notes_and_reads_their_answers_only(face: Face) -> None:
    runtime, alice = await parts_of(face), await _bound(face, "default", user_id="alice")
    await note_end(alice, "r1", "r2", None)
    assert await end_of(alice, "r1", "alice") == await end_of(runtime, "r1", "alice") == "r2"
    await note_end(runtime, "b1", "b2", "bob")
    assert await end_of(alice, "b1", None) == "b1"
    for asked in (end_of(alice, "b1", "bob"), note_end(alice, "b1", "mine", "bob")):
        with pytest.raises((Forbidden, ScopeError)):
            await asked
    assert await end_of(runtime, "b1", "bob") == "b2"


async def _bound(face: Face, tenant: str, **bounds: str) -> Runtime:
    return await parts_of(Face(face.memory.acting_for(tenant, **bounds)))


async def test_whoever_is_erased_takes_theirs_along_and_others_keep_theirs(face: Face) -> None:
    runtime = await parts_of(face)
    await face.remember("I live in Oslo")
    for user in ("alice", "bob"):
        await note_end(runtime, f"{user}-1", f"{user}-2", user)
    report = await face.admin.erase(user_id="alice")
    assert passed(report), report["checks"]
    assert report["erased"]["continuations"] == 1
    assert await end_of(runtime, "alice-1", "alice") == "alice-1"
    assert await end_of(runtime, "bob-1", "bob") == "bob-2"
    await face.reset()
    assert await end_of(runtime, "bob-1", "bob") == "bob-1"


async def test_they_go_where_the_user_goes(face: Face) -> None:
    runtime = await parts_of(face)
    await face.remember("I live in Oslo")
    for began, ended, user in (("r1", "r2", "alice"), ("x", "old", "alice"), ("x", "new", "anna")):
        await note_end(runtime, began, ended, user)
    await face.sharing.reassign({"user_id": "alice"}, {"user_id": "anna"})
    assert [await end_of(runtime, began, "anna") for began in ("r1", "x")] == ["r2", "new"]
    assert await end_of(runtime, "r1", "alice") == "r1"


async def test_the_oldest_make_room_and_go_after_a_while(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuations, "_MAX_STORED", 3)
    runtime = await parts_of(face)
    for number in range(5):
        await note_end(runtime, f"r{number}", "end", "alice")
        opens.clock.advance(seconds=1)
    assert [await end_of(runtime, f"r{number}", "alice") for number in range(5)] == ["r0", "r1", "end", "end", "end"]
    opens.clock.advance(days=29)
    await note_end(runtime, "later", "end", "bob")
    opens.clock.advance(days=2)
    assert (await face.admin.consolidate(dry_run=True, everybody=True))["purged"]["continuations"] == 2
    assert (await face.admin.consolidate(everybody=True))["purged"]["continuations"] == 2
    assert [await end_of(runtime, one, who) for one, who in (("r4", "alice"), ("later", "bob"))] == ["r4", "end"]
    opens.clock.advance(days=29)
    await note_end(runtime, "last", "end", "carol")
    assert await end_of(runtime, "later", "bob") == "later"


@pytest.mark.parametrize("told", ["x" * 5_000, "a\0b", "half \ud800"])
async def test_what_no_service_calls_an_answer_is_passed_on_as_it_is(face: Face, told: str) -> None:
    runtime = await parts_of(face)
    await note_end(runtime, told, "end", "alice")
    await note_end(runtime, "r1", told, "alice")
    assert await end_of(runtime, told, "alice") == told
    assert await end_of(runtime, "r1", "alice") == "r1"


@ON_DISK
async def test_a_backup_holds_them_and_none_of_whoever_was_erased(opens: Opens) -> None:
    face = opens()
    runtime = await parts_of(face)
    await face.remember("I live in Oslo")
    await face.remember("I live in Rome", user_id="bob")
    for user in ("alice", "bob"):
        await note_end(runtime, f"{user}-1", f"{user}-2", user)
    assert opens.path is not None
    copy = opens.path.with_name("copy.memstone")
    await face.admin.backups.create(str(copy))
    await face.admin.erase(user_id="alice")
    await face.reset()
    await face.admin.backups.restore(str(copy))
    runtime = await parts_of(face)
    assert await end_of(runtime, "bob-1", "bob") == "bob-2"
    assert await end_of(runtime, "alice-1", "alice") == "alice-1"
