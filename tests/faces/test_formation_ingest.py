"""Whole conversations: taken in, distilled at once, and replaced when they come again."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.engine.layers.distill import DistillResult
from memstone.errors import BackendUnavailable, LLMError, MemstoneError
from tests.faces.formation_steps import (
    LONG,
    SESSION,
    Distiller,
    digests,
    distiller,
    episodes,
    later,
    pending,
)
from tests.faces.harness import ON_DISK, Face, Opens

__all__ = ["distiller"]

_MORE: Final = "On Sundays I bake bread with her, and in the winter we always go skiing in the hills behind our house."
_TURNS: Final = [
    {"user": LONG, "assistant": "Nine years, that is a long time!", "date": "2025-11-03"},
    {"user": _MORE, "assistant": ""},
]


@pytest.mark.req("N-17", "R-16")
async def test_ingesting_a_session_waits_for_its_memory_and_says_what_came_of_it(opens: Opens) -> None:
    face = opens(digests(debounce_seconds=3600))

    answer = await face.sessions.ingest(_TURNS, occurred_at="2025-12-24", **SESSION)

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
    await face.sessions.ingest(_TURNS, **SESSION)
    stored = {item["memory"]: item["id"] for item in (await face.get_all(layers=["turn"], **SESSION))["results"]}
    await face.add("And this is said in between, and waits.", **SESSION)

    await face.sessions.ingest(_TURNS[:1], **SESSION)

    assert len(await episodes(face, **SESSION)) == 1
    now = {item["memory"]: item["id"] for item in (await face.get_all(layers=["turn"], **SESSION))["results"]}
    assert sorted(now) == sorted([LONG, "Nine years, that is a long time!"])
    assert all(stored[text] == turn for text, turn in now.items()), "the words that stayed are the evidence they were"
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
        runtime = face.memory.engine.runtime
        await runtime.ledger.write(lambda tx: tx.signals.clear(runtime.scope(SESSION)))

    distiller.during = replaced
    await face.sessions.flush(everybody=True)
    assert await episodes(face) == []


@pytest.mark.req("N-17")
async def test_words_alone_can_be_ingested(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests())
    answer = await face.sessions.ingest(_TURNS, skip_extraction=True, **SESSION)
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
    distiller.fails = [DistillResult(outcome, error=error)]
    answer = await face.sessions.ingest(_TURNS, **SESSION)
    assert (answer["status"], answer["distillation"]) == (status, outcome)
    assert await pending(face) == (0 if status == "ok" else 1, 0)


@pytest.mark.req("N-17", "R-16")
async def test_a_dead_letter_is_no_success(opens: Opens, distiller: Distiller) -> None:
    face = opens(digests(max_attempts=1))
    distiller.fails = [DistillResult("error:llm", error=LLMError("it broke"))]
    answer = await face.sessions.ingest(_TURNS, **SESSION)
    assert (answer["status"], answer["distillation"]) == ("failed", "dead_letter:1")


@pytest.mark.req("N-17", "D-8")
async def test_a_switched_off_memory_ingests_nothing(opens: Opens) -> None:
    face = opens({**digests(), "policy": {"enabled": False}})
    answer = await face.sessions.ingest(_TURNS, **SESSION)
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
    with pytest.raises(MemstoneError):
        await face.sessions.ingest(**{**SESSION, **wrong})
    stats = await face.stats()
    assert (stats["memories"], stats["pending"]) == (0, 0)


async def test_facts_of_a_session_are_learned_where_nothing_is_distilled(opens: Opens) -> None:
    face: Face = opens(later("session_end", debounce_seconds=3600))
    answer = await face.sessions.ingest([{"user": "I live in Oslo."}, {"user": "I love tea."}], **SESSION)
    assert (answer["status"], answer["distillation"]) == ("ok", "distilled")
    assert sorted(await face.listed(**SESSION)) == ["User lives in Oslo.", "User loves tea."]


@pytest.mark.req("S-63", "D-11")
async def test_a_conversation_that_comes_again_counts_once_for_what_it_tells(opens: Opens) -> None:
    face = opens({"preset": "companion"})

    async def ingested(run: str, *texts: str) -> dict[str, int]:
        turns = [{"user": text, "assistant": "I see."} for text in texts]
        answer = await face.sessions.ingest(turns, user_id="alice", agent_id="coach", run_id=run)
        assert answer["distillation"] == "distilled"
        found = (await face.profile.facts(user_id="alice", agent_id="coach"))["results"]
        return {one["content"]: one["source_count"] for one in found}

    job = "I moved to Oslo last spring because I got a new job as a gardener at the botanical garden of Contoso."
    (moved,) = await ingested("m1", job)
    for run, count in (("m2", 2), ("m1", 2), ("m1", 2), ("m2", 2), ("m3", 3), ("m2", 3)):
        assert await ingested(run, job) == {moved: count}, run
    grown = await ingested("m1", job, "I also have a dog called Rex, who is nine years old and quite slow by now.")
    assert grown[moved] == 3
    other = "Volcanoes are made where molten rock comes up through the crust, which is thin in the middle of an ocean."
    gone = await ingested("m1", other)
    assert gone[moved] == 2
    assert {count for text, count in gone.items() if "Rex" in text} == {0}
