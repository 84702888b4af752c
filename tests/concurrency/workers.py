"""What the processes of a concurrency test do: ``python -m tests.concurrency.workers role orders``.

There is one for each order. They say "ready", wait for a line, work, and a list of their reports is printed as JSON. A
failure is a traceback and an exit code. All are forks of the one that is started, before it has opened anything: to
start a Python for each would take longer than all they do.
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
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from memstone import Memory
from memstone.errors import MemstoneError

_PATIENCE: Final = 120.0


def slow_embedder(texts: list[str]) -> Any:
    """Vectors that depend on the text alone, after a tenth of a second: long enough for everybody to get there."""
    time.sleep(0.1)
    return quick_embedder(texts)


def quick_embedder(texts: list[str]) -> Any:
    """The same, at once."""
    return np.array([np.random.default_rng(list(text.encode())).standard_normal(32) for text in texts])


def settings(path: str, *, durable: bool = True) -> dict[str, Any]:
    """A store in one file, with vectors that cost nothing."""
    return {"store": {"url": f"sqlite:///{path}", "durable": durable}, "embedder": {"provider": "hash"}}


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of ``work(0) .. work(count - 1)``, begun together; an error is its own result."""
    results: list[Any] = [None] * count
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait(_PATIENCE)
        try:
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    return results


def checked(results: list[Any]) -> list[Any]:
    """The results, none of which may be an error."""
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


# --- roles: what is reported is what was acknowledged ----------------------------------------------------------------


def same_text(order: dict[str, Any]) -> list[str]:
    """Open the file and add the same text from several threads; reports the events."""
    memory = Memory({"store": {"url": f"sqlite:///{order['path']}"}}, embedder=slow_embedder)

    def add(_: int) -> str:
        return str(memory.add(order["text"], user_id="u", infer=False)["results"][0]["event"])

    return checked(in_threads(order["threads"], add))


def distinct_adds(order: dict[str, Any]) -> list[str]:
    """Open the file and add so many texts; reports those that were added."""
    memory = Memory(settings(order["path"]))
    added = [memory.add(f"{order['name']} says {number}", user_id="u", infer=False) for number in range(order["count"])]
    return [answer["results"][0]["memory"] for answer in added if answer["results"][0]["event"] == "ADD"]


def revise(order: dict[str, Any]) -> str:
    """Give a memory another text; reports the text it was given."""
    memory = Memory({"store": {"url": f"sqlite:///{order['path']}"}}, embedder=slow_embedder)
    return str(memory.update(order["id"], order["text"])["memory"])


def close_under_load(order: dict[str, Any]) -> dict[str, Any]:
    """Close a memory while threads use it; reports what they were told and what they had added."""
    memory = Memory(settings(order["path"]))
    lines: list[str] = []
    added: list[str] = []

    def use(thread: int) -> None:
        for number in range(10_000):
            try:
                text = f"thread {thread} number {number}"
                memory.add(text, user_id="u", infer=False)
                added.append(text)
                memory.search("thread", user_id="u", limit=3)
            except MemstoneError as error:
                lines.append(error.code)
                return

    def close(_: int) -> None:
        time.sleep(random.uniform(0.02, 0.2))  # noqa: S311 - a moment, not a secret
        memory.close()

    checked(in_threads(8, lambda number: close(number) if number == 7 else use(number)))
    return {"told": lines, "added": added}


def interrupted(order: dict[str, Any]) -> dict[str, Any]:
    """Ctrl-C at random moments of the main thread's adds, while others add as well."""
    memory = Memory(settings(order["path"]))
    over, armed = threading.Event(), threading.Event()
    others: list[list[str]] = [[], [], []]
    threads = [threading.Thread(target=_add_until, args=(memory, over, n, others[n])) for n in range(len(others))]
    interrupts = threading.Thread(target=_interrupt_main, args=(over, armed, order["interrupts"]))
    for thread in (*threads, interrupts):
        thread.start()
    own, hits = _add_interrupted(memory, over, armed)
    for thread in (*threads, interrupts):
        thread.join(_PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    return {"mine": own, "others": others, "hits": hits}


def _add_until(memory: Memory, over: threading.Event, name: int, events: list[str]) -> None:
    for number in range(10_000):
        if over.is_set():
            return
        events.append(memory.add(f"other {name} says {number}", user_id="u", infer=False)["results"][0]["event"])


def _interrupt_main(over: threading.Event, armed: threading.Event, count: int) -> None:
    """One interrupt after the other: the next when the last was heard, for two at once would be one."""
    for _ in range(count):
        armed.wait(_PATIENCE)
        armed.clear()
        time.sleep(random.uniform(0.002, 0.02))  # noqa: S311 - a moment, not a secret
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    armed.wait(_PATIENCE)
    over.set()


def _add_interrupted(memory: Memory, over: threading.Event, armed: threading.Event) -> tuple[list[str], int]:
    added: list[str] = []
    hits = number = 0
    while not over.is_set():
        try:
            armed.set()
            while not over.is_set():  # nothing is sent but while this goes on
                number += 1
                answer = memory.add(f"main says {number}", user_id="u", infer=False)
                added.append(answer["results"][0]["memory"])
        except KeyboardInterrupt:
            hits += 1
    return added, hits


ROLES: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "same_text": same_text,
    "distinct_adds": distinct_adds,
    "revise": revise,
    "close_under_load": close_under_load,
    "interrupted": interrupted,
}


def serve(roles: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
    """Wait for the word and play the role this process was started for, with one process for each order."""
    play, orders = roles[sys.argv[1]], json.loads(sys.argv[2])
    event_count, word = os.pipe()
    others = [_forked(lambda order=order: play(order), event_count) for order in orders[1:]]  # type: ignore[misc]
    print("ready", flush=True)  # noqa: T201 - what it is for
    sys.stdin.readline()
    os.write(word, b"." * len(others))
    reports = [play(orders[0]), *(_report(*other) for other in others)]
    print(json.dumps(reports), flush=True)  # noqa: T201 - what it is for
    os._exit(0)  # whatever a thread may still do, the reports are out


def _forked(work: Callable[[], Any], event_count: int) -> tuple[int, int]:
    """A child that works when it has heard the word; gives it, and where its report can be read."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child:
        os.close(mouth)
        return child, ear
    code = 1
    try:
        os.read(event_count, 1)
        os.write(mouth, json.dumps(work()).encode())
        code = 0
    except BaseException:  # noqa: BLE001 - the exit code tells
        traceback.print_exc()
    finally:
        os._exit(code)


def _report(child: int, ear: int) -> Any:
    with os.fdopen(ear) as answer:
        text = answer.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a process failed"
    return json.loads(text)


if __name__ == "__main__":
    serve(ROLES)
