"""``settings``, ``set_settings``, ``unset_settings``: settings of a tenant, a user or an agent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memstone.core.settings.backends import (
    native_names,
    operator_names,
    refuse_operators,
    tenant_only,
    to_native,
    view_settings,
)
from memstone.core.settings.lenient import (
    TENANT,
    base_source,
    gateway_effective,
    merge_sources,
    parse_values,
    scope_key,
    scope_kind,
)
from memstone.core.settings.names import SETTINGS
from memstone.engine.policy import PAUSED, apply_scope_policy, decode_values
from memstone.engine.runtime import Runtime
from memstone.errors import InvalidInput, ScopeError
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import SettingsChange, SettingsRemoval, SettingsReport


async def get_settings(parts: Runtime, values: Mapping[str, Any], names: str = "native") -> SettingsReport:
    """Return every setting that applies to a scope, and where each comes from."""
    scope = _settings_scope(parts, values)
    parts.tunings.invalidate(parts.tenant_id)  # who asks wants to see what holds now, not a second ago
    runtime = await apply_scope_policy(parts, scope)
    base = parts.policy if parts.untuned is None else parts.untuned
    sources = await _read_sources(parts, scope)
    output = view_settings(runtime.policy, names)
    answer: SettingsReport = {
        "settings": {name: value for name, (_, value) in output.items()},
        "sources": {name: sources.get(stored) or base_source(base, stored) for name, (stored, _) in output.items()},
        "preset": base.preset,
    }
    if names == "gateway":
        answer["effective"] = gateway_effective(runtime.policy)
    return answer


async def set_settings(runtime: Runtime, values: Mapping[str, Any], arguments: Mapping[str, Any]) -> SettingsChange:
    """Store values, all or none; return them in the form in which they hold."""
    key = _settings_key(runtime, arguments)
    made = to_native(values)
    _validate_settings(runtime, made, key)
    now = runtime.now()
    written = {name: json.dumps(value, ensure_ascii=False) for name, value in made.items()}
    await runtime.ledger.write(lambda tx: tx.preferences.put(runtime.tenant_id, key, written, now))
    runtime.tunings.invalidate(runtime.tenant_id)
    return {"scope": scope_kind(key), "set": made}


async def unset_settings(runtime: Runtime, names: Iterable[str] | None, values: Mapping[str, Any]) -> SettingsRemoval:
    """Remove stored values; what stands below holds again.

    When none are named it is all of them, but for those of a user or an agent that only an administrator may set.
    """
    key = _settings_key(runtime, values)
    chosen = None if names is None else native_names(names)
    remaining = {
        PAUSED,
        *(() if key == TENANT else operator_names(SETTINGS)),
    }  # a pause is no setting: it ends by resume
    if runtime.bounds is not None:
        refuse_operators(chosen or ())
    now = runtime.now()

    async def work(tx: Tx) -> int:
        wanted = chosen
        if wanted is None:
            stored = await tx.preferences.of(runtime.tenant_id, [key])
            wanted = [name for name in stored.get(key, {}) if name not in remaining]
        return await tx.preferences.drop(runtime.tenant_id, key, wanted, now) if wanted else 0

    removed = await runtime.ledger.write(work)
    runtime.tunings.invalidate(runtime.tenant_id)
    return {"scope": scope_kind(key), "unset": removed}


def _validate_settings(runtime: Runtime, made: Mapping[str, Any], key: str) -> None:
    """Check what is right by itself and cannot be here."""
    if key != TENANT:
        tenant_only(made)
    if runtime.bounds is not None:
        refuse_operators(made)
    if "facts" in made.get("extract.strategies", ()) and (runtime.llm or runtime.withheld_llm) is None:
        raise InvalidInput(
            "extract.strategies contains facts, but no language model is configured", hint="configure llm"
        )


def _settings_key(runtime: Runtime, values: Mapping[str, Any]) -> str:
    """Return whose settings they are: a user's or an agent's, and nobody's in particular are the tenant's."""
    scope = runtime.scope(values)
    if scope.run_id:
        raise InvalidInput("a session has no settings", hint="pause it, or change the settings of its user or agent")
    if scope.user_id and scope.agent_id:
        raise InvalidInput("settings belong to a user or an agent", hint="name one of them")
    named = ((kind, getattr(scope, f"{kind}_id")) for kind in ("user", "agent"))
    return next((scope_key(kind, name) for kind, name in named if name), TENANT)


def _settings_scope(runtime: Runtime, values: Mapping[str, Any]) -> Scope:
    """Return whose settings are looked at: of who is named, of who is meant by naming nobody, or of the tenant."""
    try:
        return runtime.scope(values)
    except ScopeError:
        if any(value is not None for value in values.values()):
            raise
        return Scope(runtime.tenant_id)


async def _read_sources(runtime: Runtime, scope: Scope) -> dict[str, str]:
    keys = [TENANT, *(scope_key(kind, getattr(scope, f"{kind}_id")) for kind in ("user", "agent"))]
    stored = await runtime.ledger.peek(lambda tx: tx.preferences.of(runtime.tenant_id, keys))
    layers = [(scope_kind(key), parse_values(decode_values(stored[key]))[0]) for key in keys if key in stored]
    return merge_sources(layers)[1]
