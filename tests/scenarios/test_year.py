"""Weeks of conversations, with a pass at the end of each day; ``benchmarks/life`` lives through a whole year."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.life.plot import svg
from benchmarks.life.sessions import sessions
from benchmarks.life.year import SETTINGS, live, read_strengths, strays, strengths

DAYS = 45
FADING = {**SETTINGS, "upkeep": {"retain_days": {"episode": 15, "turn": 10}}, "recall": {"decay_days": 8}}


@pytest.mark.req("S-34", "S-35", "S-38", "S-39", "X-16", "D-17", "R-18")
def test_weeks_of_conversations_leave_a_memory_that_is_small_and_true(tmp_path: Path) -> None:
    path = tmp_path / "life.db"
    days, memory, clock = live(path, sessions(75, DAYS), DAYS, settings=FADING)
    with memory:
        expected = strengths(path, clock.now(), tau=8.0)
        read = read_strengths(memory, list(expected))
        counts = memory.stats()
    half = max(day.facts + day.episodes + day.turns for day in days[: DAYS // 2])
    assert max(day.facts + day.episodes + day.turns for day in days[DAYS // 2 :]) < 1.25 * half, "it is bounded"
    assert sum(day.done["merged"] for day in days) > 0
    assert sum(day.done["promoted"] for day in days) > 0
    assert days[-1].evicted > 0
    assert sum(day.done["pruned"] for day in days) > 0
    assert not any(day.wrong_evictions for day in days), "nothing that was used in the last 30 days is put aside"
    assert counts["fulltext"] == counts["memories"]
    assert strays(path) == 0
    assert len(read) > 10
    assert read == pytest.approx({one: expected[one] for one in read}, abs=1e-9)
    assert svg(days).count("<polyline") == 7


@pytest.mark.req("R-13", "X-16", "S-37")
def test_it_does_not_matter_how_often_a_pass_runs(tmp_path: Path) -> None:
    script = sessions(20, 10)
    ends = []
    for passes in (0, 1, 6):
        path = tmp_path / f"{passes}.db"
        _, memory, clock = live(
            path, script, 10, passes=passes, ask=False, settings={**SETTINGS, "upkeep": {"evict": False}}
        )
        memory.close()
        ends.append(strengths(path, clock.now(), unrevised=True))
    assert len(ends[0]) > 10
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)
    assert ends[2] == pytest.approx(ends[0], abs=1e-9)
