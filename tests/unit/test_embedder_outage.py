"""How long an embedding service that is down is left alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memstone.adapters.embed.openai import OpenAiEmbedder
from memstone.adapters.embed.remote import COOL_DOWN_SECONDS, OPEN_AFTER, ServiceOutage
from memstone.errors import BackendTimeout, BackendUnavailable, EmbeddingError, MemstoneError, RateLimited
from memstone.ports.io import Io, limit_model_calls
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, WireReply, WireServer, fake_openai

both = pytest.mark.parametrize("mode", MODES)
DOWN = BackendUnavailable("down")


class Watch:
    """A clock that stands still until it is told to move."""

    seconds = 1000.0

    def __call__(self) -> float:
        """The time it was set to."""
        return self.seconds


def asks(outage: ServiceOutage) -> str:
    """Whether a call is let through, and how: ``freely``, ``once`` or ``no``."""
    try:
        return "once" if outage.admit("the model") else "freely"
    except BackendUnavailable as error:
        return "no" if error.retryable and "not be called" in error.message else str(error)


def test_after_enough_attempts_in_vain_nobody_asks_until_one_may_try() -> None:
    watch = Watch()
    outage = ServiceOutage(watch)
    for _ in range(OPEN_AFTER):
        assert asks(outage) == "freely"
        outage.record_failure(DOWN, 1)
    assert asks(outage) == "no"
    watch.seconds += COOL_DOWN_SECONDS
    assert [asks(outage), asks(outage)] == ["once", "no"]
    outage.record_failure(DOWN, 1)
    watch.seconds += COOL_DOWN_SECONDS
    assert asks(outage) == "once"
    outage.record_answer()
    assert [asks(outage), asks(outage)] == ["freely", "freely"]


@pytest.mark.parametrize("error", [DOWN, RateLimited("slow"), BackendTimeout("late")])
def test_a_call_with_all_its_attempts_in_vain_is_enough(error: MemstoneError) -> None:
    outage = ServiceOutage(Watch())
    outage.record_failure(error, OPEN_AFTER)
    assert asks(outage) == "no"


def test_one_call_that_waited_in_vain_is_enough() -> None:
    outage = ServiceOutage(Watch())
    outage.record_failure(BackendTimeout("late"), 1)
    assert asks(outage) == "no"


def test_an_answer_of_any_kind_ends_the_row() -> None:
    outage = ServiceOutage(Watch())
    for answer in (outage.record_answer, lambda: outage.record_failure(EmbeddingError("too long"), 1)):
        outage.record_failure(DOWN, OPEN_AFTER - 1)
        answer()
        outage.record_failure(DOWN, OPEN_AFTER - 1)
        assert asks(outage) == "freely"
        outage.record_answer()


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(fake_openai) as running:
        yield running


@both
@pytest.mark.req("C-53")
def test_whoever_is_in_a_hurry_asks_once_and_others_as_often_as_they_may(mode: str, server: WireServer) -> None:
    naps: list[float] = []

    async def scenario(io: Io) -> list[int]:
        options = {"base_url": f"{server.url}/v1", "api_key": KEY, "dimensions": 4}
        embedder = OpenAiEmbedder(OpenAiEmbedder.Config.model_validate(options), io)
        server.script(*[WireReply(503)] * 5)
        asked = []
        with limit_model_calls(), pytest.raises(BackendUnavailable):
            await embedder.embed(["a question"])
        asked.append(len(server.requests))
        for _ in range(2):  # the second one is not sent
            with pytest.raises(BackendUnavailable):
                await embedder.embed(["a fact"])
            asked.append(len(server.requests))
        return asked

    assert run(mode, scenario, naps=naps) == [1, 5, 5]
    assert [int(nap) for nap in naps] == [1, 2, 4]
