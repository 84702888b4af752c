"""A fair lock for short work: threads take it in turn and run several pieces at a time.

A thread that takes over the interpreter from another one has to be woken for it, and finds the processor's caches cold:
that costs a good part of a search. So a thread that always comes back at once keeps the turn for a while, as threads
keep the interpreter itself; one that does something else in between hands it on. Such a guest, who wants one thing now
and then, is let in before those who are always there, and waits for no more than the piece of work that is under way.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import AbstractAsyncContextManager
from time import perf_counter, thread_time
from typing import Final

_SLICE: Final = 0.1
"""How long a thread that comes back at once may keep the turn while others wait."""

_AT_ONCE: Final = 0.002
"""Who comes back within this time comes back at once; of its own time, where another had the turn meanwhile."""

_MEANWHILE: Final = 1.0
"""Longer than this nobody waits for others alone."""

_HABIT: Final = 4
"""Who came back at once so many times in a row is expected back."""

_PATIENCE: Final = 0.005
"""After this time the last in line looks whether whoever was expected back has stayed away."""

_AWAY: Final = 0.004
"""Who was expected back at once and has not come for so long has stayed away."""

_OVERTAKEN: Final = 0.25
"""So long guests are let in before somebody who waits."""

_DOUBT: Final = (0.02, 0.64)
"""Once somebody has stayed away, nobody is expected back for so long; twice as long each time that soon repeats."""


class _ThreadState(threading.local):
    """What a thread knows of itself."""

    left = 0.0
    spent = -1.0
    habit = 0

    def comes_back(self, now: float) -> bool:
        """Return whether it has done next to nothing else since it gave the turn up."""
        if self.spent < 0:
            return now - self.left < _AT_ONCE
        return now - self.left < _MEANWHILE and thread_time() - self.spent < _AT_ONCE


class _Waiter:
    """A thread in line; ``granted`` once the turn is its own. All but waiting is done under the guard."""

    __slots__ = ("bell", "granted", "guest", "since")

    def __init__(self, *, guest: bool) -> None:
        self.bell = threading.Lock()
        self.bell.acquire()
        self.granted = False
        self.guest = guest
        self.since = perf_counter()

    def ring(self) -> None:
        """Wake it."""
        if self.bell.locked():
            self.bell.release()


class FairLock(AbstractAsyncContextManager[None]):
    """See ``memstone.ports.io.Io.turn``. A forked child finds it free."""

    def __init__(self) -> None:
        self._thread_state = _ThreadState()
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._taken = threading.Lock()
        self._guard = threading.Lock()
        self._line: deque[_Waiter] = deque()
        self._holder = 0
        self._since = 0.0
        self._expected_until = 0.0
        self._doubt_until = 0.0
        self._doubt = 0.0

    async def __aenter__(self) -> None:
        self.take()

    async def __aexit__(self, *_: object) -> None:
        self.give()

    @property
    def is_owned(self) -> bool:
        """Whether this thread has the turn."""
        return self._holder == threading.get_ident() and self._process == os.getpid()

    def take(self) -> None:
        """Wait for the turn."""
        if self._process != os.getpid():  # the threads that may have held it or wait for it do not exist here
            self._begin()
        now, own = perf_counter(), self._thread_state
        comes_back = own.comes_back(now)
        own.habit = own.habit + 1 if comes_back else 0
        if not self._taken.acquire(blocking=False):
            self._wait(guest=own.habit < _HABIT)
            self._since = perf_counter()
        elif not comes_back:
            self._since = now
        self._holder = threading.get_ident()

    def give(self, *, for_long: bool = False) -> None:
        """Give the turn up: to the first in line, unless one is expected back before anybody else had begun.

        A guest is not made to wait for that.
        """
        now = self._thread_state.left = perf_counter()
        self._holder = 0
        keeps = not for_long and self._thread_state.habit >= _HABIT and self._since + _SLICE > now > self._doubt_until
        keeps = keeps and not self._has_guest()
        if not keeps and self._line and self._hand_over():
            self._thread_state.spent = thread_time()
            return
        self._thread_state.spent = -1.0
        self._expected_until = now + _AWAY if keeps else 0.0
        self._taken.release()
        if not keeps and self._line:  # somebody came while it was given up
            self._wake_last()

    def _has_guest(self) -> bool:
        if not self._line:
            return False
        with self._guard:
            return any(one.guest for one in self._line)

    def _hand_over(self) -> bool:
        with self._guard:
            if not self._line:
                return False
            self._expected_until = 0.0
            self._grant()
            return True

    def _wake_last(self) -> None:
        with self._guard:
            if self._line:
                self._line[-1].ring()

    def _wait(self, *, guest: bool) -> None:
        own = _Waiter(guest=guest)
        with self._guard:
            self._line.insert(self._place_of(own), own)
        try:
            while (seconds := self._left_to_wait(own)) != 0:
                own.bell.acquire(timeout=seconds)
        except BaseException:
            self._withdraw(own)
            raise

    def _place_of(self, own: _Waiter) -> int:
        """Return a place in the line.

        Guests stand before those who are always there, unless these have been overtaken for long.
        """
        first = next((at for at, one in enumerate(self._line) if not one.guest), len(self._line))
        late = first < len(self._line) and own.since - self._line[first].since > _OVERTAKEN
        return first if own.guest and not late else len(self._line)

    def _left_to_wait(self, own: _Waiter) -> float:
        """Return how long to wait: 0 when the turn is this thread's, -1 until the bell rings.

        The last in line watches for all of them: it has come just now, so nobody need be woken for it.
        """
        with self._guard:
            now = perf_counter()
            if not own.granted and now >= self._expected_until and self._taken.acquire(blocking=False):
                if self._expected_until:
                    self._stayed_away(now)
                self._grant()
            if own.granted:
                return 0
            if self._line[-1] is not own:
                return -1
            return self._expected_until - now if now < self._expected_until else _PATIENCE

    def _stayed_away(self, now: float) -> None:
        """Expect nobody for a while: a pause of the machine is soon forgotten, a habit is not."""
        first, longest = _DOUBT
        repeats = now < self._doubt_until + longest
        self._doubt = min(longest, 2 * self._doubt) if repeats else first
        self._doubt_until = now + self._doubt

    def _grant(self) -> None:
        """Give the turn to the first in line."""
        first = self._line.popleft()
        first.granted = True
        first.ring()

    def _withdraw(self, own: _Waiter) -> None:
        """Leave the line after an interruption; a turn that was granted meanwhile goes on."""
        with self._guard:
            if own in self._line:
                self._line.remove(own)
        if own.granted:
            self.give(for_long=True)
        else:
            self._wake_last()
