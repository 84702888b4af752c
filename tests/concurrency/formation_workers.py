"""A worker in a process of its own: ``python -m tests.concurrency.formation_workers order``.

It says "ready" and works until it is killed, or until it is told to end by a signal.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from types import FrameType
from typing import Any

from memstone import Memory
from tests.concurrency.workers import quick_embedder


def unhurried_embedder(texts: list[str]) -> Any:
    """Vectors that depend on the text alone, after some milliseconds: long enough to be killed in."""
    time.sleep(random.uniform(0, 0.01))  # noqa: S311 - a moment, not a secret
    return quick_embedder(texts)


def settings(order: dict[str, Any]) -> dict[str, Any]:
    """A store in one file, in which sessions are distilled by rules."""
    store = {"url": f"sqlite:///{order['path']}", "durable": order["durable"]}
    write = {"mode": "manual", "digest": True, "lease_seconds": order["lease"]}
    return {"store": store, "write": write, "upkeep": {"merge_episodes": 0}}  # a worker also tidies up


class Terminated(KeyboardInterrupt):
    """A class of its own: of a plain one that was raised while a module loads the interpreter dies in the end."""


def main() -> None:
    """Work."""
    order = json.loads(sys.argv[1])

    def end(_: int, __: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    with Memory(settings(order), embedder=unhurried_embedder) as memory:
        print("ready", flush=True)  # noqa: T201 - what it is for
        try:
            memory.admin.work()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
