"""Read the state of a user's memories once per read-only call.

What is held in a process is compared with the ledger before it is used, by several steps of one search. Over a network
each of these looks is a way to the database and back. A call may answer by the state at its beginning or by any later
one, so what its first step saw will do for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

Stamps: TypeAlias = dict[tuple[str, str], int]
"""By tenant and user."""

_seen: Final[ContextVar[Stamps | None]] = ContextVar("memstone_seen", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Yield what is done inside only reads, and may be answered by one state of the store."""
    if _seen.get() is not None:
        yield
        return
    token = _seen.set({})
    try:
        yield
    finally:
        _seen.reset(token)


def call_stamps() -> Stamps:
    """Return what was seen in this call so far; outside of one nothing is kept."""
    found = _seen.get()
    return {} if found is None else found
