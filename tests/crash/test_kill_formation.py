"""kill -9 while memory forms in the background: what was said is learned, once, by whoever starts next."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from memstone import Memory
from tests.concurrency.intact import assert_sound, rows
from tests.concurrency.workers import settings
from tests.crash.killer import Killer, Promises

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"), pytest.mark.slow]


@pytest.mark.req("X-8", "P-12", "S-22", "N-22")
def test_what_was_queued_survives_a_kill_and_is_learned_once(tmp_path: Path) -> None:
    path, promises = tmp_path / "memstone.db", Promises()
    with Killer() as killer:
        for run in range(5):
            after = random.randint(12, 60)  # noqa: S311 - variety
            death = killer.kill("speak", path=str(path), run=run, durable=bool(run % 2), after=after)
            assert death.killed
            promises.hear(death.lines)
    assert promises.acknowledged > 20

    with Memory(settings(str(path))) as memory:
        deadline = time.monotonic() + 120
        while memory.sessions.flush(everybody=True)[
            "waiting"
        ]:  # what a dead worker was at is free when its lease is over
            assert time.monotonic() < deadline
            time.sleep(0.1)

    words = {text for text in promises.kept.values() if text}
    turns = {text for (text,) in rows(path, "SELECT text FROM memories WHERE layer = 'turn'")}
    assert words <= turns, "what was acknowledged is there"
    assert turns <= words | {text for text in promises.doubted.values() if text}
    facts = [text for (text,) in rows(path, "SELECT text FROM memories WHERE layer = 'fact'")]
    assert sorted(facts) == sorted(text.replace("I live", "User lives") for text in turns), "each is learned once"
    assert set(rows(path, "SELECT status, attempts FROM signals")) == {("processed", 1)}
    assert_sound(path)
