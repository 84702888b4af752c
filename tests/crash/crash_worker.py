"""A process that starts others and kills them: ``python -m tests.crash.crash_worker``.

Every line of its input is an order, and its answer is a line: what the victim had said when it was killed. The victim
is a fork of this process, which has no database open, so that a kill costs milliseconds and not the start of a Python.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from memstone import Memory
from tests.concurrency.workers import quick_embedder, settings

_VICTIM_SECONDS: Final = 120


def say(word: str, slot: str = "", text: str = "") -> None:
    """Tell the test, in one write that a kill cannot cut in two."""
    os.write(1, f"{word}\t{slot}\t{text}\n".encode())


# --- victims: "?" is said before a call, "!" after it has returned ---------------------------------------------------


def edit(order: dict[str, Any]) -> None:
    """Add, update and delete from several threads, until the end."""
    memory = Memory(settings(order["path"], durable=order["durable"]))
    threads = [threading.Thread(target=_edit, args=(memory, f"r{order['run']}t{number}")) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _edit(memory: Memory, name: str) -> None:
    for number in range(10_000):
        slot = f"{name}n{number}"
        with _said(slot, f"{slot} new") as text:
            memory_id = memory.add(text, user_id="u", infer=False)["results"][0]["id"]
        for version in range(random.randrange(3)):  # noqa: S311 - variety, not a secret
            with _said(slot, f"{slot} version {version}") as text:
                memory.update(memory_id, text)
        if random.random() < 0.3:  # noqa: S311 - now and then
            with _said(slot, ""):
                memory.delete(memory_id)


@contextmanager
def _said(slot: str, text: str) -> Iterator[str]:
    say("?", slot, text)
    yield text
    say("!", slot, text)


def first_open(order: dict[str, Any]) -> None:
    """Make a new file."""
    say("?")
    Memory(settings(order["path"]))
    say("!")


def batch(order: dict[str, Any]) -> None:
    """Add many items in one call."""
    memory = Memory(settings(order["path"]))
    items = [
        {"messages": f"{order['name']} item {number}", "user_id": "u", "infer": False}
        for number in range(order["count"])
    ]
    say("?")
    memory.add_many(items, idempotency_key=order["name"])
    say("!")


def other_embedder(texts: list[str]) -> Any:
    """Vectors of another space, not at once."""
    time.sleep(0.01)
    return quick_embedder(texts)[:, :16]


def reindex(order: dict[str, Any]) -> None:
    """Build the vectors of another embedder."""
    memory = Memory({"store": {"url": f"sqlite:///{order['path']}"}}, embedder=other_embedder)
    say("?")
    memory.admin.reindex(lambda done, total: say("!", str(done), str(total)))


def restore(order: dict[str, Any]) -> None:
    """Put an export back."""
    memory = Memory(settings(order["path"]))
    with Path(order["export"]).open(encoding="utf-8") as lines:
        say("?")
        memory.load(map(json.loads, lines))
    say("!")


def speak(order: dict[str, Any]) -> None:
    """Say one thing after the other, in sessions that become memory in the background."""
    memory = Memory(
        {**settings(order["path"], durable=order["durable"]), "write": {"mode": "background", "lease_seconds": 0.5}}
    )
    for number in range(10_000):
        slot = f"r{order['run']}n{number}"
        with _said(slot, f"I live in Town{slot}."):
            assert memory.add(f"I live in Town{slot}.", user_id=slot)["status"] == "queued"


VICTIMS: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "edit": edit,
    "first_open": first_open,
    "batch": batch,
    "reindex": reindex,
    "restore": restore,
    "speak": speak,
}


# --- the killer ------------------------------------------------------------------------------------------------------


def kill_one(order: dict[str, Any]) -> dict[str, Any]:
    """Start a victim, kill it ``delay`` seconds after its line number ``after``, and give all it said."""
    ear, mouth = os.pipe()
    victim = os.fork()
    if not victim:
        _live(order, mouth)
    os.close(mouth)
    with os.fdopen(ear, encoding="utf-8") as answer:
        lines = [line for _, line in zip(range(order["after"]), answer, strict=False)]
        time.sleep(order["delay"])
        os.kill(victim, signal.SIGKILL)
        lines += answer
    code = os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1])
    return {"lines": [line.rstrip("\n").split("\t") for line in lines], "code": code}


def _live(order: dict[str, Any], mouth: int) -> None:
    code = 1
    try:
        signal.alarm(_VICTIM_SECONDS)
        os.dup2(mouth, 1)
        random.seed()
        VICTIMS[order["role"]](order)
        code = 0
    except BaseException:  # noqa: BLE001 - the exit code tells
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    for wanted in sys.stdin:
        print(json.dumps(kill_one(json.loads(wanted))), flush=True)  # noqa: T201 - the answer
