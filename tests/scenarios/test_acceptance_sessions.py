"""Every word that says how a session ended, brought about by a model, a setting or the words themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.errors import (
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    LLMError,
    LlmUnavailable,
    ModelRefused,
    RateLimited,
)
from memstone.testing.clock import FakeClock
from memstone.testing.llm import Answer, ScriptedLlm

SESSION: Final[dict[str, Any]] = {"user_id": "alice", "agent_id": "guide", "run_id": "monday"}
LONG: Final = "My name is Alice and I live in Oslo. I have worked as a nurse at the harbour clinic for nine years now."
EPISODE: Final = {"summary": "Alice spoke about her work.", "topics": [], "decisions": [], "action_items": []}
DIGEST: Final[dict[str, object]] = {"episode": EPISODE, "entities": [], "pinned_candidates": [], "identity_facts": []}


def interrupted(_: Any) -> Answer:
    raise KeyboardInterrupt


@dataclass(frozen=True)
class Ending:
    """What a model does with a session, what else is set, and what is left to do afterwards: signals, dead ones."""

    outcome: str
    answers: Callable[[Any], Answer] | Sequence[Answer] | None = None
    write: dict[str, Any] = field(default_factory=dict)
    said: str = LONG
    pending: int = 0
    dead: int = 0


def waits(outcome: str, *errors: Exception) -> Ending:
    return Ending(outcome, list(errors) * 2, pending=1)


ENDINGS: Final = [
    Ending("distilled"),
    Ending("distilled", [DIGEST]),
    Ending("skipped:core_model_unset", write={"without_llm": "wait"}, pending=1),
    waits("skipped:core_model_unavailable", BackendUnavailable("no answer from host")),
    waits("skipped:core_model_unavailable", AuthenticationFailed("host answered 401")),
    waits("skipped:not_resident", BackendUnavailable("host answered 503: Loading model")),
    waits("skipped:breaker_open", LlmUnavailable("not asked")),
    waits("skipped:model_in_use", RateLimited("host answered 429")),
    Ending("skipped:low_novelty:6chars", said="Hello!"),
    Ending("skipped:cancelled", interrupted, pending=1),
    Ending("distilled", ["I cannot do that."] * 2),
    Ending("empty:no_episode", ["I cannot do that."] * 2, write={"without_llm": "wait"}),
    Ending("empty:empty_summary", [{**DIGEST, "episode": {**EPISODE, "summary": " "}}] * 2),
    waits("error:too slow", BackendTimeout("too slow")),
    waits("error:no", ModelRefused("no")),
    Ending("dead_letter:1", [LLMError("it broke")] * 2, {"max_attempts": 1}, dead=1),
]


@pytest.fixture
def opens() -> Iterator[Callable[[Ending], Memory]]:
    """Opens memories of companions whose sessions end when they are told to."""
    made: list[Memory] = []

    def opened(ending: Ending) -> Memory:
        settings = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}, "preset": "companion"}
        llm = None if ending.answers is None else ScriptedLlm(ending.answers)
        made.append(Memory({**settings, "write": {"mode": "manual", **ending.write}}, clock=FakeClock(), llm=llm))
        return made[-1]

    yield opened
    for memory in made:
        memory.close()


@pytest.mark.req("N-17", "N-19", "S-15", "S-22")
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.outcome)
def test_a_session_ends_in_the_word_for_it(opens: Callable[[Ending], Memory], ending: Ending) -> None:
    memory = opens(ending)
    memory.add(ending.said, **SESSION)

    with suppress(KeyboardInterrupt):
        (answer,) = memory.sessions.end(**SESSION)["results"]
        assert answer["distillation"] == ending.outcome

    (job,) = memory.admin.jobs(task="distill", everybody=True)["results"]
    assert job["outcome"] == ending.outcome
    stats = memory.stats()
    assert (stats["pending"], stats["dead"]) == (ending.pending, ending.dead)
    assert len(memory.sessions.episodes(user_id="alice")["results"]) == (ending.outcome == "distilled")
    assert len(memory.get_all(user_id="alice", layers=["turn"])["results"]) == 1, "what was said is kept, come what may"


@pytest.mark.req("N-17", "R-16")
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.outcome)
def test_ingest_tells_the_same_word_and_says_ok_only_when_nothing_is_left(
    opens: Callable[[Ending], Memory], ending: Ending
) -> None:
    memory = opens(ending)
    with suppress(KeyboardInterrupt):
        answer = memory.sessions.ingest([{"user": ending.said}], **SESSION)
        assert answer["distillation"] == ending.outcome
        status = "pending" if ending.pending else "failed" if ending.dead else "ok"
        assert (answer["status"], answer["turns_ingested"]) == (status, 1)


@pytest.mark.req("N-17")
def test_words_without_a_session_and_a_memory_that_is_off_have_words_of_their_own(
    opens: Callable[[Ending], Memory],
) -> None:
    memory = opens(Ending("no_signals"))
    answer = memory.sessions.ingest([{"user": LONG}], skip_extraction=True, **SESSION)
    assert (answer["status"], answer["distillation"]) == ("ok", "no_signals")

    memory.add("I moved to Bergen in the spring, because of a position at the university hospital.", **SESSION)
    memory.settings.set({"policy.enabled": False})
    (reply,) = memory.sessions.end(**SESSION)["results"]
    assert reply["distillation"] == "skipped:memory_disabled"
    assert memory.stats()["pending"] == 1, "it is there when memory is switched on again"
    memory.settings.set({"policy.enabled": True})
    assert memory.sessions.end(**SESSION)["results"][0]["distillation"] == "distilled"


@pytest.mark.req("N-18", "N-17")
def test_ingesting_a_conversation_twice_leaves_one_of_everything(opens: Callable[[Ending], Memory]) -> None:
    memory = opens(Ending("distilled"))
    turns = [{"user": LONG, "assistant": "How nice!"}, {"user": "I love green tea."}]

    def left() -> tuple[list[str], ...]:
        rows = [memory.get_all(user_id="alice", layers=[layer])["results"] for layer in ("fact", "episode", "turn")]
        return tuple(sorted(one["memory"] for one in of) for of in rows)

    first = memory.sessions.ingest(turns, **SESSION)
    once = left()
    second = memory.sessions.ingest(turns, **SESSION)

    assert (first["distillation"], second["distillation"]) == ("distilled", "distilled")
    assert left() == once
    assert [len(of) for of in once] == [4, 1, 3]
