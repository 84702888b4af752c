from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from memstone.adapters.clock import SystemClock
from memstone.adapters.embed.callable import CallableEmbedder
from memstone.adapters.llm.callable import CallableLlm
from memstone.errors import ConfigError, DimensionMismatch, EmbeddingError, LLMError, RateLimited, Unsupported
from memstone.ports.io import Clock, Io
from memstone.ports.models import Embedder, Llm, Prompt, Reply
from memstone.testing.clock import FakeClock
from memstone.testing.llm import ScriptedLlm
from memstone.testing.modes import MODES, run

both = pytest.mark.parametrize("mode", MODES)

Function = Callable[[list[str]], Any]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[3.0 * len(text), 4.0 * len(text)] for text in texts]


def rows_of(mode: str, function: Function, *calls: list[str]) -> list[Any]:
    async def scenario(io: Io) -> list[Any]:
        embedder = CallableEmbedder(function, io)
        return [await embedder.embed(texts) for texts in calls]

    return run(mode, scenario)


# --- embedder ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("wrap", [list, np.array, lambda rows: np.array(rows, dtype=np.float16)])
def test_rows_of_a_function_have_length_one_and_zeros_stay_zeros(mode: str, wrap: Callable[[Any], Any]) -> None:
    (rows,) = rows_of(mode, lambda texts: wrap(lengths(texts)), ["tea", "", "coffee"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]], atol=1e-6)


@both
def test_very_large_and_very_small_numbers_still_have_length_one(mode: str) -> None:
    (rows,) = rows_of(mode, lambda _: [[3e300, 4e300], [3e-300, 4e-300]], ["a", "b"])
    np.testing.assert_allclose(rows, [[0.6, 0.8]] * 2, atol=1e-6)


@both
def test_the_dimension_is_asked_for_once(mode: str) -> None:
    asked: list[list[str]] = []

    def function(texts: list[str]) -> Any:
        asked.append(texts)
        return lengths(texts)

    async def scenario(io: Io) -> tuple[Any, ...]:
        embedder: Embedder = CallableEmbedder(function, io)
        empty = (await embedder.embed([])).shape
        return empty, await embedder.dimension(), await embedder.dimension()

    assert run(mode, scenario) == ((0, 2), 2, 2)
    assert len(asked) == 1


@both
@pytest.mark.parametrize(
    "answer",
    [
        [[1.0, 2.0]],
        [1.0, 2.0],
        [[1.0], [1.0, 2.0]],
        [[], []],
        [[1.0, float("nan")], [1.0, 1.0]],
        [[1.0, float("-inf")], [1.0, 1.0]],
        [["a", "b"], ["c", "d"]],
        None,
        "vectors",
    ],
)
def test_an_answer_that_is_not_one_row_per_text_is_an_embedding_error(mode: str, answer: Any) -> None:
    with pytest.raises(EmbeddingError, match="embedder"):
        rows_of(mode, lambda _: answer, ["a", "b"])


@both
def test_another_length_than_before_is_a_dimension_mismatch(mode: str) -> None:
    with pytest.raises(DimensionMismatch, match="length 3, expected 2") as caught:
        rows_of(mode, lambda texts: np.ones((len(texts), len(texts) + 1)), ["a"], ["a", "b"])
    assert caught.value.hint


@both
def test_an_exception_of_the_function_is_the_cause_of_an_embedding_error(mode: str) -> None:
    def function(_: list[str]) -> Any:
        raise ConnectionError("no route")

    with pytest.raises(EmbeddingError, match="no route") as caught:
        rows_of(mode, function, ["a"])
    assert isinstance(caught.value.__cause__, ConnectionError)


@both
def test_an_error_of_ours_passes_as_it_is(mode: str) -> None:
    def function(_: list[str]) -> Any:
        raise RateLimited("slow down", retry_after=3)

    with pytest.raises(RateLimited):
        rows_of(mode, function, ["a"])


@pytest.mark.req("C-49")
def test_under_asyncio_the_function_runs_off_the_loops_thread() -> None:
    seen: list[int] = []

    def function(texts: list[str]) -> Any:
        seen.append(threading.get_ident())
        return lengths(texts)

    rows_of("asyncio", function, ["a"])
    rows_of("blocking", function, ["a"])
    assert [thread == threading.get_ident() for thread in seen] == [False, True]


class Encoder:
    """An object that can be called, as model wrappers often are."""

    def __call__(self, texts: list[str]) -> Any:
        """Vectors."""
        return lengths(texts)

    def encode(self, texts: list[str]) -> Any:
        """Vectors."""
        return lengths(texts)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lengths, "lengths"),
        (functools.partial(functools.partial(lengths)), "lengths"),
        (Encoder(), "Encoder"),
        (Encoder().encode, "Encoder.encode"),
    ],
)
def test_the_model_is_named_after_the_function(function: Function, name: str) -> None:
    async def scenario(io: Io) -> tuple[str, str, int]:
        embedder = CallableEmbedder(function, io)
        return embedder.provider, embedder.model, await embedder.dimension()

    assert run("blocking", scenario) == ("callable", name, 2)


async def an_async_function(texts: list[str]) -> Any:
    return lengths(texts)


class AsyncEncoder:
    """Its call is async."""

    async def __call__(self, texts: list[str]) -> Any:
        """Vectors."""
        return lengths(texts)


@pytest.mark.parametrize(
    "wrong", ["text", None, an_async_function, AsyncEncoder(), functools.partial(an_async_function)]
)
@pytest.mark.parametrize("adapter", [CallableEmbedder, CallableLlm])
def test_what_cannot_be_called_plainly_is_a_config_error(wrong: Any, adapter: Any) -> None:
    async def scenario(io: Io) -> None:
        adapter(wrong, io)

    with pytest.raises(ConfigError):
        run("blocking", scenario)


# --- language model ---------------------------------------------------------------------------------------------------

PROMPT = Prompt([{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}])


def generated(mode: str, function: Any, prompt: Prompt = PROMPT) -> Reply:
    async def scenario(io: Io) -> Reply:
        llm: Llm = CallableLlm(function, io)
        return await llm.generate(prompt)

    return run(mode, scenario)


@both
def test_a_function_is_given_the_messages_and_gives_the_text(mode: str) -> None:
    def shout(messages: list[dict[str, str]]) -> str:
        messages[1]["role"] = "changed"
        return messages[1]["content"].upper()

    assert generated(mode, shout) == Reply("HELLO")
    assert PROMPT.messages[1]["role"] == "user"


@both
@pytest.mark.parametrize("answer", [None, b"bytes", {"content": "x"}])
def test_an_answer_that_is_not_text_is_an_llm_error(mode: str, answer: object) -> None:
    with pytest.raises(LLMError, match="must return text"):
        generated(mode, lambda _: answer)


@both
def test_an_exception_of_the_function_is_the_cause_of_an_llm_error(mode: str) -> None:
    def broken(_: object) -> str:
        raise KeyError("choices")

    with pytest.raises(LLMError, match="choices") as caught:
        generated(mode, broken)
    assert isinstance(caught.value.__cause__, KeyError)


@both
def test_tools_are_refused_and_not_dropped(mode: str) -> None:
    with pytest.raises(Unsupported):
        generated(mode, lambda _: "text", Prompt(PROMPT.messages, tools=[{"name": "search"}]))


# --- the shipped fakes ------------------------------------------------------------------------------------------------


def played(llm: ScriptedLlm, times: int) -> list[Reply]:
    async def scenario(_: Io) -> list[Reply]:
        model: Llm = llm
        return [await model.generate(PROMPT) for _ in range(times)]

    return run("blocking", scenario)


def test_a_script_is_played_in_order_and_what_was_asked_is_kept() -> None:
    reply = Reply("third", input_tokens=5)
    llm = ScriptedLlm(["first", {"facts": ["second"]}, reply])
    assert played(llm, 3) == [Reply("first"), Reply('{"facts": ["second"]}'), reply]
    assert llm.prompts == [PROMPT] * 3


def test_an_error_in_a_script_is_raised_and_so_is_the_end_of_it() -> None:
    llm = ScriptedLlm([RateLimited("later")])
    with pytest.raises(RateLimited):
        played(llm, 1)
    with pytest.raises(LLMError, match="no more answers"):
        played(llm, 1)
    assert len(llm.prompts) == 2


def test_a_script_may_be_a_function_of_the_prompt() -> None:
    assert played(ScriptedLlm(lambda prompt: prompt.messages[-1]["content"]), 1) == [Reply("hello")]


def test_a_fake_clock_moves_only_when_it_is_told_to() -> None:
    clock = FakeClock(datetime(2026, 5, 7, 11, 30, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now() == clock.now() == datetime(2026, 5, 7, 9, 30, tzinfo=UTC)
    assert clock.advance(days=1, hours=1, minutes=1, seconds=1.5) == datetime(2026, 5, 8, 10, 31, 1, 500000, tzinfo=UTC)
    clock.set(datetime(2026, 1, 1))  # noqa: DTZ001 - without a zone is the case
    assert clock.now() == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_a_clock_is_aware_and_in_utc(clock: Clock) -> None:
    assert clock.now().utcoffset() == timedelta(0)
