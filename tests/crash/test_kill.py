"""kill -9 at random moments: what was acknowledged is there afterwards, and the store agrees with itself."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from tests.concurrency.intact import assert_counted, assert_found, assert_intact, assert_sound, rows, texts
from tests.concurrency.workers import quick_embedder, settings
from tests.crash.crash_worker import other_embedder
from tests.crash.killer import Killer, Promises

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"), pytest.mark.slow]


@pytest.fixture
def killer() -> Iterator[Killer]:
    with Killer() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memstone.db"


def _moment(seconds: float) -> float:
    return random.uniform(0, seconds)  # noqa: S311 - a moment, not a secret


def _kill_editors(killer: Killer, path: Path, kills: int, seconds: float) -> Promises:
    """Kill one editor after the other, all on one file; every second one finds what its forerunner left."""
    promises, deadline = Promises(), time.monotonic() + seconds
    for run in range(kills):
        if time.monotonic() > deadline:
            break
        after, durable = random.randint(1, 150), random.random() < 0.5  # noqa: S311 - variety
        death = killer.kill("edit", path=str(path), run=run, durable=durable, after=after, delay=_moment(0.01))
        assert death.killed
        promises.hear(death.lines)
        if run % 2:
            promises.assert_kept(path)
            assert_intact(path)
    return promises


def _assert_all_kept(promises: Promises, path: Path) -> None:
    promises.assert_kept(path)
    count = assert_intact(path)
    with Memory(settings(str(path))) as memory:
        assert_counted(memory, count)
        assert_found(memory, random.sample(texts(path), min(count, 10)), user_id="u")
        memory.add("and it goes on", user_id="u", infer=False)
    assert assert_intact(path) == count + 1


@pytest.mark.req("C-56", "R-1", "X-10")
def test_every_acknowledged_write_survives_a_kill(killer: Killer, path: Path) -> None:
    promises = _kill_editors(killer, path, kills=12, seconds=100)
    assert promises.acknowledged > 100
    _assert_all_kept(promises, path)


@pytest.mark.system
@pytest.mark.timeout(600)
@pytest.mark.req("C-56", "R-1", "X-10")
def test_every_acknowledged_write_survives_hundreds_of_kills(killer: Killer, tmp_path: Path) -> None:
    for number in range(10):  # files of their own, so that each stays small enough to be looked at often
        path = tmp_path / f"{number}.db"
        promises = _kill_editors(killer, path, kills=30, seconds=30)
        assert promises.acknowledged > 100
        _assert_all_kept(promises, path)


def _kill_openers(killer: Killer, folder: Path, kills: int) -> None:
    began = time.monotonic()
    full = killer.kill("first_open", path=str(folder / "whole.db"), after=3)
    usual = time.monotonic() - began
    assert not full.killed
    for number in range(kills):
        path = folder / f"{number}.db"
        killer.kill("first_open", path=str(path), delay=_moment(usual))
        with Memory(settings(str(path))) as memory:
            memory.add("it opens", user_id="u", infer=False)
            assert_counted(memory, 1)
        assert assert_intact(path) == 1


def test_a_kill_while_a_new_file_is_made_leaves_one_that_opens(killer: Killer, tmp_path: Path) -> None:
    _kill_openers(killer, tmp_path, kills=8)


@pytest.mark.system
@pytest.mark.timeout(300)
def test_hundreds_of_kills_while_a_new_file_is_made_leave_files_that_open(killer: Killer, tmp_path: Path) -> None:
    _kill_openers(killer, tmp_path, kills=300)


def _kill_batches(killer: Killer, path: Path, kills: int) -> None:
    began = time.monotonic()
    assert not killer.kill("batch", path=str(path), name="whole", count=500, after=3).killed
    usual = time.monotonic() - began
    expected = 500
    for number in range(kills):
        order: dict[str, Any] = {"path": str(path), "name": f"batch{number}", "count": 500}
        death = killer.kill("batch", delay=_moment(usual), **order)
        stored = rows(path, "SELECT count(*) FROM memories WHERE text LIKE ?", f"batch{number} %")[0][0]
        assert stored in ({500} if death.lines[-1][0] == "!" else {0, 500})
        assert assert_intact(path) == expected + stored
        if number % 2:  # sent again under the same key, it is carried out once
            assert not killer.kill("batch", after=3, **order).killed
            stored = 500
        expected += stored
        assert assert_intact(path) == expected


@pytest.mark.req("N-49", "C-56")
def test_a_kill_in_a_batch_of_500_leaves_all_of_it_or_nothing(killer: Killer, path: Path) -> None:
    _kill_batches(killer, path, kills=4)


@pytest.mark.system
@pytest.mark.timeout(300)
@pytest.mark.req("N-49", "C-56")
def test_many_kills_in_batches_of_500_leave_all_or_nothing(killer: Killer, tmp_path: Path) -> None:
    for number in range(6):
        _kill_batches(killer, tmp_path / f"{number}.db", kills=10)


def _filled(path: Path, count: int) -> list[str]:
    """A store with vectors of ``quick_embedder``; gives its texts."""
    texts = [f"note n{number}" for number in range(count)]
    with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=quick_embedder) as memory:
        for start in range(0, count, 500):
            memory.add_many([{"messages": text, "user_id": "u", "infer": False} for text in texts[start : start + 500]])
    return texts


@pytest.mark.req("R-28")
@pytest.mark.parametrize("attempt", range(2))
def test_a_kill_in_a_reindex_costs_no_search_and_the_next_goes_on_where_it_stopped(
    killer: Killer, path: Path, attempt: int
) -> None:
    texts = _filled(path, 700)
    death = killer.kill("reindex", path=str(path), after=random.randint(1, 7), delay=_moment(0.02))  # noqa: S311
    done = max([int(line[1]) for line in death.lines if line[0] == "!"], default=0)
    assert assert_intact(path) == 700  # with the index that is active, whichever it is
    if len(rows(path, "SELECT 1 FROM indexes")) == 2:  # the switch had not come yet: the old one serves
        with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=quick_embedder) as old:
            assert_found(old, texts[::100], user_id="u")
    with Memory({"store": {"url": f"sqlite:///{path}"}}, embedder=other_embedder) as memory:
        assert memory.admin.reindex()["indexed"] <= 700 - done
        assert_counted(memory, 700)
        assert_found(memory, texts[::100], user_id="u")
    assert rows(path, "SELECT state FROM indexes") == [("active",)]
    assert assert_intact(path) == 700


@pytest.mark.parametrize("attempt", range(2))
def test_a_kill_in_a_restore_is_mended_by_restoring_again(killer: Killer, tmp_path: Path, attempt: int) -> None:
    source, target, export = tmp_path / "source.db", tmp_path / "target.db", tmp_path / "export.jsonl"
    _filled(source, 1_000)
    with Memory(settings(str(source))) as memory:
        before = [json.dumps(line, sort_keys=True) for line in memory.export(everybody=True)]
    export.write_text("\n".join(before) + "\n", encoding="utf-8")
    killer.kill("restore", path=str(target), export=str(export), delay=_moment(0.4))
    assert assert_sound(target) % 500 == 0  # whole pages of the export
    with Memory(settings(str(target))) as memory, export.open(encoding="utf-8") as lines:
        memory.load(map(json.loads, lines))
        assert sorted(json.dumps(line, sort_keys=True) for line in memory.export(everybody=True)) == sorted(before)
        assert_counted(memory, 1_000)
        assert_found(memory, ["note n7", "note n777"], user_id="u")
    assert assert_intact(target) == 1_000
