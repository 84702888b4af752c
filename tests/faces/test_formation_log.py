"""What background work leaves in the log, whether memory is healthy, and chats from before there was one."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.engine.layers.distill import DistillResult
from memstone.errors import InvalidInput, LLMError, LlmUnavailable, StorageError
from memstone.ports.models import Prompt, Reply
from memstone.testing.llm import ScriptedLlm
from tests.faces.formation_steps import (
    LONG,
    SESSION,
    Distiller,
    digests,
    distiller,
    episodes,
    later,
    outcomes,
    pending,
)
from tests.faces.harness import ON_DISK, Face, Opens

__all__ = ["distiller"]

_OSLO: Final = '{"facts": [{"text": "User lives in Oslo.", "turn": 1, "quote": "live in Oslo"}]}'


# --- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("S-57", "P-23", "S-23", "P-23.1")
async def test_a_run_is_logged_with_its_decisions_and_what_it_cost(opens: Opens) -> None:
    llm = ScriptedLlm([Reply(_OSLO, input_tokens=210, output_tokens=17)])
    face = opens(later("manual"), llm=llm)
    await face.add("I live in Oslo.", **SESSION)
    await face.sessions.flush(everybody=True)

    (job,) = (await face.admin.jobs(everybody=True))["results"]

    assert {name: job[name] for name in SESSION} == SESSION
    assert (job["task"], job["status"], job["outcome"], job["model"]) == ("facts", "success", "distilled", "scripted")
    assert (job["input_tokens"], job["output_tokens"]) == (210, 17)
    assert job["duration_ms"] > 0
    assert job["created_at"].startswith("2026-01-01")
    answer = job["details"]
    assert (answer["event"], answer["user_id"], answer["input_message_length"]) == ("memory_decision", "alice", 15)
    assert answer["extracted_count"] == 1
    (decision,) = answer["decisions"]
    (memory,) = (await face.get_all(user_id="alice"))["results"]
    assert (decision["fact"], decision["action"]) == ("User lives in Oslo.", "add")
    assert decision["target_id"] == memory["id"]
    assert decision["reason"]


@pytest.mark.req("S-57")
async def test_a_distillation_is_logged_with_what_it_made(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.sessions.flush(everybody=True)
    (job,) = (await face.admin.jobs(task="distill", everybody=True))["results"]
    assert (job["model"], job["input_tokens"], job["output_tokens"]) == ("thinker", 120, 30)
    assert job["details"]["episode_seq"] > 0
    assert job["details"]["signals"] == 1


@pytest.mark.req("S-57", "C-40")
async def test_the_log_says_what_a_job_cost_where_the_price_of_its_model_is_known(
    opens: Opens, distiller: Distiller
) -> None:
    prices = {"thinker": {"input": 3.0, "output": 15.0}, "another": {"input": 1.0, "output": 1.0}}
    face = opens({**digests("manual"), "llm": {"provider": "openai", "prices": prices}})
    for user in ("ann", "bob"):
        await face.add(LONG, user_id=user)
    await face.sessions.flush(everybody=True)
    logged = (await face.admin.jobs(task="distill", everybody=True))["results"]
    assert [job["cost"] for job in logged] == [0.00081, 0.00081]
    processing = (await face.admin.dashboard(everybody=True))["processing"]
    assert (processing["cost"], processing["by_task"]["distill"]["cost"]) == (0.00162, 0.00162)


@pytest.mark.req("S-57")
async def test_without_a_price_there_is_no_cost(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.sessions.flush(everybody=True)
    assert [job["cost"] for job in (await face.admin.jobs(everybody=True))["results"]] == [None]
    assert (await face.admin.dashboard(everybody=True))["processing"]["cost"] is None


@pytest.mark.req("S-57")
async def test_the_log_is_asked_by_whom_by_task_and_by_status(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    distiller.fails = [DistillResult("error:llm", error=LLMError("it broke"))]
    for user in ("ann", "bob", "cid"):
        await face.add(LONG, user_id=user)
        await face.sessions.end(user_id=user)
    assert await outcomes(face) == ["error:it broke", "distilled", "distilled"]
    assert [job["user_id"] for job in (await face.admin.jobs(status="success", everybody=True))["results"]] == [
        "cid",
        "bob",
    ]
    assert await outcomes(face, user_id="ann") == ["error:it broke"]
    assert [job["user_id"] for job in (await face.admin.jobs(limit=1, everybody=True))["results"]] == ["cid"]
    assert (await face.admin.jobs(task="facts", everybody=True))["results"] == []
    with pytest.raises(InvalidInput):
        await face.admin.jobs(status="fine", everybody=True)
    with pytest.raises(InvalidInput):
        await face.admin.jobs(limit=0, everybody=True)


@pytest.mark.req("S-57")
async def test_figures_over_the_log_are_one_question(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    for user in ("ann", "bob"):
        await face.add(LONG, user_id=user)
    await face.sessions.flush(everybody=True)
    runtime = face.memory.engine.runtime
    (figures,) = await runtime.ledger.read(lambda tx: tx.jobs.figures("default"))
    assert (figures.task, figures.status, figures.count) == ("distill", "success", 2)
    assert (figures.input_tokens, figures.output_tokens) == (240, 60)
    await runtime.ledger.write(lambda tx: tx.jobs.forget(runtime.scope({"user_id": "ann"})))
    assert [job["user_id"] for job in (await face.admin.jobs(everybody=True))["results"]] == ["bob"]
    assert await runtime.ledger.write(lambda tx: tx.jobs.purge("default", "2026-01-02")) == 1
    assert await runtime.ledger.write(lambda tx: tx.signals.purge("default", "2026-01-02")) == 2


@pytest.mark.req("P-23")
async def test_turns_of_one_session_are_learned_from_with_one_question(opens: Opens) -> None:
    def answer(prompt: Prompt) -> str:
        text = prompt.messages[1]["content"]
        assert "I live in Oslo." in text
        assert "I love tea." in text
        return '{"facts": [{"text": "User loves tea.", "turn": 2, "quote": "love tea"}]}'

    llm = ScriptedLlm(answer)
    face = opens(later("manual"), llm=llm)
    await face.add("I live in Oslo.", **SESSION)
    await face.add("I love tea.", **SESSION)
    assert await face.sessions.flush(everybody=True) == {"stored": 2, "waiting": 0}
    assert len(llm.prompts) == 1
    assert await face.listed(**SESSION) == ["User loves tea."]


# --- health -----------------------------------------------------------------------------------------------------------


@ON_DISK
@pytest.mark.req("N-26", "R-33")
async def test_a_healthy_memory_says_so_and_the_probe_leaves_nothing(opens: Opens) -> None:
    face = opens()
    await face.add("I live in Oslo.", user_id="alice")
    tables = ("memories", "links", "signals", "words", "events", "changes", "entities", "mentions")
    counts = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)  # noqa: S608 - ours
    before = opens.rows(counts)

    answer = await face.admin.health()

    assert (answer["level"], answer["reasons"]) == ("healthy", [])
    assert answer["probe"] == {"ok": True, "failed_at": None, "error": None}
    assert opens.rows(counts) == before


@pytest.mark.req("N-26")
async def test_what_waits_and_was_never_logged_is_a_reason(opens: Opens) -> None:
    face = opens()
    runtime = face.memory.engine.runtime
    await face.stats()
    await face.admin.health()
    llm = opens(llm=ScriptedLlm([]))
    assert (await llm.add("I live in Oslo.", user_id="alice"))["status"] == "deferred"
    assert (await llm.admin.health())["level"] == "healthy", "a moment is no reason"
    opens.clock.advance(minutes=11)
    assert (await llm.admin.health())["reasons"] == ["pending_without_jobs"]
    assert runtime.policy.formation.mode == "inline"


@pytest.mark.req("N-26")
async def test_sessions_that_wait_behind_an_open_breaker_are_a_reason(opens: Opens) -> None:
    down = True

    def answer(_: Prompt) -> str:
        if down:
            raise LlmUnavailable("the model is not called after 5 failures in a row")
        return '{"facts": []}'

    face = opens(later("manual"), llm=ScriptedLlm(answer))
    for number in range(8):
        await face.add("I live in Oslo.", user_id="alice", run_id=f"r{number}")
    assert (await face.admin.health())["level"] == "healthy", "nobody has been asked yet"
    await face.sessions.flush(everybody=True)
    reply = await face.admin.jobs(limit=1, everybody=True)
    assert reply["results"][0]["outcome"] == "skipped:breaker_open"

    answered = await face.admin.health()
    assert (answered["level"], answered["reasons"]) == ("degraded", ["waiting_for_model"])
    assert answered["waiting_for_model"] == 8

    down = False
    opened = opens(later("manual"), llm=ScriptedLlm(answer))
    await opened.sessions.flush(everybody=True)
    answered = await opened.admin.health()
    assert (answered["level"], answered["waiting_for_model"]) == ("healthy", 0)


@pytest.mark.req("N-26")
async def test_dead_letters_are_a_reason(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual", max_attempts=1))
    await face.add(LONG, **SESSION)
    distiller.fails = [DistillResult("error:llm", error=LLMError("it broke"))]
    await face.sessions.flush(everybody=True)
    answer = await face.admin.health()
    assert (answer["level"], answer["reasons"], answer["dead"]) == ("degraded", ["dead_letters"], 1)


@ON_DISK
@pytest.mark.req("N-26", "R-16")
@pytest.mark.parametrize(("table", "step"), [("memories", "turn"), ("words", "turn"), ("signals", "signal")])
async def test_the_probe_tells_where_writing_fails(opens: Opens, table: str, step: str) -> None:
    face = opens(later("manual"))
    await face.stats()
    with opens.sql() as database:
        database.execute(f"CREATE TRIGGER no BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no room'); END")
    answer = await face.admin.health()
    assert (answer["level"], answer["reasons"]) == ("degraded", [f"probe:{step}"])
    assert answer["probe"]["failed_at"] == step
    assert "no room" in answer["probe"]["error"]["message"]
    with pytest.raises(StorageError):
        await face.add("I live in Oslo.", user_id="alice")
    with opens.sql() as database:
        database.execute("DROP TRIGGER no")
    assert (await face.admin.health())["reasons"] == ["insert_failures"], "the last attempt was in vain"
    opens.clock.advance(seconds=1)
    await face.add("I live in Oslo.", user_id="alice")
    assert (await face.admin.health())["level"] == "healthy"


@pytest.mark.req("N-26")
async def test_a_store_that_cannot_be_opened_is_unavailable(opens: Opens) -> None:
    face = opens()
    await face.stats()
    await face.close()
    answer = await face.admin.health()
    assert (answer["level"], answer["reasons"]) == ("unavailable", ["probe:open"])
    assert answer["probe"]["error"]["code"] == "storage"


# --- chats from before ------------------------------------------------------------------------------------------------


def _chat(name: str, *more: dict[str, Any]) -> dict[str, Any]:
    texts = [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": LONG},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": "Nine years!"},
        {"role": "user", "content": "Yes."},
    ]
    return {"id": name, "messages": [*texts, *more], "date": "2025-06-01"}


@pytest.mark.req("N-23")
async def test_old_chats_are_distilled_and_known_ones_left_alone(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=3600))
    await face.sessions.ingest([{"user": LONG}], user_id="alice", run_id="distilled")
    await face.add(LONG, user_id="alice", run_id="buffered")
    distiller.seen.clear()
    seen: list[tuple[int, int]] = []

    answer = await face.sessions.backfill(
        [_chat("distilled"), _chat("buffered"), _chat("old"), _chat("older")],
        user_id="alice",
        progress=lambda done, total: seen.append((done, total)),
    )

    assert {name: answer[name] for name in ("ingested", "known", "failed", "cancelled")} == {
        "ingested": 2,
        "known": 2,
        "failed": 0,
        "cancelled": False,
    }
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert distiller.seen == [[LONG, "Nine years!", "Yes."]] * 2, "tools and systems are left out, the last word is not"
    assert [one["status"] for one in answer["results"]] == ["known", "known", "ok", "ok"]
    again = await face.sessions.backfill([_chat("old")], user_id="alice")
    assert (again["ingested"], again["known"]) == (0, 1)


@pytest.mark.req("N-23")
async def test_it_can_be_stopped_and_taken_up_again(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests())
    chats = [_chat(f"chat{number}") for number in range(4)]
    answer = await face.sessions.backfill(chats, user_id="alice", progress=lambda done, _: done < 2)
    assert (answer["ingested"], answer["cancelled"]) == (2, True)
    answer = await face.sessions.backfill(iter(chats), user_id="alice")
    assert (answer["ingested"], answer["known"], answer["cancelled"]) == (2, 2, False)
    assert len(await episodes(face)) == 4
    assert await pending(face) == (0, 0)


@pytest.mark.req("N-23")
async def test_a_chat_that_is_wrong_holds_up_no_other(opens: Opens, distiller: Distiller) -> None:
    face: Face = opens(digests())
    wrong: list[Any] = [{"id": "x"}, {"messages": [{"role": "user", "content": "hello"}]}, 5, {"id": "y", "mood": 1}]
    answer = await face.sessions.backfill([*wrong, _chat("good")], user_id="alice")
    assert (answer["ingested"], answer["failed"]) == (1, 4)
    assert all(one["error"]["message"] for one in answer["results"][:4])


@pytest.mark.req("N-23", "X-25")
async def test_whoever_speaks_does_not_wait_for_a_transcript(opens: Opens) -> None:
    llm = ScriptedLlm(lambda _: '{"facts": []}')
    face = opens(llm=llm)
    chat = [{"role": "user", "content": f"In year {number} I lived in Town{number}."} for number in range(60)]
    assert (await face.ingest(chat, user_id="alice", learn=True))["queued"] == 3
    await face.add("How is the weather?", user_id="alice")
    assert len(llm.prompts) == 1
    assert await pending(face) == (3, 0)
