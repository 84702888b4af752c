"""Facts as a companion sees them, the weightiest first; and what the user wants to be done always."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memstone.core.checks.filters import own, visible
from memstone.core.ranking.importance import Strength, effective
from memstone.engine.asking import LARGEST, checked_limit
from memstone.engine.layers.derived import never_fades
from memstone.engine.parts import Parts
from memstone.engine.scoping import merged_scope
from memstone.engine.tuning import tuned_for
from memstone.model.instant import Instant
from memstone.model.memory import Found, Kind, Layer, Origin
from memstone.model.query import And, Condition, Not, Op

_MOST_STANDING: Final = 100
STANDING: Final = And((Condition("kind", Op.EQ, str(Kind.PROCEDURAL)), Condition("origin", Op.EQ, str(Origin.USER))))
"""What the user wants to be done always: a surface of its own, which no other one repeats."""


@dataclass(slots=True)
class PinnedRequest:
    """One call of ``pinned``."""

    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    limit: int = 100


async def pinned(parts: Parts, request: PinnedRequest) -> dict[str, Any]:
    """The most salient facts of a scope, without what ``standing_instructions`` tells."""
    given = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    limit = checked_limit(request.limit, parts.policy.limits.page, LARGEST)
    now, days = parts.now(), (await tuned_for(parts, request)).policy.recall.decay_days
    where = visible(merged_scope(parts, given, {}), now, layers=(Layer.FACT,), extra=And((own(), Not(STANDING))))
    rows = await parts.ledger.read(lambda tx: tx.memories.salient(where, limit=limit))
    return {"results": [_shown(found, now, days) for found in rows]}


def salience_now(found: Found, now: Instant, decay_days: float | None) -> float:
    """Return how salient a memory still is, since it was last renewed or used."""
    record, used = found.record, found.link.last_used_at
    decay_days = None if never_fades(record) else decay_days
    anchor = max(record.anchor_at, used) if used is not None else record.anchor_at
    return round(effective(Strength(record.salience, anchor), now, decay_days), 4)


def _shown(found: Found, now: Instant, decay_days: float | None) -> dict[str, Any]:
    record, link = found.record, found.link
    return {
        "id": record.id,
        "content": record.text,
        "salience": record.salience,
        "effective_salience": salience_now(found, now, decay_days),
        "source_count": record.source_count,
        "source_episode_id": record.data.get("episode"),
        "last_used": link.last_used_at,
        "use_count": link.use_count,
        "status": str(record.status),
        "tags": _tags(record.metadata),
        "user_id": link.scope.user_id or None,
        "agent_id": link.scope.agent_id or None,
        "occurred_at": record.occurred_at,
        "created_at": record.created_at,
    }


def _tags(metadata: Mapping[str, Any]) -> list[str]:
    held = metadata.get("tags")
    return [str(one) for one in held] if isinstance(held, Sequence) and not isinstance(held, str) else []


async def standing_instructions(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """How the user wants to be served whatever the subject, in their own words, oldest first."""
    where = visible(merged_scope(parts, given, {}), parts.now(), layers=(Layer.FACT,), extra=And((own(), STANDING)))
    rows = await parts.ledger.read(lambda tx: tx.memories.find(where, limit=_MOST_STANDING))
    lines = [found.record for found in sorted(rows, key=lambda found: (found.record.created_at, found.record.seq))]
    shown = [{"id": one.id, "text": one.text, "occurred_at": one.occurred_at} for one in lines]
    return {"text": "\n".join(f"- {' '.join(one.text.split())}" for one in lines), "instructions": shown}
