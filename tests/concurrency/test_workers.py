"""Several workers on one file, killed at random: every session is formed once, and none is lost."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.drive import drive
from tests.concurrency.intact import assert_sound, rows
from tests.concurrency.workers import quick_embedder
from tests.patience import until

_ROOT: Final = Path(__file__).resolve().parents[2]
_LEFT: Final = "SELECT count(*) FROM signals WHERE status = 'pending'"


def _said(number: int, turn: int) -> str:
    return f"I live in Town{number} and on day {turn} I told you that I work as a gardener in Park{number}, as always."


def _left_behind(path: Path, sessions: int) -> None:
    """Sessions of two calls each that are due, and nobody works on."""
    config: dict[str, Any] = {"store": {"url": f"sqlite:///{path}", "durable": False}, "write": {"mode": "background"}}
    with Memory(config, embedder=quick_embedder) as memory:
        runtime = memory.engine.runtime
        runtime.worker_state.leave()
        drive(runtime.io.finish())
        for number in range(sessions):
            for turn in range(2):
                answer = memory.add(_said(number, turn), user_id=f"user{number % 50}", run_id=f"run{number}")
                assert answer["status"] == "queued"


class _Crew:
    """Workers in processes of their own."""

    def __init__(self, order: dict[str, Any], size: int) -> None:
        self._order, self.kills = order, 0
        self._workers = [self._start() for _ in range(size)]

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-W", "ignore", "-m", "tests.concurrency.formation_workers", json.dumps(self._order)],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill_one(self) -> None:
        """Kill a worker that is at work, and start another in its place."""
        victim = random.choice(self._workers)  # noqa: S311 - whoever it hits
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0, 0.4))  # noqa: S311 - a moment, not a secret
        victim.kill()
        victim.wait()
        victim.stdout.close()
        self._workers[self._workers.index(victim)] = self._start()
        self.kills += 1

    def end(self) -> None:
        """Tell all to end, and wait for it."""
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.communicate(timeout=120)


@contextmanager
def _crew(order: dict[str, Any], size: int) -> Iterator[_Crew]:
    crew = _Crew(order, size)
    try:
        yield crew
    finally:
        crew.end()


def _work_off(path: Path, *, workers: int, kills: int, lease: float, seconds: float) -> int:
    """Let workers work and kill them now and then, until nothing is left; gives how many were killed."""
    deadline = time.monotonic() + seconds
    with _crew({"path": str(path), "lease": lease, "durable": False}, workers) as crew:
        while rows(path, _LEFT)[0][0]:
            assert time.monotonic() < deadline, f"{rows(path, _LEFT)[0][0]} signals are left"
            if crew.kills < kills:
                crew.kill_one()
            else:
                time.sleep(0.1)
        return crew.kills


def _assert_formed_once(path: Path, sessions: int) -> None:
    assert set(rows(path, "SELECT status, attempts FROM signals")) == {("processed", 1)}
    done = "SELECT run_id, count(*) FROM jobs WHERE task = 'distill' AND status = 'success' GROUP BY run_id"
    assert sorted(rows(path, done)) == sorted((f"run{number}", 1) for number in range(sessions)), (
        "each session was formed once"
    )
    episodes = (
        "SELECT l.run_id, m.version FROM memories m JOIN links l ON l.memory_seq = m.seq WHERE m.layer = 'episode'"
    )
    assert sorted(rows(path, episodes)) == sorted((f"run{number}", 1) for number in range(sessions))
    added = rows(
        path,
        "SELECT e.new_text, count(DISTINCT e.id) FROM events e JOIN memories m ON m.id = e.memory_id "
        "WHERE e.event = 'ADD' GROUP BY e.new_text, e.user_id, e.run_id, m.layer",
    )
    assert all(count == 1 for _, count in added), "no fact was added twice"
    towns = {text for (text,) in rows(path, "SELECT text FROM memories WHERE layer = 'fact'")}
    known = {town for text in towns for town in re.findall(r"Town\d+", text)}
    assert {f"Town{number}" for number in range(sessions)} <= known
    assert rows(path, "SELECT * FROM leases WHERE name LIKE 'session:%'") == []
    assert_sound(path)


@pytest.mark.slow
@pytest.mark.req("P-12", "S-19", "R-15")
def test_two_workers_that_are_killed_form_every_session_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    _left_behind(path, sessions=100)
    assert _work_off(path, workers=2, kills=3, lease=1.0, seconds=300) > 0
    _assert_formed_once(path, sessions=100)


@pytest.mark.system
@pytest.mark.timeout(1800)
@pytest.mark.req("P-12", "S-19", "R-15")
def test_four_workers_under_many_kills_form_two_thousand_sessions_once(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    _left_behind(path, sessions=2000)
    assert _work_off(path, workers=4, kills=60, lease=3.0, seconds=1500) > 10
    _assert_formed_once(path, sessions=2000)


def test_a_worker_that_is_told_to_end_ends_cleanly(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    _left_behind(path, sessions=1)
    with _crew({"path": str(path), "lease": 60, "durable": False}, 1) as crew:
        until(lambda: not rows(path, _LEFT)[0][0])
        (worker,) = crew._workers
    assert worker.returncode == 0
    _assert_formed_once(path, sessions=1)
