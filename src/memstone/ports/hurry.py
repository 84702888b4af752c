"""Somebody waits for an answer that can be given without a model: it is asked once, and may take only so long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Final

_deadline: Final[ContextVar[float | None]] = ContextVar("memstone_deadline", default=None)


@contextmanager
def hurried(seconds: float = inf) -> Iterator[None]:
    """What is asked of models inside is worth one attempt, and no more time than this."""
    token = _deadline.set(min(_deadline.get() or inf, time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def is_hurried() -> bool:
    """Return whether one attempt is all that this call is worth."""
    return _deadline.get() is not None


def seconds_left(usual: float) -> float:
    """Return how long a request may take that usually may take this long; a moment at least."""
    deadline = _deadline.get()
    return usual if deadline is None else max(0.01, min(usual, deadline - time.monotonic()))
