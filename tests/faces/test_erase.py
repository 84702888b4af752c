"""``erase`` through both faces: what goes, what stays, and what the report says of it."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import ON_DISK, Face, Opens, passed, texts

ERASED_TABLES: Final = {
    "account_sessions",
    "accounts",
    "calibration",
    "changes",
    "continuations",
    "counters",
    "entities",
    "events",
    "fulltext",
    "idempotency",
    "jobs",
    "links",
    "llm_cache",
    "memories",
    "mentions",
    "receipts",
    "relations",
    "settings",
    "signals",
    "suppressed",
    "vectors",
    "words",
}
OTHER_TABLES: Final = {
    "agents": "an agent is configuration, not somebody's memory",
    "api_keys": "keys are configuration; whoever erases a user revokes them",
    "backups": "paths of copies",
    "log_mark": "two numbers about the log of the file",
    "erasures": "digests of who was erased",
    "indexes": "vector spaces",
    "leases": "who works on what for the next seconds",
    "secrets": "the store's own keys",
}
SAID: Final = "I live in Reykjavik and my cat is called Snorri"


async def lived(face: Face, user: str = "alice") -> None:
    """A user of whom every table knows something that can be said through the face, each time with the name."""
    await face.add(f"{SAID} of {user}", user_id=user, run_id="r1")
    stored_text = await face.remember(
        f"The harbour of {user} smells of kerosene", user_id=user, metadata={"mood": f"{user}ic"}
    )
    await face.update(stored_text, f"The harbour of {user} smells of fresh paint")
    gone = await face.remember(f"The lighthouse keeper owes {user} money", user_id=user)
    await face.delete(gone)
    batch = [{"messages": f"The locksmith of {user} is Bartholomew", "user_id": user}]
    await face.store_many(batch, idempotency_key=str(len(user)))
    await face.context(f"What does the harbour of {user} smell of?", user_id=user)
    await face.settings.set({"context.budget": 700}, user_id=user)


async def exported(face: Face, **scope: Any) -> list[str]:
    return sorted(json.dumps(line, sort_keys=True) for line in await face.export(**scope))


@pytest.mark.req("X-30", "X-37")
async def test_nothing_of_a_user_is_left_and_others_keep_everything(face: Face) -> None:
    await lived(face)
    await lived(face, "bob")
    before = await exported(face, user_id="bob")

    report = await face.admin.erase(user_id="alice")

    assert passed(report), report["checks"]
    assert len(await face.export(user_id="alice")) == 1, "the header"
    for layers in (["fact"], ["turn"]):
        assert (await face.get_all(user_id="alice", layers=layers))["results"] == []
    assert await face.found("harbour") == []
    assert await face.found("What does the harbour smell of?", strategy="vector") == []
    assert (await face.graph.entities(user_id="alice"))["results"] == []
    assert (await face.settings.get(user_id="alice"))["settings"] == (await face.settings.get(user_id="carol"))[
        "settings"
    ]
    assert await exported(face, user_id="bob") == before
    assert await face.found("harbour", user_id="bob") != []


@ON_DISK
@pytest.mark.req("X-30")
async def test_no_row_of_any_table_holds_a_word_or_the_name(face: Face, opens: Opens) -> None:
    await lived(face)
    await lived(face, "bob")
    with opens.sql() as database:
        for user in ("alice", "bob"):
            database.execute(
                "INSERT INTO jobs (tenant_id, id, task, user_id, status, details, created_at) "
                "VALUES ('default', ?, 'facts', ?, 'success', ?, '2026-01-01T00:00:00.000000Z')",
                (f"job-{user}", user, json.dumps({"decisions": [{"text": f"the locksmith of {user}"}]})),
            )
            database.execute("INSERT INTO counters VALUES ('default', ?, '2026-01-01', 'searches', 3)", (user,))
    known = dump(opens)
    assert {table for table, text in known.items() if "alice" in text} >= {"links", "events", "jobs", "counters"}

    report = await face.admin.erase(user_id="alice")

    left = dump(opens)
    for table, text in left.items():
        assert "alice" not in text, table
    assert {table for table, text in left.items() if "bob" in text} >= {
        table for table, text in known.items() if "bob" in text
    }
    assert report["erased"]["jobs"] == report["erased"]["counters"] == 1
    assert opens.rows("SELECT count(*) FROM jobs") == [(1,)]
    words = opens.rows("SELECT count(*) FROM words")
    opens.rows("INSERT INTO fulltext (fulltext) VALUES ('integrity-check')")
    assert opens.rows("SELECT count(*) FROM fulltext") == words


def dump(opens: Opens) -> dict[str, str]:
    """Every row of every table, as text."""
    tables = [row[0] for row in opens.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: "\n".join(map(str, opens.rows(f'SELECT * FROM "{table}"'))) for table in tables}  # noqa: S608


@ON_DISK
async def test_every_table_has_been_thought_of(face: Face, opens: Opens) -> None:
    await face.remember("anything")
    found = opens.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    tables = {name for (name,) in found if not name.startswith("fulltext_")}
    assert tables == ERASED_TABLES | OTHER_TABLES.keys(), "a table is new: does erase remove what it holds of a user?"


@ON_DISK
@pytest.mark.req("X-30")
async def test_what_waits_to_be_learned_goes_too(opens: Opens) -> None:
    broken = opens(embedder=_broken)
    await broken.store("The vault code is written on the fridge", user_id="alice")
    await broken.store("Bob waits as well", user_id="bob")
    assert len(opens.rows("SELECT 1 FROM signals")) == 2

    report = await broken.admin.erase(user_id="alice")

    assert report["erased"]["signals"] == 1
    assert [text for (text,) in opens.rows("SELECT user_text FROM signals")] == ["Bob waits as well"]


def _broken(_: list[str]) -> Any:
    raise OSError("no route to host")


@ON_DISK
@pytest.mark.req("X-30")
async def test_remembered_answers_of_a_model_are_dropped_for_the_whole_tenant(opens: Opens) -> None:
    answer: dict[str, object] = {"facts": [{"text": "Lives in Oslo", "evidence": "I live in Oslo", "turn": 1}]}
    face = opens(llm=ScriptedLlm(lambda _: answer))
    await face.add("I live in Oslo", user_id="alice")
    cached = opens.rows("SELECT count(*) FROM llm_cache")[0][0]
    assert cached > 0

    report = await face.admin.erase(user_id="alice")

    assert report["erased"]["llm_cache"] == cached
    assert opens.rows("SELECT count(*) FROM llm_cache") == [(0,)]


@pytest.mark.req("X-30")
async def test_a_memory_others_see_too_stays_with_them(face: Face) -> None:
    shared = await face.remember("The printer is on the second floor")
    await face.sharing.share(shared, user_id="bob")
    own = await face.remember("My salary is a secret")

    report = await face.admin.erase(user_id="alice")

    assert passed(report), report["checks"]
    assert report["kept_for_others"] == 1
    assert await face.listed() == []
    assert await face.listed(user_id="bob") == ["The printer is on the second floor"]
    assert await face.found("printer", user_id="bob", strategy="text") == ["The printer is on the second floor"]
    assert await face.found("printer") == []
    assert await face.get(own) is None
    assert [event["user_id"] for event in await face.history(shared)] == ["bob"]
    assert "alice" not in json.dumps(await face.history(shared))


@pytest.mark.req("X-30")
async def test_what_was_said_in_a_project_goes_with_whoever_said_it(face: Face) -> None:
    await face.add("I live in Reykjavik", user_id="alice", project_id="north")
    await face.add("I live in Oslo", user_id="bob", project_id="north")
    assert len(await face.listed(user_id="project:north")) == 2

    report = await face.admin.erase(user_id="alice")

    assert passed(report), report["checks"]
    assert await face.listed(user_id="project:north") == ["User lives in Oslo."]
    assert (await face.admin.erase(user_id="project:north"))["kept_for_others"] > 0
    assert await face.listed(user_id="bob") == ["User lives in Oslo."], (
        "a project is no more than a second way to see it"
    )


async def test_what_others_have_said_in_the_same_words_stays(face: Face) -> None:
    await face.remember("I drink too much coffee in the morning")
    await face.remember("I drink too much coffee in the morning", user_id="bob")

    report = await face.admin.erase(user_id="alice")

    assert passed(report), report["checks"]
    assert await face.listed(user_id="bob") == ["I drink too much coffee in the morning"]


async def test_a_scope_within_a_user_goes_alone(face: Face) -> None:
    await face.remember("said in the first run", user_id="alice", run_id="r1")
    await face.remember("said in the second run", user_id="alice", run_id="r2")
    await face.remember("said by bob in a run of that name", user_id="bob", run_id="r1")

    report = await face.admin.erase(user_id="alice", run_id="r1")

    assert report["subject"] == {"user_id": "alice", "run_id": "r1"}
    assert passed(report), report["checks"]
    assert await face.listed() == ["said in the second run"]
    assert await face.found("second run") == ["said in the second run"]
    assert await face.listed(user_id="bob") == ["said by bob in a run of that name"]


async def test_an_agent_is_a_scope_like_a_user(face: Face) -> None:
    await face.remember("the agent noted this", agent_id="bot")
    await face.remember("the agent noted this of alice", user_id="alice", agent_id="bot")
    await face.remember("nothing to do with it", user_id="alice")
    assert passed(await face.admin.erase(agent_id="bot"))
    assert await face.listed() == ["nothing to do with it"]
    assert await face.listed(agent_id="bot") == []


@pytest.mark.req("X-30")
async def test_one_memory_goes_with_its_history_and_every_quote_of_it(face: Face) -> None:
    await face.add(SAID, user_id="alice")
    (turn,) = (await face.get_all(user_id="alice", layers=["turn"]))["results"]
    facts = (await face.get_all(user_id="alice"))["results"]
    assert {fact["evidence"]["turn"] for fact in facts} == {turn["id"]}

    report = await face.admin.erase(memory_id=turn["id"])

    assert report["subject"] == {"memory_id": turn["id"]}
    assert passed(report), report["checks"]
    assert await face.history(turn["id"]) == []
    left = (await face.get_all(user_id="alice"))["results"]
    assert texts({"results": left}) == texts({"results": facts}), "what was learned from it is another memory"
    assert all("quote" not in fact["evidence"] for fact in left)


async def test_a_memory_within_a_scope_goes_only_there(face: Face) -> None:
    shared = await face.remember("The printer is on the second floor")
    await face.sharing.share(shared, user_id="bob")
    report = await face.admin.erase(user_id="bob", memory_id=shared)
    assert passed(report), report["checks"]
    assert await face.listed(user_id="bob") == []
    assert await face.listed() == ["The printer is on the second floor"]


@ON_DISK
async def test_what_was_put_together_from_it_goes_with_it(face: Face, opens: Opens) -> None:
    source = await face.remember("The merger closes on the ninth of June")
    made = await face.remember("In short: merger on 9 June")
    other = await face.remember("In short: something else")
    with opens.sql() as database:
        for memory_id, sources in ((made, [source]), (other, ["elsewhere"])):
            data = json.dumps({"derived_from": sources})
            database.execute("UPDATE memories SET data = ? WHERE id = ?", (data, memory_id))
    await face.admin.erase(memory_id=source)
    assert await face.listed() == ["In short: something else"]


@ON_DISK
@pytest.mark.req("N-49")
async def test_a_batch_that_is_sent_again_is_not_carried_out_again(face: Face, opens: Opens) -> None:
    batch = [
        {"messages": "Her locksmith is Bartholomew", "user_id": "alice"},
        {"messages": "Bob has no locksmith", "user_id": "bob"},
    ]
    await face.store_many(batch, idempotency_key="k")
    await face.admin.erase(user_id="alice")
    (reply,) = opens.rows("SELECT reply FROM idempotency")[0]
    assert "Bartholomew" not in reply
    assert "Bob has no locksmith" in reply
    again = await face.store_many(batch, idempotency_key="k")
    assert again["replayed"]
    assert await face.listed() == []


async def test_a_user_may_come_back(face: Face, opens: Opens) -> None:
    await face.remember("I live in Oslo")
    report = await face.admin.erase(user_id="alice")
    opens.clock.advance(seconds=1)
    assert await face.found("Oslo") == []
    await face.remember("I live in Oslo")
    assert await face.found("Oslo", strategy="text") == ["I live in Oslo"]
    assert await face.found("Oslo", strategy="vector") == ["I live in Oslo"]
    assert (await face.admin.verify_erasure(report))["ok"], "what is said later is no trace of what was erased"


@ON_DISK
async def test_another_process_forgets_what_it_holds(opens: Opens) -> None:
    one, other = opens(), opens()
    await one.remember("I live in Oslo")
    assert await other.found("Oslo") == ["I live in Oslo"]
    await one.admin.erase(user_id="alice")
    assert await other.found("Oslo") == []
    index = other.memory.engine.runtime.index
    current = [partition for name, partition in index._partition_cache.partitions.items() if name[1] == "alice"]  # type: ignore[attr-defined]
    assert sum(partition.rows for partition in current) == 0


async def test_a_vector_store_of_its_own_loses_the_points(opens: Opens) -> None:
    face = opens({"vector_store": {"provider": "memory"}})
    await face.remember("I live in Oslo")
    await face.remember("I live in Rome", user_id="bob")
    assert await face.found("Oslo", strategy="vector") == ["I live in Oslo"]

    report = await face.admin.erase(user_id="alice")

    assert report["checks"][0] == {"check": "indexes", "points_left": 0, "ok": True}
    store: Any = face.memory.engine.runtime.index
    (collection,) = await store._store.collections()
    assert collection.count == 1
    assert await face.found("Rome", user_id="bob", strategy="vector") == ["I live in Rome"]


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.mark.req("X-30")
async def test_the_report_counts_checks_and_holds_no_content(face: Face, opens: Opens) -> None:
    await lived(face)
    steps: list[tuple[int, int]] = []
    report = await face.admin.erase(user_id="alice", progress=lambda done, total: steps.append((done, total)))

    assert steps == [(number, 6) for number in range(1, 7)]
    assert report["erased"]["memories"] == report["erased"]["links"] >= 6
    made = [check["check"] for check in report["checks"]]
    if report["not_looked_at"]:  # a server keeps its files to itself
        assert (made, report["complete"]) == (["indexes", "backups", "rows"], False)
    else:
        assert (made, report["complete"]) == (["indexes", "log", "backups", "rows", "files"], True)
        assert report["checks"][-1]["pieces"] > 10
    written = json.dumps(report)
    assert json.loads(written) == report
    for word in ("harbour", "Reykjavik", "Snorri", "aliceic", "Bartholomew"):
        assert word not in written


@pytest.mark.req("X-30")
async def test_the_report_is_verified_by_the_store_that_wrote_it(face: Face) -> None:
    await face.remember("I live in Oslo")
    report = json.loads(json.dumps(await face.admin.erase(user_id="alice")))
    checked = await face.admin.verify_erasure(report)
    assert checked.pop("complete") is not bool(checked.pop("not_looked_at"))
    assert checked == {
        "ok": True,
        "unchanged": True,
        "sealed_by_this_store": True,
        "left": {},
        "subject": {"user_id": "alice"},
    }
    forged = {**report, "erased": {**report["erased"], "memories": 9}}
    checked = await face.admin.verify_erasure(forged)
    assert (checked["ok"], checked["unchanged"], checked["sealed_by_this_store"]) == (False, False, False)


@ON_DISK
async def test_a_report_of_another_store_is_told_from_ones_own(face: Face, opens: Opens) -> None:
    await face.remember("I live in Oslo")
    report = await face.admin.erase(user_id="alice")
    other = opens({"tenant": "other"})
    await other.admin.erase(user_id="alice")
    checked = await other.admin.verify_erasure(report)
    assert (checked["ok"], checked["unchanged"], checked["sealed_by_this_store"]) == (False, True, False)


async def test_what_came_back_is_noticed(face: Face) -> None:
    await face.remember("I live in Oslo")
    lines = await face.export(everybody=True)
    report = await face.admin.erase(user_id="alice")
    await face.load(lines)
    checked = await face.admin.verify_erasure(report)
    assert not checked["ok"]
    assert checked["left"]["memories"] == 1
