"""Compute the key of a cached block, and how long it is valid."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from memstone.core.prompt.planner import BlockPlan
from memstone.engine.recall.context_query import ContextQuery
from memstone.engine.recall.surface import Material, day_of
from memstone.engine.runtime import Runtime
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.scope import EVERYBODY
from memstone.ports.read_cache import call_stamps


async def read_block_key(runtime: Runtime, asked: ContextQuery) -> tuple[object, ...] | None:
    """Return what a block depends on, and note the state of the store in ``asked.stamps``.

    None without a user, because changes are counted by user.
    """
    who = asked.scope
    if not who.user_id or asked.as_of is not None or runtime.policy.retrieval.cache_seconds <= 0:
        return None
    question = hashlib.sha256(asked.query.encode()).digest()
    asked.stamps = await _read_stamps(runtime, who.tenant_id, _block_owners(asked))
    today = day_of(asked.now, runtime.zone)
    return (
        who,
        runtime.bounds,
        asked.project,
        asked.breadth,
        question,
        asked.budget,
        asked.mode,
        asked.route,
        # All settings, although few change a block: one that is forgotten here would show an old block.
        runtime.policy,
        today,
        asked.stamps,
    )


def _block_owners(asked: ContextQuery) -> tuple[str, ...]:
    """Return whose memories a block may show."""
    project = (asked.project.user_id,) if asked.project is not None else ()
    return (asked.scope.user_id, EVERYBODY, *project)


async def _read_stamps(runtime: Runtime, tenant_id: str, users: Sequence[str]) -> tuple[int, ...]:
    """Return the state of the store, as far as these users see it; what is looked at next goes by the same."""
    found = await runtime.ledger.peek(lambda tx: tx.vectors.stamps(tenant_id, users))
    call_stamps().update(((tenant_id, user), stamp) for user, stamp in zip(users, found, strict=True))
    return found


def block_expiry(runtime: Runtime, asked: ContextQuery, found: Material, planned: BlockPlan) -> Instant:
    """Return until when a block may be shown again.

    That is a few seconds, and not longer than the first memory in it lives.
    """
    soon = to_instant(datetime_from_instant(asked.now) + timedelta(seconds=runtime.policy.retrieval.cache_seconds))
    ends = [found.rows[one.id].record.expires_at for one in planned.chosen if one.counts]
    return min([soon, *(end for end in (*ends, found.profile.expires_at) if end is not None)])
