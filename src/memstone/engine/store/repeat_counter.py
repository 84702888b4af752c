"""Count repetitions of known facts in this process, and write the counts now and then.

Whoever says what is known changes nothing, and a count alone is not worth waiting for a disk. A crash loses the last
few. Where anything else is stored, the count is stored with it (``memstone.engine.store.write``).
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
    from memstone.engine.runtime import Runtime
    from memstone.engine.store.write import Outcome

KNOWN: Final = "NONE"
REDUNDANT: Final = "redundant"
"""The counter of what was said and known already."""

_AT_ONCE: Final = 256
_MOST: Final = 10_000
_DAY: Final = 10
"""An instant begins with its day."""


class Repetition(NamedTuple):
    """One thing that was known: whose, when it was said again, and which version says it."""

    tenant_id: str
    user_id: str
    at: Instant
    seq: int


@dataclass(slots=True)
class RepeatCounter:
    """What is not written down yet. Safe to share between threads: each step is one atomic operation."""

    waiting: deque[Repetition] = field(default_factory=lambda: deque(maxlen=_MOST))

    def take_all(self) -> Iterator[Repetition]:
        """Yield everything, which then waits no more."""
        while self.waiting:
            try:
                yield self.waiting.popleft()
            except IndexError:  # somebody else was faster
                return


def is_idle(outcomes: Sequence[Outcome]) -> bool:
    """Return whether nothing but known things were said."""
    return all(outcome.event == KNOWN for outcome in outcomes)


async def count_if_all_known(runtime: Runtime, outcomes: Sequence[Outcome], now: Instant) -> None:
    """Count what a call said, if all of it was known and nothing was stored; else do nothing.

    What is known beside something new is counted with that, in its transaction.
    """
    if not outcomes or not is_idle(outcomes):
        return
    for outcome in outcomes:
        scope = outcome.draft.scope
        if outcome.record is not None:
            runtime.tally.waiting.append(Repetition(scope.tenant_id, scope.user_id, now, outcome.record.seq))
    if len(runtime.tally.waiting) >= _AT_ONCE:
        await write_down(runtime)


async def write_down(runtime: Runtime) -> None:
    """Store what was counted; what cannot be stored now waits on."""
    repetitions = list(runtime.tally.take_all())
    for tenant in {one.tenant_id for one in repetitions}:
        of_tenant = [one for one in repetitions if one.tenant_id == tenant]
        ledger = runtime.ledger if tenant == runtime.tenant_id else runtime.ledger.of(tenant)
        try:
            await ledger.write(partial(_write_counts, repetitions=of_tenant))
        except MemstoneError:
            runtime.tally.waiting.extend(of_tenant)


async def _write_counts(tx: Tx, *, repetitions: Sequence[Repetition]) -> None:
    for one, count in Counter(one._replace(at=one.at[:_DAY]) for one in repetitions).items():
        # Whoever was erased meanwhile holds nothing, and their name is not written down again.
        if any(link.scope.user_id == one.user_id for link in await tx.links.of(one.tenant_id, one.seq)):
            await tx.metrics.count(one.tenant_id, one.user_id, one.at, {REDUNDANT: count})
