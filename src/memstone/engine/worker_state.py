"""What the calls of one memory share with its worker: counts, claims and wake-ups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.io import BackgroundHandle, Bell, Io

if TYPE_CHECKING:
    from memstone.results import LearningCounts

IN_BACKGROUND: Final = ("background", "session_end")
"""The modes in which memory forms by itself, after the call."""


@dataclass(slots=True)
class Counters:
    """What became of attempts to keep something for later, in this process; attempts count before anything else."""

    attempts: int = 0
    insert_successes: int = 0
    insert_failures: int = 0
    early_returns_empty_message: int = 0
    early_returns_disabled: int = 0
    last_attempt_at: Instant | None = None
    last_success_at: Instant | None = None
    last_error: str | None = None

    def attempt(self, now: Instant) -> None:
        """Count an attempt, whatever becomes of it."""
        self.attempts += 1
        self.last_attempt_at = now

    def record_success(self, now: Instant) -> None:
        """Count something that was kept."""
        self.insert_successes += 1
        self.last_success_at = now

    def record_failure(self, error: Exception) -> None:
        """Count something that could not be kept, and why."""
        self.insert_failures += 1
        self.last_error = f"{type(error).__name__}: {error}"

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt was in vain."""
        last, stored_text = self.last_attempt_at, self.last_success_at
        return self.insert_failures > 0 and last is not None and (stored_text is None or stored_text < last)


class WorkerState:
    """One for each memory; made for its ``Io`` when it is first needed.

    Safe to share between threads: lists and dictionaries are changed by single operations, the rest is only told.
    """

    def __init__(self) -> None:
        self.counters: Counters = Counters()
        self.touched: dict[Scope, None] = {}
        """Sessions in which this process has left something to do, in the order in which it did."""

        self.refused: dict[Scope, float] = {}
        """Sessions that this process cannot form memory of now, and until when it need not look at them again."""

        self.damage: list[str] = []
        """What the worker's last check of the store found."""

        self.compaction: BackgroundHandle | None = None
        """Waits until it is quiet, to write the file of the store again."""

        self.stopping: bool = False
        self.worker: BackgroundHandle | None = None
        self.home: Any = None
        """The parts the worker works with: those of the memory that was opened, without bounds."""

        self._calls: list[None] = []
        self._tools: list[tuple[Bell, Bell, AbstractAsyncContextManager[Any]]] = []

    def _ensure_tools(self, io: Io) -> tuple[Bell, Bell, AbstractAsyncContextManager[Any]]:
        if not self._tools:
            self._tools.append((io.bell(), io.bell(), io.lock()))
        return self._tools[0]  # the first, whoever else made some at the same moment

    def bell(self, io: Io) -> Bell:
        """Return the bell that is rung when there is something to do."""
        return self._ensure_tools(io)[0]

    def turn(self, io: Io) -> AbstractAsyncContextManager[Any]:
        """Return what is held during one piece of work: strictly one at a time."""
        return self._ensure_tools(io)[2]

    def leave(self) -> None:
        """Tell the worker to come to its end."""
        self.stopping = True
        if self._tools:
            self._tools[0][0].ring()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Yield a call of somebody who waits: background work steps aside for it."""
        self._calls.append(None)
        try:
            yield
        finally:
            self._calls.pop()
            if not self._calls and self._tools:
                self._tools[0][1].ring()

    @property
    def busy(self) -> bool:
        """Whether somebody calls."""
        return bool(self._calls)

    async def calm(self, io: Io, seconds: float) -> None:
        """Wait until nobody calls, so long at most."""
        until = monotonic() + seconds
        while self._calls and (left := until - monotonic()) > 0 and not self.stopping:
            await self._ensure_tools(io)[1].wait(left)

    def as_dict(self) -> LearningCounts:
        """Return what was counted, and whether a worker is at work in this process."""
        counters = self.counters
        return {
            "attempts": counters.attempts,
            "insert_successes": counters.insert_successes,
            "insert_failures": counters.insert_failures,
            "early_returns_empty_message": counters.early_returns_empty_message,
            "early_returns_disabled": counters.early_returns_disabled,
            "last_attempt_at": counters.last_attempt_at,
            "last_success_at": counters.last_success_at,
            "last_error": counters.last_error,
            "worker": self.worker is not None and self.worker.alive,
        }
