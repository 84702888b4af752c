"""What became of a transaction whose COMMIT got no answer.

Its number tells, unless the server crashed meanwhile: then numbers that were not yet written down are given out again,
and what they say may be about somebody else's transaction. A row that only this transaction can have written is a
better witness, and most transactions have one: their event or their signal, whose id is nobody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from psycopg.errors import InvalidParameterValue

from memstone.adapters.ledger.postgres_pools import Lent
from memstone.adapters.ledger.postgres_tx import Witness

NUMBER: Final = "pg_postmaster_start_time()::text, pg_current_xact_id()::text"
"""What a transaction that writes asks for as it begins."""

_STATE: Final = "SELECT pg_xact_status($1::text::xid8), pg_postmaster_start_time()::text = $2::text"


class Fate(Enum):
    """``OPEN``: it is not over. ``UNKNOWN``: nobody can tell any more."""

    STORED = auto()
    LOST = auto()
    OPEN = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Sent:
    """A transaction whose COMMIT was sent: its number, since when its server runs, and a row that it wrote."""

    number: str
    started: str
    witness: Witness | None = None


async def became(lent: Lent, sent: Sent) -> Fate:
    """Look once, over a connection that peeks on behalf of the same tenant."""
    try:
        ((state, same),) = await lent.wire.fetch(_STATE, (sent.number, sent.started))
    except InvalidParameterValue:
        return Fate.LOST  # the server started anew and has not come to this number again: it never wrote it down
    if state == "in progress" and same:
        return Fate.OPEN
    if sent.witness is not None:
        return Fate.STORED if await lent.peeked.saw(sent.witness) else Fate.LOST
    if state is not None and (same or state != "committed"):
        return Fate.STORED if state == "committed" else Fate.LOST
    return Fate.UNKNOWN
