from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from memstone.adapters.io.aio import AsyncIo
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.llm.breaker import GuardedLlm
from memstone.drive import drive
from memstone.errors import (
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    LLMError,
    LlmUnavailable,
    MemstoneError,
    RateLimited,
)
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt, Reply
from memstone.testing.llm import Answer, ScriptedLlm
from memstone.testing.modes import MODES, run

both = pytest.mark.parametrize("mode", MODES)

PROMPT = Prompt([{"role": "user", "content": "done"}])
DOWN = BackendUnavailable("down")
WRONG = LLMError("wrong")


class Watch:
    """A clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        """The time it was set to."""
        return self.seconds


async def outcomes(guard: GuardedLlm, times: int) -> list[str]:
    """The texts answered and the codes of errors raised."""
    return [await outcome(guard) for _ in range(times)]


async def outcome(guard: GuardedLlm) -> str:
    try:
        return (await guard.generate(PROMPT)).text
    except MemstoneError as error:
        return error.code


def tried(mode: str, answers: list[Answer], *waits: float, **options: Any) -> tuple[list[str], int]:
    """What one call after each wait comes to, and how often the model was asked."""
    inner, watch = ScriptedLlm(answers), Watch()

    async def scenario(io: Io) -> list[str]:
        guard = GuardedLlm(inner, io, watch, **options)
        found = []
        for wait in waits:
            watch.seconds += wait
            found.append(await outcome(guard))
        return found

    return run(mode, scenario), len(inner.prompts)


@both
def test_answers_and_errors_pass_through(mode: str) -> None:
    assert tried(mode, ["a", WRONG, DOWN, "b"], 0, 0, 0, 0) == (["a", "llm", "backend_unavailable", "b"], 4)


@both
@pytest.mark.parametrize("error", [DOWN, BackendTimeout("slow"), RateLimited("slow down")])
def test_after_failures_in_a_row_the_model_is_not_asked(mode: str, error: Exception) -> None:
    found, asked = tried(mode, [error] * 9, *[0] * 8, open_after=3)
    assert found[3:] == ["llm_unavailable"] * 5
    assert "llm_unavailable" not in found[:3]
    assert asked == 3


@both
@pytest.mark.parametrize("between", ["fine", WRONG, AuthenticationFailed("no")])
def test_anything_but_a_passing_failure_ends_the_row(mode: str, between: Answer) -> None:
    found, asked = tried(mode, [DOWN, DOWN, between, DOWN, DOWN, "end"], *[0] * 6, open_after=3)
    assert asked == 6
    assert found[-1] == "end"


@both
def test_after_the_pause_one_answer_makes_all_well(mode: str) -> None:
    found, asked = tried(mode, [DOWN, DOWN, "a", DOWN, "b"], 0, 0, 29, 1, 0, 0, open_after=2)
    assert found == ["backend_unavailable", "backend_unavailable", "llm_unavailable", "a", "backend_unavailable", "b"]
    assert asked == 5


@both
def test_after_the_pause_one_failure_starts_it_anew(mode: str) -> None:
    found, asked = tried(mode, [DOWN] * 5, 0, 0, 30, 29, 1, open_after=2)
    assert found == ["backend_unavailable"] * 3 + ["llm_unavailable", "backend_unavailable"]
    assert asked == 4


@both
def test_a_refusal_says_what_happened_and_when_to_try_again(mode: str) -> None:
    watch = Watch()

    async def scenario(io: Io) -> str:
        guard = GuardedLlm(ScriptedLlm([DOWN] * 2), io, watch, open_after=2, cool_down=40)
        await outcomes(guard, 2)
        watch.seconds += 15
        with pytest.raises(LlmUnavailable) as caught:
            await guard.generate(PROMPT)
        assert isinstance(caught.value, LLMError)
        assert caught.value.retryable
        return str(caught.value)

    assert run(mode, scenario) == (
        "model scripted at this machine is not called after 2 failures in a row "
        "(try again in 25 s; the last failure was backend_unavailable)"
    )


@both
def test_only_one_call_tries_a_model_that_was_down(mode: str) -> None:
    watch = Watch()
    beside: list[str] = []

    async def scenario(io: Io) -> str:
        class Trial(ScriptedLlm):
            async def generate(self, prompt: Prompt) -> Reply:
                if len(self.prompts) == 2:
                    beside.append(await outcome(guard))
                return await super().generate(prompt)

        guard = GuardedLlm(Trial([DOWN, DOWN, "back"]), io, watch, open_after=2)
        await outcomes(guard, 2)
        watch.seconds += 30
        return await outcome(guard)

    assert run(mode, scenario) == "back"
    assert beside == ["llm_unavailable"]


@both
def test_a_bug_in_a_trial_leaves_the_next_call_to_try(mode: str) -> None:
    watch = Watch()

    async def scenario(io: Io) -> list[str]:
        guard = GuardedLlm(ScriptedLlm([DOWN, DOWN, ZeroDivisionError(), "back", "again"]), io, watch, open_after=2)
        await outcomes(guard, 2)
        watch.seconds += 30
        with pytest.raises(ZeroDivisionError):
            await guard.generate(PROMPT)
        return await outcomes(guard, 2)

    assert run(mode, scenario) == ["back", "again"]


def test_it_looks_like_the_model_it_guards() -> None:
    guard: Llm = GuardedLlm(ScriptedLlm([], model="small"), BlockingIo())
    assert (guard.model, guard.destination) == ("small", "this machine")


@pytest.mark.parametrize("options", [{"max_concurrent": 0}, {"open_after": 0}])
def test_limits_below_one_are_refused(options: Any) -> None:
    with pytest.raises(ConfigError):
        GuardedLlm(ScriptedLlm([]), BlockingIo(), **options)


# --- how many at once -------------------------------------------------------------------------------------------------


class Busy:
    """Counts who is inside, and keeps everybody there until told."""

    model = destination = "busy"

    def __init__(self, entered: Callable[[], None], hold: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.inside = self.peak = self.calls = 0
        self._entered, self._hold = entered, hold
        self._lock = threading.Lock()

    async def generate(self, prompt: Prompt) -> Reply:
        """Enter, stay, leave."""
        with self._lock:
            self.inside += 1
            self.calls += 1
            self.peak = max(self.peak, self.inside)
        self._entered()
        await self._hold()
        with self._lock:
            self.inside -= 1
        return Reply(prompt.messages[0]["content"])


@pytest.mark.parametrize("limit", [1, 3])
def test_threads_wait_for_a_slot_and_all_are_served(limit: int) -> None:
    entered, go_on = threading.Semaphore(0), threading.Event()

    async def hold() -> None:
        go_on.wait(120)

    inner = Busy(entered.release, hold)
    guard = GuardedLlm(inner, BlockingIo(), max_concurrent=limit)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(drive(outcome(guard)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert all(entered.acquire(timeout=120) for _ in range(limit))
    assert not entered.acquire(timeout=0.2)  # one too many would be inside at once
    assert all(thread.is_alive() for thread in threads)
    go_on.set()
    for thread in threads:
        thread.join(120)
    assert texts == ["done"] * 8
    assert (inner.calls, inner.peak) == (8, limit)


def test_gathered_calls_of_the_blocking_io_are_bounded_too() -> None:
    both_in = threading.Barrier(2)

    async def hold() -> None:
        both_in.wait(120)

    io = BlockingIo(threads=6)
    inner = Busy(lambda: None, hold)
    guard = GuardedLlm(inner, io, max_concurrent=2)
    assert drive(io.gather(*(outcome(guard) for _ in range(6)))) == ["done"] * 6
    assert inner.peak == 2
    drive(io.close())


@pytest.mark.parametrize("limit", [1, 3])
def test_tasks_wait_for_a_slot_and_all_are_served(limit: int) -> None:
    async def scenario() -> tuple[int, int, list[str]]:
        go_on = asyncio.Event()
        inner = Busy(lambda: None, go_on.wait)
        guard = GuardedLlm(inner, AsyncIo(), max_concurrent=limit)
        tasks = [asyncio.create_task(outcome(guard)) for _ in range(8)]
        for _ in range(50):
            await asyncio.sleep(0)
        waiting = inner.inside
        go_on.set()
        return waiting, inner.peak, await asyncio.gather(*tasks)

    assert asyncio.run(scenario()) == (limit, limit, ["done"] * 8)


def test_a_cancelled_task_gives_its_slot_back_whether_it_waits_or_holds_it() -> None:
    async def scenario() -> list[str]:
        go_on = asyncio.Event()
        guard = GuardedLlm(Busy(lambda: None, go_on.wait), AsyncIo(), max_concurrent=2)
        tasks = [asyncio.create_task(outcome(guard)) for _ in range(6)]
        for _ in range(20):
            await asyncio.sleep(0)
        for task in (tasks[0], tasks[1], tasks[3]):  # two hold a slot, one waits
            task.cancel()
        ended = await asyncio.gather(tasks[0], tasks[1], tasks[3], return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ended)
        go_on.set()
        return await asyncio.gather(tasks[2], *tasks[4:], outcome(guard), outcome(guard))

    assert asyncio.run(scenario()) == ["done"] * 5


def test_one_guard_serves_one_event_loop_after_the_other() -> None:
    guard = GuardedLlm(ScriptedLlm(lambda _: "done"), AsyncIo(), max_concurrent=1)

    async def scenario() -> list[str]:
        return await asyncio.gather(*(outcome(guard) for _ in range(4)))

    assert [asyncio.run(scenario()) for _ in range(2)] == [["done"] * 4] * 2


@both
def test_an_error_gives_the_slot_back(mode: str) -> None:
    found, _ = tried(mode, [WRONG, DOWN, "fine"], 0, 0, 0, max_concurrent=1)
    assert found == ["llm", "backend_unavailable", "fine"]


def test_a_forked_child_does_not_wait_for_its_parents_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    in_child: list[str] = []

    async def hold() -> None:
        if not in_child:  # the process id changes while the only slot is held, as it does for a forked child
            in_child.append("began")
            with monkeypatch.context() as patch:
                patch.setattr(os, "getpid", lambda: -1)
                in_child.append(await outcome(guard))

    guard = GuardedLlm(Busy(lambda: None, hold), BlockingIo(), max_concurrent=1)
    assert drive(outcome(guard)) == "done"
    assert in_child == ["began", "done"]
