"""Those who watch an engine at work; nearly always nobody, which costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Final

from memstone.ports.io import Observer

_NOBODY: Final = nullcontext()


class Watch:
    """One for each memory, shared by everybody it acts for and by its worker."""

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()

    def add(self, observer: Observer) -> None:
        """Let somebody watch from now on; who watches already is told once all the same."""
        if observer not in self._observers:
            self._observers = (*self._observers, observer)

    def step(self, name: str) -> AbstractContextManager[None]:
        """Tell how long what is inside takes, whatever becomes of it."""
        return self._timed(name) if self._observers else _NOBODY

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._tell(name, perf_counter() - began)

    def laps(self, whole: str, ms: Mapping[str, float]) -> None:
        """Tell of steps that were timed already, in milliseconds."""
        for name, took in ms.items() if self._observers else ():
            self._tell(f"{whole}.{name}", took / 1_000)

    def gated(self, route: str) -> None:
        """Tell where the gate has sent a message."""
        for one in self._observers:
            one.gated(route)

    def _tell(self, name: str, seconds: float) -> None:
        for one in self._observers:
            one.took(name, seconds)
