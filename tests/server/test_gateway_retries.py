"""Upstreams that are down: how often they are asked for one chat, and after which pauses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstone import Memory
from memstone.server.gateway import upstream
from tests.server.test_gateway_upstreams import HEAD, chat, gateway, refusal, wired
from tests.server.upstream import Upstream, served


@pytest.fixture
def good() -> Iterator[tuple[Upstream, str]]:
    behind = Upstream()
    with served(behind.app) as url:
        yield behind, f"{url}/v1"


def known(place: Path) -> None:
    """Let alice have something to be shown."""
    with Memory({"store": {"url": f"sqlite:///{place}/g.db"}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I live in Oslo and say hi", user_id="alice", infer=False)


@pytest.mark.parametrize("retries", [0, 1, 2])
@pytest.mark.parametrize("status", [500, 502, 503, 529, None])
def test_a_service_that_is_down_is_asked_a_few_times_with_pauses_that_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int | None, retries: int
) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    known(tmp_path)
    with (
        wired(refusal(status) if status else HEAD + b"content-length: 500\r\n\r\n") as bad,
        gateway(tmp_path, {"name": "a", "base_url": bad.url, "retries": retries}) as client,
    ):
        monkeypatch.setattr(upstream, "pause", pause)
        answer = chat(client)
        assert answer.status_code == (status or 502)
        # A 500 may be what memory added: it is asked once more without, which is one of the retries.
        asked = max(2, retries + 1) if status == 500 else retries + 1
        assert (bad.asked, len(pauses)) == (asked, asked - 1)
        assert all(0.25 * 2**number <= one <= 0.3 * 2**number for number, one in enumerate(pauses))


def test_what_one_upstream_fails_at_another_is_asked_with_memory(tmp_path: Path, good: tuple[Upstream, str]) -> None:
    known(tmp_path)
    with (
        wired(refusal(500)) as bad,
        gateway(tmp_path, {"name": "a", "base_url": bad.url}, {"name": "b", "base_url": good[1]}) as client,
    ):
        assert chat(client).status_code == 200
    assert (bad.asked, len(good[0].seen)) == (1, 1)
    assert "Oslo" in str(good[0].seen)


def test_pauses_are_real(tmp_path: Path) -> None:
    known(tmp_path)
    with wired(refusal(500)) as bad, gateway(tmp_path, {"name": "a", "base_url": bad.url}) as client:
        assert chat(client).status_code == 500
    first, second = bad.times
    assert second - first >= 0.25


def test_an_upstream_that_asks_for_time_gets_it_and_one_that_asks_for_too_much_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    for seconds, asked in ((3, 2), (11, 1)):
        with (
            wired(refusal(503, b"retry-after: %d\r\n" % seconds)) as bad,
            gateway(tmp_path, {"name": "a", "base_url": bad.url}) as client,
        ):
            monkeypatch.setattr(upstream, "pause", pause)
            answer = chat(client)
        assert (answer.status_code, answer.headers["retry-after"], bad.asked) == (503, str(seconds), asked)
    assert [int(one) for one in pauses] == [3]
