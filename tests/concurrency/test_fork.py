"""A process that has a memory open may fork: parent and child both go on."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from memstone.adapters.forks import ForkSafeLock
from tests.concurrency.crew import run_crew
from tests.concurrency.intact import assert_intact, texts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def _report(role: str, **order: Any) -> Any:
    (report,) = run_crew(role, [order], "fork_workers")
    return report


@pytest.mark.slow
@pytest.mark.req("C-56", "X-18")
def test_children_lose_nothing_when_their_parent_closes_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    added = _report("family", path=str(path))
    assert len(added) == 5 + 10 + 3 * 20
    assert texts(path) == sorted(added)
    assert assert_intact(path) == len(added)


@pytest.mark.slow
def test_forking_while_threads_read_and_write_loses_and_blocks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    added = _report("busy_parent", path=str(path), forks=15)
    assert len(added) > 15 * 3
    assert texts(path) == sorted(added)
    assert_intact(path)


@pytest.mark.req("C-52")
def test_a_child_forked_in_the_middle_of_a_write_is_refused_instead_of_harming_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memstone.db"
    assert _report("without_rest", path=str(path)) == "refused"
    assert texts(path) == ["the parent goes on"]
    assert_intact(path)


def test_a_memory_without_a_file_goes_to_the_child_as_a_copy() -> None:
    assert _report("in_memory") == 3


def test_a_closed_memory_is_closed_in_the_child_as_well(tmp_path: Path) -> None:
    assert _report("closed", path=str(tmp_path / "memstone.db")) == "refused"


def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    lock, current, done = ForkSafeLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            current.set()
            done.wait(120)

    holder = threading.Thread(target=hold)
    holder.start()
    current.wait(120)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a lock that is not free hangs the child; then it dies of this
        with lock:
            os._exit(0)
    done.set()
    holder.join()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
