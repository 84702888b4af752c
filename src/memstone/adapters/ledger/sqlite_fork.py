"""Forking a process that has SQLite files open.

SQLite keeps a table of the locks of its process, and a forked child inherits it: it then believes to hold locks that
only its parent has, and a checkpoint of the parent can take away what the child is writing to. So every ledger closes
its connections before a fork, and parent and child open their own when they next need one.
"""

from __future__ import annotations

import os
import threading
from typing import Final, Protocol
from weakref import WeakSet

PATIENCE: Final = 5.0
"""How many seconds a fork waits for work under way."""


class Forkable(Protocol):
    """What is told about a fork."""

    def before_fork(self) -> None:
        """Come to rest and close connections."""
        ...

    def after_fork(self, *, child: bool) -> None:
        """Go on, in the parent or in the child."""
        ...


_watched: WeakSet[Forkable] = WeakSet()
_resting: list[Forkable] = []
_forking: Final = threading.Lock()


def watch(ledger: Forkable) -> None:
    """Tell a ledger about every fork, as long as it lives."""
    with _forking:
        _watched.add(ledger)


def _before() -> None:
    _forking.acquire()
    _resting.extend(_watched)
    for ledger in _resting:
        ledger.before_fork()


def _after(*, child: bool) -> None:
    for ledger in _resting:
        ledger.after_fork(child=child)
    _resting.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(child=False),
        after_in_child=lambda: _after(child=True),
    )
