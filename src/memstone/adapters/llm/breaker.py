"""A guard around a language model: limit calls at once, and stop calling while the model is down."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from memstone.errors import ConfigError, LlmUnavailable, MemstoneError
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt, Reply

MAX_CONCURRENT: Final = 4
OPEN_AFTER: Final = 5
COOL_DOWN_SECONDS: Final = 30.0


class GuardedLlm:
    """Passes prompts on, ``max_concurrent`` at a time; the others wait.

    After ``open_after`` failures in a row that could pass (time-outs, rate limits, a service that is down) prompts are
    refused at once. When ``cool_down`` seconds have gone by, one prompt is let through: if it is answered all is well
    again, if it fails the pause starts again. Any answer, and any error that trying again would not help, ends the row.
    """

    def __init__(
        self,
        inner: Llm,
        io: Io,
        clock_monotonic: Callable[[], float] = time.monotonic,
        *,
        max_concurrent: int = MAX_CONCURRENT,
        open_after: int = OPEN_AFTER,
        cool_down: float = COOL_DOWN_SECONDS,
    ) -> None:
        if min(max_concurrent, open_after) < 1:
            raise ConfigError("max_concurrent and open_after must be at least 1")
        self._inner = inner
        self._clock = clock_monotonic
        self._slots = _Slots(io, max_concurrent)
        self._lock = io.lock()
        self._open_after = open_after
        self._cool_down = cool_down
        self._failures = 0
        self._last_failure = ""
        self._closed_until: float | None = None

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def destination(self) -> str:
        return self._inner.destination

    async def generate(self, prompt: Prompt) -> Reply:
        await self._admit(claim=False)  # whoever is refused need not wait for a slot to be told so
        async with self._slots.one():
            is_trial = await self._admit(claim=True)
            try:
                reply = await self._inner.generate(prompt)
            except MemstoneError as error:
                await (self._record_failure(error) if error.retryable else self._record_success())
                raise
            except BaseException:  # cancelled, or a bug: says nothing about the model
                await self._release_trial(is_trial=is_trial)
                raise
            await self._record_success()
            return reply

    async def _admit(self, *, claim: bool) -> bool:
        """Return whether this call tries a model that was down; ``LlmUnavailable`` while it may not be asked.

        A trial starts the pause again for all others, so that one that is never heard of again blocks nobody for ever.
        """
        async with self._lock:
            if self._closed_until is None:
                return False
            left = self._closed_until - self._clock()
            if left > 0:
                raise self._unavailable(left)
            if claim:
                self._closed_until = self._clock() + self._cool_down
            return claim

    def _unavailable(self, left: float) -> LlmUnavailable:
        problem = f"model {self.model} at {self.destination} is not called after {self._failures} failures in a row"
        return LlmUnavailable(problem, hint=f"try again in {left:.0f} s; the last failure was {self._last_failure}")

    async def _record_failure(self, error: MemstoneError) -> None:
        async with self._lock:
            self._failures += 1
            self._last_failure = error.code
            if self._failures >= self._open_after:
                self._closed_until = self._clock() + self._cool_down

    async def _record_success(self) -> None:
        async with self._lock:
            self._failures, self._closed_until = 0, None

    async def _release_trial(self, *, is_trial: bool) -> None:
        async with self._lock:
            if is_trial and self._closed_until is not None:
                self._closed_until = self._clock()


class _Slots:
    """A number of slots, for those who come first; a forked child starts with all of them free."""

    def __init__(self, io: Io, count: int) -> None:
        self._io = io
        self._count = count
        self._process, self._semaphore = os.getpid(), _Semaphore(io, count)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        if self._process != os.getpid():  # the calls that held slots go on in the parent only
            self._process, self._semaphore = os.getpid(), _Semaphore(self._io, self._count)
        semaphore = self._semaphore
        await semaphore.take()
        try:
            yield
        finally:
            await semaphore.give()


class _Semaphore:
    """Counts with an Io's plain locks, so that threads wait under one Io and tasks under the other.

    ``_gate`` is held exactly while no slot is free: whoever takes the last slot keeps it, and whoever frees one gives
    it back, be it another thread or task; both kinds of lock allow that. Nothing suspends while ``_lock`` is held, so
    under asyncio it is always free, and a cancelled task cannot get stuck between the two.
    """

    def __init__(self, io: Io, count: int) -> None:
        self._free = count
        self._gate = io.lock()
        self._lock = io.lock()

    async def take(self) -> None:
        await self._gate.__aenter__()
        async with self._lock:
            self._free -= 1
            if self._free:
                await self._gate.__aexit__(None, None, None)

    async def give(self) -> None:
        async with self._lock:
            self._free += 1
            if self._free == 1:
                await self._gate.__aexit__(None, None, None)
