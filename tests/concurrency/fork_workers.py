"""What the process of a fork test does; see ``workers.py``."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from memstone import Memory
from memstone.adapters.sqlite import ledger as sqlite
from memstone.errors import StorageError
from tests.concurrency.workers import serve, settings

_PATIENCE: Final = 120


def family(order: dict[str, Any]) -> list[str]:
    """A parent and three children use one memory; the parent closes it while the children still write."""
    memory = Memory(settings(order["path"]))
    added = _add(memory, "before the fork", 5)
    memory.search("fork", user_id="u")
    context = multiprocessing.get_context("fork")
    met, reports = context.Barrier(4), context.SimpleQueue()

    def child(name: int) -> None:
        signal.alarm(_PATIENCE)
        own = _add(memory, f"child {name} early", 10)
        memory.search("child", user_id="u")
        met.wait(_PATIENCE)  # the parent closes
        met.wait(_PATIENCE)
        own += _add(memory, f"child {name} late", 10)
        assert memory.search(own[-1], user_id="u")["results"][0]["memory"] == own[-1]
        reports.put(own)

    children = [context.Process(target=child, args=(number,)) for number in range(3)]
    for one in children:
        one.start()
    added += _add(memory, "parent", 10)
    met.wait(_PATIENCE)
    memory.close()
    met.wait(_PATIENCE)
    for one in children:
        added += reports.get()
        one.join(_PATIENCE)
    assert [one.exitcode for one in children] == [0] * 3
    return added


def busy_parent(order: dict[str, Any]) -> list[str]:
    """Fork again and again while threads of the parent read and write."""
    memory = Memory(settings(order["path"]))
    over, added = threading.Event(), list[str]()
    threads = [threading.Thread(target=_use_until, args=(memory, over, n, added)) for n in range(4)]
    for thread in threads:
        thread.start()
    for number in range(order["forks"]):
        time.sleep(0.02)
        name = f"child {number}"
        assert _in_child(lambda name=name: _add_and_look(memory, name)) == 0  # type: ignore[misc]
        added += [f"{name} {n}" for n in range(3)]
    over.set()
    for thread in threads:
        thread.join(_PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    return added


def without_rest(order: dict[str, Any]) -> str:
    """Fork while a write does not come to an end: the child is refused, the parent goes on."""
    memory = Memory(settings(order["path"]))
    begun, end = threading.Event(), threading.Event()

    async def long(_: Any) -> None:
        begun.set()
        end.wait(_PATIENCE)

    ledger = memory.engine.runtime.ledger
    assert isinstance(ledger, sqlite.SqliteLedger)
    thread = threading.Thread(target=ledger._write, args=(long,))
    thread.start()
    begun.wait(_PATIENCE)
    with patch.object(sqlite, "PATIENCE", 0.05):
        refused = _in_child(lambda: _expect_refusal(memory))
    end.set()
    thread.join(_PATIENCE)
    assert refused == 0
    memory.add("the parent goes on", user_id="u", infer=False)
    return "refused"


def in_memory(_: dict[str, Any]) -> int:
    """A store without a file goes to the child as a copy."""
    memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
    _add(memory, "parent", 3)

    def child() -> None:
        _add(memory, "child", 2)
        assert memory.stats()["memories"] == 5
        assert memory.admin.check()["integrity"] == ["ok"]

    assert _in_child(child) == 0
    return int(memory.stats()["memories"])


def closed(order: dict[str, Any]) -> str:
    """What was closed before the fork is closed in the child."""
    memory = Memory(settings(order["path"]))
    memory.close()
    assert _in_child(lambda: _expect_refusal(memory)) == 0
    return "refused"


def _add(memory: Memory, name: str, count: int) -> list[str]:
    texts = [f"{name} {number}" for number in range(count)]
    for text in texts:
        assert memory.add(text, user_id="u", infer=False)["results"][0]["event"] == "ADD"
    return texts


def _add_and_look(memory: Memory, name: str) -> None:
    added = _add(memory, name, 3)
    # By words: the test is about the file, and a child must not wait for a lock of another thread's index.
    found = [hit["memory"] for hit in memory.search(name, user_id="u", strategy="text", limit=1000)["results"]]
    assert set(added) <= set(found)
    assert memory.admin.check()["integrity"] == ["ok"]


def _use_until(memory: Memory, over: threading.Event, name: int, added: list[str]) -> None:
    for number in range(10_000):
        if over.is_set():
            return
        added += _add(memory, f"thread {name} round {number}", 1)
        memory.get_all(user_id="u", limit=20)
        time.sleep(0.002)


def _expect_refusal(memory: Memory) -> None:
    uses: list[Callable[[], object]] = [
        lambda: memory.add("x", user_id="u", infer=False),
        lambda: memory.get_all(user_id="u"),
        memory.admin.check,
    ]
    for use in uses:
        try:
            use()
        except StorageError:
            continue
        raise AssertionError("it was not refused")
    memory.close()


def _in_child(work: Callable[[], None]) -> int:
    """The exit code of a child that does this and nothing else."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        signal.alarm(_PATIENCE)
        work()
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(
        {
            "family": family,
            "busy_parent": busy_parent,
            "without_rest": without_rest,
            "in_memory": in_memory,
            "closed": closed,
        }
    )
