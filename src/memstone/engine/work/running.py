"""What an agent runs with: asked by whoever may talk to it, not only by those who manage it."""

from __future__ import annotations

from typing import Any

from memstone.engine.parts import Parts
from memstone.errors import Forbidden, InvalidInput, NotFoundError
from memstone.model.ids import clean_id


async def runs_with(parts: Parts, agent_id: Any) -> dict[str, str]:
    """The model and the instructions of an agent, '' where it has none; ``NotFoundError`` when there is no such agent.

    A key that is bound to one agent runs no other; one that is bound to a user runs any.
    """
    wanted = clean_id(agent_id, "agent_id")
    if not wanted:
        raise InvalidInput("agent_id is missing")
    if parts.bounds is not None and parts.bounds.agent_id not in ("", wanted):
        raise Forbidden(f"this key does not reach agent {wanted!r}")
    row = await parts.ledger.peek(lambda tx: tx.agents.get(parts.tenant_id, wanted))
    if row is None:
        raise NotFoundError(f"no agent {wanted}", hint="agents() lists those that are known")
    return {"id": row.id, "model": row.model or "", "system_prompt": row.system_prompt or ""}
