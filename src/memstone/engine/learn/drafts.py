"""Build the draft of a learned fact."""

from __future__ import annotations

from typing import Any

from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import TRUST, Draft, dedupe_value
from memstone.engine.store.turns import Turn
from memstone.model.fact import Candidate
from memstone.model.memory import Origin
from memstone.model.scope import Scope


def build_draft(
    runtime: Runtime, scope: Scope, turn: Turn, candidate: Candidate, text: str, category: str, metadata: dict[str, Any]
) -> Draft:
    """Return a draft whose origin, trust and time are those of the turn."""
    origin = Origin(turn.message.role)
    return Draft(
        scope=scope,
        text=text,
        dedupe=dedupe_value(scope, runtime.policy.known_scope, speaker="", key=None, text=text),
        kind=candidate.kind,
        origin=origin,
        trust=TRUST[origin],
        occurred_at=turn.occurred_at,
        role=turn.message.role,
        speaker=turn.message.speaker,
        key=candidate.key,
        metadata=metadata,
        data={
            "category": category,
            "polarity": candidate.polarity,
            "subject": candidate.subject,
            **({"quoted": True} if candidate.is_quote else {}),
            **({"speaker": turn.message.name} if turn.message.name else {}),
        },
        salience=candidate.salience,
    )
