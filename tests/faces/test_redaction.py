"""Secrets: masked before anything is stored, whichever call brings them, and found in what was stored before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from memstone.errors import ConfigError, InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens, texts
from tests.faces.infer_steps import kept, said_in

KEY: Final = "sk-proj-abcdefghij0123456789"
CARD: Final = "4111 1111 1111 1111"
MASKED_KEY: Final = "[redacted:api_key]"
OFF: Final[dict[str, Any]] = {"extract": {"redact": "off"}}


async def everything(face: Face) -> str:
    return json.dumps(await face.export(everybody=True))


@pytest.mark.req("R-38")
async def test_what_is_stored_as_it_is_is_masked_first(face: Face) -> None:
    answer = await face.store([f"The key is {KEY}", "No secret here"], user_id="alice")

    assert answer["results"][0]["memory"] == f"The key is {MASKED_KEY}"
    assert answer["warnings"] == ["messages[0] was masked before it was stored: api_key"]
    assert sorted(await face.listed()) == ["No secret here", f"The key is {MASKED_KEY}"]
    assert KEY not in await everything(face)
    assert (await face.store(f"The key is {KEY}", user_id="alice"))["results"][0]["event"] == "NONE"


@pytest.mark.req("R-38")
async def test_batches_and_metadata_are_masked_too(face: Face) -> None:
    answer = await face.store_many(
        [{"messages": f"Pay with {CARD}", "user_id": "alice", "metadata": {"notes": ["plain", f"card {CARD}"], "n": 1}}]
    )

    (item,) = answer["results"]
    assert item["warnings"] == [
        "metadata was masked before it was stored: card",
        "messages[0] was masked before it was stored: card",
    ]
    (visible,) = (await face.get_all(user_id="alice"))["results"]
    assert visible["metadata"] == {"notes": ["plain", "card [redacted:card]"], "n": 1}
    assert "4111 1111" not in await everything(face)


@pytest.mark.req("R-38")
async def test_an_update_is_masked_and_says_so(face: Face) -> None:
    memory_id = await face.remember("The key is somewhere")

    changed = await face.update(memory_id, f"The key is {KEY}", metadata={"also": KEY})

    assert changed["memory"] == f"The key is {MASKED_KEY}"
    assert changed["metadata"] == {"also": MASKED_KEY}
    assert len(changed["warnings"]) == 2
    many = await face.update_many([{"memory_id": memory_id, "text": f"Now it is {KEY}"}])
    assert many["results"][0]["memory"] == f"Now it is {MASKED_KEY}"
    assert KEY not in await everything(face)


@pytest.mark.req("R-38", "S-8")
async def test_transcripts_are_masked_and_counted(face: Face) -> None:
    answer = await face.ingest([f"My key is {KEY}", "Fine.", f"Card {CARD}"], user_id="alice", learn=True)

    assert (answer["stored"], answer["masked"]) == (3, 2)
    assert answer["warnings"] == [
        "turns[0] was masked before it was stored: api_key",
        "turns[2] was masked before it was stored: card",
    ]
    assert await said_in(face) == ["Card [redacted:card]", "Fine.", f"My key is {MASKED_KEY}"]
    again = await face.ingest([f"My key is {KEY}", "Fine.", f"Card {CARD}"], user_id="alice")
    assert (again["stored"], again["known"]) == (0, 3)


async def test_warnings_about_a_long_transcript_stay_short(face: Face) -> None:
    answer = await face.ingest([f"Number {at}: {KEY}" for at in range(30)], user_id="alice")

    assert answer["masked"] == 30
    assert len(answer["warnings"]) == 21
    assert answer["warnings"][-1] == "and 10 more"


@pytest.mark.req("R-38")
async def test_a_kind_may_be_refused(opens: Opens) -> None:
    face = opens({"extract": {"redact": {"card": "drop"}}})

    answer = await face.store([f"Pay with {CARD}", "Fine."], user_id="alice")
    assert texts(answer) == ["Fine."]
    assert answer["warnings"] == ["messages[0] was not stored: card"]
    ingested = await face.ingest([f"Pay with {CARD}", "Fine."], user_id="alice")
    assert (ingested["stored"], ingested["dropped"], ingested["masked"]) == (1, 1, 0)
    memory_id = await face.remember("Pay later")
    with pytest.raises(InvalidInput, match="text was not stored: card"):
        await face.update(memory_id, f"Pay with {CARD}")
    assert "4111 1111" not in await everything(face)


@pytest.mark.req("R-38")
async def test_redaction_can_be_switched_off(opens: Opens) -> None:
    face = opens(OFF)
    answer = await face.store(f"The key is {KEY}", user_id="alice", metadata={"also": CARD})
    assert answer["results"][0]["memory"] == f"The key is {KEY}"
    assert "warnings" not in answer
    await face.ingest([f"My key is {KEY}"], user_id="alice")
    await face.update(answer["results"][0]["id"], f"Now it is {KEY}")
    assert (await everything(face)).count(KEY) >= 3
    assert (await face.admin.redact())["found"] == 0
    with pytest.raises(ConfigError):
        opens({"extract": {"redact": "sometimes"}})


async def _story(opens: Opens) -> tuple[Face, str]:
    """What somebody stored with redaction off: a fact with its turn, one that was revised, one that was deleted."""
    face = opens(OFF)
    await face.add(f"Hello! My password is {KEY}, and I live in Oslo.", user_id="alice")
    memory_id = await face.remember(f"The card is {CARD}", metadata={"pin": "pin: 987654321012"})
    await face.update(memory_id, "The card is lost")
    await face.delete(await face.remember(f"Old card {CARD}"))
    await face.add_many([{"messages": f"batch {KEY}", "user_id": "bob", "infer": False}], idempotency_key="k1")
    await face.ingest([f"waits {KEY}", f"waits {KEY}"], user_id="carol", learn=True)
    return face, memory_id


@pytest.mark.req("R-38")
async def test_a_dry_run_counts_and_changes_nothing(opens: Opens) -> None:
    face, _ = await _story(opens)
    before = await everything(face)
    strict = opens() if opens.path else face
    report = await strict.admin.redact()

    if opens.path is None:  # a store in memory has the one policy it was opened with
        assert report["found"] == 0
        return
    assert report["dry_run"] is True
    assert set(report["by_kind"]) == {"api_key", "card", "password"}
    assert {"memories", "events", "signals", "idempotency"} <= set(report["by_table"])
    assert sum(report["by_table"].values()) == report["found"] < report["scanned"]
    assert KEY not in str(report)
    assert await everything(face) == before


@ON_DISK
@pytest.mark.req("R-38")
async def test_what_was_stored_before_is_masked_in_every_table_and_mirror(opens: Opens) -> None:
    _, memory_id = await _story(opens)
    expected = await opens().admin.redact()
    strict = opens()
    seen: list[tuple[int, int]] = []

    report = await strict.admin.redact(lambda done, total: seen.append((done, total)), dry_run=False)

    assert {**report, "dry_run": True} == expected
    assert seen[-1][0] == report["scanned"]
    after = await strict.admin.redact()
    assert after["found"] == 0
    for table in ("memories", "events", "signals", "receipts", "idempotency", "llm_cache", "entities", "fulltext"):
        for row in opens.rows(f"SELECT * FROM {table}"):  # noqa: S608 - the names above
            assert KEY not in str(row), table
            assert "4111 1111" not in str(row), table
            assert "987654321012" not in str(row), table
    assert await strict.found(KEY, strategy="text", layers=["fact", "turn"]) == []
    assert (await strict.stats())["vectors"] == (await strict.stats())["memories"]
    history = await strict.history(memory_id)
    assert [event["event"] for event in history] == ["ADD", "UPDATE", "REDACT"]
    assert history[0]["new_value"] == "The card is [redacted:card]"
    assert history[-1]["reason"].startswith("masked where it was stored: ")


@ON_DISK
async def test_nothing_of_a_masked_secret_is_left_in_the_file(opens: Opens) -> None:
    await _story(opens)
    await opens().admin.redact(dry_run=False)
    for one in opens._open:
        await one.close()
    assert opens.path is not None
    folder = Path(opens.path).parent
    left = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"Oslo" in left
    for secret in (KEY.encode(), b"abcdefghij0123456789", b"4111 1111", b"987654321012"):
        assert secret not in left


@ON_DISK
@pytest.mark.req("R-32")
async def test_quotes_still_stand_in_their_masked_turns(opens: Opens) -> None:
    face = opens(OFF)
    await face.add(f"The token is {KEY}. I live in Oslo, token: {KEY}. I have two cats.", user_id="alice")

    await opens().admin.redact(dry_run=False)

    strict = opens()
    lines = await kept(strict)
    words = {line["id"]: line["text"] for line in lines if line["layer"] == "turn"}
    quoted = [line["data"]["evidence"] for line in lines if line["layer"] == "fact"]
    assert len(quoted) >= 2
    for one in quoted:
        assert words[one["turn"]][one["start"] : one["end"]] == one["quote"]
        assert KEY not in one["quote"]
    assert any("cats" in one["quote"] for one in quoted)


@ON_DISK
async def test_masked_words_are_recognised_when_they_are_said_again(opens: Opens) -> None:
    face = opens(OFF)
    await face.remember(f"The key is {KEY}")
    await face.ingest([f"My key is {KEY}", f"My key is {KEY}"], user_id="alice")
    deleted = await face.remember(f"The old key is {KEY}")
    await face.delete(deleted)
    strict = opens()
    await strict.admin.redact(dry_run=False)

    assert (await strict.store(f"The key is {KEY}", user_id="alice"))["results"][0]["event"] == "NONE"
    again = await strict.ingest([f"My key is {KEY}", f"My key is {KEY}"], user_id="alice")
    assert (again["stored"], again["known"]) == (0, 2)


@ON_DISK
async def test_two_memories_that_differ_in_a_secret_only_both_stay(opens: Opens) -> None:
    face = opens(OFF)
    await face.remember(f"The key is {KEY}")
    await face.remember(f"The key is {KEY}0")

    await opens().admin.redact(dry_run=False)

    assert await opens().listed() == [f"The key is {MASKED_KEY}"] * 2


@ON_DISK
async def test_a_quote_without_a_turn_is_masked_where_it_stands(opens: Opens) -> None:
    face = opens({"extract": {"redact": "off", "keep_turns": False}})
    await face.add(f"I love tea and my token is {KEY}.", user_id="alice")

    await opens().admin.redact(dry_run=False)

    lines = await kept(opens())
    assert lines
    for line in lines:
        assert KEY not in json.dumps(line)
        evidence = line["data"]["evidence"]
        assert evidence["end"] - evidence["start"] == len(evidence["quote"])


@ON_DISK
async def test_receipts_caches_and_names_of_entities_are_covered(opens: Opens) -> None:
    face = opens(OFF)
    memory_id = await face.remember("Nothing to hide")
    with opens.sql() as database:
        body = json.dumps({"query": f"what is {KEY}", "chosen": [memory_id]})
        database.execute(
            "INSERT INTO receipts (tenant_id, id, body, created_at) VALUES ('default', 'r', ?, '')", (body,)
        )
        database.execute(
            "INSERT INTO llm_cache (tenant_id, key, reply, created_at) VALUES ('default', 'c', ?, '')",
            (f"it is {KEY}",),
        )
        database.execute(
            "INSERT INTO entities (tenant_id, id, name, norm, type, updated_at) "
            "VALUES ('default', 'e', ?, 'n', 'thing', '')",
            (KEY,),
        )

    report = await opens().admin.redact(dry_run=False)

    assert report["by_table"] == {"receipts": 1, "llm_cache": 1, "entities": 1}
    ((body,),) = opens.rows("SELECT body FROM receipts")
    assert json.loads(body) == {"query": f"what is {MASKED_KEY}", "chosen": [memory_id]}
    assert opens.rows("SELECT count(*) FROM llm_cache") == [(0,)]
    assert opens.rows("SELECT count(*) FROM entities") == [(0,)]
    assert [event["event"] for event in await opens().history(memory_id)] == ["ADD"]
