"""``/api/settings/memory``: settings of the tenant, under a gateway's names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from pydantic.alias_generators import to_camel

from memstone.core.settings.backends import CHOICES, backend_addresses, checked_backends
from memstone.engine import backends
from memstone.errors import Forbidden, InvalidInput
from memstone.server.access import Admin, AuthenticatedRoute, Caller
from memstone.server.schemas.api_settings import MemorySettings, MemorySettingsBody
from memstone.server.schemas.base import PROBLEMS
from memstone.server.state import ServiceState
from memstone.server.stored_settings import apply_choices
from memstone.server.urls import UrlGuard

router = APIRouter(prefix="/api/settings", tags=["memory settings"], responses=PROBLEMS, route_class=AuthenticatedRoute)

_OWN: Final = {
    "enabled": "memoryEnabled",
    "max_tokens": "memoryMaxTokens",
    "retention_days": "memoryRetentionDays",
    "strategy": "memoryStrategy",
    "skills_enabled": "skillsEnabled",
}
_LATER: Final = "vectorStore"
"""May be chosen before it is there: until then the store that is configured is used, and the status says so."""


def guard_of(request: Request) -> UrlGuard:
    """Return what says which addresses a setting may name."""
    state: ServiceState = request.app.state.memstone
    return state.guard


Guarded = Annotated[UrlGuard, Depends(guard_of)]


async def read_connections(caller: Caller) -> tuple[dict[str, Any], backends.ProviderKeys]:
    """Return what is stored with the keys themselves: for connecting, never for an answer."""
    return await caller.engine.run(backends.read_connections)


def runs_it(request: Request, caller: Caller) -> ServiceState:
    """Go on only for the tenant whose service it is: a process has one embedder, the caller."""
    state: ServiceState = request.app.state.memstone
    caller.needs_tenant()
    if caller.key.tenant_id != state.settings.tenant:
        raise Forbidden("backends belong to the tenant that runs this service", hint="ask its administrator")
    return state


@router.get("/memory", response_model=MemorySettings)
async def memory_settings(request: Request, caller: Admin, guard: Guarded) -> Any:
    """Return the settings that apply, in normal form."""
    caller.needs_tenant()
    return await _read_settings(request, caller, guard)


@router.put("/memory", response_model=MemorySettings)
async def set_memory_settings(request: Request, caller: Admin, guard: Guarded, change: MemorySettingsBody) -> Any:
    """Change settings. They take effect at once, except the backends, which take effect at the next start."""
    caller.needs_tenant()
    values = change.model_dump(exclude_unset=True)
    own = {_OWN[name]: value for name, value in values.items() if name in _OWN}
    chosen = {to_camel(name): value for name, value in values.items() if name not in _OWN}
    if chosen:
        await validate_backends(request, caller, guard, chosen)
    if own:
        await caller.memory.settings.set(own)
    if chosen:
        await caller.engine.run(backends.set_backends, chosen)
    return await _read_settings(request, caller, guard)


async def validate_backends(request: Request, caller: Caller, guard: UrlGuard, chosen: Mapping[str, Any]) -> None:
    """Check that these backends can be used here: addresses are safe, and what they need is there."""
    state = runs_it(request, caller)
    values, secrets = checked_backends(chosen)
    stored, provider_keys = await read_connections(caller)
    after = {**stored, **values}
    for url in set(backend_addresses(after)) - set(backend_addresses(stored)):
        await guard.check(url)
    before = (await asyncio.to_thread(apply_choices, state.settings, stored, provider_keys, guard)).problems
    problems = (
        await asyncio.to_thread(apply_choices, state.settings, after, provider_keys.replaced_by(secrets), guard)
    ).problems
    wrong = [problem for name, problem in problems.items() if name != _LATER and before.get(name) != problem]
    if wrong:
        raise InvalidInput(wrong[0], hint="see docs/reference/api-memory.md")


async def _read_settings(request: Request, caller: Caller, guard: UrlGuard) -> dict[str, Any]:
    found = (await caller.memory.settings.get(names="gateway"))["settings"]
    own = {name: found[text] for name, text in _OWN.items()}
    state: ServiceState = request.app.state.memstone
    if caller.key.tenant_id != state.settings.tenant:
        defaults = {name: default for name, (_, default) in CHOICES.items()}
        return {**_camel_names(own), **defaults, "restartRequired": False}
    typed_dict = await caller.engine.run(backends.get_backends)
    chosen = {name: typed_dict["settings"][name] for name in CHOICES}
    if "rerankEnabled" not in typed_dict["stored"]:
        chosen["rerankEnabled"] = state.settings.reranker is not None
    return {**_camel_names(own), **chosen, "restartRequired": await restart_required(state, caller, guard)}


async def restart_required(state: ServiceState, caller: Caller, guard: UrlGuard) -> bool:
    """Return whether what is stored is not what runs."""
    stored, secrets = await read_connections(caller)
    applied = await asyncio.to_thread(apply_choices, state.settings, stored, secrets, guard)
    return applied.settings != state.settings


def _camel_names(values: Mapping[str, Any]) -> dict[str, Any]:
    return {to_camel(name): value for name, value in values.items()}
