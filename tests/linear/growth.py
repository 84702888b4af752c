"""How the cost of reading a text grows with its length.

What is compared is processor time of this thread, the best of a few runs, on a text and on one four times as long. The
shorter one is chosen so long that its cost is no accident. Work that is so cheap on a long text that it cannot be
quadratic is not compared at all.
"""

from __future__ import annotations

import gc
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

LINEAR: Final = 1.2
"""The greatest exponent that passes for linear: 1 is linear, 2 is quadratic."""

_TIMES: Final = 4
"""So much longer is the longer text."""

_STEP: Final = 8
_RUNS: Final = (1, 3, 3, 5)
"""So many runs are compared, until the best of them pass for linear: others use the machine at the same time."""

_HOPELESS: Final = 10.0
"""After so many seconds of processor time nobody waits for the end."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths that are tried: ``least`` and eight times that and so on, until a run costs ``enough`` seconds."""

    least: int
    most: int
    enough: float


class TooSlow(Exception):
    """One run took longer than anybody waits."""


Work = Callable[[str], object]
Shape = Callable[[int], str]


def exponent(work: Work, shape: Shape, sizes: Sizes) -> float:
    """Return with which power of its length the cost of a text grows; 0 for one that is cheap at every length."""
    size = _costly_size(work, shape, sizes)
    if size is None:
        return 0.0
    least = math.inf
    for runs in _RUNS:
        short, long = (min(_cost(work, shape, at) for _ in range(runs)) for at in (size, _TIMES * size))
        least = min(least, math.log(long / max(short, 1e-9), _TIMES))
        if least <= LINEAR:
            break
    return least


def _costly_size(work: Work, shape: Shape, sizes: Sizes) -> int | None:
    size = sizes.least
    while _cost(work, shape, size) < sizes.enough:
        if size >= sizes.most:
            return None
        size = min(sizes.most, size * _STEP)
    return size


def _cost(work: Work, shape: Shape, size: int) -> float:
    text = shape(size)
    with _bounded(), _without_collection():
        began = time.thread_time()
        work(text)
        return time.thread_time() - began


@contextmanager
def _without_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _bounded() -> Iterator[None]:
    """Break off what never ends, also within one regular expression; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"one run took more than {_HOPELESS:.0f} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _HOPELESS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
