"""The two vocabularies of other products, over the same values.

Their rule is another one than ours: whatever comes is brought into form. A value of the wrong type becomes the default,
a number is rounded and moved into its range, an unknown word becomes the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from memstone.model.policy import Policy

Normal: TypeAlias = Callable[[object], Any]


def flag(default: bool) -> Normal:  # noqa: FBT001 - the default is the only thing there is to say
    """A truth value, or the default."""
    return lambda value: value if isinstance(value, bool) else default


def number(default: float, least: float, most: float, *, whole: bool = True) -> Normal:
    """A number: the default for what is none, rounded where it must be whole, and moved into its range."""

    def normal(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            return default
        within = min(max(value, least), most)
        return math.floor(within + 0.5) if whole else float(within)

    return normal


def word(default: str, *words: str) -> Normal:
    """One of a few words, or the default."""
    return lambda value: value if isinstance(value, str) and value in words else default


def text(default: str) -> Normal:
    """Text that is not blank, or the default."""
    return lambda value: value.strip() if isinstance(value, str) and value.strip() else default


@dataclass(frozen=True, slots=True)
class Foreign:
    """A name of another product: how its value is brought into form, which setting it is, and how the two convert."""

    normal: Normal
    name: str
    to: Callable[[Any], Any] = lambda value: value
    of: Callable[[Any], Any] = lambda value: value


def _retention(days: int) -> dict[str, int]:
    return {"episode": days, "turn": days}


def _episode_days(kept: tuple[tuple[str, int], ...]) -> int:
    return dict(kept).get("episode", 0)


_MODES: Final = {"sessionEnd": "session_end", "manual": "manual"}
_STRATEGIES: Final = {"recent": "recent", "exact": "recent", "semantic": "semantic", "vector": "semantic"}

GATEWAY: Final[dict[str, Foreign]] = {
    "memoryEnabled": Foreign(flag(default=True), "policy.enabled"),
    "memoryMaxTokens": Foreign(number(2_000, 0, 16_000), "context.budget"),
    "memoryRetentionDays": Foreign(number(30, 1, 365), "recall.visible_days"),
    "memoryStrategy": Foreign(
        word("hybrid", "recent", "semantic", "hybrid"),
        "context.strategy",
        of=lambda strategy: _STRATEGIES.get(strategy, "hybrid"),
    ),
    "skillsEnabled": Foreign(flag(default=False), "policy.skills"),
    "autoSummarize": Foreign(flag(default=False), "upkeep.auto_summarize"),
    "persistAcrossModels": Foreign(flag(default=False), "upkeep.keep_vectors"),
}
"""``persistAcrossModels``: vectors of earlier embedding models outlive a change of the model."""

COMPANION: Final[dict[str, Foreign]] = {
    "enabled": Foreign(flag(default=True), "policy.enabled"),
    "extractionMode": Foreign(
        word("sessionEnd", "sessionEnd", "manual"),
        "write.mode",
        to=_MODES.__getitem__,
        of=lambda mode: "manual" if mode == "manual" else "sessionEnd",
    ),
    "relevanceGateMode": Foreign(
        word("heuristic", "off", "heuristic", "llm"),
        "context.gate",
        of=lambda gate: gate if gate in ("heuristic", "llm") else "off",
    ),
    "memoryBudgetTokens": Foreign(number(800, 100, 4_000), "context.budget"),
    "summaryDebounceSeconds": Foreign(number(60, 10, 3_600), "write.debounce_seconds", of=round),
    "consolidationIntervalHours": Foreign(number(24, 1, 168), "upkeep.interval_hours", of=round),
    "salienceFloor": Foreign(number(0.2, 0, 1, whole=False), "upkeep.salience_floor"),
    "episodeRetentionDays": Foreign(number(365, 0, 3_650), "upkeep.retain_days", to=_retention, of=_episode_days),
}
"""The settings of a companion, but for the two about embeddings, which are configuration: see ``companion``."""

AGENT: Final[dict[str, Foreign]] = {
    "disableMemory": Foreign(flag(default=False), "policy.enabled", to=lambda off: not off, of=lambda on: not on),
    "searchMemoryEnabled": Foreign(flag(default=False), "policy.search_tool"),
}
"""What an agent of a companion is switched by; either may be on without the other."""

FOREIGN: Final[dict[str, Foreign]] = {**GATEWAY, **COMPANION, **AGENT}


def gateway_effective(policy: Policy) -> dict[str, Any]:
    """What retrieval works with: on only when there is a budget, and ``recent`` under the name it has inside."""
    strategy = GATEWAY["memoryStrategy"].of(policy.retrieval.strategy or policy.strategy)
    return {
        "enabled": policy.enabled and policy.shows and policy.retrieval.token_budget > 0,
        "maxTokens": policy.retrieval.token_budget,
        "retrievalStrategy": "exact" if strategy == "recent" else strategy,
        "autoSummarize": policy.upkeep.auto_summarize,
        "persistAcrossModels": policy.upkeep.keep_vectors,
        "retentionDays": policy.recall.visible_days,
        "scope": "apiKey" if policy.retrieval.scope == "owner" else policy.retrieval.scope,
    }
