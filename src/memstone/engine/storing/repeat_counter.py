"""How often something was said that is known: counted in this process, and written down now and then.

Whoever says what is known changes nothing, and a count alone is not worth waiting for a disk. A crash loses the last
few. Where anything else is stored, the count is stored with it (``memstone.engine.storing.write``).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from memstone.errors import MemstoneError
from memstone.model.instant import Instant
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.engine.runtime import Parts
    from memstone.engine.storing.write import Outcome

KNOWN: Final = "NONE"
REDUNDANT: Final = "redundant"
"""The counter of what was said and known already."""

_AT_ONCE: Final = 256
_MOST: Final = 10_000
_DAY: Final = 10
"""An instant begins with its day."""


class Said(NamedTuple):
    """One thing that was known: whose, when it was said again, and which version says it."""

    tenant_id: str
    user_id: str
    at: Instant
    seq: int


@dataclass(slots=True)
class Tally:
    """What is not written down yet. Safe to share between threads: each step is one atomic operation."""

    waiting: deque[Said] = field(default_factory=lambda: deque(maxlen=_MOST))

    def taken(self) -> Iterator[Said]:
        """Everything, and it waits no more."""
        while self.waiting:
            try:
                yield self.waiting.popleft()
            except IndexError:  # somebody else was faster
                return


def is_idle(outcomes: Sequence[Outcome]) -> bool:
    """Whether nothing but known things were said."""
    return all(outcome.event == KNOWN for outcome in outcomes)


async def note_known(parts: Parts, outcomes: Sequence[Outcome], now: Instant) -> None:
    """Count what a call has said that stored nothing."""
    if not outcomes or not is_idle(outcomes):
        return
    for outcome in outcomes:
        scope = outcome.draft.scope
        if outcome.record is not None:
            parts.tally.waiting.append(Said(scope.tenant_id, scope.user_id, now, outcome.record.seq))
    if len(parts.tally.waiting) >= _AT_ONCE:
        await write_down(parts)


async def write_down(parts: Parts) -> None:
    """Store what was counted; what cannot be stored now waits on."""
    said = list(parts.tally.taken())
    for tenant in {one.tenant_id for one in said}:
        of_tenant = [one for one in said if one.tenant_id == tenant]
        ledger = parts.ledger if tenant == parts.tenant_id else parts.ledger.of(tenant)
        try:
            await ledger.write(partial(_write_counts, said=of_tenant))
        except MemstoneError:
            parts.tally.waiting.extend(of_tenant)


async def _write_counts(tx: Tx, *, said: Sequence[Said]) -> None:
    for one, count in Counter(one._replace(at=one.at[:_DAY]) for one in said).items():
        # Whoever was erased meanwhile holds nothing, and their name is not written down again.
        if any(link.scope.user_id == one.user_id for link in await tx.links.of(one.tenant_id, one.seq)):
            await tx.metrics.count(one.tenant_id, one.user_id, one.at, {REDUNDANT: count})
