from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import InvalidInput, ScopeError
from tests.faces.harness import ON_DISK, Face, Opens

STANDING: dict[str, Any] = {"cache_seconds": 0, "gate": "always", "false_injection": 0}


@pytest.mark.req("N-47", "O-56")
@pytest.mark.parametrize(
    "paused",
    [{"user_id": "alice"}, {"agent_id": "bot"}, {"run_id": "r1"}, {"user_id": "alice", "run_id": "r1"}],
    ids=" ".join,
)
async def test_while_paused_nothing_is_stored_and_nothing_shown(opens: Opens, paused: dict[str, str]) -> None:
    face = opens({"context": STANDING})
    who = {"user_id": "alice", "agent_id": "bot", "run_id": "r1"}
    await face.remember("tea is on the shelf", **who)
    before = await face.stats()
    assert await face.settings.pause(**paused) == {"paused": {**paused, "until": None}}

    answer = await face.add("I live in Oslo", **who)
    assert (answer["results"], answer["status"]) == ([], "paused")
    assert "paused for this" in answer["reason"]
    assert answer["hint"]
    assert (await face.store("word for word", **who))["status"] == "paused"
    ingested = await face.ingest([{"role": "user", "content": "I said this"}], **who)
    assert (ingested["status"], ingested["stored"]) == ("paused", 0)
    batch = await face.store_many([{"messages": "in a batch", **who}])
    assert batch["results"][0]["status"] == "paused"
    pack = await face.context("tea", **who)
    assert (pack.text, pack.receipt_id) == ("", "")
    assert "paused" in pack.gate.reason

    after = await face.stats()
    assert {name: after[name] for name in ("memories", "turns", "events", "pending")} == {
        name: before[name] for name in ("memories", "turns", "events", "pending")
    }
    assert await face.found("tea", **who) == ["tea is on the shelf"]

    assert await face.settings.resume(**paused) == {"resumed": paused}
    assert (await face.add("I live in Oslo", **who))["results"]
    assert (await face.context("tea", **who)).text
    assert await face.settings.resume(**paused) == {"resumed": None}


@pytest.mark.req("N-47")
async def test_others_go_on(face: Face) -> None:
    await face.settings.pause(user_id="alice")
    assert (await face.add("I live in Oslo", user_id="bob"))["results"]
    assert (await face.add("I live in Oslo", user_id="bob", agent_id="alice"))["status"] == "ok"


@pytest.mark.req("N-47")
async def test_a_pause_may_have_an_end(opens: Opens) -> None:
    face = opens()
    paused = await face.settings.pause(user_id="alice", until="2026-01-01T01:00:00Z")
    assert paused["paused"]["until"] == "2026-01-01T01:00:00.000000Z"
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "paused"
    assert (await face.settings.pauses(user_id="alice"))["paused"] == [
        {"user_id": "alice", "until": "2026-01-01T01:00:00.000000Z"}
    ]
    opens.clock.advance(hours=1)
    assert (await face.settings.pauses(user_id="alice"))["paused"] == []
    assert (await face.settings.pauses(everybody=True))["paused"] == []
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "ok"


@pytest.mark.req("N-47")
async def test_who_is_paused_can_be_asked(face: Face) -> None:
    await face.settings.pause(user_id="alice")
    await face.settings.pause(run_id="r1", user_id="bob")
    await face.settings.pause(agent_id="bot")
    together = {"user_id": "bob", "run_id": "r1", "until": None}
    alone = [{"agent_id": "bot", "until": None}, {"user_id": "alice", "until": None}]
    assert sorted((await face.settings.pauses(everybody=True))["paused"], key=str) == sorted(
        [*alone, together], key=str
    )
    assert (await face.settings.pauses(user_id="alice", agent_id="other"))["paused"] == [
        {"user_id": "alice", "until": None}
    ]
    assert (await face.settings.pauses(user_id="bob"))["paused"] == []
    assert (await face.settings.pauses(user_id="bob", run_id="r1", agent_id="x"))["paused"] == [together]


@pytest.mark.req("N-47", "R-34")
async def test_a_session_of_one_user_is_paused_and_no_other(face: Face) -> None:
    await face.settings.pause(user_id="alice", run_id="r1")
    text = "I live in Oslo"
    assert (await face.add(text, user_id="alice", run_id="r1", agent_id="bot"))["status"] == "paused"
    assert (await face.add(text, user_id="alice", run_id="r2"))["status"] == "ok"
    assert (await face.add(text, user_id="alice"))["status"] == "ok"
    assert (await face.add(text, user_id="bob", run_id="r1"))["status"] == "ok"
    assert (await face.add(text, user_id='alice","run":"r1'))["status"] == "ok"


@pytest.mark.req("N-47")
async def test_turns_of_a_paused_session_are_left_out_of_a_transcript(face: Face) -> None:
    await face.settings.pause(run_id="secret")
    turns = [
        {"role": "user", "content": "I live in Oslo", "run_id": "open"},
        {"role": "user", "content": "and this stays between us", "run_id": "secret"},
    ]
    answer = await face.ingest(turns, user_id="alice")
    assert answer["stored"] == 1
    assert answer["warnings"] == ["turns of secret were not stored: memory is paused for this session"]


@pytest.mark.req("N-47")
async def test_removing_settings_does_not_end_a_pause(face: Face) -> None:
    await face.settings.pause(user_id="alice")
    await face.settings.set({"context.budget": 5}, user_id="alice")
    assert await face.settings.unset(user_id="alice") == {"scope": "user", "unset": 1}
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "paused"


@pytest.mark.req("N-47")
async def test_what_waits_is_not_learned_during_a_pause(opens: Opens) -> None:
    face = opens({"write": {"mode": "manual"}})
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "queued"
    await face.settings.pause(user_id="alice")
    assert await face.sessions.flush(user_id="alice") == {"stored": 0, "waiting": 1}
    assert await face.listed() == []
    await face.settings.resume(user_id="alice")
    opens.clock.advance(minutes=1)
    assert (await face.sessions.flush(user_id="alice"))["waiting"] == 0
    assert await face.listed() == ["User lives in Oslo."]


@ON_DISK
@pytest.mark.req("N-47")
async def test_who_is_erased_has_neither_pauses_nor_settings(opens: Opens) -> None:
    face = opens()
    await face.remember("tea", user_id="alice")
    await face.settings.set({"context.budget": 5}, user_id="alice")
    await face.settings.pause(user_id="alice", run_id="r1")
    await face.settings.pause(user_id="alice")
    await face.settings.pause(user_id="bob", run_id="r1")
    assert (await face.add("I live in Oslo", user_id="alice"))["status"] == "paused"
    await face.admin.erase(user_id="alice")
    left = opens.rows("SELECT scope_key FROM settings WHERE key <> ''")
    assert left == [('scope:{"user":"bob","run":"r1"}',)]
    assert (await face.add("I live in Oslo", user_id="alice", run_id="r1"))["status"] == "ok"
    assert (await face.add("I live in Oslo", user_id="bob", run_id="r1"))["status"] == "paused"


@ON_DISK
@pytest.mark.req("N-47")
async def test_other_processes_notice_a_pause(opens: Opens) -> None:
    one, other = opens(), opens()
    assert (await other.add("I live in Oslo", user_id="alice"))["status"] == "ok"
    await one.settings.pause(user_id="alice")
    opens.clock.advance(seconds=1)
    assert (await other.add("I live in Bergen", user_id="alice"))["status"] == "paused"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, ScopeError),
        ({"user_id": " "}, ScopeError),
        ({"user_id": "alice", "until": "2020-01-01"}, InvalidInput),
        ({"user_id": "alice", "until": "tomorrow"}, InvalidInput),
    ],
)
async def test_a_pause_needs_somebody_and_a_moment_to_come(
    opens: Opens, given: dict[str, Any], error: type[Exception]
) -> None:
    face = opens()
    with pytest.raises(error):
        await face.settings.pause(**given)
    assert (await face.settings.pauses(everybody=True))["paused"] == []
