"""When a session becomes memory, what that leaves, and what becomes of one that fails."""

from __future__ import annotations

from typing import Any, Final

import pytest

from retain.engine.distill import Distilled
from retain.errors import (
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    BadModelOutput,
    LLMError,
    LlmUnavailable,
    ModelRefused,
    RateLimited,
    RetainError,
)
from retain.testing.llm import ScriptedLlm
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

_MORE: Final = "On Sundays I bake bread with her, and in the winter we always go skiing in the hills behind our house."


# --- when -------------------------------------------------------------------------------------------------------------


@pytest.mark.req("S-13", "S-11")
async def test_a_session_is_distilled_after_silence_and_every_turn_starts_it_anew(
    opens: Opens, distiller: Distiller
) -> None:
    face = opens(digests(debounce_seconds=60))
    await face.add(LONG, **SESSION)
    opens.clock.advance(seconds=40)
    await face.add(_MORE, **SESSION)
    opens.clock.advance(seconds=59)
    assert await face.work(0) == {"sessions": 0, "outcomes": {}}
    assert distiller.seen == []

    opens.clock.advance(seconds=1)
    await face.work(0)

    assert distiller.seen == [[LONG, _MORE]], "the whole session at once"
    assert await outcomes(face) == ["distilled"]
    assert await pending(face) == (0, 0)


@pytest.mark.req("S-13", "S-14")
async def test_whoever_turns_to_another_session_leaves_the_one_before(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=60))
    await face.add(LONG, **SESSION)
    await face.add(LONG, **{**SESSION, "agent_id": "other"})
    await face.add(LONG, **{**SESSION, "user_id": "bob"})
    await face.add(_MORE, **{**SESSION, "run_id": "tuesday"})
    await face.work(0)

    assert distiller.seen == [[LONG]]
    assert [job["run_id"] for job in (await face.jobs(**SESSION))["results"]] == ["monday"]
    assert await pending(face) == (3, 0), "other agents and other users are still talking"


@pytest.mark.req("S-14")
async def test_by_hand_means_by_hand(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.add(_MORE, **{**SESSION, "run_id": "tuesday"})
    opens.clock.advance(days=30)
    await face.work(0)
    assert distiller.seen == []

    assert await face.flush() == {"stored": 2, "waiting": 0}

    assert distiller.seen == [[LONG], [_MORE]]


@pytest.mark.req("S-13")
async def test_leaving_a_session_forms_its_memory_at_once(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=3600))
    await face.add(LONG, **SESSION)
    await face.add(_MORE, **{**SESSION, "agent_id": "other"})

    answer = await face.end_session(**SESSION)

    (result,) = answer["results"]
    assert {name: result[name] for name in SESSION} == SESSION
    assert result["distillation"] == "distilled"
    assert isinstance(result["episode_id"], int)
    assert distiller.seen == [[LONG]]
    assert (await face.end_session(**SESSION))["results"] == []


@pytest.mark.req("S-15", "N-17")
async def test_too_little_is_not_worth_distilling(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=0))
    await face.add([{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi there."}], **SESSION)
    await face.work(0)

    assert distiller.seen == []
    assert await outcomes(face) == ["skipped:low_novelty:15chars"]
    assert (await face.jobs())["results"][0]["status"] == "skipped"
    assert await pending(face) == (0, 0), "and it is done with"


@pytest.mark.req("S-15")
async def test_the_measure_is_all_that_waits_not_one_turn(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=0, novelty_chars=20))
    for said in ("Hello you!", "Good bye!!"):
        await face.add(said, **SESSION)
    await face.end_session(**SESSION)
    assert distiller.seen == [["Hello you!", "Good bye!!"]]


# --- what is stored, and when it is not -------------------------------------------------------------------------------


@ON_DISK
@pytest.mark.req("S-19", "R-16")
async def test_the_episode_and_what_it_was_made_of_are_one_transaction(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.breaks = True

    (result,) = (await face.end_session(**SESSION))["results"]

    assert result["distillation"] == "error:RuntimeError"
    assert await episodes(face) == [], "what was stored before it broke is undone"
    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 1)]
    distiller.breaks = False
    await face.flush()
    assert len(await episodes(face)) == 1
    assert opens.rows("SELECT status, attempts FROM signals") == [("processed", 2)]
    assert opens.rows("SELECT status FROM jobs ORDER BY seq") == [("error",), ("success",)]


@pytest.mark.req("R-15", "S-19")
async def test_what_is_said_while_a_model_thinks_is_not_lost(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)

    async def speak() -> None:
        distiller.during = None
        await face.add(_MORE, **SESSION)

    distiller.during = speak
    assert await face.flush() == {"stored": 1, "waiting": 1}, "only what was read is done with"

    assert await face.flush() == {"stored": 1, "waiting": 0}
    assert distiller.seen == [[LONG], [_MORE]]


@pytest.mark.req("S-23", "S-19")
async def test_after_distilling_it_is_found_and_shown_at_once(opens: Opens) -> None:
    shown = {"gate": "always", "false_injection": 0}
    face = opens({"profile": "companion", **digests(debounce_seconds=3600), "context": shown})
    await face.add("My sister lives in Bergen, and I visit her there every summer with my two children.", **SESSION)
    before = await face.context("Where does my sister live?", user_id="alice", agent_id="guide")
    assert "sister" not in before.text
    await face.end_session(**SESSION)

    after = await face.context("Where does my sister live?", user_id="alice", agent_id="guide")

    assert "Bergen" in after.text, "the block that was kept a moment ago is not shown again"
    assert len(await episodes(face)) == 1
    stats = await face.stats()
    assert stats["vectors"] == stats["fulltext"] == stats["memories"]
    assert await outcomes(face) == ["distilled"]


@pytest.mark.req("N-19", "R-15")
async def test_what_was_deleted_while_a_model_thought_does_not_come_back(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.during = lambda: face.delete_all(user_id="alice")
    await face.flush()
    assert await episodes(face) == []
    assert await pending(face) == (0, 0)


# --- failures ---------------------------------------------------------------------------------------------------------

_PASSING: Final[dict[str, tuple[RetainError, str]]] = {
    "the breaker is open": (LlmUnavailable("not asked"), "skipped:breaker_open"),
    "it is busy": (RateLimited("slow down"), "skipped:model_in_use"),
    "it is down": (BackendUnavailable("nobody there"), "skipped:core_model_unavailable"),
    "the key is wrong": (AuthenticationFailed("who are you"), "skipped:core_model_unavailable"),
}
_REAL: Final[dict[str, RetainError]] = {
    "a timeout": BackendTimeout("too slow"),
    "a refusal": ModelRefused("no"),
    "an error": LLMError("it broke"),
}


@ON_DISK
@pytest.mark.req("N-19", "N-17", "S-22")
@pytest.mark.parametrize("why", _PASSING)
async def test_a_state_that_passes_counts_against_nothing(opens: Opens, distiller: Distiller, why: str) -> None:
    error, outcome = _PASSING[why]
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.fails = [Distilled(f"error:{error.code}", error=error) for _ in range(5)]

    for _ in range(5):
        assert (await face.end_session(**SESSION))["results"][0]["distillation"] == outcome

    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 0)]
    assert await outcomes(face) == [outcome], "and is logged once"
    await face.flush()
    assert await pending(face) == (0, 0)
    assert len(await episodes(face)) == 1


@ON_DISK
@pytest.mark.req("N-19", "N-17", "S-56", "R-16")
@pytest.mark.parametrize("why", _REAL)
async def test_real_errors_count_and_the_third_is_the_last(opens: Opens, distiller: Distiller, why: str) -> None:
    error = _REAL[why]
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.fails = [Distilled(f"error:{error.code}", error=error) for _ in range(3)]

    told = [(await face.end_session(**SESSION))["results"] for _ in range(3)]

    assert [one["distillation"] for (one,) in told] == [f"error:{error.message}"] * 2 + ["dead_letter:3"]
    assert await pending(face) == (0, 1)
    ((status, attempts, problem),) = opens.rows("SELECT status, attempts, last_error FROM signals")
    assert (status, attempts) == ("dead", 3)
    assert error.message in problem
    assert [job["status"] for job in (await face.jobs())["results"]] == ["dead_letter", "error", "error"]
    assert await face.flush() == {"stored": 0, "waiting": 0}, "nobody tries it for ever"


@pytest.mark.req("N-19", "N-17")
async def test_an_answer_that_cannot_be_used_is_the_end_of_it(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.fails = [Distilled("error:bad_model_output", error=BadModelOutput("prose"))]
    assert (await face.end_session(**SESSION))["results"][0]["distillation"] == "empty:no_episode"
    assert await pending(face) == (0, 0)
    assert (await face.jobs())["results"][0]["status"] == "empty"


@ON_DISK
@pytest.mark.req("N-19")
async def test_how_often_is_a_setting(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual", max_attempts=1))
    await face.add(LONG, **SESSION)
    distiller.fails = [RuntimeError("a mistake of ours")]
    assert (await face.end_session(**SESSION))["results"][0]["distillation"] == "dead_letter:1"


@pytest.mark.req("N-19")
async def test_one_that_fails_holds_up_no_other(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.add(_MORE, **{**SESSION, "run_id": "tuesday"})
    distiller.fails = [Distilled("error:llm", error=LLMError("it broke"))]
    assert await face.flush() == {"stored": 1, "waiting": 1}


# --- without a model --------------------------------------------------------------------------------------------------


@ON_DISK
@pytest.mark.req("S-22", "N-22", "N-17")
@pytest.mark.parametrize("digest", [True, False])
async def test_without_a_model_sessions_wait_until_there_is_one(opens: Opens, digest: bool) -> None:  # noqa: FBT001
    waits = later("session_end", digest=digest, debounce_seconds=0, without_llm="wait")
    face = opens(waits)
    await face.add(LONG, **SESSION)
    assert (await face.end_session(**SESSION))["results"][0]["distillation"] == "skipped:core_model_unset"
    assert await pending(face) == (1, 0)
    await face.close()

    facts: dict[str, Any] = {"facts": [], "decisions": [], "episode": {"summary": "Alice told about her life in Oslo."}}
    started = opens(waits, llm=ScriptedLlm(lambda _: facts))
    opens.clock.advance(seconds=10)
    await started.work(0)

    assert await pending(started) == (0, 0), "what waited is due when somebody starts who can do it"
    assert (await outcomes(started))[-1] == "distilled"


@pytest.mark.req("S-22")
async def test_rules_distil_where_there_is_no_model(opens: Opens) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    assert (await face.end_session(**SESSION))["results"][0]["distillation"] == "distilled"
    assert len(await episodes(face)) == 1


# --- whole conversations ----------------------------------------------------------------------------------------------

_TURNS: Final = [
    {"user": LONG, "assistant": "Nine years, that is a long time!", "date": "2025-11-03"},
    {"user": _MORE, "assistant": ""},
]


@pytest.mark.req("N-17", "R-16")
async def test_ingesting_a_session_waits_for_its_memory_and_says_what_came_of_it(opens: Opens) -> None:
    face = opens(digests(debounce_seconds=3600))

    answer = await face.ingest_session(_TURNS, occurred_at="2025-12-24", **SESSION)

    assert {name: answer[name] for name in ("status", "turns_ingested", "distillation")} == {
        "status": "ok",
        "turns_ingested": 2,
        "distillation": "distilled",
    }
    found = await face.get_all(layers=["turn"], **SESSION)
    days = {item["memory"]: item["occurred_at"][:10] for item in found["results"]}
    assert days == {LONG: "2025-11-03", "Nine years, that is a long time!": "2025-11-03", _MORE: "2025-11-03"}
    (episode,) = (await face.get_all(layers=["episode"], **SESSION))["results"]
    assert isinstance(answer["episode_id"], int)
    assert episode["occurred_at"].startswith("2025-11-03")


@ON_DISK
@pytest.mark.req("N-18")
async def test_ingesting_it_again_replaces_it(opens: Opens) -> None:
    face = opens(digests(debounce_seconds=3600))
    await face.ingest_session(_TURNS, **SESSION)
    kept = {item["memory"]: item["id"] for item in (await face.get_all(layers=["turn"], **SESSION))["results"]}
    await face.add("And this is said in between, and waits.", **SESSION)

    await face.ingest_session(_TURNS[:1], **SESSION)

    assert len(await episodes(face, **SESSION)) == 1
    now = {item["memory"]: item["id"] for item in (await face.get_all(layers=["turn"], **SESSION))["results"]}
    assert sorted(now) == sorted([LONG, "Nine years, that is a long time!"])
    assert all(kept[text] == turn for text, turn in now.items()), "the words that stayed are the evidence they were"
    assert await pending(face) == (0, 0)
    assert opens.rows("SELECT count(*) FROM signals") == [(1,)]


@pytest.mark.req("N-18")
async def test_a_worker_that_was_at_the_old_conversation_stores_nothing_of_it(
    opens: Opens, distiller: Distiller
) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)

    async def replaced() -> None:
        distiller.during = None
        parts = face.memory._engine.parts
        await parts.ledger.write(lambda tx: tx.signals.clear(parts.scope(SESSION)))

    distiller.during = replaced
    await face.flush()
    assert await episodes(face) == []


@pytest.mark.req("N-17")
async def test_words_alone_can_be_ingested(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests())
    answer = await face.ingest_session(_TURNS, skip_extraction=True, **SESSION)
    assert answer == {"status": "ok", "turns_ingested": 2, "distillation": "no_signals"}
    assert len((await face.get_all(layers=["turn"], **SESSION))["results"]) == 3
    assert distiller.seen == []
    assert await pending(face) == (0, 0)


_TOKENS: Final = {
    "skipped:core_model_unavailable": ("pending", BackendUnavailable("nobody there")),
    "error:it broke": ("pending", LLMError("it broke")),
    "empty:empty_summary": ("ok", None),
}


@pytest.mark.req("R-16", "N-17")
@pytest.mark.parametrize("outcome", _TOKENS)
async def test_ingest_never_says_ok_while_something_is_left_to_do(
    opens: Opens, distiller: Distiller, outcome: str
) -> None:
    status, error = _TOKENS[outcome]
    face = opens(digests())
    distiller.fails = [Distilled(outcome, error=error)]
    answer = await face.ingest_session(_TURNS, **SESSION)
    assert (answer["status"], answer["distillation"]) == (status, outcome)
    assert await pending(face) == (0 if status == "ok" else 1, 0)


@pytest.mark.req("N-17", "R-16")
async def test_a_dead_letter_is_no_success(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(max_attempts=1))
    distiller.fails = [Distilled("error:llm", error=LLMError("it broke"))]
    answer = await face.ingest_session(_TURNS, **SESSION)
    assert (answer["status"], answer["distillation"]) == ("failed", "dead_letter:1")


@pytest.mark.req("N-17", "D-8")
async def test_a_switched_off_memory_ingests_nothing(opens: Opens) -> None:
    face = opens({**digests(), "policy": {"enabled": False}})
    answer = await face.ingest_session(_TURNS, **SESSION)
    assert (answer["status"], answer["turns_ingested"]) == ("disabled", 0)
    assert answer["distillation"] == "skipped:memory_disabled"


@pytest.mark.parametrize(
    "wrong",
    [
        {"turns": []},
        {"turns": [{"user": 5}]},
        {"turns": [{"user": "hello", "mood": "good"}]},
        {"turns": [{"user": "hello", "date": "soon"}]},
        {"turns": 7},
        {"turns": _TURNS, "run_id": None},
        {"turns": [{"role": "user", "content": "hello", "run_id": "other"}]},
    ],
)
async def test_a_wrong_session_is_refused_before_anything_is_written(opens: Opens, wrong: dict[str, Any]) -> None:
    face = opens(digests())
    with pytest.raises(RetainError):
        await face.ingest_session(**{**SESSION, **wrong})
    stats = await face.stats()
    assert (stats["memories"], stats["pending"]) == (0, 0)


async def test_facts_of_a_session_are_learned_where_nothing_is_distilled(opens: Opens) -> None:
    face: Face = opens(later("session_end", debounce_seconds=3600))
    answer = await face.ingest_session([{"user": "I live in Oslo."}, {"user": "I love tea."}], **SESSION)
    assert (answer["status"], answer["distillation"]) == ("ok", "distilled")
    assert sorted(await face.listed(**SESSION)) == ["User lives in Oslo.", "User loves tea."]
