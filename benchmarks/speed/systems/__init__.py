"""The systems under measurement, behind one small face, and how to get one by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from benchmarks.speed.corpus import Item
from benchmarks.speed.vectors import VectorTable

LIMIT: Final = 10


class System(Protocol):
    """One memory store, opened on a directory; texts stand for themselves, nothing is extracted."""

    def add(self, item: Item) -> str:
        """Store one text; return its id."""
        ...

    def add_many(self, items: Sequence[Item]) -> None:
        """Store texts in the quickest way the system offers."""
        ...

    def search(self, query: Item) -> list[str]:
        """Return the best ten texts of the asking user, by all means the system has."""
        ...

    def nearest(self, query: Item) -> list[str] | None:
        """Return the nearest ten texts by vector alone; None when the system cannot be asked that."""
        ...

    def get(self, memory_id: str) -> object:
        """Return one memory by id."""
        ...

    def history(self, memory_id: str) -> object:
        """Return what happened to one memory."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Opens(Protocol):
    """Opens a system; making the directory is the caller's."""

    def __call__(self, directory: Path, vectors: VectorTable) -> System:
        """Open, or reopen, what is stored in ``directory``."""
        ...


def opener(name: str) -> Opens:
    """Return the way to open the system called ``name``."""
    return cast("Opens", import_module(f"benchmarks.speed.systems.{name}_system").open_system)
