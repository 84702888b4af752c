"""PostgreSQL under fire: processes are killed and the server is restarted while all are at work."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres.chaos import TENANTS, Chaos, memory, readers, verify
from tests.postgres.server import running


@contextmanager
def _chaos(folder: Path, lease_seconds: float = 60.0) -> Iterator[Chaos]:
    with running() as server:
        dice = random.Random(7)  # noqa: S311 - a game, not a secret
        chaos = Chaos(server, server.fresh(), folder, dice, lease_seconds)
        try:
            yield chaos
        finally:
            chaos.end()


@pytest.mark.postgres
@pytest.mark.slow
def test_a_few_processes_lose_nothing_while_they_are_killed_and_the_server_is_restarted(tmp_path: Path) -> None:
    # What a killed worker has claimed waits for the end of its lease, and the test for that.
    with _chaos(tmp_path, lease_seconds=5.0) as chaos:
        chaos.run(clients=2, workers=2, seconds=6, pause=1.0)
        chaos.settle()

        measured = verify(chaos, 6)

    assert measured["killed"] >= 3
    assert measured["calls"].keys() >= {"fact", "search", "talk"}


@pytest.mark.system
@pytest.mark.timeout(600)
def test_eight_processes_lose_nothing_in_three_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _chaos(tmp_path) as chaos:
        chaos.run(clients=4, workers=4, seconds=180)
        chaos.settle()
        measured = verify(chaos, 180)

    with capsys.disabled():
        print(json.dumps(measured, indent=1))  # noqa: T201 - this is what the run is for
    assert measured["killed"] >= 20


@pytest.mark.system
@pytest.mark.timeout(300)
def test_two_processes_read_more_than_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best of three rounds, one after the other: whatever else the machine does, both suffer from it alike."""
    with _chaos(tmp_path) as chaos:
        with memory(chaos.url, TENANTS[0], talks=True) as made:
            for number in range(200):
                made.add(f"Fact {number} is about Oslo", user_id="alice", infer=False)
        rounds = [(readers(chaos.url, 1, 4), readers(chaos.url, 2, 4)) for _ in range(3)]

    with capsys.disabled():
        print(f"searches a second: {rounds}")  # noqa: T201 - this is what the run is for
    assert max(two for _, two in rounds) > max(one for one, _ in rounds)
