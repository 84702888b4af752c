"""Locks that stay usable after a fork."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Final, Self


class ForkSafeLock:
    """A mutual-exclusion lock that a forked child finds free, whoever held it in the parent.

    A child has only the thread that forked: a lock that another thread held would stay held for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _LOCKS.add(self)

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Forget who held it."""
        self._lock = threading.Lock()


_LOCKS: Final[weakref.WeakSet[ForkSafeLock]] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
