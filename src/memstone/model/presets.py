"""Ready-made ways to behave, as values: what a preset is called, what it looks at and what it shows.

No code asks for a preset; it reads the values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from memstone.model.policy import Formation, Identity, Injection, Recall, RetrievalPolicy, Upkeep

# A minimum counts as reached when it is met. "Above 0.8" is a little more, because vectors hold 32-bit numbers: their
# cosine of 0.8 comes out as 0.80000001.
_ABOVE_EIGHT_TENTHS: Final = 0.8 + 1e-6
BUILT_IN: Final = "local:all-minilm-l6-v2-int8"


@dataclass(frozen=True, slots=True)
class Preset:
    """How a memory forms and fades, how it is searched, what a model is shown of it, and how a service uses it.

    What is stored as it is, is known once within ``dedupe_scope``; what is learned, within ``known_scope``.
    ``strategies`` are the extractors: none named is a language model where there is one, else rules. ``neighbours`` is
    how many memories near a fact a model is shown that decides about it. ``embedder`` and ``store`` are the defaults of
    the preset, ``env_embedder`` the model that ``from_env`` chooses.
    """

    retrieval: RetrievalPolicy = field(default_factory=RetrievalPolicy)
    recall: Recall = field(default_factory=Recall)
    formation: Formation = field(default_factory=Formation)
    upkeep: Upkeep = field(default_factory=Upkeep)
    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    known_scope: tuple[str, ...] = ("user_id",)
    roles: tuple[str, ...] = ("user", "assistant")
    strategies: tuple[str, ...] = ()
    neighbours: int = 5
    identity: Identity = field(default_factory=Identity)
    inject: Injection = field(default_factory=Injection)
    embedder: str = "local"
    env_embedder: str = "text-embedding-3-small"
    store: str = "sqlite"


PRESETS: Final[dict[str, Preset]] = {
    "facts": Preset(
        inject=Injection(extras=("events",)),
    ),
    "gateway": Preset(
        RetrievalPolicy(token_budget=2_000, candidates=100, limit=100, sections=False),
        Recall(visible_days=30, bootstrap_min=0),
        Formation(mode="background"),
        dedupe_scope=("user_id",),
        strategies=("pattern",),
        identity=Identity(("api_key",), nobody="off"),
    ),
    "companion": Preset(
        # By the built-in model where one lives and what one likes to hear are strangers; whether a question is about
        # the user at all is told by other means.
        RetrievalPolicy(
            token_budget=800,
            gate="heuristic",
            min_score=0.1,
            turn_min_score=0.01,
            min_scores=((BUILT_IN, 0.0),),
        ),
        Recall(decay_days=30.0, salience=True, mmr=0.85, bootstrap_min=0, layers=("fact",)),
        Formation(mode="session_end", digest=True),
        Upkeep(evict=True, merge_facts=0.9, retain_days=(("episode", 365), ("turn", 365))),
        dedupe_scope=("user_id", "agent_id"),
        known_scope=("user_id", "agent_id"),
        identity=Identity(("body",), nobody="owner"),
        inject=Injection(chat=False),
    ),
    "shared": Preset(
        # Ten rows are the limit here, not tokens: the budget is as large as it may be.
        RetrievalPolicy(
            token_budget=16_000,
            strategy="vector",
            candidates=10,
            limit=10,
            min_score=_ABOVE_EIGHT_TENTHS,
            min_scores=((BUILT_IN, 0.3),),
            sections=False,
        ),
        formation=Formation(mode="background"),
        dedupe_scope=("user_id",),
        roles=("user",),
        neighbours=10,
        identity=Identity(("header:x-openwebui-user-id",), nobody="off"),
        inject=Injection("system_merge", extras=("memories",)),
        env_embedder="mistral-embed",
    ),
}
"""``facts``: a store of facts (the default). ``gateway``: the profile and what is near, up to 2,000 tokens.
``companion``: behind a gate, 800 tokens, what is old fades. ``shared``: the profile, and the ten nearest."""
