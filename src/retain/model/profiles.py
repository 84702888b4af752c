"""Ready-made ways to behave, as values: what a profile is called, what it looks at and what it shows.

No code asks for a profile; it reads the values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from retain.model.policy import Formation, Recall, RetrievalPolicy, Upkeep

# A minimum counts as reached when it is met; "above 0.8" is the next number after it.
_ABOVE_EIGHT_TENTHS: Final = math.nextafter(0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """How a memory forms and fades, how it is searched and what a model is shown of it."""

    retrieval: RetrievalPolicy = field(default_factory=RetrievalPolicy)
    recall: Recall = field(default_factory=Recall)
    formation: Formation = field(default_factory=Formation)
    upkeep: Upkeep = field(default_factory=Upkeep)
    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    roles: tuple[str, ...] = ("user", "assistant")


PROFILES: Final[dict[str, Profile]] = {
    "facts": Profile(RetrievalPolicy(gate="heuristic")),
    "gateway": Profile(
        RetrievalPolicy(token_budget=2_000, candidates=100, limit=100),
        Recall(visible_days=30, bootstrap_min=0),
        Formation(mode="background"),
        dedupe_scope=("user_id",),
    ),
    "companion": Profile(
        RetrievalPolicy(gate="heuristic"),
        Recall(decay_days=30.0, salience=True, mmr=0.85, bootstrap_min=0),
        Formation(mode="session_end", digest=True),
        Upkeep(evict=True, merge_facts=0.9, retain_days=(("episode", 365), ("turn", 365))),
        dedupe_scope=("user_id", "agent_id"),
    ),
    "shared": Profile(
        RetrievalPolicy(strategy="vector", candidates=10, limit=10, min_score=_ABOVE_EIGHT_TENTHS),
        Recall(decay_days=30.0),
        Formation(mode="background"),
        dedupe_scope=("user_id",),
        roles=("user",),
    ),
}
"""``facts``: a store of facts (the default). ``gateway``: always shown, up to 2,000 tokens. ``companion``: behind a
gate, 800 tokens, what is old fades. ``shared``: the ten nearest above a similarity of 0.8."""
