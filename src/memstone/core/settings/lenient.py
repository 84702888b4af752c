"""Names of two other products for the same settings.

Their rule is another one than ours: whatever comes is brought into form. A value of the wrong type becomes the default,
a number is rounded and moved into its range, an unknown word becomes the default.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, TypeAlias

from memstone.core.settings.names import SETTINGS
from memstone.model.policy import PRESETS, Policy, Preset
from memstone.model.scope import Scope

# --- the two vocabularies of other products, over the same values -----------------------------------------------------


Normal: TypeAlias = Callable[[object], Any]


def flag_normalizer(default: bool) -> Normal:  # noqa: FBT001 - the default is the only thing there is to say
    """Return a truth value, or the default."""
    return lambda value: value if isinstance(value, bool) else default


def number_normalizer(default: float, least: float, most: float, *, is_complete: bool = True) -> Normal:
    """Return a number: the default for what is none, rounded where it must be whole, and moved into its range."""

    def normal(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            return default
        within = min(max(value, least), most)
        return math.floor(within + 0.5) if is_complete else float(within)

    return normal


def word_normalizer(default: str, *words: str) -> Normal:
    """Return what takes one of a few words, or the default."""
    return lambda value: value if isinstance(value, str) and value in words else default


def text_normalizer(default: str) -> Normal:
    """Return what takes text that is not blank, or the default."""
    return lambda value: value.strip() if isinstance(value, str) and value.strip() else default


@dataclass(frozen=True, slots=True)
class Foreign:
    """A name of another product: how its value is brought into form, which setting it is, and how the two convert."""

    normal: Normal
    name: str
    to: Callable[[Any], Any] = lambda value: value
    of: Callable[[Any], Any] = lambda value: value


def _days_by_layer(days: int) -> dict[str, int]:
    return {"episode": days, "turn": days}


def _episode_days(remaining: tuple[tuple[str, int], ...]) -> int:
    return dict(remaining).get("episode", 0)


_MODES: Final = {"sessionEnd": "session_end", "manual": "manual"}
_STRATEGIES: Final = {"recent": "recent", "exact": "recent", "semantic": "semantic", "vector": "semantic"}

GATEWAY: Final[dict[str, Foreign]] = {
    "memoryEnabled": Foreign(flag_normalizer(default=True), "policy.enabled"),
    "memoryMaxTokens": Foreign(number_normalizer(2_000, 0, 16_000), "context.budget"),
    "memoryRetentionDays": Foreign(number_normalizer(30, 1, 365), "recall.visible_days"),
    "memoryStrategy": Foreign(
        word_normalizer("hybrid", "recent", "semantic", "hybrid"),
        "context.strategy",
        of=lambda strategy: _STRATEGIES.get(strategy, "hybrid"),
    ),
    "skillsEnabled": Foreign(flag_normalizer(default=False), "policy.skills"),
    "autoSummarize": Foreign(flag_normalizer(default=False), "upkeep.auto_summarize"),
    "persistAcrossModels": Foreign(flag_normalizer(default=False), "upkeep.keep_vectors"),
}
"""``persistAcrossModels``: vectors of earlier embedding models outlive a change of the model."""

COMPANION: Final[dict[str, Foreign]] = {
    "enabled": Foreign(flag_normalizer(default=True), "policy.enabled"),
    "extractionMode": Foreign(
        word_normalizer("sessionEnd", "sessionEnd", "manual"),
        "write.mode",
        to=_MODES.__getitem__,
        of=lambda mode: "manual" if mode == "manual" else "sessionEnd",
    ),
    "relevanceGateMode": Foreign(
        word_normalizer("heuristic", "off", "heuristic", "llm"),
        "context.gate",
        of=lambda gate: gate if gate in ("heuristic", "llm") else "off",
    ),
    "memoryBudgetTokens": Foreign(number_normalizer(800, 100, 4_000), "context.budget"),
    "summaryDebounceSeconds": Foreign(number_normalizer(60, 10, 3_600), "write.debounce_seconds", of=round),
    "consolidationIntervalHours": Foreign(number_normalizer(24, 1, 168), "upkeep.interval_hours", of=round),
    "salienceFloor": Foreign(number_normalizer(0.2, 0, 1, is_complete=False), "upkeep.salience_floor"),
    "episodeRetentionDays": Foreign(
        number_normalizer(365, 0, 3_650), "upkeep.retain_days", to=_days_by_layer, of=_episode_days
    ),
}
"""The settings of a companion, but for the two about embeddings, which are configuration: see ``companion``."""

AGENT: Final[dict[str, Foreign]] = {
    "disableMemory": Foreign(
        flag_normalizer(default=False), "policy.enabled", to=lambda off: not off, of=lambda on: not on
    ),
    "searchMemoryEnabled": Foreign(flag_normalizer(default=False), "policy.search_tool"),
}
"""What an agent of a companion is switched by; either may be on without the other."""

FOREIGN: Final[dict[str, Foreign]] = {**GATEWAY, **COMPANION, **AGENT}


def gateway_effective(policy: Policy) -> dict[str, Any]:
    """Return what retrieval works with: on only when there is a budget, and ``recent`` under the name it has inside."""
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


# --- which value holds when several are set ---------------------------------------------------------------------------


TENANT: Final = ""
KINDS: Final = ("user", "agent", "run")
_SEVERAL: Final = "scope:"


def scope_key(kind: str, name: str) -> str:
    """Return the key under which the settings of somebody are stored; those of the tenant are under ''."""
    return f"{kind}:{name}"


def scope_keys(scope: Scope) -> list[str]:
    """Return the keys whose settings hold for a scope, the weakest first."""
    named = (("user", scope.user_id), ("agent", scope.agent_id))
    return [TENANT, *(scope_key(kind, name) for kind, name in named if name)]


def scope_kind(key: str) -> str:
    """Return whose settings stand under a key: tenant, user, agent or run."""
    return key.partition(":")[0] or "tenant"


def pause_key(scope: Scope) -> str:
    """Return the key under which a pause of exactly this scope is stored: of somebody, or of somebody with somebody."""
    named = _scope_ids(scope)
    if len(named) == 1:
        ((kind, name),) = named.items()
        return scope_key(kind, name)
    return _SEVERAL + json.dumps(named, ensure_ascii=False, separators=(",", ":"))


def pause_keys(scope: Scope) -> list[str]:
    """Return the keys of every pause that holds for a scope: whoever is paused, alone or together with others in it."""
    named = list(_scope_ids(scope).items())
    some = (dict(part) for size in range(1, len(named) + 1) for part in combinations(named, size))
    return [pause_key(Scope(**{f"{kind}_id": name for kind, name in part.items()})) for part in some]


def pause_ids(key: str) -> dict[str, str]:
    """Return who is meant by the key of a pause, by the kind of their id."""
    if not key.startswith(_SEVERAL):
        return {scope_kind(key): key.partition(":")[2]}
    found: dict[str, str] = json.loads(key.removeprefix(_SEVERAL))
    return found


def _scope_ids(scope: Scope) -> dict[str, str]:
    return {kind: getattr(scope, f"{kind}_id") for kind in KINDS if getattr(scope, f"{kind}_id")}


def parse_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values that can be read, as the policy holds them, and the names of those that cannot.

    A newer Memstone may have stored what this one does not know; one bad row must not cost the others.
    """
    read: dict[str, Any] = {}
    unread: list[str] = []
    for name, value in values.items():
        try:
            read[name] = SETTINGS[name].form.read(value)
        except (KeyError, ValueError, TypeError):
            unread.append(name)
    return read, unread


def apply_values(policy: Policy, values: Mapping[str, Any]) -> Policy:
    """Return a policy with values (as the policy holds them) in place of its own."""
    top: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        *section, field = SETTINGS[name].path
        (inner.setdefault(section[0], {}) if section else top)[field] = value
    sections = {name: replace(getattr(policy, name), **changed) for name, changed in inner.items()}
    return replace(policy, **top, **sections) if top or sections else policy


def merge_sources(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of several layers, the strongest last, and whose each one is."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, layer in layers:
        values.update(layer)
        sources.update(dict.fromkeys(layer, source))
    return values, sources


def base_source(policy: Policy, name: str) -> str:
    """Return where a value comes from that nobody has stored: the configuration, the preset, or no choice at all."""
    value = SETTINGS[name].of(policy)
    preset = _as_policy(PRESETS[policy.preset])
    if value != SETTINGS[name].of(preset):
        return "configuration"
    return "default" if value == SETTINGS[name].of(Policy()) else "preset"


def _as_policy(preset: Preset) -> Policy:
    """Return the values of a preset, where the policy has them."""
    plain = Policy()
    return replace(
        plain,
        retrieval=preset.retrieval,
        recall=preset.recall,
        formation=preset.formation,
        upkeep=preset.upkeep,
        dedupe_scope=preset.dedupe_scope,
        known_scope=preset.known_scope,
        identity=preset.identity,
        inject=preset.inject,
        curation=replace(
            plain.curation, roles=preset.roles, strategies=preset.strategies, neighbours=preset.neighbours
        ),
    )
