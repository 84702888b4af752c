"""When a session becomes memory, what that leaves, and what becomes of one that fails."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.engine.layers.distill import DistillResult
from memstone.errors import (
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    BadModelOutput,
    LLMError,
    LlmUnavailable,
    MemstoneError,
    ModelRefused,
    RateLimited,
)
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
from tests.faces.harness import ON_DISK, Opens

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
    assert await face.admin.work(0) == {"sessions": 0, "outcomes": {}}
    assert distiller.seen == []

    opens.clock.advance(seconds=1)
    await face.admin.work(0)

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
    await face.admin.work(0)

    assert distiller.seen == [[LONG]]
    assert [job["run_id"] for job in (await face.admin.jobs(**SESSION))["results"]] == ["monday"]
    assert await pending(face) == (3, 0), "other agents and other users are still talking"


@pytest.mark.req("S-14")
async def test_by_hand_means_by_hand(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.add(_MORE, **{**SESSION, "run_id": "tuesday"})
    opens.clock.advance(days=30)
    await face.admin.work(0)
    assert distiller.seen == []

    assert await face.sessions.flush(everybody=True) == {"stored": 2, "waiting": 0}

    assert distiller.seen == [[LONG], [_MORE]]


@pytest.mark.req("S-13")
async def test_leaving_a_session_forms_its_memory_at_once(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=3600))
    await face.add(LONG, **SESSION)
    await face.add(_MORE, **{**SESSION, "agent_id": "other"})

    answer = await face.sessions.end(**SESSION)

    (result,) = answer["results"]
    assert {name: result[name] for name in SESSION} == SESSION
    assert result["distillation"] == "distilled"
    assert isinstance(result["episode_id"], int)
    assert distiller.seen == [[LONG]]
    assert (await face.sessions.end(**SESSION))["results"] == []


@pytest.mark.req("S-15", "N-17")
async def test_too_little_is_not_worth_distilling(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=0))
    await face.add([{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi there."}], **SESSION)
    await face.admin.work(0)

    assert distiller.seen == []
    assert await outcomes(face) == ["skipped:low_novelty:15chars"]
    assert (await face.admin.jobs(everybody=True))["results"][0]["status"] == "skipped"
    assert await pending(face) == (0, 0), "and it is done with"


@pytest.mark.req("S-15")
async def test_the_measure_is_all_that_waits_not_one_turn(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(debounce_seconds=0, novelty_chars=20))
    for message in ("Hello you!", "Good bye!!"):
        await face.add(message, **SESSION)
    await face.sessions.end(**SESSION)
    assert distiller.seen == [["Hello you!", "Good bye!!"]]


# --- what is stored, and when it is not -------------------------------------------------------------------------------


@ON_DISK
@pytest.mark.req("S-19", "R-16")
async def test_the_episode_and_what_it_was_made_of_are_one_transaction(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.breaks = True

    (result,) = (await face.sessions.end(**SESSION))["results"]

    assert result["distillation"] == "error:RuntimeError"
    assert await episodes(face) == [], "what was stored before it broke is undone"
    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 1)]
    distiller.breaks = False
    await face.sessions.flush(everybody=True)
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
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 1}, "only what was read is done with"

    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert distiller.seen == [[LONG], [_MORE]]


@pytest.mark.req("S-23", "S-19")
async def test_after_distilling_it_is_found_and_shown_at_once(opens: Opens) -> None:
    output = {"gate": "always", "false_injection": 0}
    face = opens({"preset": "companion", **digests(debounce_seconds=3600), "context": output})
    await face.add("My sister lives in Bergen, and I visit her there every summer with my two children.", **SESSION)
    before = await face.context("Where does my sister live?", user_id="alice", agent_id="guide")
    assert "sister" not in before.text
    await face.sessions.end(**SESSION)

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
    await face.sessions.flush(everybody=True)
    assert await episodes(face) == []
    assert await pending(face) == (0, 0)


# --- failures ---------------------------------------------------------------------------------------------------------

_PASSING: Final[dict[str, tuple[MemstoneError, str]]] = {
    "the breaker is open": (LlmUnavailable("not asked"), "skipped:breaker_open"),
    "it is busy": (RateLimited("slow down"), "skipped:model_in_use"),
    "it is down": (BackendUnavailable("nobody there"), "skipped:core_model_unavailable"),
    "it is not in memory yet": (BackendUnavailable("host answered 503: Loading model"), "skipped:not_resident"),
    "the key is wrong": (AuthenticationFailed("who are you"), "skipped:core_model_unavailable"),
}
_REAL: Final[dict[str, MemstoneError]] = {
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
    distiller.fails = [DistillResult(f"error:{error.code}", error=error) for _ in range(5)]

    for _ in range(5):
        assert (await face.sessions.end(**SESSION))["results"][0]["distillation"] == outcome

    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 0)]
    assert await outcomes(face) == [outcome], "and is logged once"
    await face.sessions.flush(everybody=True)
    assert await pending(face) == (0, 0)
    assert len(await episodes(face)) == 1


@ON_DISK
@pytest.mark.req("N-19", "N-17", "S-56", "R-16")
@pytest.mark.parametrize("why", _REAL)
async def test_real_errors_count_and_the_third_is_the_last(opens: Opens, distiller: Distiller, why: str) -> None:
    error = _REAL[why]
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.fails = [DistillResult(f"error:{error.code}", error=error) for _ in range(3)]

    lines = [(await face.sessions.end(**SESSION))["results"] for _ in range(3)]

    assert [one["distillation"] for (one,) in lines] == [f"error:{error.message}"] * 2 + ["dead_letter:3"]
    assert await pending(face) == (0, 1)
    ((status, attempts, problem),) = opens.rows("SELECT status, attempts, last_error FROM signals")
    assert (status, attempts) == ("dead", 3)
    assert error.message in problem
    assert [job["status"] for job in (await face.admin.jobs(everybody=True))["results"]] == [
        "dead_letter",
        "error",
        "error",
    ]
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}, "nobody tries it for ever"


@pytest.mark.req("N-19", "N-17")
async def test_an_answer_that_cannot_be_used_is_the_end_of_it(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    distiller.fails = [DistillResult("error:bad_model_output", error=BadModelOutput("prose"))]
    assert (await face.sessions.end(**SESSION))["results"][0]["distillation"] == "empty:no_episode"
    assert await pending(face) == (0, 0)
    assert (await face.admin.jobs(everybody=True))["results"][0]["status"] == "empty"


@ON_DISK
@pytest.mark.req("N-19")
async def test_how_often_is_a_setting(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual", max_attempts=1))
    await face.add(LONG, **SESSION)
    distiller.fails = [RuntimeError("a mistake of ours")]
    assert (await face.sessions.end(**SESSION))["results"][0]["distillation"] == "dead_letter:1"


@pytest.mark.req("N-19")
async def test_one_that_fails_holds_up_no_other(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    await face.add(_MORE, **{**SESSION, "run_id": "tuesday"})
    distiller.fails = [DistillResult("error:llm", error=LLMError("it broke"))]
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 1}


# --- without a model --------------------------------------------------------------------------------------------------


@ON_DISK
@pytest.mark.req("S-22", "N-22", "N-17")
@pytest.mark.parametrize("digest", [True, False])
async def test_without_a_model_sessions_wait_until_there_is_one(opens: Opens, digest: bool) -> None:  # noqa: FBT001
    waits = later("session_end", digest=digest, debounce_seconds=0, without_llm="wait")
    face = opens(waits)
    await face.add(LONG, **SESSION)
    assert (await face.sessions.end(**SESSION))["results"][0]["distillation"] == "skipped:core_model_unset"
    assert await pending(face) == (1, 0)
    await face.close()

    facts: dict[str, Any] = {"facts": [], "decisions": [], "episode": {"summary": "Alice told about her life in Oslo."}}
    started = opens(waits, llm=ScriptedLlm(lambda _: facts))
    opens.clock.advance(seconds=10)
    await started.admin.work(0)

    assert await pending(started) == (0, 0), "what waited is due when somebody starts who can do it"
    assert (await outcomes(started))[-1] == "distilled"


@pytest.mark.req("S-22")
async def test_rules_distil_where_there_is_no_model(opens: Opens) -> None:
    face = opens(digests("manual"))
    await face.add(LONG, **SESSION)
    assert (await face.sessions.end(**SESSION))["results"][0]["distillation"] == "distilled"
    assert len(await episodes(face)) == 1


@pytest.mark.req("X-8", "S-19")
@pytest.mark.parametrize("digest", [True, False])
async def test_a_project_sees_what_its_sessions_became(opens: Opens, digest: bool) -> None:  # noqa: FBT001 - a case
    face = opens(later("manual", digest=digest))
    await face.add(LONG, **SESSION, project_id="house")
    await face.sessions.flush(everybody=True)
    seen = await face.get_all(user_id="project:house", layers=["fact", "episode"])
    own = await face.get_all(user_id="alice", layers=["fact", "episode"])
    assert own["results"]
    assert {item["id"] for item in seen["results"]} == {item["id"] for item in own["results"]}
