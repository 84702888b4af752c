"""``metrics``: the figures about a memory, worked out from its history when somebody asks."""

from __future__ import annotations

from typing import Any, Final

from memstone.core.checks.filters import visible
from memstone.engine.parts import Parts
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.storing.feedback import JUDGED, USED, USEFUL, USELESS
from memstone.engine.storing.tally import REDUNDANT, write_down
from memstone.errors import Forbidden
from memstone.model.event import EventType
from memstone.model.instant import Instant, When, parse_when
from memstone.ports.ledger import Tx

_BEGINNING: Final[Instant] = ""
_REPLACING: Final = (EventType.UPDATE, EventType.REPLACE)
_ENDING: Final = (EventType.DELETE, EventType.UNLINK)


async def metrics(parts: Parts, user_id: Any, since: When | None, *, everybody: bool) -> dict[str, Any]:
    """The four figures of a user, or of everybody, and the counts they are made of.

    They are counted by user: whoever reaches one agent only is told nothing about what others did.
    """
    if parts.bounds is not None and parts.bounds.agent_id:
        raise Forbidden("this key is bound to an agent, and figures are a user's", hint="use a key of the user")
    scope = scope_or_everybody(parts, {"user_id": user_id}, everybody=everybody)
    begin = _BEGINNING if since is None else parse_when(since, "since")
    now = parts.now()

    async def work(tx: Tx) -> dict[str, Any]:
        tenant, user = parts.tenant_id, scope.user_id
        total = sum((await tx.memories.count(visible(scope, now))).values())
        events = await tx.metrics.happened(tenant, user, begin)
        counted = await tx.metrics.counted(tenant, user, begin)
        return {"user_id": user or None, **_figures(total, events, counted, await tx.metrics.uses(tenant, user))}

    await write_down(parts)
    return await parts.ledger.read(work)


def _figures(total: int, events: dict[str, int], counted: dict[str, int], uses: int) -> dict[str, Any]:
    added = events.get(EventType.ADD, 0)
    replaced = sum(events.get(verb, 0) for verb in _REPLACING)
    ended = sum(events.get(verb, 0) for verb in _ENDING)
    redundant = counted.get(REDUNDANT, 0)
    return {
        "memory_total_count": total,
        "memory_replacement_rate": _rate(replaced, added + replaced),
        "memory_dedup_rate": _rate(redundant, added + replaced + ended + redundant),
        "retrieval_hit_rate": _rate(counted.get(USED, 0), counted.get(JUDGED, 0)),
        "counts": {
            "added": added,
            "replaced": replaced,
            "ended": ended,
            "redundant": redundant,
            "injected": uses,
            **{name: counted.get(name, 0) for name in (JUDGED, USED, USEFUL, USELESS)},
        },
    }


def _rate(part: int, whole: int) -> float | None:
    """A share from 0 to 1; None where there is nothing to take a share of."""
    return round(part / whole, 4) if whole else None
