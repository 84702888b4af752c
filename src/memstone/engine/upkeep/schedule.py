"""When memory is consolidated by itself, and its store is checked for damage.

The last pass stands in the log of jobs, not in a process: a machine that is started every morning does what is due a
minute later, and one that never stops does it once an interval. Of many processes over one store one runs it. The check
is each worker's own: it reads, and holds nobody up.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from memstone.engine.erasing.compaction import compact_if_owed
from memstone.engine.parts import Parts
from memstone.engine.tuning import tuned
from memstone.model.instant import Instant, instant
from memstone.model.scope import Scope
from memstone.ports.storage import Copying
from memstone.trace import log_event

FIRST_SECONDS: Final = 60.0
"""So long after its start a worker looks for the first time whether a pass is due."""

AGAIN_SECONDS: Final = 1_800.0
"""And then so often."""

CHECK_HOURS: Final = 24.0
"""So often a worker checks the store."""

_TASK: Final = "consolidate"


@dataclass(slots=True)
class Timetable:
    """When one worker looks next; it begins when it is made."""

    next_at: datetime
    check_at: datetime

    @classmethod
    def of(cls, parts: Parts) -> Timetable:
        """That of a worker which starts now."""
        first = parts.clock.now() + timedelta(seconds=FIRST_SECONDS)
        return cls(first, first)

    def seconds(self, parts: Parts) -> float:
        """How long there is nothing to look at."""
        return max(0.0, (self.next_at - parts.clock.now()).total_seconds())

    async def tick(self, parts: Parts, *, busy: bool = False) -> dict[str, Any] | None:
        """Run what is due, if it is time to look and there is nothing better to do; gives what was done."""
        if self.seconds(parts) > 0 or busy:
            return None
        now = parts.clock.now()
        self.next_at = now + timedelta(seconds=AGAIN_SECONDS)
        if now >= self.check_at:
            self.check_at = now + timedelta(hours=CHECK_HOURS)
            await check_store(parts)
        await compact_if_owed(parts)
        return await tick(parts)


async def check_store(parts: Parts) -> list[str]:
    """Return what is damaged in a store that lies in files; it is logged, and ``health`` says so from then on."""
    if not isinstance(parts.ledger, Copying) or not parts.ledger.holds_files:
        return []
    facts = await parts.ledger.check()
    damage = [line for line in facts["integrity"] if line != "ok"]
    parts.workshop.damage = damage
    if damage:
        log_event("store.damaged", logging.ERROR, damage=damage)
    return damage


async def due(parts: Parts) -> bool:
    """Whether the last whole pass is an interval ago; one that failed is tried again at the next look."""
    parts = await tuned(parts, Scope(parts.tenant_id))
    if not parts.policy.enabled:
        return False
    last = await last_run(parts)
    return last is None or last <= instant(parts.clock.now() - timedelta(hours=parts.policy.upkeep.interval_hours))


async def last_run(parts: Parts) -> Instant | None:
    """When the last whole pass that succeeded began."""
    tenant = Scope(parts.tenant_id)
    jobs = await parts.ledger.read(lambda tx: tx.jobs.find(tenant, task=_TASK, status="success", limit=100))
    return next((job.created_at for job in jobs if job.scope.is_open), None)


async def tick(parts: Parts) -> dict[str, Any] | None:
    """Consolidate everything if it is due; gives what was done, None when nothing was."""
    if not await due(parts):
        return None
    from memstone.engine.upkeep.consolidate import consolidate

    answer = await consolidate(parts, {}, everybody=True)
    log_event("memory.scheduled", status=answer["status"])
    return answer
