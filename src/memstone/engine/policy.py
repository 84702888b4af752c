"""Resolve the policy for a user, an agent or a session from stored settings and configuration.

``tuned`` stands at the entry of every verb that depends on the policy (``Engine.add``, ``search``, ``context`` …) and
of every conversation that is learned from, so no step below asks for a setting: it reads ``runtime.policy``.

It has to cost next to nothing. What was resolved is kept with the version of the tenant's settings; a change in this
process shows at once, and whether another process changed something is asked once a second at most, with one look at
one row. Reading never writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from memstone.errors import MemstoneError
from memstone.model.scope import Scope
from memstone.trace import log

if TYPE_CHECKING:
    from memstone.engine.runtime import Runtime
    from memstone.model.policy import Policy
    from memstone.ports.ledger import Tx

PAUSED: Final = "paused"
"""The name under which a pause is stored; it is no setting that somebody resolves, any pause counts."""

_NOTICED: Final = timedelta(seconds=1)
_MOST: Final = 10_000

Who: TypeAlias = tuple[str, str, str, str]


class ScopedRequest(Protocol):
    """A request that names a scope."""

    @property
    def user_id(self) -> Any: ...  # noqa: D102 - the class says it

    @property
    def agent_id(self) -> Any: ...  # noqa: D102 - the class says it

    @property
    def run_id(self) -> Any: ...  # noqa: D102 - the class says it


@dataclass(slots=True)
class Tunings:
    """Resolved policies. Safe to share between threads: each step is one atomic dictionary operation."""

    versions: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    """By tenant: the version of its settings, and when it was last looked at."""

    policies: dict[Who, tuple[str, Policy]] = field(default_factory=dict)
    """By whom: the version it was resolved at, and the policy."""

    made: dict[tuple[object, ...], tuple[str, Runtime, Runtime]] = field(default_factory=dict)
    """By whom a request names, as it names them: the version, the parts before and after."""

    agents: set[tuple[str, str]] = field(default_factory=set)
    """Agents that are known to have a row."""

    changes: int = 0
    """How often something was stored in this process: what was read before that is not noted after it."""

    def fresh(self, tenant_id: str, now: datetime) -> str | None:
        """Return the version of a tenant's settings, unless it has to be read again."""
        known = self.versions.get(tenant_id)
        return known[0] if known is not None and -_NOTICED < now - known[1] < _NOTICED else None

    def note(self, tenant_id: str, version: str, now: datetime) -> None:
        """Remember a version; a new one drops what is cached of the tenant's agents."""
        known = self.versions.get(tenant_id)
        if known is not None and known[0] != version:
            self.agents = {one for one in self.agents if one[0] != tenant_id}
        self.versions[tenant_id] = (version, now)

    def keep(self, who: Who, version: str, policy: Policy) -> None:
        """Cache a policy; if there are too many, drop all."""
        if len(self.policies) >= _MOST:
            self.policies.clear()
            self.made.clear()
        self.policies[who] = (version, policy)

    def knows(self, who: Who, version: str) -> bool:
        """Return whether a policy was resolved at this version."""
        policies = self.policies.get(who)
        return policies is not None and policies[0] == version

    def invalidate(self, tenant_id: str) -> None:
        """Read settings again at once, because this process has changed them."""
        self.changes += 1
        self.versions.pop(tenant_id, None)
        self.agents = {one for one in self.agents if one[0] != tenant_id}


async def apply_scope_policy(runtime: Runtime, scope: Scope) -> Runtime:
    """Return the runtime with the policy of a scope."""
    version = await _settings_version(runtime)
    tuned = _with_configured_policy(runtime) if not version else await _tuned_at(runtime, scope, version)
    return apply_llm_consent(tuned)


async def policy_for(base: Runtime, request: ScopedRequest) -> Runtime:
    """Return the runtime with the policy of the scope in a request.

    When that is wrong nobody is named, and the verb itself complains.
    """
    version = await _settings_version(base)
    if not version:
        return apply_llm_consent(base)
    # Most calls name the same few people in the same way: neither the ids nor the runtime need be made again.
    names = (base.tenant_id, request.user_id, request.agent_id, request.run_id)
    plain = getattr(request, "filters", None) is None and all(one is None or type(one) is str for one in names)
    current = base.tunings.made.get(names) if plain else None
    if current is not None and current[0] == version and current[1] is base:
        return current[2]
    scope = scope_named(base, request)
    runtime = apply_llm_consent(await _tuned_at(base, scope, version))
    if plain and base.tunings.knows(_policy_key(base, scope), version):
        base.tunings.made[names] = (version, base, runtime)
    return runtime


async def _tuned_at(runtime: Runtime, scope: Scope, version: str) -> Runtime:
    cache = runtime.tunings
    who = _policy_key(runtime, scope)
    policies = cache.policies.get(who)
    if policies is not None and policies[0] == version:
        return _with_policy(runtime, policies[1])
    try:
        version, stored = await runtime.ledger.read(
            partial(_read_stored_settings, tenant_id=runtime.tenant_id, scope=scope)
        )
    except MemstoneError as error:
        _log_read_failure(error)
        return _with_configured_policy(runtime) if policies is None else _with_policy(runtime, policies[1])
    policy = resolve_policy(_configured_policy(runtime), stored)
    cache.keep(who, version, policy)
    return _with_policy(runtime, policy)


def _policy_key(runtime: Runtime, scope: Scope) -> Who:
    return runtime.tenant_id, scope.user_id, scope.agent_id, scope.run_id


async def _settings_version(runtime: Runtime) -> str:
    """Return the version of the settings, at most a second old; '' if there are none or it is unknown."""
    now, cache, tenant = runtime.clock.now(), runtime.tunings, runtime.tenant_id
    known = cache.fresh(tenant, now)
    if known is not None:
        return known
    changes = cache.changes
    try:
        version = await runtime.ledger.peek(lambda tx: tx.preferences.version(tenant))
    except MemstoneError as error:
        _log_read_failure(error)
        before = cache.versions.get(tenant)
        return before[0] if before is not None else ""
    if cache.changes == changes:
        cache.note(tenant, version, now)
    return version


async def _read_stored_settings(tx: Tx, *, tenant_id: str, scope: Scope) -> tuple[str, dict[str, dict[str, str]]]:
    from memstone.core.settings.lenient import pause_keys, scope_keys

    keys = list(dict.fromkeys([*scope_keys(scope), *pause_keys(scope)]))
    return await tx.preferences.version(tenant_id), await tx.preferences.of(tenant_id, keys)


def resolve_policy(base: Policy, stored: Mapping[str, Mapping[str, str]]) -> Policy:
    """Return the configured policy with stored settings over it; the strongest key wins."""
    from memstone.core.settings.lenient import apply_values, merge_sources, parse_values, pause_ids, scope_kind

    if not stored:
        return base
    layers, paused = [], []
    for key in sorted(stored, key=_key_rank):
        values = decode_values(stored[key])
        if PAUSED in values:
            paused.append((" ".join(pause_ids(key)), str(values.pop(PAUSED) or "")))
        read, unread = parse_values(values)
        if unread:
            log.warning("these stored settings cannot be used: %s", ", ".join(unread))
        layers.append((scope_kind(key), read))
    policy = apply_values(base, merge_sources(layers)[0])
    return replace(policy, paused=tuple(paused)) if paused else policy


def decode_values(values: Mapping[str, str]) -> dict[str, Any]:
    """Decode stored values; one that is not JSON is ignored."""
    read: dict[str, Any] = {}
    for name, value in values.items():
        with suppress(ValueError):
            read[name] = json.loads(value)
    return read


def _key_rank(key: str) -> int:
    """Return the rank of a key: tenant, then user, then agent, which is the strongest."""
    return ("", "user", "agent", "run", "scope").index(key.partition(":")[0])


def _configured_policy(runtime: Runtime) -> Policy:
    return runtime.policy if runtime.untuned is None else runtime.untuned


def _with_configured_policy(runtime: Runtime) -> Runtime:
    return runtime if runtime.untuned is None else replace(runtime, policy=runtime.untuned, untuned=None)


def _with_policy(runtime: Runtime, policy: Policy) -> Runtime:
    base = _configured_policy(runtime)
    if policy is base:
        return _with_configured_policy(runtime)
    return runtime if policy is runtime.policy else replace(runtime, policy=policy, untuned=base)


def apply_llm_consent(runtime: Runtime) -> Runtime:
    """Return the runtime without a language model that would see what may not leave this machine."""
    model = runtime.withheld_llm or runtime.llm
    if model is None or runtime.policy.formation.remote_llm or is_on_this_machine(model.destination):
        return runtime if runtime.withheld_llm is None else replace(runtime, llm=model, withheld_llm=None)
    return runtime if runtime.llm is None else replace(runtime, llm=None, withheld_llm=model)


def is_on_this_machine(destination: str) -> bool:
    """Return whether what is sent there stays here; what a function of the caller does is the caller's to say."""
    return destination in _HERE or destination.startswith("127.")


_HERE: Final = frozenset({"this machine", "your own function", "localhost", "::1"})


def scope_named(runtime: Runtime, request: ScopedRequest) -> Scope:
    """Return the scope that a request names in its arguments or filters; nobody if that is invalid."""
    from memstone.core.checks.filters import split_scope

    values = {name: getattr(request, name) for name in ("user_id", "agent_id", "run_id")}
    try:
        filters = getattr(request, "filters", None)
        inside = split_scope(filters)[0] if filters is not None else {}
        return runtime.scope({name: inside.get(name) if value is None else value for name, value in values.items()})
    except MemstoneError:
        return Scope(runtime.tenant_id)


def _log_read_failure(error: MemstoneError) -> None:
    log.warning("the stored settings cannot be read, using the configuration instead: %s", error.code)
