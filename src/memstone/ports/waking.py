"""A ledger that tells other processes when there is something to do.

This is a capability beside ``memstone.ports.ledger.Ledger``. A file cannot call anybody, so whoever works on one looks
every second; a database server can, and then a look now and then is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

Tenants: TypeAlias = Callable[[], Iterable[str]]


class Listening(Protocol):
    """Somebody who listens."""

    @property
    def hears(self) -> bool:
        """Whether calls get through at the moment; while they do not, one has to look."""
        ...

    def stop(self) -> None:
        """Listen no longer."""
        ...


@runtime_checkable
class Waking(Protocol):
    """What a ledger offers that can wake workers of other processes."""

    async def listen(self, ring: Callable[[], None], tenants: Tenants | None) -> Listening:
        """Ring, from any thread, when something that waits becomes due, of these tenants or of all.

        It also rings when it begins to hear and when it no longer does: something may have been missed.
        """
        ...
