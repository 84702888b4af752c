from __future__ import annotations

import asyncio

import pytest

from memstone.adapters.retry import with_retry
from memstone.errors import (
    AuthenticationFailed,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    EmbeddingError,
    RateLimited,
    StorageBusy,
)
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run

both = pytest.mark.parametrize("mode", MODES)
pytestmark = pytest.mark.req("C-53")


class Flaky:
    """Fails with each error in turn, then works."""

    def __init__(self, *errors: BaseException) -> None:
        self.calls = 0
        self._errors = list(errors)

    async def __call__(self) -> str:
        """Fail or work."""
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return "done"


def tried(mode: str, call: Flaky, retries: int = 3, base: float = 1.0) -> tuple[str, list[float]]:
    naps: list[float] = []

    async def scenario(io: Io) -> str:
        return await with_retry(io, call, retries=retries, base=base)

    return run(mode, scenario, naps=naps), naps


@both
def test_what_works_is_called_once(mode: str) -> None:
    call = Flaky()
    assert tried(mode, call) == ("done", [])
    assert call.calls == 1


@both
@pytest.mark.parametrize("error", [RateLimited("x"), BackendTimeout("x"), BackendUnavailable("x"), StorageBusy("x")])
def test_a_passing_error_is_tried_again_with_doubled_pauses(mode: str, error: Exception) -> None:
    answer, naps = tried(mode, Flaky(error, error, error))
    assert (answer, [int(nap) for nap in naps]) == ("done", [1, 2, 4])


@both
def test_the_fourth_failure_rises_as_it_is(mode: str) -> None:
    errors = [BackendUnavailable(f"failure {n}") for n in range(1, 6)]
    call = Flaky(*errors)
    with pytest.raises(BackendUnavailable) as caught:
        tried(mode, call)
    assert caught.value is errors[3]
    assert call.calls == 4


@both
@pytest.mark.parametrize(
    "error", [EmbeddingError("x"), AuthenticationFailed("x"), BackendRejected("x"), ValueError("x"), ConnectionError()]
)
def test_any_other_error_rises_at_once(mode: str, error: Exception) -> None:
    call = Flaky(error)
    with pytest.raises(type(error)) as caught:
        tried(mode, call)
    assert caught.value is error
    assert call.calls == 1


@both
def test_the_pause_is_what_the_provider_asks_for(mode: str) -> None:
    down = BackendUnavailable("x")
    down.retry_after = 30.0
    _, naps = tried(mode, Flaky(RateLimited("x", retry_after=5.5), RateLimited("x", retry_after=0.1), down))
    for nap, least in zip(naps, (5.5, 2.0, 30.0), strict=True):
        assert least <= nap <= 1.2 * least


@both
def test_a_provider_that_asks_for_more_than_a_minute_is_not_tried_again(mode: str) -> None:
    call = Flaky(RateLimited("x"), RateLimited("x", retry_after=61.0))
    with pytest.raises(RateLimited):
        tried(mode, call)
    assert call.calls == 2


@both
def test_no_retries_means_one_call_and_the_base_scales_the_pauses(mode: str) -> None:
    with pytest.raises(RateLimited):
        tried(mode, Flaky(RateLimited("x")), retries=0)
    _, naps = tried(mode, Flaky(RateLimited("x"), RateLimited("x")), base=10.0)
    assert [int(nap / 10) for nap in naps] == [1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interrupt_is_never_retried(error: BaseException) -> None:
    call = Flaky(error)
    with pytest.raises(type(error)):
        tried("blocking", call)
    assert call.calls == 1
