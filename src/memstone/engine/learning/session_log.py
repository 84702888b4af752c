"""What a session leaves beside its memory: the details of the log, and what its project sees of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memstone.engine.learning.converse import Conversation, Learned
from memstone.engine.storing.projects import feed_turns
from memstone.engine.storing.write import Outcome, action_of
from memstone.model.instant import Instant
from memstone.ports.ledger import Tx


def told(said: Conversation) -> dict[str, Any]:
    """What a run was about."""
    return {
        "event": "memory_decision",
        "user_id": said.scope.user_id,
        "input_message_length": sum(len(turn.text) for turn in said.turns),
    }


def decisions(said: Conversation, learned: Learned) -> dict[str, Any]:
    """What was decided about each fact, for the log."""
    return {**told(said), **decided(learned.outcomes)}


def decided(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Each fact with what became of it, and why."""
    rows = [
        {
            "fact": outcome.draft.text,
            "action": action_of(outcome),
            "target_id": outcome.record.id if outcome.record else None,
            "reason": outcome.reason,
        }
        for outcome in outcomes
    ]
    return {"extracted_count": len(rows), "decisions": rows}


async def feed_project(tx: Tx, said: Conversation, made: Mapping[str, Any], now: Instant) -> None:
    """Let the project in which a session was held see its episode, and the facts that it mentions."""
    if said.project is None or not made.get("episode_id"):
        return
    episode = await tx.memories.current(said.scope.tenant_id, str(made["episode_id"]))
    facts = list(map(str, episode.data.get("facts") or ())) if episode is not None else []
    await feed_turns(tx, [str(made["episode_id"]), *facts], said.project, now)
