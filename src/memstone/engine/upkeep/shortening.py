"""``summarize_old``: ``summarize`` by age, for one owner or for each of a tenant in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memstone.engine.parts import Parts
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.upkeep.passes import parts_to_tidy
from memstone.engine.upkeep.summarize import summarize
from memstone.model.memory import Layer
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx


async def summarize_old(
    parts: Parts, given: Mapping[str, Any], older_than_days: float, *, everybody: bool, dry_run: bool
) -> dict[str, Any]:
    """Shorten everything that is older, whatever it takes up, of one owner or of each there is."""
    whole = parts_to_tidy(parts, scope_or_everybody(parts, given, everybody=everybody))
    owners = [given] if not everybody else await whole.ledger.read(lambda tx: _owners(tx, parts.tenant_id))
    total: dict[str, Any] = {"originalCount": 0, "summarizedCount": 0, "tokensSaved": 0}
    jobs: list[str] = []
    for owner in owners:
        one = await summarize(parts if given else whole, owner, 0, older_than_days, dry_run=dry_run)
        total = {name: count + one[name] for name, count in total.items()}
        jobs += [one["job_id"]] if "job_id" in one else []
    return {**total, "job_ids": jobs, "dry_run": dry_run}


async def _owners(tx: Tx, tenant_id: str) -> list[Mapping[str, Any]]:
    scope, layers = Scope(tenant_id), (str(Layer.FACT), str(Layer.EPISODE))
    pairs = [pair for layer in layers for pair in await tx.upkeep.owners(scope, layer)]
    users = dict.fromkeys(user for user, _ in pairs if user)
    agents = dict.fromkeys(agent for user, agent in pairs if agent and not user)
    return [*({"user_id": user} for user in users), *({"agent_id": agent} for agent in agents)]
