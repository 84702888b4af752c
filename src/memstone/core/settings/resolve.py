"""Which value holds when several are set: that of the agent, else the user's, else the tenant's, else the policy's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from memstone.core.settings.names import SETTINGS
from memstone.model.policy import Policy
from memstone.model.presets import PRESETS, Preset
from memstone.model.scope import Scope

TENANT: Final = ""
KINDS: Final = ("user", "agent", "run")
_SEVERAL: Final = "scope:"


def scope_key(kind: str, name: str) -> str:
    """Under which key the settings of somebody are stored; those of the tenant under ''."""
    return f"{kind}:{name}"


def scope_keys(scope: Scope) -> list[str]:
    """The keys whose settings hold for a scope, the weakest first."""
    named = (("user", scope.user_id), ("agent", scope.agent_id))
    return [TENANT, *(scope_key(kind, name) for kind, name in named if name)]


def whose(key: str) -> str:
    """Whose settings stand under a key: tenant, user, agent or run."""
    return key.partition(":")[0] or "tenant"


def pause_key(scope: Scope) -> str:
    """Under which key a pause of exactly this scope is stored: of somebody, or of somebody with somebody."""
    named = _ids(scope)
    if len(named) == 1:
        ((kind, name),) = named.items()
        return scope_key(kind, name)
    return _SEVERAL + json.dumps(named, ensure_ascii=False, separators=(",", ":"))


def pause_keys(scope: Scope) -> list[str]:
    """The keys of every pause that holds for a scope: whoever is paused, alone or together with others in it."""
    named = list(_ids(scope).items())
    some = (dict(part) for size in range(1, len(named) + 1) for part in combinations(named, size))
    return [pause_key(Scope(**{f"{kind}_id": name for kind, name in part.items()})) for part in some]


def pause_ids(key: str) -> dict[str, str]:
    """Who is meant by the key of a pause, by the kind of their id."""
    if not key.startswith(_SEVERAL):
        return {whose(key): key.partition(":")[2]}
    found: dict[str, str] = json.loads(key.removeprefix(_SEVERAL))
    return found


def _ids(scope: Scope) -> dict[str, str]:
    return {kind: getattr(scope, f"{kind}_id") for kind in KINDS if getattr(scope, f"{kind}_id")}


def usable(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The values that can be read, as the policy holds them, and the names of those that cannot.

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


def applied(policy: Policy, values: Mapping[str, Any]) -> Policy:
    """A policy with values (as the policy holds them) in place of its own."""
    top: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        *section, field = SETTINGS[name].path
        (inner.setdefault(section[0], {}) if section else top)[field] = value
    sections = {name: replace(getattr(policy, name), **changed) for name, changed in inner.items()}
    return replace(policy, **top, **sections) if top or sections else policy


def merged(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of several layers, the strongest last, and whose each one is."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, layer in layers:
        values.update(layer)
        sources.update(dict.fromkeys(layer, source))
    return values, sources


def base_source(policy: Policy, name: str) -> str:
    """Where a value comes from that nobody has stored: the configuration, the preset, or no choice at all."""
    value = SETTINGS[name].of(policy)
    preset = _as_policy(PRESETS[policy.preset])
    if value != SETTINGS[name].of(preset):
        return "configuration"
    return "default" if value == SETTINGS[name].of(Policy()) else "preset"


def _as_policy(preset: Preset) -> Policy:
    """The values of a preset, where the policy has them."""
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
